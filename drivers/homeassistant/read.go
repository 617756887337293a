package homeassistant

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/messkit/messkit/drivers"
	"github.com/messkit/messkit/drivers/family"
)

// read gives a sensor's state, with the time at which Home Assistant heard it.
func (e *entity) read(ctx context.Context) ([]drivers.Reading, error) {
	s, err := e.state(ctx)
	if err != nil {
		return nil, err
	}
	r, err := s.reading(e.cfg.Entity)
	if err != nil {
		return nil, err
	}
	return []drivers.Reading{r}, nil
}

// openings are the classes of binary sensors that are on when something is open;
// a contact is made when it is closed.
var openings = map[string]bool{"door": true, "garage_door": true, "opening": true, "window": true}

// quantities are our words for some of Home Assistant's.
var quantities = map[string]string{"moisture": "water leak", "carbon_dioxide": "co2", "signal_strength": "signal"}

// reading is a sensor's state as a measurement.
func (s state) reading(id string) (drivers.Reading, error) {
	domain, object, _ := strings.Cut(id, ".")
	class := s.Attributes.Class
	r := drivers.Reading{Quantity: strings.ReplaceAll(class, "_", " "), Unit: s.Attributes.Unit, At: s.at()}
	if word, ok := quantities[class]; ok {
		r.Quantity = word
	}
	if r.Quantity == "" {
		r.Quantity = strings.ReplaceAll(object, "_", " ")
	}
	if r.At.IsZero() {
		return r, fmt.Errorf("%s has no time in Home Assistant", id)
	}
	switch {
	case domain == "sensor":
		f, ok := family.Number(json.Number(s.State))
		if !ok {
			return r, fmt.Errorf("%s says %.40q, which is no number", id, s.State)
		}
		if r.Value = f; r.Unit == "" {
			r.Unit = unitless // without one it would be a truth value
		}
	case !s.is(true) && !s.is(false):
		return r, fmt.Errorf("%s says %.40q, which is neither on nor off", id, s.State)
	case openings[class]:
		r.Quantity = "contact"
		r.Value = truth(s.is(false))
	default:
		r.Value = truth(s.is(true))
	}
	return r, nil
}

// unitless is the unit of what Home Assistant has none for: a counter, a ratio.
const unitless = "units"

func truth(yes bool) float64 {
	if yes {
		return 1
	}
	return 0
}

// at is when the state was last heard.
func (s state) at() time.Time {
	if s.Reported.After(s.Updated) {
		return s.Reported
	}
	return s.Updated
}
