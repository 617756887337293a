package logformat

import (
	"slices"
	"time"

	"github.com/messkit/messkit/exchange/thread"
	"github.com/messkit/messkit/mess"
)

// Summary has the fields of a thread that the index keeps in memory or in the log of ended
// threads.
type Summary struct {
	Ref       string    `json:"ref"`
	ClientID  string    `json:"client_id,omitempty"`
	Requester string    `json:"requestor,omitempty"`
	Executor  string    `json:"executor,omitempty"`
	Held      []string  `json:"held,omitempty"` // earlier executors
	Status    mess.Code `json:"status"`
	Updated   time.Time `json:"updated"`
	Ver       uint64    `json:"ver,omitempty"`

	Keys []thread.Key `json:"keys,omitempty"` // claimed in addition to the requester's id

	// Requires has the required capabilities of a thread that has ended; nil if the store does
	// not know them, because an earlier release has written the summary. For an open thread it
	// is nil, too: the envelope in the log has them.
	Requires []string `json:"requires,omitzero"`

	// Devices has the devices of a thread that has ended, as Envelope.Devices returns them. It is
	// nil when Requires is, and in a summary of a release that knows only Requires.
	Devices []string `json:"devices,omitzero"`
}

// SummaryOf returns the summary of a thread.
func SummaryOf(e thread.Envelope) Summary {
	s := Summary{Ref: e.Ref, ClientID: e.ClientID, Requester: e.Requester, Executor: e.Executor, Status: e.Status, Updated: e.Updated, Ver: e.Ver}
	for id := range e.Holders() {
		if id != e.Executor && !slices.Contains(s.Held, id) {
			s.Held = append(s.Held, id)
		}
	}
	if e.Status.Terminal() {
		s.Requires, s.Devices = CapabilitiesOf(e), e.Devices()
	}
	return s
}

// CapabilitiesOf returns the required capabilities of a thread, each once. The list is not nil.
func CapabilitiesOf(e thread.Envelope) []string {
	ids := []string{}
	for _, c := range e.Needs.Requires {
		if !slices.Contains(ids, c.ID) {
			ids = append(ids, c.ID)
		}
	}
	return ids
}

// AllKeys returns all keys of a thread.
func (e Summary) AllKeys() []thread.Key {
	if e.ClientID == "" {
		return e.Keys
	}
	return append([]thread.Key{{Owner: e.Requester, Name: e.ClientID}}, e.Keys...)
}

// ExtraKeys returns the keys of a step that its summary does not imply.
func ExtraKeys(s thread.Step) []thread.Key {
	implied := thread.Key{Owner: s.Envelope.Requester, Name: s.Envelope.ClientID}
	return slices.DeleteFunc(slices.Clone(s.Keys), func(k thread.Key) bool { return k == implied && k.Name != "" })
}

// Envelope returns the fields of the thread's envelope that a filter needs.
func (e Summary) Envelope() thread.Envelope {
	env := thread.Envelope{Ref: e.Ref, ClientID: e.ClientID, Requester: e.Requester, Executor: e.Executor, Status: e.Status, Updated: e.Updated, Ver: e.Ver}
	if e.Status.Terminal() {
		env.Phase = thread.Finished
	}
	for _, id := range e.Held {
		env.History = append(env.History, thread.HistoryEntry{Action: string(mess.Claimed), By: id})
	}
	for _, id := range e.Requires {
		env.Needs.Requires = append(env.Needs.Requires, mess.Capability{ID: id})
	}
	return env
}

// LacksSubjects reports whether an earlier release has written the summary of a thread that has
// ended, without its required capabilities or without its devices.
func (e Summary) LacksSubjects() bool {
	return e.Status.Terminal() && (e.Requires == nil || e.Devices == nil)
}
