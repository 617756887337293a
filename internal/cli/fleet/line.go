package fleet

import (
	"context"
	"errors"
	"net"
	"os"
	"time"

	"github.com/messkit/messkit/internal/wait"
)

// line is the connection of one executor or requester.
type line interface {
	// post sends a message and returns the answer of the exchange. The error is a *countedError
	// if there is no answer, or one that may be another on the next try.
	post(ctx context.Context, name string, text []byte) (answer, error)
	// listen passes each message to receive until ctx ends, and connects again after a
	// failure. It calls ready at the start of each connection.
	listen(ctx context.Context, ready func(context.Context) error, receive func(incoming), broken func(error)) error
}

// countedError is a failure of a kind that the report counts.
type countedError struct {
	kind string
	error
}

func (t *countedError) Unwrap() error { return t.error }

// kindOf names the kind of a failure for the report.
func kindOf(err error) string {
	if t, ok := errors.AsType[*countedError](err); ok {
		return t.kind
	}
	if n, ok := errors.AsType[net.Error](err); ok && n.Timeout() || errors.Is(err, context.DeadlineExceeded) || errors.Is(err, os.ErrDeadlineExceeded) {
		return "no answer in time"
	}
	return "connection"
}

// answerTime is the time that one try waits for an answer.
const answerTime = 20 * time.Second

// tries of one message, as real executors make them. The id of the message makes the
// exchange do it once.
const tries = 6

// persist repeats a message until an answer arrives, or until all tries have failed. It calls
// failed after each failed try.
func persist(ctx context.Context, l line, name string, text []byte, failed func(kind string)) (answer, error) {
	pause := 100 * time.Millisecond
	for try := 1; ; try++ {
		one, cancel := context.WithTimeout(ctx, answerTime)
		a, err := l.post(one, name, text)
		cancel()
		if err == nil || ctx.Err() != nil {
			return a, err
		}
		failed(kindOf(err))
		if refused, ok := errors.AsType[*refusal](err); ok {
			pause = max(pause, refused.retry)
		}
		if try == tries || !wait.For(ctx, pause) {
			return a, err
		}
		pause *= 2
	}
}

// connect calls session with a connection. It closes the connection at the end of ctx, or of
// session.
func connect(ctx context.Context, host string, session func(context.Context, net.Conn) error) error {
	d := net.Dialer{Timeout: 30 * time.Second}
	conn, err := d.DialContext(ctx, "tcp", host)
	if err != nil {
		return err
	}
	defer context.AfterFunc(ctx, func() { _ = conn.Close() })()
	defer conn.Close()
	return session(ctx, conn)
}

// reconnect connects to a host and calls session until ctx ends, with growing pauses between
// failures.
func reconnect(ctx context.Context, host string, session func(context.Context, net.Conn) error, broken func(error)) {
	pause := 250 * time.Millisecond
	for ctx.Err() == nil {
		began := time.Now()
		err := connect(ctx, host, session)
		if ctx.Err() != nil {
			return
		}
		broken(err)
		if time.Since(began) > 30*time.Second {
			pause = 250 * time.Millisecond
		}
		if !wait.For(ctx, pause) {
			return
		}
		pause = min(2*pause, 10*time.Second)
	}
}
