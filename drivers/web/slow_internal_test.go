package web

import (
	"context"
	"errors"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/messkit/messkit/drivers"
)

// A call has a timeout of its own beside that of who waits for it: whichever ends
// first, what is said is the same.
func TestATimeoutIsSaidAlikeWhoeverNoticesIt(t *testing.T) {
	c := &Client{timeout: 3 * time.Second}
	u := &url.URL{Scheme: "http", Host: "lamp", Path: "/on"}
	ended, cancel := context.WithCancelCause(t.Context())
	cancel(errSlow)
	for name, ctx := range map[string]context.Context{"the waiting": ended, "the call": t.Context()} {
		heard := c.explain(ctx, u, Call{Acts: true}, errSlow)
		if want := "no answer from http://lamp/on in 3s, though it may have heard; look at the device"; heard.Error() != want || errors.Is(heard, drivers.ErrNothingDone) {
			t.Errorf("%s: %v, want %s", name, heard, want)
		}
		if look := c.explain(ctx, u, Call{}, errSlow); look.Error() != "no answer from http://lamp/on in 3s; look at the device" {
			t.Errorf("%s: a look that was heard says %v", name, look)
		}
		unheard := c.explain(ctx, u, Call{Acts: true}, drivers.NotDone(errSlow))
		if !errors.Is(unheard, drivers.ErrNothingDone) || !strings.Contains(unheard.Error(), "http://lamp/on does not answer in 3s; is it switched on") {
			t.Errorf("%s: %v", name, unheard)
		}
	}
}
