// Package referenceserver imitates the MESS reference servers of the HTTP API, as far as an
// executor depends on them. testdata contains their routes, codes, shapes and quirks, one file
// for each server. The package shares no code with the packages under test.
package referenceserver

import (
	"embed"
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"sync"
	"time"
)

//go:embed testdata/*.json
var data embed.FS

// Names lists the names of the servers.
func Names() []string { return []string{"express", "php"} }

// quirks are the differences between the servers.
type quirks struct {
	Name   string
	Routes []struct {
		Method, Path, Does string
		Open               bool // without a key
	}
	Health     json.RawMessage
	Keeps      []string          // fields of a request that it stores; it drops the others
	AlsoHints  string            `json:"also_hints"`  // another spelling of response_hint
	ExecutorOn []string          `json:"executor_on"` // statuses that make the caller the executor
	Statuses   map[string]string // accepted statuses, with the folder of each; none: any, and lists match exactly
	Priorities []string          // accepted priorities; none: any
	ID, Ref    string            // patterns; "": any
	BodyLimit  int64             `json:"body_limit"` // bytes; 0: none
	JSONOnly   bool              `json:"json_only"`  // a body of another content type counts as {}
	HTML       map[string]int    // errors in HTML, with their codes
	ETags      bool
	KeepAlive  string `json:"keep_alive"` // lifetime of an idle connection; "": the server closes it immediately
	// Appends: an update decides on its first read and then appends. Otherwise it writes the
	// whole thread back as it has read it, and loses concurrent changes.
	Appends     bool
	Version     string // an item before the request; "": none
	Acks        bool   // the exchange posts messages in the thread
	SaysStatus  bool   `json:"says_status"` // a status change is a message
	Bumps       bool   // updated also changes with an empty update
	EmptyToList bool   `json:"empties_to_lists"` // it returns {} as []
	TypeErrors  bool   `json:"type_errors"`      // wrong types are 500 without a body
	Time        string
	Errors      map[string]string
}

// Server imitates a reference server. It is an http.Handler.
type Server struct {
	// Now is the server's clock; nil: time.Now.
	Now func() time.Time

	q       quirks
	id, ref *regexp.Regexp

	mu        sync.Mutex
	lag       func() time.Duration
	fault     func(w http.ResponseWriter, r *http.Request) bool
	executors []*executor
	threads   map[string]*thread
	serial    int
	asked     map[string]int // by method and route
}

type executor struct {
	exchange, key string
	doc           map[string]any
}

type thread struct {
	Ref       string    `json:"ref"`
	Status    any       `json:"status"`
	Intent    any       `json:"intent"`
	Requester string    `json:"requestor_id"`
	Executor  *string   `json:"executor_id"`
	Priority  any       `json:"priority"`
	Created   string    `json:"created_at"`
	Updated   string    `json:"updated_at"`
	Messages  []message `json:"messages,omitempty"`

	order int // of the last change
}

type message struct {
	From string `json:"from"`
	TS   string `json:"ts"`
	MESS any    `json:"mess"`
}

// New makes the server of that name, without executors and threads.
func New(name string) (*Server, error) {
	text, err := data.ReadFile("testdata/" + name + ".json")
	if err != nil {
		return nil, err
	}
	s := &Server{threads: map[string]*thread{}, asked: map[string]int{}}
	if err := json.Unmarshal(text, &s.q); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	s.id, s.ref = regexp.MustCompile(s.q.ID), regexp.MustCompile(s.q.Ref)
	return s, nil
}

// KeepAlive returns the lifetime of idle connections; 0: the server closes each one immediately.
func (s *Server) KeepAlive() time.Duration {
	d, _ := time.ParseDuration(s.q.KeepAlive)
	return d
}

// RequestCount returns the number of requests for a method and route: RequestCount("PATCH", "update").
func (s *Server) RequestCount(method, does string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.asked[method+" "+does]
}

// Executors returns the number of registered executors.
func (s *Server) Executors() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.executors)
}

// SetLag sets the time between the read and the write of an update, to provoke the races of
// these servers; nil: no time.
func (s *Server) SetLag(lag func() time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lag = lag
}

// SetFault sets a handler that can answer requests in place of the server: it returns true after
// it has answered. nil removes it.
func (s *Server) SetFault(fault func(w http.ResponseWriter, r *http.Request) bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.fault = fault
}

func (s *Server) network() (lag func() time.Duration, fault func(http.ResponseWriter, *http.Request) bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.lag, s.fault
}

func (s *Server) now() time.Time {
	if s.Now != nil {
		return s.Now()
	}
	return time.Now()
}

func (s *Server) stamp() string { return s.now().UTC().Format(s.q.Time) }

// ServeHTTP answers like the reference server, with its fault.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if _, fault := s.network(); fault != nil && fault(w, r) {
		return
	}
	s.Answer(w, r)
}

// Answer answers without the fault.
func (s *Server) Answer(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Access-Control-Allow-Origin", "*")
	w.Header().Set("Date", s.now().UTC().Format(http.TimeFormat))
	if s.q.KeepAlive == "" {
		w.Header().Set("Connection", "close")
	}
	if r.Method == http.MethodOptions {
		w.WriteHeader(http.StatusNoContent)
		return
	}
	c := &call{Server: s, w: w, r: r}
	c.serve()
}

// match returns the values of the {names} of a pattern.
func match(pattern, path string) (map[string]string, bool) {
	want, have := strings.Split(pattern, "/"), strings.Split(path, "/")
	if len(want) != len(have) {
		return nil, false
	}
	names := map[string]string{}
	for i, w := range want {
		if strings.HasPrefix(w, "{") {
			names[strings.Trim(w, "{}")] = have[i]
		} else if w != have[i] {
			return nil, false
		}
	}
	return names, true
}

// Keep makes the server store further fields of requests.
func (s *Server) Keep(fields ...string) { s.q.Keeps = append(s.q.Keeps, fields...) }
