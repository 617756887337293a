package agent

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/messkit/messkit/agent/gate"
	"github.com/messkit/messkit/agent/journal"
	"github.com/messkit/messkit/capabilities"
	"github.com/messkit/messkit/drivers"
	"github.com/messkit/messkit/internal/wait"
	"github.com/messkit/messkit/mess"
)

// memo is what an intent keeps for the case that the program dies: enough to
// look at the device again, or to do what may be done twice.
type memo struct {
	Plan    capabilities.Plan `json:"plan"`
	Request mess.Request      `json:"request"`
	By      string            `json:"by,omitempty"`   // the requester
	At      time.Time         `json:"at,omitzero"`    // when it was written
	Past    *past             `json:"past,omitempty"` // what is done, where the last step only watches
}

// maxCrashes is how often a thread may bring the program down: after that it is
// quarantined. It is not begun again, and its device is not looked at, since
// that may be what the program died of.
const maxCrashes = 2

// recover settles what an earlier run has begun and not told. held is how the
// exchange sees the claims of this executor. What it returns was let through the
// start gate and never begun.
func (a *Agent) recover(ctx context.Context, held []mess.HeldThread) (unbegun []mess.HeldThread) {
	known := map[string]bool{}
	watches := a.watchesLeft() // settle adds watches of its own
	for _, task := range a.journal.Tasks() {
		known[task.Ref] = true
		if task.Asked != nil {
			a.waitOn(ctx, task, isOurs(held, task))
		}
		if task.Open() {
			a.settle(ctx, a.found(ctx, task), held)
		}
	}
	for _, late := range watches {
		a.watchOn(ctx, late)
	}
	for _, h := range held {
		if h.Yours != nil && *h.Yours && !known[h.Ref] && a.orphan(ctx, h) {
			unbegun = append(unbegun, h)
			a.mu.Lock()
			a.astray[h.Ref] = stray{epoch: h.Epoch, since: a.now(), told: true}
			a.mu.Unlock()
		}
	}
	return unbegun
}

// watchesLeft lists the watches for late acts that an earlier run has left. A thread that
// is still open gets a new watch when it ends.
func (a *Agent) watchesLeft() []journal.Late {
	return slices.DeleteFunc(a.journal.Lates(), func(l journal.Late) bool {
		task, known := a.journal.Task(l.Ref)
		return known && task.Open()
	})
}

// waitOn goes on waiting for the answer to a question that an earlier run has
// asked, unless the claim is over.
func (a *Agent) waitOn(ctx context.Context, task journal.Task, ours bool) {
	var w waiting
	err := json.Unmarshal(task.Asked.Memo, &w)
	t := newTask(a, task.Ref, w.By, w.Request)
	if err != nil || !ours {
		a.log.Info("a question is not waited for any more", "ref", task.Ref, "err", err)
		t.answered(ctx)
		return
	}
	t.holds(task.Epoch)
	t.boot, t.question, t.tried = task.Asked.Boot, &w.Question, true
	a.log.Info("goes on waiting for an answer after a restart", "ref", t.ref)
	a.mu.Lock()
	defer a.mu.Unlock()
	a.enqueue(t)
}

// found notes that an earlier run has left a thread in its midst, before anything
// is done about it: if this run dies of it too, the next one knows.
func (a *Agent) found(ctx context.Context, task journal.Task) journal.Task {
	if err := a.journal.Found(ctx, task.Ref, a.boot); err != nil {
		wait.Notify(a.broken)
		a.log.Error("journal cannot be written", "ref", task.Ref, "err", err)
	}
	task.Found++
	return task
}

// crashes is how often the program has died in the midst of a thread: each
// intent but the last was followed by a crash, and so was each finding of it.
func crashes(t journal.Task) int { return max(t.Begun, t.Found) }

func isOurs(held []mess.HeldThread, task journal.Task) bool {
	for _, h := range held {
		if h.Ref == task.Ref && h.Epoch == task.Epoch && h.Yours != nil {
			return *h.Yours && (h.Stop == nil || !*h.Stop)
		}
	}
	return false
}

