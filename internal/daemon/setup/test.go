package setup

import (
	"context"
	"fmt"
	"time"

	"github.com/messkit/messkit/mess"
)

// TestResult is the result of the use of a device without an effect.
type TestResult struct {
	OK       bool          `json:"ok"`
	Doubt    bool          `json:"doubt,omitempty"` // a person should look: nothing was read, or a picture shows nothing
	Text     string        `json:"text"`            // "is on", "temperature 21.5 °C", or why it does not work
	Evidence mess.Evidence `json:"evidence,omitempty"`
	At       time.Time     `json:"at"`   // its end
	Took     float64       `json:"took"` // s
}

// Test uses a device without an effect: it reads its state or takes a picture. It never acts.
func (s *Setup) Test(ctx context.Context, device string) (any, error) {
	if s.program.Config().Opened.Device(device) == nil {
		return nil, fmt.Errorf("there is no device %.40q here; reload the page", device)
	}
	began := time.Now()
	r, err := s.program.Test(ctx, device)
	r.At = time.Now()
	r.Took = r.At.Sub(began).Seconds()
	return r, err
}
