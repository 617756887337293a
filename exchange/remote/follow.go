package remote

import (
	"context"
	"encoding/json"
	"errors"
	"math/rand/v2"
	"net/http"
	"net/url"
	"time"

	"github.com/messkit/messkit/mess"
)

// Event is something that happened.
type Event struct {
	ID      string
	Kind    string // offer, withdrawn, message, or reset: what came before is not known
	Thread  Thread // without messages; zero for a reset
	Message mess.Message
}

// Start is where to begin to follow without a past: the first event is a
// reset, and from then on nothing is missed.
const Start = "now"

// Follow calls handle with what happens after the event with an id, until ctx
// ends or handle returns an error, which it returns. A connection that breaks
// is made again, and nothing is missed or comes twice.
func (c *Client) Follow(ctx context.Context, after string, handle func(Event) error) error {
	return c.follow(ctx, url.Values{}, after, func(e event) error {
		var v struct {
			Thread  threadJSON   `json:"thread"`
			Message mess.Message `json:"message"`
		}
		if err := json.Unmarshal(e.Data, &v); err != nil {
			c.log.Warn("event cannot be read", "err", err)
			return nil
		}
		return handle(Event{ID: e.ID, Kind: e.Name, Thread: v.Thread.thread(), Message: v.Message})
	})
}

// Receive calls handle, one message at a time, for everything that is
// addressed to this executor, until ctx ends. Messages may come twice.
func (c *Client) Receive(ctx context.Context, handle func(mess.Message)) error {
	err := c.follow(ctx, url.Values{"as": {"executor"}}, "", func(e event) error {
		var m mess.Message
		switch {
		case e.Name == "reset":
			return errReset
		case json.Unmarshal(e.Data, &m) != nil:
			c.log.Warn("message cannot be read", "event", e.ID)
		default:
			handle(m)
		}
		return nil
	})
	if ctx.Err() != nil {
		return nil
	}
	return err
}

// errReset ends a Receive whose past is lost: the agent registers anew, and is
// told what is open.
var errReset = mess.Refuse(mess.Unavailable, "the exchange has started anew")

const (
	firstWait  = 250 * time.Millisecond
	longestGap = 45 * time.Second // without a byte, a stream is dead: it beats every 15 s
	helloTime  = 5 * time.Second  // for the first byte; a proxy that holds it back holds back all
	pollWait   = 20 * time.Second
	longestOff = 30 * time.Second
)

var (
	errHeldBack = errors.New("the stream does not come through") // its first byte does not come
	errDead     = errors.New("the stream is dead")
)

// follow reads events, by a stream or by polling where streams do not come
// through, and comes back after every failure.
func (c *Client) follow(ctx context.Context, q url.Values, after string, handle func(event) error) error {
	wait, poll := firstWait, false
	for {
		before := after
		each := func(e event) error {
			if e.ID != "" {
				after = e.ID
			}
			if e.Name == "" {
				return nil
			}
			if err := handle(e); err != nil {
				return &handled{err}
			}
			return nil
		}
		var err error
		if poll {
			after, err = c.poll(ctx, q, after, each)
		} else {
			err = c.stream1(ctx, q, after, each)
		}
		if h, ok := errors.AsType[*handled](err); ok {
			return h.error
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if final(err) {
			return err
		}
		poll = poll || errors.Is(err, errHeldBack)
		if after != before || err == nil {
			wait = firstWait
		}
		if err == nil && poll {
			continue
		}
		c.log.Debug("events interrupted", "err", err)
		if !sleep(ctx, wait/2+rand.N(wait)) {
			return ctx.Err()
		}
		wait = min(2*wait, longestOff)
	}
}

// handled is what a handler returned: it ends the following.
type handled struct{ error }

// final reports whether an error will not go away by trying again.
func final(err error) bool {
	r, ok := errors.AsType[*mess.Refusal](err)
	return ok && r.Why != mess.Unavailable
}

func sleep(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-t.C:
		return true
	}
}

// stream1 reads one stream until it ends.
func (c *Client) stream1(ctx context.Context, q url.Values, after string, each func(event) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	u, err := c.at(ctx, q, "events")
	if err != nil {
		return err
	}
	head := http.Header{"Accept": {"text/event-stream"}}
	if after != "" {
		head.Set("Last-Event-ID", after)
	}
	held := time.AfterFunc(helloTime, func() { cancel(errHeldBack) })
	defer held.Stop()
	dead := time.AfterFunc(helloTime+longestGap, func() { cancel(errDead) })
	defer dead.Stop()
	res, err := c.send(ctx, request{method: http.MethodGet, url: u, head: head, long: true})
	if err != nil {
		return because(ctx, err)
	}
	defer res.Body.Close()
	stream := newEvents(res.Body)
	for {
		e, err := stream.next()
		if err != nil {
			return because(ctx, err)
		}
		held.Stop()
		dead.Reset(longestGap)
		if err := each(e); err != nil {
			return err
		}
	}
}

// because is the cause for which ctx was ended, or err.
func because(ctx context.Context, err error) error {
	if cause := context.Cause(ctx); cause != nil {
		return cause
	}
	return err
}

// poll asks once, and returns where to go on.
func (c *Client) poll(ctx context.Context, q url.Values, after string, each func(event) error) (string, error) {
	ask := url.Values{"wait": {pollWait.String()}}
	for k, v := range q {
		ask[k] = v
	}
	if after != "" {
		ask.Set("after", after)
	}
	var v struct {
		Events []struct {
			ID   string          `json:"id"`
			Name string          `json:"event"`
			Data json.RawMessage `json:"data"`
		} `json:"events"`
		Last string `json:"last"`
	}
	if err := c.get(ctx, &v, ask, "events"); err != nil {
		return after, err
	}
	for _, e := range v.Events {
		if err := each(event{ID: e.ID, Name: e.Name, Data: e.Data}); err != nil {
			return after, err
		}
	}
	if v.Last != "" {
		after = v.Last
	}
	return after, nil
}
