package main

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"strconv"
	"strings"
	"sync"
)

// story is a thread from the view of its clients: a sequence of steps. Each step has a word that
// occurs in one message of the thread only.
type story struct {
	id      string
	picture string // inline in the request, "" for none
	file    string // attached by the executor, "" for none
	steps   []step
	ref     string
	acked   int // number of steps with a success response
}

// step is one call in a story.
type step struct {
	executor     bool // the executor calls, else the requester
	method, path string
	body         string
	word         string // in the message that it stores, "" if it stores none
	status       string // of the thread after the step
}

// inline is the image of a camera: 300 KB of incompressible data.
var inline = sync.OnceValue(func() string {
	data := make([]byte, 300<<10)
	seed := rand.NewChaCha8([32]byte{1})
	_, _ = seed.Read(data) // never fails
	return "data:image/jpeg;base64," + base64.StdEncoding.EncodeToString(data)
})

// The plots of stories.
const (
	plotAsked = iota
	plotCancelled
	plotAnswered
	plotFinished
	plots
)

// newStory returns a story with that plot.
func newStory(id string, plot int, picture bool) *story {
	s := &story{id: id}
	if picture {
		s.picture = inline()
	}
	s.then(step{method: http.MethodPost, path: "/requests", body: s.request(), status: "pending"})
	claim := step{executor: true, body: `{"status":"claimed","message":%q}`, status: "claimed"}
	switch plot {
	case plotCancelled:
		s.then(step{body: `{"status":"cancelled","message":%q}`, status: "cancelled"})
	case plotAnswered:
		s.then(claim)
		s.then(step{executor: true, body: `{"mess":[{"status":{"code":"needs_input","questions":[{"field":"where","question":%q}]}}]}`, status: "needs_input"})
		s.then(step{body: `{"mess":[{"answer":{"field":"where","value":%q}}]}`, status: "in_progress"})
	case plotFinished:
		s.then(claim)
		s.then(step{executor: true, body: `{"status":"in_progress","message":%q}`, status: "in_progress"})
		s.attach()
	}
	return s
}

// request returns the body that creates the thread.
func (s *story) request() string {
	body := map[string]any{"id": s.id, "intent": s.intent()}
	if s.picture != "" {
		body["context"] = []any{map[string]any{"image": s.picture}}
	}
	text, _ := json.Marshal(body) // has only strings
	return string(text)
}

// intent returns the text of the first message, which lists also contain.
func (s *story) intent() string { return s.word(0) }

// word returns the word of the nth step. The brackets distinguish it from longer numbers.
func (s *story) word(n int) string { return fmt.Sprintf("(%s:%d)", s.id, n) }

// then adds a step, with its word in the body.
func (s *story) then(next step) {
	next.word = s.word(len(s.steps))
	if next.method == "" {
		next.method, next.body = http.MethodPatch, fmt.Sprintf(next.body, next.word)
	}
	s.steps = append(s.steps, next)
}

// attach adds two steps: the upload of a file, and the last message, which names the file.
func (s *story) attach() {
	s.file = strings.Repeat(s.id+" ", 2000)
	sum := sha256.Sum256([]byte(s.file))
	s.steps = append(s.steps, step{executor: true, method: http.MethodPut, path: "/attachments/x.jpg", body: s.file, status: "in_progress"})
	s.then(step{
		executor: true, status: "completed",
		body: `{"status":"completed","mess":[{"response":{"content":[%q,{"image":{"file":"x.jpg","mime":"image/jpeg","size":` +
			strconv.Itoa(len(s.file)) + `,"sha256":"` + hex.EncodeToString(sum[:]) + `"}}]}}]}`,
	})
}

// take takes the next step of the story. It returns the status code, 0 without a response, and a
// function that counts the step if it succeeded.
func (s *story) take(d *door) (code int, note func()) {
	next := s.steps[s.acked]
	key, path := d.operator, next.path
	if next.executor {
		key = d.executor
	}
	if s.acked > 0 {
		path = "/requests/" + s.ref + next.path
	}
	code, data, err := d.call(key, next.method, path, next.body)
	if err != nil {
		return 0, func() {}
	}
	var v struct {
		Ref string `json:"ref"`
	}
	first := s.acked == 0
	if code != http.StatusOK && code != http.StatusCreated || json.Unmarshal(data, &v) != nil || first && v.Ref == "" {
		return code, func() {}
	}
	return code, func() {
		s.acked++
		if first {
			s.ref = v.Ref
		}
	}
}

// ledger contains the stories of an exchange with their acknowledgements. It shares no code with
// the store.
type ledger struct {
	*door
	pictures int // one request in this many has an image; 0: few
	// A step holds pen for reading; hold it for writing to pause all steps.
	pen sync.RWMutex

	mu      sync.Mutex
	stories []*story
}

// begin adds a new story.
func (l *ledger) begin(s *story) *story {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.stories = append(l.stories, s)
	return s
}

// tell takes the steps of a story until one fails, and returns the code of the last response.
func (l *ledger) tell(ctx context.Context, s *story) int {
	code := 0
	for range s.steps {
		if ctx.Err() != nil {
			break
		}
		l.pen.RLock()
		was := s.acked
		var note func()
		code, note = s.take(l.door)
		l.mu.Lock()
		note()
		l.mu.Unlock()
		l.pen.RUnlock()
		if s.acked == was {
			break
		}
	}
	return code
}

// load runs stories until the context ends.
func (l *ledger) load(ctx context.Context, name string) error {
	for i := 0; ctx.Err() == nil; i++ {
		s := l.begin(newStory(fmt.Sprintf("%s-%d", name, i), i%plots, rand.IntN(cmp.Or(l.pictures, 32)) == 0))
		if code := l.tell(ctx, s); ctx.Err() == nil && s.acked < len(s.steps) {
			return fmt.Errorf("%s: step %d: %d", s.id, s.acked, code)
		}
	}
	return nil
}

// acknowledged returns a copy of all stories in their current state.
func (l *ledger) acknowledged() []story {
	l.mu.Lock()
	defer l.mu.Unlock()
	list := make([]story, len(l.stories))
	for i, s := range l.stories {
		list[i] = *s
	}
	return list
}
