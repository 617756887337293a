// Package mqttclient connects all devices of one MQTT broker by one connection. It speaks
// MQTT 3.1.1. A device is a Member: it has an Inbox with the last message of each of its
// topics, and the client has one tree of subscriptions for all of them.
//
// Nothing acts later by itself. The client sends no message to be retained, and none twice.
// If the broker does not acknowledge a message in time, the client closes the connection
// and drops what the kernel has not sent. The outcome of all messages of that connection
// that the broker has not acknowledged is unknown then.
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
)

// Options name a connection. Devices with the same options share it.
type Options struct {
	Address  string // tcp://host:1883, or tls://host:8883
	Username string
	Password drivers.Secret
	ClientID string        // "": another one for each connection
	Timeout  time.Duration // for each answer of the broker; one that is slower loses the connection
}

const (
	firstPause   = time.Second // before another attempt to connect
	longestPause = time.Minute
)

// Client is the connection to a broker while it has members. Make it with New.
type Client struct {
	opts Options
	log  *slog.Logger
	now  func() time.Time

	turn  sync.Mutex // held while the first member comes or the last one goes
	end   context.CancelFunc
	group sync.WaitGroup

	mu      sync.Mutex
	index   index
	members map[*Member]bool
	queue   []item   // subscriptions to make or to end
	most    int      // filters of one packet
	whole   bool     // the broker has taken all subscriptions since the last connection
	session *session // nil while the broker is away
	lost    time.Time
	why     error          // of that
	back    chan struct{}  // closed when there is a session; nil while there is one
	fails   uint64         // attempts to connect that have failed
	failed  error          // why the last one has
	news    chan struct{}  // closed when the next one does
	cuts    map[string]int // topics whose messages were under way when the broker ended the connection, and how often in a row

	work  chan struct{} // there is something in the queue
	hurry chan struct{} // somebody waits for a connection
}

// New makes a client that has no members yet, and no connection.
func New(o Options, log *slog.Logger, now func() time.Time) *Client {
	return &Client{
		opts: o, log: log.With("broker", o.Address), now: now, members: map[*Member]bool{}, most: maxFilters,
		news: make(chan struct{}), cuts: map[string]int{}, work: make(chan struct{}, 1), hurry: make(chan struct{}, 1),
	}
}

// Shared returns the client of these options that devices of one program share.
func Shared(env drivers.Env, o Options) (*Client, error) {
	key := fmt.Sprintf("mqtt %q %q %q %q %v", o.Address, o.Username, string(o.Password), o.ClientID, o.Timeout) // in memory alone
	c, err := env.Shared.Get(key, func() (any, error) { return New(o, env.Log, env.Now), nil })
	if err != nil {
		return nil, err
	}
	return c.(*Client), nil
}

// Member is one device of a client. It holds its filters, and what it has received.
type Member struct {
	Inbox
	filters []string
}

// NewMember makes a member that listens by filters, none of them twice.
func NewMember(filters []string) *Member { return &Member{filters: filters} }

// Join connects the first member, and returns when the broker has answered all
// subscriptions of this one. A filter that the broker does not grant is no error; Refuses
// tells it. If nobody can reach the broker, Join returns the error of the attempt.
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
		ring(c.hurry)
	}
	c.mu.Unlock()
	c.turn.Unlock()
	ring(c.work)
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

// joined waits until the broker has answered a request and the session has all its
// subscriptions, or an attempt to connect has failed since before.
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
			return fmt.Errorf("%w; is it there, and are user and password right?", errSlow)
		}
	}
}

// explained adds what to do about a broker that refuses the connection.
func explained(err error) error {
	switch {
	case errors.Is(err, packets.ErrorRefusedBadUsernameOrPassword), errors.Is(err, packets.ErrorRefusedNotAuthorised):
		return fmt.Errorf("it refuses the log-in (%w); check username and password, and what the broker lets them do", err)
	case errors.Is(err, packets.ErrorNetworkError):
		return fmt.Errorf("%w; does a broker run there, and is broker right (mqtts for TLS)?", err)
	}
	return err
}

// Leave ends what a member listens to. The last one closes the connection.
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
		ring(c.work)
	}
	m.forget()
}

// run connects, again and again, until ctx ends.
func (c *Client) run(ctx context.Context) {
	defer func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.queue = nil
	}()
	for pause := firstPause; ctx.Err() == nil; pause = min(longestPause, 2*pause) {
		conn, in, err := dial(ctx, c.opts)
		if err == nil {
			if c.serve(ctx, newSession(conn, in, c.opts.Timeout, c.hear, c.away)) {
				pause = firstPause
			}
		} else if ctx.Err() == nil {
			c.fail(err)
		}
		t := time.NewTimer(pause/2 + rand.N(pause/2)) // brokers have many clients
		select {
		case <-t.C:
		case <-c.hurry:
			t.Stop()
		case <-ctx.Done():
			t.Stop()
		}
	}
}

// fail notes that an attempt to connect has failed.
func (c *Client) fail(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.why, c.failed = err, err
	c.fails++
	close(c.news)
	c.news = make(chan struct{})
}

// away notes that the session has ended.
func (c *Client) away(why error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.session != nil {
		c.session = nil
		c.note(c.now(), why)
		if why != errOver {
			c.log.Warn("the broker is gone", "err", why)
		}
	}
}

// note sets since when there is no session. The caller holds mu.
func (c *Client) note(at time.Time, why error) {
	if c.back == nil {
		c.back = make(chan struct{})
		c.lost = at
	}
	c.why = why
}

// here makes a session the one of all members, unless it has ended.
func (c *Client) here(s *session) bool {
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

// Away returns since when the client does not reach the broker, and why. The client closes
// back when it reaches it again; a nil back means that it does.
func (c *Client) Away() (back <-chan struct{}, since time.Time, why error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.back, c.lost, c.why
}

// Refuses reports whether the broker does not let the client listen by a filter.
func (c *Client) Refuses(filter string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	e := c.index.find(filter)
	return e != nil && e.refused
}

// hear hands a message to those who listen to its topic.
func (c *Client) hear(p *packets.PublishPacket) {
	if len(p.Payload) > maxPayload {
		return
	}
	at, topic := c.now(), p.TopicName
	c.mu.Lock()
	defer c.mu.Unlock()
	c.index.match(p.TopicName, func(e *entry) {
		exact := e.filter == p.TopicName
		if exact {
			topic = e.filter // so that the packet can go
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

// ring wakes whoever waits on c, now or when he next does.
func ring(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}
