package thread

import (
	"slices"

	"github.com/messkit/messkit/mess"
	"github.com/messkit/messkit/mess/traceparent"
)

// Event is an event for a subscriber of the exchange.
type Event struct {
	ID      string // to resume after it
	Kind    EventKind
	Thread  Envelope     // after the event; zero for a reset
	Message mess.Message // offer: the request, added at the delivery; message: the message itself
}

// EventKind is the kind of an Event.
type EventKind string

// The kinds of event.
const (
	EventOffer     EventKind = "offer"     // to an executor: you may claim this
	EventWithdrawn EventKind = "withdrawn" // to an executor: not any more
	EventMessage   EventKind = "message"   // the store has a new message; Thread is the state after it
	EventStop      EventKind = "stop"      // to an executor: stop everything
	EventDrain     EventKind = "hold"      // to an executor: take nothing new, or take it again
	EventReset     EventKind = "reset"     // some events since the resume point are not available: read the state again
)

// Delivery returns the event as a message for an executor. ok is false for an event that the
// executor does not need. It needs offers, their withdrawals, its orders, and the messages of
// others in threads that it holds or has held. The message has the trace context of the thread, unless
// its sender has given it another one.
func (e Event) Delivery(executor string) (mess.Message, bool) {
	m := e.Message
	if m.Version == "" && (m.From == Self || e.Kind != EventMessage) { // a message of the exchange
		m.Version = mess.Current
	}
	if e.Thread.Trace != "" && (e.Kind != EventMessage || traceparent.Of(m) == "") {
		m = traceparent.With(m, e.Thread.Trace)
	}
	switch e.Kind {
	case EventOffer, EventWithdrawn, EventStop, EventDrain:
		return m, true
	case EventMessage:
		theirs := e.Thread.Executor == executor || m.From == Self && e.Thread.HasHeld(executor)
		if m.From == executor || !theirs {
			return m, false
		}
		m.Items = withQuestion(m)
		m.Re = mess.Refs{e.Thread.Ref}
		if !e.isEvidence() {
			m.Epoch = e.Thread.Epoch
		}
		return m, true
	}
	return m, false
}

// isEvidence reports whether the message is a late report of a former holder (transition T14). It
// ends nothing, so it keeps the epoch of the sender.
func (e Event) isEvidence() bool {
	return !e.Thread.Status.Terminal() && slices.ContainsFunc(e.Message.Items, func(item mess.Item) bool {
		s, ok := item.(*mess.Status)
		return ok && s.Code.Terminal()
	})
}

// withQuestion puts the question of an answer into its re field, because the message itself names
// the thread.
func withQuestion(m mess.Message) []mess.Item {
	items := slices.Clone(m.Items)
	for i, item := range items {
		if a, ok := item.(*mess.Answer); ok && len(a.Re) == 0 {
			c := *a
			c.Re = m.Re
			items[i] = &c
		}
	}
	return items
}

// Size estimates the bytes that the message of the event keeps in memory.
func (e *Event) Size() int {
	n := 512
	for _, item := range e.Message.Items {
		switch i := item.(type) {
		case *mess.Response:
			n += entriesSize(i.Content)
		case *mess.Request:
			n += len(i.Intent) + entriesSize(i.Context)
		case *mess.Reply:
			n += entriesSize(i.Context)
		}
	}
	return n
}

func entriesSize(entries []mess.Entry) int {
	n := 0
	for _, e := range entries {
		n += valueSize(e.Value) + valueSize(e.Extra)
	}
	return n
}

func valueSize(v any) int {
	n := 16
	switch v := v.(type) {
	case string:
		n += len(v)
	case mess.Object:
		for _, f := range v {
			n += len(f.Key) + valueSize(f.Value)
		}
	case []any:
		for _, e := range v {
			n += valueSize(e)
		}
	}
	return n
}
