package task

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/messkit/messkit/agent/action"
	"github.com/messkit/messkit/agent/device"
	"github.com/messkit/messkit/agent/journal"
	"github.com/messkit/messkit/agent/policy"
	"github.com/messkit/messkit/capabilities"
	"github.com/messkit/messkit/drivers"
	"github.com/messkit/messkit/mess"
)

// intentRecord is the part of an intent for a later run: enough to read the device back, or to
// repeat an idempotent plan.
type intentRecord struct {
	Plan    capabilities.Plan `json:"plan"`
	Request mess.Request      `json:"request"`
	By      string            `json:"by,omitempty"`   // the requester
	At      time.Time         `json:"at,omitzero"`    // time of the record
	Past    *completedSteps   `json:"past,omitempty"` // results of the earlier steps, if the last step is a wait condition
}

// maxCrashes is how often the program may die during a thread before it quarantines the thread.
// It then neither repeats the plan nor reads the device, since that may be the cause.
const maxCrashes = 2

// Recover ends the unreported threads of an earlier run. held is the exchange's list of this
// executor's claims. It returns the claims that have a start permission and no intent.
func (ts *Tasks) Recover(ctx context.Context, held []mess.HeldThread) (notStarted []mess.HeldThread) {
	known := map[string]bool{}
	watches := ts.watchesOfEndedThreads() // finishUnfinished adds watches of its own
	for _, task := range ts.Journal.Tasks() {
		known[task.Ref] = true
		if task.Question != nil {
			ts.resumeQuestion(ctx, task, mayContinue(held, task))
		}
		if task.Open() {
			ts.finishUnfinished(ctx, ts.noteFound(ctx, task), held)
		}
	}
	for _, late := range watches {
		ts.resumeWatch(ctx, late)
	}
	for _, h := range held {
		if h.Yours != nil && *h.Yours && !known[h.Ref] && ts.reconcileClaim(ctx, h) {
			notStarted = append(notStarted, h)
			ts.mu.Lock()
			ts.unknownClaims[h.Ref] = unknownClaim{epoch: h.Epoch, since: ts.Now(), handled: true}
			ts.mu.Unlock()
		}
	}
	return notStarted
}

// watchesOfEndedThreads lists the watches for late acts of an earlier run. An open thread gets a
// new watch at its end.
func (ts *Tasks) watchesOfEndedThreads() []journal.LateWatch {
	return slices.DeleteFunc(ts.Journal.LateWatches(), func(l journal.LateWatch) bool {
		task, known := ts.Journal.Task(l.Ref)
		return known && task.Open()
	})
}

// resumeQuestion continues to wait for the answer to a question of an earlier run, unless the claim
// has ended.
func (ts *Tasks) resumeQuestion(ctx context.Context, task journal.Task, ours bool) {
	var w questionRecord
	err := json.Unmarshal(task.Question.Data, &w)
	t := newTask(ts, task.Ref, w.By, w.Request)
	if err != nil || !ours {
		ts.Log.Info("the agent no longer waits for an answer", "ref", task.Ref, "err", err)
		t.clearQuestion(ctx)
		return
	}
	t.setClaim(task.Epoch)
	t.instance, t.question, t.claimSent = task.Question.Boot, &w.Question, true
	ts.Log.Info("continues to wait for an answer after a restart", "ref", t.ref)
	ts.mu.Lock()
	defer ts.mu.Unlock()
	ts.addClaimed(t)
}

// noteFound records that an earlier run has left a thread unfinished, before any other work on it.
// If this run dies too, the next one knows the cause.
func (ts *Tasks) noteFound(ctx context.Context, task journal.Task) journal.Task {
	if err := ts.Journal.RecordFound(ctx, task.Ref, ts.Session.Instance); err != nil {
		ts.Host.JournalFailed()
		ts.Log.Error("the journal takes no records", "ref", task.Ref, "err", err)
	}
	task.Found++
	return task
}

// crashes returns how often the program has died during a thread: a crash followed each intent
// but the last, and each finding of the thread.
func crashes(t journal.Task) int { return max(t.Begun, t.Found) }

func mayContinue(held []mess.HeldThread, task journal.Task) bool {
	for _, h := range held {
		if h.Ref == task.Ref && h.Epoch == task.Epoch && h.Yours != nil {
			return *h.Yours && (h.Stop == nil || !*h.Stop)
		}
	}
	return false
}

