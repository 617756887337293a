package webhook

import (
	"context"
	"crypto/sha256"
	"encoding/base32"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/messkit/messkit/exchange"
	"github.com/messkit/messkit/exchange/thread"
	"github.com/messkit/messkit/internal/mistake"
	"github.com/messkit/messkit/internal/wait"
	"github.com/messkit/messkit/mess"
	"github.com/messkit/messkit/mess/messeaf"
)

// position is where the Dispatcher is in the feed of the store: the queues and the log have all
// events up to Pos.
type position struct {
	Pos      thread.Pos          `json:"pos"`
	At       time.Time           `json:"at"`             // of the last step of a thread up to Pos
	Notified map[string][]string `json:"told,omitempty"` // by ref: the people who have had the notification of the offer
	Term     uint64              `json:"term,omitempty"` // of the sender, if exchanges share the store
}

// channel and positionName name the document with the position.
const (
	channel      = "webhook"
	positionName = "position"
)

const (
	positionEvery = 5 * time.Second
	retryAfter    = time.Second
	offersTime    = 5 * time.Second // for the exchange to take a change; it cannot take that of an unreadable thread
	// overlap is how much older than position.At a message may be that the Dispatcher has not seen:
	// steps of different threads can change places, and a clock can go back a little.
	overlap = time.Minute
)

// all is the actor with which the Dispatcher reads threads.
var all = exchange.Actor{ID: exchange.Self, Roles: exchange.Observer}

// loadPosition reads the stored position, and reports whether there is one. Without one the
// Dispatcher begins at the present.
func (h *Dispatcher) loadPosition() (resumed bool) {
	if doc := h.x.ChannelState(channel)[positionName]; doc != nil {
		err := json.Unmarshal(doc, &h.at)
		if err == nil && h.at.Pos != "" && strings.Trim(string(h.at.Pos), "0123456789") == "" {
			h.latest, h.stored = h.at.At, true
			return true
		}
		h.log.Error("webhooks: the stored position is unreadable; the exchange sends no notifications of events before its start", "err", err)
	}
	h.at = position{Pos: h.x.Position(), At: time.Now()}
	h.latest = h.at.At
	return false
}

// storePosition stores a position. The caller holds h.saving.
func (h *Dispatcher) storePosition(ctx context.Context, doc []byte) error {
	err := h.x.SaveChannelState(ctx, channel, positionName, doc)
	if err != nil {
		h.log.Debug("webhooks: the exchange could not store the position", "err", err)
	}
	return err
}

// isWanted reports whether somebody has an address or a browser, or had notifications before.
func (h *Dispatcher) isWanted() bool {
	h.mu.Lock()
	used := h.used
	h.mu.Unlock()
	return used || len(h.notified()) > 0
}

// storeFirst stores the position as soon as an executor has an address, so that a crash after that
// loses no event.
func (h *Dispatcher) storeFirst(ctx context.Context) {
	for {
		changed, browsers := h.x.ExecutorsChanged(), h.browsersChanged()
		if h.isWanted() {
			h.mu.Lock()
			stored := h.stored
			h.moved, h.stored = h.moved || !stored, true
			h.mu.Unlock()
			if !stored {
				h.save(ctx, false)
			}
			return
		}
		select {
		case <-ctx.Done():
			return
		case <-changed:
		case <-browsers:
		}
	}
}

// follow queues notifications of the changes in the feed, until ctx ends. It never waits for a
// receiver.
func (h *Dispatcher) follow(ctx context.Context) {
	for ctx.Err() == nil {
		h.mu.Lock()
		from := h.at.Pos
		h.mu.Unlock()
		err := h.x.Changes(ctx, from, func(c thread.Change) error {
			switch {
			case c.Envelope.Ref == "" || c.Removed:
			case h.isWanted():
				h.takeThread(ctx, c)
			default: // a later executor with an address gets changes of the status only
				h.setSeen(c.Envelope.Ref, seenThread{c.Envelope.Status, c.Envelope.Serial})
			}
			return h.advance(ctx, c)
		})
		if err != nil && ctx.Err() == nil {
			h.log.Warn("the store has interrupted its feed", "channel", channel, "err", err)
			wait.For(ctx, retryAfter)
		}
	}
}

// advance records that the queues have the events of a change. The error is that of ctx: a change
// during the shutdown may have been taken in part.
func (h *Dispatcher) advance(ctx context.Context, c thread.Change) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.at.Pos = c.Pos
	if c.Envelope.Ref != "" {
		h.moved = h.moved || h.stored
		if c.Envelope.Updated.After(h.latest) {
			h.latest = c.Envelope.Updated
		}
	}
	// At stays while the feed gives whole threads: they may have messages that are older than others.
	if c.Level || c.Messages != nil {
		h.at.At = h.latest
	}
	return nil
}

