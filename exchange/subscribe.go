package exchange

import (
	"context"
	"errors"
	"io"
	"slices"
	"sync"
	"time"

	"github.com/messkit/messkit/exchange/eventbus"
	"github.com/messkit/messkit/internal/mistake"
	"github.com/messkit/messkit/internal/wait"
	"github.com/messkit/messkit/mess"
	"github.com/messkit/messkit/mess/messeaf"
)

// publishStep publishes the messages of a step to all who may see the thread. It does not publish a
// rejected message, which must not look like an order. The caller holds x.open.mu.
func (x *Exchange) publishStep(s Step) {
	for i, m := range s.Messages {
		if messeaf.IsAck(m) || isRejected(s.Messages[i:]) {
			continue
		}
		e := Event{Kind: EventMessage, Thread: s.Envelope, Message: m}
		x.events.PublishStep(&e, eventbus.Audience{Actors: s.Envelope.Parties(), All: true}, e.Size(), stepOf(&s.Envelope))
	}
}

// stepOf returns the name of the step after which a thread has an envelope.
func stepOf(e *Envelope) eventbus.Step { return eventbus.Step{Ref: e.Ref, Ver: e.Ver, Op: e.Op} }

// isRejected reports whether the exchange has stored the first message as evidence only: the next
// one is an ack with an error.
func isRejected(messages []mess.Message) bool {
	if len(messages) < 2 || !messeaf.IsAck(messages[1]) {
		return false
	}
	ack, ok := messages[1].Items[0].(*mess.Ack)
	return ok && ack.Extra.Text("error") != ""
}

// Follow calls handle with the events for an actor, one at a time. An executor gets its offers and
// threads, a requester its threads, observers and operators all.
//
// It starts after the event with the id after. With "" it starts with the present state: offers,
// orders, and the messages in the threads of an executor since its own last message. If the
// exchange has forgotten the events after that id, an EventReset comes first, and then the present
// state. A slow subscriber gets ErrSlow, and can resume. Follow returns nil after ctx ends, or the
// error of handle or of the store.
//
// The id may be one of another exchange on the same store, or of this one before its restart. The
// subscriber then misses no message and gets none again. An executor gets its present orders and offers
// first. One whose id is older than this process gets an EventReset.
func (x *Exchange) Follow(ctx context.Context, actor Actor, after string, handle func(Event) error) error {
	return x.FollowFrom(ctx, actor, after, func() error { return nil }, handle)
}

// FollowFrom works like Follow, and calls joined as soon as it misses no change any more. A state
// that joined reads is not older than the first event.
func (x *Exchange) FollowFrom(ctx context.Context, actor Actor, after string, joined func() error, handle func(Event) error) error {
	news := make(chan struct{}, 1)
	wake := func() {
		wait.Notify(news)
	}
	x.awaitPosition(ctx, after)
	f, start := x.addSubscriber(actor, after, wake)
	defer x.events.Leave(f)
	if err := joined(); err != nil {
		return err
	}
	x.markAlive(ctx, actor)
	if err := x.catchUp(ctx, actor, f, after, start, handle); err != nil {
		return err
	}
	for {
		if err := x.forward(ctx, actor, f, handle); err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return nil
		case <-news:
		}
	}
}

// positionWait is the longest wait for the feed to reach the position of another exchange. A position of
// another store can be one that it never reaches.
const positionWait = 3 * time.Second

// awaitPosition waits until this exchange has published what a client has got at another one.
func (x *Exchange) awaitPosition(ctx context.Context, after string) {
	news := x.events.Behind(after)
	if news == nil {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, positionWait)
	defer cancel()
	for ; news != nil; news = x.events.Behind(after) {
		select {
		case <-ctx.Done():
			return
		case <-news:
		}
	}
}

func (x *Exchange) addSubscriber(actor Actor, after string, wake func()) (*subscriber, start) {
	return x.events.Subscribe(eventbus.Options{
		Actor: actor.ID, SeesAll: actor.SeesAll(), Works: actor.Has(ExecutorRole), After: after, Wake: wake,
	})
}

type (
	subscriber = eventbus.Subscriber[Event]
	entry      = eventbus.Entry[Event]
	start      = eventbus.Start[Event]
)

