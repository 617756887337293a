package agent

import (
	"context"
	"errors"
	"fmt"

	"github.com/messkit/messkit/capabilities"
	"github.com/messkit/messkit/mess"
)

// past is what came of the steps of a plan of which only the last is left, and that
// only watches. It is in the journal from when the watch begins, so that the next run
// does nothing of it again, and tells what was done.
type past struct {
	Done     []string      `json:"done"` // in words
	Text     string        `json:"text,omitempty"`
	Notes    string        `json:"notes,omitempty"`
	Evidence mess.Evidence `json:"evidence,omitempty"` // without the pictures, which are not kept
	Facts    mess.Object   `json:"facts,omitempty"`
}

// watchNext writes down what came of the steps so far, before the last begins to watch.
// Without that the next run knows only that the plan was begun.
func (t *task) watchNext(ctx context.Context, plan capabilities.Plan, all result) {
	t.past = &past{Done: all.done, Text: all.text, Notes: all.notes, Evidence: all.unseen, Facts: all.facts}
	if err := t.intend(ctx, plan, unnoted); err != nil {
		t.past = nil
		t.a.log.Warn("the steps before a watch are not written down; what was done is not known after a crash", "ref", t.ref, "err", err)
	}
}

// lookBack notes what of the steps that an earlier run has done is not so any more:
// every output was taken to its initial state since.
func (t *task) lookBack(ctx context.Context, plan capabilities.Plan) {
	if t.past == nil {
		return
	}
	r := result{notes: t.past.Notes}
	for _, step := range plan.Steps[:len(plan.Steps)-1] {
		if is, how := t.a.verify(context.WithoutCancel(ctx), step); is == probedNotDone {
			r.note("%s was done, and then the program was started anew: %s", step.Summary, how)
		}
	}
	if r.notes != t.past.Notes {
		t.past.Text, t.past.Notes = "Before the program was started anew: "+t.past.Text, r.notes
	}
}

// lastStep is the step that a next run goes on with: the plan, if it has no steps.
func lastStep(plan capabilities.Plan) capabilities.Plan {
	each := plan.Each()
	return each[len(each)-1]
}

// withPast is what came of all steps, of which an earlier run has done those before r.
func (t *task) withPast(plan capabilities.Plan, r result) result {
	p := t.past
	all := result{done: p.Done, text: p.Text, notes: p.Notes, evidence: p.Evidence, unseen: p.Evidence, facts: p.Facts}
	if all.add(lastStep(plan), r); all.err == nil {
		all.done, all.left = nil, nil // it is whole
	}
	return all
}

// watchedNoMore is the end of a plan whose watch cannot be gone on with: what was done
// is told, and that nothing is watched any more.
func (t *task) watchedNoMore(ctx context.Context, why error) *mess.Status {
	r := t.withPast(*t.plan, result{err: fmt.Errorf("nothing is watched any more: %w", why), effect: mess.EffectNone})
	s := t.judge(ctx, *t.plan, r)
	if s.Reason != nil && !errors.Is(context.Cause(ctx), errCancelled) {
		s.Reason.Type = "interrupted"
	}
	return s
}
