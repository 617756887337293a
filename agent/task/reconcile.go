package task

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/messkit/messkit/agent/policy"
	"github.com/messkit/messkit/capabilities"
	"github.com/messkit/messkit/internal/wait"
	"github.com/messkit/messkit/mess"
)

// unknownClaim is a thread that the exchange lists as begun by this executor and on which no task
// works. Either the agent does not know it: the program died between start permission and intent,
// or the permission did not arrive. Or the journal has it without a report: its task was dropped,
// for example by a message that its claim was over.
type unknownClaim struct {
	epoch   uint64
	since   time.Time // time of the first acknowledgment that listed it
	handled bool      // the agent has given it back, or leaves it alone
}

// ReconcileUnknownClaims returns the claims that two acknowledgments list as begun by this
// executor, and that neither the tasks nor the journal contain. It reports on those that the
// journal has without a report. One acknowledgment is not enough, because the exchange may have
// written it before the last report arrived. sentAt is the time of the request for this one. The
// work on them runs in g.
func (ts *Tasks) ReconcileUnknownClaims(ctx context.Context, g *errgroup.Group, sentAt time.Time, threads []mess.HeldThread) {
	list := ts.confirmedUnknown(sentAt, threads)
	if len(list) == 0 {
		return
	}
	g.Go(func() error {
		ts.returnUnstarted(ctx, slices.DeleteFunc(list, func(h mess.HeldThread) bool { return ts.endAbandoned(ctx, h) || !ts.reconcileClaim(ctx, h) }))
		return nil
	})
}

// confirmedUnknown lists the unknown claims that an earlier acknowledgment also listed.
func (ts *Tasks) confirmedUnknown(sentAt time.Time, threads []mess.HeldThread) (list []mess.HeldThread) {
	ts.mu.Lock()
	defer ts.mu.Unlock()
	known := ts.unknownClaims
	ts.unknownClaims = map[string]unknownClaim{}
	for _, h := range threads {
		if h.Yours == nil || !*h.Yours || ts.byRef[h.Ref] != nil || ts.offers.refs[h.Ref] != nil || ts.rejectedReports[h.Ref] == h.Epoch && h.Epoch != 0 {
			continue
		}
		if task, known := ts.Journal.Task(h.Ref); known && !(task.Open() && task.Epoch == h.Epoch) {
			continue // the outbox has its report, or its requester has not answered
		}
		s, listed := known[h.Ref]
		switch {
		case !listed || s.epoch != h.Epoch:
			s = unknownClaim{epoch: h.Epoch, since: ts.Now()}
		case !s.handled && sentAt.After(s.since):
			s.handled = true
			list = append(list, h)
		}
		ts.unknownClaims[h.Ref] = s
	}
	return list
}

// endAbandoned reports on a thread that the journal has without a report and on which no task
// works. It does not begin the plan again: it reads the devices, and reports an unknown effect if
// they do not show that the plan was done. It returns false if the journal does not have the
// thread.
func (ts *Tasks) endAbandoned(ctx context.Context, h mess.HeldThread) bool {
	task, known := ts.Journal.Task(h.Ref)
	if !known || !task.Open() {
		return known
	}
	var m intentRecord
	err := json.Unmarshal(task.Intent.Plan, &m)
	t := newTask(ts, task.Ref, m.By, m.Request)
	t.confirmed, t.plan, t.resumed, t.instance = task.Intent.Digest, &m.Plan, true, task.Intent.Boot
	t.setClaim(task.Epoch)
	if !ts.adopt(t) {
		return true // a task works on it now
	}
	defer ts.abandon(t)
	ts.Log.Error("a begun thread had no task; the agent reads its result from its devices", "ref", t.ref, "err", err)
	s := failed("interrupted", abandonedDetail, mess.EffectUnknown, m.Plan)
	if t.completed = m.Past; t.completed != nil {
		s = t.waitEnded(ctx, errors.New(abandonedDetail))
	} else if err == nil {
		s = ts.afterLoss(ctx, abandonedDetail, m.Plan)
	}
	t.report(ctx, s, nil)
	return true
}

const abandonedDetail = "the executor stopped its work on it after it had begun"

// adopt makes a thread known, unless a task already works on it or waits for it.
func (ts *Tasks) adopt(t *task) bool {
	ts.mu.Lock()
	defer ts.mu.Unlock()
	if ts.byRef[t.ref] != nil || ts.offers.refs[t.ref] != nil {
		return false
	}
	ts.byRef[t.ref] = t
	return true
}

// abandon removes a thread that adopt has added, and then has its report sent: the outbox sends
// nothing for a thread in work.
func (ts *Tasks) abandon(t *task) {
	ts.mu.Lock()
	defer ts.mu.Unlock()
	ts.forget(t)
	ts.WakeOutbox()
}

// reconcileClaim handles a claim that only the exchange knows. A claim without a start ends with
// its lease, and the exchange offers it again. A claim with a start from before a loss of the
// journal has an unknown result. reconcileClaim leaves alone the claim of a process that did not
// write this journal, because that process may be working on it. notStarted reports
// whether nothing happened.
func (ts *Tasks) reconcileClaim(ctx context.Context, h mess.HeldThread) (notStarted bool) {
	switch h.Status {
	case mess.Claimed, mess.NeedsInput, mess.NeedsConfirmation, mess.Waiting:
		return false
	}
	switch {
	case h.Instance == ts.Session.Instance: // this process knows its own acts, even after a loss of the journal
		return true
	case ts.Journal.IsNew():
		ts.taskOf(h).report(ctx, failed("interrupted", "the executor has lost its journal, and the result is unknown", mess.EffectUnknown, capabilities.Plan{}), nil)
		ts.WakeOutbox()
		return false
	case h.Instance != "" && !ts.Journal.RunBy(h.Instance):
		ts.Log.Warn("another process has begun a thread under this executor's id; give each process an id of its own", "ref", h.Ref)
		return false
	}
	return true
}

func (ts *Tasks) taskOf(h mess.HeldThread) *task {
	t := newTask(ts, h.Ref, "", mess.Request{})
	t.epoch = h.Epoch
	return t
}

// returnUnstarted returns threads with a start permission and no intent, so that the exchange
// offers them again with a new permission and confirmation. It waits until the old permission is
// too old for any holder. If a second machine has a copy of this disk, the holder may be a process
// there.
func (ts *Tasks) returnUnstarted(ctx context.Context, notStarted []mess.HeldThread) {
	if len(notStarted) == 0 {
		return
	}
	if !wait.For(ctx, policy.FreshFor) {
		return // the next run does it
	}
	for _, h := range notStarted {
		t := ts.taskOf(h)
		const detail = "the program restarted before the agent did anything"
		if h.Stop == nil || !*h.Stop {
			back := &mess.Status{Code: mess.Delegated, Reason: &mess.Reason{Type: "interrupted", Detail: detail, Effect: mess.EffectNone}}
			_, err := ts.Session.Say(ctx, t.signed(t.message(back)))
			if err == nil || ctx.Err() != nil {
				continue
			}
			ts.Log.Info("the exchange does not take the claim back", "ref", h.Ref, "err", err)
		}
		t.report(ctx, failed("interrupted", detail, mess.EffectNone, capabilities.Plan{}), nil)
		ts.WakeOutbox()
	}
}
