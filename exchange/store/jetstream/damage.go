package jetstream

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/messkit/messkit/exchange/store/files/logformat"
	"github.com/messkit/messkit/exchange/thread"
	"github.com/messkit/messkit/mess"
	"github.com/messkit/messkit/mess/messeaf"
)

// A record that nobody can read does not stop a feed. It can be what another program with the user of the
// account has published. A thread with such a record gets no more steps: each step names the last message of
// the thread, and no exchange takes an unreadable one for that.

// Unreadable is a record in the stream that the store cannot read.
type Unreadable struct {
	Sequence uint64
	Subject  string
	Ref      string // of the thread; "" if it is unknown, or if the record is of no thread
	Reason   string
}

func (u Unreadable) String() string {
	of := ""
	if u.Ref != "" {
		of = " of " + u.Ref
	}
	return fmt.Sprintf("record%s in the stream, sequence %d, subject %s: %s", of, u.Sequence, u.Subject, u.Reason)
}

// maxUnreadable is the number of unreadable records that the store names.
const maxUnreadable = 100

// damage has the unreadable records that a feed has met. Store.mu guards it.
type damage struct {
	list     []Unreadable
	count    int
	seen     map[string]map[uint64]bool // their sequences, by subject
	subjects map[string]uint64          // the first unreadable record of threads
}

// Unreadable returns the records that no feed could read, at most 100 of them, and their number.
func (s *Store) Unreadable() (some []Unreadable, count int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.damage.list), s.damage.count
}

// noteUnreadable records an unreadable record, and logs it once.
func (s *Store) noteUnreadable(u Unreadable, isThread bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	d := &s.damage
	if d.seen == nil {
		d.seen, d.subjects = map[string]map[uint64]bool{}, map[string]uint64{}
	}
	if isThread && d.subjects[u.Subject] == 0 {
		d.subjects[u.Subject] = u.Sequence
	}
	if d.seen[u.Subject][u.Sequence] {
		return
	}
	if d.seen[u.Subject] == nil {
		d.seen[u.Subject] = map[uint64]bool{}
	}
	d.seen[u.Subject][u.Sequence] = true
	if d.count++; len(d.list) < maxUnreadable {
		d.list = append(d.list, u)
	}
	s.cfg.Log.Error("the stream has a record that the store cannot read; the store goes on without it", "sequence", u.Sequence, "subject", u.Subject, "ref", u.Ref, "reason", u.Reason)
}

// noteRollup forgets the unreadable records of a subject that a message has replaced in the stream.
func (s *Store) noteRollup(subject string, seq uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	d := &s.damage
	if len(d.seen[subject]) == 0 {
		return
	}
	for one := range d.seen[subject] {
		if one < seq {
			delete(d.seen[subject], one)
			d.count--
		}
	}
	d.list = slices.DeleteFunc(d.list, func(u Unreadable) bool { return u.Subject == subject && u.Sequence < seq })
}

// isDamaged reports whether a thread has an unreadable record at a sequence or before.
func (s *Store) isDamaged(subject string, seq uint64) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	first := s.damage.subjects[subject]
	return first > 0 && first <= seq
}

// damagedRev is the revision of a thread with an unreadable record. No step follows it.
const damagedRev thread.Rev = "damaged"

// damaged returns a thread as its steps before an unreadable record show it. If it has not ended, nobody
// knows what came after: it has then failed with an unknown effect, as after damage of a data folder.
func damaged(r readThread, seq uint64, at time.Time) thread.Thread {
	t := thread.Thread{Envelope: r.envelope.Clone(), Messages: slices.Clone(r.messages)}
	t.Ver++
	what := fmt.Sprintf("the record %d of this thread in the store is unreadable, so the thread takes no more steps", seq)
	if t.Status.Terminal() {
		t.History = append(t.History, thread.HistoryEntry{Action: string(t.Status), At: at, By: thread.Self, Note: what})
		return t
	}
	t.Serial++
	m := mess.Message{
		From: thread.Self, Received: mess.TimeOf(at), Re: mess.Refs{t.Ref},
		Items: []mess.Item{&mess.Status{
			Code:        mess.Failed,
			Reason:      &mess.Reason{Type: "interrupted", Effect: mess.EffectUnknown, Detail: what},
			Recoverable: new(false), Suggestion: "look before retrying",
		}},
	}
	m.Ref = messeaf.MessageRef(t.Ref, t.Serial, m)
	t.Status, t.Phase, t.Updated, t.Op = mess.Failed, thread.Finished, at, ""
	t.Messages = append(t.Messages, m)
	t.History = append(t.History, thread.HistoryEntry{Action: string(mess.Failed), At: at, By: thread.Self, Ref: m.Ref, Note: what})
	return t
}

