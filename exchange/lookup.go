package exchange

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/messkit/messkit/exchange/thread"
	"github.com/messkit/messkit/mess"
	"github.com/messkit/messkit/mess/messeaf"
)

// Thread returns a thread that who may see.
func (x *Exchange) Thread(ctx context.Context, who Actor, name string) (Thread, error) {
	ref, err := x.resolve(ctx, who, name)
	if err != nil {
		return Thread{}, err
	}
	t, err := x.read(ctx, ref)
	if errors.Is(err, ErrNoThread) || err == nil && !x.isVisible(who, t.Envelope) {
		return Thread{}, errNoThread(name)
	}
	if err != nil {
		return Thread{}, x.storeError(err)
	}
	return t, nil
}

// Envelope returns how a thread stands that who may see. Of one that is open
// nothing is read from the store.
func (x *Exchange) Envelope(ctx context.Context, who Actor, name string) (Envelope, error) {
	ref, err := x.resolve(ctx, who, name)
	if err != nil {
		return Envelope{}, err
	}
	l, err := x.load(ctx, ref)
	if r, ok := errors.AsType[*mess.Error](err); ok && r.Code != mess.NotFound {
		return Envelope{}, err
	}
	if err == nil {
		if e := x.open.envelope(l); x.isVisible(who, e) {
			return e, nil
		}
	}
	return Envelope{}, errNoThread(name)
}

// resolve finds the thread that a sender means: a ref of a thread or of one of
// its messages, the sender's own id, or "last" (MESS 1.0 section 1.3).
func (x *Exchange) resolve(ctx context.Context, who Actor, name string) (string, error) {
	if name == mess.Last {
		return x.last(who)
	}
	ref := messeaf.ThreadRef(name)
	if x.open.find(ref) != nil {
		return ref, nil
	}
	if own, err := x.store.Lookup(ctx, thread.Key{Owner: who.ID, Name: name}); err == nil {
		return own, nil
	} else if !errors.Is(err, ErrNoThread) {
		return "", x.storeError(err)
	}
	if x.threads.Has(ref) {
		return ref, nil
	}
	if _, err := x.read(ctx, ref); err == nil { // it is not listed any more, or not yet
		return ref, nil
	} else if !errors.Is(err, ErrNoThread) {
		return "", x.storeError(err)
	}
	if held, ok := x.open.heldAs(who.ID, name); ok {
		return held, nil
	}
	if offered := x.offeredAs(who, name); offered != "" {
		return offered, nil
	}
	if suggested, ok := x.open.suggestedAs(who, name); ok {
		return suggested, nil
	}
	return "", errNoThread(name)
}

// offeredAs finds the one waiting thread that its requester calls so and that an executor
// may take (MESS 1.0 section 4.4: "re: get-onions, code: claimed"); "" if there is none, or
// more than one.
func (x *Exchange) offeredAs(who Actor, clientID string) (ref string) {
	for _, e := range x.open.pendingAs(clientID) {
		switch {
		case !x.couldTake(who, e):
		case ref != "":
			return ""
		default:
			ref = e.Ref
		}
	}
	return ref
}

// last is the most recent request of who.
func (x *Exchange) last(who Actor) (string, error) {
	ref := x.threads.Last(who.ID)
	if ref == "" {
		return "", mess.Errorf(mess.NotFound, "re: %q has made no request, so there is no %q", who.ID, mess.Last)
	}
	return ref, nil
}

// isVisible reports whether an actor may read a thread: its parties, those who
// see all, and, while it waits for a claim, the executors that could take it.
func (x *Exchange) isVisible(who Actor, e Envelope) bool {
	if e.IsVisibleTo(who) {
		return true
	}
	return e.Status == mess.Pending && x.couldTake(who, e)
}

// MaySee reports whether an actor may read a thread that stands as e says.
func (x *Exchange) MaySee(who Actor, e Envelope) bool { return x.isVisible(who, e) }

// couldTake reports whether who is an executor that is able to do what a thread
// asks for.
func (x *Exchange) couldTake(who Actor, e Envelope) bool {
	return who.Has(ExecutorRole) && x.world(x.now()).IsAble(who.ID, e)
}

// mayKnow reports whether one who speaks to a thread may learn that there is
// such a thread: who may read it, and the executor whose claim is too late.
func (x *Exchange) mayKnow(who Actor, e Envelope, items []mess.Item) bool {
	if x.isVisible(who, e) {
		return true
	}
	claims := !slices.ContainsFunc(items, func(i mess.Item) bool {
		s, ok := i.(*mess.Status)
		return !ok || s.Code != mess.Claimed
	})
	over := e.Status.Terminal() && x.now().Sub(e.Updated) > lateClaim
	return claims && !over && x.couldTake(who, e)
}

// lateClaim is how long after its end a thread is one that an executor may have
// been offered a moment ago.
const lateClaim = time.Minute

// errNoThread is what one who names a thread is told if there is none, and if it
// is not for him: the two cannot be told apart.
func errNoThread(name string) error {
	return mess.Errorf(mess.NotFound, "there is no thread %q", name)
}
