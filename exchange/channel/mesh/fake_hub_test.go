package mesh_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/messkit/messkit/exchange/channel/mesh/wire"
)

// hub is a peer that records the messages to it.
type hub struct {
	*httptest.Server
	mu       sync.Mutex
	got      []wire.Envelope
	hooks    []wire.Hook
	heads    []http.Header
	paths    []string
	code     int
	arrived  chan struct{}
	answered func(wire.Envelope) // called for each message; nil for none
}

func newHub(t testing.TB) *hub {
	t.Helper()
	h := &hub{code: http.StatusAccepted, arrived: make(chan struct{}, 1000)}
	h.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodGet {
			return // healthy
		}
		body, _ := io.ReadAll(r.Body)
		hook, err := wire.ParseHook(body)
		if err != nil {
			t.Errorf("%s: %v", body, err)
		}
		e, err := wire.Parse(hook.Message)
		if err != nil {
			t.Errorf("%s: %v", body, err)
		}
		h.mu.Lock()
		h.got, h.hooks, h.heads, h.paths = append(h.got, e), append(h.hooks, hook), append(h.heads, r.Header), append(h.paths, r.URL.Path)
		code, answer := h.code, h.answered
		h.mu.Unlock()
		if answer != nil {
			answer(e)
		}
		w.WriteHeader(code)
		h.arrived <- struct{}{}
	}))
	t.Cleanup(h.Close)
	return h
}

// patience is the time limit for events.
const patience = time.Minute

// wait waits for a message that fits, and returns it with its hook.
func (h *hub) wait(t testing.TB, fits func(wire.Envelope) bool) (wire.Envelope, wire.Hook) {
	t.Helper()
	end := time.After(patience)
	for {
		h.mu.Lock()
		for i, e := range h.got {
			if fits(e) {
				hook := h.hooks[i]
				h.mu.Unlock()
				return e, hook
			}
		}
		h.mu.Unlock()
		select {
		case <-h.arrived:
		case <-end:
			h.mu.Lock()
			defer h.mu.Unlock()
			t.Fatalf("not within %v; there were %+v", patience, h.got)
		}
	}
}

// place returns the path and the header of the nth message.
func (h *hub) place(n int) (path string, head http.Header) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.paths[n], h.heads[n]
}

// all returns the received messages.
func (h *hub) all() []wire.Envelope {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Clone(h.got)
}

// responseTo selects the response to a request.
func responseTo(id string) func(wire.Envelope) bool {
	return func(e wire.Envelope) bool { return e.Type == wire.Response && e.CorrelationID == id }
}

// questionOf selects a question.
func questionOf(e wire.Envelope) bool { return e.Type == wire.Request }
