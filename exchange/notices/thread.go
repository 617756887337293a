package notices

import (
	"cmp"
	"slices"
	"time"

	"github.com/messkit/messkit/exchange"
	"github.com/messkit/messkit/exchange/thread"
	"github.com/messkit/messkit/mess"
	"github.com/messkit/messkit/mess/messeaf"
)

// asks has the kind of notice for the statuses with which an executor asks.
var asks = map[mess.Code]Kind{mess.NeedsInput: Question, mess.NeedsConfirmation: Confirmation}

// concerns reports whether a change of a thread may change a notice. hasOpen reports whether the
// thread has one that is open.
func concerns(c thread.Change, hasOpen bool) bool {
	e := c.Envelope
	switch {
	case hasOpen || asks[e.Status] != "":
		return true
	case !e.Status.Terminal():
		return false
	case c.Messages == nil || e.Status == mess.Failed || e.Status == mess.Partial:
		return true
	}
	for _, s := range mess.ItemsOf[*mess.Status](c.Messages) {
		if isUnknown(s) {
			return true
		}
	}
	return false
}

// isUnknown reports whether nobody knows the physical effect behind a terminal status.
func isUnknown(s *mess.Status) bool {
	return s.Evidence == mess.EvidenceUnknown || s.HasUnknownEffect()
}

// report is a status in a message of a thread.
type report struct {
	ref    string // of the message
	status *mess.Status
	at     time.Time
	next   time.Time // of the next message that answers or reports; zero for none
}

// reportsOf returns the statuses in the messages of a thread in order. Acks and rejected messages are
// no part of it.
func reportsOf(t exchange.Thread) (list []report) {
	for _, m := range t.Messages {
		if messeaf.IsAck(m) || messeaf.Serial(m.Ref) == 0 {
			continue
		}
		at, _ := m.Received.Time() // zero for a message without one
		if n := len(list) - 1; n >= 0 && list[n].next.IsZero() {
			list[n].next = at
		}
		for _, item := range m.Items {
			if s, ok := item.(*mess.Status); ok {
				list = append(list, report{ref: m.Ref, status: s, at: at})
			}
		}
	}
	return list
}

// ofThread returns the notices of a thread, the oldest first. They depend on its messages and its
// status alone, so that they are the same after a restart.
func ofThread(t exchange.Thread) (list []Notice) {
	reports := reportsOf(t)
	last := -1 // the last report that asks
	for i, r := range reports {
		if asks[r.status.Code] != "" {
			last = i
		}
	}
	for i, r := range reports {
		n := Notice{
			Kind: asks[r.status.Code], Ref: t.Ref, Intent: t.Intent, Executor: r.status.Executor, Requester: t.Requester,
			Priority: cmp.Or(t.Priority, mess.Normal), At: cmp.Or(r.at, t.Updated), Parties: partiesOf(t),
		}
		switch {
		case n.Kind != "":
			n.Text = askText(r.status)
			if r.status.Code == mess.NeedsConfirmation {
				n.Phrases, _ = r.status.Extra.Get("phrases")
			}
			if i != last || asks[t.Status] == "" {
				over := cmp.Or(r.next, t.Updated)
				n.Over = &over
			}
		case i == len(reports)-1 || r.status.Code.Terminal() && r.status.Code == t.Status:
			if n.Kind = resultKind(t.Status, r.status); n.Kind == "" {
				continue
			}
			n.Text = r.status.ReasonText()
		default:
			continue
		}
		n.ID = string(n.Kind) + "/" + r.ref
		if n.Executor == "" {
			n.Executor = t.Executor
		}
		list = append(list, n)
	}
	return lastResult(list)
}

// lastResult removes all results but the last one: the exchange may repeat a terminal status with
// more about it.
func lastResult(list []Notice) []Notice {
	isResult := func(n Notice) bool { return n.Kind == Unknown || n.Kind == Failed }
	first := slices.IndexFunc(list, isResult)
	return slices.DeleteFunc(list, func(n Notice) bool { return isResult(n) && n.ID != list[first].ID })
}

// resultKind returns the kind of the notice of an ended thread; "" if its end needs none.
func resultKind(status mess.Code, s *mess.Status) Kind {
	switch {
	case !status.Terminal() || s.Code != status:
		return ""
	case isUnknown(s):
		return Unknown
	case status == mess.Failed || status == mess.Partial:
		return Failed
	}
	return ""
}

// askText returns the questions or the action of a status that asks.
func askText(s *mess.Status) string {
	if s.Code == mess.NeedsConfirmation {
		return cmp.Or(s.Action, s.Message)
	}
	text := ""
	for _, q := range s.Questions {
		if text != "" {
			text += " "
		}
		text += q.Question
	}
	return cmp.Or(text, s.Message)
}

// partiesOf returns the requester of a thread and its present and former holders.
func partiesOf(t exchange.Thread) []string {
	list := []string{t.Requester}
	for id := range t.Holders() {
		if !slices.Contains(list, id) {
			list = append(list, id)
		}
	}
	return list
}
