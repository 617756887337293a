// Package broker keeps a connection to an MQTT 3.1.1 broker and connects again after a
// failure, with a will and a birth message for every session. The pause between tries depends
// on how long sessions last, not on whether one could begin. It knows no topics.
package broker

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"net"
	"net/url"
	"sync"
	"time"

	paho "github.com/eclipse/paho.mqtt.golang"
	"github.com/eclipse/paho.mqtt.golang/packets"
	"golang.org/x/sync/errgroup"

	"github.com/messkit/messkit/internal/mistake"
	"github.com/messkit/messkit/internal/wait"
)

// Message is an MQTT message.
type Message struct {
	Topic   string
	Payload []byte
	Retain  bool // of a received message: the broker had stored it
	QoS     byte // of a received message; sent messages have 1

	done func()
}

// Done acknowledges a received message with Config.Manual. Until then the broker may send it
// again.
func (m Message) Done() {
	if m.done != nil {
		m.done()
	}
}

// Session has the settings of one session.
type Session struct {
	Will  Message // the broker sends it when the connection breaks
	Birth Message // sent after the subscriptions
	End   Message // sent at a graceful shutdown of Run
}

// Config of a link.
type Config struct {
	Address
	ID      string   // of the client
	Filters []string // subscriptions, with QoS 1
	Clean   bool     // the broker drops the earlier session
	// Secure has the TLS settings of connections; nil for those of Address.
	Secure *tls.Config
	Manual bool // acknowledge a message only when Handle calls its Done
	// Begin makes the messages of a session. The link calls it before every attempt.
	Begin func() (Session, error)
	// Handle receives the messages in order. It must not wait for the link.
	Handle func(Message)
	// Up runs during a session, whose end cancels ctx; an error ends the session. It may be nil.
	Up func(ctx context.Context) error
	// Dial opens a connection; nil: to Address.
	Dial func(ctx context.Context) (net.Conn, error)
	// Jitter returns the pause before the next attempt, at most limit; nil for a random pause.
	Jitter func(limit time.Duration) time.Duration
}

// Link is a connection to a broker. Make it with New and run its Run.
type Link struct {
	cfg Config
	log *slog.Logger

	mu      sync.Mutex
	now     *session      // nil for none
	turn    chan struct{} // closed when now or lastErr changes
	lastErr error         // the reason for no session; nil before the first attempt
	been    bool          // the link has had a session
	own     ownTopic      // watches the topic of the birth message
}

// session is one connection.
type session struct {
	client paho.Client
	ctx    context.Context // ends with it
	work   *works
	began  time.Time // the broker acknowledged the birth message
}

// ErrDown means that there is no connection now.
var ErrDown = errors.New("there is no connection to the broker")

// ErrRefused means that the broker rejects the client.
var ErrRefused = errors.New("the broker does not let this client in; look at the user, the password and the client's id")

// New makes a link. It does not connect before Run.
func New(cfg Config, log *slog.Logger) *Link {
	if cfg.Jitter == nil {
		cfg.Jitter = rand.N[time.Duration]
	}
	return &Link{cfg: cfg, log: log, turn: make(chan struct{})}
}

// Times of a connection.
const (
	keepAlive    = 30 * time.Second
	pingTime     = 10 * time.Second
	writeTime    = 30 * time.Second
	answerTime   = 10 * time.Second // for a SUBACK, and for the PUBACK of a birth message
	closeTimeout = time.Second      // for the end message and the last packets
	healthy      = 30 * time.Second // the age of a session that resets the backoff
	firstWait    = time.Second
	lastWait     = time.Minute
	aliveTries   = 2           // after a session with an acknowledged birth message, the pause is at most firstWait<<aliveTries
	takenWait    = time.Minute // the smallest pause if another client has the same id
	kicksSeen    = 2           // sessions in a row that the broker ended and that had another client's status
	kicksBlind   = 8           // the same if this client may not read its own status
)

