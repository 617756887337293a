package sites

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/messkit/messkit/exchange"
	"github.com/messkit/messkit/internal/natslink"
	"github.com/messkit/messkit/internal/wait"
)

// InboxConfig is the settings of an Inbox.
type InboxConfig struct {
	natslink.Address        // of the servers of the site
	Prefix, Site     string // of the store of the site
	Replicas         int    // of the mirror
	Domain           string // of JetStream at the servers of the centre
	Exchange         string // id of the exchange of the centre, which is the actor of its key here
	Accept           []string
	Log              *slog.Logger
}

// Everybody in Accept stands for every requester of the centre.
const Everybody = "*"

// Keys has the keys of the exchange of the site.
type Keys interface {
	// Secrets returns an actor and what its valid keys sign with.
	Secrets(actor string) (exchange.Actor, [][]byte)
}

// Inbox takes the requests of the centre for the exchange of a site. It is safe for concurrent use. Several
// exchanges of one site share the work.
type Inbox struct {
	cfg InboxConfig
	names
	servers
	x    *exchange.Exchange
	keys Keys
	link *watch
	now  func() time.Time

	strange sync.Once // the log names the first message with a subject that is none of a request
}

// OpenInbox makes the inbox of an exchange. It connects in the background. The error is one of the
// configuration.
func OpenInbox(cfg InboxConfig, x *exchange.Exchange, keys Keys) (b *Inbox, err error) {
	b = &Inbox{cfg: cfg, names: names{cfg.Prefix, cfg.Site}, x: x, keys: keys, link: newWatch(cfg.Site, sideSite), now: time.Now}
	b.servers, err = connect(cfg.Address, natslink.Options{Name: "messkit inbox of " + cfg.Site, What: "the inbox", Log: cfg.Log})
	return b, err
}

// Uplink returns the state of the uplink, as the site sees it.
func (b *Inbox) Uplink() Uplink { return b.link.state() }

// Close ends the connection. Run does so at its end.
func (b *Inbox) Close() { b.nc.Close() }

// durable is the name of the consumer that the exchanges of the site share.
const durable = "exchange"

// ackTime is the time after which another exchange of the site gets a request that one has taken and not
// acknowledged.
const ackTime = 20 * time.Second

// Run takes the requests of the centre until ctx ends.
func (b *Inbox) Run(ctx context.Context) error {
	defer b.nc.Close()
	pause := wait.Backoff{First: time.Second, Last: 10 * time.Second}
	for {
		err := b.serve(ctx, func() { pause.Reset(0) })
		if ctx.Err() != nil {
			return nil
		}
		b.fail(err)
		if !wait.For(ctx, pause.Next()) {
			return nil
		}
	}
}

// fail records and logs why the inbox does not work.
func (b *Inbox) fail(err error) {
	b.link.set(func(u *Uplink) {
		if err != nil && u.Failing != err.Error() {
			b.cfg.Log.Warn("the exchange takes no requests of the centre now; it tries again", "err", err)
		}
		u.Failing = ""
		if err != nil {
			u.Failing = err.Error()
		}
	})
}

// serve opens the mirror and the consumer, and takes requests until an error. It calls works when it does.
func (b *Inbox) serve(ctx context.Context, works func()) error {
	mirror, consumer, err := b.prepare(ctx)
	if err != nil {
		b.lost()
		return err
	}
	// One at a time, so that a cancel is never before its request.
	messages, err := consumer.Messages(jetstream.PullMaxMessages(1), jetstream.PullExpiry(4*time.Second), jetstream.PullHeartbeat(time.Second))
	if err != nil {
		return err
	}
	defer messages.Stop()
	var looked time.Time
	for {
		if time.Since(looked) > lookEvery {
			if err := b.look(ctx, mirror, consumer); err != nil {
				b.lost()
				return err
			}
			works()
			b.fail(nil)
			looked = time.Now()
		}
		quiet, cancel := context.WithTimeout(ctx, lookEvery)
		m, err := messages.Next(jetstream.NextContext(quiet))
		cancel()
		switch {
		case ctx.Err() != nil:
			return nil
		case errors.Is(err, context.DeadlineExceeded):
			continue
		case err != nil:
			return err
		}
		if err := b.take(ctx, mirror, m); err != nil {
			_ = m.NakWithDelay(time.Second) // it comes again in any case
			return err
		}
	}
}

// lost records that the state of the uplink is not known now, which counts as cut.
func (b *Inbox) lost() { b.link.note(b.link.state().Behind, -1) }

