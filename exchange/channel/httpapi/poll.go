package httpapi

import (
	"context"
	"errors"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/messkit/messkit/exchange"
	"github.com/messkit/messkit/exchange/channel/httpapi/connection"
	"github.com/messkit/messkit/mess"
)

const (
	maxWait    = 60 * time.Second      // of a poll
	maxPolled  = 100                   // events in one response to a poll
	pollGather = 20 * time.Millisecond // without an event ends a poll that has some
	maxGather  = time.Second           // ends it while events go on
	shortWait  = time.Second           // a poll with a longer wait may give its buffers up
)

var errFull = errors.New("enough for one answer")

// poll answers when there is an event, or after the wait.
func (c *call) poll(f *subscription) error {
	wait, err := time.ParseDuration(c.r.URL.Query().Get("wait"))
	if err != nil || wait < 0 {
		return mess.Errorf(mess.Invalid, "wait: is not a duration; write it like 20s")
	}
	ctx, cancel := context.WithCancel(context.Background())
	input := &connection.Input{}
	end := func() { cancel(); input.Interrupt() }
	timer := time.AfterFunc(max(min(wait, maxWait), pollGather), end)
	unwatch := c.onRevoked(end)
	release, parked := func() { timer.Stop(); unwatch(); cancel() }, false
	defer func() {
		if !parked {
			release()
		}
	}()
	unwatchClient := context.AfterFunc(c.r.Context(), end)
	defer unwatchClient() // net/http ends the context of a parked poll, too
	p := &pollCollector{subscription: f, list: []event{}, last: f.after, end: end}
	after := f.after
	if after == "" && !f.executor {
		after, p.skipReset = fromNow, true
	}
	events, err := c.x.Subscribe(ctx, c.actor, after, p.add, end)
	if err != nil {
		return c.answerPoll(p, err)
	}
	if wait > shortWait && !p.found.Load() {
		if parked = c.park(&parkedPoll{pollCollector: p, ctx: ctx, events: events, release: release, input: input}); parked {
			return nil
		}
	}
	<-ctx.Done()
	return c.answerPoll(p, events.Close())
}

// answerPoll answers with the events. err is the error with which the subscription ended, or nil.
func (c *call) answerPoll(p *pollCollector, err error) error {
	if err != nil && !errors.Is(err, errFull) && !errors.Is(err, exchange.ErrSlow) {
		return err
	}
	c.writeJSON(http.StatusOK, map[string]any{"events": p.list, "last": p.last})
	return nil
}

// fromNow is an event id that never exists. A client that resumes after it gets the current
// position first. So a client without a position loses no event between two polls.
const fromNow = "now"

// pollCollector collects the response to a poll.
type pollCollector struct {
	*subscription
	list      []event
	last      string      // where the next poll continues
	midGroup  bool        // the client cannot resume after the last event
	skipReset bool        // the client has not asked for the first reset
	end       func()      // ends the poll
	first     time.Time   // time of the first event
	lull      *time.Timer // ends the poll when no more events come
	found     atomic.Bool // list has an event; for other goroutines
}

func (p *pollCollector) add(e exchange.Event) error {
	// Only the last of the open threads has an id, so the response must contain all of them.
	if len(p.list) >= maxPolled && !p.midGroup {
		return errFull
	}
	p.midGroup = e.ID == ""
	if !p.midGroup {
		p.last = e.ID
	}
	if p.skipReset && e.Kind == exchange.EventReset {
		p.skipReset = false
		return nil
	}
	out, ok, err := p.render(e)
	if err != nil || !ok {
		return err
	}
	// Events that come together form one response.
	switch p.list = append(p.list, out); {
	case len(p.list) == 1:
		p.found.Store(true)
		p.first, p.lull = time.Now(), time.AfterFunc(pollGather, p.end)
	case time.Since(p.first) < maxGather || p.midGroup:
		p.lull.Reset(pollGather)
	}
	return nil
}
