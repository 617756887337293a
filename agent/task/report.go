package task

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/messkit/messkit/agent/action"
	"github.com/messkit/messkit/agent/policy"
	"github.com/messkit/messkit/agent/runtime"
	"github.com/messkit/messkit/agent/wording"
	"github.com/messkit/messkit/capabilities"
	"github.com/messkit/messkit/drivers"
	"github.com/messkit/messkit/mess"
	"github.com/messkit/messkit/mess/receipt"
)

// reportResult reports the result of a plan. It stores the result without images first, because
// uploading them may take as long as the exchange is away.
func (t *task) reportResult(ctx context.Context, release func(), plan capabilities.Plan, r action.Result) {
	s := t.terminalStatus(ctx, plan, r)
	if t.Config.Acted != nil && !t.began.IsZero() {
		t.Config.Acted(runtime.Act{Ref: t.ref, Trace: t.trace, Device: plan.Device, Capability: plan.Capability, Began: t.began, Ended: t.Now(), Status: s.Code})
	}
	if len(r.Images) == 0 {
		t.report(ctx, s, t.response(plan, r, nil, nil))
		return
	}
	release() // from here on the device is free
	resultWithoutImages := r
	resultWithoutImages.Evidence = cmp.Or(r.EvidenceWithoutImages, mess.EvidenceUnknown) // an image that did not arrive is no evidence
	statusWithoutImages := t.terminalStatus(ctx, plan, resultWithoutImages)
	t.store(ctx, t.message(statusWithoutImages, t.response(plan, r, nil, []string{"the agent could not deliver the pictures"})))
	actx, cancel := ctx, context.CancelFunc(func() {})
	if ctx.Err() != nil {
		actx, cancel = context.WithTimeout(context.WithoutCancel(ctx), t.Config.EndTime)
	}
	defer cancel()
	images, trouble := t.uploadImages(actx, r.Images)
	if len(images) == 0 {
		s = statusWithoutImages
	}
	if len(images) == 0 && !plan.Actuates() && r.Facts == nil && s.Code == mess.Completed {
		s = failed("no_picture", strings.Join(trouble, "; "), mess.EffectNone, plan) // the image was the answer
		r.Text = ""
	}
	t.report(ctx, s, t.response(plan, r, images, trouble))
}

// terminalStatus returns the terminal status of a plan. If a command may still arrive, it explains
// how to check that.
func (t *task) terminalStatus(ctx context.Context, plan capabilities.Plan, r action.Result) *mess.Status {
	s := t.statusOf(ctx, plan, r)
	if r.Unanswered && s.Code != mess.Completed {
		s.Suggestion = t.howToCheck()
	}
	return withAdvice(r, s)
}

// statusOf returns the terminal status of a plan from its result.
func (t *task) statusOf(ctx context.Context, plan capabilities.Plan, r action.Result) *mess.Status {
	cause := context.Cause(ctx)
	kind, detail := t.failureReason(cause, r)
	effect := r.Effect
	switch {
	case !plan.Actuates():
		effect = mess.EffectNone
	case len(r.Done) > 0, effect == "" && len(r.Remaining) > 0: // the driver reports where it stopped
		effect = mess.EffectPartial
	case effect == "":
		effect = mess.EffectUnknown
	}
	switch {
	case r.Err == nil && len(r.Remaining) == 0:
		return &mess.Status{Code: mess.Completed, Evidence: cmp.Or(r.Evidence, mess.EvidenceUnknown)}
	case errors.Is(cause, runtime.ErrCancelled):
		s := &mess.Status{
			Code: mess.Cancelled, Evidence: evidenceOf(effect, r.Evidence),
			Reason: &mess.Reason{Type: "cancelled", Detail: detail, Effect: effect},
		}
		s.Completed, s.Remaining = wording.AnyList(r.Done), wording.AnyList(r.Remaining)
		return s
	case len(r.Done) > 0:
		return &mess.Status{
			Code: mess.Partial, Evidence: evidenceOf(effect, r.Evidence), Completed: wording.AnyList(r.Done), Remaining: wording.AnyList(r.Remaining),
			Reason: &mess.Reason{Type: kind, Detail: detail, Effect: effect},
		}
	}
	s := failed(kind, detail, effect, plan)
	s.Evidence = evidenceOf(effect, r.Evidence)
	return s
}

