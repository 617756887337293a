package reference

import (
	"slices"
	"time"

	"github.com/messkit/messkit/exchange/remote/httpclient"
	"github.com/messkit/messkit/mess"
)

// The functions below read the messages of a thread. A place is the index of a message; -1 means
// that there is none.

// lastStatusOf returns the last status of an actor that is selects, and its position among the
// messages; -1 if there is none.
func lastStatusOf(t httpclient.Thread, by string, is func(*mess.Status) bool) (place int, s *mess.Status) {
	for i, m := range slices.Backward(t.Messages) {
		if m.From != by {
			continue
		}
		for _, item := range m.Items {
			if s, ok := item.(*mess.Status); ok && is(s) {
				return i, s
			}
		}
	}
	return -1, nil
}

func inCode(codes ...mess.Code) func(*mess.Status) bool {
	return func(s *mess.Status) bool { return slices.Contains(codes, codeOf(string(s.Code))) }
}

func withID(id string) func(*mess.Status) bool {
	return func(s *mess.Status) bool { return s.ID == id && id != "" }
}

func ends(s *mess.Status) bool { return codeOf(string(s.Code)).Terminal() }

// begunBy returns an executor other than but that has started or ended the thread and has not
// withdrawn; "" if there is none.
func begunBy(t httpclient.Thread, but string) string {
	begun := map[string]bool{}
	for m, s := range mess.ItemsOf[*mess.Status](t.Messages) {
		switch code := codeOf(string(s.Code)); {
		case m.From == but:
		case code == mess.Delegated:
			delete(begun, m.From)
		case code == mess.Declined: // not a start
		case code == mess.InProgress || code == mess.Retrying || code.Terminal():
			begun[m.From] = true
		}
	}
	for executor := range begun {
		return executor
	}
	return ""
}

// cancelledAfter reports whether another actor has cancelled the request since a position. It
// accepts a cancel of any actor, because it is safe not to act.
func cancelledAfter(t httpclient.Thread, me string, place int) bool {
	if t.Status == mess.Cancelled {
		return true
	}
	for _, m := range t.Messages[min(max(0, place), len(t.Messages)):] {
		if m.From != me && slices.ContainsFunc(m.Items, func(i mess.Item) bool { return i.Kind() == mess.KindCancel }) {
			return true
		}
	}
	return false
}

// asked returns the request of a thread.
func asked(t httpclient.Thread) (mess.Request, bool) {
	for m, r := range mess.ItemsOf[*mess.Request](t.Messages) {
		if m.From == t.Requester {
			is := *r
			if is.Priority == "" {
				is.Priority = t.Priority
			}
			return is, true
		}
	}
	return mess.Request{}, false
}

// window returns the time range in which a thread may start, by the clock of the server.
func window(t httpclient.Thread, r mess.Request) (from, until time.Time) {
	until, _ = r.NeededBy.Time()
	if c := r.Constraints; c != nil && c.Timing != nil {
		from, _ = c.Timing.NotBefore.Time()
		if until.IsZero() {
			until, _ = c.Timing.Expires.Time(t.Created)
		}
	}
	return from, until
}
