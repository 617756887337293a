package natsclient

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/messkit/messkit/internal/natslink"
	"github.com/messkit/messkit/internal/wait"
	"github.com/messkit/messkit/mess"
)

var (
	errNoKey     = errors.New("the key is not read yet")
	errNoSession = errors.New("there is no session with an exchange")
	errOther     = errors.New("an answer was for another message")
	errRestarted = errors.New("the exchange wants all parts again")
	errRenewed   = errors.New("the executor has another key now")
	errRefused   = mess.Errorf(mess.Unauthorized, "the exchange does not know the key of this executor, or it has another id there; write what messkit keys issue shows into key_file")
)

// readKey reads the key of the executor.
func (c *Client) readKey() error {
	key, err := c.cfg.Key()
	c.mu.Lock()
	defer c.mu.Unlock()
	if err != nil {
		c.lastErr = fmt.Errorf("key_file: %w; write what messkit keys issue shows at the exchange into it", err)
		return c.lastErr
	}
	c.secret = natslink.Secret(string(key))
	return nil
}

// ask sends a message until an answer arrives or ctx ends.
func (c *Client) ask(ctx context.Context, h natslink.Head, body []byte) (natslink.Head, []byte, error) {
	select {
	case <-c.made:
	case <-ctx.Done():
		return h, nil, c.unreachable(errNoSession)
	}
	h.Executor, h.ID = c.cfg.Executor, rand.Text()
	for {
		answer, text, err := c.askOnce(ctx, h, body)
		if r, ok := errors.AsType[*mess.Error](err); err == nil || ok && r.Code != mess.Unavailable {
			return answer, text, err
		}
		if !wait.For(ctx, firstWait) {
			return h, nil, c.unreachable(err)
		}
	}
}

// unreachable returns the error of a message without an answer.
func (c *Client) unreachable(err error) error {
	c.mu.Lock()
	said := c.lastErr
	c.mu.Unlock()
	if said == nil && c.nc != nil && !c.nc.IsConnected() {
		said = c.nc.LastError()
	}
	if said != nil {
		err = fmt.Errorf("%w; the servers say: %w", err, said)
	}
	return mess.Errorf(mess.Unavailable, "the exchange over NATS at %s: %v", c.cfg.URL, err)
}

// askOnce sends all parts of a message once.
func (c *Client) askOnce(ctx context.Context, h natslink.Head, body []byte) (answer natslink.Head, text []byte, err error) {
	c.mu.Lock()
	secret, s := c.secret, c.now
	c.mu.Unlock()
	parts := natslink.Split(body, natslink.PartSize(c.nc.MaxPayload()))
	subject := c.subjects.Executor(c.cfg.Executor, natslink.Out)
	switch {
	case secret == nil:
		return h, nil, errNoKey
	case s != nil:
		subject = c.subjects.Executor(c.cfg.Executor, natslink.Out, s.node)
	case len(parts) > 1: // all parts must go to the same exchange
		return h, nil, errNoSession
	}
	if h.Parts = len(parts); h.Parts > natslink.MaxParts {
		return h, nil, mess.Errorf(mess.TooLarge, "a message of %d bytes has more than %d parts of the size that the NATS servers carry; send less, or set max_payload there", len(body), natslink.MaxParts)
	}
	if len(parts) > 1 { // the exchange puts together one body of an executor at a time
		select {
		case c.inParts <- struct{}{}:
			defer func() { <-c.inParts }()
		case <-ctx.Done():
			return h, nil, ctx.Err()
		}
	}
	if s != nil { // an answer of a session that has ended does not come
		within, cancel := context.WithCancel(ctx)
		defer cancel()
		defer context.AfterFunc(s.ctx, cancel)()
		ctx = within
	}
	for i, part := range parts {
		h.Part = i
		answer, text, err = c.request(ctx, subject, h, part, secret)
		switch {
		case err == nil && len(text) > 0: // the exchange refuses a long body before its last part
			return answer, text, nil
		case err == nil:
			continue
		case errors.Is(err, errRefused) && c.isRenewed(secret):
			if err = errRenewed; s != nil {
				s.end(err)
			}
		}
		if s != nil && errors.Is(err, nats.ErrNoResponders) {
			s.end(err) // that exchange has gone
		}
		return h, nil, err
	}
	return answer, text, nil
}

