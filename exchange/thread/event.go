package thread

import (
	"slices"

	"github.com/messkit/messkit/mess"
)

// Event is something that happened, for one who follows the exchange.
type Event struct {
	ID      string // where to resume
	Kind    EventKind
	Thread  Envelope     // after what happened; zero for a reset
	Message mess.Message // offer: the request, put in when it is handed over; message: what was said
}

// EventKind is the kind of an Event.
type EventKind string

// The kinds of event.
const (
	EventOffer     EventKind = "offer"     // to an executor: you may claim this
	EventWithdrawn EventKind = "withdrawn" // to an executor: not any more
	EventMessage   EventKind = "message"   // a message was stored; the thread is as shown
	EventStop      EventKind = "stop"      // to an executor: stop everything
	EventHold      EventKind = "hold"      // to an executor: take nothing new, or take it again
	EventReset     EventKind = "reset"     // what lies between the resume point and now is gone: read afresh
)

// Delivery is the event as the message that an executor is to get, and false
// if it is none of its business: an offer, the end of one, or what others say
// in a thread that it holds or has held.
func (e Event) Delivery(executor string) (mess.Message, bool) {
	m := e.Message
	if m.Version == "" && (m.From == Self || e.Kind != EventMessage) { // it is ours
		m.Version = mess.Current
	}
	switch e.Kind {
	case EventOffer, EventWithdrawn, EventStop, EventHold:
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

// isEvidence reports whether the message is the late report of an executor whose claim is
// over (T14): it ends nothing, so its epoch stays the one that the sender gave.
func (e Event) isEvidence() bool {
	return !e.Thread.Status.Terminal() && slices.ContainsFunc(e.Message.Items, func(item mess.Item) bool {
		s, ok := item.(*mess.Status)
		return ok && s.Code.Terminal()
	})
}

// withQuestion keeps in an answer which question it is for, since the message
// itself names the thread.
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
