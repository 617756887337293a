// Package mqttclient connects all devices of one MQTT broker through one connection. It
// implements MQTT 3.1.1. A device is a Member: it has an Inbox with the last message of
// each of its topics, and the client has one tree of subscriptions for all of them.
//
// The client never acts later. It sends no retained messages, and sends each message once.
// If the broker does not acknowledge a message in time, the client closes the connection
// and drops the bytes that the kernel has not sent. The outcome of all unacknowledged
// messages of that connection is then unknown.
//
// It knows no device.
package mqttclient

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/eclipse/paho.mqtt.golang/packets"

	"github.com/messkit/messkit/drivers"
	"github.com/messkit/messkit/internal/wait"
)

// Options describes a connection. Devices with the same options share it.
type Options struct {
	Address  string // tcp://host:1883, or tls://host:8883
	Username string
	Password drivers.Secret
	ClientID string        // "": a random one for each connection
	Timeout  time.Duration // for each answer of the broker; the client closes a slower connection
}

const (
	firstPause   = time.Second // before the next attempt to connect
	longestPause = time.Minute
)

// Client is the connection to a broker while it has members. Create it with New. It is safe
// for concurrent use.
type Client struct {
	opts Options
	log  *slog.Logger
	now  func() time.Time

	turn  sync.Mutex // serializes the first Join and the last Leave
	end   context.CancelFunc
	group sync.WaitGroup

	mu      sync.Mutex
	index   index
	members map[*Member]bool
	queue   []item   // pending subscriptions and unsubscriptions
	most    int      // limit for the filters of one packet
	whole   bool     // the broker has answered all subscriptions of this connection
	session *session // nil while there is no connection
	lost    time.Time
	cause   error          // cause of the lost connection
	back    chan struct{}  // closes when there is a session; nil while there is one
	fails   uint64         // number of failed attempts to connect
	failed  error          // error of the last attempt
	news    chan struct{}  // closes at the next failed attempt
	cuts    map[string]int // topics whose messages were under way when the broker closed the connection, with the number of successive cases

	work    chan struct{} // signals a new item in the queue
	dialNow chan struct{} // signals that a member waits for a connection
}

// New returns a client without members and without a connection.
func New(o Options, log *slog.Logger, now func() time.Time) *Client {
	return &Client{
		opts: o, log: log.With("broker", o.Address), now: now, members: map[*Member]bool{}, most: maxFilters,
		news: make(chan struct{}), cuts: map[string]int{}, work: make(chan struct{}, 1), dialNow: make(chan struct{}, 1),
	}
}

// Shared returns the client that all devices with these options share.
func Shared(env drivers.Env, o Options) (*Client, error) {
	key := fmt.Sprintf("mqtt %q %q %q %q %v", o.Address, o.Username, string(o.Password), o.ClientID, o.Timeout) // only in memory
	c, err := env.Shared.Get(key, func() (any, error) { return New(o, env.Log, env.Now), nil })
	if err != nil {
		return nil, err
	}
	return c.(*Client), nil
}

// Member is one device of a client. It contains its filters and its received messages.
type Member struct {
	Inbox
	filters []string
}

// NewMember returns a member with these filters, which must be distinct.
func NewMember(filters []string) *Member { return &Member{filters: filters} }

// Join adds a member, and connects if it is the first. It returns when the broker has
// answered all subscriptions of the member. A rejected filter is not an error; Refuses
// reports it. If the connection attempt fails, Join returns its error.
func (c *Client) Join(ctx context.Context, m *Member) error {
	m.forget()
	r := newRequest(len(m.filters))
	c.turn.Lock()
	c.mu.Lock()
	before := c.fails
	c.members[m] = true
	for _, f := range m.filters {
		c.index.add(f, m)
		c.queue = append(c.queue, item{f, r})
	}
	if len(c.members) == 1 {
		c.begin()
	} else if c.session == nil {
		wait.Notify(c.dialNow)
	}
	c.mu.Unlock()
	c.turn.Unlock()
	wait.Notify(c.work)
	err := c.joined(ctx, r, before)
	if err != nil {
		c.Leave(m)
		return fmt.Errorf("the broker at %s: %w", c.opts.Address, explained(err))
	}
	return nil
}

// begin starts the connection. The caller holds turn and mu.
func (c *Client) begin() {
	ctx, cancel := context.WithCancel(context.Background())
	c.end = cancel
	c.note(c.now(), errLost)
	c.group.Go(func() { c.run(ctx) })
}

