package action

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/messkit/messkit/agent/wording"
	"github.com/messkit/messkit/capabilities"
	"github.com/messkit/messkit/drivers"
	"github.com/messkit/messkit/internal/wait"
	"github.com/messkit/messkit/mess"
)

// moveOrLock opens, closes, locks or unlocks, and reads the device back if possible. If it was
// interrupted and the device reports its position, the act is partly complete.
func (run Run) moveOrLock(ctx context.Context) Result {
	var err error
	var state string
	switch d := run.Device.Driver; run.Plan.Command {
	case capabilities.Open:
		err, state = run.Pass.Open(ctx, d.(drivers.Opener)), "open"
	case capabilities.Close:
		err, state = run.Pass.Close(ctx, d.(drivers.Opener)), "closed"
	case capabilities.OpenTo:
		percent, ok := numberArg(run.Plan.Args, "opening")
		if !ok {
			return Result{Err: fmt.Errorf("%s: the plan does not say how far", run.Device.Name), Effect: mess.EffectNone}
		}
		err, state = run.Pass.OpenTo(ctx, d.(drivers.Positioner), percent), wording.Opening(percent)
	case capabilities.Lock:
		err, state = run.Pass.Lock(ctx, d.(drivers.Locker)), "locked"
	default:
		err, state = run.Pass.Unlock(ctx, d.(drivers.Locker)), "unlocked"
	}
	r := run.resultOf(err, fmt.Sprintf("The %s is %s.", run.Device.Label, state), "state", state)
	return run.afterAct(ctx, r, func(after context.Context, since time.Time, r *Result) {
		if run.readPosition(after, context.Cause(ctx), r); r.Err != nil {
			r.MayMove = MayAct(r.Err)
			run.checkStandstill(after, r)
		}
		run.noteEstimate(after, r)
		if r.Err == nil {
			run.captureAfter(after, since, r)
		}
	})
}

// readPosition corrects the result by a readback. broken is the cause of an interruption, nil if
// there was none.
func (run Run) readPosition(ctx context.Context, broken error, r *Result) {
	read := readbackOf(run.Device.Driver, run.Plan)
	if read == nil {
		return
	}
	seen, err := run.readUntilPlanned(ctx, r, read)
	rest, rests := run.Device.Driver.(drivers.RestReader)
	if rests && errors.Is(err, drivers.ErrNotStarted) {
		return // a stop has halted it, and it reports whether it stands still
	}
	if err == nil && !seen.AsPlanned && r.Err != nil && !MayAct(r.Err) && !errors.Is(r.Err, drivers.ErrNotMoved) {
		stands := false
		if rests {
			stands, _ = run.Pass.AtRest(ctx, rest)
		} else {
			stands = hasStopped(ctx, run.Plan.Command, seen.State, func() (string, error) {
				_, again, err := read(ctx, run.Pass)
				return again, err
			})
		}
		if stands {
			where := fmt.Errorf("it stands still, and reads back as %s", seen.State)
			if broken == nil || !errors.Is(r.Err, broken) && !errors.Is(r.Err, context.Canceled) { // the result reports that anyway
				where = fmt.Errorf("%w; %w", r.Err, where)
			}
			r.Err, r.Effect, r.Evidence = where, mess.EffectPartial, mess.ReadBack
			return
		}
	}
	r.applyReadback(run.Device.Name, seen.AsPlanned, seen.State, err)
}

// noteEstimate notes the estimated position of a device without a measured one. An estimate
// is no evidence.
func (run Run) noteEstimate(ctx context.Context, r *Result) {
	e, ok := run.Device.Driver.(drivers.OpeningEstimator)
	if !ok {
		return
	}
	is, err := run.Pass.EstimatedOpening(ctx, e)
	if err != nil {
		r.Note("its position is unknown: %v", err)
		return
	}
	r.Facts = r.Facts.Set("estimated", true).Set("opening", mess.Number(wording.Number(is)))
	r.Note("it stands at about %s %% open, estimated from the run time of its motor, not measured", wording.Rounded(is))
}

// positionInterval is the pause between two readings of a device that may still move.
const positionInterval = 2 * time.Second

// hasStopped reports whether an interrupted device that does not report motion has stopped
// on its way. It must report the same position twice, and no end position, where it may not
// have started. A lock has no position in between, and a late command may still turn it.
func hasStopped(ctx context.Context, c capabilities.Command, now string, read func() (string, error)) bool {
	if c != capabilities.Open && c != capabilities.Close && c != capabilities.OpenTo || now == wording.Opening(0) || now == wording.Opening(100) {
		return false
	}
	if !wait.For(ctx, positionInterval) {
		return false
	}
	again, err := read()
	return err == nil && again == now
}
