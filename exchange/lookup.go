package exchange

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/messkit/messkit/exchange/thread"
	"github.com/messkit/messkit/mess"
	"github.com/messkit/messkit/mess/messeaf"
)

// Thread returns a thread that the actor may see, by any name that resolve knows. The error is a
// *mess.Error; a hidden thread is NotFound.
func (x *Exchange) Thread(ctx context.Context, actor Actor, name string) (Thread, error) {
	ref, err := x.resolve(ctx, actor, name)
	if err != nil {
		return Thread{}, err
	}
	t, err := x.read(ctx, ref)
	if errors.Is(err, ErrNoThread) || err == nil && !x.MaySee(actor, t.Envelope) {
		return Thread{}, errNoThread(name)
	}
	if err != nil {
		return Thread{}, x.storeError(err)
	}
	return t, nil
}

// Envelope returns the envelope of a thread that the actor may see. It reads the store only if the
// thread has ended. The error is a *mess.Error.
func (x *Exchange) Envelope(ctx context.Context, actor Actor, name string) (Envelope, error) {
	ref, err := x.resolve(ctx, actor, name)
	if err != nil {
		return Envelope{}, err
	}
	l, err := x.load(ctx, ref)
	if r, ok := errors.AsType[*mess.Error](err); ok && r.Code != mess.NotFound {
		return Envelope{}, err
	}
	if err == nil {
		if e := x.open.envelope(l); x.MaySee(actor, e) {
			return e, nil
		}
	}
	return Envelope{}, errNoThread(name)
}

// resolve finds the thread that a sender names. The name is the ref of the thread or of one of its
// messages, a client id, or "last" (MESS 1.0 section 1.3).
func (x *Exchange) resolve(ctx context.Context, actor Actor, name string) (string, error) {
	if name == mess.Last {
		return x.lastRequest(actor)
	}
	ref := messeaf.ThreadRef(name)
	if x.open.find(ref) != nil {
		return ref, nil
	}
	if own, err := x.store.Lookup(ctx, thread.Key{Owner: actor.ID, Name: name}); err == nil {
		return own, nil
	} else if !errors.Is(err, ErrNoThread) {
		return "", x.storeError(err)
	}
	if x.threads.Status(ref) != "" {
		return ref, nil
	}
	if _, err := x.read(ctx, ref); err == nil { // the index does not have it any more, or not yet
		return ref, nil
	} else if !errors.Is(err, ErrNoThread) {
		return "", x.storeError(err)
	}
	if held, ok := x.open.heldAs(actor.ID, name); ok {
		return held, nil
	}
	if offered := x.offeredAs(actor, name); offered != "" {
		return offered, nil
	}
	if suggested, ok := x.open.suggestedAs(actor, name); ok {
		return suggested, nil
	}
	return "", errNoThread(name)
}

// offeredAs finds the only pending thread with a client id that an executor may claim (MESS 1.0
// section 4.4: "re: get-onions, code: claimed"). It returns "" for none or several.
func (x *Exchange) offeredAs(actor Actor, clientID string) (ref string) {
	for _, e := range x.open.pendingAs(clientID) {
		switch {
		case !x.couldTake(actor, e):
		case ref != "":
			return ""
		default:
			ref = e.Ref
		}
	}
	return ref
}

// lastRequest returns the most recent request of an actor.
func (x *Exchange) lastRequest(actor Actor) (string, error) {
	ref := x.threads.Last(actor.ID)
	if ref == "" {
		return "", mess.Errorf(mess.NotFound, "re: %q has made no request, so there is no %q", actor.ID, mess.Last)
	}
	return ref, nil
}

// MaySee reports whether an actor may read a thread: its parties, observers and operators, and
// executors that could take a pending thread.
func (x *Exchange) MaySee(actor Actor, e Envelope) bool {
	if e.IsVisibleTo(actor) {
		return true
	}
	return e.Status == mess.Pending && x.couldTake(actor, e)
}

// couldTake reports whether an actor is an executor with the abilities for a thread.
func (x *Exchange) couldTake(actor Actor, e Envelope) bool {
	return actor.Has(ExecutorRole) && x.snapshot(x.now()).IsAble(actor.ID, e)
}

// mayKnow reports whether the sender of items may learn that a thread exists: everyone who may read
// it, and an executor whose claim comes too late.
func (x *Exchange) mayKnow(actor Actor, e Envelope, items []mess.Item) bool {
	if x.MaySee(actor, e) {
		return true
	}
	claims := !slices.ContainsFunc(items, func(i mess.Item) bool {
		s, ok := i.(*mess.Status)
		return !ok || s.Code != mess.Claimed
	})
	over := e.Status.Terminal() && x.now().Sub(e.Updated) > lateClaim
	return claims && !over && x.couldTake(actor, e)
}

// lateClaim is the time after the end of a thread in which a claim may still answer an old offer.
const lateClaim = time.Minute

// errNoThread is the error for a thread that does not exist, and for a hidden one: a client cannot
// distinguish them.
func errNoThread(name string) error {
	return mess.Errorf(mess.NotFound, "there is no thread %q", name)
}

// isRef reports whether a text looks like the ref of a thread.
func isRef(text string) bool {
	day, _, ok := messeaf.ParseRef(messeaf.ThreadRef(text))
	_, err := time.Parse(time.DateOnly, day)
	return ok && err == nil
}

// maxRefs limits the refs that the exchange tries for one thread.
const maxRefs = 40

// newRef returns a ref that this exchange has not used. After each refused ref it skips more
// numbers, because other processes may have used the next ones.
func (x *Exchange) newRef(s submission, now time.Time, refused int) string {
	day := now.Format(time.DateOnly)
	return messeaf.Ref(day, x.serials.next(day, 1<<min(max(0, refused-1), 16)), messeaf.Token(s.req.ID))
}

// serials has the highest serial of the refs of each day.
type serials struct {
	mu   sync.Mutex
	last map[string]int
}

// next adds by to the highest serial of a day, and returns it.
func (s *serials) next(day string, by int) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.last[day] += by
	return s.last[day]
}

// record records the serial of a ref.
func (s *serials) record(ref string) {
	day, serial, ok := messeaf.ParseRef(ref)
	s.mu.Lock()
	defer s.mu.Unlock()
	if ok {
		s.last[day] = max(s.last[day], serial)
	}
}
