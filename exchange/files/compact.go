package files

import (
	"context"
	"encoding/json"
	"iter"
	"maps"
	"slices"
	"time"

	"github.com/messkit/messkit/exchange"
)

const (
	// firstCompact is the size from which it pays to make the log anew, in bytes.
	firstCompact = 16 << 20
	// chunk bounds the messages of one record of a log made anew, in bytes of
	// JSON, so that no record comes near what the log takes. A single message
	// has at most 10 MB.
	chunk = 1 << 20
	// keptDays is for how long the serials of a day are kept: nobody makes a
	// thread for a day that is long gone.
	keptDays = 40
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

// compact makes the log anew from what is in memory. A thread that has ended
// and is in its folder, and on the disk, is there as a line of the index alone.
func (s *Store) compact(ctx context.Context) error {
	s.step.Lock()
	defer s.step.Unlock()
	if s.log.Size() <= s.next && s.next > 0 {
		return nil // somebody was quicker
	}
	err := s.log.Compact(ctx, s.records())
	s.next = 2*s.log.Size() + firstCompact
	return err
}

// shorten makes the log anew at the end, where the next start would read much
// that is in its folder meanwhile.
func (s *Store) shorten(ctx context.Context) error {
	if s.log.Size() < firstCompact/4 {
		return nil
	}
	s.step.Lock()
	s.next = s.log.Size() / 2
	s.step.Unlock()
	return s.compact(ctx)
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
		put(record{Days: s.index.recentDays(s.cfg.Now())})
		s.index.each(func(k *kept) bool {
			if k.whole == nil {
				put(record{Ended: &k.ended})
			} else {
				k.whole.records(put)
			}
			return going
		})
		for _, kind := range s.index.kinds() {
			for id, doc := range s.index.docsOf(kind) {
				put(record{Kind: kind, ID: id, Doc: doc})
			}
		}
	}
}

// records is the thread in as many records as its messages need.
func (w *whole) records(put func(record)) {
	put(record{Thread: &w.env, Binds: w.bound()})
	var part []json.RawMessage
	size := 0
	for _, m := range w.messages {
		if size > 0 && size+len(m) > chunk {
			put(record{Ref: w.env.Ref, Messages: part})
			part, size = nil, 0
		}
		part, size = append(part, m), size+len(m)
	}
	if len(part) > 0 {
		put(record{Ref: w.env.Ref, Messages: part})
	}
}

func (w *whole) bound() []exchange.Bind {
	var binds []exchange.Bind
	for name, sum := range w.binds {
		binds = append(binds, exchange.Bind{Name: name, SHA256: sum})
	}
	return binds
}

// used are the attachments that threads in memory name.
func (s *Store) used() map[string]bool {
	used := map[string]bool{}
	s.index.each(func(k *kept) bool {
		if k.whole != nil {
			for _, sum := range k.whole.binds {
				used[sum] = true
			}
		}
		return true
	})
	return used
}

func (x *index) recentDays(now time.Time) map[string]int {
	x.mu.RLock()
	defer x.mu.RUnlock()
	days := map[string]int{}
	from := now.AddDate(0, 0, -keptDays).Format(time.DateOnly)
	for day, serial := range x.serials {
		if day >= from {
			days[day] = serial
		}
	}
	return days
}

func (x *index) kinds() []string {
	x.mu.RLock()
	defer x.mu.RUnlock()
	return slices.Sorted(maps.Keys(x.docs))
}
