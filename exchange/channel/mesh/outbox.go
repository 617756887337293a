package mesh

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"time"

	"github.com/messkit/messkit/exchange/channel/mesh/delivery"
	"github.com/messkit/messkit/exchange/channel/mesh/state"
	"github.com/messkit/messkit/exchange/channel/mesh/wire"
	"github.com/messkit/messkit/internal/wait"
)

// bare is a session key without agent:{id}:, which peers take off as well.
func bare(key string) string {
	rest, ok := strings.CutPrefix(key, "agent:")
	if _, tail, more := strings.Cut(rest, ":"); ok && more && tail != "" {
		return tail
	}
	return key
}

// ready encrypts and signs a message for a peer.
func (d *Adapter) ready(p *peer, e wire.Envelope, seal bool) outgoing {
	if p.encrypts(seal) {
		e = d.seal(p, e)
	}
	text := e.Text()
	o := outgoing{ID: e.ID, To: p.name, Path: HooksPath + d.cfg.Agent, Priority: e.Priority, Alert: e.Type == wire.Alert, Expires: e.Expires(), Text: text}
	if p.now().key != "" {
		o.Text, o.Signature = p.now().key.Sign(text)
	}
	if key := e.SessionKey(); key != "" {
		o.Path, o.SessionKey = HooksPath+"agent", bare(key)
	}
	return o
}

// seal encrypts what a message says. Its subject says nothing then.
func (d *Adapter) seal(p *peer, e wire.Envelope) wire.Envelope {
	closed := func(text string) string {
		sealed, err := p.sealed(text)
		if err != nil { // Load has looked at the key
			d.log.Error("mesh: a text cannot be encrypted, and is left out", "to", p.name, "err", err)
			return ""
		}
		return sealed
	}
	e.Payload.Body, e.Payload.Encrypted, e.Payload.Subject = closed(e.Payload.Body), true, "(encrypted)"
	var rest wire.Object
	for _, m := range e.Payload.Metadata {
		if m.Key != messKey {
			rest = append(rest, m)
		}
	}
	if inner := e.Payload.Metadata.Get(messKey); inner != "" {
		rest = rest.With(messKey, closed(inner))
	}
	e.Payload.Metadata = rest
	return e
}

// replyTo returns the address and the token for the answers of a peer. Answers for a
// session go to /hooks/agent, the path that reads session keys (section 5.1).
func (d *Adapter) replyTo(p *peer, sessionKey string) *wire.ReplyTo {
	path := p.name
	if sessionKey != "" {
		path = "agent"
	}
	return &wire.ReplyTo{URL: d.base + HooksPath + path, Token: string(cmp.Or(p.now().cfg.Accept, d.token()))}
}

// enqueue writes a message down and sends it.
func (d *Adapter) enqueue(ctx context.Context, o outgoing) error {
	if !o.Once {
		if err := d.keep(ctx, o.name(), o); err != nil {
			return err
		}
	}
	d.spawn(func(ctx context.Context) { d.deliver(ctx, o) })
	return nil
}

// deliver sends a message. What does not arrive goes through the relay, or is
// kept as a dead letter.
func (d *Adapter) deliver(ctx context.Context, o outgoing) {
	out := d.post.Send(ctx, o.message())
	if out.Status == delivery.Interrupted {
		return // the next run sends it
	}
	if strings.HasPrefix(out.Status, "client_error_") && o.URL != "" { // the place that was named: try the peer's own
		plain := o
		plain.URL, plain.Token = "", ""
		again := d.post.Send(ctx, plain.message())
		if again.Status == delivery.Interrupted {
			return
		}
		again.Attempts += out.Attempts
		out = again
	}
	if out.Status == delivery.Exhausted {
		out = d.relayed(ctx, o, out)
	}
	d.auditOut(o, out)
	if out.Status != delivery.Sent && !strings.HasPrefix(out.Status, relayedVia) && !o.Once && out.Status != delivery.Expired {
		if err := d.bury(o, out); err != nil {
			d.log.Error("mesh: a dead letter cannot be kept; it is sent again by the next run", "to", o.To, "id", o.ID, "err", err)
			return
		}
	}
	if !o.Once {
		if err := d.keep(ctx, o.name(), nil); err != nil {
			d.log.Warn("mesh: a message may be sent twice", "id", o.ID, "err", err)
		}
	}
	if out.Status == delivery.Expired && !o.Once {
		d.escalate(state.Letter{ID: o.ID, To: o.To}, "its time was over before the peer took it")
	}
	if o.done != nil {
		o.done(out)
	}
	d.delivered(ctx, o, out)
}

// relayed sends through the relay what its peer does not take, once.
func (d *Adapter) relayed(ctx context.Context, o outgoing, was delivery.Outcome) delivery.Outcome {
	via, to := d.peer(d.cfg.Relay), d.peer(o.To)
	if via == nil || to == nil || via.name == o.To || o.Through || o.Once {
		return was
	}
	e, err := wire.Stored(o.Text)
	if err != nil {
		return was
	}
	e.Relay = &wire.Relay{From: d.cfg.Agent, Via: via.name, OriginalTo: o.To}
	text := e.Text()
	r := o
	if r.Text, r.Signature = text, ""; to.now().key != "" {
		r.Text, r.Signature = to.now().key.Sign(text)
	}
	r.To, r.Path, r.URL, r.Token, r.NoRetry = via.name, HooksPath+d.cfg.Agent, "", "", true
	if out := d.post.Send(ctx, r.message()); out.Status == delivery.Sent {
		out.Status, out.Attempts = relayedVia+via.name, was.Attempts+1
		return out
	}
	return was
}

