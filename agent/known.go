package agent

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/messkit/messkit/agent/gate"
	"github.com/messkit/messkit/drivers"
	"github.com/messkit/messkit/internal/wait"
	"github.com/messkit/messkit/mess"
)

// effectOf is what a verb that acts has done to the world when it ends with
// err: nothing where it never got so far, or the device has not heard of it or
// has refused it, else nobody knows.
func effectOf(err error) mess.Effect {
	_, refused := errors.AsType[*gate.Refusal](err)
	switch {
	case err == nil:
		return ""
	case refused, errors.Is(err, drivers.ErrBusy), errors.Is(err, drivers.ErrNothingDone):
		return mess.EffectNone
	case errors.Is(err, drivers.ErrHalted):
		return mess.EffectUnknown
	case errors.Is(err, drivers.ErrNotStarted):
		return mess.EffectNone
	}
	return mess.EffectUnknown
}

// mayAct reports whether a device may yet do what it was told, whatever it says of
// itself now.
func mayAct(err error) bool {
	late, timed := errors.AsType[*gate.TimeoutError](err)
	return timed && late.Hung || errors.Is(err, drivers.ErrMayAct)
}

// looksBack is how often a device that took an act is asked how it is before it counts
// as not as it was told, and untilNext the time between: many answer first and switch
// then.
const (
	looksBack = 4
	untilNext = 600 * time.Millisecond
)

// settled is what look tells of a device that was told something, once that is so, or
// at the last look. One that did not take the act is looked at once.
func settled[T any](ctx context.Context, r *result, so func(T) bool, look func() (T, error)) (T, error) {
	v, err := look()
	for n := 1; n < looksBack && r.err == nil && err == nil && !so(v); n++ {
		if !wait.For(ctx, untilNext) {
			return v, nil
		}
		again, err := look()
		if err != nil {
			return v, nil // how it was is known
		}
		v = again
	}
	return v, err
}

// readsBack corrects the result of an act by what the device says of itself when it
// is asked again: so is whether it is as it was told, now how it is, and err why it
// does not say. That it is not so yet proves nothing where it did not take the act:
// a device may hear late, and act after its time. Only what never reached it was not
// done (effectOf).
func (r *result) readsBack(name string, so bool, now string, err error) {
	r.sight = sight{Known: err == nil, So: so, Now: now}
	switch {
	case err != nil:
		r.unread(err)
	case so:
		if r.err != nil {
			r.note("the driver reported: %v", r.err)
		}
		r.err, r.effect, r.evidence = nil, "", mess.ReadBack
	case r.err == nil:
		r.err, r.effect = fmt.Errorf("%s was told, but reads back as %s", name, now), mess.EffectUnknown
	default:
		r.err, r.effect = fmt.Errorf("%w; it read back as %s just now, and may still act", r.err, now), mess.EffectUnknown
	}
}

// unread notes that a device does not say how it is, and why. That one which was halted
// was not asked says nothing of what was done.
func (r *result) unread(err error) {
	if errors.Is(err, drivers.ErrNotStarted) {
		r.note("it was not read back: it has been halted")
		return
	}
	r.note("it could not be read back: %v", err)
}
