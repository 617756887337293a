// Package natsclient connects an executor to its exchange over NATS servers.
package natsclient

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/messkit/messkit/exchange/remote/httpclient"
	"github.com/messkit/messkit/exchange/remote/mailbox"
	"github.com/messkit/messkit/internal/natslink"
	"github.com/messkit/messkit/internal/wait"
	"github.com/messkit/messkit/mess"
)

// Config is the configuration of an executor that reaches its exchange over NATS servers.
type Config struct {
	natslink.Address
	Exchange string // site of the exchange, or its prefix and site with a dot between; "" for home
	Executor string // id of this executor
	// Key returns the key of the executor at the exchange. It signs each message, and goes nowhere.
	Key func() (httpclient.Secret, error)
}

// defaultSite is the id of an exchange without a configured one.
const defaultSite = "home"

// subjects returns the subjects of the exchange.
func (c Config) subjects() (natslink.Subjects, error) {
	prefix, site, both := strings.Cut(cmp.Or(c.Exchange, defaultSite), ".")
	if !both {
		prefix, site = natslink.DefaultPrefix, prefix
	}
	if err := errors.Join(natslink.CheckWord(prefix), natslink.CheckWord(site)); err != nil {
		return "", fmt.Errorf("exchange: %w", err)
	}
	return natslink.Of(prefix, site), nil
}

// Validate returns an error for each setting that is wrong.
func (c Config) Validate() error {
	_, err := c.subjects()
	return errors.Join(c.Address.Validate(), err)
}

// Client is a remote exchange over NATS servers for one executor. Make it with New and keep its Run
// running. It is safe for concurrent use.
type Client struct {
	cfg      Config
	subjects natslink.Subjects
	log      *slog.Logger
	made     chan struct{} // closed after nc exists
	nc       *nats.Conn
	box      *mailbox.Box
	inParts  chan struct{} // has an element while a body goes in parts

	mu      sync.Mutex
	secret  []byte   // of the key; nil before it is read
	now     *session // nil for none
	maxFile int64    // bytes of an attachment; 0 for not reported
	lastErr error    // that a server has reported
}

// New makes a client. It makes no connection.
func New(cfg Config, log *slog.Logger) (*Client, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	s, err := cfg.subjects()
	return &Client{cfg: cfg, subjects: s, log: log, made: make(chan struct{}), box: mailbox.New(), inParts: make(chan struct{}, 1)}, err
}

// Times of a connection.
const (
	dialTime  = 5 * time.Second
	askTime   = 10 * time.Second // for one answer; the exchange can wait for its store
	firstWait = 250 * time.Millisecond
	lastWait  = 10 * time.Second
	healthy   = 30 * time.Second // the age of a session that resets the pause between sessions
)

// connect makes the connection. Without a server it returns at once, and connects later, unless more
// says otherwise.
func (c *Client) connect(more ...nats.Option) error {
	nc, err := c.cfg.Connect(natslink.Options{
		Name: "messkit executor " + c.cfg.Executor, What: "the executor", Dial: dialTime, Log: c.log,
	}, append(more, nats.CustomInboxPrefix(natslink.Inbox(c.cfg.Executor)), nats.IgnoreAuthErrorAbort(),
		nats.ErrorHandler(func(_ *nats.Conn, _ *nats.Subscription, err error) { c.failed(err) }))...)
	if err != nil {
		return err
	}
	c.nc = nc
	close(c.made)
	return nil
}

// failed records and logs an error that a server reports.
func (c *Client) failed(err error) {
	c.mu.Lock()
	known := c.lastErr != nil && c.lastErr.Error() == err.Error()
	c.lastErr = err
	c.mu.Unlock()
	if !known {
		c.log.Warn("a NATS server reports an error; look at the permissions of this user there", "err", err)
	}
}

// Run keeps the connection and a session until ctx ends; then it returns nil.
func (c *Client) Run(ctx context.Context) error {
	if err := c.connect(nats.RetryOnFailedConnect(true)); err != nil {
		return err
	}
	defer c.nc.Close()
	pause := wait.Backoff{First: firstWait, Last: lastWait}
	for ctx.Err() == nil {
		began := time.Now()
		been, err := c.session(ctx)
		if ctx.Err() != nil {
			break
		}
		if time.Since(began) > healthy {
			pause.Reset(0)
		}
		if been {
			c.box.NoteLoss()
			c.log.Info("the session with the exchange has ended; the executor begins another one", "why", err)
		} else {
			c.log.Debug("no session with the exchange yet", "err", err)
		}
		wait.For(ctx, pause.Next())
	}
	return nil
}

