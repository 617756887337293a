package sites

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/messkit/messkit/exchange"
	"github.com/messkit/messkit/internal/natslink"
	"github.com/messkit/messkit/mess"
	"github.com/messkit/messkit/mess/messeaf"
)

// CentreConfig is the settings of a Centre.
type CentreConfig struct {
	natslink.Address        // of the servers of the centre
	Prefix, Site     string // of the store of the site
	Exchange         string // id of the exchange of the centre
	Replicas         int    // of the inbox
	// Secret is what the key of this exchange at the site signs with; nil if it has no key there, and
	// sends no requests. See natslink.Secret.
	Secret []byte
	// Copied returns how many messages the copy of the threads lacks, and the time since the last
	// contact, which is negative if there was none.
	Copied func(context.Context) (behind uint64, heard time.Duration, err error)
	Log    *slog.Logger
}

// Centre is what the exchange of a centre has for one site. It implements exchange.Origin, and is safe for
// concurrent use.
type Centre struct {
	cfg CentreConfig
	names
	servers
	inbox, threads jetstream.Stream // inbox is nil without a key
	link           *watch
	copy           *exchange.Exchange
	broken         atomic.Pointer[error] // why the copy is not read any more
}

var _ exchange.Origin = (*Centre)(nil)

// OpenCentre opens the inbox of a site, or makes it. The stream of the copy exists already. Close ends the
// connection.
func OpenCentre(ctx context.Context, cfg CentreConfig) (c *Centre, err error) {
	c = &Centre{cfg: cfg, names: names{cfg.Prefix, cfg.Site}, link: newWatch(cfg.Site, sideCentre)}
	c.servers, err = connect(cfg.Address, natslink.Options{Name: "messkit exchange " + cfg.Exchange + " for " + cfg.Site, What: "the inbox of " + cfg.Site, Log: cfg.Log})
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, 4*attemptTime)
	defer cancel()
	if c.threads, err = c.js.Stream(ctx, c.names.threads()); err == nil && cfg.Secret != nil {
		c.inbox, err = c.open(ctx, c.inboxConfig(cfg.Replicas))
	}
	if err != nil {
		c.nc.Close()
		return nil, err
	}
	return c, nil
}

// Reads sets the exchange that reads the copy. It comes before all other methods but Close.
func (c *Centre) Reads(x *exchange.Exchange) { c.copy = x }

// Close ends the connection.
func (c *Centre) Close() { c.nc.Close() }

// Fail records why the copy is not read any more.
func (c *Centre) Fail(err error) { c.broken.Store(&err) }

// Uplink returns the state of the uplink of the site.
func (c *Centre) Uplink() Uplink { return c.link.state() }

// Run watches the uplink, and removes requests from the inbox that have a receipt, until ctx ends.
func (c *Centre) Run(ctx context.Context) error {
	t := time.NewTicker(lookEvery)
	defer t.Stop()
	for {
		err := c.look(ctx)
		if ctx.Err() != nil {
			return nil
		}
		c.link.set(func(u *Uplink) {
			u.Failing = ""
			if err != nil {
				u.Failing = err.Error()
			}
		})
		select {
		case <-ctx.Done():
			return nil
		case <-t.C:
		}
	}
}

func (c *Centre) look(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, 2*attemptTime)
	defer cancel()
	behind, heard, err := c.cfg.Copied(ctx)
	if b := c.broken.Load(); b != nil {
		err = *b
	}
	if err != nil {
		behind, heard = c.link.state().Behind, -1 // what the copy lacks now is not known
	}
	if changed, now := c.link.note(behind, heard); changed {
		c.cfg.Log.Info("the uplink of a site has changed", "site", c.site, "state", now.String())
	}
	if err != nil {
		return err
	}
	list, err := c.orders(ctx)
	if err != nil {
		return err
	}
	waiting := 0
	for _, one := range list {
		if !one.settled() {
			waiting++
			continue
		}
		// A later message of the same subject has a later sequence, and stays.
		if err := c.inbox.Purge(ctx, jetstream.WithPurgeSubject(one.subject), jetstream.WithPurgeSequence(one.seq+1)); err != nil {
			return err
		}
	}
	c.link.set(func(u *Uplink) { u.Waiting = waiting })
	return nil
}

