package action

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/messkit/messkit/agent/imaging"
	"github.com/messkit/messkit/agent/policy"
	"github.com/messkit/messkit/agent/wording"
	"github.com/messkit/messkit/drivers"
	"github.com/messkit/messkit/mess"
)

// cleanSpot cleans the spot at the device's position.
func (run Run) cleanSpot(ctx context.Context) Result {
	_, err := withAssistance(ctx, run, func(progress func(drivers.Progress)) (struct{}, error) {
		return struct{}{}, run.Pass.CleanSpot(ctx, run.Device.Driver.(drivers.SpotCleaner), progress)
	})
	r := Result{
		Err: err, Effect: effectOf(err), Evidence: mess.Acknowledged, Yes: new(true),
		Text: fmt.Sprintf("The %s has cleaned the spot.", run.Device.Label),
	}
	return run.afterAct(ctx, r, func(ctx context.Context, since time.Time, r *Result) {
		run.checkStandstill(ctx, r)
		if r.Err == nil && run.wantsImage() {
			run.captureAfter(ctx, since, r)
		}
	})
}

// clean cleans the areas of the plan, and adds the map of the device if it has one.
func (run Run) clean(ctx context.Context) Result {
	areas := areaNames(run.Plan.Args)
	out, err := withAssistance(ctx, run, func(progress func(drivers.Progress)) (drivers.Outcome, error) {
		return run.Pass.Clean(ctx, run.Device.Driver.(drivers.Cleaner), areas, progress)
	})
	r := Result{Err: err, Effect: effectOf(err), Evidence: mess.Acknowledged, Done: out.Done, Remaining: out.Remaining}
	if r.Effect == mess.EffectNone && len(r.Done) == 0 {
		return r
	}
	r.Text = cleanedText(run.Device.Label, out)
	since := run.Now()
	run.Acted(r)
	ctx, cancel := readbackContext(ctx)
	defer cancel()
	run.checkStandstill(ctx, &r)
	if m, ok := run.Device.Driver.(drivers.Mapper); ok {
		p, err := run.Pass.Map(ctx, m)
		if err == nil {
			err = imaging.Fresh(p, since)
		}
		if err != nil {
			r.Note("there is no map: %v", noImageReason(err))
		} else {
			r.addImage(mess.ReadBack, Image{run.Cameras.ImageOf(p), run.Device.Name + "-map"})
		}
	}
	if r.Err == nil && run.wantsImage() {
		run.captureAfter(ctx, since, &r)
	}
	return r
}

// checkStandstill reads whether a device stands still after an interrupted act. If it does,
// the act is partly complete and nothing more will happen, for any cause.
func (run Run) checkStandstill(ctx context.Context, r *Result) {
	reader, ok := run.Device.Driver.(drivers.RestReader)
	_, opens := run.Device.Driver.(drivers.Opener)
	switch {
	case !ok && !opens || r.Err == nil || r.Effect != mess.EffectUnknown:
		return
	case MayAct(r.Err):
		r.MayMove = true
		return
	case !ok:
		return
	}
	switch still, err := run.Pass.AtRest(ctx, reader); {
	case err != nil:
		r.MayMove = true
		r.Note("the agent could not read whether it stands still: %v", err)
	case !still:
		r.MayMove = true
		r.Note("it still moves")
	default:
		r.Effect, r.Evidence, r.StandsStill = mess.EffectPartial, mess.ReadBack, true
	}
}

// dock sends a cleaner to its dock and reads back whether it is there.
func (run Run) dock(ctx context.Context) Result {
	err := run.Pass.Dock(ctx, run.Device.Driver.(drivers.Cleaner))
	r := Result{
		Err: err, Effect: effectOf(err), Evidence: mess.Acknowledged,
		Text: fmt.Sprintf("The %s is in its dock.", run.Device.Label), Yes: new(true),
	}
	return run.afterAct(ctx, r, func(ctx context.Context, since time.Time, r *Result) {
		if r.Err != nil {
			run.checkStandstill(ctx, r)
			return
		}
		if reader, ok := run.Device.Driver.(drivers.DockReader); ok {
			switch in, err := readUntil(ctx, r, func(in bool) bool { return in }, func() (bool, error) { return run.Pass.Docked(ctx, reader) }); {
			case err != nil:
				r.noteUnread(err)
			case !in:
				r.Err, r.Effect = fmt.Errorf("the agent sent %s to its dock, but it is not there", run.Device.Name), mess.EffectUnknown
				return
			default:
				r.Evidence = mess.ReadBack
			}
		}
		if run.wantsImage() {
			run.captureAfter(ctx, since, r)
		}
	})
}

// move drives for the plan's time. After an interruption the device has moved part of the way
// and stands still.
func (run Run) move(ctx context.Context) Result {
	moved, err := run.Pass.Move(ctx, run.Device.Driver.(drivers.Mover), policy.MotionOf(run.Plan))
	r := Result{Err: err, Effect: effectOf(err), Evidence: mess.Acknowledged, Yes: new(true)}
	r.Text = fmt.Sprintf("The %s has moved for %v, and stands still.", run.Device.Label, moved.Round(100*time.Millisecond))
	switch {
	case moved == 0:
		return r
	case errors.Is(err, policy.ErrStopUnacknowledged):
		r.Effect = mess.EffectUnknown
		return r
	case err != nil:
		r.Effect = mess.EffectPartial
		r.Note("it moved for %v at most, and stands still", moved.Round(100*time.Millisecond))
		return r
	}
	since := run.Now()
	run.Acted(r)
	if run.wantsImage() {
		ctx, cancel := readbackContext(ctx)
		defer cancel()
		run.captureAfter(ctx, since, &r)
	}
	return r
}

// cleanedText returns a sentence such as "The vacuum has cleaned near sink and stove; left:
// hall."
func cleanedText(label string, out drivers.Outcome) string {
	if len(out.Done)+len(out.Remaining) == 0 { // the plan names no areas
		return fmt.Sprintf("The %s has finished cleaning.", label)
	}
	s := fmt.Sprintf("The %s has cleaned %s", label, wording.List(out.Done))
	if len(out.Remaining) > 0 {
		s += "; not done: " + wording.List(out.Remaining)
	}
	return s + "."
}

// areaNames returns the areas of a plan. In a plan from the journal they are a list of any
// values.
func areaNames(args mess.Object) []string {
	value, _ := args.Get("areas")
	switch areas := value.(type) {
	case []string:
		return areas
	case []any:
		var list []string
		for _, a := range areas {
			if s, ok := a.(string); ok {
				list = append(list, s)
			}
		}
		return list
	}
	return nil
}
