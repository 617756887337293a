package exchange

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/messkit/messkit/exchange/documents"
	"github.com/messkit/messkit/exchange/registry"
	"github.com/messkit/messkit/exchange/routing"
	"github.com/messkit/messkit/exchange/thread"
	"github.com/messkit/messkit/exchange/transition"
	"github.com/messkit/messkit/mess"
)

// checkOrder returns an error unless the actor is a requester or an operator. item is the key below
// config.
func checkOrder(actor Actor, item string) error {
	if actor.Has(Requester) || actor.Has(Operator) {
		return nil
	}
	return mess.Errorf(mess.Forbidden, "config.%s: %q may not ask for anything here; use a requester's or the operator's key", item, actor.ID)
}

// Stop orders the executors in s, or all, to stop everything. Idle people get no stop. A subscribed
// executor gets the stop at once, before the disk has it. An absent or deregistered executor gets
// it when it comes back. No channel can take a stop back. The result has the id, the
// executors and the count of threads that wait to end. The error is a *mess.Error.
func (x *Exchange) Stop(ctx context.Context, actor Actor, s mess.Stop) (mess.Stop, error) {
	if err := checkOrder(actor, "stop"); err != nil {
		return mess.Stop{}, err
	}
	all := len(s.Executors) == 0
	s.Reason = registry.CutReason(s.Reason) // the length of the reason must not prevent a stop
	s.ID, s.By, s.At, s.Ending = rand.Text(), actor.ID, mess.TimeOf(x.now()), 0
	ids, err := x.registry.Stop(ctx, s)
	if err != nil {
		return mess.Stop{}, x.storeError(err)
	}
	if all {
		s.Ending = x.awaitStopped(ctx)
	}
	now := x.registry.Snapshot()
	s.Executors = slices.DeleteFunc(slices.Clone(ids), func(id string) bool { return now.Executor(id).Deregistered })
	x.log.Warn("stop", "actor", actor.ID, "executors", len(ids), "err", s.Reason)
	return s, nil
}

// startedCodes are the statuses in which a person may be at work on a thread.
var startedCodes = []mess.Code{mess.Claimed, mess.InProgress, mess.Waiting, mess.Held, mess.Retrying}

