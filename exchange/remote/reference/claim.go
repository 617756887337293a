package reference

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"

	"github.com/messkit/messkit/exchange/remote/httpclient"
	"github.com/messkit/messkit/internal/wait"
	"github.com/messkit/messkit/mess"
)

// claim claims a pending thread. It succeeds only if two reads afterwards still show this
// executor: the server may have accepted a concurrent claim of another executor.
func (s *statusUpdate) claim(ctx context.Context) (mess.Ack, error) {
	t, _, err := s.read(ctx, s.ref)
	if err != nil {
		return mess.Ack{}, err
	}
	if place, _ := lastStatusOf(t, s.cfg.Executor, withID(s.id)); place < 0 { // else the server already has this message
		if t.Status != mess.Pending || begunBy(t, "") != "" {
			return mess.Ack{}, s.refuse(mess.AlreadyClaimed, t, "it is not waiting for a claim")
		}
		if err := s.put(ctx, s.status.Code, s.named()); err != nil {
			return mess.Ack{}, err
		}
	}
	place := 0
	t, err = s.settle(ctx, func(t httpclient.Thread) error {
		place, _ = lastStatusOf(t, s.cfg.Executor, withID(s.id))
		switch {
		case place < 0 || t.Executor != s.cfg.Executor || begunBy(t, s.cfg.Executor) != "":
			return s.refuse(mess.AlreadyClaimed, t, "%s has it", t.Executor)
		case t.Status != mess.Claimed || cancelledAfter(t, s.cfg.Executor, place):
			return s.refuse(mess.StaleToken, t, "it is %s", t.Status)
		}
		return nil
	})
	if errors.Is(err, mess.StaleToken) && t.Status == mess.Claimed {
		return mess.Ack{}, s.over(ctx, t, cancelledBefore())
	}
	if err != nil {
		return mess.Ack{}, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.claims[s.ref] = &ownClaim{epoch: uint64(place + 1), read: place}
	return mess.Ack{Status: t.Status, Epoch: uint64(place + 1)}, nil
}

// settle reads the thread twice, each time after a random wait, and checks it.
func (s *statusUpdate) settle(ctx context.Context, check func(httpclient.Thread) error) (t httpclient.Thread, err error) {
	for range 2 {
		if !wait.For(ctx, s.cfg.Settle/4+rand.N(3*s.cfg.Settle/4)) {
			return t, mess.Errorf(mess.Unavailable, "%v", ctx.Err())
		}
		if t, _, err = s.read(ctx, s.ref); err != nil {
			return t, err
		}
		if err := check(t); err != nil {
			return t, err
		}
	}
	return t, nil
}

// start requests the start permission. The thread must belong to this executor, and no other
// executor may have started it. start writes its status into the thread and reads it back. Of
// two executors that write before they read, at least one sees the other.
func (s *statusUpdate) start(ctx context.Context, h ownClaim) (mess.Ack, error) {
	t, now, err := s.read(ctx, s.ref)
	if err != nil {
		return mess.Ack{}, err
	}
	if cancelledAfter(t, s.cfg.Executor, int(h.epoch)) {
		return mess.Ack{}, s.over(ctx, t, cancelledBefore())
	}
	if err := s.checkStart(ctx, t, now, h); err != nil {
		return mess.Ack{}, err
	}
	if place, _ := lastStatusOf(t, s.cfg.Executor, s.begins); place < 0 {
		if err := s.put(ctx, mess.InProgress, s.named()); err != nil {
			return mess.Ack{}, err
		}
		h.begun = false
	}
	ack := mess.Ack{Status: mess.InProgress, Epoch: h.epoch}
	if h.begun { // two earlier reads and this one confirm the start
		return ack, nil
	}
	_, err = s.settle(ctx, func(t httpclient.Thread) error {
		if cancelledAfter(t, s.cfg.Executor, int(h.epoch)) {
			return s.refuse(mess.StaleToken, t, "it was cancelled")
		}
		if place, _ := lastStatusOf(t, s.cfg.Executor, s.begins); place < 0 {
			return s.refuse(mess.AlreadyClaimed, t, "the server has lost this executor's message")
		}
		return s.checkOwnership(t, h)
	})
	if err != nil && !httpclient.Unavailable(err) {
		return mess.Ack{}, s.giveUp(ctx, err)
	}
	if err != nil {
		return mess.Ack{}, err
	}
	s.change(s.ref, func(h *ownClaim) { h.begun = true })
	return ack, nil
}

// begins reports whether a status is the start of this plan.
func (s *statusUpdate) begins(other *mess.Status) bool {
	return codeOf(string(other.Code)) == mess.InProgress && other.ActionHash == s.status.ActionHash && other.Instance == s.status.Instance
}

// checkOwnership checks that the thread still belongs to this executor, and that no other executor
// has started it.
func (s *statusUpdate) checkOwnership(t httpclient.Thread, h ownClaim) error {
	me := s.cfg.Executor
	switch other := begunBy(t, me); {
	case t.Status == mess.Pending || t.Status.Terminal():
		return s.refuse(mess.StaleToken, t, "it is %s", t.Status)
	case other != "":
		return s.refuse(mess.AlreadyClaimed, t, "%s has begun it as well", other)
	case t.Executor != me:
		return s.refuse(mess.AlreadyClaimed, t, "%s has it", t.Executor)
	}
	if place, claim := lastStatusOf(t, me, inCode(mess.Claimed)); claim != nil && claim.Instance != "" && uint64(place+1) > h.epoch {
		return s.refuse(mess.Conflict, t, "another process with this executor's key has claimed it")
	}
	return nil
}

// checkStart extends those of checkOwnership with the exchange's clock (transition T4): no start
// before not_before, and none after needed_by.
func (s *statusUpdate) checkStart(ctx context.Context, t httpclient.Thread, now time.Time, h ownClaim) error {
	if err := s.checkOwnership(t, h); err != nil {
		return err
	}
	r, ok := asked(t)
	from, until := window(t, r)
	switch {
	case !ok:
		return s.refuse(mess.StaleToken, t, "there is no request in it any more")
	case from.IsZero() && until.IsZero():
		return nil
	case now.IsZero():
		return s.over(ctx, t, notAtThisTime("it may not begin at any time, and the server does not send its time"))
	case now.Before(from):
		return s.over(ctx, t, notAtThisTime("it may not begin before "+from.UTC().Format(time.RFC3339)))
	case !until.IsZero() && now.After(until):
		return s.over(ctx, t, &mess.Status{Code: mess.Expired, ExpiredAt: mess.TimeOf(until.UTC()), Stage: string(t.Status)})
	}
	return nil
}

func cancelledBefore() *mess.Status {
	return &mess.Status{Code: mess.Cancelled, Reason: &mess.Reason{Type: "cancelled", Detail: "the cancel came before the executor did anything", Effect: mess.EffectNone}}
}

func notAtThisTime(reason string) *mess.Status {
	return &mess.Status{Code: mess.Failed, Recoverable: new(true), Reason: &mess.Reason{Type: "not_ready", Detail: reason, Effect: mess.EffectNone}}
}

// over ends a thread without an action, because the server does not end it.
func (s *statusUpdate) over(ctx context.Context, t httpclient.Thread, status *mess.Status) error {
	status.Executor = s.cfg.Executor
	if err := s.write(ctx, t, status); err != nil {
		return err
	}
	s.drop(s.ref)
	return s.refuse(mess.StaleToken, t, "it is %s", status.Code)
}

// giveUp withdraws this executor's start, because another executor has also started, or the
// server has lost the start. If no other executor continues, giveUp ends the thread: of two that
// withdraw before they read, at least one sees that.
func (s *statusUpdate) giveUp(ctx context.Context, cause error) error {
	back := &mess.Status{Code: mess.Delegated, Executor: s.cfg.Executor, Reason: &mess.Reason{
		Type: "not_started", Detail: "another executor began it at the same moment; this executor has not acted", Effect: mess.EffectNone,
	}}
	if err := s.put(ctx, "", []mess.Item{back}); err != nil {
		return err
	}
	t, _, err := s.read(ctx, s.ref)
	if err != nil {
		return err
	}
	if begunBy(t, "") == "" && !t.Status.Terminal() && t.Status != mess.Pending {
		status := &mess.Status{Code: mess.Failed, Executor: s.cfg.Executor, Recoverable: new(true), Reason: &mess.Reason{
			Type: "not_started", Detail: "several executors began it in the same moment, and none of them has acted", Effect: mess.EffectNone,
		}}
		if err := s.write(ctx, t, status); err != nil {
			return err
		}
	}
	s.drop(s.ref)
	return cause
}