// settle ends a thread that was begun and not ended, or goes on with it where
// that does no harm.
func (a *Agent) settle(ctx context.Context, task journal.Task, held []mess.HeldThread) {
	var m memo
	if err := json.Unmarshal(task.Intent.Plan, &m); err != nil {
		a.log.Error("an intent in the journal cannot be read", "ref", task.Ref, "err", err)
	}
	t := newTask(a, task.Ref, m.By, m.Request)
	t.confirmed = task.Intent.Digest // an intent is written after the yes
	t.holds(task.Epoch)
	t.plan, t.resumed, t.first, t.boot = &m.Plan, true, m.At, task.Intent.Boot
	if ours := holds(held, task); ours && t.follows(m, crashes(task)) {
		a.log.Info("follows after a restart what goes on by itself", "ref", t.ref)
		t.before, t.past = m.At, m.Past
		a.mu.Lock()
		defer a.mu.Unlock()
		a.enqueue(t)
		return
	}
	harmless := m.Plan.Repeatable()
	if harmless && isOurs(held, task) && crashes(task) < maxCrashes && a.devices[m.Plan.Device] != nil {
		a.log.Info("goes on after a restart", "ref", t.ref)
		a.mu.Lock()
		defer a.mu.Unlock()
		a.enqueue(t)
		return
	}
	if t.past = m.Past; t.past != nil {
		t.report(ctx, t.watchedNoMore(ctx, errors.New("the program died while it watched")), nil)
		return
	}
	s := a.afterCrash(ctx, crashes(task), m.Plan)
	if s.Reason != nil && s.Reason.Effect == mess.EffectUnknown && crashes(task) < maxCrashes {
		t.sentBefore(ctx)
		a.mu.Lock()
		a.lately = append(a.lately, t)
		a.mu.Unlock()
	}
	t.report(ctx, s, nil)
}

// mayBeUnderWay is what an end says after a crash: the program that has died may have
// sent a command that the network still holds.
const mayBeUnderWay = "a command that was sent before may still act"

// afterCrash is the truth about a thread in whose midst the program has died so
// many times.
func (a *Agent) afterCrash(ctx context.Context, times int, plan capabilities.Plan) *mess.Status {
	if times >= maxCrashes {
		a.log.Error("quarantined: the program has died of it more than once", "device", plan.Device, "times", times)
		effect, under := mess.EffectUnknown, "; "+mayBeUnderWay
		if !plan.Actuates() {
			effect, under = mess.EffectNone, ""
		}
		return failed("interrupted", fmt.Sprintf("the program died %d times in its midst; it is quarantined: left alone, and its device not looked at", times)+under, effect, plan)
	}
	const detail = "the program died after it had begun"
	if !plan.Actuates() {
		return failed("interrupted", detail, mess.EffectNone, plan)
	}
	is, how := a.verify(ctx, plan)
	if is == probedDone {
		return &mess.Status{Code: mess.Completed, Evidence: mess.ReadBack, Message: detail + ", and " + how}
	}
	// That it is not as it was to be does not say that nothing was done: every
	// output was taken to its initial state since.
	s := failed("interrupted", detail+"; "+how+"; "+mayBeUnderWay, mess.EffectUnknown, plan)
	if do := a.stray(ctx, plan); do != "" {
		s.Suggestion = do + "; then " + s.Suggestion
	}
	return s
}

// lookFirst reads back the devices of a plan that an earlier run may have carried out, and
// that may be carried out again. The error is the end of its thread where nothing is left
// to do, or where a device does not answer: the command may still be on its way to it.
func (t *task) lookFirst(ctx context.Context) error {
	const detail = "the program died after it had begun"
	done, how := true, []string(nil)
	for _, step := range t.plan.Each() {
		if !step.Actuates() {
			continue
		}
		so, now, err := t.a.looks(ctx, step)
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if err != nil && !errors.Is(err, errLeavesNothing) {
			t.sentBefore(ctx)
			return &ending{failed("interrupted", fmt.Sprintf("%s; %s does not say how it is, so it is not begun again: %v; %s", detail, step.Device, err, mayBeUnderWay), mess.EffectUnknown, *t.plan)}
		}
		done = done && err == nil && so
		how = append(how, fmt.Sprintf("%s reads back as %s", step.Device, now))
	}
	if !done {
		return nil
	}
	return &ending{&mess.Status{Code: mess.Completed, Evidence: mess.ReadBack, Message: detail + ", and " + strings.Join(how, ", ")}}
}

