package httpapi

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"

	"github.com/messkit/messkit/exchange"
	"github.com/messkit/messkit/mess"
)

const (
	beatEvery  = 15 * time.Second // a comment, so that both sides know the stream lives
	writeTime  = 30 * time.Second // for one event
	maxWait    = 60 * time.Second // of a poll
	maxPolled  = 100              // events in one answer to a poll
	pollGather = 20 * time.Millisecond
)

// event is one event as it goes out.
type event struct {
	ID   string          `json:"id"`
	Name string          `json:"event"`
	Data json.RawMessage `json:"data"`
}

// happened is the data of an event for those who follow.
type happened struct {
	Kind    exchange.EventKind `json:"kind"`
	Thread  *summary           `json:"thread,omitempty"`
	Message *mess.Message      `json:"message,omitempty"`
}

// outgoing turns an event into what this client gets, if it gets anything. With
// ?as=executor that is what is addressed to the executor, as messages.
func (c *call) outgoing(e exchange.Event) (event, bool, error) {
	out := event{ID: e.ID, Name: string(e.Kind)}
	var v any = struct{}{}
	switch {
	case e.Kind == exchange.EventReset:
	case c.asExecutor():
		m, ok := e.Delivery(c.who.ID)
		if !ok {
			return out, false, nil
		}
		out.Name, v = "message", m
	case e.Kind == exchange.EventStop: // for an executor, and this is how a person follows
		return out, false, nil
	default:
		s := summaryOf(e.Thread)
		v = happened{e.Kind, &s, &e.Message}
	}
	var err error
	out.Data, err = json.Marshal(v)
	return out, true, err
}

func (c *call) asExecutor() bool { return c.r.URL.Query().Get("as") == "executor" }

// events streams what happens, or answers a poll.
func (c *call) events() error {
	after := c.r.Header.Get("Last-Event-ID")
	if after == "" {
		after = c.r.URL.Query().Get("after")
	}
	if c.r.URL.Query().Has("wait") {
		return c.poll(after)
	}
	rc := http.NewResponseController(c.w)
	c.w.Header().Set("Content-Type", "text/event-stream; charset=utf-8")
	c.w.Header().Set("X-Accel-Buffering", "no") // some proxies hold streams back
	s := &stream{w: c.w, rc: rc}
	if err := s.write([]byte(": hello\n\n")); err != nil {
		return nil // the client is gone
	}
	_ = rc.SetReadDeadline(time.Time{}) // a stream is as long as it is
	ctx, cancel := c.waiting()
	defer cancel()
	s.begin(cancel)
	defer s.end()
	err := c.x.Follow(ctx, c.who, after, func(e exchange.Event) error { return c.send(s, e) })
	if err != nil && c.r.Context().Err() == nil {
		c.log().Debug("event stream ended", "actor", c.who.ID, "err", err) // the client comes back with Last-Event-ID
	}
	return nil
}

func (c *call) send(s *stream, e exchange.Event) error {
	out, ok, err := c.outgoing(e)
	if err != nil || !ok {
		return err
	}
	var b bytes.Buffer
	if out.ID != "" {
		fmt.Fprintf(&b, "id: %s\n", out.ID)
	}
	fmt.Fprintf(&b, "event: %s\ndata: %s\n\n", out.Name, out.Data)
	return s.write(b.Bytes())
}

// stream writes events, and comments in between, one at a time. It has no
// goroutine of its own: there may be thousands that are idle.
type stream struct {
	w  http.ResponseWriter
	rc *http.ResponseController

	mu    sync.Mutex
	beat  *time.Timer
	ended bool // w must not be used any more
}

func (s *stream) write(p []byte) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ended {
		return errEnded
	}
	_ = s.rc.SetWriteDeadline(time.Now().Add(writeTime)) // a test's writer has none
	if _, err := s.w.Write(p); err != nil {
		return err
	}
	return s.rc.Flush()
}

// begin lets it beat; broken is called when nobody is there to hear it.
func (s *stream) begin(broken func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.beat = time.AfterFunc(beatEvery, func() {
		if err := s.write([]byte(": beat\n\n")); err != nil {
			broken()
			return
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		if !s.ended {
			s.beat.Reset(beatEvery)
		}
	})
}

func (s *stream) end() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ended = true
	s.beat.Stop()
}

var errEnded = errors.New("the stream has ended")

var errFull = errors.New("enough for one answer")

// poll answers as soon as something has happened, or after the wait.
func (c *call) poll(after string) error {
	wait, err := time.ParseDuration(c.r.URL.Query().Get("wait"))
	if err != nil || wait < 0 {
		return mess.Refuse(mess.Invalid, "wait: is not a duration; write it like 20s")
	}
	ctx, cancel := c.waiting()
	defer cancel()
	ctx, expire := context.WithTimeout(ctx, max(min(wait, maxWait), pollGather))
	defer expire()
	p := &polled{call: c, list: []event{}, last: after, full: expire}
	if after == "" && !c.asExecutor() {
		after, p.skip = now, true
	}
	err = c.x.Follow(ctx, c.who, after, p.take)
	if err != nil && !errors.Is(err, errFull) && !errors.Is(err, exchange.ErrSlow) {
		return err
	}
	c.json(http.StatusOK, map[string]any{"events": p.list, "last": p.last})
	return nil
}

// now is an event that never was: who resumes after it is first told where the
// exchange stands. Without that, what happens between two polls of one who has
// heard nothing yet would be lost.
const now = "now"

// polled gathers the answer to a poll.
type polled struct {
	*call
	list []event
	last string // where to go on
	amid bool   // there is no place to go on after the event before
	skip bool   // the reset that comes first is not asked for
	full func() // ends the poll
}

func (p *polled) take(e exchange.Event) error {
	// Of what stands open only the last has an id; it is not cut in two.
	if len(p.list) >= maxPolled && !p.amid {
		return errFull
	}
	p.amid = e.ID == ""
	if !p.amid {
		p.last = e.ID
	}
	if p.skip && e.Kind == exchange.EventReset {
		p.skip = false
		return nil
	}
	out, ok, err := p.outgoing(e)
	if err != nil || !ok {
		return err
	}
	if p.list = append(p.list, out); len(p.list) == 1 {
		time.AfterFunc(pollGather, p.full) // what comes together goes together
	}
	return nil
}
