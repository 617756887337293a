package mesh

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"strings"
	"time"

	"github.com/messkit/messkit/exchange/channel/mesh/delivery"
	"github.com/messkit/messkit/exchange/channel/mesh/state"
	"github.com/messkit/messkit/exchange/channel/mesh/wire"
	"github.com/messkit/messkit/internal/wait"
	"github.com/messkit/messkit/mess"
)

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