// catchUp delivers the present state, or the missed events. It is a separate function so that an
// idle subscriber does not keep its large stack frame.
func (x *Exchange) catchUp(ctx context.Context, actor Actor, f *subscriber, after string, begin start, handle func(Event) error) error {
	if begin.Elsewhere && actor.Has(ExecutorRole) {
		if err := x.renewState(ctx, actor, handle); err != nil {
			return err
		}
		begin.Missed = slices.DeleteFunc(begin.Missed, func(e entry) bool { return x.isOld(e.Event, actor) })
	}
	if begin.Resumed {
		return x.deliverAll(ctx, actor, f, begin.Missed, handle)
	}
	events, err := x.presentState(ctx, actor)
	if err != nil {
		return err
	}
	if after != "" {
		events = slices.Insert(events, 0, Event{Kind: EventReset})
	}
	// Only the last event has an id to resume from: a subscriber that loses the connection before
	// it must get all of them again.
	if n := len(events); n > 0 {
		events[n-1].ID = x.events.StartID(f)
	}
	for _, e := range events {
		if err := x.deliver(ctx, actor, e, handle); err != nil {
			return err
		}
	}
	return nil
}

// renewState delivers the present orders and offers of an executor, without ids. It had those of another
// exchange, which are not in the feed of the store.
func (x *Exchange) renewState(ctx context.Context, actor Actor, handle func(Event) error) error {
	offers, _ := x.openThreadsFor(actor.ID)
	for _, e := range slices.Concat(x.registry.Snapshot().Orders(actor.ID).Events(), offers) {
		if err := x.deliver(ctx, actor, e, handle); err != nil {
			return err
		}
	}
	return nil
}

// isOld reports whether renewState has made an earlier event useless: an order, an offer, or the end of
// an offer that is there again.
func (x *Exchange) isOld(e *Event, actor Actor) bool {
	switch e.Kind {
	case EventMessage:
		return false
	case EventWithdrawn:
		return x.HasOffer(e.Thread.Ref, actor.ID)
	}
	return true
}

// forward delivers the queued events of f. The error is ErrSlow after the bus has cut f off.
func (x *Exchange) forward(ctx context.Context, actor Actor, f *subscriber, handle func(Event) error) error {
	for {
		events, last := x.events.Take(f)
		if err := x.deliverAll(ctx, actor, f, events, handle); err != nil {
			return err
		}
		if last {
			return ErrSlow
		}
		if len(events) == 0 {
			return nil
		}
	}
}

// deliverAll is a separate function for the same reason as catchUp.
func (x *Exchange) deliverAll(ctx context.Context, actor Actor, f *subscriber, events []entry, handle func(Event) error) error {
	for _, one := range events {
		if ctx.Err() != nil {
			return nil
		}
		e := *one.Event
		e.ID = x.events.ID(f, one)
		if err := x.deliver(ctx, actor, e, handle); err != nil {
			return err
		}
	}
	return nil
}

// deliver delivers one event. It adds the request to an offer, and reads it only now, so that
// queued offers need no memory. It skips an offer that is over.
func (x *Exchange) deliver(ctx context.Context, actor Actor, e Event, handle func(Event) error) error {
	if e.Kind != EventOffer {
		return x.callHandler(e, handle)
	}
	if !x.HasOffer(e.Thread.Ref, actor.ID) {
		return nil
	}
	t, err := x.read(ctx, e.Thread.Ref)
	if errors.Is(err, ErrNoThread) {
		return nil // another program has removed it meanwhile
	}
	if err != nil {
		return x.storeError(err)
	}
	e.Message.Items = []mess.Item{new(t.Request())}
	return x.callHandler(e, handle)
}

// callHandler calls handle with an event. It skips an event that makes handle panic, because a
// message of another actor must not end the subscription.
func (x *Exchange) callHandler(e Event, handle func(Event) error) error {
	defer mistake.Caught(x.log, "ref", e.Thread.Ref, "event", e.Kind)
	return handle(e)
}

