// Package notices keeps a list of what needs or needed somebody: questions, confirmations, unknown
// and failed outcomes, devices that are not safe after a stop, and executors that are offline. It
// knows who may see and who has read which notice. It sends nothing.
package notices

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/messkit/messkit/exchange"
	"github.com/messkit/messkit/exchange/thread"
	"github.com/messkit/messkit/internal/order"
	"github.com/messkit/messkit/mess"
)

// Kind is the kind of a notice.
type Kind string

// The kinds of notices.
const (
	Question     Kind = "question"     // an executor asks for input
	Confirmation Kind = "confirmation" // an executor asks for a confirmation
	Unknown      Kind = "unknown"      // a task has ended, and nobody knows its physical effect
	Failed       Kind = "failed"       // a task has failed, or was done in part
	Unsafe       Kind = "unsafe"       // devices are not safe after a stop
	Offline      Kind = "offline"      // an executor has no contact
)

// Notice is something that needs or needed somebody.
type Notice struct {
	ID        string        `json:"id"`
	Number    uint64        `json:"number"` // later notices have higher ones
	Kind      Kind          `json:"kind"`
	Ref       string        `json:"ref,omitempty"`     // of a thread
	Intent    string        `json:"intent,omitempty"`  // of the thread
	Text      string        `json:"text,omitempty"`    // the question, the action to confirm, or the reason
	Phrases   any           `json:"phrases,omitempty"` // the action to confirm as codes; nil: the executor sent none
	Executor  string        `json:"executor,omitempty"`
	Name      string        `json:"name,omitempty"`    // of the executor, for people
	Devices   []string      `json:"devices,omitempty"` // that are not safe
	Requester string        `json:"requestor_id,omitempty"`
	Priority  mess.Priority `json:"priority,omitempty"`
	At        time.Time     `json:"at"`
	// Over is the time from which it needed nobody any more; nil until then. A result has none.
	Over *time.Time `json:"over,omitempty"`
	// Parties are those who may see the thread, beside those who see every thread.
	Parties []string `json:"parties,omitempty"`
}

// IsOpen reports whether a notice needs somebody now. A result needs nobody: people read it.
func (n Notice) IsOpen() bool { return n.Over == nil && n.Kind != Unknown && n.Kind != Failed }

// IsVisibleTo reports whether an actor may see a notice: that of a thread like the thread, and that
// of an executor unless the actor is a guest.
func (n Notice) IsVisibleTo(a exchange.Actor) bool {
	if n.Ref == "" {
		return !a.IsGuest()
	}
	return a.SeesAll() || slices.Contains(n.Parties, a.ID)
}

// channel is the name under which the exchange stores the documents of a Log.
const channel = "notices"

// maxNotices is the number of notices that a Log keeps. Of more, it drops the oldest ones that need
// nobody.
const maxNotices = 1000

// stateName names the document with the position, and the prefixes name the others.
const (
	stateName    = "state"
	noticePrefix = "n-"
	readPrefix   = "r-"
)

// state is how far a Log has read the feed.
type state struct {
	Pos  thread.Pos `json:"pos"`
	Last uint64     `json:"last"` // the highest number
}

// Log keeps the notices of one exchange. Make it with Open, and keep Run running. It is safe for
// concurrent use.
type Log struct {
	x   *exchange.Exchange
	log *slog.Logger

	saving  sync.Mutex // held while save writes; goroutines take it before mu
	marking sync.Mutex // held while Mark writes; goroutines take it before mu

	mu      sync.Mutex
	state   state
	fresh   bool     // there is no stored position
	list    []Notice // by number
	marks   map[string]mark
	unsaved map[string]bool // ids of notices that the store does not have yet, or has still
	moved   bool            // the store has an older position
	stored  time.Time       // when the store has got the position
	follow  []func(Notice)
	version uint64
	unread  map[reader]int // since the last change
}

// mark is what an actor has read.
type mark struct {
	Actor string   `json:"actor"`
	All   uint64   `json:"all"` // every notice up to this number
	IDs   []string `json:"ids,omitempty"`
}

func (m mark) has(n Notice) bool { return n.Number <= m.All || slices.Contains(m.IDs, n.ID) }

// documentName returns the name of a document about something that may have any characters.
func documentName(prefix, about string) string {
	sum := sha256.Sum256([]byte(about))
	return prefix + hex.EncodeToString(sum[:16])
}

// Open reads the stored notices. Unreadable ones are left out, with a warning.
func Open(x *exchange.Exchange, log *slog.Logger) *Log {
	l := &Log{x: x, log: log, fresh: true, marks: map[string]mark{}, unsaved: map[string]bool{}, unread: map[reader]int{}}
	l.version = uint64(time.Now().UnixMilli()) // above those of an earlier run, and exact in JavaScript
	for name, doc := range x.ChannelState(channel) {
		var err error
		switch {
		case name == stateName:
			err = json.Unmarshal(doc, &l.state)
			l.fresh = err != nil || l.state.Pos == "" || strings.Trim(string(l.state.Pos), "0123456789") != ""
		case strings.HasPrefix(name, noticePrefix):
			var n Notice
			if err = json.Unmarshal(doc, &n); err == nil {
				l.list = append(l.list, n)
			}
		case strings.HasPrefix(name, readPrefix):
			var m mark
			if err = json.Unmarshal(doc, &m); err == nil {
				l.marks[m.Actor] = m
			}
		}
		if err != nil {
			log.Warn("notices: a stored document is unreadable; the exchange goes on without it", "name", name, "err", err)
		}
	}
	order.By(l.list, func(a, b Notice) int { return cmp.Compare(a.Number, b.Number) })
	for _, n := range l.list {
		l.state.Last = max(l.state.Last, n.Number)
	}
	if l.fresh {
		l.state.Pos = x.Position()
	}
	return l
}

