package exchange

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"time"

	"github.com/messkit/messkit/exchange/thread"
	"github.com/messkit/messkit/mess"
)

// postRequests makes a thread of each request of a message (MESS 1.0 section 7.2).
func (x *Exchange) postRequests(ctx context.Context, in Inbound, p sortedItems) ([]mess.Item, error) {
	if len(p.requests) == 0 {
		return nil, nil
	}
	if !in.Actor.Has(Requester) {
		return nil, mess.Errorf(mess.Forbidden, "request: %q may not make requests (role requester is missing)", in.Actor.ID)
	}
	for _, r := range p.requests {
		if err := checkRequestID(r.ID); err != nil {
			return nil, err
		}
	}
	order, err := sortRequests(p.requests)
	if err != nil {
		return nil, err
	}
	if a, ok := x.store.(thread.Admitter); ok {
		if err := a.Admit(ctx); err != nil {
			return nil, x.storeError(err)
		}
	}
	if err := x.checkTogether(ctx, in, p.requests); err != nil {
		return nil, err
	}
	batch := map[string]string{} // client id to ref
	entries := make([]mess.AckEntry, len(p.requests))
	var status mess.Code // of the last one
	for n, i := range order {
		s := submission{in: in, req: p.requests[i], others: p.others, batch: batch}
		env, err := x.submit(ctx, s)
		if err != nil && n > 0 { // the sender must not send the earlier ones again
			entries = slices.DeleteFunc(entries, func(e mess.AckEntry) bool { return e.Ref == "" })
			return []mess.Item{&mess.Ack{ReceivedAt: mess.TimeOf(x.now()), Requests: entries}, x.refusalAck(err)}, nil
		}
		if err != nil {
			return nil, err
		}
		if s.req.ID != "" {
			batch[s.req.ID] = env.Ref
		}
		entries[i], status = mess.AckEntry{ID: s.req.ID, Ref: env.Ref}, env.Status
	}
	return []mess.Item{x.requestsAck(p.requests, entries, status)}, nil
}

// checkTogether returns an error if submit would reject one of several requests of a message. A
// rejected message makes no thread, so the sender can correct it and send all of it again.
func (x *Exchange) checkTogether(ctx context.Context, in Inbound, reqs []*mess.Request) error {
	if len(reqs) < 2 {
		return nil // submit itself checks a request before it makes the thread
	}
	batch := map[string]string{} // the requests of the message have no refs yet
	for _, r := range reqs {
		if r.ID != "" {
			batch[r.ID] = r.ID
		}
	}
	for _, r := range reqs {
		s := submission{in: in, req: r, batch: batch}
		if _, err := x.newEnvelope(ctx, s, x.now()); err != nil {
			return err
		}
		if _, err := x.withContextRefs(ctx, s); err != nil {
			return err
		}
		if r.ID == "" {
			continue
		}
		ref, err := x.store.Lookup(ctx, thread.Key{Owner: in.Actor.ID, Name: r.ID})
		if errors.Is(err, ErrNoThread) {
			continue
		}
		if err != nil {
			return x.storeError(err)
		}
		s.req, _, _ = thread.StoredRequest(r)
		if _, err := x.repeatedRequest(ctx, s, ref); err != nil {
			return err
		}
	}
	return nil
}

// checkRequestID rejects ids that mean something else, because such a request would hide another
// one.
func checkRequestID(id string) error {
	switch {
	case id == mess.Last:
		return mess.Errorf(mess.Invalid, "request.id: %q means the most recent request; choose another id, or none", id)
	case isRef(id):
		return mess.Errorf(mess.Invalid, "request.id: %.60q looks like the ref of a thread; choose another id, or none", id)
	}
	return nil
}

// requestsAck returns the ack of one or several requests. status is that of the thread of a single
// request: a repeated one may have ended.
func (x *Exchange) requestsAck(reqs []*mess.Request, entries []mess.AckEntry, status mess.Code) *mess.Ack {
	ack := &mess.Ack{ReceivedAt: mess.TimeOf(x.now())}
	x.open.mu.Lock()
	defer x.open.mu.Unlock()
	if len(entries) > 1 {
		for i, e := range entries {
			if l := x.open.byRef[e.Ref]; l != nil {
				if n := x.queuePosition(l); n > 0 {
					entries[i].QueuePosition = &n
				}
			}
		}
		ack.Requests = entries
		return ack
	}
	ack.Re, ack.Ref, ack.Status = mess.Refs{requestName(reqs[0])}, entries[0].Ref, status
	if l := x.open.byRef[ack.Ref]; l != nil {
		e := l.env()
		ack.Status = e.Status
		if n := x.queuePosition(l); n > 0 {
			ack.QueuePosition = &n
		}
		if note := x.expectation(l, &e); note != "" {
			ack.Extra = ack.Extra.Set("note", note)
		}
	}
	return ack
}