// Run connects, and connects again after failures, until ctx ends. Then it returns nil.
func (l *Link) Run(ctx context.Context) error {
	work := &works{}
	defer work.wait()
	p := reconnectPause{backoff: wait.Backoff{First: firstWait, Last: lastWait, Jitter: l.cfg.Jitter}}
	for ctx.Err() == nil {
		age, err := l.session(ctx, work)
		if ctx.Err() != nil {
			break
		}
		pause, taken := p.after(age, err, l.own.ended())
		l.setError(age, err, taken)
		wait.For(ctx, pause)
	}
	return nil
}

// reconnectPause computes the pause before the next try from the age that sessions reach: a broker
// that accepts and then disconnects is no better than none.
type reconnectPause struct {
	backoff wait.Backoff
	kicks   int
}

// after returns the pause after a session of that age, and whether another client uses the same
// id. A broker that closes connections gracefully twice looks like two clients with one id. A
// status on this client's topic that this client has not published shows the second client.
func (p *reconnectPause) after(age time.Duration, err error, seen sight) (pause time.Duration, taken bool) {
	switch {
	case age >= healthy:
		p.backoff.Reset(0)
	case age > 1: // the broker has acknowledged the birth message
		p.backoff.Reset(aliveTries)
	}
	pause = p.backoff.Next()
	kicked := age > 0 && age <= 2*lastWait && errors.Is(err, io.EOF)
	if !kicked || seen == noOtherClient {
		p.kicks = 0
		return pause, false
	}
	needed := kicksSeen
	if seen == unseen {
		needed = kicksBlind
	}
	if p.kicks++; p.kicks < needed {
		return pause, false
	}
	return takenWait + pause, true
}

// setError stores and logs the reason for the missing session.
func (l *Link) setError(age time.Duration, err error, taken bool) {
	l.mu.Lock()
	first := l.lastErr == nil
	l.lastErr = err
	l.turned()
	l.mu.Unlock()
	switch {
	case taken:
		l.log.Warn("the broker ends the connection again and again; another client may use the same id", "client", l.cfg.ID, "broker", l.cfg.Host())
	case age > 0:
		l.log.Warn("connection to the broker lost", "broker", l.cfg.Host(), "err", err)
	case first:
		l.log.Warn("cannot reach the broker", "broker", l.cfg.Host(), "err", err)
	default:
		l.log.Debug("cannot reach the broker", "broker", l.cfg.Host(), "err", err)
	}
}

// session makes one connection and keeps it until it breaks or ctx ends. age is the duration of
// the session, or 0 for no session.
func (l *Link) session(ctx context.Context, work *works) (age time.Duration, err error) {
	says, err := l.cfg.Begin()
	if err != nil {
		return 0, err
	}
	sctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	l.own.begin(says)
	client, err := l.connect(sctx, says, func(err error) { cancel(err) })
	if err != nil {
		return 0, err
	}
	s := &session{client: client, ctx: sctx, work: work}
	err = l.live(ctx, s, says)
	cancel(err)
	client.Disconnect(uint(closeTimeout.Milliseconds()))
	if s.began.IsZero() {
		return 1, err // the broker accepted the client, and the session ended before the birth message
	}
	return max(1, time.Since(s.began)), err
}

// live runs a session from its subscriptions to its end.
func (l *Link) live(ctx context.Context, s *session, says Session) error {
	if err := l.subscribe(s, says.Birth.Topic); err != nil {
		return err
	}
	if err := s.publish(s.ctx, says.Birth, answerTime); err != nil {
		return fmt.Errorf("birth: %w", err)
	}
	s.began = time.Now()
	l.set(s)
	defer l.set(nil)
	l.log.Info("connected to the broker", "broker", l.cfg.Host())
	g, gctx := errgroup.WithContext(s.ctx)
	g.Go(func() error { <-gctx.Done(); return context.Cause(gctx) })
	if l.cfg.Up != nil {
		g.Go(func() error { return l.cfg.Up(gctx) })
	}
	err := g.Wait()
	if cause := context.Cause(s.ctx); cause != nil {
		err = cause
	}
	if ctx.Err() != nil && says.End.Topic != "" {
		last := &session{client: s.client, ctx: context.WithoutCancel(ctx), work: s.work}
		_ = last.publish(last.ctx, says.End, closeTimeout) // without it, the broker sends the will
	}
	return err
}

