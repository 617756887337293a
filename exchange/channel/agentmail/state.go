package agentmail

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/messkit/messkit/exchange/channel/agentmail/format"
	"github.com/messkit/messkit/exchange/channel/agentmail/mailbox"
	"github.com/messkit/messkit/internal/durable"
	"github.com/messkit/messkit/internal/secret"
	"github.com/messkit/messkit/internal/wait"
	"github.com/messkit/messkit/mess"
)

// fileName is the state file in the data folder. It contains the token of this agent at the mail
// server, so only its owner may read it.
const fileName = "agentmail.json"

// state is the stored state of the adapter.
type state struct {
	Name  string    `json:"name,omitempty"`  // name that the mail server has given
	Token string    `json:"token,omitempty"` // token for that name
	Since time.Time `json:"since,omitzero"`  // time of the newest mail
	Seen  []int64   `json:"seen,omitempty"`  // ids of the last mails

	Tasks map[string]*task       `json:"tasks,omitempty"` // tasks of mail agents, by ref
	Given map[string]*assignment `json:"given,omitempty"` // tasks for mail agents, by ref
	Out   []*outboxEntry         `json:"out,omitempty"`   // messages to send, in order
	Seq   uint64                 `json:"seq,omitempty"`   // number of the last entry

	Zones   []Reservation `json:"zones,omitempty"`
	Refused []Refused     `json:"refused,omitempty"` // last rejected messages
}

// store is the state and its file. All parts share it, because a step that changes several parts
// of the state is written at once or not at all.
type store struct {
	file    string
	now     func() time.Time
	changed chan struct{} // receives after each change: there may be a message to send

	mu   sync.Mutex
	s    state
	news chan struct{} // closed at the next change
}

func (st *store) read() error {
	data, err := os.ReadFile(st.file)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err == nil {
		err := json.Unmarshal(data, &st.s)
		if err == nil && st.s.hasMissingFields() {
			err = errors.New("some of it is null")
		}
		if err != nil {
			return fmt.Errorf("%s: %w; restore it from a copy: without it the agent loses its name at the mail server, and running tasks send no reports", st.file, err)
		}
	}
	if st.s.Tasks == nil {
		st.s.Tasks = map[string]*task{}
	}
	if st.s.Given == nil {
		st.s.Given = map[string]*assignment{}
	}
	return nil
}

// hasMissingFields reports whether an entry is null.
func (s *state) hasMissingFields() bool {
	for _, t := range s.Tasks {
		if t == nil {
			return true
		}
	}
	for _, g := range s.Given {
		if g == nil {
			return true
		}
	}
	return slices.Contains(s.Out, nil)
}

// change applies a change and stores the state. If it cannot be stored, nothing changes.
func (st *store) change(do func(*state)) error {
	st.mu.Lock()
	defer st.mu.Unlock()
	next := st.s.clone()
	do(&next)
	next.prune(st.now())
	data, err := json.Marshal(next)
	if err == nil {
		err = durable.Replace(st.file, data)
	}
	if err != nil {
		return mess.Errorf(mess.Unavailable, "agentmail: the state file is not writable: %v", err)
	}
	st.s = next
	close(st.news)
	st.news = make(chan struct{})
	wait.Notify(st.changed)
	return nil
}

// clone returns a copy that shares nothing that can change.
func (s state) clone() state {
	c := s
	c.Seen, c.Zones, c.Refused = slices.Clone(s.Seen), slices.Clone(s.Zones), slices.Clone(s.Refused)
	c.Tasks, c.Given, c.Out = maps.Clone(s.Tasks), maps.Clone(s.Given), slices.Clone(s.Out)
	for ref, t := range c.Tasks {
		one := *t
		one.Asked = slices.Clone(t.Asked)
		c.Tasks[ref] = &one
	}
	for ref, g := range c.Given {
		one := *g
		c.Given[ref] = &one
	}
	for i, e := range c.Out {
		one := *e
		c.Out[i] = &one
	}
	return c
}

// prune removes what is no longer needed.
func (s *state) prune(now time.Time) {
	s.Seen = s.Seen[max(0, len(s.Seen)-maxSeen):]
	s.Refused = s.Refused[max(0, len(s.Refused)-maxRefused):]
	s.Zones = slices.DeleteFunc(s.Zones, func(r Reservation) bool { return !now.Before(r.Until) })
	kept := map[string]int{}
	for _, e := range slices.Backward(s.Out) {
		if e.HTTP {
			kept[e.To]++
		}
	}
	s.Out = slices.DeleteFunc(s.Out, func(e *outboxEntry) bool {
		old := e.HTTP && (kept[e.To] > maxKept || now.Sub(e.At) > keptFor)
		if old {
			kept[e.To]--
		}
		return old
	})
}

// add queues a message.
func (s *state) add(e outboxEntry) {
	s.Seq++
	e.Seq = s.Seq
	s.Out = append(s.Out, &e)
}

// isSeen reports whether a mail was handled before.
func (st *store) isSeen(id int64) bool {
	st.mu.Lock()
	defer st.mu.Unlock()
	return slices.Contains(st.s.Seen, id)
}

// of returns a copy of an assignment, nil if there is none.
func (st *store) of(ref string) *assignment {
	st.mu.Lock()
	defer st.mu.Unlock()
	if g := st.s.Given[ref]; g != nil {
		return new(*g)
	}
	return nil
}

// queued reports whether the assignment of a task is in the outbox.
func (st *store) queued(ref string) bool {
	st.mu.Lock()
	defer st.mu.Unlock()
	return slices.ContainsFunc(st.s.Out, func(e *outboxEntry) bool { return e.Ref == ref && e.Kind == string(format.TypeTaskAssignment) })
}

// identity returns the name and token that the mail server knows this agent by.
func (st *store) identity() mailbox.Identity {
	st.mu.Lock()
	defer st.mu.Unlock()
	return mailbox.Identity{Name: st.s.Name, Token: secret.Text(st.s.Token)}
}

// newest returns the time of the newest mail.
func (st *store) newest() time.Time {
	st.mu.Lock()
	defer st.mu.Unlock()
	return st.s.Since
}
