// Package natsapi serves the executors that connect to NATS servers directly. The exchanges of one
// store serve them together: each message goes to one of them.
//
// A message comes in at API.receive, which checks its signature. An executor opens a session at one
// exchange, which sends it its offers and orders.
package natsapi

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/messkit/messkit/exchange"
	"github.com/messkit/messkit/exchange/channel/intake"
	"github.com/messkit/messkit/exchange/keys"
	"github.com/messkit/messkit/internal/keyed"
	"github.com/messkit/messkit/internal/mistake"
	"github.com/messkit/messkit/internal/natslink"
)

// Config is the settings of an API.
type Config struct {
	natslink.Address
	Subjects      natslink.Subjects
	MaxAttachment int64         // limit of an attachment at the exchange, in bytes
	Beat          time.Duration // between two signs of life in a session; 0: defaultBeat
}

// channel is the name of this binding in threads.
const channel = "nats"

// Times and limits.
const (
	defaultBeat = 10 * time.Second
	dialTime    = 5 * time.Second
	workTime    = 30 * time.Second // of one message at the exchange
	partsTime   = time.Minute      // between two parts of a body
	maxWaiting  = 4096             // messages that wait, of all executors
	queueGroup  = "exchange"       // of the exchanges with the same subjects
)

// API serves executors over NATS. It is safe for concurrent use.
type API struct {
	x    *exchange.Exchange
	keys *keys.Keys
	cfg  Config
	log  *slog.Logger
	node string // name of this process in subjects
	nc   *nats.Conn

	calls keyed.Calls    // of executors
	work  sync.WaitGroup // sessions that have not ended

	taken, refused, unreadable, dropped atomic.Int64

	mu       sync.Mutex
	sessions map[string]*session // by executor
	bodies   map[string]*body    // that have not arrived whole, by executor
	failing  string              // the last error of a server
}

// body is a body in parts.
type body struct {
	natslink.Joined
	last time.Time // time of the last part
}

// Counts are the messages since the start, and the present sessions.
type Counts struct {
	Taken      int64  `json:"taken"`             // messages for the exchange
	Refused    int64  `json:"refused"`           // messages that the exchange has rejected, or with a wrong signature
	Unreadable int64  `json:"unreadable"`        // payloads that are no message
	Dropped    int64  `json:"dropped"`           // messages beyond the limits
	Executors  int    `json:"executors"`         // with a session at this exchange
	Server     string `json:"server"`            // that this exchange uses now; "" for none
	Failing    string `json:"failing,omitempty"` // the last error of a server, such as a missing permission
}

// New makes an API.
func New(x *exchange.Exchange, k *keys.Keys, cfg Config, log *slog.Logger) *API {
	cfg.Beat = cmp.Or(cfg.Beat, defaultBeat)
	return &API{
		x: x, keys: k, cfg: cfg, log: log, node: strings.ToLower(rand.Text()[:12]),
		sessions: map[string]*session{}, bodies: map[string]*body{},
	}
}

// Connect connects to the servers. Without a server it returns at once, and connects later. The
// error is one of the configuration.
func (a *API) Connect() (err error) {
	a.nc, err = a.cfg.Connect(natslink.Options{
		Name: "messkit exchange " + a.x.ID() + " for executors", What: "the exchange for executors over NATS", Dial: dialTime, Log: a.log,
	}, nats.RetryOnFailedConnect(true), nats.IgnoreAuthErrorAbort(), nats.ErrorHandler(func(_ *nats.Conn, _ *nats.Subscription, err error) { a.failed(err) }))
	return err
}

// failed records and logs an error that a server reports.
func (a *API) failed(err error) {
	a.mu.Lock()
	known := a.failing == err.Error()
	a.failing = err.Error()
	a.mu.Unlock()
	switch {
	case known:
	case errors.Is(err, nats.ErrPermissionViolation):
		a.log.Warn("the NATS servers do not let this exchange serve executors; allow its user these subjects", "subjects", string(a.cfg.Subjects)+">", "err", err)
	default:
		a.log.Warn("a NATS server reports an error", "err", err)
	}
}