// subscribe subscribes to Config.Filters, and to the client's own status if the
// broker allows that.
func (l *Link) subscribe(s *session, status string) error {
	filters := map[string]byte{}
	if status != "" {
		filters[status] = 0
	}
	for _, f := range l.cfg.Filters {
		filters[f] = 1
	}
	if len(filters) == 0 {
		return nil
	}
	t, err := s.do(s.ctx, answerTime, func() paho.Token { return s.client.SubscribeMultiple(filters, nil) })
	if err != nil {
		return fmt.Errorf("subscribe: %w", err)
	}
	for f, code := range t.(*paho.SubscribeToken).Result() {
		if f == status && filters[f] == 0 {
			l.own.readable(code <= 2)
		} else if code > 2 {
			return fmt.Errorf("the broker does not let this client read %s; look at its access rules", f)
		}
	}
	return nil
}

// connect makes a connection, and logs in to the broker.
func (l *Link) connect(ctx context.Context, says Session, lost func(error)) (paho.Client, error) {
	secure, err := l.cfg.Secure, error(nil)
	if secure == nil {
		if secure, err = l.cfg.TLS(); err != nil {
			return nil, err
		}
	}
	password, err := l.cfg.Password()
	if err != nil {
		return nil, err
	}
	o := paho.NewClientOptions().SetClientID(l.cfg.ID).SetUsername(l.cfg.User).SetPassword(password).SetProtocolVersion(4).
		SetCleanSession(l.cfg.Clean).SetAutoReconnect(false).SetConnectRetry(false).SetOrderMatters(true).SetAutoAckDisabled(l.cfg.Manual).
		SetKeepAlive(keepAlive).SetPingTimeout(pingTime).SetWriteTimeout(writeTime).SetConnectTimeout(dialTime).
		SetConnectionLostHandler(func(_ paho.Client, err error) { lost(ended(err)) }).
		SetDefaultPublishHandler(func(_ paho.Client, m paho.Message) {
			if l.own.takeOwn(m.Topic(), m.Payload()) {
				m.Ack()
				return
			}
			l.deliver(Message{Topic: m.Topic(), Payload: m.Payload(), Retain: m.Retained(), QoS: m.Qos(), done: m.Ack})
		})
	o.Servers = []*url.URL{{Scheme: "tcp", Host: l.cfg.Host()}}
	o.SetCustomOpenConnectionFn(func(*url.URL, paho.ClientOptions) (net.Conn, error) {
		if l.cfg.Dial != nil {
			return l.cfg.Dial(ctx)
		}
		return l.cfg.Address.Dial(ctx, secure)
	})
	if w := says.Will; w.Topic != "" {
		o.SetBinaryWill(w.Topic, w.Payload, 1, w.Retain)
	}
	client := paho.NewClient(o)
	t := client.Connect()
	<-t.Done() // dialing ends with ctx, and the answer has its time
	if err := t.Error(); err != nil {
		return nil, refused(err)
	}
	return client, nil
}

// deliver passes a received message to Config.Handle. If the handler panics, deliver acknowledges
// the message, because it would panic again.
func (l *Link) deliver(m Message) {
	taken := false
	defer func() {
		if !taken {
			m.Done()
		}
	}()
	defer mistake.Caught(l.log, "topic", m.Topic, "bytes", len(m.Payload))
	l.cfg.Handle(m)
	taken = true
}

// ended returns the reason for the end of a connection: io.EOF if the broker closed it
// gracefully, otherwise err.
func ended(err error) error {
	if err == nil {
		return io.EOF
	}
	return err
}

// refused adds the remedy to a broker's refusal.
func refused(err error) error {
	for _, code := range []byte{packets.ErrRefusedBadUsernameOrPassword, packets.ErrRefusedNotAuthorised, packets.ErrRefusedIDRejected} {
		if errors.Is(err, packets.ConnErrors[code]) {
			return fmt.Errorf("%w (%w)", ErrRefused, err)
		}
	}
	return err
}

// set stores the present session, nil for none.
func (l *Link) set(s *session) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.now = s
	if s != nil {
		l.been, l.lastErr = true, nil
	}
	l.turned()
}

// turned wakes the goroutines that wait for a session. The caller holds l.mu.
func (l *Link) turned() {
	close(l.turn)
	l.turn = make(chan struct{})
}
