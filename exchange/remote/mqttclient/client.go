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
	"github.com/messkit/messkit/internal/broker"
	"github.com/messkit/messkit/mess"
	"github.com/messkit/messkit/mess/topic"
)

// Config says how an executor reaches its exchange over a broker.
type Config struct {
	broker.Address
	Exchange string // its id; "": the only one that the broker knows of
	Executor string // who we are, there and at the broker
	Pin      string // fingerprint of the broker's certificate; "": one that is signed
	// Epoch is the number of the next session, higher than every one before, also
	// those of earlier runs; nil counts from the time on.
	Epoch func() (uint64, error)
	// Dial opens a connection; nil: over the network.
	Dial func(ctx context.Context) (net.Conn, error)
	// Jitter picks how long to wait, at most limit; nil leaves it to chance.
	Jitter func(limit time.Duration) time.Duration
}

// Validate tells every setting that cannot be.
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

// Client is an exchange over a broker, as one executor sees it. Make it with
// New and keep its Run running. It is safe for concurrent use.
type Client struct {
	cfg      Config
	log      *slog.Logger
	made     chan struct{} // closed when root and link are there
	root     topic.Root
	link     *broker.Link
	instance string // of this client: no other one says the same
	inbox    *inbox
	bad      atomic.Int64 // messages that were none, or retained commands

	mu                sync.Mutex
	waits             map[string]chan mess.Message // for answers, by what they answer
	epoch             uint64                       // of our session
	fresh             bool                         // no session has used it
	says              ownStatus
	stopped, disarmed bool           // by what the exchange has been told
	held              bool           // as these
	card              broker.Message // "" topic: we have not registered
	theirs            exchangeStatus
}

// exchangeStatus is what the exchange says of itself.
type exchangeStatus struct {
	epoch uint64
	max   int64 // bytes of an attachment; 0 if it has not said so
}

// New makes a client. It does not reach out.
func New(cfg Config, log *slog.Logger) (*Client, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	if cfg.PasswordFile != "" && cfg.User == "" {
		cfg.User = cfg.Executor
	}
	c := &Client{cfg: cfg, log: log, made: make(chan struct{}), waits: map[string]chan mess.Message{}, inbox: newInbox(), instance: rand.Text()[:12]}
	c.says.State = "init"
	if c.cfg.Epoch == nil {
		c.cfg.Epoch = countFromNow()
	}
	return c, nil
}

// countFromNow are epochs for an executor that keeps none: its clock is right, or
// it has not run before.
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
		if own, err := c.cfg.TLS(); err == nil && own != nil { // files that cannot be read any more: the broker says no
			cfg.Secure.Certificates = own.Certificates
		}
	}
	return cfg
}

// Find looks which exchange the broker knows of; "" if ctx ends before there is
// one.
func Find(ctx context.Context, cfg Config, log *slog.Logger) (string, error) {
	c, err := New(cfg, log)
	if err != nil {
		return "", err
	}
	return c.find(ctx)
}

// gather is how long others may take to say that they are there as well.
const gather = 500 * time.Millisecond

// find looks which exchange the broker knows of.
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

// only waits for the first exchange that is there, and whether there is another.
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

// begin makes what a session says: the same epoch until one has come about.
func (c *Client) begin() (broker.Session, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.fresh {
		epoch, err := c.cfg.Epoch()
		if err != nil {
			c.log.Warn("the number of the session cannot be kept", "err", err)
			epoch = c.epoch + 1
		}
		c.epoch, c.fresh = max(epoch, c.epoch+1), true
	}
	s := c.says
	s.Epoch = c.epoch
	lost, gone := s, s
	lost.State, gone.State = "lost", "disconnected"
	return broker.Session{Will: c.status(lost), Birth: c.status(s), End: c.status(gone)}, nil
}

// up is a session: what the broker may have forgotten is said again, and who
// waits in Receive hears that something may have been missed.
func (c *Client) up(ctx context.Context) error {
	c.mu.Lock()
	c.fresh = false
	card := c.card
	c.mu.Unlock()
	if card.Topic != "" {
		if err := c.link.Publish(ctx, card); err != nil && ctx.Err() == nil {
			c.log.Debug("card not published", "err", err)
		}
	}
	<-ctx.Done()
	c.inbox.anew()
	return nil
}

// ownStatus is what an executor says of itself.
type ownStatus struct {
	State string    // init, ready, busy, held, stopped, disarmed, disconnected or lost
	Epoch uint64    // of the session
	Since mess.Time // it is so
	Card  string    // hash of the card; "" before there is one
	Queue int       // threads that are worked on
}

func (c *Client) status(s ownStatus) broker.Message {
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

// stand notes how the executor stands, and publishes it if that is news.
func (c *Client) stand(ctx context.Context, change func(*ownStatus)) {
	c.mu.Lock()
	was := c.says
	change(&c.says)
	if c.says.State != was.State {
		c.says.Since = mess.TimeOf(time.Now())
	}
	s := c.says
	s.Epoch = c.epoch
	c.mu.Unlock()
	if s == was || s.State == was.State && s.Queue == was.Queue && s.Card == was.Card {
		return
	}
	if err := c.link.Publish(ctx, c.status(s)); err != nil {
		c.log.Debug("status not published; the next session says it", "err", err)
	}
}

// maxFile is the largest attachment that the exchange takes, in bytes.
func (c *Client) maxFile() int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return cmp.Or(c.theirs.max, httpclient.MaxFile)
}
