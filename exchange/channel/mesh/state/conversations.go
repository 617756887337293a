package state

import (
	"cmp"
	"errors"
	"fmt"
	"hash/crc32"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"
)

// Conversation is a question to several peers, in rounds (MESH 1.0 section 6, pattern 5).
type Conversation struct {
	ID                string        `json:"conversationId"`
	Type              string        `json:"type"` // rally
	From              string        `json:"from"`
	Question          string        `json:"question"`
	Subject           string        `json:"subject"`
	Participants      []string      `json:"participants"`
	ExpectedResponses int           `json:"expectedResponses"`
	ReceivedResponses int           `json:"receivedResponses"`
	Responses         []Answer      `json:"responses"`
	Rounds            []Round       `json:"rounds"`
	CurrentRound      int           `json:"currentRound"`
	Status            string        `json:"status"` // active, complete or timeout
	CreatedAt         time.Time     `json:"createdAt"`
	UpdatedAt         time.Time     `json:"updatedAt"`
	TTL               int64         `json:"ttl"` // seconds
	ExpiresAt         time.Time     `json:"expiresAt"`
	SentCount         int           `json:"sentCount"`
	FailedCount       int           `json:"failedCount"`
	Life              time.Duration `json:"-"`
}

// Round is one question of a conversation.
type Round struct {
	Round             int       `json:"round"`
	Question          string    `json:"question"`
	TS                time.Time `json:"ts"`
	Responses         []Answer  `json:"responses"`
	Status            string    `json:"status"` // pending, partial, complete or superseded
	ExpectedResponses int       `json:"expectedResponses"`
	ReceivedResponses int       `json:"receivedResponses"`
}

// Answer is the answer of one participant.
type Answer struct {
	From    string    `json:"from"`
	Agent   string    `json:"agent"`
	TS      time.Time `json:"ts"`
	Status  string    `json:"status"`
	Summary string    `json:"summary"` // at most 200 characters
	Body    string    `json:"body"`    // the whole answer
}

const (
	pending  = "pending"
	partial  = "partial"
	complete = "complete"
	timedOut = "timeout"
)

func conversationFile(id string) string { return filepath.Join(conversationsDir, safe(id)+".json") }

// Begin starts a conversation, or the next round of an existing one.
func (s *Store) Begin(id string, c Conversation) (Conversation, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := *stamped(s.now())
	was, err := s.conversation(id)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return Conversation{}, err
	}
	if err == nil {
		for i := range was.Rounds {
			if was.Rounds[i].Status == pending || was.Rounds[i].Status == partial {
				was.Rounds[i].Status = "superseded"
			}
		}
		was.Question, was.Subject, was.Participants, was.Life = c.Question, c.Subject, c.Participants, c.Life
		c = was
	} else {
		c.ID, c.Type, c.CreatedAt = id, "rally", now
	}
	c.CurrentRound++
	c.Status, c.UpdatedAt = active, now
	c.TTL, c.ExpiresAt = int64(c.Life/time.Second), now.Add(c.Life)
	c.ExpectedResponses, c.ReceivedResponses, c.Responses, c.SentCount, c.FailedCount = len(c.Participants), 0, []Answer{}, 0, 0
	c.Rounds = append(c.Rounds, Round{Round: c.CurrentRound, Question: c.Question, TS: now, Responses: []Answer{}, Status: pending, ExpectedResponses: len(c.Participants)})
	return c, s.write(conversationFile(id), c)
}

// Conversation reads a conversation.
func (s *Store) Conversation(id string) (Conversation, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.conversation(id)
}

func (s *Store) conversation(id string) (Conversation, error) {
	var c Conversation
	if err := read(s, conversationFile(id), &c); err != nil {
		return Conversation{}, err
	}
	if c.ID != id {
		return Conversation{}, fmt.Errorf("conversation %q: %w", id, fs.ErrNotExist)
	}
	return c, nil
}

// Sent records whether a peer has got the question of the current round.
func (s *Store) Sent(id string, ok bool) error {
	return s.change(id, func(c *Conversation) {
		if ok {
			c.SentCount++
		} else {
			c.FailedCount++
		}
	})
}

