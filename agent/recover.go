package agent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/messkit/messkit/agent/journal"
	"github.com/messkit/messkit/capabilities"
	"github.com/messkit/messkit/drivers"
	"github.com/messkit/messkit/mess"
)

// memo is what an intent keeps for the case that the program dies: enough to
// look at the device again, or to do what may be done twice.
type memo struct {
	Plan    capabilities.Plan `json:"plan"`
	Request mess.Request      `json:"request"`
	By      string            `json:"by,omitempty"` // the requester
}

// maxBegun is how often the same thread may be begun: what has brought the
// program down twice is left alone.
const maxBegun = 2

// recover settles what an earlier run has begun and not told. held is how the
// exchange sees the claims of this executor.
func (a *Agent) recover(ctx context.Context, held []mess.HeldThread) {
	known := map[string]bool{}
	for _, task := range a.journal.Tasks() {
		known[task.Ref] = true
		if task.Open() {
			a.settle(ctx, task, isOurs(held, task))
		}
	}
	for _, h := range held {
		if h.Yours != nil && *h.Yours && !known[h.Ref] {
			a.orphan(ctx, h)
		}
	}
}

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
func (a *Agent) settle(ctx context.Context, task journal.Task, ours bool) {
	var m memo
	if err := json.Unmarshal(task.Intent.Plan, &m); err != nil {
		a.log.Error("an intent in the journal cannot be read", "ref", task.Ref, "err", err)
	}
	t := newTask(a, task.Ref, m.By, m.Request)
	t.confirmed = task.Intent.Digest // an intent is written after the yes
	t.epoch, t.plan, t.resumed, t.boot = task.Epoch, &m.Plan, true, task.Intent.Boot
	harmless := m.Plan.Effect == capabilities.Query || m.Plan.Effect == capabilities.Idempotent
	if harmless && ours && task.Begun < maxBegun && a.devices[m.Plan.Device] != nil {
		a.log.Info("goes on after a restart", "ref", t.ref)
		a.mu.Lock()
		defer a.mu.Unlock()
		a.enqueue(t)
		return
	}
	t.report(ctx, a.afterCrash(ctx, task, m.Plan), nil)
}

// afterCrash is the truth about a thread in whose midst the program died.
func (a *Agent) afterCrash(ctx context.Context, task journal.Task, plan capabilities.Plan) *mess.Status {
	is, err := a.looks(ctx, plan)
	want, _ := plan.Args.Get("on")
	detail := "the program died after it had begun"
	if task.Begun >= maxBegun {
		detail = fmt.Sprintf("the program died %d times in its midst", task.Begun)
	}
	switch {
	case !plan.Actuates():
		return failed("interrupted", detail, mess.EffectNone, plan)
	case err == nil && is == want:
		return &mess.Status{Code: mess.Completed, Evidence: mess.ReadBack, Message: fmt.Sprintf("%s, and %s reads back as %s", detail, plan.Device, onOff(is))}
	case err == nil:
		detail += fmt.Sprintf("; %s now reads back as %s", plan.Device, onOff(is))
	}
	return failed("interrupted", detail, mess.EffectUnknown, plan)
}

var errNoReadBack = errors.New("cannot be read back")

// looks reads back whether a device is on.
func (a *Agent) looks(ctx context.Context, plan capabilities.Plan) (bool, error) {
	d := a.devices[plan.Device]
	if d == nil || plan.Command != capabilities.SetSwitch {
		return false, errNoReadBack
	}
	reader, ok := d.Driver.(drivers.SwitchReader)
	if !ok {
		return false, errNoReadBack
	}
	look := plan
	look.Command, look.Effect = capabilities.ReadState, capabilities.Query
	pass, err := a.gate.Enter(ctx, look, nil)
	if err != nil {
		return false, err
	}
	defer pass.Leave()
	return pass.On(ctx, reader)
}

// orphan ends a claim that only the exchange knows of. One that has not begun
// is left to its lease, so that it is offered again.
func (a *Agent) orphan(ctx context.Context, h mess.HeldThread) {
	switch h.Status {
	case mess.Claimed, mess.NeedsInput, mess.NeedsConfirmation, mess.Waiting:
		return
	}
	t := newTask(a, h.Ref, "", mess.Request{})
	t.epoch = h.Epoch
	s := failed("interrupted", "the program was started anew before anything was done", mess.EffectNone, capabilities.Plan{})
	if a.journal.Fresh() {
		s = failed("interrupted", "the executor has lost its journal and does not know what was done", mess.EffectUnknown, capabilities.Plan{})
	}
	t.report(ctx, s, nil)
}
