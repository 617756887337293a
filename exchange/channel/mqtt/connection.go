package mqtt

import (
	"context"
	"log/slog"
	"sync"

	"golang.org/x/sync/errgroup"

	"github.com/messkit/messkit/internal/mistake"
	"github.com/messkit/messkit/mess"
)

// publisher is a broker, as the adapter sees it.
type publisher interface {
	// publish returns when the broker has the message, or with an error when it will not
	// get it.
	publish(ctx context.Context, m outgoing) error
}

// outgoing is a message to the broker.
type outgoing struct {
	topic      string
	payload    []byte
	retain     bool
	dropIfSlow bool // publish does not wait for a reader, because the reader asks again
}

// connection holds the session with the broker while there is one. It is safe for
// concurrent use, and its lock is the innermost one.
type connection struct {
	log *slog.Logger

	mu      sync.Mutex
	session *session // nil: there is none
}

// session is a session with the broker.
type session struct {
	ctx    context.Context // ends with the session
	group  *errgroup.Group
	broker publisher
}

// begin begins a session. It must be the first use of the group: a goroutine of the group
// ends the session with ctx, so no function starts after Wait has returned.
func (c *connection) begin(ctx context.Context, g *errgroup.Group, to publisher) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.session = &session{ctx: ctx, group: g, broker: to}
	g.Go(func() error {
		<-ctx.Done()
		c.mu.Lock()
		defer c.mu.Unlock()
		c.session = nil
		return nil
	})
}

// start runs f in the session until cancel or its end. It returns false without a session.
func (c *connection) start(f func(ctx context.Context, to publisher)) (cancel context.CancelFunc, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	s := c.session
	if s == nil {
		return nil, false
	}
	ctx, cancel := context.WithCancel(s.ctx)
	s.group.Go(func() error {
		defer cancel()
		f(ctx, s.broker)
		return nil
	})
	return cancel, true
}

// send publishes a message that may get lost: its receiver asks again.
func (c *connection) send(ctx context.Context, m outgoing) {
	c.mu.Lock()
	s := c.session
	c.mu.Unlock()
	if s == nil {
		return
	}
	m.dropIfSlow = true
	if err := s.broker.publish(ctx, m); err != nil {
		c.log.Debug("not published", "topic", m.topic, "err", err)
	}
}

// deliver publishes a MESS message. It returns when the broker has it.
func deliver(ctx context.Context, log *slog.Logger, to publisher, topic string, m mess.Message) error {
	defer mistake.Caught(log, "topic", topic)
	text, err := m.JSON()
	if err != nil {
		log.Error("encoding a message failed", "topic", topic, "err", err)
		return nil // another attempt would fail the same way
	}
	return to.publish(ctx, outgoing{topic: topic, payload: text})
}