// stray notes which devices of a plan go on by themselves though the program that has
// set them moving has died, and says what to do; "" where none does.
func (a *Agent) stray(ctx context.Context, plan capabilities.Plan) string {
	var do []string
	for _, step := range plan.Each() {
		d := a.devices[step.Device]
		if d == nil || !step.Actuates() {
			continue
		}
		rest, reads := d.Driver.(drivers.RestReader)
		if _, stops := d.Driver.(drivers.Stopper); !reads || !stops {
			continue
		}
		still, known := glanced(ctx, a, d, func(ctx context.Context, p *gate.Pass) (bool, error) { return p.AtRest(ctx, rest) })
		if still || !known {
			continue
		}
		ask := fmt.Sprintf("to have it stand, ask \"stop the %s\"", cmp.Or(d.Label, d.Name))
		a.log.Warn("goes on by itself with what an earlier run has begun, and nobody follows it", "device", d.Name, "do", ask)
		d.used(a.now(), "device", fmt.Errorf("it moves by what was begun before this program was started, and nobody follows it; %s", ask))
		if !slices.Contains(do, ask) {
			do = append(do, ask)
		}
	}
	return strings.Join(do, "; ")
}

// orphan sees to a claim that only the exchange knows of. One that has not begun
// is left to its lease, so that it is offered again; of one that may have begun
// before the journal was lost nobody knows. What a process has claimed that did not
// write this journal is left alone: that process may be at it. It reports whether
// nothing was done.
func (a *Agent) orphan(ctx context.Context, h mess.HeldThread) (unbegun bool) {
	switch h.Status {
	case mess.Claimed, mess.NeedsInput, mess.NeedsConfirmation, mess.Waiting:
		return false
	}
	switch {
	case h.Instance == a.boot: // what this process has begun it knows, whatever its journal has lost
		return true
	case a.journal.Fresh():
		a.orphaned(h).report(ctx, failed("interrupted", "the executor has lost its journal and does not know what was done", mess.EffectUnknown, capabilities.Plan{}), nil)
		wait.Notify(a.mail)
		return false
	case h.Instance != "" && !a.journal.RunBy(h.Instance):
		a.log.Warn("another process has begun a thread under this executor's id; give each process an id of its own", "ref", h.Ref)
		return false
	}
	return true
}

func (a *Agent) orphaned(h mess.HeldThread) *task {
	t := newTask(a, h.Ref, "", mess.Request{})
	t.epoch = h.Epoch
	return t
}

// giveBack has the exchange offer again what died between the start gate and the
// intent: the gate will be asked anew then, and so will a person. It waits until
// the permission is too old for whoever has it: on a copied card that is another
// process.
func (a *Agent) giveBack(ctx context.Context, unbegun []mess.HeldThread) {
	if len(unbegun) == 0 {
		return
	}
	if !wait.For(ctx, gate.Fresh) {
		return // the next run does it
	}
	for _, h := range unbegun {
		t := a.orphaned(h)
		const detail = "the program was started anew before anything was done"
		if h.Stop == nil || !*h.Stop {
			back := &mess.Status{Code: mess.Delegated, Reason: &mess.Reason{Type: "interrupted", Detail: detail, Effect: mess.EffectNone}}
			_, err := a.say(ctx, t.signed(t.message(back)))
			if err == nil || ctx.Err() != nil {
				continue
			}
			a.log.Info("not handed back", "ref", h.Ref, "err", err)
		}
		t.report(ctx, failed("interrupted", detail, mess.EffectNone, capabilities.Plan{}), nil)
		wait.Notify(a.mail)
	}
}
