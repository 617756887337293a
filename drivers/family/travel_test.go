package family_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/messkit/messkit/drivers"
	"github.com/messkit/messkit/drivers/family"
)

// What is broken off on its way stands where its device has heard the order and the
// stop. Where it may hear one of them late, it may move yet.
func TestTravelBrokenOff(t *testing.T) {
	deaf := errors.New("no answer")
	for name, c := range map[string]struct {
		tell, stop error
		cut        time.Duration
		mayAct     bool
		nothing    bool
	}{
		"on its way":               {nil, nil, time.Second, false, false},
		"on its way, cannot stop":  {nil, deaf, time.Second, true, false},
		"may not have heard":       {deaf, nil, time.Minute, true, false},
		"may not have heard, both": {deaf, deaf, time.Minute, true, false},
		"has not heard":            {drivers.ErrNothingDone, nil, time.Minute, false, true},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				travel := family.Travel{
					Go:   func(context.Context) error { return c.tell },
					Look: func(context.Context) (family.Place, error) { return family.Place{Moves: true}, nil },
					Stop: func(context.Context) error { return c.stop },
					To:   100, Limit: time.Hour, Every: 100 * time.Millisecond, Timeout: time.Second,
				}
				ctx, cancel := context.WithTimeout(t.Context(), c.cut)
				defer cancel()
				err := travel.Do(ctx)
				if err == nil || errors.Is(err, drivers.ErrMayAct) != c.mayAct || errors.Is(err, drivers.ErrNothingDone) != c.nothing {
					t.Errorf("%v; want it to act yet: %t, nothing done: %t", err, c.mayAct, c.nothing)
				}
			})
		})
	}
}