// finishUnfinished ends an unfinished thread, or continues it if that is safe.
func (ts *Tasks) finishUnfinished(ctx context.Context, task journal.Task, held []mess.HeldThread) {
	var m intentRecord
	if err := json.Unmarshal(task.Intent.Plan, &m); err != nil {
		ts.Log.Error("cannot read an intent in the journal", "ref", task.Ref, "err", err)
	}
	t := newTask(ts, task.Ref, m.By, m.Request)
	t.confirmed = task.Intent.Digest // the intent follows the confirmation
	t.setClaim(task.Epoch)
	t.plan, t.resumed, t.firstCommand, t.instance = &m.Plan, true, m.At, task.Intent.Boot
	if ours := holdsClaim(held, task); ours && t.canReattach(m, crashes(task)) {
		ts.Log.Info("follows an activity that continues after a restart", "ref", t.ref)
		t.reattachFrom, t.completed = m.At, m.Past
		ts.mu.Lock()
		defer ts.mu.Unlock()
		ts.addClaimed(t)
		return
	}
	harmless := m.Plan.Repeatable()
	if harmless && mayContinue(held, task) && crashes(task) < maxCrashes && ts.Devices.Get(m.Plan.Device) != nil {
		ts.Log.Info("continues after a restart", "ref", t.ref)
		ts.mu.Lock()
		defer ts.mu.Unlock()
		ts.addClaimed(t)
		return
	}
	if t.completed = m.Past; t.completed != nil {
		t.report(ctx, t.waitEnded(ctx, errors.New("the program died while it watched")), nil)
		return
	}
	s := ts.afterCrash(ctx, crashes(task), m.Plan)
	if s.HasUnknownEffect() && crashes(task) < maxCrashes {
		t.expectEarlierCommands(ctx)
		ts.mu.Lock()
		ts.endedEarlier = append(ts.endedEarlier, t)
		ts.mu.Unlock()
	}
	t.report(ctx, s, nil)
}

// lateCommandText is part of a report after a crash: the network may still hold a command of the
// program that died.
const lateCommandText = "an earlier command may still act"

// afterCrash returns the status of a thread during which the program has died a number of
// times.
func (ts *Tasks) afterCrash(ctx context.Context, times int, plan capabilities.Plan) *mess.Status {
	if times >= maxCrashes {
		ts.Log.Error("quarantined: the program has died of it more than once", "device", plan.Device, "times", times)
		effect, under := mess.EffectUnknown, "; "+lateCommandText
		if !plan.Actuates() {
			effect, under = mess.EffectNone, ""
		}
		return failed("interrupted", fmt.Sprintf("the program died %d times during this task; the agent has quarantined it, and did not read its device", times)+under, effect, plan)
	}
	return ts.afterLoss(ctx, "the program died after it had begun", plan)
}

// afterLoss returns the status of a begun thread whose task has gone, from a reading of its
// devices. detail says what has happened.
func (ts *Tasks) afterLoss(ctx context.Context, detail string, plan capabilities.Plan) *mess.Status {
	if !plan.Actuates() {
		return failed("interrupted", detail, mess.EffectNone, plan)
	}
	is, how := action.Verify(ctx, ts.Devices, plan)
	if is == action.FoundDone {
		return &mess.Status{Code: mess.Completed, Evidence: mess.ReadBack, Message: detail + ", and " + how}
	}
	// Another state does not prove that nothing happened: the start has set every output to its
	// initial state.
	s := failed("interrupted", detail+"; "+how+"; "+lateCommandText, mess.EffectUnknown, plan)
	if do := ts.describeUncontrolled(ctx, plan); do != "" {
		s.Suggestion = do + "; then " + s.Suggestion
	}
	return s
}

// readBackFirst reads the devices of an idempotent plan that an earlier run may have carried out.
// It returns an error that ends the thread if nothing is left to do, or if a device does not
// answer: the command may still be on its way to it.
func (t *task) readBackFirst(ctx context.Context) error {
	const detail = "the program died after it had begun"
	done, how := true, []string(nil)
	for _, step := range t.plan.Each() {
		if !step.Actuates() {
			continue
		}
		so, now, err := action.ReadBack(ctx, t.Devices, step)
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if err != nil && !errors.Is(err, action.ErrNoReadback) {
			t.expectEarlierCommands(ctx)
			return &terminalError{failed("interrupted", fmt.Sprintf("%s; %s does not report its state, so the agent does not begin it again: %v; %s", detail, step.Device, err, lateCommandText), mess.EffectUnknown, *t.plan)}
		}
		done = done && err == nil && so
		how = append(how, fmt.Sprintf("%s reads back as %s", step.Device, now))
	}
	if !done {
		return nil
	}
	return &terminalError{&mess.Status{Code: mess.Completed, Evidence: mess.ReadBack, Message: detail + ", and " + strings.Join(how, ", ")}}
}

// describeUncontrolled describes which devices of a plan continue on their own after the program
// died, and what to do; "" if none does.
func (ts *Tasks) describeUncontrolled(ctx context.Context, plan capabilities.Plan) string {
	var do []string
	for _, step := range plan.Each() {
		d := ts.Devices.Get(step.Device)
		if d == nil || !step.Actuates() {
			continue
		}
		rest, reads := d.Driver.(drivers.RestReader)
		if _, stops := d.Driver.(drivers.Stopper); !reads || !stops {
			continue
		}
		still, known := device.ReadState(ctx, ts.Devices, d, func(ctx context.Context, p *policy.Pass) (bool, error) { return p.AtRest(ctx, rest) })
		if still || !known {
			continue
		}
		ask := fmt.Sprintf("to stop it, ask \"stop the %s\"", cmp.Or(d.Label, d.Name))
		ts.Log.Warn("a device continues the activity of an earlier run, and no task follows it", "device", d.Name, "do", ask)
		d.Used(ts.Now(), "device", fmt.Errorf("it continues the activity of an earlier run, and no task follows it; %s", ask))
		if !slices.Contains(do, ask) {
			do = append(do, ask)
		}
	}
	return strings.Join(do, "; ")
}
