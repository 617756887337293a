package httpclient

import (
	"cmp"
	"context"
	"encoding/json"
	"net/url"

	"github.com/messkit/messkit/mess"
	"github.com/messkit/messkit/mess/messeaf"
)

// Event is an event of the exchange.
type Event struct {
	ID      string
	Kind    string // offer, withdrawn, message, or reset: earlier events are lost
	Thread  Thread // without messages; zero for a reset
	Message mess.Message
}

// Start follows only new events. The first event is a reset; the stream has no gap after it.
const Start = "now"

// Follow calls handle with the events after the one with the id after ("" is Start), until ctx
// ends or handle returns an error, which it returns. It reconnects after a failure, without lost
// or duplicate events. It returns an error if the first connection fails.
func (c *Client) Follow(ctx context.Context, after string, handle func(Event) error) error {
	f := feed{c: c, query: url.Values{}, after: cmp.Or(after, Start), must: true}
	f.handle = func(e event) error {
		var v struct {
			Thread  threadJSON   `json:"thread"`
			Message mess.Message `json:"message"`
		}
		if err := json.Unmarshal(e.Data, &v); err != nil {
			c.log.Warn("cannot parse an event", "event", e.ID, "err", err)
			return nil
		}
		return handle(Event{ID: e.ID, Kind: e.Name, Thread: v.Thread.thread(), Message: messeaf.Unnamed(v.Thread.Ref, v.Message)})
	}
	return f.run(ctx)
}

// Receive calls handle, one message at a time, for every message to this executor, until ctx
// ends; then it returns nil. Messages may be duplicates. It returns an error if the exchange
// rejects the request, and ErrReset if the exchange has lost its place in the stream, for
// example after a restart. The executor must then register again.
func (c *Client) Receive(ctx context.Context, handle func(mess.Message)) error {
	f := feed{c: c, query: url.Values{"as": {"executor"}}}
	f.handle = func(e event) error {
		if e.Name == "reset" {
			return ErrReset
		}
		var m mess.Message
		if err := json.Unmarshal(e.Data, &m); err != nil {
			c.log.Warn("cannot parse a message", "event", e.ID, "err", err)
			return nil
		}
		if len(m.Re) == 1 {
			m = messeaf.Unnamed(messeaf.ThreadRef(m.Re[0]), m)
		}
		handle(m)
		return nil
	}
	if err := f.run(ctx); ctx.Err() == nil {
		return err
	}
	return nil
}

// ErrReset ends a Receive that has lost messages. The agent registers again, and the exchange
// reports its open threads.
var ErrReset = mess.Errorf(mess.Unavailable, "the exchange has restarted, or the connection broke")
