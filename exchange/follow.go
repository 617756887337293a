package exchange

import (
	"context"
	"errors"
	"io"
	"slices"
	"time"

	"github.com/messkit/messkit/exchange/eventbus"
	"github.com/messkit/messkit/exchange/index"
	"github.com/messkit/messkit/internal/mistake"
	"github.com/messkit/messkit/internal/wait"
	"github.com/messkit/messkit/mess"
	"github.com/messkit/messkit/mess/messeaf"
)

// tell publishes the messages of a step to those who may see the thread. x.open.mu
// is held.
func (x *Exchange) tell(s Step) {
	for _, m := range s.Messages {
		if messeaf.IsAck(m) {
			continue
		}
		x.publishToAll(Event{Kind: EventMessage, Thread: s.Envelope, Message: m})
	}
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

// mayHear reports whether one who speaks to a thread may learn that there is
// such a thread: who may read it, and the executor whose claim is too late.
func (x *Exchange) mayHear(who Actor, e Envelope, items []mess.Item) bool {
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

// noThread is what one who names a thread is told if there is none, and if it
// is not for him: the two cannot be told apart.
func noThread(name string) error {
	return mess.Errorf(mess.NotFound, "there is no thread %q", name)
}

// Follow calls handle with the events that who may see: for an executor its
// offers and its threads, for a requester its threads, for observers and
// operators all. It starts after the event with id after; with "" it starts
// with what is open for who: an executor's offers, and what was said to the
// threads it holds since it last spoke. If what came after the event is not
// known any more, a reset comes first. A follower that is too slow is cut off
// with ErrSlow and can resume. Follow returns nil when ctx ends, and otherwise
// what handle returned.
func (x *Exchange) Follow(ctx context.Context, who Actor, after string, handle func(Event) error) error {
	return x.FollowFrom(ctx, who, after, func() error { return nil }, handle)
}

// FollowFrom is Follow that calls joined as soon as nothing that changes is missed any
// more: what is read from then on is not older than the first event.
func (x *Exchange) FollowFrom(ctx context.Context, who Actor, after string, joined func() error, handle func(Event) error) error {
	news := make(chan struct{}, 1)
	wake := func() {
		wait.Notify(news)
	}
	f, missed, resumed := x.addSubscriber(who, after, wake)
	defer x.events.Leave(f)
	if err := joined(); err != nil {
		return err
	}
	x.markAlive(ctx, who)
	if err := x.catchUp(ctx, who, f, after, missed, resumed, handle); err != nil {
		return err
	}
	for {
		if err := x.forward(ctx, who, f, handle); err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return nil
		case <-news:
		}
	}
}

func (x *Exchange) addSubscriber(who Actor, after string, wake func()) (f *subscriber, missed []entry, resumed bool) {
	return x.events.Subscribe(eventbus.Options{
		Actor: who.ID, SeesAll: who.SeesAll(), Works: who.Has(ExecutorRole), After: after, Wake: wake,
	})
}

type (
	subscriber = eventbus.Subscriber[Event]
	entry      = eventbus.Entry[Event]
)

// catchUp hands over what a follower must know before what comes. It is a
// function of its own so that its large frame is not kept while nothing comes.
func (x *Exchange) catchUp(ctx context.Context, who Actor, f *subscriber, after string, missed []entry, resumed bool, handle func(Event) error) error {
	if resumed {
		return x.giveAll(ctx, who, missed, handle)
	}
	events, err := x.standing(ctx, who)
	if err != nil {
		return err
	}
	if after != "" {
		events = slices.Insert(events, 0, Event{Kind: EventReset})
	}
	// Who is cut off among them must get them all again: only the last is a
	// place to resume from.
	if n := len(events); n > 0 {
		events[n-1].ID = x.events.ID(f.Joined())
	}
	for _, e := range events {
		if err := x.give(ctx, who, e, handle); err != nil {
			return err
		}
	}
	return nil
}

// forward hands over the events that wait for f. The error is ErrSlow once f was cut off.
func (x *Exchange) forward(ctx context.Context, who Actor, f *subscriber, handle func(Event) error) error {
	for {
		events, last := x.events.Take(f)
		if err := x.giveAll(ctx, who, events, handle); err != nil {
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

// giveAll is a function of its own for the same reason as catchUp.
func (x *Exchange) giveAll(ctx context.Context, who Actor, events []entry, handle func(Event) error) error {
	for _, one := range events {
		if ctx.Err() != nil {
			return nil
		}
		e := *one.Event
		e.ID = x.events.ID(one.Number)
		if err := x.give(ctx, who, e, handle); err != nil {
			return err
		}
	}
	return nil
}

// give hands an event over, and with an offer the request. It reads the request now and
// not before, so that what waits costs no memory. It leaves out an offer that is over.
func (x *Exchange) give(ctx context.Context, who Actor, e Event, handle func(Event) error) error {
	if e.Kind != EventOffer {
		return x.hand(e, handle)
	}
	if !x.HasOffer(e.Thread.Ref, who.ID) {
		return nil
	}
	t, err := x.read(ctx, e.Thread.Ref)
	if errors.Is(err, ErrNoThread) {
		return nil // somebody has removed it meanwhile
	}
	if err != nil {
		return x.broken(err)
	}
	e.Message.Items = []mess.Item{new(t.Request())}
	return x.hand(e, handle)
}

// hand calls handle with an event. What others have said in it must not end who
// follows: an event that crashes handle is left out.
func (x *Exchange) hand(e Event, handle func(Event) error) error {
	defer mistake.Caught(x.log, "ref", e.Thread.Ref, "event", e.Kind)
	return handle(e)
}

// standing is what an actor who comes in anew must know: its stops and
// its hold, its offers, and what was said in the threads it holds since it last spoke.
func (x *Exchange) standing(ctx context.Context, who Actor) ([]Event, error) {
	offers, holds := x.standingOf(who.ID)
	offers = slices.Concat(x.registry.Snapshot().Orders(who.ID).Events(), offers)
	for _, e := range holds {
		t, err := x.read(ctx, e.Ref)
		if err != nil {
			return nil, x.broken(err)
		}
		for _, m := range t.MessagesSince(who.ID) {
			offers = append(offers, Event{Kind: EventMessage, Thread: t.Envelope, Message: m})
		}
	}
	return offers, nil
}

func (x *Exchange) standingOf(id string) (offers []Event, holds []Envelope) {
	x.open.mu.Lock()
	defer x.open.mu.Unlock()
	now := x.now()
	for l := range x.open.offered[id].all() {
		offers = append(offers, x.offer(l, now))
	}
	for _, l := range x.open.held[id].inOrder() {
		holds = append(holds, l.env)
	}
	return offers, holds
}

// Thread returns a thread that who may see.
func (x *Exchange) Thread(ctx context.Context, who Actor, name string) (Thread, error) {
	ref, err := x.resolve(ctx, who, name)
	if err != nil {
		return Thread{}, err
	}
	t, err := x.read(ctx, ref)
	if errors.Is(err, ErrNoThread) || err == nil && !x.isVisible(who, t.Envelope) {
		return Thread{}, noThread(name)
	}
	if err != nil {
		return Thread{}, x.broken(err)
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
		if e := x.envelope(l); x.isVisible(who, e) {
			return e, nil
		}
	}
	return Envelope{}, noThread(name)
}

// List returns the threads that who may see, newest change first.
func (x *Exchange) List(ctx context.Context, who Actor, f Filter) (Page, error) {
	f.Status = asKept(f.Status)
	q := index.Query{Filter: f}
	if who.Roles&(Observer|Operator) == 0 {
		q.Party = who.ID
		q.Capabilities, q.Offers = x.offersOf(who)
	}
	refs, cursor, err := x.threads.Page(q)
	if err != nil {
		return Page{}, err
	}
	page := Page{Cursor: cursor}
	for _, ref := range refs {
		e, err := x.readEnvelope(ctx, ref)
		if errors.Is(err, ErrNoThread) {
			continue // somebody has removed it meanwhile
		}
		if err != nil {
			return Page{}, x.broken(err)
		}
		page.Threads = append(page.Threads, e)
	}
	return page, nil
}

// offersOf are the capabilities of an executor, and whether it may take a thread that waits;
// nothing for another actor.
func (x *Exchange) offersOf(who Actor) (capabilities []string, may func(ref string) bool) {
	ex := x.registry.Snapshot().Executor(who.ID)
	if ex == nil || ex.Deregistered || !who.Has(ExecutorRole) {
		return nil, nil
	}
	for _, c := range ex.Capabilities {
		if !slices.Contains(capabilities, c.ID) {
			capabilities = append(capabilities, c.ID)
		}
	}
	return capabilities, func(ref string) bool {
		l := x.open.find(ref)
		return l != nil && x.couldTake(who, x.envelope(l))
	}
}

// asKept are the statuses of a filter as threads have them: received, which is what
// MESS calls a thread that nobody has claimed, is pending.
func asKept(codes []mess.Code) []mess.Code {
	codes = slices.Clone(codes)
	for i, c := range codes {
		if c == mess.Received {
			codes[i] = mess.Pending
		}
	}
	return codes
}

// As returns the exchange as one actor in this process sees it.
func (x *Exchange) As(who Actor, channel string) *Local {
	return &Local{x: x, who: who, channel: channel}
}

// Local is an exchange as one actor in this process sees it.
type Local struct {
	x       *Exchange
	who     Actor
	channel string
}

// Send posts a message.
func (l *Local) Send(ctx context.Context, m mess.Message) (mess.Message, error) {
	return l.x.Post(ctx, Inbound{Actor: l.who, Channel: l.channel, Message: m})
}

// Receive calls handle, one message at a time, for everything that is
// addressed to the executor, until ctx ends.
func (l *Local) Receive(ctx context.Context, handle func(mess.Message)) error {
	after := ""
	for {
		err := l.x.Follow(ctx, l.who, after, func(e Event) error {
			if e.ID != "" {
				after = e.ID
			}
			if m, ok := e.Delivery(l.who.ID); ok {
				handle(m)
			}
			return nil
		})
		if !errors.Is(err, ErrSlow) {
			return err
		}
	}
}

// Attach stages an attachment.
func (l *Local) Attach(ctx context.Context, ref, name, mime string, data io.Reader) (mess.Media, error) {
	return l.x.Attach(ctx, l.who, ref, name, mime, data)
}
