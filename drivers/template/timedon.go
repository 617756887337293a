package template

import (
	"context"
	"errors"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/messkit/messkit/drivers"
)

// TimedOn turns a device on with its own timer. A nil TimedOn is a device without a timer.
type TimedOn struct {
	Timer  Timer
	Stays  bool                                           // the device keeps the setting of the timer until the driver removes it
	Set    func(ctx context.Context, values Values) error // turns the device on with the timer {for}
	Switch func(ctx context.Context, on bool) error       // turns the device on without the timer
	Log    *slog.Logger
	isSet  atomic.Bool
}

// SwitchFor turns the device on, with its timer if the timer can run for limit.
func (t *TimedOn) SwitchFor(ctx context.Context, limit time.Duration) error {
	value, ok := t.Timer.For(limit)
	if !ok {
		t.Log.Debug("limit exceeds the longest time of the device's timer", "limit", limit)
		return t.Switch(ctx, true)
	}
	err := t.Set(ctx, Values{"for": value})
	if !errors.Is(err, drivers.ErrNothingDone) {
		t.MarkSet()
	}
	return err
}

// MarkSet records that the timer is set, if the device keeps the setting.
func (t *TimedOn) MarkSet() {
	if t.Stays {
		t.isSet.Store(true)
	}
}

// IsSet reports whether the device still has the setting of the timer.
func (t *TimedOn) IsSet() bool { return t != nil && t.isSet.Load() }

// MarkRemoved records that the device no longer has the setting of the timer.
func (t *TimedOn) MarkRemoved() {
	if t != nil {
		t.isSet.Store(false)
	}
}
