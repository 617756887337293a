package mqttclient

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/messkit/messkit/internal/wait"
)

const (
	maxFilters   = 64       // limit for one packet
	maxSubscribe = 16 << 10 // size limit for their text in bytes
	refuses      = 0x80     // lowest error code in a SUBACK
)

// forbids reports whether the broker rejects a filter: by the code of MQTT 3.1.1 (§3.9.3),
// or of MQTT 5, which some brokers also send to 3.1.1 clients.
func forbids(code byte) bool { return code == refuses || code == 0x87 }

// item is a filter to subscribe to, or to unsubscribe from if it has no members.
type item struct {
	filter string
	r      *request // nil if no caller waits
}

// request waits for the answers of the broker to some filters. Client.mu guards left and
// err; err is set before done closes.
type request struct {
	left int
	done chan struct{}
	err  error
}

func newRequest(n int) *request {
	r := &request{left: n, done: make(chan struct{})}
	if n == 0 {
		close(r.done)
	}
	return r
}

// answer records one answer.
func (r *request) answer(err error) {
	if r == nil || r.left == 0 {
		return
	}
	r.left--
	if err != nil {
		r.err, r.left = err, 0
	}
	if r.left == 0 {
		close(r.done)
	}
}

// serve sends the queued subscriptions until the session or ctx ends. It reports whether
// the client may reconnect soon: the session worked, or it revealed a filter that the
// broker rejects.
func (c *Client) serve(ctx context.Context, s *session) (soon bool) {
	c.group.Go(s.read)
	worked := false
	for left := c.renew(); ; {
		b := c.next()
		left -= len(b.items)
		if err := c.send(ctx, s, b); err != nil {
			s.kill(err)
			return worked || errors.Is(err, errLost)
		}
		if left <= 0 && !worked {
			worked = c.useSession(s)
		}
		if b.more && s.err() == nil {
			continue
		}
		select {
		case <-c.work:
		case <-s.dead:
			return worked
		case <-ctx.Done():
			s.close()
			return worked
		}
	}
}

// renew drops the received messages and queues all subscriptions, because a clean session
// has none. It returns the length of the queue.
func (c *Client) renew() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	for m := range c.members {
		m.forget() // messages during the disconnect are lost
	}
	if c.whole {
		c.most = min(maxFilters, 2*c.most)
	}
	c.whole = false
	c.queue = slices.DeleteFunc(c.queue, func(i item) bool { return i.r == nil })
	asked := map[string]bool{}
	for _, i := range c.queue {
		asked[i.filter] = true
	}
	c.index.all(func(e *entry) {
		for i := range e.subs {
			e.subs[i].awaits = true
		}
		if !asked[e.filter] {
			c.queue = append(c.queue, item{filter: e.filter})
		}
	})
	return len(c.queue)
}

// batch is the content of one packet: filters to subscribe to, or to unsubscribe from.
type batch struct {
	items   []item
	filters []string // filters of the items, each once
	ends    bool
	more    bool // the queue is not empty
}

// next removes a batch from the queue. It omits filters on which the broker disconnects.
func (c *Client) next() (b batch) {
	c.mu.Lock()
	defer c.mu.Unlock()
	size := 0
	for _, i := range c.queue {
		e := c.index.find(i.filter)
		if len(b.filters) > 0 && (e == nil) != b.ends {
			break
		}
		switch {
		case e != nil && e.cuts >= mostCuts:
			i.r.answer(nil)
		case !slices.Contains(b.filters, i.filter):
			size += len(i.filter) + 3 // size of a filter in the packet (§3.8.3)
			if len(b.filters) == c.most || len(b.filters) > 0 && size > maxSubscribe {
				b.more = true
			} else {
				b.filters = append(b.filters, i.filter)
				b.ends = e == nil
			}
		}
		if b.more {
			break
		}
		b.items = append(b.items, i)
	}
	c.queue = c.queue[len(b.items):]
	b.more = len(c.queue) > 0
	if !b.more {
		c.queue = nil
	}
	return b
}

// mostCuts is the number of disconnects on one filter after which the client omits it.
const mostCuts = 3

// send sends one packet and records the answer.
func (c *Client) send(ctx context.Context, s *session, b batch) error {
	switch {
	case len(b.filters) == 0:
		return nil
	case b.ends:
		return s.unsubscribe(ctx, b.filters)
	}
	codes, err := c.granted(ctx, s, b.filters)
	c.mu.Lock()
	defer c.mu.Unlock()
	if err != nil {
		c.failedBatch(b, err)
		return err
	}
	var no []string
	for i, f := range b.filters {
		if e := c.index.find(f); e != nil {
			e.cuts = 0
			if e.refused = forbids(codes[i]); e.refused {
				no = append(no, f)
			}
		}
	}
	if len(no) > 0 {
		slices.Sort(no)
		c.log.Warn("the broker rejects a subscription; check the read permissions of the user on the broker", "topics", no)
	}
	for _, i := range b.items {
		i.r.answer(nil)
	}
	return nil
}

// failedBatch records filters without an answer. Some brokers disconnect if a packet has
// too many filters, or a forbidden one. The caller holds mu.
func (c *Client) failedBatch(b batch, err error) {
	lost := errors.Is(err, errLost)
	if lost {
		c.most = max(1, len(b.filters)/2)
		if e := c.index.find(b.filters[0]); e != nil && len(b.filters) == 1 {
			e.cuts++
			e.refused = e.cuts >= mostCuts
		}
	}
	for _, i := range b.items {
		switch {
		case i.r == nil: // the next session repeats it
		case lost:
			c.queue = append(c.queue, i)
		default:
			i.r.answer(err)
		}
	}
}

// granted subscribes until the broker accepts the packet. A broker may use the packet ID
// for one of its own messages, and then rejects all filters.
func (c *Client) granted(ctx context.Context, s *session, filters []string) (codes []byte, err error) {
	for range 4 {
		codes, err = s.subscribe(ctx, filters)
		if err != nil || !slices.ContainsFunc(codes, func(code byte) bool { return code > refuses && !forbids(code) }) {
			return codes, err
		}
	}
	return nil, errors.New("the broker rejects every subscription")
}

// Resubscribe requests the retained messages of a filter for a member, and waits for the answer.
func (c *Client) Resubscribe(ctx context.Context, m *Member, filter string) error {
	r := newRequest(1)
	c.mu.Lock()
	s := c.session
	if e := c.index.find(filter); s != nil && e != nil {
		for i := range e.subs {
			e.subs[i].awaits = e.subs[i].awaits || e.subs[i].m == m
		}
		c.queue = append(c.queue, item{filter, r})
	}
	c.mu.Unlock()
	if s == nil {
		return errLost
	}
	wait.Notify(c.work)
	limit := time.NewTimer(c.opts.Timeout)
	defer limit.Stop()
	select {
	case <-r.done:
		return r.err
	case <-s.dead:
		return s.err()
	case <-ctx.Done():
		return ctx.Err()
	case <-limit.C:
		return errSlow
	}
}