// blobTries is the number of times that the feed looks for the object of a record. An object store can be
// behind for a time, if its leader has changed.
const blobTries = 8

// skip passes over a record that the feed cannot read. It tries again if the object of the record is
// missing. A thread that has not ended becomes one that has failed with an unknown effect.
func (f *feed) skip(ctx context.Context, m jetstream.Msg, seq uint64, cause error) error {
	if f.missing.seq != seq {
		f.missing.seq, f.missing.tries = seq, 0
	}
	if f.missing.tries++; errors.Is(cause, thread.ErrNoBlob) && f.missing.tries < blobTries {
		return fmt.Errorf("sequence %d: %w", seq, cause)
	}
	u := Unreadable{Sequence: seq, Subject: m.Subject(), Reason: reason(cause)}
	isThread := strings.HasPrefix(m.Subject(), f.s.subject("t."))
	if !isThread {
		f.s.noteUnreadable(u, false)
		f.at = seq
		return nil
	}
	r, err := f.s.readSubject(ctx, m.Subject(), readThread{}, func(logformat.Record) {})
	if _, is := errors.AsType[*recordError](err); err != nil && !is {
		return err
	}
	u.Ref = r.envelope.Ref
	f.s.noteUnreadable(u, true)
	f.at = seq
	about, err := m.Metadata()
	if err != nil || r.seq == 0 || r.gone != nil || r.envelope.Status.Terminal() {
		return err
	}
	t := damaged(r, seq, about.Timestamp)
	return f.give(thread.Change{Envelope: t.Envelope, Messages: t.Messages[len(t.Messages)-1:], Rev: damagedRev})
}

// reason returns the text of an error about a record in one short line.
func reason(err error) string {
	text := strings.Join(strings.Fields(err.Error()), " ")
	if len(text) > 200 {
		text = strings.ToValidUTF8(text[:200], "") + "…"
	}
	return text
}

// recordError is about an unreadable record of a thread.
type recordError struct {
	seq uint64
	at  time.Time
	err error
}

func (e *recordError) Error() string { return fmt.Sprintf("sequence %d: %v", e.seq, e.err) }
func (e *recordError) Unwrap() error { return e.err }

// lastReadable returns the last record of a subject that parse can read, and the sequence of the last
// message. The next write replaces unreadable messages after that record. Without such a record the error is
// jetstream.ErrMsgNotFound: each writer leaves its last record, so nobody has written one. But an unreadable
// message can have replaced a record, or be the record of a writer: then the error is about that message.
func (s *Store) lastReadable(ctx context.Context, subject string, parse func(logformat.Record) error) (seq uint64, err error) {
	last, err := s.lastMsg(ctx, subject)
	if err != nil {
		return 0, err
	}
	try := func(m *jetstream.RawStreamMsg) error {
		r, err := s.record(ctx, m.Header, m.Data)
		if err == nil {
			err = unreadable(parse(r))
		}
		return err
	}
	if err = try(last); !isUnreadable(err) {
		return last.Sequence, err
	}
	cause := fmt.Errorf("sequence %d: %w", last.Sequence, err)
	s.noteUnreadable(Unreadable{Sequence: last.Sequence, Subject: subject, Reason: reason(err)}, false)
	found, hides := false, replaces(last)
	for at := uint64(1); ; {
		m, err := s.getMsg(ctx, at, subject)
		if errors.Is(err, jetstream.ErrMsgNotFound) || err == nil && m.Sequence > last.Sequence {
			return s.lastReadable(ctx, subject, parse) // somebody has replaced all of these
		}
		if err != nil {
			return 0, err
		}
		if m.Sequence == last.Sequence {
			break
		}
		if err := try(m); err == nil {
			found = true
		} else if !isUnreadable(err) {
			return 0, err
		}
		hides = hides || replaces(m)
		at = m.Sequence + 1
	}
	switch {
	case found:
		return last.Sequence, nil
	case hides:
		return 0, cause
	}
	return 0, jetstream.ErrMsgNotFound
}

// replaces reports whether a message has replaced the earlier ones of its subject, as each document and each
// index does.
func replaces(m *jetstream.RawStreamMsg) bool { return m.Header.Get(rollupHeader) != "" }
