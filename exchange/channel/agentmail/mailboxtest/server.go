// Package mailboxtest has an MCP Agent Mail server for tests. It runs in this process, and gives
// the answers that a real server was observed to give. Its recorded calls are in testdata.
package mailboxtest

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"sync"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// Server is a mail server.
type Server struct {
	URL string // with its path

	mu       sync.Mutex
	changed  *sync.Cond
	bearer   string
	agents   map[string]*agent // by project and name
	mails    []*Mail
	contacts map[string]bool // from>to
	acked    map[int64]bool
	fail     func(tool string, after bool) error
	http     *httptest.Server
	handler  http.Handler // of MCP
	names    int
}

// agent is a registered agent.
type agent struct {
	project, name, token, policy string
	retired                      bool
}

// Mail is a mail on the server.
type Mail struct {
	ID        int64
	Project   string
	From, To  string
	Subject   string
	Body      string
	Thread    string
	Created   time.Time
	Ack       bool
	Delivered bool
}

// New starts a server without sessions. bearer is the token of its clients; "" for none.
func New(bearer string) *Server { return start(bearer, true) }

// NewWithSessions starts a server that gives every client a session, as later versions do. forget
// drops all sessions, as a restart does.
func NewWithSessions(bearer string) (s *Server, forget func()) {
	s = start(bearer, false)
	return s, func() { s.serve(false) }
}

func start(bearer string, stateless bool) *Server {
	s := &Server{bearer: bearer, agents: map[string]*agent{}, contacts: map[string]bool{}, acked: map[int64]bool{}}
	s.changed = sync.NewCond(&s.mu)
	s.serve(stateless)
	s.http = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if s.bearer != "" && r.Header.Get("Authorization") != "Bearer "+s.bearer {
			w.WriteHeader(http.StatusUnauthorized)
			_, _ = w.Write([]byte(`{"detail":"Unauthorized"}`))
			return
		}
		s.mu.Lock()
		h := s.handler
		s.mu.Unlock()
		h.ServeHTTP(w, r)
	}))
	s.URL = s.http.URL + "/mcp/"
	return s
}

// serve replaces the MCP server.
func (s *Server) serve(stateless bool) {
	m := sdk.NewServer(&sdk.Implementation{Name: "mail", Version: "0"}, &sdk.ServerOptions{
		Capabilities: &sdk.ServerCapabilities{Tools: &sdk.ToolCapabilities{}, Resources: &sdk.ResourceCapabilities{}},
	})
	for name, do := range tools {
		m.AddTool(&sdk.Tool{Name: name, InputSchema: map[string]any{"type": "object"}}, func(_ context.Context, r *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
			return s.call(name, do, r.Params.Arguments)
		})
	}
	m.AddResourceTemplate(&sdk.ResourceTemplate{URITemplate: "resource://outbox/{agent}{?project,include_bodies,limit,since_ts,agent_token}", Name: "outbox"}, s.outbox)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.handler = sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return m }, &sdk.StreamableHTTPOptions{Stateless: stateless, JSONResponse: true})
}

// Close stops the server.
func (s *Server) Close() { s.http.Close() }

// Fail makes calls fail in transport, before or after their work. nil: none.
func (s *Server) Fail(f func(tool string, after bool) error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.fail = f
}

type args map[string]any

func (a args) text(key string) string { v, _ := a[key].(string); return v }

// refusal is an error of a tool.
type refusal string

func (r refusal) Error() string { return string(r) }

var tools = map[string]func(*Server, args) (any, error){
	"health_check": func(*Server, args) (any, error) { return map[string]any{"status": "ok"}, nil },
	"ensure_project": func(_ *Server, a args) (any, error) {
		key := a.text("human_key")
		if !strings.HasPrefix(key, "/") {
			return nil, refusal(fmt.Sprintf("Invalid argument value: human_key must be an absolute directory path, got: '%s'. ", key))
		}
		return map[string]any{"id": 1, "slug": strings.ReplaceAll(strings.Trim(key, "/"), "/", "-"), "human_key": key}, nil
	},
	"register_agent":      (*Server).register,
	"unretire_agent":      (*Server).unretire,
	"retire_agent":        (*Server).retire,
	"set_contact_policy":  (*Server).policy,
	"respond_contact":     (*Server).respond,
	"request_contact":     (*Server).request,
	"fetch_inbox":         (*Server).inbox,
	"acknowledge_message": (*Server).acknowledge,
	"send_message":        (*Server).send,
}

func (s *Server) call(tool string, do func(*Server, args) (any, error), raw json.RawMessage) (*sdk.CallToolResult, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	defer s.changed.Broadcast()
	if s.fail != nil {
		if err := s.fail(tool, false); err != nil {
			return nil, err
		}
	}
	var a args
	if err := json.Unmarshal(raw, &a); err != nil {
		return nil, err
	}
	v, err := do(s, a)
	if s.fail != nil {
		if err := s.fail(tool, true); err != nil {
			return nil, err
		}
	}
	if err != nil {
		return &sdk.CallToolResult{IsError: true, Content: []sdk.Content{&sdk.TextContent{Text: "Error calling tool '" + tool + "': " + err.Error()}}}, nil
	}
	if list, ok := v.([]any); ok {
		v = map[string]any{"result": list}
	}
	text, err := json.Marshal(v)
	return &sdk.CallToolResult{StructuredContent: v, Content: []sdk.Content{&sdk.TextContent{Text: string(text)}}}, err
}