// Counts returns the counts.
func (a *API) Counts() Counts {
	a.mu.Lock()
	defer a.mu.Unlock()
	return Counts{
		Taken: a.taken.Load(), Refused: a.refused.Load(), Unreadable: a.unreadable.Load(), Dropped: a.dropped.Load(),
		Executors: len(a.sessions), Server: a.nc.ConnectedUrlRedacted(), Failing: a.failing,
	}
}

// Run serves until ctx ends. Connect comes before it.
func (a *API) Run(ctx context.Context) error {
	defer a.nc.Close()
	a.calls.Open()
	any := a.cfg.Subjects.Executor(natslink.Wild, natslink.Out)
	shared, err := a.nc.QueueSubscribe(any, queueGroup, a.receive)
	if err != nil {
		return err
	}
	own, err := a.nc.Subscribe(any+"."+a.node, a.receive)
	if err != nil {
		return err
	}
	t := time.NewTicker(a.cfg.Beat)
	defer t.Stop()
	for ctx.Err() == nil {
		select {
		case <-t.C:
			a.beat()
		case <-ctx.Done():
		}
	}
	// The others take the messages from now on, and the executors go to them. A message to this exchange
	// has no receiver, so its sender does not wait.
	_ = shared.Unsubscribe() // the connection ends below
	_ = own.Unsubscribe()
	_ = a.nc.FlushTimeout(time.Second)
	a.endSessions()
	a.calls.Runner.Close()
	a.calls.Runner.Wait()
	a.endSessions() // a message may have begun one
	a.work.Wait()
	_ = a.nc.FlushTimeout(time.Second)
	return nil
}

// question is a message of an executor with a valid signature.
type question struct {
	natslink.Head
	body   []byte
	secret []byte
	actor  exchange.Actor // of the key
	msg    *nats.Msg
}

// receive takes a message of an executor. Those of one executor run in order.
func (a *API) receive(m *nats.Msg) {
	defer mistake.Caught(a.log, "subject", m.Subject, "bytes", len(m.Data))
	id, ok := a.cfg.Subjects.ExecutorOf(m.Subject)
	if !ok {
		return
	}
	actor, secrets := a.keys.Secrets(id)
	h, body, secret, err := natslink.Open(m.Data, secrets...)
	if err == nil && (h.Executor != id || !actor.Has(exchange.ExecutorRole)) {
		err = natslink.ErrSignature
	}
	if err != nil {
		if n := a.refused.Add(1); intake.IsLogged(n) {
			a.log.Warn("the exchange refuses a message over NATS", "executor", id, "err", err, "count", n)
		}
		a.respond(m, natslink.Seal(nil, natslink.Head{Kind: natslink.Refused, Executor: id, ID: h.ID}, nil))
		return
	}
	switch h.Kind {
	case natslink.Alive:
		a.alive(h)
		return
	case natslink.Bye:
		a.endSession(h.Executor, h.Session)
		return
	}
	q := question{Head: h, body: body, secret: secret, actor: actor, msg: m}
	if !a.calls.Put(id, maxWaiting, func() { a.answer(q) }) {
		if n := a.dropped.Add(1); intake.IsLogged(n) {
			a.log.Warn("too many messages over NATS wait; the exchange drops some, and their senders repeat them", "count", n)
		}
	}
}

// respond sends an answer, if the sender waits for one. A lost answer is asked for again. It answers only
// in the inbox of the executor: the servers let anybody name any subject for an answer, such as one of
// the store.
func (a *API) respond(m *nats.Msg, data []byte) {
	id, _ := a.cfg.Subjects.ExecutorOf(m.Subject)
	if !strings.HasPrefix(m.Reply, natslink.Inbox(id)+".") {
		return
	}
	if err := m.Respond(data); err != nil {
		a.log.Debug("an answer over NATS was not sent", "subject", m.Subject, "err", err)
	}
}

// beat sends a sign of life into each session, and ends the silent ones. It forgets bodies that do
// not go on.
func (a *API) beat() {
	a.mu.Lock()
	for id, b := range a.bodies {
		if time.Since(b.last) > partsTime {
			delete(a.bodies, id)
		}
	}
	a.mu.Unlock()
	for _, s := range a.allSessions() {
		if s.isSilent() {
			a.log.Info("an executor over NATS does not answer; its session ends", "executor", s.executor)
			a.endSession(s.executor, s.name)
			continue
		}
		s.publish(natslink.Beat)
	}
}
