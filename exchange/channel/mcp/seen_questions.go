package mcp

import (
	"strconv"
	"sync"
)

// maxSeen is how many questions of all sessions a server remembers. A session
// sees a forgotten question a second time, which costs one call.
const maxSeen = 1024

// seenQuestions remembers which open questions a result has shown to which
// session.
type seenQuestions struct {
	mu    sync.Mutex
	known map[string]bool
	order []string // oldest first
}

// questionKey names the open question of a thread for one session, "" if none is
// open. A question that is answered in part is another one.
func questionKey(session string, t Thread) string {
	q, ok := openQuestion(t)
	if !ok {
		return ""
	}
	return session + " " + t.Ref + " " + q.ref + " " + strconv.Itoa(len(q.open))
}

// isNew reports whether a thread has an open question that the session has not
// seen.
func (s *seenQuestions) isNew(session string, t Thread) bool {
	key := questionKey(session, t)
	s.mu.Lock()
	defer s.mu.Unlock()
	return key != "" && !s.known[key]
}

// markSeen records that a result shows the open question of a thread.
func (s *seenQuestions) markSeen(session string, t Thread) {
	key := questionKey(session, t)
	s.mu.Lock()
	defer s.mu.Unlock()
	if key == "" || s.known[key] {
		return
	}
	if s.known == nil {
		s.known = map[string]bool{}
	}
	if len(s.order) == maxSeen {
		delete(s.known, s.order[0])
		s.order = append(s.order[:0:0], s.order[1:]...)
	}
	s.known[key] = true
	s.order = append(s.order, key)
}

// session names the session of a call; "" over stdio, which has one.
func (c *call) session() string { return c.req.Session.ID() }