// OnNew makes Run call fn with each new notice. fn must not block or call the Log. Call OnNew before
// Run.
func (l *Log) OnNew(fn func(Notice)) { l.follow = append(l.follow, fn) }

// Shown is a notice as an actor sees it.
type Shown struct {
	Notice

	Open bool `json:"open"`
	Read bool `json:"read"`
}

// List returns the notices that an actor may see, the newest first.
func (l *Log) List(a exchange.Actor) []Shown {
	l.mu.Lock()
	defer l.mu.Unlock()
	list, m := []Shown{}, l.marks[a.ID]
	for _, n := range slices.Backward(l.list) {
		if n.IsVisibleTo(a) {
			read := m.has(n)
			n.Parties = nil // they are for the exchange
			list = append(list, Shown{n, n.IsOpen(), read})
		}
	}
	order.By(list, func(a, b Shown) int { return b.At.Compare(a.At) })
	return list
}

// Count is what the bell of an actor shows.
type Count struct {
	Unread  int    `json:"unread"`
	Version uint64 `json:"version"` // rises with each change of a notice or of what somebody has read
}

// reader is an actor, as far as the count depends on it.
type reader struct {
	id    string
	roles exchange.Role
	guest bool
}

// Count returns the number of unread notices of an actor. A page asks for it all the time, so the
// Log counts them only after a change.
func (l *Log) Count(a exchange.Actor) Count {
	l.mu.Lock()
	defer l.mu.Unlock()
	r := reader{a.ID, a.Roles, a.IsGuest()}
	n, known := l.unread[r]
	if !known {
		m := l.marks[a.ID]
		for _, one := range l.list {
			if one.IsVisibleTo(a) && !m.has(one) {
				n++
			}
		}
		l.unread[r] = n
	}
	return Count{n, l.version}
}

// changed notes that a notice or a mark has changed. The caller holds l.mu.
func (l *Log) changed() {
	l.version++
	clear(l.unread)
}

// Holds reports whether the Log has a notice that is not over: it needs somebody, or is a result.
func (l *Log) Holds(id string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	i := l.index(id)
	return i >= 0 && l.list[i].Over == nil
}

// index returns the index of a notice, or -1. The caller holds l.mu.
func (l *Log) index(id string) int {
	return slices.IndexFunc(l.list, func(n Notice) bool { return n.ID == id })
}

// Mark records that an actor has read some notices. It ignores ids that the actor cannot see. The
// error is a *mess.Error.
func (l *Log) Mark(ctx context.Context, a exchange.Actor, ids []string) error {
	if len(ids) > maxNotices {
		return mess.Errorf(mess.Invalid, "read: %d are too many; send %d at most", len(ids), maxNotices)
	}
	return l.mark(ctx, a, func(m mark) mark {
		m.IDs = append(slices.Clone(m.IDs), ids...)
		return m
	})
}

// MarkAll records that an actor has read all notices. The error is a *mess.Error.
func (l *Log) MarkAll(ctx context.Context, a exchange.Actor) error {
	return l.mark(ctx, a, func(m mark) mark {
		m.All = l.state.Last
		return m
	})
}

// mark changes what an actor has read. The caller's function runs under l.mu.
func (l *Log) mark(ctx context.Context, a exchange.Actor, change func(mark) mark) error {
	l.marking.Lock()
	defer l.marking.Unlock()
	l.mu.Lock()
	named := change(l.marks[a.ID])
	next := mark{Actor: a.ID, All: named.All}
	for _, n := range l.list { // of ids without a notice nothing stays
		if n.Number > next.All && n.IsVisibleTo(a) && slices.Contains(named.IDs, n.ID) {
			next.IDs = append(next.IDs, n.ID)
		}
	}
	l.mu.Unlock()
	doc, err := json.Marshal(next)
	if err != nil {
		return err
	}
	if err := l.x.SaveChannelState(ctx, channel, documentName(readPrefix, a.ID), doc); err != nil {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.marks[a.ID] = next
	l.changed()
	return nil
}

// Forget removes what an actor has read, for a person who has been removed. The error is a
// *mess.Error.
func (l *Log) Forget(ctx context.Context, actor string) error {
	l.marking.Lock()
	defer l.marking.Unlock()
	if err := l.x.SaveChannelState(ctx, channel, documentName(readPrefix, actor), nil); err != nil {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.marks, actor)
	l.changed()
	return nil
}
