package exchange

import (
	"sync"
	"time"

	"github.com/messkit/messkit/mess/messeaf"
)

// isRef reports whether a text looks like the ref of a thread.
func isRef(text string) bool {
	day, _, ok := messeaf.ParseRef(messeaf.ThreadRef(text))
	_, err := time.Parse(time.DateOnly, day)
	return ok && err == nil
}

// maxRefs limits the refs that the exchange tries for one thread.
const maxRefs = 40

// newRef returns a ref that this exchange has not used. After each refused ref it skips more
// numbers, because other processes may have used the next ones.
func (x *Exchange) newRef(s submission, now time.Time, refused int) string {
	day := now.Format(time.DateOnly)
	return messeaf.Ref(day, x.serials.next(day, 1<<min(max(0, refused-1), 16)), messeaf.Token(s.req.ID))
}

// serials has the highest serial of the refs of each day.
type serials struct {
	mu   sync.Mutex
	last map[string]int
}

// next adds by to the highest serial of a day, and returns it.
func (s *serials) next(day string, by int) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.last[day] += by
	return s.last[day]
}

// record records the serial of a ref.
func (s *serials) record(ref string) {
	day, serial, ok := messeaf.ParseRef(ref)
	s.mu.Lock()
	defer s.mu.Unlock()
	if ok {
		s.last[day] = max(s.last[day], serial)
	}
}