func (b *Inbox) prepare(ctx context.Context) (mirror jetstream.Stream, consumer jetstream.Consumer, err error) {
	ctx, cancel := context.WithTimeout(ctx, 2*attemptTime)
	defer cancel()
	want := b.inboxConfig(b.cfg.Replicas)
	want.Subjects, want.Mirror = nil, &jetstream.StreamSource{Name: want.Name, Domain: b.cfg.Domain}
	if mirror, err = b.open(ctx, want); err != nil {
		return nil, nil, err
	}
	consumer, err = mirror.CreateOrUpdateConsumer(ctx, jetstream.ConsumerConfig{
		Durable: durable, Description: "the exchange of the site " + b.site, AckPolicy: jetstream.AckExplicitPolicy,
		AckWait: ackTime, MaxAckPending: 1, MaxDeliver: -1,
	})
	return mirror, consumer, err
}

// look asks the servers for the state of the uplink.
func (b *Inbox) look(ctx context.Context, mirror jetstream.Stream, consumer jetstream.Consumer) error {
	ctx, cancel := context.WithTimeout(ctx, attemptTime)
	defer cancel()
	info, err := mirror.Info(ctx)
	if err != nil {
		return err
	}
	waits, err := consumer.Info(ctx)
	if err != nil {
		return err
	}
	if info.Mirror == nil {
		return fmt.Errorf("the stream %s is no mirror", b.names.inbox())
	}
	if changed, now := b.link.note(info.Mirror.Lag, info.Mirror.Active); changed {
		b.cfg.Log.Info("the uplink to the centre has changed", "centre", b.cfg.Exchange, "state", now.String())
	}
	b.link.set(func(u *Uplink) { u.Waiting = int(waits.NumPending) + waits.NumAckPending })
	return nil
}

// take carries out one message of the inbox, and stores its receipt. With an error the message comes again.
func (b *Inbox) take(ctx context.Context, mirror jetstream.Stream, m jetstream.Msg) error {
	ctx, cancel := context.WithTimeout(ctx, ackTime-attemptTime)
	defer cancel()
	about, err := m.Metadata()
	if err != nil {
		return err
	}
	if !b.names.isOrder(m.Subject()) {
		b.strange.Do(func() {
			b.cfg.Log.Warn("the inbox has a message whose subject is not that of a request; nothing was done for it, and later ones are not logged", "subject", m.Subject())
		})
		return m.TermWithReason("its subject is not that of a request")
	}
	before, after, err := b.receiptBefore(ctx, m.Subject())
	if err != nil {
		return err
	}
	r, err := b.carryOut(ctx, m, before)
	if err != nil {
		return err
	}
	r.Seq, r.At = about.Sequence.Stream, b.now().UTC()
	if before == nil || before.Seq < r.Seq {
		if err := b.report(ctx, m.Subject(), after, r); err != nil {
			return err
		}
	}
	if err := m.DoubleAck(ctx); err != nil {
		return err
	}
	b.count(r.Outcome)
	// The mirror needs the message no more. If this fails, the message only takes space.
	_ = mirror.Purge(ctx, jetstream.WithPurgeSubject(m.Subject()), jetstream.WithPurgeSequence(r.Seq+1))
	return nil
}

// receiptBefore returns the receipt for the last message with the id of an order, nil for none, and its
// sequence in the stream of the site. With an unreadable one the site does nothing.
func (b *Inbox) receiptBefore(ctx context.Context, order string) (*receipt, uint64, error) {
	home, err := b.js.Stream(ctx, b.names.threads())
	if err != nil {
		return nil, 0, err
	}
	last, err := lastOf(ctx, home, b.names.receipt(order))
	if err != nil || last == nil {
		return nil, 0, err
	}
	r, err := readReceipt(last.Data)
	return &r, last.Sequence, err
}

// report stores a receipt in the stream of the site after the one that receiptBefore has found.
func (b *Inbox) report(ctx context.Context, order string, after uint64, r receipt) error {
	data, err := json.Marshal(r)
	if err != nil {
		return err
	}
	ok, err := b.publish(ctx, b.names.receipt(order), after, data)
	if err == nil && !ok {
		err = errors.New("another exchange of the site has just stored a receipt")
	}
	return err
}

func (b *Inbox) count(o outcome) {
	b.link.set(func(u *Uplink) {
		switch o {
		case taken:
			u.Taken++
		case refused:
			u.Refused++
		case expired:
			u.Expired++
		case cancelled:
			u.Cancelled++
		}
	})
}
