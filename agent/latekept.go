package agent

import (
	"context"
	"encoding/json"
	"time"

	"github.com/messkit/messkit/agent/journal"
	"github.com/messkit/messkit/capabilities"
	"github.com/messkit/messkit/drivers"
	"github.com/messkit/messkit/internal/wait"
	"github.com/messkit/messkit/mess"
)

// watchMemo is what the journal keeps of a watch for late acts: the next run of the program
// goes on with it.
type watchMemo struct {
	By    string            `json:"by,omitempty"` // the requester
	Code  mess.Code         `json:"code"`         // in which the thread has ended
	Plan  capabilities.Plan `json:"plan"`
	From  time.Time         `json:"from"`
	Lates []late            `json:"lates"`
}

// keepLates writes to the journal which devices the agent watches after the thread has ended.
func (t *task) keepLates(ctx context.Context) {
	t.a.mu.Lock()
	m := watchMemo{By: t.by, Code: t.code, From: t.watched.Round(0), Lates: t.lates}
	if t.plan != nil {
		m.Plan = *t.plan
	}
	data, err := json.Marshal(m)
	t.a.mu.Unlock()
	if len(m.Lates) == 0 {
		return
	}
	if err != nil {
		t.a.log.Error("the journal cannot keep a watch for a late act", "ref", t.ref, "err", err)
		return
	}
	t.noteLates(ctx, data)
}

// noteLates writes a watch to the journal; nil: that it is over.
func (t *task) noteLates(ctx context.Context, memo json.RawMessage) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), t.a.cfg.EndTime)
	defer cancel()
	t.a.mu.Lock()
	epoch := t.epoch
	t.a.mu.Unlock()
	if err := t.a.journal.Late(ctx, t.ref, epoch, memo); err != nil {
		wait.Notify(t.a.broken)
		t.a.log.Error("the journal does not keep a watch for a late act; the watch ends with the program", "ref", t.ref, "err", err)
	}
}

// watchOn goes on with a watch for late acts that an earlier run has begun, as long as the
// commands may still arrive. What that run has seen and not reported is reported.
func (a *Agent) watchOn(ctx context.Context, kept journal.Late) {
	var m watchMemo
	err := json.Unmarshal(kept.Memo, &m)
	t := newTask(a, kept.Ref, m.By, mess.Request{})
	t.epoch, t.code, t.plan, t.watched = kept.Epoch, m.Code, &m.Plan, m.From
	over := a.now().Sub(m.From).Abs() >= drivers.LateTime // or the clock was set meanwhile, and nobody knows
	for _, l := range m.Lates {
		if l.Seen == "" && (over || a.devices[l.Plan.Device] == nil) {
			continue
		}
		l.acts = a.gate.Acts(l.Plan.Device)
		if l.Seen == "" && a.setAtStart(l.Plan.Device) { // how it was before that says nothing any more
			l.sight = a.sightOf(ctx, l.Plan)
		}
		t.lates = append(t.lates, l)
	}
	if len(t.lates) == 0 {
		a.log.Info("watches no longer for a late act", "ref", t.ref, "err", err)
		t.noteLates(ctx, nil)
		return
	}
	a.log.Info("goes on watching for a late act after a restart", "ref", t.ref)
	a.lately = append(a.lately, t)
}

// setAtStart reports whether this program has set the level of a device when it started.
func (a *Agent) setAtStart(name string) bool {
	l, ok := a.devices[name].Driver.(drivers.Levels)
	if !ok {
		return false
	}
	initial, _ := l.Levels()
	return initial != "keep"
}
