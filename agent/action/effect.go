package action

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/messkit/messkit/agent/policy"
	"github.com/messkit/messkit/drivers"
	"github.com/messkit/messkit/internal/wait"
	"github.com/messkit/messkit/mess"
)

// effectOf returns the effect of an act that ended with err: none if the device did not receive
// the command or rejected it, else unknown.
func effectOf(err error) mess.Effect {
	_, refused := errors.AsType[*policy.Rejection](err)
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

// MayAct reports whether a device may still carry out its command, even if its state does not
// show that now.
func MayAct(err error) bool {
	late, timed := errors.AsType[*policy.TimeoutError](err)
	return timed && late.Quarantined || errors.Is(err, drivers.ErrMayAct)
}

// looksBack is how often the agent reads a device after an acknowledged command before it
// reports a different state; untilNext is the pause between. Many devices answer first and
// switch later.
const (
	looksBack = 4
	untilNext = 600 * time.Millisecond
)

// settled reads a device after a command until so accepts its state, or until the last attempt.
// Without an acknowledgement it reads once.
func settled[T any](ctx context.Context, r *Result, so func(T) bool, look func() (T, error)) (T, error) {
	v, err := look()
	for n := 1; n < looksBack && r.Err == nil && err == nil && !so(v); n++ {
		if !wait.For(ctx, untilNext) {
			return v, nil
		}
		again, err := look()
		if err != nil {
			return v, nil // the old state is known
		}
		v = again
	}
	return v, err
}

// readsBack corrects the result of an act by a readback. so says whether the state is as
// commanded, now describes the state, and err says why it is unknown. Without an
// acknowledgement, another state proves nothing: the device may receive the command late and
// act then. Only a command that never reached it has no effect (effectOf).
func (r *Result) readsBack(name string, so bool, now string, err error) {
	r.Sight = Sight{Known: err == nil, So: so, Now: now}
	switch {
	case err != nil:
		r.unread(err)
	case so:
		if r.Err != nil {
			r.Note("the driver reported: %v", r.Err)
		}
		r.Err, r.Effect, r.Evidence = nil, "", mess.ReadBack
	case r.Err == nil:
		r.Err, r.Effect = fmt.Errorf("%s was told, but reads back as %s", name, now), mess.EffectUnknown
	default:
		r.Err, r.Effect = fmt.Errorf("%w; it read back as %s just now, and may still act", r.Err, now), mess.EffectUnknown
	}
}

// unread notes that the state of a device is unknown, and why. For a halted device this says
// nothing about the act.
func (r *Result) unread(err error) {
	if errors.Is(err, drivers.ErrNotStarted) {
		r.Note("it was not read back: it has been halted")
		return
	}
	r.Note("it could not be read back: %v", err)
}
