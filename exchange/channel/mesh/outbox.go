package mesh

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/messkit/messkit/exchange/channel/mesh/delivery"
	"github.com/messkit/messkit/exchange/channel/mesh/peers"
	"github.com/messkit/messkit/exchange/channel/mesh/state"
	"github.com/messkit/messkit/exchange/channel/mesh/wire"
	"github.com/messkit/messkit/internal/wait"
	"github.com/messkit/messkit/mess"
)

// withoutAgentPrefix removes agent:{id}: from a session key, as other agents do.
func withoutAgentPrefix(key string) string {
	rest, ok := strings.CutPrefix(key, "agent:")
	if _, tail, more := strings.Cut(rest, ":"); ok && more && tail != "" {
		return tail
	}
	return key
}

// outbox delivers messages to peers. It stores each message until the peer has it, and stores
// as a dead letter what it could not deliver.
type outbox struct {
	*shared
	files *fileServer
	post  *delivery.Post
	ended func(context.Context, outgoing, delivery.Outcome) // called after the delivery of a message or its failure

	mu         sync.Mutex
	deliveries map[string]*awaited // of the messages that operators have sent since Open
}

func (b *outbox) restore(doc []byte) error {
	o, err := stored[outgoing](doc)
	if err == nil {
		b.spawn(func(ctx context.Context) { b.deliver(ctx, o) })
	}
	return err
}

// prepare encrypts and signs a message for a peer.
func (b *outbox) prepare(p *peers.Agent, e wire.Envelope, seal bool) outgoing {
	if p.Encrypts(seal) {
		e = b.seal(p, e)
	}
	text := e.Text()
	o := outgoing{ID: e.ID, To: p.Name, Path: HooksPath + b.cfg.Agent, Priority: e.Priority, Alert: e.Type == wire.Alert, Expires: e.Expires(), Text: text}
	if p.Settings().Key != "" {
		o.Text, o.Signature = p.Settings().Key.Sign(text)
	}
	if key := e.SessionKey(); key != "" {
		o.Path, o.SessionKey = HooksPath+"agent", withoutAgentPrefix(key)
	}
	return o
}

// seal encrypts the body and the MESS message, and hides the subject.
func (b *outbox) seal(p *peers.Agent, e wire.Envelope) wire.Envelope {
	closed := func(text string) string {
		sealed, err := p.Sealed(text)
		if err != nil { // Load has checked the key
			b.log.Error("mesh: cannot encrypt a text; the message goes out without it", "to", p.Name, "err", err)
			return ""
		}
		return sealed
	}
	e.Payload.Body, e.Payload.Encrypted, e.Payload.Subject = closed(e.Payload.Body), true, "(encrypted)"
	rest := slices.DeleteFunc(slices.Clone(e.Payload.Metadata), func(m wire.Member) bool { return m.Key == messKey })
	if inner := e.Payload.Metadata.Get(messKey); inner != "" {
		rest = rest.With(messKey, closed(inner))
	}
	e.Payload.Metadata = rest
	return e
}

// enqueue stores a message and starts its delivery.
func (b *outbox) enqueue(ctx context.Context, o outgoing) error {
	if !o.Once {
		if err := b.save(ctx, o.name(), o); err != nil {
			return err
		}
	}
	b.spawn(func(ctx context.Context) { b.deliver(ctx, o) })
	return nil
}

// deliver delivers a message. If the peer does not accept it, deliver tries the relay, and finally
// stores it as a dead letter.
func (b *outbox) deliver(ctx context.Context, o outgoing) {
	out := b.post.Send(ctx, o.message())
	if out.Status == delivery.Interrupted {
		return // the next run sends it
	}
	if strings.HasPrefix(out.Status, "client_error_") && o.URL != "" { // the address in the request rejects it: try the address of the peer
		plain := o
		plain.URL, plain.Token = "", ""
		again := b.post.Send(ctx, plain.message())
		if again.Status == delivery.Interrupted {
			return
		}
		again.Attempts += out.Attempts
		out = again
	}
	if out.Status == delivery.Exhausted {
		out = b.relayed(ctx, o, out)
	}
	b.auditOut(o, out)
	if out.Status != delivery.Sent && !strings.HasPrefix(out.Status, relayedVia) && !o.Once && out.Status != delivery.Expired {
		if err := b.storeDeadLetter(o, out); err != nil {
			b.log.Error("mesh: cannot store a dead letter; the next run sends the message again", "to", o.To, "id", o.ID, "err", err)
			return
		}
	}
	if !o.Once {
		if err := b.save(ctx, o.name(), nil); err != nil {
			b.log.Warn("mesh: the next run may send a message again", "id", o.ID, "err", err)
		}
	}
	if out.Status == delivery.Expired && !o.Once {
		b.escalate(state.DeadLetter{ID: o.ID, To: o.To}, "its time was over before the peer took it")
	}
	if o.done != nil {
		o.done(out)
	}
	b.ended(ctx, o, out)
}

