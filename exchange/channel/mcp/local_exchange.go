package mcp

import (
	"context"
	"errors"
	"io"
	"time"

	"github.com/messkit/messkit/exchange"
	"github.com/messkit/messkit/mess"
)

// channel is the name of MCP in threads.
const channel = "mcp"

// sendTime is the time limit of one message at the exchange.
const sendTime = 30 * time.Second

// LocalExchange returns the exchange of this process as one actor sees it.
func LocalExchange(x *exchange.Exchange, actor exchange.Actor) Exchange {
	return &localExchange{x, actor}
}

type localExchange struct {
	x     *exchange.Exchange
	actor exchange.Actor
}

// Send does not stop when the client disconnects, because the exchange may have stored the
// message.
func (l *localExchange) Send(ctx context.Context, m mess.Message) (mess.Message, error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), sendTime)
	defer cancel()
	return l.x.Post(ctx, exchange.Inbound{Actor: l.actor, Channel: channel, Message: m})
}

func (l *localExchange) ConfirmBy(context.Context) exchange.ConfirmBy { return l.x.ConfirmBy() }

func (l *localExchange) Thread(ctx context.Context, ref string) (Thread, error) {
	t, err := l.x.Thread(ctx, l.actor, ref)
	if err != nil {
		return Thread{}, err
	}
	out := threadOf(t.Envelope)
	out.Messages = t.Messages
	return out, nil
}

func threadOf(e exchange.Envelope) Thread {
	return Thread{
		Ref: e.Ref, Status: e.Status, Intent: e.Intent, Requester: e.Requester, Executor: e.Executor, Priority: e.Priority,
		Created: e.Created, Updated: e.Updated,
	}
}

func (l *localExchange) List(ctx context.Context, n int) ([]Thread, error) {
	page, err := l.x.List(ctx, l.actor, exchange.Filter{Limit: n})
	if err != nil {
		return nil, err
	}
	list := make([]Thread, len(page.Threads))
	for i, e := range page.Threads {
		list[i] = threadOf(e)
	}
	return list, nil
}

// startEvent is an event id that never exists. After it, Follow begins with a reset.
const startEvent = "start"

// Follow continues after a gap.
func (l *localExchange) Follow(ctx context.Context, handle func(Event)) error {
	after := startEvent
	for {
		err := l.x.Follow(ctx, l.actor, after, func(e exchange.Event) error {
			if e.ID != "" {
				after = e.ID
			}
			switch e.Kind {
			case exchange.EventReset:
				handle(Event{Reset: true})
			case exchange.EventMessage:
				handle(Event{Thread: threadOf(e.Thread)})
			}
			return nil
		})
		if !errors.Is(err, exchange.ErrSlow) {
			return err
		}
	}
}

func (l *localExchange) Attachment(ctx context.Context, ref, name string) (io.ReadCloser, string, error) {
	data, a, err := l.x.Attachment(ctx, l.actor, ref, name)
	return data, a.MIME, err
}
