package httpclient

import (
	"cmp"
	"context"
	"encoding/json"
	"net/url"

	"github.com/messkit/messkit/mess"
	"github.com/messkit/messkit/mess/messeaf"
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

// Follow calls handle with what happens after the event with an id ("" is
// Start), until ctx ends or handle returns an error, which it returns. A
// connection that breaks is made again, and nothing is missed or comes twice; an
// exchange that cannot be reached from the beginning is an error.
func (c *Client) Follow(ctx context.Context, after string, handle func(Event) error) error {
	f := feed{c: c, query: url.Values{}, after: cmp.Or(after, Start), must: true}
	f.handle = func(e event) error {
		var v struct {
			Thread  threadJSON   `json:"thread"`
			Message mess.Message `json:"message"`
		}
		if err := json.Unmarshal(e.Data, &v); err != nil {
			c.log.Warn("event cannot be read", "event", e.ID, "err", err)
			return nil
		}
		return handle(Event{ID: e.ID, Kind: e.Name, Thread: v.Thread.thread(), Message: messeaf.Unnamed(v.Thread.Ref, v.Message)})
	}
	return f.run(ctx)
}

// Receive calls handle, one message at a time, for everything that is
// addressed to this executor, until ctx ends; then it returns nil. Messages may
// come twice. It returns earlier when the exchange refuses, or has started anew
// and must be told who this is.
func (c *Client) Receive(ctx context.Context, handle func(mess.Message)) error {
	f := feed{c: c, query: url.Values{"as": {"executor"}}}
	f.handle = func(e event) error {
		if e.Name == "reset" {
			return ErrReset
		}
		var m mess.Message
		if err := json.Unmarshal(e.Data, &m); err != nil {
			c.log.Warn("message cannot be read", "event", e.ID, "err", err)
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

// ErrReset ends a Receive whose past is lost: the agent registers anew, and is
// told what is open.
var ErrReset = mess.Errorf(mess.Unavailable, "the exchange has started anew, or the connection was lost")