// relayed sends a message through the relay, once.
func (b *outbox) relayed(ctx context.Context, o outgoing, was delivery.Outcome) delivery.Outcome {
	via, to := b.registry.Peer(b.cfg.Relay), b.registry.Peer(o.To)
	if via == nil || to == nil || via.Name == o.To || o.Through || o.Once {
		return was
	}
	e, err := wire.Stored(o.Text)
	if err != nil {
		return was
	}
	e.Relay = &wire.Relay{From: b.cfg.Agent, Via: via.Name, OriginalTo: o.To}
	text := e.Text()
	r := o
	if r.Text, r.Signature = text, ""; to.Settings().Key != "" {
		r.Text, r.Signature = to.Settings().Key.Sign(text)
	}
	r.To, r.Path, r.URL, r.Token, r.NoRetry = via.Name, HooksPath+b.cfg.Agent, "", "", true
	if out := b.post.Send(ctx, r.message()); out.Status == delivery.Sent {
		out.Status, out.Attempts = relayedVia+via.Name, was.Attempts+1
		return out
	}
	return was
}

func (b *outbox) auditOut(o outgoing, out delivery.Outcome) {
	e, err := wire.Stored(o.Text)
	if err != nil {
		return
	}
	line := lineOf(e)
	line.Status, line.Detail = out.Status, out.Err
	if out.Status == delivery.Exhausted {
		line.Status = "failed_all_retries"
	}
	b.store.Audit(line)
	if out.Status != delivery.Sent && !o.Once {
		b.log.Warn("mesh: delivery of a message has failed", "to", o.To, "id", o.ID, "status", out.Status, "err", out.Err)
	}
}

// awaited is the outcome of a message for a client that waits for it.
type awaited struct {
	over chan struct{}
	out  delivery.Outcome // valid when over is closed
	at   time.Time
}

const maxDeliveries = 1000

// expectDelivery lets awaitDelivery wait for the outcome of a message. It returns the function
// that reports the outcome.
func (b *outbox) expectDelivery(o outgoing) func(delivery.Outcome) {
	one := &awaited{over: make(chan struct{}), at: time.Now()}
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.deliveries) >= maxDeliveries {
		for name, old := range b.deliveries {
			if time.Since(old.at) > answerTTL/24 {
				delete(b.deliveries, name)
			}
		}
	}
	b.deliveries[o.name()] = one
	return func(out delivery.Outcome) {
		one.out = out
		close(one.over)
	}
}

// awaitDelivery waits at most awaitTime for the delivery of a message or its failure.
func (b *outbox) awaitDelivery(ctx context.Context, id, to string) (*Asked, error) {
	b.mu.Lock()
	one := b.deliveries[outgoing{ID: id, To: to}.name()]
	b.mu.Unlock()
	if one == nil {
		return nil, mess.Errorf(mess.NotFound, "the agent has forgotten %s; messkit mesh audit --id %s shows its outcome", id, id)
	}
	end := time.NewTimer(awaitTime)
	defer end.Stop()
	select {
	case <-one.over:
		return &Asked{ID: id, To: to, Delivery: one.out.Status, DeliveryErr: one.out.Err}, nil
	case <-end.C:
	case <-ctx.Done():
	}
	return &Asked{ID: id, To: to}, nil
}

func (b *outbox) storeDeadLetter(o outgoing, out delivery.Outcome) error {
	dropped, err := b.store.AddDeadLetter(state.DeadLetter{
		ID: o.ID, To: o.To, FailReason: out.Status, Attempts: out.Attempts, Envelope: json.RawMessage(o.Text), Text: o.Text, URL: o.URL, Token: o.Token,
		Session: o.SessionKey,
	})
	for _, l := range dropped {
		b.auditDeadLetter(l, "dropped_full")
		b.escalate(l, "too many messages wait")
	}
	if l := (state.DeadLetter{ID: o.ID, To: o.To, FailReason: out.Status}); err == nil && l.Final() {
		b.escalate(l, "the peer refuses it ("+out.Status+")")
	}
	return err
}

