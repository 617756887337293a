package mesh

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/messkit/messkit/exchange/channel/mesh/peers"
	"github.com/messkit/messkit/exchange/channel/mesh/state"
	"github.com/messkit/messkit/exchange/channel/mesh/wire"
	"github.com/messkit/messkit/mess"
)

// Sending is a message to send.
type Sending struct {
	To           string            `json:"to"` // a peer, several separated by commas, @group or all
	Type         wire.Type         `json:"type"`
	Body         string            `json:"body"`
	Subject      string            `json:"subject,omitempty"`
	Priority     string            `json:"priority,omitempty"`
	TTL          int64             `json:"ttl,omitempty"` // seconds; 0: 300
	Key          string            `json:"key,omitempty"` // idempotency key
	Correlation  string            `json:"correlation,omitempty"`
	Conversation string            `json:"conversation,omitempty"`
	SessionKey   string            `json:"sessionKey,omitempty"`
	Metadata     json.RawMessage   `json:"metadata,omitempty"`
	MESS         string            `json:"mess,omitempty"` // a whole MESS message
	Files        []Attached        `json:"files,omitempty"`
	URLs         []wire.Attachment `json:"urls,omitempty"`
	NoRetry      bool              `json:"noRetry,omitempty"`
	Encrypt      bool              `json:"encrypt,omitempty"`

	id    string    // message id; "": a new one
	until time.Time // how long this agent waits for an answer; zero: the lifetime of the message
}

// Attached is a file of a message, with its data.
type Attached struct {
	Name  string `json:"name"`
	MIME  string `json:"mime"`
	Data  []byte `json:"data"`
	About string `json:"description,omitempty"`
}

// Taken is a message that the agent has accepted for delivery.
type Taken struct {
	ID string `json:"id"`
	To string `json:"to"`
}

// targets returns the names of the peers that an address means, in their order.
func (rq *requests) targets(to string) ([]string, error) {
	var all []string
	for one := range strings.SplitSeq(to, ",") {
		one = strings.TrimSpace(one)
		group, isGroup := strings.CutPrefix(one, "@")
		names := []string{one}
		switch {
		case one == "all":
			names = slices.Sorted(maps.Keys(rq.registry.Peers()))
		case isGroup && rq.cfg.Groups[group] == nil:
			return nil, mess.Errorf(mess.NotFound, "there is no group %q", group)
		case isGroup:
			names = rq.cfg.Groups[group]
		}
		for _, name := range names {
			if name == rq.cfg.Agent {
				continue
			}
			if rq.registry.Peer(name) == nil {
				return nil, mess.Errorf(mess.NotFound, "there is no peer %q; there are %s", name, strings.Join(slices.Sorted(maps.Keys(rq.registry.Peers())), ", "))
			}
			if !slices.Contains(all, name) {
				all = append(all, name)
			}
		}
	}
	if len(all) == 0 {
		return nil, mess.Errorf(mess.Invalid, "to: names no peer")
	}
	return all, nil
}

// check returns an error if the message is invalid.
func (s Sending) check() error {
	switch {
	case !s.Type.Known():
		return mess.Errorf(mess.Invalid, "type: unknown value %q; use request, response, notification, alert or ack", s.Type)
	case (s.Type == wire.Response || s.Type == wire.Ack) && s.Correlation == "":
		return mess.Errorf(mess.Invalid, "correlation: is missing; a %s names the message that it is for", s.Type)
	case s.TTL < 0 || time.Duration(s.TTL) > wire.MaxTTL/time.Second:
		return mess.Errorf(mess.Invalid, "ttl: %d is not from 0 to %d seconds", s.TTL, wire.MaxTTL/time.Second)
	case s.Priority != "" && !slices.Contains([]string{wire.High, wire.Normal, wire.Low}, s.Priority):
		return mess.Errorf(mess.Invalid, "priority: unknown value %q; use high, normal or low", s.Priority)
	case strings.TrimSpace(s.Body) == "" && s.MESS == "":
		return mess.Errorf(mess.Invalid, "body: is empty; say something")
	}
	return nil
}

