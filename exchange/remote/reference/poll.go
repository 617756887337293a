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

// Receive looks for news at intervals and calls handle with what is for this
// executor: what waits for a claim, and what was said to what it holds. A server
// that is away, or talks nonsense, is asked less and less often. It returns nil
// when ctx ends, and earlier where the server refuses for good.
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

// maxOffers is how many threads are looked at anew in one round.
const maxOffers = 32

// round looks once: first after what is held, then for more.
func (f *Client) round(ctx context.Context, handle func(mess.Message)) error {
	var worst error
	for _, ref := range f.held() {
		if err := f.news(ctx, ref, handle); err != nil && ctx.Err() == nil {
			worst = err // the others are looked after all the same
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
	for ref, h := range f.holds {
		if !h.over {
			refs = append(refs, ref)
		}
	}
	return refs
}

// forget lets go of what does not wait any more: if it does so again, it is
// offered again.
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

// unseen are the threads that have not been looked at since they changed, the
// oldest first, and not too many at once.
func (f *Client) unseen(waiting []httpclient.Thread) []httpclient.Thread {
	f.mu.Lock()
	defer f.mu.Unlock()
	var list []httpclient.Thread
	for _, t := range slices.Backward(waiting) {
		if at, ok := f.offered[t.Ref]; mess.ValidRef(t.Ref) && (!ok || !at.Equal(t.Updated)) && f.holds[t.Ref] == nil {
			list = append(list, t)
		}
	}
	return list[:min(len(list), maxOffers)]
}

// offer hands on a thread that waits, unless it cannot be kept here. Before its
// time it is looked at again.
func (f *Client) offer(ctx context.Context, row httpclient.Thread, handle func(mess.Message)) error {
	t, now, err := f.read(ctx, row.Ref)
	if err != nil {
		return err
	}
	r, ok := asked(t)
	from, until := window(t, r)
	why := ""
	switch c := r.Constraints; {
	case t.Status != mess.Pending:
		return nil // somebody was quicker
	case !ok:
		why = "there is no request in it"
	case (&mess.Message{Items: []mess.Item{&r}}).Validate() != nil:
		why = "the request is not one"
	case begunBy(t, "") != "":
		why = "it was begun before; what is to be done again is a new request"
	case cancelledAfter(t, f.cfg.Executor, 0):
		why = "it was cancelled"
	case c != nil && len(c.DependsOn) > 0:
		why = "it depends on other threads, and the server does not see to that"
	case !until.IsZero() && !now.IsZero() && now.After(until):
		why = "it is too late"
	case !from.IsZero() && (now.IsZero() || now.Before(from)):
		return nil // not yet
	}
	f.mu.Lock()
	f.offered[t.Ref] = row.Updated
	f.mu.Unlock()
	if why != "" {
		f.log.Info("not taken", "ref", t.Ref, "err", why)
		return nil
	}
	handle(mess.Message{From: t.Requestor, Re: mess.Refs{t.Ref}, Items: []mess.Item{&r}})
	return nil
}

// news hands on what was said to a thread that is held, and whether it still is.
func (f *Client) news(ctx context.Context, ref string, handle func(mess.Message)) error {
	t, _, err := f.read(ctx, ref)
	if err != nil {
		return err
	}
	h, ok := f.hold(ref)
	if !ok || len(t.Messages) < h.read {
		return nil // it ended meanwhile, or the server has lost something
	}
	f.change(ref, func(h *hold) { h.read = len(t.Messages) })
	hand := func(from string, item mess.Item) {
		handle(mess.Message{From: from, Re: mess.Refs{ref}, Epoch: h.epoch, Items: []mess.Item{item}})
	}
	for i, m := range t.Messages[h.read:] {
		for _, item := range m.Items {
			if item = f.heard(t, h.read+i, m.From, item); item != nil {
				hand(m.From, item)
			}
		}
	}
	begun, _ := said(t, f.cfg.Executor, inCode(mess.InProgress))
	switch {
	case t.Status == mess.Cancelled:
		f.change(ref, func(h *hold) { h.over = true })
		hand(t.Requestor, &mess.Cancel{})
	case t.Status.Terminal(), (t.Executor != f.cfg.Executor || t.Status == mess.Pending) && begun < int(h.epoch):
		f.change(ref, func(h *hold) { h.over = true })
		hand("exchange", &mess.Status{Code: mess.Pending, Executor: t.Executor})
	}
	return nil
}

// heard is an item as this executor may take it, nil if it may not. The server
// asks nobody whether he may speak: answers are the requester's, or those of
// whom the configuration names, and they come after their question. Not to act
// anybody may say.
func (f *Client) heard(t httpclient.Thread, place int, from string, item mess.Item) mess.Item {
	if from == f.cfg.Executor {
		return nil
	}
	if item.Kind() == mess.KindCancel {
		return &mess.Cancel{} // whatever else it says: some servers make a list of {}
	}
	operator := slices.Contains(f.cfg.Operators, from)
	asked, q := said(t, f.cfg.Executor, inCode(mess.NeedsInput, mess.NeedsConfirmation))
	if q == nil || place < asked || from != t.Requestor && !operator {
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
			return nil // MESS 1.0 section 1.3: with "last" one does not confirm
		}
		return i
	}
	return nil
}
