package agent

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/messkit/messkit/capabilities"
	"github.com/messkit/messkit/drivers"
	"github.com/messkit/messkit/internal/wait"
	"github.com/messkit/messkit/mess"
)

// secure opens, closes, locks or unlocks, and reads the device back if possible. If it was
// interrupted and the device reports its position, the act is partly complete.
func (v verbs) secure(ctx context.Context) result {
	var err error
	var state string
	switch d := v.dev.Driver; v.plan.Command {
	case capabilities.Open:
		err, state = v.pass.Open(ctx, d.(drivers.Opener)), "open"
	case capabilities.Shut:
		err, state = v.pass.Shut(ctx, d.(drivers.Opener)), "closed"
	case capabilities.OpenTo:
		percent, ok := percentOf(v.plan.Args, "opening")
		if !ok {
			return result{err: fmt.Errorf("%s: the plan does not say how far", v.dev.Name), effect: mess.EffectNone}
		}
		err, state = v.pass.OpenTo(ctx, d.(drivers.Positioner), percent), openness(percent)
	case capabilities.Lock:
		err, state = v.pass.Lock(ctx, d.(drivers.Locker)), "locked"
	default:
		err, state = v.pass.Unlock(ctx, d.(drivers.Locker)), "unlocked"
	}
	r := result{
		err: err, effect: effectOf(err), evidence: mess.Acknowledged, yes: new(true),
		text:  fmt.Sprintf("The %s is %s.", v.dev.Label, state),
		facts: mess.Object{{Key: "device", Value: v.dev.Name}, {Key: "state", Value: state}},
	}
	if r.effect == mess.EffectNone {
		return r
	}
	since := v.now()
	v.acted(r)
	broken := context.Cause(ctx)
	ctx, cancel := aftermath(ctx)
	defer cancel()
	if v.readSecured(ctx, broken, &r); r.err != nil {
		r.roams = mayAct(r.err)
		v.comeToRest(ctx, &r)
	}
	v.reckoned(ctx, &r)
	if r.err == nil {
		v.lookAgain(ctx, since, &r)
	}
	return r
}

// readSecured corrects the result by a readback. broken is the cause of an interruption, nil if
// there was none.
func (v verbs) readSecured(ctx context.Context, broken error, r *result) {
	read := probeOf(v.dev.Driver, v.plan)
	if read == nil {
		return
	}
	so, now := false, ""
	_, err := settled(ctx, r, func(so bool) bool { return so }, func() (bool, error) {
		is, how, err := read(ctx, v.pass)
		if err == nil {
			so, now = is, how
		}
		return is, err
	})
	rest, rests := v.dev.Driver.(drivers.RestReader)
	if rests && errors.Is(err, drivers.ErrNotStarted) {
		return // a stop has halted it, and it reports whether it stands still
	}
	if err == nil && !so && r.err != nil && !mayAct(r.err) && !errors.Is(r.err, drivers.ErrUnmoved) {
		stands := false
		if rests {
			stands, _ = v.pass.AtRest(ctx, rest)
		} else {
			stands = stays(ctx, v.plan.Command, now, func() (string, error) {
				_, again, err := read(ctx, v.pass)
				return again, err
			})
		}
		if stands {
			where := fmt.Errorf("it stands, and reads back as %s", now)
			if broken == nil || !errors.Is(r.err, broken) && !errors.Is(r.err, context.Canceled) { // the result reports that anyway
				where = fmt.Errorf("%w; %w", r.err, where)
			}
			r.err, r.effect, r.evidence = where, mess.EffectPartial, mess.ReadBack
			return
		}
	}
	r.readsBack(v.dev.Name, so, now, err)
}

// reckoned notes the estimated position of a device without a measured one. An estimate is no
// evidence.
func (v verbs) reckoned(ctx context.Context, r *result) {
	e, ok := v.dev.Driver.(drivers.OpeningEstimator)
	if !ok {
		return
	}
	is, err := v.pass.EstimatedOpening(ctx, e)
	if err != nil {
		r.note("where it stands is not known: %v", err)
		return
	}
	r.facts = r.facts.Set("estimated", true).Set("opening", mess.Number(number(is)))
	r.note("it stands at about %s %% open, reckoned from the time that its motor ran, and not measured", rounded(is))
}

// between is the pause between two readings of a device that may still move.
const between = 2 * time.Second

// stays reports whether an interrupted device that does not report motion has stopped on its
// way. It must report the same position twice, and no end position, where it may not have
// started. A lock has no position in between, and a late command may still turn it.
func stays(ctx context.Context, c capabilities.Command, now string, look func() (string, error)) bool {
	if c != capabilities.Open && c != capabilities.Shut && c != capabilities.OpenTo || now == openness(0) || now == openness(100) {
		return false
	}
	if !wait.For(ctx, between) {
		return false
	}
	again, err := look()
	return err == nil && again == now
}

// openness describes an opening in words.
func openness(percent float64) string {
	switch {
	case percent < 1:
		return "closed"
	case percent > 99:
		return "open"
	}
	return rounded(percent) + " % open"
}