// placed is what the centre knows of the last order for a request.
type placed struct {
	order
	subject string
	seq     uint64   // of the order; 0 if the inbox has none any more
	receipt *receipt // nil: there is none
}

// settled reports whether the site has answered the last order.
func (p placed) settled() bool { return p.receipt != nil && p.receipt.Seq >= p.seq }

// lastSent returns the time of the last order; the site does nothing for one that is not later.
func (p placed) lastSent() time.Time {
	if p.receipt != nil && p.receipt.Sent.After(p.Sent) {
		return p.receipt.Sent
	}
	return p.Sent
}

// maxListed is the most requests that a list shows of those that wait.
const maxListed = 200

// orders returns the orders in the inbox, the oldest first.
func (c *Centre) orders(ctx context.Context) (list []placed, err error) {
	if c.inbox == nil {
		return nil, nil
	}
	info, err := c.inbox.Info(ctx, jetstream.WithSubjectFilter(c.any()))
	if err != nil {
		return nil, err
	}
	for seq, n := info.State.FirstSeq, 0; seq <= info.State.LastSeq && len(info.State.Subjects) > 0 && n < maxListed; n++ {
		m, err := c.inbox.GetMsg(ctx, seq, jetstream.WithGetMsgSubject(c.any()))
		if err != nil {
			break // there is none from here on
		}
		seq = m.Sequence + 1
		one, err := c.read(ctx, m)
		if err != nil {
			return list, err
		}
		list = append(list, one)
	}
	return list, nil
}

// read reads an order and its receipt.
func (c *Centre) read(ctx context.Context, m *jetstream.RawStreamMsg) (one placed, err error) {
	one.subject, one.seq = m.Subject, m.Sequence
	if one.order, err = openOrder(m.Data, c.names, c.cfg.Secret); err != nil {
		c.cfg.Log.Warn("the inbox of a site has a message that is none of this exchange", "site", c.site, "subject", m.Subject, "err", err)
		err = nil
	}
	one.receipt, err = c.receiptFor(ctx, m.Subject)
	return one, err
}

func (c *Centre) receiptFor(ctx context.Context, order string) (*receipt, error) {
	m, err := lastOf(ctx, c.threads, c.names.receipt(order))
	if m == nil || err != nil {
		return nil, err
	}
	r, err := readReceipt(m.Data)
	return &r, err
}

// find returns what the centre knows of a request of one of its actors, false for nothing.
func (c *Centre) find(ctx context.Context, requester, id string) (one placed, ok bool, err error) {
	subject := c.names.order(requester, id)
	if c.inbox != nil {
		m, err := lastOf(ctx, c.inbox, subject)
		if err != nil {
			return one, false, err
		}
		if m != nil {
			one, err = c.read(ctx, m)
			return one, err == nil, err
		}
	}
	one = placed{order: order{Site: c.site, Requester: requester, ID: id}, subject: subject}
	one.receipt, err = c.receiptFor(ctx, subject)
	return one, one.receipt != nil, err
}

// requester returns the actor of the centre behind an actor in the copy.
func (c *Centre) requester(actor exchange.Actor) string {
	return strings.TrimSuffix(actor.ID, Owner("", c.cfg.Exchange))
}

// As returns who an actor of the centre is at the site. It keeps the roles with which it reads.
func (c *Centre) As(actor exchange.Actor) exchange.Actor {
	actor.ID = Owner(actor.ID, c.cfg.Exchange)
	actor.Roles &= exchange.Requester | exchange.Observer | exchange.Operator | exchange.Resident
	return actor
}

