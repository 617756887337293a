package agent

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/messkit/messkit/agent/policy"
	"github.com/messkit/messkit/capabilities"
	"github.com/messkit/messkit/drivers"
	"github.com/messkit/messkit/mess"
)

// finish reports the result of a plan. It stores the result without images first, because
// uploading them may take as long as the exchange is away.
func (t *task) finish(ctx context.Context, leave func(), plan capabilities.Plan, r result) {
	s := t.judge(ctx, plan, r)
	if len(r.images) == 0 {
		t.report(ctx, s, t.response(plan, r, nil, nil))
		return
	}
	leave() // the device is free
	unseen := r
	unseen.evidence = cmp.Or(r.unseen, mess.EvidenceUnknown) // an image that did not arrive is no evidence
	blind := t.judge(ctx, plan, unseen)
	t.keep(ctx, t.message(blind, t.response(plan, r, nil, []string{"the pictures could not be delivered"})))
	actx, cancel := ctx, context.CancelFunc(func() {})
	if ctx.Err() != nil {
		actx, cancel = context.WithTimeout(context.WithoutCancel(ctx), t.cfg.EndTime)
	}
	defer cancel()
	images, trouble := t.attach(actx, r.images)
	if len(images) == 0 {
		s = blind
	}
	if len(images) == 0 && !plan.Actuates() && r.facts == nil && s.Code == mess.Completed {
		s = failed("no_picture", strings.Join(trouble, "; "), mess.EffectNone, plan) // the image was the answer
		r.text = ""
	}
	t.report(ctx, s, t.response(plan, r, images, trouble))
}

// judge returns the terminal status of a plan. If a command may still arrive, it explains how
// to check that.
func (t *task) judge(ctx context.Context, plan capabilities.Plan, r result) *mess.Status {
	s := t.statusOf(ctx, plan, r)
	if r.late && s.Code != mess.Completed {
		s.Suggestion = t.howToCheck()
	}
	return helped(r, s)
}

// statusOf returns the terminal status of a plan from its result.
func (t *task) statusOf(ctx context.Context, plan capabilities.Plan, r result) *mess.Status {
	cause := context.Cause(ctx)
	kind, detail := t.blame(cause, r)
	effect := r.effect
	switch {
	case !plan.Actuates():
		effect = mess.EffectNone
	case len(r.done) > 0, effect == "" && len(r.left) > 0: // the driver reports where it stopped
		effect = mess.EffectPartial
	case effect == "":
		effect = mess.EffectUnknown
	}
	switch {
	case r.err == nil && len(r.left) == 0:
		return &mess.Status{Code: mess.Completed, Evidence: cmp.Or(r.evidence, mess.EvidenceUnknown)}
	case errors.Is(cause, errCancelled):
		s := &mess.Status{
			Code: mess.Cancelled, Evidence: evidenceOf(effect, r.evidence),
			Reason: &mess.Reason{Type: "cancelled", Detail: detail, Effect: effect},
		}
		s.Completed, s.Remaining = anyList(r.done), anyList(r.left)
		return s
	case len(r.done) > 0:
		return &mess.Status{
			Code: mess.Partial, Evidence: evidenceOf(effect, r.evidence), Completed: anyList(r.done), Remaining: anyList(r.left),
			Reason: &mess.Reason{Type: kind, Detail: detail, Effect: effect},
		}
	}
	s := failed(kind, detail, effect, plan)
	s.Evidence = evidenceOf(effect, r.evidence)
	return s
}