// requestName returns the name of a request in its ack: its client id, or "last".
func requestName(r *mess.Request) string {
	if r.ID != "" {
		return r.ID
	}
	return mess.Last
}

// sortRequests returns the order in which to make the requests of one message: each after its
// dependencies in the message.
func sortRequests(reqs []*mess.Request) ([]int, error) {
	index := map[string]int{}
	for i, r := range reqs {
		if _, twice := index[r.ID]; twice && r.ID != "" {
			return nil, mess.Errorf(mess.Invalid, "request.id: %q is twice in one message; each request needs its own id", r.ID)
		}
		index[r.ID] = i
	}
	var order []int
	state := make([]int, len(reqs)) // 0 new, 1 being placed, 2 placed
	var place func(i int) error
	place = func(i int) error {
		if state[i] == 1 {
			return mess.Errorf(mess.Invalid, "request %q: depends on itself through constraints.depends_on or context: ref", reqs[i].ID)
		}
		if state[i] == 2 {
			return nil
		}
		state[i] = 1
		for _, dep := range slices.Concat(dependsOn(reqs[i]), contextRefs(reqs[i])) {
			if j, ok := index[dep]; ok {
				if err := place(j); err != nil {
					return err
				}
			}
		}
		state[i] = 2
		order = append(order, i)
		return nil
	}
	for i := range reqs {
		if err := place(i); err != nil {
			return nil, err
		}
	}
	return order, nil
}

func dependsOn(r *mess.Request) mess.Refs {
	if r.Constraints == nil {
		return nil
	}
	return r.Constraints.DependsOn
}

// submission is one request before it has a thread.
type submission struct {
	in     Inbound
	req    *mess.Request
	others []mess.Item
	batch  map[string]string // refs of the requests of the same message, by client id; an id without a ref yet maps to itself
}

// submit makes a thread (transition T1), or returns the one that the same request has made before.
func (x *Exchange) submit(ctx context.Context, s submission) (Envelope, error) {
	now := x.now()
	env, err := x.newEnvelope(ctx, s, now)
	if err != nil {
		return Envelope{}, err
	}
	if s.req, err = x.withContextRefs(ctx, s); err != nil {
		return Envelope{}, err
	}
	var files [][]byte
	var binds []Bind
	s.req, files, binds = thread.StoredRequest(s.req)
	if err := x.stage(ctx, files); err != nil {
		return Envelope{}, err
	}
	dispatched := x.dispatchNote(env, now)
	for n := 0; ; n++ {
		t := newThread(env, x.newRef(s, now, n), s, now, dispatched)
		l, err := x.create(ctx, t, binds)
		taken, isTaken := errors.AsType[*thread.TakenError](err)
		switch {
		case isTaken:
			return x.repeatedRequest(ctx, s, taken.Ref)
		case errors.Is(err, ErrStale) && n < maxRefs:
			continue // another thread has the ref, and no client knows ours yet
		case err != nil:
			return Envelope{}, x.storeError(err)
		}
		x.settleDeps(ctx, l)
		return x.open.envelope(l), nil // an executor may have claimed it
	}
}

// create stores a new thread. Goroutines that name it meanwhile wait until openThreads has it.
func (x *Exchange) create(ctx context.Context, t Thread, binds []Bind) (*openThread, error) {
	x.open.mu.Lock()
	c := x.open.startLoading(t.Ref)
	x.open.mu.Unlock()
	err := errNotRead
	defer func() {
		if err != nil { // the store may still have the thread; the next goroutine that names it reads it
			x.open.mu.Lock()
			defer x.open.mu.Unlock()
			x.open.finishLoading(c, nil, errNotRead)
		}
	}()
	step := Step{Envelope: t.Envelope, Messages: t.Messages, Binds: binds}
	if t.ClientID != "" {
		step.Keys = []thread.Key{{Owner: t.Requester, Name: t.ClientID}}
	}
	if err = x.append(ctx, &step); err != nil {
		return nil, err
	}
	t.Envelope = step.Envelope
	x.meter.Created()
	x.stepped(nil, &step.Envelope)
	return x.commitNew(t, c), nil
}

// newEnvelope returns the envelope of a new thread without its ref.
func (x *Exchange) newEnvelope(ctx context.Context, s submission, now time.Time) (Envelope, error) {
	env := Envelope{
		ClientID: s.req.ID, Requester: s.in.Actor.ID, Status: mess.Pending, Created: now, Updated: now,
		Intent: s.req.Intent, Priority: s.req.Priority, Needs: NeedsOf(*s.req), Ver: 1,
		Trace: x.traceOf(s.in.Message),
	}
	if env.Priority == "" {
		env.Priority = mess.Normal
	}
	env.Stops = 1 + x.registry.Snapshot().StopAll.Count
	env.NotBefore, env.Expires = window(s.req, now)
	if err := setDecideWithin(&env, s.req); err != nil {
		return Envelope{}, err
	}
	for _, dep := range dependsOn(s.req) {
		ref, ok := s.batch[dep]
		if !ok {
			var err error
			if ref, err = x.dependency(ctx, s.in, dep); err != nil {
				return Envelope{}, err
			}
		}
		if !slices.Contains(env.DependsOn, ref) {
			env.DependsOn = append(env.DependsOn, ref)
		}
	}
	if s.in.DependsOnLater && x.open.dependsOnItself(env) {
		return Envelope{}, mess.Errorf(mess.Invalid, "request %q: depends on itself through constraints.depends_on", s.req.ID)
	}
	return env, nil
}

