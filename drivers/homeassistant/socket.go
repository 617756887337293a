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
	answerBytes = 16 << 20         // of one message: a large home's list of states has some two megabytes
	pulse       = 30 * time.Second // between two signs of life
	silence     = 90 * time.Second // after which a connection is taken to be dead
)

// socket is one connection to Home Assistant's WebSocket API
// (developers.home-assistant.io/docs/api/websocket), logged in.
type socket struct {
	conn  *websocket.Conn
	limit time.Duration // of one answer

	write sync.Mutex // held while a message is written: there may be one at a time

	mu      sync.Mutex
	last    uint64 // id
	waiting map[uint64]chan result
	events  func(event)
	dead    error // why it ended; nil while it lives
}

// result is what came of a command.
type result struct {
	value json.RawMessage
	err   error
}

// event is one that was subscribed to.
type event struct {
	Type string `json:"event_type"`
	Data struct {
		ID  string          `json:"entity_id"`
		New json.RawMessage `json:"new_state"` // a state, or null for an entity that was taken away
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
	errGone    = errors.New("the connection to Home Assistant is gone")
	errRefused = errors.New("it refuses the token")
)

// socketURL is where the WebSocket of an address is.
func socketURL(base string) (string, error) {
	u, err := url.Parse(base)
	if err != nil {
		return "", errors.New("url: cannot be read") // err holds the whole address
	}
	u.Scheme = map[string]string{"http": "ws", "https": "wss"}[u.Scheme]
	u.Path = strings.TrimSuffix(u.Path, "/") + "/api/websocket"
	return u.String(), nil
}

// dial connects and logs in. Its errors hold no token.
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
		_ = resp.Body.Close() // its first bytes are in the error at most
	}
	if err != nil {
		if resp != nil {
			return nil, fmt.Errorf("it answers %d where its WebSocket should be", resp.StatusCode)
		}
		return nil, err
	}
	s := &socket{conn: conn, limit: limit, waiting: map[uint64]chan result{}, events: events}
	conn.SetReadLimit(answerBytes)
	if err := s.login(token); err != nil {
		_ = conn.Close() // it is of no use
		return nil, err
	}
	return s, nil
}

// login answers auth_required, which comes first.
func (s *socket) login(token drivers.Secret) error {
	_ = s.conn.SetReadDeadline(time.Now().Add(s.limit))
	for _, want := range []string{"auth_required", "auth_ok"} {
		var m incoming
		if err := s.conn.ReadJSON(&m); err != nil {
			return errors.New("it hangs up before one is logged in")
		}
		switch {
		case m.Type == "auth_invalid":
			return errRefused
		case m.Type != want:
			return fmt.Errorf("it says %.40q where %s should come; is this Home Assistant?", m.Type, want)
		case want == "auth_required":
			if err := s.put(map[string]any{"type": "auth", "access_token": string(token)}); err != nil {
				return err
			}
		}
	}
	return nil
}

// put writes a message. write is held, or nobody else knows the socket yet.
func (s *socket) put(v any) error {
	_ = s.conn.SetWriteDeadline(time.Now().Add(s.limit))
	if err := s.conn.WriteJSON(v); err != nil {
		return errGone // err may hold what was written
	}
	return nil
}

// hear reads until the connection ends, and says why.
func (s *socket) hear() error {
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

// take hands a message to whom it is for.
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
		return // whoever asked has gone
	}
	if m.Success != nil && !*m.Success {
		c <- result{err: &refusal{m.Error.Code, m.Error.Message}}
		return
	}
	c <- result{value: m.Result}
}

// end ends the connection, and all who wait for an answer.
func (s *socket) end(why error) {
	s.mu.Lock()
	if s.dead == nil {
		s.dead = why
	}
	for id, c := range s.waiting {
		delete(s.waiting, id)
		c <- result{err: errGone}
	}
	s.mu.Unlock()
	_ = s.conn.Close() // it ends what reads
}

// ask sends a command and waits for its result. An error that is
// drivers.ErrNothingDone says that nothing was done.
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

// order sends a command that changes something, and waits for its result. One whose
// caller goes is heard all the same: outlive waits for its answer. The error of one that
// has no answer is drivers.ErrMayAct.
func (s *socket) order(ctx context.Context, kind string, more map[string]any, outlive func(end func() (answered bool))) error {
	if ctx.Err() != nil {
		return drivers.NotDone(context.Cause(ctx))
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
		return drivers.Unanswered(s.silent(kind, errSilent))
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
		return drivers.Unanswered(context.Cause(ctx))
	}
}

// unanswered marks the error of an order whose connection has ended.
func unanswered(err error) error {
	if errors.Is(err, errGone) {
		return drivers.Unanswered(err)
	}
	return err
}

// errSilent is an order that was not answered in time.
var errSilent = errors.New("its time is over")

func (s *socket) silent(kind string, why error) error {
	return fmt.Errorf("no answer to %s in %v, though it may have heard: %w", kind, s.limit, why)
}

// forget has nobody wait for an answer any more.
func (s *socket) forget(id uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.waiting, id)
}

// command sends one, and returns where its result will come. Ids have to increase
// on the wire.
func (s *socket) command(kind string, more map[string]any) (uint64, chan result, error) {
	s.write.Lock()
	defer s.write.Unlock()
	c := make(chan result, 1)
	s.mu.Lock()
	if s.dead != nil {
		s.mu.Unlock()
		return 0, nil, drivers.NotDone(errGone)
	}
	s.last++
	id := s.last
	s.waiting[id] = c
	s.mu.Unlock()
	m := map[string]any{"id": id, "type": kind}
	maps.Copy(m, more)
	if err := s.put(m); err != nil {
		s.end(err) // it may have gone out by half
		return 0, nil, err
	}
	return id, c, nil
}

// refusal is an answer that says no.
type refusal struct{ code, message string }

func (e *refusal) Error() string {
	return fmt.Sprintf("it says no (%.40s): %.100s", e.code, e.message)
}

// untouched are the codes of commands that were refused before anything was
// done.
var untouched = map[string]bool{"invalid_format": true, "not_found": true, "unauthorized": true, "unknown_command": true, "service_validation_error": true, "not_supported": true}

// Is says of some refusals that nothing was done.
func (e *refusal) Is(target error) bool { return target == drivers.ErrNothingDone && untouched[e.code] }
