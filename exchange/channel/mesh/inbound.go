package mesh

import (
	"cmp"
	"context"
	"encoding/base64"
	"errors"
	"net/http"
	"strings"
	"time"

	"github.com/messkit/messkit/exchange/channel/mesh/state"
	"github.com/messkit/messkit/exchange/channel/mesh/wire"
)

const (
	skew     = 5 * time.Second // that clocks may differ by
	tooEarly = 24 * time.Hour  // a message from later than that has no right clock
)

// audit notes what became of a message.
func (d *Adapter) audit(in *incoming, status, detail string) {
	line := in.line
	line.Status, line.Detail = status, detail
	d.store.Audit(line)
}

// lineOf is an envelope in the audit log.
func lineOf(e wire.Envelope) state.Line {
	return state.Line{
		From: e.From, To: e.To, Type: string(e.Type), ID: e.ID, Subject: e.Payload.Subject, Body: e.Payload.Body, CorrelationID: e.CorrelationID,
		ConversationID: e.ConversationID, ReplyContext: string(e.ReplyContext), Signed: e.Signature != "", Session: e.Session,
		Metadata: e.Payload.Metadata.Without(messKey),
	}
}

// envelope takes a message with an envelope.
func (d *Adapter) envelope(r *http.Request, sender string, h wire.Hook, may func(*peer) bool, line *state.Line) (map[string]any, error) {
	e, err := wire.Parse(h.Message)
	if bad, ok := errors.AsType[*wire.Error](err); ok {
		return nil, refuse(http.StatusBadRequest, bad.Code, bad.Text)
	}
	*line = lineOf(e)
	if sender != "agent" && sender != e.From {
		return nil, refuse(http.StatusForbidden, "wrong_path", "the path names another sender than from")
	}
	p, err := d.sender(e.From, d.orRelayed(e, may))
	if err != nil {
		return nil, err
	}
	if err := spend(p.rate); err != nil {
		return nil, err
	}
	in := &incoming{Envelope: e, text: h.Message, peer: p, back: cmp.Or(h.SessionKey, e.SessionKey())}
	if in.session, err = d.sessionOf(h.SessionKey, e.SessionKey()); err != nil {
		return nil, err
	}
	if err := d.checked(in); err != nil {
		return nil, err
	}
	in.line = lineOf(in.Envelope)
	ctx, cancel := context.WithTimeout(context.WithoutCancel(r.Context()), workTime)
	defer cancel() // what has begun is finished, even if the peer goes
	if in.To != d.cfg.Agent {
		return d.forward(ctx, in)
	}
	now := time.Now()
	if now.After(in.Expires().Add(skew)) {
		d.audit(in, "expired", "it was over when it came")
		return map[string]any{"ok": true, "id": in.ID, "expired": true}, nil
	}
	p.turn.Lock()
	defer p.turn.Unlock()
	return d.take(ctx, in)
}

// workTime is what the exchange may take for one message.
const workTime = 30 * time.Second

// orRelayed lets in a message that comes through our relay with the relay's
// token.
func (d *Adapter) orRelayed(e wire.Envelope, may func(*peer) bool) func(*peer) bool {
	return func(p *peer) bool {
		if may(p) {
			return true
		}
		if e.Relay == nil || e.Relay.From != e.From || e.Relay.Via != d.cfg.Relay {
			return false
		}
		via := d.peer(e.Relay.Via)
		return via != nil && may(via)
	}
}

// checked judges size, time and signature, and decrypts.
func (d *Adapter) checked(in *incoming) error {
	size := len(in.text)
	for _, a := range in.Payload.Attachments {
		if a.Type != "inline" {
			continue
		}
		size -= len(a.Data)
		data, err := base64.StdEncoding.DecodeString(a.Data)
		switch {
		case err != nil || a.Encoding != "" && a.Encoding != "base64":
			return refuse(http.StatusBadRequest, "invalid", "payload.attachments: the data of one is not base64")
		case len(data) > wire.MaxInline:
			return refuse(http.StatusRequestEntityTooLarge, "too_large", "payload.attachments: one is larger than 64 KiB; send a file by its address")
		}
	}
	if size > wire.MaxText {
		return refuse(http.StatusRequestEntityTooLarge, "too_large", "the message is larger than 64 KiB; send a file by its address")
	}
	if in.Time.After(time.Now().Add(tooEarly)) {
		return refuse(http.StatusBadRequest, "clock", "timestamp: is more than a day ahead; look at the clock")
	}
	p, key := in.peer, in.peer.now().key
	if in.Signature != "" && key != "" {
		if in.signed = key.Verify(in.text); !in.signed {
			return refuse(http.StatusForbidden, "bad_signature", "signature: does not fit the message and the key that is shared")
		}
	}
	if p.now().cfg.Signed && !in.signed {
		return refuse(http.StatusForbidden, "unsigned", "signature: is missing; messages of "+p.name+" must be signed")
	}
	return in.open()
}

