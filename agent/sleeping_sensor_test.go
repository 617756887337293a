package agent_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/messkit/messkit/agent/device"
	"github.com/messkit/messkit/agent/policy"
	"github.com/messkit/messkit/agent/policy/settings"
	"github.com/messkit/messkit/drivers"
)

// A battery sensor that has not reported yet is OK; a sensor without its broker is not.
func TestSleepingSensorIsNoFailure(t *testing.T) {
	for _, c := range []struct {
		err   error
		doubt bool
	}{
		{fmt.Errorf("hall: %w", drivers.ErrNoReadingYet), true},
		{fmt.Errorf("hall: %w", drivers.ErrNoReading), false},
		{errors.New("hall: the broker is away"), false},
	} {
		g := policy.New(settings.DefaultConfig(), time.Now, quiet())
		d := device.Device{Name: "hall", Driver: &wakingSensor{err: c.err, wakes: time.Now().Add(time.Hour)}}
		_, err := device.NewSelfTest(g, []device.Device{d}, time.Now).Use(t.Context(), d)
		if _, doubt := errors.AsType[device.Doubt](err); err == nil || doubt != c.doubt {
			t.Errorf("%v: %v (a doubt: %v)", c.err, err, doubt)
		}
	}
}
