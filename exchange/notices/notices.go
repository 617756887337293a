// Package notices keeps a list of what needs or needed somebody: questions, confirmations, unknown
// and failed outcomes, devices that are not safe after a stop, and executors that are offline. It
// knows who may see and who has read which notice. It sends nothing.
package notices

import (
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
	"github.com/messkit/messkit/exchange/lease"
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
	follow  []func(Notice) error
	version uint64
	unread  map[reader]int // since the last change

	// These are for a store that several exchanges share: one of them makes the notices.
	lease   *lease.Lease    // nil: the store is not shared
	waiting map[string]bool // ids of new notices that the followers have yet to take
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
	l := &Log{x: x, log: log, fresh: true, marks: map[string]mark{}, unsaved: map[string]bool{}, unread: map[reader]int{}, waiting: map[string]bool{}}
	if x.IsShared() {
		l.lease = lease.New(x, channel, log)
		x.FollowChannelState(channel, l.take)
	}
	l.version = uint64(time.Now().UnixMilli()) // above those of an earlier run, and exact in JavaScript
	l.mu.Lock()                                // the followers can be at work
	defer l.mu.Unlock()
	for name, doc := range x.ChannelState(channel) {
		var err error
		switch {
		case name == stateName:
			err = l.takeState(doc)
		case strings.HasPrefix(name, noticePrefix):
			err = l.takeNotice(doc)
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
	if l.fresh {
		l.state.Pos = x.Position()
	}
	return l
}

// OnNew makes Run call fn with each new notice. fn must not call the Log. If exchanges share the store,
// fn must have stored what it needs when it returns nil. After an error, or if this exchange fails before
// that, Run or that of another exchange calls it again with the same notice. Call OnNew before Run.
func (l *Log) OnNew(fn func(Notice) error) { l.follow = append(l.follow, fn) }

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
	if l.lease != nil { // the document is never older than the list
		var n storedNotice
		return json.Unmarshal(l.x.ChannelDocument(channel, documentName(noticePrefix, id)), &n) == nil && n.Over == nil
	}
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
	var next mark
	err := l.x.ChangeChannelState(ctx, channel, documentName(readPrefix, a.ID), func(doc []byte) ([]byte, error) {
		var was mark
		_ = json.Unmarshal(doc, &was) // the actor has read nothing then
		next = l.changedMark(a, was, change)
		return json.Marshal(next)
	})
	if err != nil {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.marks[a.ID] = next
	l.changed()
	return nil
}

// changedMark returns what an actor has read after a change. Of ids without a notice nothing stays.
func (l *Log) changedMark(a exchange.Actor, was mark, change func(mark) mark) (next mark) {
	l.mu.Lock()
	defer l.mu.Unlock()
	named := change(was)
	next = mark{Actor: a.ID, All: named.All}
	for _, n := range l.list {
		if n.Number > next.All && n.IsVisibleTo(a) && slices.Contains(named.IDs, n.ID) {
			next.IDs = append(next.IDs, n.ID)
		}
	}
	return next
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