var (
	explicit = regexp.MustCompile(`[._-]`)
	role     = regexp.MustCompile(`(?i)(agent|robot|bot|assistant|helper|manager|coordinator|developer|engineer|worker)$`)
	plain    = regexp.MustCompile(`^[a-z0-9]+$`)
	thread   = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$`)
)

func key(project, name string) string { return project + "\n" + strings.ToLower(name) }

func (s *Server) register(a args) (any, error) {
	project, name, token := a.text("project_key"), a.text("name"), a.text("registration_token")
	if !explicit.MatchString(name) {
		s.names++
		name = fmt.Sprintf("PinkLantern%d", s.names)
	}
	one := s.agents[key(project, name)]
	switch {
	case one == nil:
		one = &agent{project: project, name: name, token: fmt.Sprintf("token-of-%s", name)}
		s.agents[key(project, name)] = one
	case token == "":
		return nil, refusal(fmt.Sprintf("register_agent for an existing identity requires registration_token for agent '%s', unless this MCP session has already authenticated as that agent.", name))
	case token != one.token:
		return nil, refusal(fmt.Sprintf("Invalid registration_token for agent '%s'.", name))
	}
	out := map[string]any{"id": 1, "name": one.name, "registration_token": one.token}
	if one.retired {
		out["retired_at"] = "2026-11-21T02:53:57.986220+00:00"
	}
	return out, nil
}

// self returns the agent that calls.
func (s *Server) self(a args, name, token string) (*agent, error) {
	one := s.agents[key(a.text("project_key"), a.text(name))]
	switch {
	case one == nil:
		return nil, refusal(fmt.Sprintf("Agent '%s' not registered in project '%s'", a.text(name), a.text("project_key")))
	case a.text(token) == "":
		return nil, refusal(fmt.Sprintf("the call requires %s for agent '%s', unless this MCP session has already authenticated as that agent.", token, one.name))
	case a.text(token) != one.token:
		return nil, refusal(fmt.Sprintf("Invalid %s for agent '%s'.", token, one.name))
	}
	return one, nil
}

func (s *Server) unretire(a args) (any, error) { return s.retired(a, false) }
func (s *Server) retire(a args) (any, error)   { return s.retired(a, true) }

func (s *Server) retired(a args, is bool) (any, error) {
	one, err := s.self(a, "agent_name", "registration_token")
	if err != nil {
		return nil, err
	}
	one.retired = is
	return map[string]any{"status": "done", "agent_name": one.name}, nil
}

func (s *Server) policy(a args) (any, error) {
	one, err := s.self(a, "agent_name", "registration_token")
	if err != nil {
		return nil, err
	}
	one.policy = a.text("policy")
	return map[string]any{"agent": one.name, "policy": one.policy}, nil
}

func (s *Server) respond(a args) (any, error) {
	one, err := s.self(a, "to_agent", "registration_token")
	if err != nil {
		return nil, err
	}
	from := s.agents[key(one.project, a.text("from_agent"))]
	if from == nil {
		return nil, refusal(fmt.Sprintf("Agent '%s' not registered in project '%s'", a.text("from_agent"), one.project))
	}
	s.contacts[key(one.project, from.name)+">"+one.name] = a["accept"] == true
	return map[string]any{"from": from.name, "to": one.name, "approved": true, "updated": 1}, nil
}

func (s *Server) request(a args) (any, error) {
	one, err := s.self(a, "from_agent", "registration_token")
	if err != nil {
		return nil, err
	}
	to := s.agents[key(one.project, a.text("to_agent"))]
	if to == nil {
		return nil, refusal(fmt.Sprintf("Agent '%s' not registered in project '%s'", a.text("to_agent"), one.project))
	}
	s.add(one, to.name, "Contact request from "+one.name, "work", "", true)
	return map[string]any{"status": "pending"}, nil
}

// Join registers an agent that the test plays. All agents may write to it.
func (s *Server) Join(project, name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.agents[key(project, name)] = &agent{project: project, name: name, token: "token-of-" + name, policy: "open"}
}

// Post sends a mail of an agent that the test plays.
func (s *Server) Post(project, from, to, subject, thread, body string) *Mail {
	s.mu.Lock()
	defer s.mu.Unlock()
	m := s.add(s.agents[key(project, from)], to, subject, body, thread, false)
	return &Mail{ID: m.ID, Created: m.Created}
}

// Until waits until ready returns true for the mails to an agent, and returns the mails. ok is
// false if stop ended before.
func (s *Server) Until(stop context.Context, to string, ready func([]Mail) bool) ([]Mail, bool) {
	defer context.AfterFunc(stop, s.changed.Broadcast)()
	s.mu.Lock()
	defer s.mu.Unlock()
	for {
		var list []Mail
		for _, m := range s.mails {
			if strings.EqualFold(m.To, to) {
				list = append(list, *m)
			}
		}
		if ready(list) {
			return list, true
		}
		if stop.Err() != nil {
			return list, false
		}
		s.changed.Wait()
	}
}

// Acknowledged reports whether a mail was acknowledged.
func (s *Server) Acknowledged(stop context.Context, id int64) bool {
	defer context.AfterFunc(stop, s.changed.Broadcast)()
	s.mu.Lock()
	defer s.mu.Unlock()
	for !s.acked[id] && stop.Err() == nil {
		s.changed.Wait()
	}
	return s.acked[id]
}
