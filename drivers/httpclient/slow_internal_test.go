package httpclient

import (
	"context"
	"errors"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/messkit/messkit/drivers"
)

// A call has a timeout, and so has its caller. The error is the same, no matter which
// expires first.
func TestTimeoutErrorIsTheSameForCallAndCaller(t *testing.T) {
	c := &Client{timeout: 3 * time.Second}
	u := &url.URL{Scheme: "http", Host: "lamp", Path: "/on"}
	ended, cancel := context.WithCancelCause(t.Context())
	cancel(errSlow)
	for name, ctx := range map[string]context.Context{"the waiting": ended, "the call": t.Context()} {
		received := c.explain(ctx, u, Call{Acts: true}, errSlow)
		if want := "no answer from http://lamp/on in 3s, but the device may have received the command; inspect the device"; received.Error() != want || errors.Is(received, drivers.ErrNothingDone) {
			t.Errorf("%s: %v, want %s", name, received, want)
		}
		if look := c.explain(ctx, u, Call{}, errSlow); look.Error() != "no answer from http://lamp/on in 3s; inspect the device" {
			t.Errorf("%s: error of a received question is %v", name, look)
		}
		notReceived := c.explain(ctx, u, Call{Acts: true}, drivers.MarkNothingDone(errSlow))
		if !errors.Is(notReceived, drivers.ErrNothingDone) || !strings.Contains(notReceived.Error(), "http://lamp/on does not answer in 3s; check that the device is on and in this network") {
			t.Errorf("%s: %v", name, notReceived)
		}
	}
}