// Answered records the answer of a participant to the current round. It replaces an earlier
// answer.
func (s *Store) Answered(id string, answer Answer) error {
	answer.TS, answer.Agent = *stamped(s.now()), answer.From
	if runes := []rune(answer.Body); len(runes) > 200 {
		answer.Summary = string(runes[:200])
	} else {
		answer.Summary = answer.Body
	}
	return s.change(id, func(c *Conversation) {
		if !slices.Contains(c.Participants, answer.From) || len(c.Rounds) == 0 {
			return
		}
		r := &c.Rounds[len(c.Rounds)-1]
		put := func(list []Answer) []Answer {
			list = slices.DeleteFunc(slices.Clone(list), func(o Answer) bool { return o.From == answer.From })
			return append(list, answer)
		}
		r.Responses, c.Responses = put(r.Responses), put(c.Responses)
		r.ReceivedResponses, c.ReceivedResponses = len(r.Responses), len(r.Responses)
		r.Status = partial
		if len(r.Responses) >= r.ExpectedResponses {
			r.Status, c.Status = complete, complete
		}
	})
}

// TimedOut records that the time for answers has passed.
func (s *Store) TimedOut(id string) error {
	return s.change(id, func(c *Conversation) {
		if c.Status == active {
			c.Status = timedOut
		}
	})
}

func (s *Store) change(id string, f func(*Conversation)) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	c, err := s.conversation(id)
	if err != nil {
		return err
	}
	f(&c)
	c.UpdatedAt = *stamped(s.now())
	return s.write(conversationFile(id), c)
}

// Session is the history of a session.
type Session struct {
	Key          string      `json:"sessionKey"`
	Created      time.Time   `json:"created"`
	LastActivity time.Time   `json:"lastActivity"`
	Status       string      `json:"status"`
	Participants []string    `json:"participants"`
	Messages     []InSession `json:"messages"`
}

// InSession is a message in a session.
type InSession struct {
	From          string    `json:"from"`
	To            string    `json:"to"`
	Type          string    `json:"type"`
	Subject       string    `json:"subject"`
	Body          string    `json:"body"`
	Timestamp     time.Time `json:"timestamp"`
	MsgID         string    `json:"msgId"`
	CorrelationID string    `json:"correlationId"`
}

const (
	maxInSession = 200
	maxSessions  = 500
)

// InSession adds a message to its session.
func (s *Store) InSession(key string, m InSession) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	file := safe(key)
	if file != key { // two keys must not share a file
		file = fmt.Sprintf("%s-%08x", file, crc32.ChecksumIEEE([]byte(key)))
	}
	name := filepath.Join(sessionsDir, file+".json")
	var c Session
	if err := read(s, name, &c); err != nil {
		return err
	}
	now := *stamped(s.now())
	if c.Key != key {
		s.removeOldest(sessionsDir, maxSessions-1)
		c = Session{Key: key, Created: now}
	}
	for _, peer := range []string{m.From, m.To} {
		if !slices.Contains(c.Participants, peer) {
			c.Participants = append(c.Participants, peer)
		}
	}
	c.Status, c.LastActivity = active, now
	c.Messages = append(c.Messages, m)
	c.Messages = c.Messages[max(0, len(c.Messages)-maxInSession):]
	return s.write(name, c)
}

// removeOldest keeps at most most files of a folder, and removes those with the oldest changes.
func (s *Store) removeOldest(dir string, most int) {
	entries, err := os.ReadDir(filepath.Join(s.dir, dir))
	if err != nil || len(entries) <= most {
		return
	}
	age := func(e os.DirEntry) time.Time {
		info, err := e.Info()
		if err != nil {
			return time.Time{}
		}
		return info.ModTime()
	}
	slices.SortFunc(entries, func(a, b os.DirEntry) int { return cmp.Compare(age(a).UnixNano(), age(b).UnixNano()) })
	for _, e := range entries[:len(entries)-most] {
		if err := os.Remove(filepath.Join(s.dir, dir, e.Name())); err != nil {
			s.log.Warn("mesh: an old file stays", "err", err)
		}
	}
}