// Post takes requests and cancels for the site.
func (c *Centre) Post(ctx context.Context, in exchange.Inbound) (answer mess.Message, err error) {
	if err := c.check(in); err != nil {
		return mess.Message{}, err
	}
	ctx, cancel := context.WithTimeout(ctx, 4*attemptTime)
	defer cancel()
	answer = mess.Message{From: exchange.Self, Received: mess.TimeOf(time.Now())}
	for _, item := range in.Message.Items {
		var acks []mess.Item
		if r, ok := item.(*mess.Request); ok {
			acks, err = c.place(ctx, in.Actor, *r)
		} else {
			acks, err = c.withdraw(ctx, in.Actor, in.Message, item.(*mess.Cancel))
		}
		switch {
		case err == nil:
			answer.Items = append(answer.Items, acks...)
		case len(answer.Items) == 0:
			return mess.Message{}, unavailable(err)
		default:
			answer.Items = append(answer.Items, &mess.Ack{Extra: mess.Object{{Key: "error", Value: unavailable(err).Error()}}})
		}
	}
	return answer, nil
}

// check returns an error for a message that cannot go to the site.
func (c *Centre) check(in exchange.Inbound) error {
	for _, item := range in.Message.Items {
		switch i := item.(type) {
		case *mess.Request, *mess.Cancel:
		case *mess.Config:
			if i.Stop != nil {
				return mess.Errorf(mess.Forbidden, "stop: this exchange cannot stop the site %s, and nothing there has stopped; stop at the page of the exchange of %s, at the executor, or by its wire", c.site, c.site)
			}
			return c.readOnly("config")
		default:
			return c.readOnly(string(item.Kind()))
		}
	}
	switch {
	case c.inbox == nil:
		return mess.Errorf(mess.Forbidden, "%s: this exchange only reads the site, because it has no key there; write key_file under sites: %s, or ask the exchange of %s", c.site, c.site, c.site)
	case in.Actor.IsGuest() || !in.Actor.Has(exchange.Requester):
		return mess.Errorf(mess.Forbidden, "request: %q may not make requests (role requester is missing)", in.Actor.ID)
	}
	return nil
}

func (c *Centre) readOnly(what string) error {
	return mess.Errorf(mess.Forbidden, "%s: the threads of the site %s are for reading here, except for new requests and cancels of your own; do this at the exchange of %s", what, c.site, c.site)
}

// place puts a request into the inbox of the site.
func (c *Centre) place(ctx context.Context, actor exchange.Actor, r mess.Request) ([]mess.Item, error) {
	now := time.Now().UTC()
	r.ID = cmp.Or(r.ID, strings.ToLower("r-"+rand.Text()[:16]))
	if _, _, isRef := messeaf.ParseRef(r.ID); isRef || !mess.ValidID(r.ID) || r.ID == mess.Last {
		return nil, mess.Errorf(mess.Invalid, "request.id: %.60q cannot name a request for a site; use letters, digits and . _ : @ -, and no ref of a thread", r.ID)
	}
	o := order{Site: c.site, Requester: c.requester(actor), ID: r.ID, Sent: now, Ends: endOf(&r, now)}
	if !o.Ends.IsZero() && !o.Ends.After(now) {
		return nil, mess.Errorf(mess.Invalid, "request.needed_by: %s is over; leave it out, or write a later time", mess.TimeOf(o.Ends))
	}
	var err error
	if o.Message, err = json.Marshal(mess.Message{Items: []mess.Item{&r}}); err != nil {
		return nil, err
	}
	if waitsForDecision(&r) {
		return nil, mess.Errorf(mess.Invalid, noDecideWithin)
	}
	before, known, err := c.find(ctx, o.Requester, o.ID)
	switch {
	case err != nil:
		return nil, err
	case known && before.settled() && before.receipt.Outcome != taken:
		// Nothing was done, so the same id may come again.
	case known && (before.seq == 0 || before.settled()):
		return c.ackOf(ctx, actor, before), nil
	case known && before.Cancel:
		return nil, mess.Errorf(mess.Conflict, "request.id: you have cancelled %q, and the site has not answered; give this request an id of its own", o.ID)
	case known && !bytes.Equal(before.Message, o.Message):
		return nil, mess.Errorf(mess.Conflict, "request.id: you have used %q for another request for %s; give this one an id of its own, or none", o.ID, c.site)
	case known:
		return c.ackOf(ctx, actor, before), nil
	}
	if err := c.send(ctx, before, o); err != nil {
		return nil, err
	}
	return c.ackOf(ctx, actor, placed{order: o}), nil
}