// reportPersonStopped writes into the threads of a human executor that the person has stopped. A
// robot reports that itself.
func (x *Exchange) reportPersonStopped(ctx context.Context, id string) error {
	e := x.registry.Snapshot().Executor(id)
	if e == nil || !e.Person {
		return nil
	}
	name := cmp.Or(e.Name, id)
	for _, ref := range x.open.heldRefs(id) {
		_, err := x.step(ctx, ref, func(env Envelope) transition.Input {
			if env.Holder() != id || !slices.Contains(startedCodes, env.Status) {
				return x.ownInput(env, nil)
			}
			return x.ownInput(env, func(*Envelope) *mess.Status {
				return &mess.Status{Code: env.Status, Executor: id, Message: name + " says: I have stopped"}
			})
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// isEndedByStop reports whether a stop of everything ends a pending thread, or leaves it to people.
func (s snapshot) isEndedByStop(e *Envelope) bool {
	return e.Status == mess.Pending && !e.Stopped && s.registry.StopAll.Covers(e)
}

// stopChange returns the change by a stop of everything. A thread with human candidates keeps only
// those; any other thread ends.
func (s snapshot) stopChange(e Envelope) transition.Change {
	for range s.request(&e).People() {
		return transition.LeaveToPeople(s.registry.StopAll.Stop)
	}
	return transition.FailStopped(s.registry.StopAll.Stop)
}

// readStops reads the stops for a start from a shared store. Any other input, and any other store, needs
// no read. The error is a *mess.Error.
func (x *Exchange) readStops(ctx context.Context, in *transition.Input, env *Envelope) (registry.StoredStops, error) {
	store, reads := x.store.(thread.DocumentReader)
	if !x.docs.IsShared() || !reads || !transition.AsksToStart(in, env) {
		return registry.StoredStops{}, nil
	}
	stored, err := x.registry.ReadStops(ctx, store, in.Actor.ID)
	if err != nil {
		return registry.StoredStops{}, x.storeError(fmt.Errorf("read the stops before a start of %s: %w", env.Ref, err))
	}
	return stored, nil
}

// checkStarted returns a *mess.Error if a stop has come since the exchange judged a start: the write can
// take long. The thread then has started for the exchange, and its holder reports that it did nothing.
func (x *Exchange) checkStarted(ctx context.Context, in *transition.Input, before, after *Envelope) error {
	if !transition.AsksToStart(in, before) || after.Phase != Started || after.Holder() != in.Actor.ID {
		return nil
	}
	stored, err := x.readStops(ctx, in, before)
	if err != nil {
		return err
	}
	x.open.mu.Lock()
	defer x.open.mu.Unlock()
	s := x.snapshot(x.now())
	s.stored = stored
	return transition.CheckStops(s, before, in.Actor.ID)
}

// Orders returns the unconfirmed orders to an executor as events.
func (x *Exchange) Orders(executor string) []Event {
	return x.registry.Snapshot().Orders(executor).Events()
}

// IsStopping reports whether an executor has an unconfirmed stop.
func (s snapshot) IsStopping(id string) bool {
	return len(s.registry.Orders(id).Stops) > 0 || len(s.stored.Stops) > 0
}

// StoppedBy describes the stop that prevents the start of a thread by an executor; "" for none.
func (s snapshot) StoppedBy(e Envelope, executor string) string {
	for _, all := range []registry.StopAll{s.registry.StopAll, s.stored.All} {
		if all.Covers(&e) {
			return transition.DescribeStop(all.Stop)
		}
	}
	for _, stops := range [][]mess.Stop{s.registry.Orders(executor).Stops, s.stored.Stops} {
		if stop, ok := registry.Named(stops); ok {
			return transition.DescribeNamedStop(stop, executor)
		}
	}
	return ""
}

// Times in which Stop waits for the pending threads to end. Run ends the rest later, and none of
// them can start meanwhile.
const (
	stopWaitTime     = 100 * time.Millisecond
	stopWaitInterval = 5 * time.Millisecond
)

// awaitStopped waits for a short time until a stop of everything has ended the pending threads, and
// returns how many remain.
func (x *Exchange) awaitStopped(ctx context.Context) uint64 {
	ctx, cancel := context.WithTimeout(ctx, stopWaitTime)
	defer cancel()
	tick := time.NewTicker(stopWaitInterval)
	defer tick.Stop()
	for {
		left := x.countStopped()
		if left == 0 {
			return 0
		}
		select {
		case <-ctx.Done():
			return left
		case <-tick.C:
		}
	}
}

// countStopped returns the number of pending threads that a stop of everything has yet to end.
func (x *Exchange) countStopped() (n uint64) {
	x.open.mu.Lock()
	defer x.open.mu.Unlock()
	s := x.snapshot(x.now())
	x.open.round++
	for _, set := range x.open.pending {
		for l := range set.all() {
			if l.round == x.open.round {
				continue
			}
			l.round = x.open.round
			if e := l.env(); s.isEndedByStop(&e) {
				n++
			}
		}
	}
	return n
}

// Drain makes executors take nothing new: those in h, or all. Claimed threads continue. The order
// survives restarts, and ends with Resume. The order of an operator stays in force if there is one.
// The error is a *mess.Error.
func (x *Exchange) Drain(ctx context.Context, actor Actor, h mess.DrainOrder) (mess.DrainOrder, error) {
	return x.drain(ctx, actor, "hold", h)
}

// Resume ends the drain orders of the executors in h. If h names none, it ends every order that the
// actor may end. An operator may end every order, others only their own. The error is a
// *mess.Error.
func (x *Exchange) Resume(ctx context.Context, actor Actor, h mess.DrainOrder) (mess.DrainOrder, error) {
	return x.drain(ctx, actor, "resume", h)
}

func (x *Exchange) drain(ctx context.Context, actor Actor, verb string, h mess.DrainOrder) (mess.DrainOrder, error) {
	if err := checkOrder(actor, verb); err != nil {
		return mess.DrainOrder{}, err
	}
	if len(h.Reason) > registry.MaxReason {
		return mess.DrainOrder{}, mess.Errorf(mess.Invalid, "config.%s.why: %d bytes are too long; write at most %d", verb, len(h.Reason), registry.MaxReason)
	}
	if len(h.Extra) > 0 { // a misspelled executors key would mean all executors
		return mess.DrainOrder{}, mess.Errorf(mess.Invalid, "config.%s.%.60s: unknown key; known keys: why, executors", verb, h.Extra[0].Key)
	}
	h.ID, h.By, h.At = rand.Text(), actor.ID, mess.TimeOf(x.now())
	given, err := x.registry.Drain(ctx, actor, registry.Drain{On: verb == "hold", Order: h})
	if err != nil {
		return mess.DrainOrder{}, x.storeError(err)
	}
	if h.Executors = given; len(given) > 0 {
		x.log.Info(verb, "actor", actor.ID, "executors", strings.Join(given, " "), "why", h.Reason)
	}
	return h, nil
}

// drainedCandidate names the first drained candidate of a thread, with the reason; "" if there is
// none.
func (s snapshot) drainedCandidate(env Envelope) string {
	r := s.request(&env)
	rank := r.Rank()
	byRank := func(a, b *routing.Executor) int { return cmp.Or(rank(a)-rank(b), strings.Compare(a.ID, b.ID)) }
	for _, e := range slices.SortedFunc(r.Candidates(), byRank) {
		if reason := s.registry.Orders(e.ID).DrainReason(); reason != "" {
			return cmp.Or(e.Name, e.ID) + " is " + reason
		}
	}
	return ""
}

// contactKind is the kind of the documents about contacts. Each exchange on a shared store has one for each
// contactsAtOnce contacts, so that none exceeds the size of a message.
const (
	contactKind    = "contact"
	contactsAtOnce = 2000
)

// contacts is what an exchange tells the others about the contacts of executors to it. A claim at any
// exchange lasts as long as its executor has contact to one of them.
type contacts struct {
	Executors map[string]int64        `json:"executors,omitempty"` // milliseconds since the contact, by id
	Claims    map[string]claimContact `json:"claims,omitempty"`    // by ref
}

// claimContact is the last heartbeat that names a claim. It has an age and no time, so that the clocks
// of two exchanges may differ.
type claimContact struct {
	Epoch uint64 `json:"epoch"`
	Ago   int64  `json:"ago_ms"`
}

// The time between two documents is a part of the shortest lease, within limits. A contact is in several
// documents: the feed may skip one that a later one has replaced.
const (
	contactParts    = 6
	contactRepeats  = 3
	minContactEvery = 200 * time.Millisecond
	maxContactEvery = 5 * time.Second
	reportEvery     = time.Second
)

// shareContacts tells the other exchanges on a shared store about contacts and reports of executors,
// until ctx ends.
func (x *Exchange) shareContacts(ctx context.Context) {
	if !x.docs.IsShared() {
		return
	}
	own := rand.Text()
	for id := range x.docs.Read(contactKind) { // of exchanges that have ended; the others store theirs again
		x.logShared(ctx, x.docs.Put(ctx, documents.Key{Kind: contactKind, ID: id}, nil))
	}
	every := min(max(min(x.cfg.Lease, x.cfg.Unreachable)/contactParts, minContactEvery), maxContactEvery)
	contact, report := time.NewTicker(every), time.NewTicker(reportEvery)
	defer contact.Stop()
	defer report.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-report.C:
			x.logShared(ctx, x.registry.ShareReports(ctx))
		case <-contact.C:
			for n, doc := range x.ownContacts(contactRepeats * every) {
				x.logShared(ctx, x.docs.Put(ctx, documents.Key{Kind: contactKind, ID: fmt.Sprint(own, "-", n)}, doc))
			}
		}
	}
}

func (x *Exchange) logShared(ctx context.Context, err error) {
	if err != nil && ctx.Err() == nil {
		x.log.Warn("the other exchanges on the store do not know the last contacts of executors", "err", err)
	}
}

// ownContacts returns documents with the contacts within d; none if there were none.
func (x *Exchange) ownContacts(d time.Duration) (docs [][]byte) {
	now := x.now()
	for list := range slices.Chunk(x.registry.OwnContacts(d), contactsAtOnce) {
		doc, _ := json.Marshal(x.contactsOf(list, now, d)) // plain values
		docs = append(docs, doc)
	}
	return docs
}

// contactsOf returns some contacts, with those for the claims of their executors.
func (x *Exchange) contactsOf(list []registry.Contact, now time.Time, d time.Duration) contacts {
	c := contacts{Executors: map[string]int64{}, Claims: map[string]claimContact{}}
	x.open.mu.Lock()
	defer x.open.mu.Unlock()
	for _, one := range list {
		c.Executors[one.Executor] = one.Ago.Milliseconds()
		for l := range x.open.held[one.Executor].all() {
			if ago := now.Sub(l.renewed); !l.renewed.IsZero() && ago <= d {
				e := l.env()
				c.Claims[e.Ref] = claimContact{e.Epoch, max(0, ago.Milliseconds())}
			}
		}
	}
	return c
}

// takeContacts takes the contacts of executors to another exchange.
func (x *Exchange) takeContacts(doc []byte) {
	var c contacts
	if doc == nil {
		return
	}
	if err := json.Unmarshal(doc, &c); err != nil {
		x.log.Warn("the contacts of executors to another exchange are unreadable", "err", err)
		return
	}
	for id, ago := range c.Executors {
		x.registry.SeenElsewhere(registry.Contact{Executor: id, Ago: max(0, time.Duration(ago)*time.Millisecond)})
	}
	now := x.now()
	x.open.mu.Lock()
	defer x.open.mu.Unlock()
	for ref, one := range c.Claims {
		l := x.open.byRef[ref]
		if l == nil {
			continue
		}
		e, at := l.env(), now.Add(-max(0, time.Duration(one.Ago)*time.Millisecond))
		if e.Epoch != one.Epoch || !at.After(l.lastContact) {
			continue
		}
		if l.lastContact = at; e.IsUnreachable() {
			x.open.wake(l, now)
		}
	}
}