// Send sends a message to all its recipients. It returns after it has stored the messages.
func (rq *requests) Send(ctx context.Context, s Sending) ([]Taken, error) {
	if err := s.check(); err != nil {
		return nil, err
	}
	names, err := rq.targets(s.To)
	if err != nil {
		return nil, err
	}
	if s.MESS != "" {
		m, err := parseMess(s.MESS)
		if err != nil {
			return nil, err
		}
		s.MESS = string(jsonOf(m))
		if r, ok := m.Items[0].(*mess.Request); ok && strings.TrimSpace(s.Body) == "" {
			s.Body = r.Intent
		}
	}
	var taken []Taken
	for _, name := range names {
		t, err := rq.sendOne(ctx, rq.registry.Peer(name), s)
		if err != nil {
			return taken, err
		}
		taken = append(taken, t)
	}
	return taken, nil
}

// errPeerRemoved is the error for a peer that has just left the registry.
var errPeerRemoved = mess.Errorf(mess.NotFound, "the peer is not in the registry any more")

// sendOne sends a message to one peer.
func (rq *requests) sendOne(ctx context.Context, p *peers.Agent, s Sending) (Taken, error) {
	if p == nil {
		return Taken{}, errPeerRemoved
	}
	e := wire.Envelope{
		ID: cmp.Or(s.id, newID()), Time: time.Now(), From: rq.cfg.Agent, To: p.Name, Type: s.Type, CorrelationID: s.Correlation, ConversationID: s.Conversation,
		Priority: s.Priority, TTL: time.Duration(s.TTL) * time.Second, IdempotencyKey: s.Key, Nonce: newNonce(),
		Payload: wire.Payload{Subject: cmp.Or(s.Subject, firstLine(s.Body)), Body: s.Body, Attachments: s.URLs},
	}
	if s.TTL == 0 {
		e.TTL = wire.DefaultTTL
	}
	meta, err := objectOf(s.Metadata)
	if err != nil {
		return Taken{}, err
	}
	if s.Encrypt && p.Settings().Seal == "" {
		return Taken{}, mess.Errorf(mess.Invalid, "encrypt: there is no key_file for %s", p.Name)
	}
	switch e.Payload.Metadata = meta; {
	case s.MESS == "":
	case len(s.MESS) > maxNative:
		f, err := messAsFile(p, []byte(s.MESS), s.Encrypt)
		if err != nil {
			return Taken{}, err
		}
		s.Files = append(slices.Clone(s.Files), f)
		e.Payload.Body = clipBody(e.Payload.Body)
	default:
		e.Payload.Metadata = meta.With(messKey, s.MESS)
	}
	if s.SessionKey != "" {
		e.ReplyContext = jsonText(map[string]string{"sessionKey": s.SessionKey})
	}
	if s.Type == wire.Request {
		e.ReplyTo = rq.outbox.replyTo(p, s.SessionKey)
	}
	if e.Payload.Attachments, err = rq.outbox.attach(ctx, p, e, s.Encrypt, s.Files); err != nil {
		return Taken{}, err
	}
	o := rq.outbox.prepare(p, e, s.Encrypt)
	o.NoRetry = s.NoRetry
	if len(o.Text) > wire.MaxText {
		return Taken{}, mess.Errorf(mess.TooLarge, "the message is %d bytes, more than %d; send what is long as a file", len(o.Text), wire.MaxText)
	}
	back := func() error { return nil }
	if a, q, ok := rq.findQuestion(s.Correlation); ok && s.Type == wire.Response && a.To == p.Name {
		e.ReplyContext = q.Context
		o = rq.outbox.prepare(p, e, s.Encrypt)
		o.URL, o.Token = q.URL, q.Token
		back = func() error {
			return rq.change(ctx, a, func() {
				for i := range a.Questions {
					a.Questions[i].Answered = a.Questions[i].Answered || a.Questions[i].ID == q.ID
				}
			})
		}
	}
	if s.Type == wire.Request {
		if err := rq.register(ctx, e, s.until); err != nil {
			return Taken{}, err
		}
	}
	o.done = rq.outbox.expectDelivery(o)
	if err := rq.outbox.enqueue(ctx, o); err != nil {
		return Taken{}, err
	}
	return Taken{ID: e.ID, To: p.Name}, back()
}

