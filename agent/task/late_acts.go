package task

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/messkit/messkit/agent/action"
	"github.com/messkit/messkit/agent/device"
	"github.com/messkit/messkit/agent/journal"
	"github.com/messkit/messkit/capabilities"
	"github.com/messkit/messkit/drivers"
	"github.com/messkit/messkit/internal/wait"
	"github.com/messkit/messkit/mess"
)

// lateCommand is an unanswered command: it may still arrive after the end of its thread.
type lateCommand struct {
	Plan capabilities.Plan `json:"plan"` // one step
	action.StateCheck
	UnreportedAct string `json:"seen,omitempty"` // describes a late act that the exchange does not know yet; "" for none
}

// expectLateAct records an unanswered command of a step.
func (t *task) expectLateAct(plan capabilities.Plan, r *action.Result) {
	if on, known := r.Facts.Get("on"); known && plan.Command == capabilities.Toggle { // a toggle has a known target here
		plan.Command, plan.Args = capabilities.SetSwitch, mess.Object{{Key: "on", Value: on}}
	}
	r.Unanswered, r.StateCheck.Acts = true, t.Gate.ActCount(plan.Device)
	if r.Err == nil {
		r.Note("the device has not answered the command, which may still arrive")
	}
	t.all.mu.Lock()
	defer t.all.mu.Unlock()
	t.lateCommands = append(t.lateCommands, lateCommand{Plan: plan, StateCheck: r.StateCheck})
}

// expectEarlierCommands records that an earlier run may have sent the commands of the plan, and
// that they may arrive after the end of the thread.
func (t *task) expectEarlierCommands(ctx context.Context) {
	var lates []lateCommand
	for _, step := range t.plan.Each() {
		if step.Actuates() && t.Devices.Get(step.Device) != nil {
			lates = append(lates, lateCommand{Plan: step, StateCheck: action.CheckState(ctx, t.Devices, step)})
		}
	}
	t.all.mu.Lock()
	defer t.all.mu.Unlock()
	t.lateCommands = append(t.lateCommands, lates...)
}

// howToCheck explains to a requester how to find out the result of unanswered commands.
func (t *task) howToCheck() string {
	t.all.mu.Lock()
	defer t.all.mu.Unlock()
	var ask []string
	for _, l := range t.lateCommands {
		d := t.Devices.Get(l.Plan.Device)
		if how := howToCheckDevice(d); !slices.Contains(ask, how) {
			ask = append(ask, how)
		}
	}
	return fmt.Sprintf("look before retrying: in %v %s; the agent adds here any late act that it sees until then", drivers.LateEffectTime, strings.Join(ask, ", and "))
}

// howToCheckDevice explains how to check one device.
func howToCheckDevice(d *device.Handle) string {
	state := ""
	switch d.Driver.(type) {
	case drivers.SwitchReader:
		state = "on"
	case drivers.OpeningReader:
		state = "open"
	case drivers.LockReader:
		state = "locked"
	case drivers.DockReader:
		state = "in its dock"
	}
	if state == "" {
		return fmt.Sprintf("go and look at the %s", d.Label)
	}
	return fmt.Sprintf("ask \"is the %s %s?\"", d.Label, state)
}

// lateInterval is the interval of the readings for a late act.
const lateInterval = time.Second

// watchLateActs watches the devices of unanswered commands as long as these may arrive, and adds
// late acts to the thread.
func (ts *Tasks) watchLateActs(ctx context.Context, t *task) {
	ts.mu.Lock()
	lates := slices.Clone(t.lateCommands)
	ts.mu.Unlock()
	if len(lates) == 0 || ctx.Err() != nil {
		return
	}
	end, cancel := context.WithTimeout(ctx, drivers.LateEffectTime-ts.Now().Sub(t.watchedSince).Abs())
	defer cancel()
	var g errgroup.Group
	for i, l := range lates {
		ended := ts.watch(l.Plan.Device)
		g.Go(func() error {
			defer ended()
			if l.UnreportedAct == "" {
				l.UnreportedAct = ts.awaitLateAct(end, t, i, l)
				t.storeSight(ctx, i, l)
			}
			if l.UnreportedAct != "" && ts.reportLateAct(ctx, t, l.Plan, l.UnreportedAct) {
				l.UnreportedAct = ""
				t.storeSight(ctx, i, l)
			}
			return nil
		})
	}
	_ = g.Wait() // each goroutine reports its own
	if ctx.Err() == nil {
		t.writeWatchRecord(ctx, nil)
	}
}

// awaitLateAct watches a device until it acts without a command of this program. It returns a
// description, or "" if nothing happened.
func (ts *Tasks) awaitLateAct(ctx context.Context, t *task, i int, l lateCommand) string {
	for wait.For(ctx, lateInterval) {
		is, was := action.CheckState(ctx, ts.Devices, l.Plan), l.StateCheck
		if !is.Known {
			continue
		}
		if l.StateCheck = is; is.Acts == was.Acts && is.AsPlanned && !was.AsPlanned {
			before := "; it read back as " + was.State + " before"
			if !was.Known {
				before = ""
			}
			return fmt.Sprintf("%s reads back as %s %v after the end%s: the command that it had not answered may have arrived, or a person has acted",
				l.Plan.Device, is.State, ts.Now().Sub(t.watchedSince).Round(100*time.Millisecond), before)
		}
		if is.AsPlanned != was.AsPlanned || is.Known != was.Known {
			t.storeSight(ctx, i, l)
		}
	}
	return ""
}

