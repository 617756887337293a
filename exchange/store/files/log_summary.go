package files

import (
	"slices"
	"time"

	"github.com/messkit/messkit/exchange/thread"
	"github.com/messkit/messkit/mess"
)

// summary has the fields of a thread that the index keeps in memory or in the log of ended
// threads.
type summary struct {
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
}

func summaryOf(e thread.Envelope) summary {
	s := summary{Ref: e.Ref, ClientID: e.ClientID, Requester: e.Requester, Executor: e.Executor, Status: e.Status, Updated: e.Updated, Ver: e.Ver}
	for id := range e.Holders() {
		if id != e.Executor && !slices.Contains(s.Held, id) {
			s.Held = append(s.Held, id)
		}
	}
	if e.Status.Terminal() {
		s.Requires = capabilitiesOf(e)
	}
	return s
}

// capabilitiesOf returns the required capabilities of a thread, each once. The list is not nil.
func capabilitiesOf(e thread.Envelope) []string {
	ids := []string{}
	for _, c := range e.Needs.Requires {
		if !slices.Contains(ids, c.ID) {
			ids = append(ids, c.ID)
		}
	}
	return ids
}

// keys returns all keys of a thread.
func (e summary) keys() []thread.Key {
	if e.ClientID == "" {
		return e.Keys
	}
	return append([]thread.Key{{Owner: e.Requester, Name: e.ClientID}}, e.Keys...)
}

// extraKeys returns the keys of a step that its summary does not imply.
func extraKeys(s thread.Step) []thread.Key {
	implied := thread.Key{Owner: s.Envelope.Requester, Name: s.Envelope.ClientID}
	return slices.DeleteFunc(slices.Clone(s.Keys), func(k thread.Key) bool { return k == implied && k.Name != "" })
}

// envelope returns the fields of the thread's envelope that a filter needs.
func (e summary) envelope() thread.Envelope {
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