// joined waits until the broker has answered the request and all subscriptions of the
// session, or until an attempt to connect has failed after the number before.
func (c *Client) joined(ctx context.Context, r *request, before uint64) error {
	for {
		c.mu.Lock()
		news, fails, failed, next := c.news, c.fails, c.failed, r.done
		answered, err := r.left == 0, r.err
		if answered {
			next = c.back
		}
		c.mu.Unlock()
		switch {
		case answered && (err != nil || next == nil):
			return err
		case fails > before:
			return failed
		}
		select {
		case <-next:
		case <-news:
		case <-ctx.Done():
			return fmt.Errorf("%w; check that the broker runs, and that user and password are right", errSlow)
		}
	}
}

// explained adds a remedy to the error of a rejected connection.
func explained(err error) error {
	switch {
	case errors.Is(err, packets.ErrorRefusedBadUsernameOrPassword), errors.Is(err, packets.ErrorRefusedNotAuthorised):
		return fmt.Errorf("the broker rejects the login (%w); check username and password, and the permissions of the user on the broker", err)
	case errors.Is(err, packets.ErrorNetworkError):
		return fmt.Errorf("%w; check that the broker runs, and that the key broker is right (mqtts for TLS)", err)
	}
	return err
}

// Leave removes a member and its subscriptions. The last member closes the connection.
func (c *Client) Leave(m *Member) {
	c.turn.Lock()
	defer c.turn.Unlock()
	c.mu.Lock()
	if !c.members[m] {
		c.mu.Unlock()
		return
	}
	delete(c.members, m)
	for _, f := range m.filters {
		if c.index.remove(f, m) {
			c.queue = append(c.queue, item{filter: f})
		}
	}
	none := len(c.members) == 0
	c.mu.Unlock()
	if none {
		c.end()
		c.group.Wait()
	} else {
		wait.Notify(c.work)
	}
	m.forget()
}

// run connects repeatedly until ctx ends.
func (c *Client) run(ctx context.Context) {
	defer func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.queue = nil
	}()
	for pause := firstPause; ctx.Err() == nil; pause = min(longestPause, 2*pause) {
		conn, in, err := dial(ctx, c.opts)
		if err == nil {
			if c.serve(ctx, newSession(conn, in, c.opts.Timeout, c.deliver, c.endSession)) {
				pause = firstPause
			}
		} else if ctx.Err() == nil {
			c.fail(err)
		}
		t := time.NewTimer(pause/2 + rand.N(pause/2)) // random, because many clients of a broker reconnect at the same time
		select {
		case <-t.C:
		case <-c.dialNow:
			t.Stop()
		case <-ctx.Done():
			t.Stop()
		}
	}
}

// fail records a failed attempt to connect.
func (c *Client) fail(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.cause, c.failed = err, err
	c.fails++
	close(c.news)
	c.news = make(chan struct{})
}

// endSession records the end of the session.
func (c *Client) endSession(cause error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.session != nil {
		c.session = nil
		c.note(c.now(), cause)
		if cause != errOver {
			c.log.Warn("connection to the broker lost", "err", cause)
		}
	}
}

// note records the time since which there is no session. The caller holds mu.
func (c *Client) note(at time.Time, cause error) {
	if c.back == nil {
		c.back = make(chan struct{})
		c.lost = at
	}
	c.cause = cause
}

// useSession makes s the session of all members, unless s has ended.
func (c *Client) useSession(s *session) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if s.err() != nil {
		return false
	}
	c.session, c.whole = s, true
	close(c.back)
	c.back = nil
	return true
}

// Disconnected returns the time of the lost connection and its cause. back closes when the
// client has a connection again; it is nil while there is one.
func (c *Client) Disconnected() (back <-chan struct{}, since time.Time, cause error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.back, c.lost, c.cause
}

// Refuses reports whether the broker rejects a filter.
func (c *Client) Refuses(filter string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	e := c.index.find(filter)
	return e != nil && e.refused
}

// deliver delivers a message to the members that subscribe to its topic.
func (c *Client) deliver(p *packets.PublishPacket) {
	if len(p.Payload) > maxPayload {
		return
	}
	at, topic := c.now(), p.TopicName
	c.mu.Lock()
	defer c.mu.Unlock()
	c.index.match(p.TopicName, func(e *entry) {
		exact := e.filter == p.TopicName
		if exact {
			topic = e.filter // releases the memory of the packet
		}
		for i := range e.subs {
			s := &e.subs[i]
			if exact && p.Retain && !s.awaits {
				continue
			}
			s.awaits = false
			s.m.put(topic, p.Payload, p.Retain, at)
		}
	})
}
