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
	firstWait  = 250 * time.Millisecond
	longestOff = 30 * time.Second
	helloTime  = 5 * time.Second  // for the first words; a proxy that holds them back holds back all
	longestGap = 45 * time.Second // without a byte, a stream is dead: it beats every 15 s
	pollWait   = 20 * time.Second
	pollTime   = 10 * time.Minute // then a stream is tried again: a line may have been slow once
	hasty      = time.Second      // an empty answer to a poll that comes sooner is no news
)

var (
	errHeldBack = errors.New("the stream does not come through") // its first byte does not come
	errDead     = errors.New("the stream is dead")
	errHasty    = errors.New("the exchange does not wait for news")
)

// feed reads events, by a stream or by polling where streams do not come
// through, and comes back after every failure.
type feed struct {
	c       *Client
	query   url.Values
	after   string // the event to go on after
	handle  func(event) error
	must    bool // the exchange must be there at the beginning
	reached bool // it has been heard
}

// run returns what handle returns, a refusal that stays one, or why ctx ended.
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
			pause.Reset(0) // it went well for some time
		}
		f.c.log.Debug("events interrupted", "err", err)
		if !wait.For(ctx, pause.Next()) {
			return ctx.Err()
		}
	}
}

// handled is what a handler returned: it ends the following.
type handled struct{ error }

// session reads one stream until it ends. Where that does not come through, it
// polls for a while.
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

// take hands on an event.
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
	head := http.Header{"Accept": {"text/event-stream"}, "Accept-Encoding": {"identity"}} // what packs also holds back
	if f.after != "" {
		head.Set("Last-Event-Id", f.after)
	}
	res, err := f.c.Call(ctx, Request{Method: http.MethodGet, URL: u, Head: head, limit: longestGap, stream: true})
	if err != nil {
		return because(ctx, err)
	}
	defer res.Body.Close()
	s := newEvents(&watched{res.Body, dead})
	for {
		e, err := s.next()
		if err != nil {
			return because(ctx, err)
		}
		held.Stop()
		f.reached = true
		if err := f.take(e); err != nil {
			return err
		}
	}
}

// watched reads with a timer that goes off when no byte comes. The time between
// two reads is the handler's.
type watched struct {
	r    io.Reader
	dead *time.Timer
}

func (w *watched) Read(p []byte) (int, error) {
	w.dead.Reset(longestGap)
	defer w.dead.Stop()
	return w.r.Read(p)
}

// because is the cause for which ctx was ended, or err.
func because(ctx context.Context, err error) error {
	if cause := context.Cause(ctx); cause != nil {
		return cause
	}
	return err
}

// poll asks once for what has happened.
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
	if len(v.Events) == 0 && time.Since(began) < hasty {
		return errHasty
	}
	return nil
}
