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

// story is a thread as those know it who make it: steps, one after the other,
// each with a word that stands in one message of the thread and nowhere else.
type story struct {
	id      string
	picture string // inline in the request, "" for none
	file    string // attached by the executor, "" for none
	steps   []step
	ref     string
	acked   int // steps that were answered with success
}

// step is one call in a story.
type step struct {
	executor     bool // it is the executor who calls, else the requester
	method, path string
	body         string
	word         string // in the message that it stores, "" if it stores none
	status       string // of the thread afterwards
}

// inline is what a camera sends: 300 KB that no compression makes smaller.
var inline = sync.OnceValue(func() string {
	data := make([]byte, 300<<10)
	seed := rand.NewChaCha8([32]byte{1})
	_, _ = seed.Read(data) // never fails
	return "data:image/jpeg;base64," + base64.StdEncoding.EncodeToString(data)
})

// The plots that stories have.
const (
	plotAsked = iota
	plotCancelled
	plotAnswered
	plotFinished
	plots
)

// newStory makes a story of that plot.
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

// request is the body that makes the thread.
func (s *story) request() string {
	body := map[string]any{"id": s.id, "intent": s.intent()}
	if s.picture != "" {
		body["context"] = []any{map[string]any{"image": s.picture}}
	}
	text, _ := json.Marshal(body) // has only strings
	return string(text)
}

// intent stands in the first message, and in lists.
func (s *story) intent() string { return s.word(0) }

// word is what is said in the nth step; the brackets keep it apart from the words
// of longer numbers.
func (s *story) word(n int) string { return fmt.Sprintf("(%s:%d)", s.id, n) }

// then adds a step; the word goes into its body.
func (s *story) then(next step) {
	next.word = s.word(len(s.steps))
	if next.method == "" {
		next.method, next.body = http.MethodPatch, fmt.Sprintf(next.body, next.word)
	}
	s.steps = append(s.steps, next)
}

// attach adds the steps in which a file is staged, and then named by what ends
// the story.
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

// take takes the story's next step. It reports the code, 0 if there was no
// answer; only success makes it a step that was acknowledged.
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

// ledger is what was told to an exchange, and what it has acknowledged. It
// shares no code with the store.
type ledger struct {
	*door
	pictures int // one request in so many has one; 0: in few
	// pen is held for reading during a step, and for writing to have none.
	pen sync.RWMutex

	mu      sync.Mutex
	stories []*story
}

// begin writes a new story down.
func (l *ledger) begin(s *story) *story {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.stories = append(l.stories, s)
	return s
}

// tell takes the steps of a story until one is not acknowledged, and returns
// the code of the last answer.
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

// load tells stories until the context ends.
func (l *ledger) load(ctx context.Context, name string) error {
	for i := 0; ctx.Err() == nil; i++ {
		s := l.begin(newStory(fmt.Sprintf("%s-%d", name, i), i%plots, rand.IntN(cmp.Or(l.pictures, 32)) == 0))
		if code := l.tell(ctx, s); ctx.Err() == nil && s.acked < len(s.steps) {
			return fmt.Errorf("%s: step %d: %d", s.id, s.acked, code)
		}
	}
	return nil
}

// acknowledged is a copy of all stories as they are now.
func (l *ledger) acknowledged() []story {
	l.mu.Lock()
	defer l.mu.Unlock()
	list := make([]story, len(l.stories))
	for i, s := range l.stories {
		list[i] = *s
	}
	return list
}