// send puts an order into the inbox after the one that find has found.
func (c *Centre) send(ctx context.Context, before placed, o order) error {
	if !o.Sent.After(before.lastSent()) { // after the clock was set back
		o.Sent = before.lastSent().Add(time.Nanosecond)
	}
	data, err := o.seal(c.cfg.Secret, c.cfg.Exchange)
	if err != nil {
		return err
	}
	if most := min(c.nc.MaxPayload(), 1<<20) - natslink.HeadRoom; int64(len(data)) > most && most > 0 {
		return mess.Errorf(mess.TooLarge, "request: %d bytes are too many for a site, which takes %d; leave out what is attached", len(data), most)
	}
	subject := c.names.order(o.Requester, o.ID)
	ok, err := c.publish(ctx, subject, before.seq, data)
	if err != nil || !ok { // this order may be stored, or another one was first
		last, readErr := lastOf(ctx, c.inbox, subject)
		switch {
		case readErr == nil && last != nil && bytes.Equal(last.Data, data):
			return nil
		case err == nil:
			err = mess.Errorf(mess.Conflict, "request.id: somebody has used %q just now; try again", o.ID)
		}
	}
	return err
}

// withdraw puts a cancel in the place of the request in the inbox. So the site never takes a request whose
// cancel has come before it.
func (c *Centre) withdraw(ctx context.Context, actor exchange.Actor, m mess.Message, cancel *mess.Cancel) (acks []mess.Item, err error) {
	refs := cancel.Re
	if len(refs) == 0 {
		refs = m.Re
	}
	if len(refs) != 1 {
		return nil, mess.Errorf(mess.Invalid, "cancel.re: names %d requests of %s; name one", len(refs), c.site)
	}
	id := refs[0]
	if e, err := c.copy.Envelope(ctx, actor, id); err == nil {
		switch {
		case e.Requester != actor.ID || e.ClientID == "":
			return nil, c.readOnly("cancel")
		case e.Status.Terminal():
			return nil, &mess.Error{Code: mess.IllegalTransition, Ref: e.Ref, Status: e.Status, Text: fmt.Sprintf("it has ended at %s: %s", c.site, e.Status)}
		}
		id = e.ClientID
	}
	before, known, err := c.find(ctx, c.requester(actor), id)
	switch {
	case err != nil:
		return nil, err
	case !known:
		return nil, mess.Errorf(mess.NotFound, "there is no request %q of yours for %s", refs[0], c.site)
	case before.settled() && before.receipt.Outcome != taken:
		status := before.receipt.Outcome.status()
		return nil, &mess.Error{Code: mess.IllegalTransition, Ref: id, Status: status, Text: fmt.Sprintf("it has ended: %s, %s", status, before.receipt.Reason)}
	case before.Cancel && !before.settled():
		return c.ackOf(ctx, actor, placed{order: before.order}), nil
	}
	o := order{Site: c.site, Requester: c.requester(actor), ID: id, Sent: time.Now().UTC(), Cancel: true}
	if o.Message, err = json.Marshal(mess.Message{Items: []mess.Item{&mess.Cancel{Re: mess.Refs{id}, Reason: cancel.Reason}}}); err != nil {
		return nil, err
	}
	if err := c.send(ctx, before, o); err != nil {
		return nil, err
	}
	return c.ackOf(ctx, actor, placed{order: o}), nil
}
