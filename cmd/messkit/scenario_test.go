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

// scenario is a thread from the view of its clients: a sequence of steps. Each step has a marker that
// occurs in one message of the thread only.
type scenario struct {
	id      string
	picture string // inline in the request, "" for none
	file    string // attached by the executor, "" for none
	steps   []step
	ref     string
	acked   int // number of steps with a success response
}

// step is one call in a scenario.
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

// The scripts of scenarios.
const (
	scriptAsked = iota
	scriptCancelled
	scriptAnswered
	scriptFinished
	scripts
)

// newScenario returns a scenario with that script.
func newScenario(id string, script int, picture bool) *scenario {
	s := &scenario{id: id}
	if picture {
		s.picture = inline()
	}
	s.addStep(step{method: http.MethodPost, path: "/requests", body: s.request(), status: "pending"})
	claim := step{executor: true, body: `{"status":"claimed","message":%q}`, status: "claimed"}
	switch script {
	case scriptCancelled:
		s.addStep(step{body: `{"status":"cancelled","message":%q}`, status: "cancelled"})
	case scriptAnswered:
		s.addStep(claim)
		s.addStep(step{executor: true, body: `{"mess":[{"status":{"code":"needs_input","questions":[{"field":"where","question":%q}]}}]}`, status: "needs_input"})
		s.addStep(step{body: `{"mess":[{"answer":{"field":"where","value":%q}}]}`, status: "in_progress"})
	case scriptFinished:
		s.addStep(claim)
		s.addStep(step{executor: true, body: `{"status":"in_progress","message":%q}`, status: "in_progress"})
		s.addAttachmentSteps()
	}
	return s
}

// request returns the body that creates the thread.
func (s *scenario) request() string {
	body := map[string]any{"id": s.id, "intent": s.intent()}
	if s.picture != "" {
		body["context"] = []any{map[string]any{"image": s.picture}}
	}
	text, _ := json.Marshal(body) // has only strings
	return string(text)
}

// intent returns the text of the first message, which lists also contain.
func (s *scenario) intent() string { return s.marker(0) }

// marker returns the marker of the nth step. The brackets distinguish it from longer numbers.
func (s *scenario) marker(n int) string { return fmt.Sprintf("(%s:%d)", s.id, n) }

// addStep adds a step, with its marker in the body.
func (s *scenario) addStep(next step) {
	next.word = s.marker(len(s.steps))
	if next.method == "" {
		next.method, next.body = http.MethodPatch, fmt.Sprintf(next.body, next.word)
	}
	s.steps = append(s.steps, next)
}

// addAttachmentSteps adds two steps: the upload of a file, and the last message, which names the file.
func (s *scenario) addAttachmentSteps() {
	s.file = strings.Repeat(s.id+" ", 2000)
	sum := sha256.Sum256([]byte(s.file))
	s.steps = append(s.steps, step{executor: true, method: http.MethodPut, path: "/attachments/x.jpg", body: s.file, status: "in_progress"})
	s.addStep(step{
		executor: true, status: "completed",
		body: `{"status":"completed","mess":[{"response":{"content":[%q,{"image":{"file":"x.jpg","mime":"image/jpeg","size":` +
			strconv.Itoa(len(s.file)) + `,"sha256":"` + hex.EncodeToString(sum[:]) + `"}}]}}]}`,
	})
}

// takeStep takes the next step of the scenario. It returns the status code, 0 without a response, and a
// function that counts the step if it succeeded.
func (s *scenario) takeStep(d *apiClient) (code int, note func()) {
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

// scenarioLog contains the scenarios of an exchange with their acknowledgements. It shares no code with
// the store.
type scenarioLog struct {
	*apiClient
	pictures int // one request in this many has an image; 0: few
	// A step holds pen for reading; hold it for writing to pause all steps.
	pen sync.RWMutex

	mu      sync.Mutex
	stories []*scenario
}

// add adds a new scenario.
func (l *scenarioLog) add(s *scenario) *scenario {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.stories = append(l.stories, s)
	return s
}

// run takes the steps of a scenario until one fails, and returns the code of the last response.
func (l *scenarioLog) run(ctx context.Context, s *scenario) int {
	code := 0
	for range s.steps {
		if ctx.Err() != nil {
			break
		}
		l.pen.RLock()
		was := s.acked
		var note func()
		code, note = s.takeStep(l.apiClient)
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

// runUntilDone runs scenarios until the context ends.
func (l *scenarioLog) runUntilDone(ctx context.Context, name string) error {
	for i := 0; ctx.Err() == nil; i++ {
		s := l.add(newScenario(fmt.Sprintf("%s-%d", name, i), i%scripts, rand.IntN(cmp.Or(l.pictures, 32)) == 0))
		if code := l.run(ctx, s); ctx.Err() == nil && s.acked < len(s.steps) {
			return fmt.Errorf("%s: step %d: %d", s.id, s.acked, code)
		}
	}
	return nil
}

// acknowledged returns a copy of all scenarios in their current state.
func (l *scenarioLog) acknowledged() []scenario {
	l.mu.Lock()
	defer l.mu.Unlock()
	list := make([]scenario, len(l.stories))
	for i, s := range l.stories {
		list[i] = *s
	}
	return list
}