// Receive calls handle, one message at a time, for every message to this executor, until ctx ends;
// then it returns nil. Messages may be duplicates. It returns httpclient.ErrReset if messages may be
// lost. The executor must then register again.
func (c *Client) Receive(ctx context.Context, handle func(mess.Message)) error {
	return c.box.Receive(ctx, handle)
}

// Send posts a message and returns the immediate answer of the exchange. It sends the message again
// until an answer arrives or ctx ends. The message's id makes this idempotent.
func (c *Client) Send(ctx context.Context, m mess.Message) (mess.Message, error) {
	if m.ID == "" {
		m.ID = "m-" + rand.Text()
	}
	m.Version = cmp.Or(m.Version, mess.Current)
	text, err := m.JSON()
	if err != nil {
		return mess.Message{}, err
	}
	about := mailbox.ExecutorOf(m)
	era := c.box.Era()
	answer, err := c.askMESS(ctx, natslink.Head{Kind: natslink.Message}, text)
	if err == nil && about != nil && about.Capabilities != nil {
		c.box.Registered(era)
	}
	return answer, err
}

// Attach uploads a file, and waits until the exchange reports that it has it.
func (c *Client) Attach(ctx context.Context, ref, name, mime string, data io.Reader) (mess.Media, error) {
	c.mu.Lock()
	most := cmp.Or(c.maxFile, httpclient.MaxFile)
	c.mu.Unlock()
	m, all, err := mailbox.ReadFile(name, mime, data, most)
	if err != nil {
		return mess.Media{}, err
	}
	answer, err := c.askMESS(ctx, natslink.Head{Kind: natslink.File, Ref: ref, Name: m.File, MIME: mime}, all)
	if err == nil && !mailbox.HasFile(answer, m.SHA256) {
		err = mess.Errorf(mess.Unavailable, "%s: the exchange has answered for another file", name)
	}
	return m, err
}

// askMESS asks, and reads the answer as a message.
func (c *Client) askMESS(ctx context.Context, h natslink.Head, body []byte) (mess.Message, error) {
	_, text, err := c.ask(ctx, h, body)
	if err != nil {
		return mess.Message{}, err
	}
	answer, err := mess.Parse(text)
	if err != nil {
		return mess.Message{}, mess.Errorf(mess.Unavailable, "cannot read the answer of the exchange: %v", err)
	}
	return answer, mailbox.Refusal(answer)
}

// Found is what answers at the servers.
type Found struct {
	Exchange string // its id
	Open     bool   // the servers let this executor read the messages of others
}

// Find asks once which exchange answers at the servers.
func Find(ctx context.Context, cfg Config, log *slog.Logger) (Found, error) {
	c, err := New(cfg, log)
	if err != nil {
		return Found{}, err
	}
	if err := c.connect(nats.PermissionErrOnSubscribe(true)); err != nil {
		return Found{}, err
	}
	defer c.nc.Close()
	if err := c.readKey(); err != nil {
		return Found{}, err
	}
	h, _, err := c.ask(ctx, natslink.Head{Kind: natslink.Hello}, nil)
	if err != nil {
		return Found{}, err
	}
	isOpen, err := c.readsOthers(ctx)
	return Found{Exchange: h.Exchange, Open: isOpen}, err
}

// answerTime is more than the client needs to note a violation that the server has reported.
const answerTime = 100 * time.Millisecond

// readsOthers reports whether the servers let this executor read messages of other executors.
func (c *Client) readsOthers(ctx context.Context) (bool, error) {
	for _, subject := range []string{c.subjects.Executor(natslink.Wild, natslink.Out), c.subjects.Executor(natslink.Wild, natslink.In, natslink.Wild), natslink.Inbox(natslink.Wild) + ".>"} {
		sub, err := c.nc.SubscribeSync(subject)
		if err != nil {
			return false, err
		}
		if err := c.nc.FlushWithContext(ctx); err != nil {
			return false, err
		}
		if _, err := sub.NextMsg(answerTime); err == nil || errors.Is(err, nats.ErrTimeout) {
			return true, nil
		}
	}
	return false, nil
}
