package task

import (
	"github.com/messkit/messkit/agent/wording"
	"github.com/messkit/messkit/mess"
	"github.com/messkit/messkit/mess/receipt"
)

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
