package exchange

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/messkit/messkit/exchange/thread"
	"github.com/messkit/messkit/mess"
	"github.com/messkit/messkit/mess/messeaf"
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
	batch := map[string]string{} // the sender's id to the ref that it got
	entries := make([]mess.AckEntry, len(p.requests))
	for _, i := range order {
		s := submission{in: in, req: p.requests[i], others: p.others, batch: batch}
		env, err := x.submit(ctx, s)
		if err != nil {
			return nil, err
		}
		if s.req.ID != "" {
			batch[s.req.ID] = env.Ref
		}
		entries[i] = mess.AckEntry{ID: s.req.ID, Ref: env.Ref}
	}
	return []mess.Item{x.requestsAck(in, p.requests, entries)}, nil
}

// checkRequestID refuses ids by which something else goes: with them, a request would
// stand in the way of another.
func checkRequestID(id string) error {
	switch {
	case id == mess.Last:
		return mess.Errorf(mess.Invalid, "request.id: %q means the most recent request; choose another id, or none", id)
	case isRef(id):
		return mess.Errorf(mess.Invalid, "request.id: %.60q looks like the ref of a thread; choose another id, or none", id)
	}
	return nil
}

// isRef reports whether a text looks like the ref of a thread.
func isRef(text string) bool {
	day, _, ok := messeaf.ParseRef(messeaf.ThreadRef(text))
	_, err := time.Parse(time.DateOnly, day)
	return ok && err == nil
}

// requestsAck is the ack of one or several requests.
func (x *Exchange) requestsAck(in Inbound, reqs []*mess.Request, entries []mess.AckEntry) *mess.Ack {
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
	ack.Re, ack.Ref, ack.Status = mess.Refs{requestName(reqs[0])}, entries[0].Ref, mess.Pending
	if l := x.open.byRef[ack.Ref]; l != nil {
		ack.Status = l.env.Status
		if n := x.queuePosition(l); n > 0 {
			ack.QueuePosition = &n
		}
		if note := x.expectation(l); note != "" {
			ack.Extra = ack.Extra.Set("note", note)
		}
	}
	return ack
}

// requestName is what an ack calls a request: its sender's id for it, or "last".
func requestName(r *mess.Request) string {
	if r.ID != "" {
		return r.ID
	}
	return mess.Last
}

// sortRequests returns the order in which the requests of one message are made,
// so that each comes after those of them that it depends on.
func sortRequests(reqs []*mess.Request) ([]int, error) {
	index := map[string]int{}
	for i, r := range reqs {
		if _, twice := index[r.ID]; twice && r.ID != "" {
			return nil, mess.Errorf(mess.Invalid, "request.id: %q stands twice in one message; every request needs an id of its own", r.ID)
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

// submission is one request on its way in.
type submission struct {
	in     Inbound
	req    *mess.Request
	others []mess.Item
	batch  map[string]string
}

// submit makes a thread (T1), or finds the one that the same request made
// before.
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
			continue // the ref is in use; nobody has heard of ours
		case err != nil:
			return Envelope{}, x.storeError(err)
		}
		err = x.settle(ctx, l)
		return x.open.envelope(l), err // an executor may have claimed it
	}
}

// maxRefs bounds how many refs are tried for one thread.
const maxRefs = 40

// newRef is a ref that this exchange has not given before. Where others have given the next
// ones, more and more of them are left out.
func (x *Exchange) newRef(s submission, now time.Time, refused int) string {
	day := now.Format(time.DateOnly)
	return messeaf.Ref(day, x.serials.next(day, 1<<min(max(0, refused-1), 16)), messeaf.Token(s.req.ID))
}

// serials are the highest numbers that refs of a day have.
type serials struct {
	mu   sync.Mutex
	last map[string]int
}

// next is a number that no ref has, by steps after the highest.
func (s *serials) next(day string, by int) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.last[day] += by
	return s.last[day]
}

// used has the numbers of a day go on after a ref.
func (s *serials) used(ref string) {
	day, serial, ok := messeaf.ParseRef(ref)
	s.mu.Lock()
	defer s.mu.Unlock()
	if ok {
		s.last[day] = max(s.last[day], serial)
	}
}