// withAdvice adds the help that a device needs as a suggestion.
func withAdvice(r action.Result, s *mess.Status) *mess.Status {
	if help, ok := errors.AsType[*drivers.HelpError](r.Err); ok && (s.Code == mess.Partial || s.Code == mess.Failed) {
		s.Suggestion = help.Help
	}
	return s
}

// evidenceOf returns the evidence for the effect of an incomplete plan: there is none for no
// effect and for an unknown effect.
func evidenceOf(e mess.Effect, known mess.Evidence) mess.Evidence {
	switch e {
	case mess.EffectNone:
		return ""
	case mess.EffectPartial:
		return cmp.Or(known, mess.EvidenceUnknown)
	}
	return mess.EvidenceUnknown
}

// failureReason returns why a plan was not completed, as a kind and a detail.
func (t *task) failureReason(cause error, r action.Result) (kind, detail string) {
	detail = "it ended before the work was complete"
	if r.Err != nil {
		detail = r.Err.Error()
	}
	midway := withoutCause(r.Err, cause) // the error's text in addition to the name of the stop
	rest := partialResult(r)
	if r.Unanswered && !strings.Contains(detail+rest, "may still") {
		rest += "; it may still act"
	}
	midway, detail = midway+rest, detail+rest
	no, refused := errors.AsType[*policy.Rejection](r.Err)
	_, late := errors.AsType[*policy.TimeoutError](r.Err)
	help, _ := errors.AsType[*drivers.HelpError](r.Err)
	stop, stopped := cause.(*policy.Rejection)
	if cause == nil && r.Err != nil { // the driver may have learned of it first
		stop = t.Gate.StopRejection()
		stopped = stop != nil
	}
	switch {
	case errors.Is(cause, runtime.ErrCancelled):
		if r.MayMove || r.Effect == "" || r.Effect == mess.EffectUnknown {
			return "cancelled", "cancelled midway" + midway // the device may still be active
		}
		return "cancelled", "stopped midway" + midway
	case errors.Is(cause, runtime.ErrLost):
		return "claim_lost", "the claim was over midway" + midway
	case stopped:
		return stop.Rule, stop.Text + midway
	case cause != nil:
		return "interrupted", "the program ended midway" + midway
	case refused:
		return no.Rule, detail
	case late:
		return "timeout", detail
	case errors.Is(r.Err, action.ErrAnsweredCancel), errors.Is(r.Err, drivers.ErrStopped):
		return "stopped", detail
	case errors.Is(r.Err, drivers.ErrBusy):
		return "busy", detail
	case errors.Is(r.Err, drivers.ErrHalted):
		return "interrupted", detail
	case errors.Is(r.Err, drivers.ErrNotStarted):
		return "not_started", detail
	case errors.Is(r.Err, action.ErrNotHappened):
		return "not_happened", detail
	case help != nil:
		return "needs_person", detail
	case r.Err == nil:
		return "incomplete", detail
	}
	return "device", detail
}

// withoutCause returns the text of an error without that of its cause.
func withoutCause(err, cause error) string {
	if !errors.Is(err, cause) {
		cause = context.Canceled
	}
	switch {
	case err == nil:
		return ""
	case !errors.Is(err, cause):
		return ": " + err.Error()
	}
	_, more, _ := strings.Cut(err.Error(), cause.Error())
	return more
}

