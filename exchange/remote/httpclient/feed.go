package httpclient

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/url"
	"time"

	"github.com/messkit/messkit/internal/wait"
)

const (
	firstWait   = 250 * time.Millisecond
	longestOff  = 30 * time.Second
	helloTime   = 5 * time.Second  // for the first event; a proxy that buffers it buffers the whole stream
	longestGap  = 45 * time.Second // without a byte, the stream is dead: the exchange sends a heartbeat every 15 s
	pollWait    = 20 * time.Second
	pollTime    = 10 * time.Minute // then try a stream again, because a slow connection may recover
	minPollTime = time.Second      // a faster empty answer to a poll means that the exchange does not wait
)

var (
	errHeldBack = errors.New("the stream does not come through") // the first byte does not arrive
	errDead     = errors.New("the stream is dead")
	errNoWait   = errors.New("the exchange does not wait for news")
)

// feed reads events from a stream, or by polling if a proxy buffers streams. It reconnects after
// every failure.
type feed struct {
	c       *Client
	query   url.Values
	after   string // id of the last event
	handle  func(event) error
	must    bool // a failure of the first connection is an error
	reached bool // a connection has succeeded
}

// run returns the error of handle, a permanent error of the exchange, or the error of ctx.
func (f *feed) run(ctx context.Context) error {
	pause := wait.Backoff{First: firstWait, Last: longestOff}
	for {
		began, before := time.Now(), f.after
		err := f.session(ctx)
		if h, ok := errors.AsType[*handled](err); ok {
			return h.error
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if !Unavailable(err) || f.must && !f.reached {
			return err
		}
		if f.after != before || time.Since(began) > longestOff {
			pause.Reset(0) // the connection worked for some time
		}
		f.c.log.Debug("events interrupted", "err", err)
		if errors.Is(err, errDead) && f.c.nodes != nil {
			f.c.nodes.move() // the connection is open, and the node is silent
		}
		if !wait.For(ctx, pause.Next()) {
			return ctx.Err()
		}
	}
}

// handled is an error of the handler. It ends the feed.
type handled struct{ error }

// session reads one stream until it ends. If a proxy buffers the stream, session polls for
// pollTime.
func (f *feed) session(ctx context.Context) error {
	err := f.stream(ctx)
	if !errors.Is(err, errHeldBack) {
		return err
	}
	for end := time.Now().Add(pollTime); time.Now().Before(end); {
		if err := f.poll(ctx); err != nil {
			return err
		}
	}
	return nil
}

// take passes an event to the handler.
func (f *feed) take(e event) error {
	if e.ID != "" {
		f.after = e.ID
	}
	if e.Name == "" {
		return nil
	}
	if err := f.handle(e); err != nil {
		return &handled{err}
	}
	return nil
}

// stream reads one stream until it ends.
func (f *feed) stream(ctx context.Context) error {
	u, err := f.c.Address(ctx, f.query, "events")
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	held := time.AfterFunc(helloTime, func() { cancel(errHeldBack) })
	defer held.Stop()
	dead := time.AfterFunc(longestGap, func() { cancel(errDead) })
	defer dead.Stop()
	head := http.Header{"Accept": {"text/event-stream"}, "Accept-Encoding": {"identity"}} // compression would buffer the stream
	if f.after != "" {
		head.Set("Last-Event-Id", f.after)
	}
	res, err := f.c.Call(ctx, Request{Method: http.MethodGet, URL: u, Head: head, limit: longestGap, stream: true})
	if err != nil {
		return causeOf(ctx, err)
	}
	defer res.Body.Close()
	s := newEvents(&watched{res.Body, dead})
	for {
		e, err := s.next()
		if err != nil {
			return causeOf(ctx, err)
		}
		held.Stop()
		f.reached = true
		if err := f.take(e); err != nil {
			return err
		}
	}
}

// watched stops a read after longestGap without a byte. The time of the handler between two
// reads does not count.
type watched struct {
	r    io.Reader
	dead *time.Timer
}

func (w *watched) Read(p []byte) (int, error) {
	w.dead.Reset(longestGap)
	defer w.dead.Stop()
	return w.r.Read(p)
}

// causeOf returns the cause of the end of ctx, or err.
func causeOf(ctx context.Context, err error) error {
	if cause := context.Cause(ctx); cause != nil {
		return cause
	}
	return err
}

// poll asks once for new events.
func (f *feed) poll(ctx context.Context) error {
	ask := url.Values{"wait": {pollWait.String()}}
	for k, v := range f.query {
		ask[k] = v
	}
	if f.after != "" {
		ask.Set("after", f.after)
	}
	u, err := f.c.Address(ctx, ask, "events")
	if err != nil {
		return err
	}
	var v struct {
		Events []struct {
			ID   string          `json:"id"`
			Name string          `json:"event"`
			Data json.RawMessage `json:"data"`
		} `json:"events"`
		Last string `json:"last"`
	}
	began := time.Now()
	if err := f.c.Fetch(ctx, Request{Method: http.MethodGet, URL: u, limit: pollWait + f.c.timeout}, &v); err != nil {
		return err
	}
	f.reached = true
	for _, e := range v.Events {
		if err := f.take(event{ID: e.ID, Name: e.Name, Data: e.Data}); err != nil {
			return err
		}
	}
	if v.Last != "" {
		f.after = v.Last
	}
	if len(v.Events) == 0 && time.Since(began) < minPollTime {
		return errNoWait
	}
	return nil
}
