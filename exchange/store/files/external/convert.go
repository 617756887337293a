package external

import (
	"cmp"
	"slices"
	"time"

	"github.com/messkit/messkit/exchange/thread"
	"github.com/messkit/messkit/mess"
	"github.com/messkit/messkit/mess/messeaf"
)

// Thread converts a thread from its folder for the exchange. If a file does not say how far
// the work is, Thread assumes the safe case: a thread that is not waiting for a claim has
// started.
func Thread(t messeaf.Thread) thread.Thread {
	e := Envelope(t.Envelope)
	e.Ver = uint64(max(1, len(t.Messages)))
	for _, m := range t.Messages {
		if m.Ref != "" {
			e.Serial++
		}
		if m.ID != "" {
			e.Seen = append(e.Seen, thread.ProcessedMessage{From: m.From, ID: m.ID, Ref: m.Ref})
		}
	}
	req := thread.Thread{Envelope: e, Messages: t.Messages}.Request()
	e.Needs = thread.NeedsOf(req)
	if e.Intent == "" {
		e.Intent = req.Intent
	}
	if c := req.Constraints; c != nil && c.Timing != nil {
		e.NotBefore = timeOf(c.Timing.NotBefore)
	}
	if e.Expires.IsZero() {
		e.Expires = timeOf(req.NeededBy)
	}
	in := thread.Thread{Envelope: e, Messages: t.Messages}
	in.AddUses()
	return in
}

// Envelope converts an envelope without the thread's messages.
func Envelope(m messeaf.Envelope) thread.Envelope {
	e := thread.Envelope{
		Ref: m.Ref, ClientID: m.ClientID, Requester: m.Requester, Executor: m.Executor, Status: status(m.Status),
		Created: timeOf(m.Created), Updated: timeOf(m.Updated), Expires: timeOf(m.Expires), Intent: m.Intent, Priority: m.Priority, Ver: 1,
	}
	if e.Priority == "" {
		e.Priority = mess.Normal
	}
	for _, h := range m.History {
		e.History = append(e.History, thread.HistoryEntry{Action: h.Action, At: timeOf(h.At), By: h.By, Ref: h.Ref, Note: h.Note})
		if h.Action == string(mess.Claimed) {
			e.Epoch++
		}
	}
	switch {
	case e.Status.Terminal():
		e.Phase = thread.Finished
	case e.Status != mess.Pending:
		e.Phase = thread.Started
		e.Epoch = max(e.Epoch, 1)
	}
	return e
}

// status converts a status to one of the exchange. It converts an unknown status to in_progress.
func status(c mess.Code) mess.Code {
	switch {
	case c == mess.Received || c == mess.Pending:
		return mess.Pending
	case c.Known():
		return c
	}
	return mess.InProgress
}

func timeOf(t mess.Time) time.Time {
	when, _ := messeaf.Time(t)
	return when
}

// CompareProgress orders the places of one thread: the place with the most progress comes first.
func CompareProgress(a, b messeaf.Place) int {
	return cmp.Or(
		-cmp.Compare(slices.Index(messeaf.Folders, a.Folder), slices.Index(messeaf.Folders, b.Folder)),
		cmp.Compare(isFlat(a), isFlat(b)), cmp.Compare(a.Path, b.Path))
}

func isFlat(p messeaf.Place) int {
	if p.Flat {
		return 1
	}
	return 0
}
