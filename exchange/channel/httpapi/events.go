package httpapi

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"
	"time"

	"github.com/messkit/messkit/exchange"
	"github.com/messkit/messkit/exchange/channel/httpapi/connection"
	"github.com/messkit/messkit/mess"
	"github.com/messkit/messkit/mess/messeaf"
)

const (
	beatEvery = 15 * time.Second // time between two comments, which show both sides that the stream lives
	writeTime = 30 * time.Second // for one event
)

// event is an event as a client gets it.
type event struct {
	ID   string          `json:"id"`
	Name string          `json:"event"`
	Data json.RawMessage `json:"data"`
}

// eventData is the data of an event for a client that follows threads.
type eventData struct {
	Kind    exchange.EventKind `json:"kind"`
	Thread  *summary           `json:"thread,omitempty"`
	Message *mess.Message      `json:"message,omitempty"`
}

// subscription is the position and the kind of events of one client.
type subscription struct {
	*Server
	id       string // of the request, for the log
	actor    exchange.Actor
	executor bool   // the client gets the messages to the executor
	after    string // the last event that the client has
}

func (c *call) newSubscription(q url.Values) (*subscription, error) {
	for _, as := range q["as"] { // the client would take another stream for one without events
		if as != "executor" {
			return nil, mess.Errorf(mess.Invalid, "as: %.60q is no way to follow; write as=executor, or leave it out to follow all threads", as)
		}
	}
	f := &subscription{Server: c.Server, id: c.id, actor: c.actor, executor: q.Has("as")}
	if f.after = c.r.Header.Get("Last-Event-ID"); f.after == "" {
		f.after = q.Get("after")
	}
	f.after = strings.Clone(f.after)
	return f, nil
}

// render returns what the client gets of an event. ok is false if the client gets nothing.
func (f *subscription) render(e exchange.Event) (event, bool, error) {
	out := event{ID: e.ID, Name: string(e.Kind)}
	var v any = struct{}{}
	switch {
	case e.Kind == exchange.EventReset:
	case f.executor:
		m, ok := e.Delivery(f.actor.ID)
		if !ok {
			return out, false, nil
		}
		out.Name, v = "message", messeaf.Named(e.Thread.Ref, m)
	case e.Kind == exchange.EventStop || e.Kind == exchange.EventDrain: // these are for executors
		return out, false, nil
	default:
		s := summaryOf(e.Thread)
		m := messeaf.Named(e.Thread.Ref, e.Message)
		v = eventData{e.Kind, &s, &m}
	}
	var err error
	out.Data, err = json.Marshal(v)
	return out, true, err
}

// events streams events, or answers a poll.
func (c *call) events() error {
	q, err := c.readQuery()
	if err != nil {
		return err
	}
	f, err := c.newSubscription(q)
	if err != nil {
		return err
	}
	if err := c.moveToPool(true); err != nil {
		return err
	}
	if q.Has("wait") {
		return c.poll(f)
	}
	c.setStreamHeader(eventType)
	f.streams.Add(1) // before net/http forgets the connection, because Run waits for either
	if conn, ok := c.hijack(); ok {
		c.serveHijacked(f, conn)
		return nil
	}
	f.streams.Done()
	ctx, cancel, out := c.openStream()
	defer cancel()
	_ = f.run(ctx, cancel, out)
	return nil
}

// eventType is the media type of a stream of events.
const eventType = "text/event-stream; charset=utf-8"

func (c *call) setStreamHeader(mediaType string) {
	c.w.Header().Set("Content-Type", mediaType)
	c.w.Header().Set("X-Accel-Buffering", "no") // some proxies buffer streams otherwise
}

// openStream returns the writer of a stream in the handler, and the context that ends it. A stream
// has no limit of time.
func (c *call) openStream() (ctx context.Context, cancel context.CancelFunc, out handlerResponse) {
	rc := http.NewResponseController(c.w)
	_ = rc.SetReadDeadline(time.Time{})
	ctx, cancel = c.waitContext()
	context.AfterFunc(ctx, c.requests.OpenStream())
	return ctx, cancel, handlerResponse{c.w, rc}
}

