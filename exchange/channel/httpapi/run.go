package httpapi

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/messkit/messkit/exchange"
	"github.com/messkit/messkit/mess"
)

// Time limits of a connection. A stream of events has none: it sets a deadline
// for each thing it writes.
const (
	headerTime  = 10 * time.Second
	idleTime    = 2 * time.Minute
	answerTime  = 2 * time.Minute  // reading the body and writing the answer
	refusalTime = 10 * time.Second // writing that it took too long
	workTime    = 30 * time.Second // what the exchange may take for one message
	endTime     = 5 * time.Second  // what is under way may still take when the program ends
	maxHeader   = 16 << 10
)

// serverContextKey is the key under which a request finds the context that ends when
// the door closes.
type serverContextKey struct{}

// Run serves until ctx ends; then streams and polls end at once, and what is
// under way is finished within some seconds.
func (d *Server) Run(ctx context.Context, l net.Listener) error {
	g, gctx := errgroup.WithContext(ctx)
	base := context.WithValue(context.WithoutCancel(ctx), serverContextKey{}, gctx)
	s := &http.Server{
		Handler: d.Handler(), ReadHeaderTimeout: headerTime, IdleTimeout: idleTime, MaxHeaderBytes: maxHeader,
		BaseContext: func(net.Listener) context.Context { return base },
		ConnContext: func(ctx context.Context, conn net.Conn) context.Context {
			return context.WithValue(ctx, connKey{}, conn)
		},
		ConnState: markIdle,
		ErrorLog:  slog.NewLogLogger(d.log.Handler(), slog.LevelDebug),
		Protocols: new(http.Protocols),
	}
	s.Protocols.SetHTTP1(true) // its limits are by connection; of HTTP/2 one has many streams
	var port net.Listener = &limitedListener{l, d.conns}
	if d.cfg.TLS != nil {
		port = &tlsListener{port, d.cfg.TLS}
	}
	g.Go(func() error {
		if err := s.Serve(port); !errors.Is(err, http.ErrServerClosed) {
			return err
		}
		return nil
	})
	g.Go(func() error {
		<-gctx.Done()
		last, cancel := context.WithTimeout(base, endTime)
		defer cancel()
		if err := s.Shutdown(last); err != nil {
			return s.Close()
		}
		return nil
	})
	err := g.Wait()
	d.streams.Wait()
	return err
}

// waitContext is the context of what waits for news: it ends when the client goes,
// its key ends or the door closes.
func (c *call) waitContext() (context.Context, context.CancelFunc) {
	return c.untilRevoked(c.r.Context())
}

// untilRevoked is that for what outlives its request: nothing of which must be kept.
func (c *call) untilRevoked(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(ctx)
	unwatch := c.keys.Watch(c.key, c.who, cancel)
	closes := func() bool { return true }
	if door, ok := c.r.Context().Value(serverContextKey{}).(context.Context); ok {
		closes = context.AfterFunc(door, cancel)
	}
	return ctx, func() { closes(); unwatch(); cancel() }
}

// post hands a message to the exchange. What has begun is finished, even if the
// client goes: it may have been stored already.
func (c *call) post(m mess.Message) (mess.Message, error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(c.r.Context()), workTime)
	defer cancel()
	return c.x.Post(ctx, exchange.Inbound{Actor: c.who, Channel: channel, Proof: c.proof(), Message: m})
}
