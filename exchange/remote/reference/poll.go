package reference

import (
	"context"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/messkit/messkit/exchange/remote/httpclient"
	"github.com/messkit/messkit/internal/wait"
	"github.com/messkit/messkit/mess"
)

// Receive polls the server and calls handle with messages for this executor: pending threads,
// and new messages in threads that it holds. It polls less and less often while the server does
// not respond, or does not respond as an exchange. It returns nil when ctx ends, and an error if
// the server rejects the requests permanently.
func (f *Client) Receive(ctx context.Context, handle func(mess.Message)) error {
	gap := f.cfg.Poll
	for {
		err := f.round(ctx, handle)
		switch {
		case ctx.Err() != nil:
			return nil
		case err != nil && !httpclient.Unavailable(err):
			return err
		case err != nil:
			f.log.Debug("no news", "err", err)
			gap = min(2*gap, max(longestPause, f.cfg.Poll))
		default:
			gap = f.cfg.Poll
		}
		if !wait.For(ctx, gap/2+rand.N(gap)) {
			return nil
		}
	}
}

// maxOffers is the maximum number of pending threads that one round reads.
const maxOffers = 32

// round polls once: first the threads that this executor holds, then pending ones.
func (f *Client) round(ctx context.Context, handle func(mess.Message)) error {
	var worst error
	for _, ref := range f.held() {
		if err := f.pollMessages(ctx, ref, handle); err != nil && ctx.Err() == nil {
			worst = err // continue with the other threads
		}
	}
	list, err := f.list(ctx, string(mess.Pending))
	if err != nil {
		return err
	}
	list = slices.DeleteFunc(list, func(t httpclient.Thread) bool { return t.Status != mess.Pending })
	f.forget(list)
	for _, t := range f.unseen(list) {
		if err := f.offer(ctx, t, handle); err != nil && ctx.Err() == nil {
			f.log.Debug("not offered", "ref", t.Ref, "err", err)
			worst = err
		}
	}
	if httpclient.Unavailable(worst) {
		return worst
	}
	return nil
}

func (f *Client) held() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	var refs []string
	for ref, h := range f.claims {
		if !h.over {
			refs = append(refs, ref)
		}
	}
	return refs
}

// forget removes threads that are no longer pending. If such a thread becomes pending again, the
// client offers it again.
func (f *Client) forget(waiting []httpclient.Thread) {
	now := map[string]time.Time{}
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, t := range waiting {
		if at, ok := f.offered[t.Ref]; ok {
			now[t.Ref] = at
		}
	}
	f.offered = now
}

// unseen returns pending threads that have changed since the client read them, oldest first, at
// most maxOffers.
func (f *Client) unseen(waiting []httpclient.Thread) []httpclient.Thread {
	f.mu.Lock()
	defer f.mu.Unlock()
	var list []httpclient.Thread
	for _, t := range slices.Backward(waiting) {
		if at, ok := f.offered[t.Ref]; mess.ValidRef(t.Ref) && (!ok || !at.Equal(t.Updated)) && f.claims[t.Ref] == nil {
			list = append(list, t)
		}
	}
	return list[:min(len(list), maxOffers)]
}

// offer passes a pending thread to handle, unless the executor cannot take it. The next rounds
// try again before its not_before time.
func (f *Client) offer(ctx context.Context, row httpclient.Thread, handle func(mess.Message)) error {
	t, now, err := f.read(ctx, row.Ref)
	if err != nil {
		return err
	}
	r, ok := asked(t)
	from, until := window(t, r)
	reason := ""
	switch c := r.Constraints; {
	case t.Status != mess.Pending:
		return nil // another executor was faster
	case !ok:
		reason = "there is no request in it"
	case (&mess.Message{Items: []mess.Item{&r}}).Validate() != nil:
		reason = "the request is not one"
	case begunBy(t, "") != "":
		reason = "an executor began it before; to repeat it, send a new request"
	case cancelledAfter(t, f.cfg.Executor, 0):
		reason = "it was cancelled"
	case c != nil && len(c.DependsOn) > 0:
		reason = "it depends on other threads, and the server does not see to that"
	case !until.IsZero() && !now.IsZero() && now.After(until):
		reason = "it is too late"
	case !from.IsZero() && (now.IsZero() || now.Before(from)):
		return nil // not yet
	}
	f.mu.Lock()
	f.offered[t.Ref] = row.Updated
	f.mu.Unlock()
	if reason != "" {
		f.log.Info("not taken", "ref", t.Ref, "err", reason)
		return nil
	}
	handle(mess.Message{From: t.Requester, Re: mess.Refs{t.Ref}, Items: []mess.Item{&r}})
	return nil
}

// pollMessages passes new messages of a thread that this executor holds to handle. It also reports
// the loss of the thread.
func (f *Client) pollMessages(ctx context.Context, ref string, handle func(mess.Message)) error {
	t, _, err := f.read(ctx, ref)
	if err != nil {
		return err
	}
	h, ok := f.claimOf(ref)
	if !ok || len(t.Messages) < h.read {
		return nil // it ended in the meantime, or the server has lost messages
	}
	f.change(ref, func(h *ownClaim) { h.read = len(t.Messages) })
	hand := func(from string, item mess.Item) {
		handle(mess.Message{From: from, Re: mess.Refs{ref}, Epoch: h.epoch, Items: []mess.Item{item}})
	}
	for i, m := range t.Messages[h.read:] {
		for _, item := range m.Items {
			if item = f.acceptItem(t, h.read+i, m.From, item); item != nil {
				hand(m.From, item)
			}
		}
	}
	begun, _ := lastStatusOf(t, f.cfg.Executor, inCode(mess.InProgress))
	switch {
	case t.Status == mess.Cancelled:
		f.change(ref, func(h *ownClaim) { h.over = true })
		hand(t.Requester, &mess.Cancel{})
	case t.Status.Terminal(), (t.Executor != f.cfg.Executor || t.Status == mess.Pending) && begun < int(h.epoch):
		f.change(ref, func(h *ownClaim) { h.over = true })
		hand("exchange", &mess.Status{Code: mess.Pending, Executor: t.Executor})
	}
	return nil
}

// acceptItem returns the item if this executor may accept it, or nil. The server does not authorize
// senders. An answer must come from the requester or from a configured operator, and after its
// question. A cancel may come from any actor.
func (f *Client) acceptItem(t httpclient.Thread, place int, from string, item mess.Item) mess.Item {
	if from == f.cfg.Executor {
		return nil
	}
	if item.Kind() == mess.KindCancel {
		return &mess.Cancel{} // without its fields: some servers convert {} to a list
	}
	operator := slices.Contains(f.cfg.Operators, from)
	asked, q := lastStatusOf(t, f.cfg.Executor, inCode(mess.NeedsInput, mess.NeedsConfirmation))
	if q == nil || place < asked || from != t.Requester && !operator {
		return nil
	}
	switch i := item.(type) {
	case *mess.Answer:
		if _, yes := i.Value.(bool); yes && q.Code == mess.NeedsConfirmation && (q.ConfirmBy != "" && !operator || slices.Contains(i.Re, mess.Last)) {
			return nil
		}
		return i
	case *mess.Reply:
		if i.Confirm != nil && (q.ConfirmBy != "" && !operator || slices.Contains(i.Re, mess.Last)) {
			return nil // MESS 1.0 section 1.3: "last" is no reference for a confirmation
		}
		return i
	}
	return nil
}
