package files

import (
	"context"
	"encoding/json"
	"iter"

	"github.com/messkit/messkit/exchange"
	"github.com/messkit/messkit/mess"
)

const (
	// firstCompact is the size from which it pays to make the log anew, in bytes.
	firstCompact = 16 << 20
	// chunk bounds the messages of one record of a log made anew, in bytes of
	// JSON, so that no record comes near what the log takes. A single message
	// has at most 10 MB.
	chunk = 1 << 20
)

// grown makes the log anew where it has doubled since the last time.
func (s *Store) grown(ctx context.Context) {
	s.step.RLock()
	due := s.log.Size() > s.next
	s.step.RUnlock()
	if !due {
		return
	}
	// An error has broken the log, and every later step says so.
	_ = s.compact(context.WithoutCancel(ctx))
}

// compact makes the log anew from what is in memory.
func (s *Store) compact(ctx context.Context) error {
	s.step.Lock()
	defer s.step.Unlock()
	if s.next > 0 && s.log.Size() <= s.next && s.log.Size() <= firstCompact {
		return nil // somebody was quicker
	}
	err := s.log.Compact(ctx, s.records())
	s.next = 2*s.log.Size() + firstCompact
	return err
}

// records are all that is in memory.
func (s *Store) records() iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		going := true
		put := func(r record) {
			if data, err := json.Marshal(r); err == nil { // it was made by Unmarshal, or written so before
				going = going && yield(data)
			}
		}
		s.mem.Threads(func(t exchange.Thread) bool {
			s.thread(t, put)
			return going
		})
		for _, kind := range s.mem.Kinds() {
			docs, _ := s.mem.Docs(context.Background(), kind) // memory has no errors
			for id, doc := range docs {
				put(record{Kind: kind, ID: id, Doc: doc})
			}
		}
	}
}

// thread is a thread in as many records as its messages need.
func (s *Store) thread(t exchange.Thread, put func(record)) {
	all := t.Messages
	t.Messages = nil
	put(record{Thread: &t, Binds: s.bound(t.Ref)})
	var part []mess.Message
	size := 0
	for _, m := range all {
		text, _ := m.JSON() // never fails
		if size > 0 && size+len(text) > chunk {
			put(record{Ref: t.Ref, Messages: part})
			part, size = nil, 0
		}
		part, size = append(part, m), size+len(text)
	}
	if len(part) > 0 {
		put(record{Ref: t.Ref, Messages: part})
	}
}

func (s *Store) bound(ref string) []exchange.Bind {
	s.mu.Lock()
	defer s.mu.Unlock()
	var binds []exchange.Bind
	for name, sum := range s.names[ref] {
		binds = append(binds, exchange.Bind{Name: name, SHA256: sum})
	}
	return binds
}

// used are the attachments that threads name.
func (s *Store) used() map[string]bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	used := map[string]bool{}
	for _, names := range s.names {
		for _, sum := range names {
			used[sum] = true
		}
	}
	return used
}
