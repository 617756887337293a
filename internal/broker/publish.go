package broker

import (
	"context"
	"errors"
	"time"

	paho "github.com/eclipse/paho.mqtt.golang"
)

// Session waits for a session, and returns a context that ends with it. Before the first session,
// it returns ErrRefused at once if the broker rejects the client.
func (l *Link) Session(ctx context.Context) (context.Context, error) {
	s, err := l.await(ctx)
	if err != nil {
		return nil, err
	}
	return s.ctx, nil
}

func (l *Link) await(ctx context.Context) (*session, error) {
	for {
		l.mu.Lock()
		s, turn, lastErr, been := l.now, l.turn, l.lastErr, l.been
		l.mu.Unlock()
		switch {
		case s != nil:
			return s, nil
		case !been && errors.Is(lastErr, ErrRefused):
			return nil, lastErr
		}
		select {
		case <-turn:
		case <-ctx.Done():
			if lastErr == nil {
				lastErr = ErrDown
			}
			return nil, lastErr
		}
	}
}

// Publish sends a message, and returns after the acknowledgement of the broker. The error is
// ErrDown if there is no connection, or if it breaks meanwhile. In the second case the broker may
// have received the message.
func (l *Link) Publish(ctx context.Context, m Message) error {
	l.mu.Lock()
	s := l.now
	l.mu.Unlock()
	if s == nil {
		return ErrDown
	}
	l.own.publishes(m)
	return s.publish(ctx, m, 0)
}

// publish sends a message and waits for the acknowledgement, for at most limit if that is not 0.
func (s *session) publish(ctx context.Context, m Message, limit time.Duration) error {
	if m.Topic == "" {
		return nil
	}
	_, err := s.do(ctx, limit, func() paho.Token { return s.client.Publish(m.Topic, 1, m.Retain, m.Payload) })
	return err
}

// do makes a call that may hang on a dead connection, and waits for the acknowledgement, for at
// most limit if that is not 0.
func (s *session) do(ctx context.Context, limit time.Duration, call func() paho.Token) (t paho.Token, err error) {
	if limit > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, limit, errSilent)
		defer cancel()
	}
	sent := make(chan paho.Token, 1)
	if !s.work.start(func() { sent <- call() }) {
		return nil, ErrDown
	}
	select {
	case t = <-sent:
	case <-s.ctx.Done():
		return nil, ErrDown
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	select {
	case <-t.Done():
		return t, t.Error()
	case <-s.ctx.Done():
		return t, ErrDown
	case <-ctx.Done():
		return t, context.Cause(ctx)
	}
}

var errSilent = errors.New("the broker does not answer")