// helped adds advice for a person.
func helped(r result, s *mess.Status) *mess.Status {
	if help, ok := errors.AsType[*drivers.HelpError](r.err); ok && (s.Code == mess.Partial || s.Code == mess.Failed) {
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

// blame returns why a plan was not completed, as a kind and a detail.
func (t *task) blame(cause error, r result) (kind, detail string) {
	detail = "it came back before it was done"
	if r.err != nil {
		detail = r.err.Error()
	}
	midway := beside(r.err, cause) // the error's text in addition to the name of the stop
	rest := tally(r)
	if r.late && !strings.Contains(detail+rest, "may still") {
		rest += "; it may still act"
	}
	midway, detail = midway+rest, detail+rest
	no, refused := errors.AsType[*policy.Rejection](r.err)
	_, late := errors.AsType[*policy.TimeoutError](r.err)
	help, _ := errors.AsType[*drivers.HelpError](r.err)
	stop, stopped := cause.(*policy.Rejection)
	if cause == nil && r.err != nil { // the driver may have learned of it first
		stop = t.gate.StopRejection()
		stopped = stop != nil
	}
	switch {
	case errors.Is(cause, errCancelled):
		if r.roams || r.effect == "" || r.effect == mess.EffectUnknown {
			return "cancelled", "cancelled midway" + midway // the device may still be active
		}
		return "cancelled", "stopped midway" + midway
	case errors.Is(cause, errLost):
		return "claim_lost", "the claim was over midway" + midway
	case stopped:
		return stop.Rule, stop.Text + midway
	case cause != nil:
		return "interrupted", "the program was ended midway" + midway
	case refused:
		return no.Rule, detail
	case late:
		return "timeout", detail
	case errors.Is(r.err, errAnswered), errors.Is(r.err, drivers.ErrStopped):
		return "stopped", detail
	case errors.Is(r.err, drivers.ErrBusy):
		return "busy", detail
	case errors.Is(r.err, drivers.ErrHalted):
		return "interrupted", detail
	case errors.Is(r.err, drivers.ErrNotStarted):
		return "not_started", detail
	case errors.Is(r.err, errNotSo):
		return "not_happened", detail
	case help != nil:
		return "needs_person", detail
	case r.err == nil:
		return "incomplete", detail
	}
	return "device", detail
}

// beside returns the text of an error without that of its cause.
func beside(err, cause error) string {
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

// tally describes the completed and the remaining parts of a task that can end partly. A begun
// part is not among the remaining ones.
func tally(r result) string {
	s := ""
	switch {
	case r.rests:
		s = "; it stands still"
	case r.roams:
		s = "; it may still be moving"
	}
	switch {
	case len(r.done) > 0:
		return s + fmt.Sprintf("; done: %s; not done: %s", counted(r.done), counted(r.left))
	case len(r.left) == 0:
		return s
	case r.effect == mess.EffectNone:
		return s + "; not done: " + counted(r.left)
	}
	return s + "; begun, and not finished: " + counted(r.left)
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

// response returns the response besides the status: text, images, and facts as data. It is nil
// without content.
func (t *task) response(plan capabilities.Plan, r result, images []mess.Entry, trouble []string) *mess.Response {
	var content []mess.Entry
	if r.text != "" && (r.err == nil || len(r.done) > 0) {
		content = append(content, mess.TextEntry(r.text))
	}
	content = append(append(content, images...), r.earlier...)
	if r.err == nil {
		content = append(content, t.extras(plan, r)...)
		if why := ungiven(plan, content, r.notes); why != "" {
			trouble = append(trouble, why)
		}
	}
	if r.notes != "" {
		trouble = append([]string{r.notes}, trouble...)
	}
	if len(plan.Unused) > 0 {
		trouble = append(trouble, "of what was said this was not used: "+strings.Join(plan.Unused, "; "))
	}
	if len(content) == 0 && len(trouble) == 0 {
		return nil
	}
	return &mess.Response{
		Executor: t.cfg.ID, CompletedAt: mess.TimeOf(t.now()), Content: content, Notes: strings.Join(trouble, "; "), Extra: t.marks(),
	}
}

// marks returns the marks for the times of a response.
func (t *task) marks() mess.Object {
	if c := t.session.clock(); c != "" {
		return mess.Object{{Key: "clock", Value: c}}
	}
	return nil
}

// extras returns the contents for programs.
func (t *task) extras(plan capabilities.Plan, r result) []mess.Entry {
	var content []mess.Entry
	if r.yes != nil && slices.Contains(plan.Want, "confirmation") {
		content = append(content, mess.ObjectEntry("confirmation", mess.Confirmation{Confirmed: *r.yes, Details: r.text}))
	}
	if facts := told(plan, r); len(facts) > 0 {
		content = append(content, mess.ObjectEntry("structured", facts))
	}
	return append(content, located(plan, r)...)
}

func anyList(words []string) []any {
	var list []any
	for _, w := range words {
		list = append(list, w)
	}
	return list
}