// create stores a new thread. Whoever names it meanwhile waits until the index has it.
func (x *Exchange) create(ctx context.Context, t Thread, binds []Bind) (*openThread, error) {
	x.open.mu.Lock()
	c := x.open.startLoading(t.Ref)
	x.open.mu.Unlock()
	var err error = errNotRead
	defer func() {
		if err != nil { // it may be stored all the same: whoever names it reads it
			x.open.mu.Lock()
			defer x.open.mu.Unlock()
			x.open.finishLoading(c, nil, errNotRead)
		}
	}()
	step := Step{Envelope: t.Envelope, Messages: t.Messages, Binds: binds}
	if t.ClientID != "" {
		step.Keys = []thread.Key{{Owner: t.Requestor, Name: t.ClientID}}
	}
	if err = x.append(ctx, &step); err != nil {
		return nil, err
	}
	t.Envelope = step.Envelope
	return x.commitNew(t, c), nil
}

// newEnvelope is a thread's envelope but for its ref.
func (x *Exchange) newEnvelope(ctx context.Context, s submission, now time.Time) (Envelope, error) {
	env := Envelope{
		ClientID: s.req.ID, Requestor: s.in.Actor.ID, Status: mess.Pending, Created: now, Updated: now,
		Intent: s.req.Intent, Priority: s.req.Priority, Needs: NeedsOf(*s.req), Ver: 1,
	}
	if env.Priority == "" {
		env.Priority = mess.Normal
	}
	env.Stops = 1 + x.registry.Snapshot().StopAll.Count
	env.NotBefore, env.Expires = window(s.req, now)
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

// dependency is the ref of a request that another depends on. Of one that may come
// later it is the id that the requester has for it.
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

// window is when a request may start and when it is too late. needed_by wins
// over timing.expires (MESS 1.1 section 1.1).
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

// newThread is a thread as it begins: envelope, request and ack (MESSE-AF 2.1,
// "Example: Complete Thread").
func newThread(env Envelope, ref string, s submission, now time.Time, dispatched string) Thread {
	env.Ref = ref
	env.History = []HistoryEntry{{Action: "created", At: now, By: env.Requestor}}
	if dispatched != "" {
		env.History = append(env.History, HistoryEntry{Action: "dispatched", At: now, By: Self, Note: dispatched})
	}
	m := s.in.Message
	m.From, m.Received, m.Channel, m.Re, m.Ref, m.ExpiresIn, m.Epoch = env.Requestor, mess.TimeOf(now), s.in.Channel, nil, "", "", 0
	m.Items = append([]mess.Item{s.req}, s.others...)
	ack := &mess.Ack{Re: mess.Refs{requestName(s.req)}, Ref: ref}
	return Thread{Envelope: env, Messages: []mess.Message{
		m, {From: Self, Received: mess.TimeOf(now), Items: []mess.Item{ack}},
	}}
}

// commitNew takes a new thread into the index and tells those whom it concerns.
func (x *Exchange) commitNew(t Thread, c *loading) *openThread {
	l := &openThread{}
	x.open.mu.Lock()
	defer x.open.mu.Unlock()
	x.setEnvelope(l, t.Envelope)
	x.publishStep(Step{Envelope: t.Envelope, Messages: t.Messages})
	x.open.finishLoading(c, l, nil)
	return l
}

// repeatedRequest answers a request whose id its sender has used before: the same
// request is the same thread, another one needs another id.
func (x *Exchange) repeatedRequest(ctx context.Context, s submission, ref string) (Envelope, error) {
	t, err := x.read(ctx, ref)
	if err != nil {
		return Envelope{}, x.storeError(err)
	}
	before := t.Request()
	stored, _, _ := thread.StoredRequest(&before) // an earlier release has kept large data in it
	was, err1 := json.Marshal(withoutContextRefs(stored))
	is, err2 := json.Marshal(withoutContextRefs(s.req))
	if err := errors.Join(err1, err2); err != nil {
		return Envelope{}, err
	}
	if string(was) == string(is) {
		return t.Envelope, nil
	}
	r := mess.Errorf(mess.Conflict, "request.id: you have used %q for another request; give this one an id of its own, or none", s.req.ID)
	r.Ref, r.Status = ref, t.Status
	return Envelope{}, r
}
