package homeassistant

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/gorilla/websocket"

	"github.com/messkit/messkit/drivers"
)

const (
	answerBytes = 16 << 20         // size limit for one message; the state list of a large home has some two megabytes
	pulse       = 30 * time.Second // interval of heartbeats
	silence     = 90 * time.Second // longest pause without a message before the connection counts as dead
)

// socket is one logged-in connection to the WebSocket API of Home Assistant
// (developers.home-assistant.io/docs/api/websocket).
type socket struct {
	conn  *websocket.Conn
	limit time.Duration // time limit for one answer

	write sync.Mutex // serializes writers

	mu      sync.Mutex
	last    uint64 // last id
	waiting map[uint64]chan result
	events  func(event)
	dead    error // reason for the end; nil while the connection is open
}

// result is the result of a command.
type result struct {
	value json.RawMessage
	err   error
}

// event is one event of the subscription.
type event struct {
	Type string `json:"event_type"`
	Data struct {
		ID  string          `json:"entity_id"`
		New json.RawMessage `json:"new_state"` // a state, or null for a deleted entity
	} `json:"data"`
}

// incoming is any message of Home Assistant.
type incoming struct {
	ID      uint64          `json:"id"`
	Type    string          `json:"type"`
	Success *bool           `json:"success"`
	Result  json.RawMessage `json:"result"`
	Event   json.RawMessage `json:"event"`
	Error   struct {
		Code    string `json:"code"`
		Message string `json:"message"`
	} `json:"error"`
}

var (
	errGone    = errors.New("the connection to Home Assistant has ended")
	errRefused = errors.New("invalid token: Home Assistant rejects it")
)

// socketURL returns the WebSocket address for the address of a Home Assistant.
func socketURL(base string) (string, error) {
	u, err := url.Parse(base)
	if err != nil {
		return "", errors.New("url: is invalid") // err contains the whole address
	}
	u.Scheme = map[string]string{"http": "ws", "https": "wss"}[u.Scheme]
	u.Path = strings.TrimSuffix(u.Path, "/") + "/api/websocket"
	return u.String(), nil
}

// dial connects and logs in. Its errors contain no token.
func dial(ctx context.Context, base string, token drivers.Secret, limit time.Duration, events func(event)) (*socket, error) {
	address, err := socketURL(base)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	d := websocket.Dialer{HandshakeTimeout: limit, TLSClientConfig: &tls.Config{MinVersion: tls.VersionTLS12}}
	conn, resp, err := d.DialContext(ctx, address, http.Header{"User-Agent": {"messkit"}})
	if resp != nil {
		_ = resp.Body.Close() // the error contains at most its first bytes
	}
	if err != nil {
		if resp != nil {
			return nil, fmt.Errorf("the host answers %d at the WebSocket address", resp.StatusCode)
		}
		return nil, err
	}
	s := &socket{conn: conn, limit: limit, waiting: map[uint64]chan result{}, events: events}
	conn.SetReadLimit(answerBytes)
	if err := s.login(token); err != nil {
		_ = conn.Close() // an error does not matter here
		return nil, err
	}
	return s, nil
}

// login waits for auth_required and answers it.
func (s *socket) login(token drivers.Secret) error {
	_ = s.conn.SetReadDeadline(time.Now().Add(s.limit))
	for _, want := range []string{"auth_required", "auth_ok"} {
		var m incoming
		if err := s.conn.ReadJSON(&m); err != nil {
			return errors.New("the connection to Home Assistant ended before the login")
		}
		switch {
		case m.Type == "auth_invalid":
			return errRefused
		case m.Type != want:
			return fmt.Errorf("the host sends %.40q instead of %s; check that url is a Home Assistant", m.Type, want)
		case want == "auth_required":
			if err := s.put(map[string]any{"type": "auth", "access_token": string(token)}); err != nil {
				return err
			}
		}
	}
	return nil
}

// put writes a message. The caller holds write, or is the only user of the socket.
func (s *socket) put(v any) error {
	_ = s.conn.SetWriteDeadline(time.Now().Add(s.limit))
	if err := s.conn.WriteJSON(v); err != nil {
		return errGone // err may contain the message
	}
	return nil
}

// readMessages reads messages until the connection ends, and returns the reason.
func (s *socket) readMessages() error {
	for {
		_ = s.conn.SetReadDeadline(time.Now().Add(silence))
		var m incoming
		if err := s.conn.ReadJSON(&m); err != nil {
			s.end(errGone)
			return errGone
		}
		s.take(m)
	}
}

// take delivers a message.
func (s *socket) take(m incoming) {
	switch m.Type {
	case "result", "pong":
		s.answered(m)
	case "event":
		var e event
		if json.Unmarshal(m.Event, &e) == nil {
			s.events(e)
		}
	}
}

