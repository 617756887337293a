package inbox

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/messkit/messkit/exchange"
	"github.com/messkit/messkit/exchange/thread"
	"github.com/messkit/messkit/internal/keyed"
	"github.com/messkit/messkit/internal/mistake"
	"github.com/messkit/messkit/internal/wait"
	"github.com/messkit/messkit/mess"
	"github.com/messkit/messkit/mess/messeaf"
)

// Send sends one message to a requester, and returns when the requester has it. After an error the
// Inbox calls it again for the same message.
type Send func(ctx context.Context, requester string, m mess.Message) error

// Inbox delivers the messages of one channel. It is safe for concurrent use.
type Inbox struct {
	x       *exchange.Exchange
	channel string
	now     func() time.Time
	log     *slog.Logger
	runner  keyed.Runner // by requester
	saving  sync.Mutex   // held during a write to the store; goroutines take it before mu

	mu         sync.Mutex
	read       thread.Pos // position in the feed
	pos        thread.Pos // requesters that are not behind have everything up to here
	moved      bool       // a requester has got work since pos was stored
	changes    int        // number of changes since then
	upgrades   bool       // the stored state is that of an earlier version
	requesters map[string]*requester
}

// Open reads the stored state of a channel.
func Open(x *exchange.Exchange, channel string, now func() time.Time, log *slog.Logger) *Inbox {
	b := &Inbox{x: x, channel: channel, now: now, log: log, requesters: map[string]*requester{}}
	b.load()
	return b
}

// Run sends messages until ctx ends, and then stores the state.
func (b *Inbox) Run(ctx context.Context, send Send) {
	defer b.save(context.WithoutCancel(ctx))
	var g sync.WaitGroup
	defer g.Wait()
	g.Go(func() {
		b.runner.Run(ctx, func(ctx context.Context, id string) time.Duration { return b.work(ctx, send, id) })
	})
	g.Go(func() { b.saveOften(ctx) })
	for ctx.Err() == nil {
		b.mu.Lock()
		from := b.read
		b.mu.Unlock()
		if err := b.x.Changes(ctx, from, b.take); err != nil {
			b.log.Warn("the store has interrupted its feed", "channel", b.channel, "err", err)
			wait.For(ctx, retryAfter)
		}
	}
}

// Requesters returns the number of requesters.
func (b *Inbox) Requesters() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return len(b.requesters)
}

// Position returns the position of a change that the Inbox knows. Read it before the first message
// of a requester, and pass it to Add, so that the requester misses nothing.
func (b *Inbox) Position() thread.Pos {
	b.mu.Lock()
	defer b.mu.Unlock()
	return maxPos(b.read, b.x.Position())
}

// Add records that the exchange has accepted a message of a requester. The requester then gets the
// messages in its threads after a position. In the threads of refs it gets all messages of a new
// thread, and those after its own message of another thread. The error is that of the store. Add
// adds the requester even then.
func (b *Inbox) Add(ctx context.Context, id string, after thread.Pos, refs []string) error {
	if b.recordContact(id) {
		return nil
	}
	b.saving.Lock()
	defer b.saving.Unlock()
	if b.recordContact(id) {
		return nil
	}
	r := &requester{at: b.now(), from: after, low: after}
	for _, ref := range refs {
		own := messeaf.ThreadRef(ref)
		r.remember(sent{Ref: own, Serial: messeaf.Serial(ref)})
		r.queue(due{ref: own, before: after})
	}
	r.stale = false
	doc := r.document()
	b.mu.Lock()
	b.requesters[id] = r
	b.mu.Unlock()
	b.runner.Wake(id)
	err := b.x.SaveChannelState(ctx, b.channel, requesterPrefix+id, doc)
	if err != nil {
		b.markUnsaved(id)
	}
	return err
}

// recordContact records a contact of a requester, and reports whether the Inbox knows the
// requester.
func (b *Inbox) recordContact(id string) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	r := b.requesters[id]
	if r != nil {
		r.at = b.now()
	}
	return r != nil
}

// take takes a change of the feed.
func (b *Inbox) take(c thread.Change) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	before, e := b.read, c.Envelope
	b.read = c.Pos
	if b.pos.Before(b.read) {
		b.pos = b.read
		b.changes++
	}
	r := b.requesters[e.Requester]
	if r != nil && e.Status.Terminal() {
		r.ends(e.Ref)
	}
	switch {
	case c.Level:
		b.begins()
	case e.Ref == "" || c.Removed || r == nil || !r.from.Before(c.Pos):
	case e.Updated.Before(r.since):
	default:
		d := due{ref: e.Ref, before: maxPos(before, r.from), since: r.since}
		if i := slices.IndexFunc(c.Messages, func(m mess.Message) bool { return isFor(e.Requester, m) }); i >= 0 {
			d.last = messeaf.Serial(c.Messages[i].Ref) - 1
		} else if c.Messages != nil {
			return nil
		}
		b.moved = true
		r.queue(d)
		b.runner.Wake(e.Requester)
	}
	return nil
}

// isFor reports whether a requester gets a message: one of another actor. A message without a
// serial is only evidence.
func isFor(requester string, m mess.Message) bool {
	return m.From != requester && !messeaf.IsAck(m) && messeaf.Serial(m.Ref) > 0
}

// retryAfter is the pause after an error of the store or of Send.
const retryAfter = time.Second

// work sends the news of one thread to a requester. It returns when to call it again.
func (b *Inbox) work(ctx context.Context, send Send, id string) (again time.Duration) {
	b.mu.Lock()
	r := b.requesters[id]
	if r == nil || len(r.due) == 0 {
		b.mu.Unlock()
		return keyed.Idle
	}
	d := r.begin()
	b.mu.Unlock()
	if err := b.deliver(ctx, send, id, r, d); err != nil {
		if ctx.Err() == nil {
			b.log.Debug("messages wait", "channel", b.channel, "requester", id, "err", err)
		}
		return retryAfter
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if r.done(); len(r.due) > 0 {
		return 0
	}
	return keyed.Idle
}

// deliver sends the messages of others in a thread after the last one that the requester has got.
func (b *Inbox) deliver(ctx context.Context, send Send, id string, r *requester, d due) error {
	defer mistake.Caught(b.log, "channel", b.channel, "requester", id, "ref", d.ref)
	t, err := b.x.Thread(ctx, exchange.Actor{ID: id, Roles: exchange.Requester}, d.ref)
	if errors.Is(err, mess.NotFound) {
		return nil // another program has removed it
	}
	if err != nil {
		return err
	}
	b.mu.Lock()
	last := cmp.Or(r.lastSerial(d.ref), d.last)
	b.mu.Unlock()
	for _, m := range t.Messages {
		serial := messeaf.Serial(m.Ref)
		if !isFor(id, m) || serial <= last || last == 0 && isBefore(m, d.since) {
			continue
		}
		m.Re = mess.Refs{d.ref}
		if err := send(ctx, id, m); err != nil {
			return err
		}
		b.mu.Lock()
		r.at = b.now()
		r.remember(sent{Ref: d.ref, Serial: serial, Ended: t.Status.Terminal()})
		b.mu.Unlock()
	}
	return nil
}

func isBefore(m mess.Message, t time.Time) bool {
	at, err := m.Received.Time()
	return err == nil && at.Before(t)
}
