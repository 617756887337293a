package task

import (
	"context"
	"encoding/json"
	"time"

	"github.com/messkit/messkit/agent/action"
	"github.com/messkit/messkit/agent/journal"
	"github.com/messkit/messkit/capabilities"
	"github.com/messkit/messkit/drivers"
	"github.com/messkit/messkit/mess"
)

// watchMemo is the record of a watch for late acts in the journal, with which the next run
// continues it.
type watchMemo struct {
	By    string            `json:"by,omitempty"` // the requester
	Code  mess.Code         `json:"code"`         // terminal status of the thread
	Plan  capabilities.Plan `json:"plan"`
	From  time.Time         `json:"from"`
	Lates []late            `json:"lates"`
}

// keepLates records in the journal which devices the agent watches after the end of the thread.
func (t *task) keepLates(ctx context.Context) {
	t.all.mu.Lock()
	m := watchMemo{By: t.by, Code: t.code, From: t.watched.Round(0), Lates: t.lates}
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
	t.noteLates(ctx, data)
}

// noteLates writes a watch to the journal; nil ends it.
func (t *task) noteLates(ctx context.Context, memo json.RawMessage) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), t.Config.EndTime)
	defer cancel()
	t.all.mu.Lock()
	epoch := t.epoch
	t.all.mu.Unlock()
	if err := t.Journal.WatchLate(ctx, t.ref, epoch, memo); err != nil {
		t.Host.JournalFailed()
		t.Log.Error("the journal does not keep a watch for a late act; the watch ends with the program", "ref", t.ref, "err", err)
	}
}

// watchOn continues a watch of an earlier run as long as its commands may arrive. It reports a
// late act that the earlier run has seen and not reported.
func (ts *Tasks) watchOn(ctx context.Context, kept journal.LateWatch) {
	var m watchMemo
	err := json.Unmarshal(kept.Memo, &m)
	t := newTask(ts, kept.Ref, m.By, mess.Request{})
	t.epoch, t.code, t.plan, t.watched = kept.Epoch, m.Code, &m.Plan, m.From
	over := ts.Now().Sub(m.From).Abs() >= drivers.LateTime // also after an unknown change of the clock
	for _, l := range m.Lates {
		if l.Seen == "" && (over || ts.Devices.Get(l.Plan.Device) == nil) {
			continue
		}
		l.Acts = ts.Gate.ActCount(l.Plan.Device)
		if l.Seen == "" && ts.setAtStart(l.Plan.Device) { // the reading from before no longer counts
			l.Sight = action.ReadSight(ctx, ts.Devices, l.Plan)
		}
		t.lates = append(t.lates, l)
	}
	if len(t.lates) == 0 {
		ts.Log.Info("watches no longer for a late act", "ref", t.ref, "err", err)
		t.noteLates(ctx, nil)
		return
	}
	ts.Log.Info("goes on watching for a late act after a restart", "ref", t.ref)
	ts.lately = append(ts.lately, t)
}

// setAtStart reports whether the start of this program has set the level of a device.
func (ts *Tasks) setAtStart(name string) bool {
	l, ok := ts.Devices.Get(name).Driver.(drivers.Levels)
	if !ok {
		return false
	}
	initial, _ := l.Levels()
	return initial != "keep"
}