func (s *socket) answered(m incoming) {
	s.mu.Lock()
	c := s.waiting[m.ID]
	delete(s.waiting, m.ID)
	s.mu.Unlock()
	if c == nil {
		return // the caller no longer waits
	}
	if m.Success != nil && !*m.Success {
		c <- result{err: &refusal{m.Error.Code, m.Error.Message}}
		return
	}
	c <- result{value: m.Result}
}

// end closes the connection and ends all waits for an answer.
func (s *socket) end(cause error) {
	s.mu.Lock()
	if s.dead == nil {
		s.dead = cause
	}
	for id, c := range s.waiting {
		delete(s.waiting, id)
		c <- result{err: errGone}
	}
	s.mu.Unlock()
	_ = s.conn.Close() // ends the read
}

// ask sends a command and waits for its result. It returns drivers.ErrNothingDone if Home
// Assistant did nothing.
func (s *socket) ask(ctx context.Context, kind string, more map[string]any) (json.RawMessage, error) {
	ctx, cancel := context.WithTimeout(ctx, s.limit)
	defer cancel()
	id, c, err := s.command(kind, more)
	if err != nil {
		return nil, err
	}
	select {
	case r := <-c:
		return r.value, r.err
	case <-ctx.Done():
		s.forget(id)
		return nil, s.silent(kind, ctx.Err())
	}
}

// order sends a command that changes a state, and waits for its result. If ctx ends first,
// outlive waits for the answer. The error of an unanswered command is drivers.ErrMayAct.
func (s *socket) order(ctx context.Context, kind string, more map[string]any, outlive func(end func() (answered bool))) error {
	if ctx.Err() != nil {
		return drivers.MarkNothingDone(context.Cause(ctx))
	}
	id, c, err := s.command(kind, more)
	if err != nil {
		return unanswered(err)
	}
	limit := time.NewTimer(s.limit)
	select {
	case r := <-c:
		limit.Stop()
		return unanswered(r.err)
	case <-limit.C:
		s.forget(id)
		return drivers.MarkMayAct(s.silent(kind, errSilent))
	case <-ctx.Done():
		outlive(func() (answered bool) {
			defer limit.Stop()
			select {
			case r := <-c:
				return !errors.Is(r.err, errGone)
			case <-limit.C:
				s.forget(id)
				return false
			}
		})
		return drivers.MarkMayAct(context.Cause(ctx))
	}
}

// unanswered marks the error of a command whose connection has ended.
func unanswered(err error) error {
	if errors.Is(err, errGone) {
		return drivers.MarkMayAct(err)
	}
	return err
}

// errSilent reports a command without an answer in time.
var errSilent = errors.New("the time limit has expired")

func (s *socket) silent(kind string, cause error) error {
	return fmt.Errorf("no answer to %s in %v, but Home Assistant may have received it: %w", kind, s.limit, cause)
}

// forget ends the wait for an answer.
func (s *socket) forget(id uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.waiting, id)
}

// command sends a command and returns the channel for its result. The API requires
// increasing ids.
func (s *socket) command(kind string, more map[string]any) (uint64, chan result, error) {
	s.write.Lock()
	defer s.write.Unlock()
	c := make(chan result, 1)
	s.mu.Lock()
	if s.dead != nil {
		s.mu.Unlock()
		return 0, nil, drivers.MarkNothingDone(errGone)
	}
	s.last++
	id := s.last
	s.waiting[id] = c
	s.mu.Unlock()
	m := map[string]any{"id": id, "type": kind}
	maps.Copy(m, more)
	if err := s.put(m); err != nil {
		s.end(err) // a part of the message may be under way
		return 0, nil, err
	}
	return id, c, nil
}

// refusal is a negative answer.
type refusal struct{ code, message string }

func (e *refusal) Error() string {
	return fmt.Sprintf("Home Assistant rejects it (%.40s): %.100s", e.code, e.message)
}

// rejectedCodes lists the error codes of commands that Home Assistant rejected before any
// effect.
var rejectedCodes = map[string]bool{"invalid_format": true, "not_found": true, "unauthorized": true, "unknown_command": true, "service_validation_error": true, "not_supported": true}

// Is reports whether the rejection means that Home Assistant did nothing.
func (e *refusal) Is(target error) bool {
	return target == drivers.ErrNothingDone && rejectedCodes[e.code]
}

// notSentError is the error of a sensor without a state since the start of Home Assistant. It is
// drivers.ErrNoReadingYet.
type notSentError string

func (u notSentError) Error() string {
	return fmt.Sprintf("%s is \"unknown\" in Home Assistant: it has sent no state yet, and may sleep", string(u))
}

func (notSentError) Is(err error) bool {
	return err == drivers.ErrNoReadingYet || err == drivers.ErrNoReading
}
