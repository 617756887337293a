package action

import (
	"context"
	"fmt"

	"github.com/messkit/messkit/agent/wording"
	"github.com/messkit/messkit/capabilities"
	"github.com/messkit/messkit/drivers"
	"github.com/messkit/messkit/mess"
)

// pauseResumeStop pauses, resumes or stops a device, and reads back whether it stands still.
func (run Run) pauseResumeStop(ctx context.Context) Result {
	var err error
	var left, text string
	d := run.Device.Driver
	switch run.Plan.Command {
	case capabilities.Pause:
		err, text = run.Pass.Pause(ctx, d.(drivers.Pauser)), "The %s is paused."
	case capabilities.Resume:
		err, text = run.Pass.Resume(ctx, d.(drivers.Pauser)), "The %s goes on."
	default:
		left, err = run.Pass.Stop(ctx, d.(drivers.Stopper))
		text = "The %s has stopped."
	}
	r := Result{Err: err, Effect: effectOf(err), Evidence: mess.Acknowledged, Yes: new(true)}
	if r.Effect == mess.EffectNone {
		return r
	}
	r.Text = wording.Sentences(fmt.Sprintf(text, run.Device.Label), wording.Sentence(left))
	r.Facts = mess.Object{{Key: "device", Value: run.Device.Name}}
	since := run.Now()
	run.Acted(r)
	ctx, cancel := readbackContext(ctx)
	defer cancel()
	run.readStandstill(ctx, run.Plan.Command != capabilities.Resume, &r)
	if run.Plan.Command == capabilities.Stop {
		run.noteEstimate(ctx, &r)
	}
	if r.Err == nil && run.wantsImage() {
		run.captureAfter(ctx, since, &r)
	}
	return r
}

// readStandstill corrects the result by whether the device stands still.
func (run Run) readStandstill(ctx context.Context, want bool, r *Result) {
	reader, ok := run.Device.Driver.(drivers.RestReader)
	_, places := run.Device.Driver.(drivers.OpeningReader)
	if !ok || places && r.Err == nil {
		run.addPosition(ctx, r)
		return
	}
	switch still, err := run.Pass.AtRest(ctx, reader); {
	case err != nil:
		r.noteUnread(err)
	case still != want && r.Err == nil:
		r.Err, r.Effect = fmt.Errorf("%s got the command, but reads back as %s", run.Device.Name, map[bool]string{true: "standing still", false: "moving"}[still]), mess.EffectUnknown
	case still && r.Err != nil && stopsPrint(run.Device.Driver, run.Plan):
		r.Err = fmt.Errorf("%w; it stands still", r.Err)
	case still == want && want:
		r.Err, r.Effect, r.Evidence = nil, "", mess.ReadBack
	case still == want && r.Err == nil:
		r.Evidence = mess.ReadBack
	case still: // it may stand still for a moment after a resume
		r.Err = fmt.Errorf("%w; it stood still just now, and may still act", r.Err)
	}
}

// addPosition adds the position of a stopped device, if it reports one: a moving device reports
// none.
func (run Run) addPosition(ctx context.Context, r *Result) {
	reader, ok := run.Device.Driver.(drivers.OpeningReader)
	if !ok || r.Err != nil || run.Plan.Command != capabilities.Stop {
		return
	}
	is, err := run.Pass.Opening(ctx, reader)
	if err != nil {
		r.noteUnread(err)
		return
	}
	r.Evidence = mess.ReadBack
	r.Text = wording.Sentences(r.Text, fmt.Sprintf("It is %s.", wording.Opening(is)))
	r.Facts = r.Facts.Set("opening", mess.Number(wording.Number(is)))
}

// stopsPrint reports whether a plan stops a print. That the printer stands still is then no
// evidence: a paused print also stands still, with its heaters on.
func stopsPrint(d drivers.Device, p capabilities.Plan) bool {
	_, prints := d.(drivers.Printer)
	return prints && p.Command == capabilities.Stop
}