// isRenewed reports whether the file of the key has another one than the exchange has refused.
func (c *Client) isRenewed(secret []byte) bool {
	if c.readKey() != nil {
		return false
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return !bytes.Equal(secret, c.secret)
}

// request sends one part, and waits for its answer.
func (c *Client) request(ctx context.Context, subject string, h natslink.Head, part, secret []byte) (natslink.Head, []byte, error) {
	ctx, cancel := context.WithTimeout(ctx, askTime)
	defer cancel()
	m, err := c.nc.RequestWithContext(ctx, subject, natslink.Seal(secret, h, part))
	if err != nil {
		return h, nil, err
	}
	answer, text, _, err := natslink.Open(m.Data, secret)
	switch {
	case errors.Is(err, natslink.ErrSignature) && answer.Kind == natslink.Refused && answer.ID == h.ID:
		return h, nil, errRefused
	case err != nil:
		return h, nil, err
	case answer.Kind != natslink.Answer || answer.ID != h.ID || answer.Part != h.Part:
		return h, nil, errOther
	case answer.Restart:
		return h, nil, errRestarted
	}
	return answer, text, nil
}

// session is the time with one exchange, which sends offers and orders.
type session struct {
	name string
	node string // name of the exchange in subjects
	beat chan struct{}
	over chan error      // why it has ended
	ctx  context.Context // until it has ended

	number uint64 // of the last complete event
	joined natslink.Joined
}

// end ends the session. Only the first reason counts.
func (s *session) end(why error) {
	select {
	case s.over <- why:
	default:
	}
}

var (
	errSilent = errors.New("the exchange is silent")
	errEnded  = errors.New("the exchange has ended it")
)

// session begins a session, and keeps it until it ends or ctx ends. been is false if it has not begun.
func (c *Client) session(ctx context.Context) (been bool, err error) {
	if err := c.readKey(); err != nil {
		return false, err
	}
	s := &session{name: rand.Text()[:16], beat: make(chan struct{}, 1), over: make(chan error, 1)}
	within, ended := context.WithCancel(ctx)
	defer ended()
	s.ctx = within
	in, err := c.nc.Subscribe(c.subjects.Executor(c.cfg.Executor, natslink.In, s.name), func(m *nats.Msg) { c.take(s, m) })
	if err != nil {
		return false, err
	}
	defer func() { _ = in.Unsubscribe() }() // it fails only on a closed connection
	begin, cancel := context.WithTimeout(ctx, askTime)
	defer cancel()
	answer, _, err := c.ask(begin, natslink.Head{Kind: natslink.Begin, Session: s.name}, nil)
	if err != nil {
		return false, err
	}
	c.mu.Lock()
	s.node, c.maxFile, c.now = answer.Node, answer.MaxFile, s
	c.lastErr = nil
	c.mu.Unlock()
	c.log.Info("connected to the exchange over NATS", "server", c.nc.ConnectedUrlRedacted())
	defer c.leave(s)
	silence := time.Duration(float64(answer.BeatMS)*natslink.Silence) * time.Millisecond
	t := time.NewTimer(silence)
	defer t.Stop()
	for {
		select {
		case <-s.beat:
			t.Reset(silence)
		case err := <-s.over:
			return true, err
		case <-t.C:
			return true, errSilent
		case <-ctx.Done():
			return true, nil
		}
	}
}

// leave ends a session here, and tells the exchange if it is there.
func (c *Client) leave(s *session) {
	c.mu.Lock()
	c.now = nil
	c.mu.Unlock()
	c.tell(s, natslink.Bye)
	_ = c.nc.FlushTimeout(time.Second) // without it, the exchange waits until the session is silent
}

// tell sends the exchange of a session a message without an answer.
func (c *Client) tell(s *session, k natslink.Kind) {
	c.mu.Lock()
	secret, node := c.secret, s.node
	c.mu.Unlock()
	h := natslink.Head{Kind: k, Executor: c.cfg.Executor, ID: rand.Text(), Session: s.name}
	if err := c.nc.Publish(c.subjects.Executor(c.cfg.Executor, natslink.Out, node), natslink.Seal(secret, h, nil)); err != nil {
		c.log.Debug("not sent over NATS", "kind", k, "err", err)
	}
}