// objectOf parses metadata. It rejects numbers that are no integers, because peers may change their
// form, and a signature would be invalid then.
func objectOf(raw json.RawMessage) (wire.Object, error) {
	if len(raw) == 0 {
		return nil, nil
	}
	o, err := wire.ParseObject(raw)
	if err != nil {
		return nil, mess.Errorf(mess.Invalid, "metadata: %v", err)
	}
	return o, nil
}

func jsonText(v any) json.RawMessage {
	text, _ := json.Marshal(v) // maps of strings never fail
	return text
}

// firstLine returns the first line of a text, at most 80 characters of it.
func firstLine(s string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(s), "\n")
	if runes := []rune(line); len(runes) > 80 {
		return string(runes[:80])
	}
	return line
}

// Rally sends one question to several peers, and returns the id of the conversation that collects
// the answers. For an existing conversation it begins the next round.
func (rq *requests) Rally(ctx context.Context, s Sending) (string, []Taken, error) {
	s.Type = wire.Request
	if err := s.check(); err != nil {
		return "", nil, err
	}
	names, err := rq.targets(s.To)
	if err != nil {
		return "", nil, err
	}
	s.TTL = cmp.Or(s.TTL, 120)
	if s.Conversation == "" {
		s.Conversation = fmt.Sprintf("conv_%d_%s", time.Now().Unix(), newNonce()[:8])
	}
	c, err := rq.store.Begin(s.Conversation, state.Conversation{
		From: rq.cfg.Agent, Question: s.Body, Subject: firstLine(s.Body), Participants: names, Life: time.Duration(s.TTL) * time.Second,
	})
	if err != nil {
		return "", nil, err
	}
	s.Subject = "[" + c.ID + "] " + firstLine(s.Body)
	var taken []Taken
	for _, name := range names {
		t, err := rq.rallyOne(ctx, rq.registry.Peer(name), s, c)
		if err != nil {
			return c.ID, taken, err
		}
		taken = append(taken, t)
	}
	rq.store.Audit(state.Line{From: rq.cfg.Agent, To: strings.Join(names, ","), Type: "rally/open", ID: c.ID, ConversationID: c.ID, Subject: s.Subject, Body: s.Body, Status: "sent"})
	return c.ID, taken, nil
}

func (rq *requests) rallyOne(ctx context.Context, p *peers.Agent, s Sending, c state.Conversation) (Taken, error) {
	if p == nil {
		return Taken{}, errPeerRemoved
	}
	e := wire.Envelope{
		ID: newID(), Time: time.Now(), From: rq.cfg.Agent, To: p.Name, Type: wire.Request, ConversationID: c.ID, Priority: s.Priority,
		TTL: time.Duration(s.TTL) * time.Second, Nonce: newNonce(), ReplyTo: rq.outbox.replyTo(p, ""),
		ReplyContext: jsonText(map[string]any{"conversationId": c.ID, "participants": c.Participants, "round": c.CurrentRound}),
		Payload:      wire.Payload{Subject: s.Subject, Body: s.Body},
	}
	if err := rq.register(ctx, e, time.Time{}); err != nil {
		return Taken{}, err
	}
	o := rq.outbox.prepare(p, e, s.Encrypt)
	o.NoRetry = true
	return Taken{ID: e.ID, To: p.Name}, rq.outbox.enqueue(ctx, o)
}
