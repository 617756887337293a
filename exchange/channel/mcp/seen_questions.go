package mcp

import (
	"strconv"
	"sync"
)

// maxSeen is how many questions of all sessions a server remembers. A session sees a forgotten
// question a second time, which costs one call.
const maxSeen = 1024

// seenQuestions remembers which session has seen which open question. It is safe for concurrent
// use.
type seenQuestions struct {
	mu    sync.Mutex
	known map[string]bool
	order []string // oldest first
}

// questionKey identifies the open question of a thread in one session, or returns "". A partial
// answer makes it another question.
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

// session returns the session of a call. It is "" over stdio, which has one session.
func (c *call) session() string { return c.req.Session.ID() }
