// Package referenceserver imitates the servers of the HTTP API that are in the field,
// as far as an executor meets them: their routes, codes, shapes and quirks stand
// in testdata, one file a server. It shares no code with what it tests.
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

// Names lists the servers that there are.
func Names() []string { return []string{"express", "php"} }

// quirks is what makes one server differ from another.
type quirks struct {
	Name   string
	Routes []struct {
		Method, Path, Does string
		Open               bool // without a key
	}
	Health     json.RawMessage
	Keeps      []string          // fields of a request; the others are dropped
	AlsoHints  string            `json:"also_hints"`  // another spelling of response_hint
	ExecutorOn []string          `json:"executor_on"` // statuses that make the caller the executor
	Statuses   map[string]string // that are taken, with the folder of each; none: any, and lists match exactly
	Priorities []string          // that are taken; none: any
	ID, Ref    string            // patterns; "": any
	BodyLimit  int64             `json:"body_limit"` // bytes; 0: none
	JSONOnly   bool              `json:"json_only"`  // a body of another content type counts as {}
	HTML       map[string]int    // what is told in HTML, with its code
	ETags      bool
	KeepAlive  string `json:"keep_alive"` // how long an idle connection lives; "": closed at once
	// Appends: an update decides on what it read first and then appends. Without
	// it the whole thread is written back as it was read, and what others have
	// written meanwhile is lost.
	Appends     bool
	Version     string // an item before the request; "": none
	Acks        bool   // the exchange speaks in the thread
	SaysStatus  bool   `json:"says_status"` // a status change is a message
	Bumps       bool   // updated moves with nothing, too
	EmptyToList bool   `json:"empties_to_lists"` // {} comes back as []
	TypeErrors  bool   `json:"type_errors"`      // wrong types are 500 without a body
	Time        string
	Errors      map[string]string
}

// Server imitates one of them. It is an http.Handler.
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
	Requestor string    `json:"requestor_id"`
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

// New makes the server of that name, with nothing in it.
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

// KeepAlive is how long the server keeps idle connections; 0: it closes each.
func (s *Server) KeepAlive() time.Duration {
	d, _ := time.ParseDuration(s.q.KeepAlive)
	return d
}

// Asked is how often something was asked for: Asked("PATCH", "update").
func (s *Server) Asked(method, does string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.asked[method+" "+does]
}

// Executors tells how many are registered.
func (s *Server) Executors() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.executors)
}

// SetLag says how long an update takes between its reading and its writing, for
// the races that these servers have; nil: no time.
func (s *Server) SetLag(lag func() time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lag = lag
}

// SetFault gives the server a fault: if it answers true, it has answered a
// request in the server's stead. nil: there is none.
func (s *Server) SetFault(fault func(w http.ResponseWriter, r *http.Request) bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.fault = fault
}

func (s *Server) ways() (lag func() time.Duration, fault func(http.ResponseWriter, *http.Request) bool) {
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

// ServeHTTP answers as the server in the field does, with its fault.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if _, fault := s.ways(); fault != nil && fault(w, r) {
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

// match returns what stands for the {names} of a pattern.
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

// Keep has the server keep other fields of requests as well.
func (s *Server) Keep(fields ...string) { s.q.Keeps = append(s.q.Keeps, fields...) }