// storeSight records the last reading of a watched device, also for the next run.
func (t *task) storeSight(ctx context.Context, i int, l lateCommand) {
	t.all.mu.Lock()
	t.lateCommands[i] = l
	t.all.mu.Unlock()
	t.storeLateCommands(ctx)
}

// reportLateAct adds a late act to an ended thread, after the report of its end. It reports
// success.
func (ts *Tasks) reportLateAct(ctx context.Context, t *task, plan capabilities.Plan, seen string) bool {
	ts.Log.Warn("a device acted after its thread had ended", "ref", t.ref, "device", plan.Device, "seen", seen)
	for task, known := ts.Journal.Task(t.ref); known && task.Report != nil; task, known = ts.Journal.Task(t.ref) {
		if !wait.For(ctx, lateInterval) {
			ts.Log.Warn("the next run reports a late act: the program ends", "ref", t.ref)
			return false
		}
	}
	s := &mess.Status{Code: t.code, Evidence: mess.ReadBack, Message: seen}
	if s.Code != mess.Completed { // the cause is either that command or another person
		s.Evidence = mess.EvidenceUnknown
		s.Reason = &mess.Reason{Type: "late_act", Detail: seen, Effect: mess.EffectUnknown}
		s.Recoverable = recoverable(s.Code, false)
	}
	m := t.signed(t.message(s))
	recordCtx, cancel := context.WithTimeout(context.WithoutCancel(ctx), ts.Config.EndTime)
	defer cancel()
	if err := ts.Journal.Done(recordCtx, t.ref, m.Epoch, m); err != nil {
		ts.Host.JournalFailed()
		ts.Log.Error("the journal does not take a late act; only the memory of this program holds its report", "ref", t.ref, "err", err)
	}
	ts.WakeOutbox()
	return true
}

// watchRecord is the record of a watch for late acts in the journal, with which the next run
// continues it.
type watchRecord struct {
	By    string            `json:"by,omitempty"` // the requester
	Code  mess.Code         `json:"code"`         // terminal status of the thread
	Plan  capabilities.Plan `json:"plan"`
	From  time.Time         `json:"from"`
	Lates []lateCommand     `json:"lates"`
}

// storeLateCommands records in the journal which devices the agent watches after the end of the
// thread.
func (t *task) storeLateCommands(ctx context.Context) {
	t.all.mu.Lock()
	m := watchRecord{By: t.by, Code: t.code, From: t.watchedSince.Round(0), Lates: t.lateCommands}
	if t.plan != nil {
		m.Plan = *t.plan
	}
	data, err := json.Marshal(m)
	t.all.mu.Unlock()
	if len(m.Lates) == 0 {
		return
	}
	if err != nil {
		t.Log.Error("the journal cannot keep a watch for a late act", "ref", t.ref, "err", err)
		return
	}
	t.writeWatchRecord(ctx, data)
}

// writeWatchRecord writes a watch to the journal; nil ends it.
func (t *task) writeWatchRecord(ctx context.Context, record json.RawMessage) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), t.Config.EndTime)
	defer cancel()
	t.all.mu.Lock()
	epoch := t.epoch
	t.all.mu.Unlock()
	if err := t.Journal.WatchLate(ctx, t.ref, epoch, record); err != nil {
		t.Host.JournalFailed()
		t.Log.Error("the journal does not keep a watch for a late act; the watch ends with the program", "ref", t.ref, "err", err)
	}
}

// resumeWatch continues a watch of an earlier run as long as its commands may arrive. It
// reports a late act that the earlier run has seen and not reported.
func (ts *Tasks) resumeWatch(ctx context.Context, kept journal.LateWatch) {
	var m watchRecord
	err := json.Unmarshal(kept.Data, &m)
	t := newTask(ts, kept.Ref, m.By, mess.Request{})
	t.epoch, t.code, t.plan, t.watchedSince = kept.Epoch, m.Code, &m.Plan, m.From
	over := ts.Now().Sub(m.From).Abs() >= drivers.LateEffectTime // also after an unknown change of the clock
	for _, l := range m.Lates {
		if l.UnreportedAct == "" && (over || ts.Devices.Get(l.Plan.Device) == nil) {
			continue
		}
		l.Acts = ts.Gate.ActCount(l.Plan.Device)
		if l.UnreportedAct == "" && ts.setAtStart(l.Plan.Device) { // the reading from before no longer counts
			l.StateCheck = action.CheckState(ctx, ts.Devices, l.Plan)
		}
		t.lateCommands = append(t.lateCommands, l)
	}
	if len(t.lateCommands) == 0 {
		ts.Log.Info("the agent no longer watches for a late act", "ref", t.ref, "err", err)
		t.writeWatchRecord(ctx, nil)
		return
	}
	ts.Log.Info("the agent continues to watch for a late act after a restart", "ref", t.ref)
	ts.endedEarlier = append(ts.endedEarlier, t)
}

// setAtStart reports whether the start of this program has set the level of a device.
func (ts *Tasks) setAtStart(name string) bool {
	l, ok := ts.Devices.Get(name).Driver.(drivers.StartHaltStates)
	if !ok {
		return false
	}
	initial, _ := l.StartHaltStates()
	return initial != "keep"
}
