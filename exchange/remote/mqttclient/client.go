// Package mqttclient connects an executor to its exchange over an MQTT broker.
package mqttclient

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/messkit/messkit/exchange/remote/httpclient"
	"github.com/messkit/messkit/exchange/remote/mailbox"
	"github.com/messkit/messkit/internal/broker"
	"github.com/messkit/messkit/mess"
	"github.com/messkit/messkit/mess/topic"
)

// Config is the configuration of an executor that reaches its exchange over a broker.
type Config struct {
	broker.Address
	Exchange string // its id; "": the only exchange at the broker
	Executor string // id of this executor, at the exchange and at the broker
	Pin      string // fingerprint of the broker's certificate; "": a certificate of a known authority
	// Epoch returns the number of the next session. It must be higher than the number of every
	// earlier session, also of those before a restart; nil derives it from the clock.
	Epoch func() (uint64, error)
	// Dial opens a connection; nil: over the network.
	Dial func(ctx context.Context) (net.Conn, error)
	// Jitter picks a wait of at most limit; nil picks at random.
	Jitter func(limit time.Duration) time.Duration
}

// Validate returns an error for every invalid setting.
func (c Config) Validate() error {
	errs := []error{c.Address.Validate()}
	if c.Exchange != "" {
		if err := topic.CheckID(c.Exchange); err != nil {
			errs = append(errs, fmt.Errorf("exchange: %w", err))
		}
	}
	if c.Pin != "" {
		if err := httpclient.CheckPin(c.Pin); err != nil {
			errs = append(errs, err)
		}
		if strings.HasPrefix(c.URL, "mqtt://") {
			errs = append(errs, errors.New("pin: is for TLS alone; write mqtts:// in url"))
		}
	}
	if c.Executor != "" {
		if err := topic.CheckID(c.Executor); err != nil {
			errs = append(errs, fmt.Errorf("id of the executor: %w", err))
		}
	}
	return errors.Join(errs...)
}

// Client is a remote exchange over a broker for one executor. Make it with New and keep its Run
// running. It is safe for concurrent use.
type Client struct {
	cfg      Config
	log      *slog.Logger
	made     chan struct{} // closed after root and link exist
	root     topic.Root
	link     *broker.Link
	instance string // unique id of this client
	inbox    *mailbox.Box
	bad      atomic.Int64 // invalid payloads and retained commands

	mu                sync.Mutex
	waits             map[string]chan mess.Message // for answers, by the id of the question
	epoch             uint64                       // of the current session
	epochUnused       bool                         // no session has used epoch yet
	status            ownStatus
	stopped, disarmed bool           // as last reported to the exchange
	drained           bool           // likewise
	card              broker.Message // empty topic: not registered yet
	peerStatus        exchangeStatus
}

// exchangeStatus is the exchange's status message.
type exchangeStatus struct {
	epoch uint64
	max   int64 // bytes of an attachment; 0: not reported
}

// New makes a client. It makes no connection.
func New(cfg Config, log *slog.Logger) (*Client, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	if cfg.PasswordFile != "" && cfg.User == "" {
		cfg.User = cfg.Executor
	}
	c := &Client{cfg: cfg, log: log, made: make(chan struct{}), waits: map[string]chan mess.Message{}, inbox: mailbox.New(), instance: rand.Text()[:12]}
	c.status.State = "init"
	if c.cfg.Epoch == nil {
		c.cfg.Epoch = countFromNow()
	}
	return c, nil
}

// countFromNow returns epochs for an executor that does not store them. It relies on a correct
// clock after a restart.
func countFromNow() func() (uint64, error) {
	var last atomic.Uint64
	return func() (uint64, error) {
		for {
			was := last.Load()
			next := max(was+1, uint64(max(0, time.Now().Unix())))
			if last.CompareAndSwap(was, next) {
				return next, nil
			}
		}
	}
}

// Run keeps the connection until ctx ends; then it returns nil.
func (c *Client) Run(ctx context.Context) error {
	id := c.cfg.Exchange
	if id == "" {
		var err error
		if id, err = c.find(ctx); err != nil || ctx.Err() != nil {
			return err
		}
	}
	r := topic.Of(id)
	cfg := c.linkConfig(c.cfg.Executor)
	cfg.Filters = []string{
		r.Exchange(), r.Stop(), r.Executor(c.cfg.Executor, topic.Now), r.Executor(c.cfg.Executor, topic.In),
	}
	cfg.Begin, cfg.Handle, cfg.Up = c.begin, c.handle, c.up
	c.root, c.link = r, broker.New(cfg, c.log)
	close(c.made)
	return c.link.Run(ctx)
}

func (c *Client) linkConfig(id string) broker.Config {
	cfg := broker.Config{Address: c.cfg.Address, ID: id, Dial: c.cfg.Dial, Jitter: c.cfg.Jitter}
	if c.cfg.Pin != "" {
		cfg.Secure = httpclient.PinnedTLS(c.cfg.Pin)
		if own, err := c.cfg.TLS(); err == nil && own != nil { // without readable files the broker rejects the connection
			cfg.Secure.Certificates = own.Certificates
		}
	}
	return cfg
}