// run streams until ctx ends. After an error the client connects again with Last-Event-ID.
func (f *subscription) run(ctx context.Context, broken func(), out eventWriter) error {
	s := &stream{out: out}
	if err := s.write([]byte(": hello\n\n")); err != nil {
		return err // the client has disconnected
	}
	s.begin(broken)
	defer s.end()
	err := f.x.Follow(ctx, f.actor, f.after, func(e exchange.Event) error { return f.send(s, e) })
	if err != nil && ctx.Err() == nil {
		f.log.Debug("event stream ended", "request", f.id, "actor", f.actor.ID, "err", err)
	}
	return err
}

func (f *subscription) send(s *stream, e exchange.Event) error {
	out, ok, err := f.render(e)
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

const (
	maxWait    = 60 * time.Second      // of a poll
	maxPolled  = 100                   // events in one response to a poll
	pollGather = 20 * time.Millisecond // without an event ends a poll that has some
	maxGather  = time.Second           // ends it while events go on
	shortWait  = time.Second           // a poll with a longer wait may give its buffers up
)

var errFull = errors.New("enough for one answer")

// poll answers when there is an event, or after the wait.
func (c *call) poll(f *subscription) error {
	wait, err := time.ParseDuration(c.r.URL.Query().Get("wait"))
	if err != nil || wait < 0 {
		return mess.Errorf(mess.Invalid, "wait: is not a duration; write it like 20s")
	}
	ctx, cancel := context.WithCancel(context.Background())
	input := &connection.Input{}
	end := func() { cancel(); input.Interrupt() }
	timer := time.AfterFunc(max(min(wait, maxWait), pollGather), end)
	unwatch := c.onRevoked(end)
	release, parked := func() { timer.Stop(); unwatch(); cancel() }, false
	defer func() {
		if !parked {
			release()
		}
	}()
	unwatchClient := context.AfterFunc(c.r.Context(), end)
	defer unwatchClient() // net/http ends the context of a parked poll, too
	p := &pollCollector{subscription: f, list: []event{}, last: f.after, end: end}
	after := f.after
	if after == "" && !f.executor {
		after, p.skipReset = fromNow, true
	}
	events, err := c.x.Subscribe(ctx, c.actor, after, p.add, end)
	if err != nil {
		return c.answerPoll(p, err)
	}
	if wait > shortWait && !p.found.Load() {
		if parked = c.park(&parkedPoll{pollCollector: p, ctx: ctx, events: events, release: release, input: input}); parked {
			return nil
		}
	}
	<-ctx.Done()
	return c.answerPoll(p, events.Close())
}

// answerPoll answers with the events. err is the error with which the subscription ended, or nil.
func (c *call) answerPoll(p *pollCollector, err error) error {
	if err != nil && !errors.Is(err, errFull) && !errors.Is(err, exchange.ErrSlow) {
		return err
	}
	c.writeJSON(http.StatusOK, map[string]any{"events": p.list, "last": p.last})
	return nil
}

// fromNow is an event id that never exists. A client that resumes after it gets the current
// position first. So a client without a position loses no event between two polls.
const fromNow = "now"

// pollCollector collects the response to a poll.
type pollCollector struct {
	*subscription
	list      []event
	last      string      // where the next poll continues
	midGroup  bool        // the client cannot resume after the last event
	skipReset bool        // the client has not asked for the first reset
	end       func()      // ends the poll
	first     time.Time   // time of the first event
	lull      *time.Timer // ends the poll when no more events come
	found     atomic.Bool // list has an event; for other goroutines
}

func (p *pollCollector) add(e exchange.Event) error {
	// Only the last of the open threads has an id, so the response must contain all of them.
	if len(p.list) >= maxPolled && !p.midGroup {
		return errFull
	}
	p.midGroup = e.ID == ""
	if !p.midGroup {
		p.last = e.ID
	}
	if p.skipReset && e.Kind == exchange.EventReset {
		p.skipReset = false
		return nil
	}
	out, ok, err := p.render(e)
	if err != nil || !ok {
		return err
	}
	// Events that come together form one response.
	switch p.list = append(p.list, out); {
	case len(p.list) == 1:
		p.found.Store(true)
		p.first, p.lull = time.Now(), time.AfterFunc(pollGather, p.end)
	case time.Since(p.first) < maxGather || p.midGroup:
		p.lull.Reset(pollGather)
	}
	return nil
}