// takeThread queues notifications of a change of a thread.
func (h *Dispatcher) takeThread(ctx context.Context, c thread.Change) {
	defer mistake.Caught(h.log, "channel", channel, "ref", c.Envelope.Ref)
	offers, cancel := context.WithTimeout(ctx, offersTime)
	defer cancel()
	_ = h.x.Await(offers, c.Envelope) // without the offers, people get the next event
	if c.Messages == nil {
		h.takeMissed(ctx, c.Envelope.Ref)
		return
	}
	for _, m := range c.Messages {
		if isEvent(m) {
			h.queueEvent(exchange.Event{Thread: c.Envelope, Message: m})
		}
	}
}

// isEvent reports whether a message is an event: no ack, and no rejected message, which is in the
// thread as evidence only.
func isEvent(m mess.Message) bool {
	return !messeaf.IsAck(m) && (messeaf.Serial(m.Ref) > 0 || messeaf.IsRequest(m))
}

// takeMissed queues notifications of the messages of a thread that the Dispatcher has not seen.
// After a restart, and for a slow Dispatcher, the feed has the thread as a whole.
func (h *Dispatcher) takeMissed(ctx context.Context, ref string) {
	t, err := h.read(ctx, ref)
	if err != nil {
		if ctx.Err() == nil && !errors.Is(err, mess.NotFound) {
			h.logLost("the exchange cannot read " + ref + ": its notifications are missing")
		}
		return
	}
	h.mu.Lock()
	seen, known := h.status[ref]
	since := h.at.At.Add(-overlap)
	h.mu.Unlock()
	last := len(t.Messages) - 1
	for last >= 0 && messeaf.IsAck(t.Messages[last]) {
		last--
	}
	code := mess.Pending
	for i, m := range t.Messages {
		if !isEvent(m) {
			continue
		}
		was := code
		if code = codeAfter(m, code); i == last {
			code = t.Status
		}
		if known && messeaf.Serial(m.Ref) <= seen.serial || !known && i != last && isBefore(m, since) {
			continue
		}
		if i > 0 && !known {
			h.setSeen(ref, seenThread{code: was})
		}
		known = true
		h.queueEvent(exchange.Event{Thread: asOf(t.Envelope, m, code, i == last), Message: m})
	}
}

func (h *Dispatcher) setSeen(ref string, t seenThread) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.status.set(ref, t)
}

// read reads a thread. It tries three times, because a thread that stays unreadable must not hold
// up the others.
func (h *Dispatcher) read(ctx context.Context, ref string) (t exchange.Thread, err error) {
	for n := range 3 {
		if n > 0 && !wait.For(ctx, retryAfter) {
			return t, ctx.Err()
		}
		if t, err = h.x.Thread(ctx, all, ref); err == nil || errors.Is(err, mess.NotFound) {
			break
		}
	}
	return t, err
}

// codeAfter returns the status of a thread after a message, as far as the message says it.
func codeAfter(m mess.Message, code mess.Code) mess.Code {
	for _, item := range m.Items {
		if s, ok := item.(*mess.Status); ok {
			code = s.Code
		}
	}
	return code
}

func isBefore(m mess.Message, t time.Time) bool {
	at, err := m.Received.Time()
	return err == nil && at.Before(t)
}

// asOf returns the envelope of a thread as it was after a message.
func asOf(e thread.Envelope, m mess.Message, code mess.Code, last bool) thread.Envelope {
	if last {
		return e
	}
	e.Status, e.Serial = code, messeaf.Serial(m.Ref)
	if code == mess.Pending {
		e.Executor = ""
	}
	if at, err := m.Received.Time(); err == nil {
		e.Updated = at
	}
	return e
}

// deliveryID returns the id of the notification of an event. It is the same in each run, so that
// no person gets two notifications of one event under different ids. about is the ref of a message, or
// that of a thread for a new one.
func deliveryID(about, event, executor, url string) string {
	sum := sha256.Sum256([]byte(strings.Join([]string{about, event, executor, url}, "\n")))
	return strings.ToLower(base32.StdEncoding.WithPadding(base32.NoPadding).EncodeToString(sum[:16]))
}

// hasNotification reports whether a notification is in the queue of its executor or in the log. The
// caller holds h.mu.
func (h *Dispatcher) hasNotification(n notification) bool {
	return slices.ContainsFunc(h.queues.Of(n.Executor), func(o *notification) bool { return o.ID == n.ID }) ||
		slices.ContainsFunc(h.recent, func(e Entry) bool { return e.ID == n.ID })
}