// Find returns the id of the only exchange at the broker; "" if ctx ends before there is one.
func Find(ctx context.Context, cfg Config, log *slog.Logger) (string, error) {
	c, err := New(cfg, log)
	if err != nil {
		return "", err
	}
	return c.find(ctx)
}

// gather is the time that further exchanges have to report their status.
const gather = 500 * time.Millisecond

// find returns the id of the only exchange at the broker.
func (c *Client) find(ctx context.Context) (string, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	seen := make(chan string, 16)
	cfg := c.linkConfig(c.cfg.Executor + ":find")
	cfg.Clean, cfg.Filters = true, []string{topic.Anywhere}
	cfg.Begin = func() (broker.Session, error) { return broker.Session{}, nil }
	cfg.Handle = func(m broker.Message) {
		if id := topic.Exchange(m.Topic); id != "" && len(m.Payload) > 0 {
			select {
			case seen <- id:
			default:
			}
		}
	}
	link := broker.New(cfg, c.log)
	var g errgroup.Group
	g.Go(func() error { return link.Run(ctx) })
	id, err := c.only(ctx, seen)
	cancel()
	return id, errors.Join(err, g.Wait())
}

// only waits for the first exchange, and returns an error if there is another one.
func (c *Client) only(ctx context.Context, seen <-chan string) (string, error) {
	c.log.Info("looking for an exchange at the broker", "broker", c.cfg.Host())
	var id string
	select {
	case id = <-seen:
	case <-ctx.Done():
		return "", nil
	}
	t := time.NewTimer(gather)
	defer t.Stop()
	for {
		select {
		case other := <-seen:
			if other != id {
				return "", mess.Errorf(mess.Invalid, "the broker at %s knows of several exchanges, %s and %s; write which one, as connect: exchange:", c.cfg.Host(), id, other)
			}
		case <-t.C:
			c.log.Info("exchange found", "exchange", id)
			return id, nil
		case <-ctx.Done():
			return "", nil
		}
	}
}

// begin returns the messages of a session. The epoch stays the same until a session succeeds.
func (c *Client) begin() (broker.Session, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.epochUnused {
		epoch, err := c.cfg.Epoch()
		if err != nil {
			c.log.Warn("cannot store the number of the session", "err", err)
			epoch = c.epoch + 1
		}
		c.epoch, c.epochUnused = max(epoch, c.epoch+1), true
	}
	s := c.status
	s.Epoch = c.epoch
	lost, gone := s, s
	lost.State, gone.State = "lost", "disconnected"
	return broker.Session{Will: c.statusMessage(lost), Birth: c.statusMessage(s), End: c.statusMessage(gone)}, nil
}

// up runs during a session. It publishes the card again, because the broker may have lost it. At
// the end of the session it notes that messages may be lost.
func (c *Client) up(ctx context.Context) error {
	c.mu.Lock()
	c.epochUnused = false
	card := c.card
	c.mu.Unlock()
	if card.Topic != "" {
		if err := c.link.Publish(ctx, card); err != nil && ctx.Err() == nil {
			c.log.Debug("card not published", "err", err)
		}
	}
	<-ctx.Done()
	c.inbox.NoteLoss()
	return nil
}

// ownStatus is the executor's status message.
type ownStatus struct {
	State string    // init, ready, busy, held, stopped, disarmed, disconnected or lost
	Epoch uint64    // of the session
	Since mess.Time // time of the last change of State
	Card  string    // hash of the card; "" before there is one
	Queue int       // open threads
}

func (c *Client) statusMessage(s ownStatus) broker.Message {
	o := mess.Object{{Key: "state", Value: s.State}, {Key: "epoch", Value: s.Epoch}, {Key: "instance", Value: c.instance}}
	if s.Since != "" {
		o = append(o, mess.Field{Key: "since", Value: string(s.Since)})
	}
	if s.Card != "" {
		o = append(o, mess.Field{Key: "card", Value: s.Card})
	}
	o = append(o, mess.Field{Key: "queue", Value: s.Queue})
	text, _ := o.MarshalJSON() // cannot fail: plain values
	return broker.Message{Topic: c.root.Executor(c.cfg.Executor, topic.Status), Payload: text, Retain: true}
}

// changeStatus changes the executor's status, and publishes it after a change.
func (c *Client) changeStatus(ctx context.Context, change func(*ownStatus)) {
	c.mu.Lock()
	was := c.status
	change(&c.status)
	if c.status.State != was.State {
		c.status.Since = mess.TimeOf(time.Now())
	}
	s := c.status
	s.Epoch = c.epoch
	c.mu.Unlock()
	if s == was || s.State == was.State && s.Queue == was.Queue && s.Card == was.Card {
		return
	}
	if err := c.link.Publish(ctx, c.statusMessage(s)); err != nil {
		c.log.Debug("status not published; the next session says it", "err", err)
	}
}

// maxFile returns the maximum size of an attachment at the exchange, in bytes.
func (c *Client) maxFile() int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return cmp.Or(c.peerStatus.max, httpclient.MaxFile)
}