func (d *Adapter) auditOut(o outgoing, out delivery.Outcome) {
	e, err := wire.Stored(o.Text)
	if err != nil {
		return
	}
	line := lineOf(e)
	line.Status, line.Detail = out.Status, out.Err
	if out.Status == delivery.Exhausted {
		line.Status = "failed_all_retries"
	}
	d.store.Audit(line)
	if out.Status != delivery.Sent && !o.Once {
		d.log.Warn("mesh: a message was not delivered", "to", o.To, "id", o.ID, "status", out.Status, "err", out.Err)
	}
}

func (d *Adapter) bury(o outgoing, out delivery.Outcome) error {
	dropped, err := d.store.Bury(state.Letter{
		ID: o.ID, To: o.To, FailReason: out.Status, Attempts: out.Attempts, Envelope: json.RawMessage(o.Text), Text: o.Text, URL: o.URL, Token: o.Token,
		Session: o.SessionKey,
	})
	for _, l := range dropped {
		d.auditLetter(l, "dropped_full")
		d.escalate(l, "too many messages wait")
	}
	if l := (state.Letter{ID: o.ID, To: o.To, FailReason: out.Status}); err == nil && l.Final() {
		d.escalate(l, "the peer refuses it ("+out.Status+")")
	}
	return err
}

func (d *Adapter) auditLetter(l state.Letter, status string) {
	e, err := wire.Stored(l.Text)
	if err != nil {
		e = wire.Envelope{ID: l.ID, From: d.cfg.Agent, To: l.To}
	}
	line := lineOf(e)
	line.Status = status
	d.store.Audit(line)
}

const (
	replayEvery = time.Minute
	replayGap   = time.Second
)

// replay looks through the dead letters, and sends again what may arrive now.
func (d *Adapter) replay(ctx context.Context) error {
	for wait.For(ctx, replayEvery) {
		d.replayAll(ctx, func(l state.Letter) bool { return !l.Final() })
	}
	return nil
}

// replayAll sends dead letters again, the oldest first, and returns how many were
// delivered. A peer that does not take one is left alone, but what is over is let go
// of all the same.
func (d *Adapter) replayAll(ctx context.Context, which func(state.Letter) bool) (sent int, failed []string) {
	given := map[string]bool{}
	for _, l := range d.store.Letters() {
		o, err := d.letterOut(l)
		over := err != nil || time.Now().After(o.Expires)
		if !which(l) || given[l.To] && !over {
			continue
		}
		status, err := d.replayOne(ctx, l, o, over)
		switch {
		case err != nil:
			d.log.Error("mesh: dead letters cannot be written", "err", err)
			return sent, append(failed, l.ID+": "+err.Error())
		case status == delivery.Sent:
			sent++
			if !wait.For(ctx, replayGap) {
				return sent, failed
			}
		case status == delivery.Interrupted:
			return sent, failed
		default:
			given[l.To] = given[l.To] || status != delivery.Expired && !strings.HasPrefix(status, "client_error_")
			failed = append(failed, l.ID+" to "+l.To+": "+status)
		}
	}
	return sent, failed
}

// replayOne sends a dead letter once, or lets go of one that is over.
func (d *Adapter) replayOne(ctx context.Context, l state.Letter, o outgoing, over bool) (string, error) {
	if over {
		d.auditLetter(l, "purged_expired")
		_, there, err := d.store.Unbury(l.ID, l.To)
		if err == nil && there {
			d.escalate(l, "its time was over before the peer took it ("+l.FailReason+")")
		}
		return delivery.Expired, err
	}
	out := d.post.Send(ctx, o.message())
	switch out.Status {
	case delivery.Sent:
		if _, _, err := d.store.Unbury(l.ID, l.To); err != nil {
			return out.Status, err
		}
		d.auditLetter(l, "replayed")
		d.delivered(ctx, o, out)
	case delivery.Interrupted, delivery.CircuitOpen: // nobody was asked
	default:
		l.Attempts += out.Attempts
		l.FailReason = out.Status
		if _, err := d.store.Bury(l); err != nil {
			return out.Status, err
		}
	}
	return out.Status, nil
}

// letterOut is a dead letter as a message.
func (d *Adapter) letterOut(l state.Letter) (outgoing, error) {
	text := cmp.Or(l.Text, string(l.Envelope))
	e, err := wire.Stored(text)
	if err != nil {
		return outgoing{}, err
	}
	if d.peer(l.To) == nil {
		return outgoing{}, errors.New("the peer is not known any more")
	}
	o := outgoing{
		ID: l.ID, To: l.To, Text: text, Signature: e.Signature, Path: HooksPath + e.From, URL: l.URL, Token: l.Token, SessionKey: l.Session,
		Priority: e.Priority, Alert: e.Type == wire.Alert, Expires: e.Expires(), NoRetry: true,
	}
	if l.Session != "" {
		o.Path = HooksPath + "agent"
	}
	return o, nil
}

// through is the way to peers that a test takes.
func (d *Adapter) through() func(delivery.Peer, time.Duration) *http.Client { return d.opts.Through }

func (d *Adapter) clientFor(p *peer) *http.Client {
	if d.opts.Through != nil {
		return d.opts.Through(p.now().where, fetchTime)
	}
	return p.now().where.Client(fetchTime)
}
