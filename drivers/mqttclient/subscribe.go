package mqttclient

import (
	"context"
	"errors"
	"slices"
	"time"
)

const (
	maxFilters   = 64       // of one packet
	maxSubscribe = 16 << 10 // bytes of them
	refuses      = 0x80     // the least code of a filter that a broker does not grant
)

// forbids reports whether a broker does not let the client listen: in the codes of MQTT
// 3.1.1 (§3.9.3), or of 5, which some send to clients of 3.1.1 too.
func forbids(code byte) bool { return code == refuses || code == 0x87 }

// item is a filter to subscribe to, or, where nobody listens by it any more, to end.
type item struct {
	filter string
	r      *request // nil: nobody waits for it
}

// request is what somebody waits for: the broker's answers to some filters. left and err
// are guarded by Client.mu, and err is set before done is closed.
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

// answer notes one answer.
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

// serve subscribes to what is asked for until the session or ctx ends. It reports whether
// the next session may follow soon: this one was set up, or it has shown what the broker
// does not take.
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
			worked = c.here(s)
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

// renew forgets what was received before, and asks for all subscriptions: a clean session
// has none. It returns how many there are.
func (c *Client) renew() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	for m := range c.members {
		m.forget() // what was said meanwhile is not known
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

// batch is what goes into one packet: filters to subscribe to, or filters to end.
type batch struct {
	items   []item
	filters []string // of the items, each once
	ends    bool
	more    bool // there is more in the queue
}

// next takes a batch out of the queue. Filters that end the connection are left out.
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
			size += len(i.filter) + 3 // §3.8.3
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

// mostCuts is after how many connections that the broker has ended for one filter it is
// not asked for that any more.
const mostCuts = 3

// send sends one packet, and notes the answer.
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
		c.log.Warn("the broker does not let messkit listen; check what it lets this user read", "topics", no)
	}
	for _, i := range b.items {
		i.r.answer(nil)
	}
	return nil
}

// failedBatch notes filters that have no answer. Some brokers end the connection where a
// packet has too many filters, or one that they do not grant. mu is held.
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
		case i.r == nil: // it comes with the next session
		case lost:
			c.queue = append(c.queue, i)
		default:
			i.r.answer(err)
		}
	}
}

// granted subscribes until the broker takes it: one may take the packet's number for one
// of its own, and refuses all of them then.
func (c *Client) granted(ctx context.Context, s *session, filters []string) (codes []byte, err error) {
	for range 4 {
		codes, err = s.subscribe(ctx, filters)
		if err != nil || !slices.ContainsFunc(codes, func(code byte) bool { return code > refuses && !forbids(code) }) {
			return codes, err
		}
	}
	return nil, errors.New("the broker takes no subscription")
}

// Again has the broker send what it retains of a filter of a member, and waits until it
// has answered.
func (c *Client) Again(ctx context.Context, m *Member, filter string) error {
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
	ring(c.work)
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