func (b *outbox) auditDeadLetter(l state.DeadLetter, status string) {
	e, err := wire.Stored(l.Text)
	if err != nil {
		e = wire.Envelope{ID: l.ID, From: b.cfg.Agent, To: l.To}
	}
	line := lineOf(e)
	line.Status = status
	b.store.Audit(line)
}

const (
	replayEvery = time.Minute
	replayGap   = time.Second
)

// replay sends dead letters again until ctx ends, unless a peer has rejected them.
func (b *outbox) replay(ctx context.Context) {
	for wait.For(ctx, replayEvery) {
		b.replayAll(ctx, func(l state.DeadLetter) bool { return !l.Final() })
	}
}

// replayAll sends dead letters again, the oldest first, and returns how many it delivered. After a
// failure it sends no more to that peer, but still removes expired dead letters.
func (b *outbox) replayAll(ctx context.Context, which func(state.DeadLetter) bool) (sent int, failed []string) {
	given := map[string]bool{}
	for _, l := range b.store.DeadLetters() {
		o, err := b.fromDeadLetter(l)
		over := err != nil || time.Now().After(o.Expires)
		if !which(l) || given[l.To] && !over {
			continue
		}
		status, err := b.replayOne(ctx, l, o, over)
		switch {
		case err != nil:
			b.log.Error("mesh: cannot store dead letters", "err", err)
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

// replayOne sends a dead letter once, or removes it if it has expired.
func (b *outbox) replayOne(ctx context.Context, l state.DeadLetter, o outgoing, over bool) (string, error) {
	if over {
		b.auditDeadLetter(l, "purged_expired")
		_, there, err := b.store.RemoveDeadLetter(l.ID, l.To)
		if err == nil && there {
			b.escalate(l, "its time was over before the peer took it ("+l.FailReason+")")
		}
		return delivery.Expired, err
	}
	out := b.post.Send(ctx, o.message())
	switch out.Status {
	case delivery.Sent:
		if _, _, err := b.store.RemoveDeadLetter(l.ID, l.To); err != nil {
			return out.Status, err
		}
		b.auditDeadLetter(l, "replayed")
		b.ended(ctx, o, out)
	case delivery.Interrupted, delivery.CircuitOpen: // no attempt was made
	default:
		l.Attempts += out.Attempts
		l.FailReason = out.Status
		if _, err := b.store.AddDeadLetter(l); err != nil {
			return out.Status, err
		}
	}
	return out.Status, nil
}

// fromDeadLetter converts a dead letter to a message.
func (b *outbox) fromDeadLetter(l state.DeadLetter) (outgoing, error) {
	text := cmp.Or(l.Text, string(l.Envelope))
	e, err := wire.Stored(text)
	if err != nil {
		return outgoing{}, err
	}
	if b.registry.Peer(l.To) == nil {
		return outgoing{}, errors.New("the configuration does not have the peer any more")
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

// deadLetters returns the dead letters without their secrets.
func (b *outbox) deadLetters() []state.DeadLetter {
	list := b.store.DeadLetters()
	for i := range list {
		list[i].Token, list[i].Text = "", ""
		if e, err := withoutTokens(list[i].Envelope); err == nil {
			list[i].Envelope = e
		}
	}
	return list
}

func withoutTokens(envelope json.RawMessage) (json.RawMessage, error) {
	var v map[string]any
	dec := json.NewDecoder(bytes.NewReader(envelope))
	dec.UseNumber()
	if err := dec.Decode(&v); err != nil {
		return nil, err
	}
	if to, ok := v["replyTo"].(map[string]any); ok {
		to["token"] = "***"
	}
	return json.Marshal(v)
}

// drop discards dead letters.
func (b *outbox) drop(o Order) (rep Report, _ error) {
	for _, l := range b.store.DeadLetters() {
		if l.ID != o.ID && o.ID != "all" || o.Peer != "" && l.To != o.Peer {
			continue
		}
		if _, ok, err := b.store.RemoveDeadLetter(l.ID, l.To); err != nil {
			return rep, err
		} else if ok {
			b.auditDeadLetter(l, "dropped")
			rep.Sent++
		}
	}
	if rep.Sent == 0 {
		return rep, mess.Errorf(mess.NotFound, "there is no dead letter %q", o.ID)
	}
	return rep, nil
}