// partialResult describes the completed and the remaining parts of a task that can end partly. A
// begun part is not among the remaining ones.
func partialResult(r action.Result) string {
	s := ""
	switch {
	case r.StandsStill:
		s = "; it stands still"
	case r.MayMove:
		s = "; it may still be moving"
	}
	switch {
	case len(r.Done) > 0:
		return s + fmt.Sprintf("; done: %s; not done: %s", wording.Counted(r.Done), wording.Counted(r.Remaining))
	case len(r.Remaining) == 0:
		return s
	case r.Effect == mess.EffectNone:
		return s + "; not done: " + wording.Counted(r.Remaining)
	}
	return s + "; begun, and not finished: " + wording.Counted(r.Remaining)
}

// failed returns the status of a plan that failed, or whose effect is unknown.
func failed(kind, detail string, effect mess.Effect, plan capabilities.Plan) *mess.Status {
	again := effect == mess.EffectNone || plan.Repeatable()
	s := &mess.Status{
		Code: mess.Failed, Reason: &mess.Reason{Type: kind, Detail: detail, Effect: effect}, Recoverable: recoverable(mess.Failed, again),
		Evidence: evidenceOf(effect, ""),
	}
	if effect != mess.EffectNone {
		s.Suggestion = "look before retrying"
	}
	return s
}

// recoverable returns the field of that name, which only failed has (MESS 1.0 section 4.2).
func recoverable(code mess.Code, again bool) *bool {
	if code != mess.Failed {
		return nil
	}
	return &again
}

// response returns the response in addition to the status: text, images, and facts as data. It is
// nil without content.
func (t *task) response(plan capabilities.Plan, r action.Result, images []mess.Entry, trouble []string) *mess.Response {
	var content []mess.Entry
	if r.Text != "" && (r.Err == nil || len(r.Done) > 0) {
		content = append(content, mess.TextEntry(r.Text))
	}
	content = append(append(content, images...), r.Earlier...)
	if r.Err == nil {
		content = append(content, t.structuredContent(plan, r)...)
		if missing := action.MissingContent(plan, content, r.Notes); missing != "" {
			trouble = append(trouble, missing)
		}
	}
	if r.Notes != "" {
		trouble = append([]string{r.Notes}, trouble...)
	}
	if len(plan.Unused) > 0 {
		trouble = append(trouble, "the agent did not use this part of the request: "+strings.Join(plan.Unused, "; "))
	}
	if len(content) == 0 && len(trouble) == 0 {
		return nil
	}
	return &mess.Response{
		Executor: t.Config.ID, CompletedAt: mess.TimeOf(t.Now()), Content: content, Notes: strings.Join(trouble, "; "), Extra: t.clockMarks(),
	}
}

// clockMarks returns the marks for the times of a response.
func (t *task) clockMarks() mess.Object {
	if c := t.Session.ClockMark(); c != "" {
		return mess.Object{{Key: "clock", Value: c}}
	}
	return nil
}

// structuredContent returns the contents for programs.
func (t *task) structuredContent(plan capabilities.Plan, r action.Result) []mess.Entry {
	var content []mess.Entry
	if r.Yes != nil && slices.Contains(plan.Want, "confirmation") {
		content = append(content, mess.ObjectEntry("confirmation", mess.Confirmation{Confirmed: *r.Yes, Details: r.Text}))
	}
	if facts := action.Facts(plan, r); len(facts) > 0 {
		content = append(content, mess.ObjectEntry("structured", facts))
	}
	return append(content, action.Locations(plan, r)...)
}

// signed adds a receipt to a terminal status, if the executor has a key.
func (t *task) signed(m mess.Message) mess.Message {
	ended := t.ended
	if ended.IsZero() {
		ended = t.Now()
	}
	f := receipt.Facts{
		Thread: t.ref, Epoch: m.Epoch, Executor: t.Config.ID, Started: wording.UTC(t.began), Ended: wording.UTC(ended), Clock: t.Session.ClockMark(),
	}
	if t.plan != nil && t.plan.Command != "" { // an unreadable intent has no plan to sign
		f.Plan, f.Capability = t.plan.Digest(), t.plan.Capability
	}
	return t.Session.Sign(m, f)
}