// dependency returns the ref of a dependency. If the request may come later, it returns the client
// id.
func (x *Exchange) dependency(ctx context.Context, in Inbound, dep string) (string, error) {
	t, err := x.Thread(ctx, in.Actor, dep)
	switch {
	case err == nil:
		return t.Ref, nil
	case !errors.Is(err, mess.NotFound):
		return "", err
	case in.DependsOnLater && checkRequestID(dep) == nil:
		return dep, nil
	}
	return "", mess.Errorf(mess.MissingReference, "request.constraints.depends_on: there is no request %q; send it first, or in the same message", dep)
}

// window returns the time before which a request may not start, and the time at which it expires.
// needed_by takes precedence over timing.expires (MESS 1.1 section 1.1).
func window(r *mess.Request, now time.Time) (notBefore, expires time.Time) {
	if r.Constraints != nil && r.Constraints.Timing != nil {
		notBefore, _ = r.Constraints.Timing.NotBefore.Time()
		if r.Constraints.Timing.Expires != "" {
			expires, _ = r.Constraints.Timing.Expires.Time(now)
		}
	}
	if r.NeededBy != "" {
		expires, _ = r.NeededBy.Time()
	}
	return notBefore, expires
}

// Limits of the time for a confirmation.
const (
	minDecide = time.Second
	maxDecide = time.Hour
)

// setDecideWithin reads the time for a confirmation. It is for requests that expire. Meanwhile the
// request does not expire; after it the executor must begin as soon as it had to after the request.
func setDecideWithin(env *Envelope, r *mess.Request) error {
	value, given := r.Extra.Get(mess.DecideWithinField)
	if !given || env.Expires.IsZero() {
		return nil
	}
	text, _ := value.(string)
	d, err := mess.Duration(text).Duration()
	if err != nil || d < minDecide || d > maxDecide {
		return mess.Errorf(mess.Invalid, "request.%s: not a duration from 1s to 1h; write it like 5m", mess.DecideWithinField)
	}
	env.Needs.DecideWithin, env.Needs.BeginWithin = d, max(0, env.Expires.Sub(env.Created))
	return nil
}

// newThread returns a thread as it begins: envelope, request and ack (MESSE-AF 2.1, "Example:
// Complete Thread").
func newThread(env Envelope, ref string, s submission, now time.Time, dispatched string) Thread {
	env.Ref = ref
	env.History = []HistoryEntry{{Action: "created", At: now, By: env.Requester}}
	if dispatched != "" {
		env.History = append(env.History, HistoryEntry{Action: "dispatched", At: now, By: Self, Note: dispatched})
	}
	m := s.in.Message
	m.From, m.Received, m.Channel, m.Re, m.Ref, m.ExpiresIn, m.Epoch = env.Requester, mess.TimeOf(now), s.in.Channel, nil, "", "", 0
	m.Items = append([]mess.Item{s.req}, s.others...)
	ack := &mess.Ack{Re: mess.Refs{requestName(s.req)}, Ref: ref}
	return Thread{Envelope: env, Messages: []mess.Message{
		m, {From: Self, Received: mess.TimeOf(now), Items: []mess.Item{ack}},
	}}
}

// repeatedRequest answers a request with a client id that its requester has used before. The same
// request has the same thread; a different one gets an error.
func (x *Exchange) repeatedRequest(ctx context.Context, s submission, ref string) (Envelope, error) {
	t, err := x.read(ctx, ref)
	if err != nil {
		return Envelope{}, x.storeError(err)
	}
	before := t.Request()
	stored, _, _ := thread.StoredRequest(&before) // an earlier release has stored large data in it
	was, err1 := json.Marshal(withoutContextRefs(stored))
	is, err2 := json.Marshal(withoutContextRefs(s.req))
	if err := errors.Join(err1, err2); err != nil {
		return Envelope{}, err
	}
	if string(was) == string(is) {
		if !t.Status.Terminal() { // the exchange does not know it if the store lost its connection after it
			_, err = x.load(ctx, ref)
		}
		return t.Envelope, err
	}
	r := mess.Errorf(mess.Conflict, "request.id: you have used %q for another request; give this one an id of its own, or none", s.req.ID)
	r.Ref, r.Status = ref, t.Status
	return Envelope{}, r
}
