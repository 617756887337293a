package sites

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/messkit/messkit/exchange"
	"github.com/messkit/messkit/mess"
)

// ackOf returns the answer to a request that is in the inbox, or has been there.
func (c *Centre) ackOf(ctx context.Context, actor exchange.Actor, p placed) []mess.Item {
	ack := &mess.Ack{ReceivedAt: mess.TimeOf(time.Now()), Re: mess.Refs{p.ID}, Ref: p.ID, Status: mess.Pending}
	if p.receipt != nil && p.receipt.Outcome == taken {
		ack.Ref, ack.Status = p.receipt.Ref, mess.Received
		if e, err := c.copy.Envelope(ctx, actor, ack.Ref); err == nil {
			ack.Status = e.Status
		} else {
			ack.Extra = ack.Extra.Set("note", c.gone(p.receipt))
		}
	} else {
		ack.Extra = ack.Extra.Set("note", c.note(p))
	}
	return []mess.Item{ack}
}

// gone says what is known of a request that the site has taken, and whose thread the copy does not have.
func (c *Centre) gone(r *receipt) string {
	return fmt.Sprintf("taken by the site at %s; its thread %s is not in the copy, because it has ended and is archived, or has not come yet; ask the exchange of %s", clock(r.At), r.Ref, c.site)
}

// note says where an order is that the site has not answered.
func (c *Centre) note(p placed) string {
	u := c.link.state()
	text := "it goes to " + c.site + ", whose exchange has not confirmed it yet"
	switch {
	case !u.Connected && u.Since != nil:
		text = fmt.Sprintf("it waits for the uplink of %s, which is cut since %s", c.site, clock(*u.Since))
	case !u.Connected:
		text = fmt.Sprintf("it waits for the uplink of %s, with which there was no contact yet", c.site)
	}
	if p.Cancel {
		text = "the cancel: " + text + "; if the site has taken the request before, it cancels it then, as far as it has not ended"
	}
	switch {
	case p.Ends.IsZero():
	case time.Now().After(p.Ends):
		text += fmt.Sprintf("; its time was over at %s: the site does not begin it any more, and whether it had begun before is not known here", clock(p.Ends))
	default:
		text += fmt.Sprintf("; the site does not begin it after %s", clock(p.Ends))
	}
	return text
}

// Find returns a request that is no thread of the copy: it waits, or the site has not taken it.
func (c *Centre) Find(ctx context.Context, actor exchange.Actor, id string) (exchange.Thread, error) {
	none := mess.Errorf(mess.NotFound, "there is no thread %q", id)
	if !mess.ValidID(id) {
		return exchange.Thread{}, none
	}
	ctx, cancel := context.WithTimeout(ctx, 2*attemptTime)
	defer cancel()
	one, known, err := c.find(ctx, c.requester(actor), id)
	if err == nil && !known && actor.SeesAll() { // of somebody else
		var list []placed
		list, err = c.orders(ctx)
		for _, other := range list {
			if other.ID == id {
				one, known = other, true
			}
		}
	}
	switch {
	case err != nil:
		return exchange.Thread{}, unavailable(err)
	case !known:
		return exchange.Thread{}, none
	}
	if r := one.receipt; r != nil && r.Outcome == taken {
		if t, err := c.copy.Thread(ctx, actor, r.Ref); err == nil {
			return t, nil
		}
	}
	return c.thread(one), nil
}

// Waiting returns the requests that the site has not answered.
func (c *Centre) Waiting(ctx context.Context, actor exchange.Actor, f exchange.Filter) (list []exchange.Thread, err error) {
	ctx, cancel := context.WithTimeout(ctx, 2*attemptTime)
	defer cancel()
	all, err := c.orders(ctx)
	if err != nil {
		return nil, unavailable(err)
	}
	for _, one := range all {
		t := c.thread(one)
		owner, e := Owner(one.Requester, c.cfg.Exchange), t.Envelope
		if one.settled() || one.ID == "" || owner != actor.ID && !actor.SeesAll() || !isSelected(f, e) {
			continue
		}
		list = append(list, t)
	}
	return list, nil
}

// isSelected reports whether a filter selects a request that no executor has.
func isSelected(f exchange.Filter, e exchange.Envelope) bool {
	if f.Executor != "" || f.Capability != "" || f.Device != "" || f.Requester != "" && f.Requester != e.Requester || e.Updated.Before(f.Since) {
		return false
	}
	for _, code := range f.Status {
		if code == e.Status {
			return true
		}
	}
	return len(f.Status) == 0
}

// thread returns a request as a thread with its client id as ref. The exchange says where it is.
func (c *Centre) thread(p placed) (t exchange.Thread) {
	t.Envelope = exchange.Envelope{
		Ref: p.ID, ClientID: p.ID, Requester: Owner(p.Requester, c.cfg.Exchange), Status: mess.Pending, Created: p.Sent, Updated: p.Sent, Expires: p.Ends,
	}
	if p.receipt != nil {
		t.Intent = p.receipt.Intent
	}
	if len(p.message.Items) == 1 {
		m := p.message
		m.From, m.Received, m.Channel = t.Requester, mess.TimeOf(p.Sent), channel
		t.Messages = append(t.Messages, m)
		switch i := m.Items[0].(type) {
		case *mess.Request:
			t.Intent, t.Priority = i.Intent, cmp.Or(i.Priority, mess.Normal)
		case *mess.Cancel:
			t.CancelBy = t.Requester
		}
	}
	last := mess.Message{From: exchange.Self, Received: mess.TimeOf(time.Now())}
	switch r := p.receipt; {
	case r != nil && r.Outcome == taken:
		t.Status, t.Updated = mess.Received, r.At
		last.Received = mess.TimeOf(r.At)
		text := c.gone(r)
		if r.Reason != "" {
			text += "; " + r.Reason
		}
		if !p.settled() {
			text += "; " + c.note(p)
		}
		last.Items = []mess.Item{&mess.Status{Code: mess.Received, Message: text}}
	case !p.settled():
		last.Items = []mess.Item{&mess.Status{Code: mess.Received, Message: c.note(p)}}
	default:
		t.Status, t.Updated = r.Outcome.status(), r.At
		last.Received = mess.TimeOf(r.At)
		last.Items = []mess.Item{&mess.Status{Code: t.Status, Message: strings.TrimSpace(c.site + ": " + r.Reason)}}
	}
	t.Messages = append(t.Messages, last)
	return t
}