// presentState returns the present state for a new subscriber: its orders, its offers, and the
// messages in its threads since its own last message.
func (x *Exchange) presentState(ctx context.Context, actor Actor) ([]Event, error) {
	offers, holds := x.openThreadsFor(actor.ID)
	offers = slices.Concat(x.registry.Snapshot().Orders(actor.ID).Events(), offers)
	for _, e := range holds {
		t, err := x.read(ctx, e.Ref)
		if err != nil {
			return nil, x.storeError(err)
		}
		for _, m := range t.MessagesSince(actor.ID) {
			offers = append(offers, Event{Kind: EventMessage, Thread: t.Envelope, Message: m})
		}
	}
	return offers, nil
}

func (x *Exchange) openThreadsFor(id string) (offers []Event, holds []Envelope) {
	x.open.mu.Lock()
	defer x.open.mu.Unlock()
	now := x.now()
	for l := range x.open.offered[id].all() {
		offers = append(offers, offer(l.env(), now))
	}
	for _, l := range x.open.held[id].byRef() {
		holds = append(holds, l.env())
	}
	return offers, holds
}

// As returns a client of the exchange in this process, for one actor.
func (x *Exchange) As(actor Actor, channel string) *Local {
	return &Local{x: x, actor: actor, channel: channel}
}

// Local is a client in the process of the exchange. It implements agent.Exchange.
type Local struct {
	x       *Exchange
	actor   Actor
	channel string
}

// Send posts a message.
func (l *Local) Send(ctx context.Context, m mess.Message) (mess.Message, error) {
	return l.x.Post(ctx, Inbound{Actor: l.actor, Channel: l.channel, Message: m})
}

// Receive calls handle with every message for the executor, one at a time, until ctx ends. It
// resumes after ErrSlow.
func (l *Local) Receive(ctx context.Context, handle func(mess.Message)) error {
	after := ""
	for {
		err := l.x.Follow(ctx, l.actor, after, func(e Event) error {
			if e.ID != "" {
				after = e.ID
			}
			if m, ok := e.Delivery(l.actor.ID); ok {
				handle(m)
			}
			return nil
		})
		if !errors.Is(err, ErrSlow) {
			return err
		}
	}
}

// Attach stages an attachment, as Exchange.Attach does.
func (l *Local) Attach(ctx context.Context, ref, name, mime string, data io.Reader) (mess.Media, error) {
	return l.x.Attach(ctx, l.actor, ref, name, mime, data)
}

// Subscription delivers events without a goroutine of its own while there are none, because most
// subscribers are idle.
type Subscription struct {
	x      *Exchange
	ctx    context.Context
	actor  Actor
	handle func(Event) error
	broken func() // called when err is set
	f      *subscriber

	mu  sync.Mutex // held while handle runs
	err error
}

// Subscribe works like Follow for a subscriber that waits long. It returns after handle has got the
// present state, or with an error. Then goroutines of the exchange call handle, one event at a
// time, until ctx ends. They call broken when Close has an error to return.
func (x *Exchange) Subscribe(ctx context.Context, actor Actor, after string, handle func(Event) error, broken func()) (*Subscription, error) {
	s := &Subscription{x: x, ctx: ctx, actor: actor, handle: handle, broken: broken}
	s.mu.Lock() // later events wait
	defer s.mu.Unlock()
	x.awaitPosition(ctx, after)
	f, start := x.addSubscriber(actor, after, func() { go s.forward() })
	s.f = f
	x.markAlive(ctx, actor)
	if err := x.catchUp(ctx, actor, f, after, start, handle); err != nil {
		x.events.Leave(f)
		s.err = err
		return nil, err
	}
	return s, nil
}

func (s *Subscription) forward() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.err != nil || s.ctx.Err() != nil {
		return
	}
	if s.err = s.x.forward(s.ctx, s.actor, s.f, s.handle); s.err != nil {
		s.broken()
	}
}

// Close ends the subscription, and waits until handle has returned. It returns the error that had
// ended the subscription before, or nil.
func (s *Subscription) Close() error {
	s.x.events.Leave(s.f)
	s.mu.Lock()
	defer s.mu.Unlock()
	err := s.err
	s.err = context.Canceled // no event is delivered any more
	return err
}

// ErrSlow reports that a subscriber did not keep up. It can resume after its last event.
var ErrSlow = errors.New("the events came faster than the subscriber read them; resume from the last one")

// publish publishes an event to one actor.
func (x *Exchange) publish(e Event, to string) {
	x.events.Publish(&e, eventbus.Audience{Actors: []string{to}}, e.Size())
}