// take takes a message that was not seen before. in.peer.turn is held.
func (d *Adapter) take(ctx context.Context, in *incoming) (map[string]any, error) {
	answer := map[string]any{"ok": true, "id": in.ID}
	if of, twice := d.seenBefore(in); twice {
		answer["duplicate"] = true
		d.audit(in, "duplicate", "")
		if in.Type != wire.Request {
			return answer, nil
		}
		if err := d.again(ctx, in, of); err != nil {
			return nil, err
		}
		return answer, d.remember(ctx, in)
	}
	if err := d.inSession(in.session, state.InSession{
		From: in.From, To: in.To, Type: string(in.Type), Subject: in.Payload.Subject, Body: in.Payload.Body, Timestamp: in.Time, MsgID: in.ID, CorrelationID: in.CorrelationID,
	}); err != nil {
		return nil, err
	}
	var status string
	var err error
	switch in.Type {
	case wire.Request:
		status, err = d.request(ctx, in)
	case wire.Response, wire.Ack:
		status, err = d.heard(ctx, in)
	case wire.Alert:
		status, err = d.alert(ctx, in)
		answer["verdict"] = status
	default:
		status, err = d.notified(ctx, in)
	}
	if err != nil {
		return nil, err
	}
	if err := d.remember(ctx, in); err != nil {
		return nil, err
	}
	d.audit(in, status, "")
	return answer, nil
}

// received is the status of what was only noted.
const received = "received"

// notified takes a notification: the end of a task of the peer's, or something to
// note.
func (d *Adapter) notified(ctx context.Context, in *incoming) (string, error) {
	if in.CorrelationID != "" {
		if t := d.taskOf(in.peer, in.CorrelationID); t != nil && strings.EqualFold(strings.Trim(in.Payload.Body, " \t\r\n."), "cancel") {
			return d.cancel(ctx, in, t)
		}
	}
	d.log.Info("mesh: notification", "from", in.From, "subject", in.Payload.Subject)
	d.notice(priorityOf(in.Priority), in.From+": "+in.Payload.Subject, in.Payload.Body)
	return received, nil
}

// forward passes a message on that is for somebody else.
func (d *Adapter) forward(ctx context.Context, in *incoming) (map[string]any, error) {
	to := d.peer(in.To)
	switch {
	case in.Relay == nil || in.Relay.OriginalTo != in.To || in.Relay.Via != d.cfg.Agent:
		return nil, refuse(http.StatusBadRequest, "wrong_recipient", "to: this agent is "+d.cfg.Agent)
	case !d.cfg.Forward:
		return nil, refuse(http.StatusForbidden, "no_relay", "messages for others are not passed on here")
	case to == nil:
		return nil, refuse(http.StatusBadRequest, "unknown_recipient", "to: this agent does not know "+in.To)
	}
	if time.Now().After(in.Expires().Add(skew)) {
		d.audit(in, "expired", "it was over when it came")
		return map[string]any{"ok": true, "id": in.ID, "expired": true}, nil
	}
	in.peer.turn.Lock()
	defer in.peer.turn.Unlock()
	answer := map[string]any{"ok": true, "id": in.ID, "relayed": true}
	if _, twice := d.seenBefore(in); twice {
		answer["duplicate"] = true
		return answer, nil
	}
	o := outgoing{
		ID: in.ID, To: in.To, Text: in.text, Signature: in.Signature, Path: HooksPath + in.From, SessionKey: in.back, Priority: in.Priority,
		Alert: in.Type == wire.Alert, Expires: in.Expires(), Through: true,
	}
	if err := d.enqueue(ctx, o); err != nil {
		return nil, err
	}
	if err := d.remember(ctx, in); err != nil {
		return nil, err
	}
	d.audit(in, "relaying", "")
	return answer, nil
}
