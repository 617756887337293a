package mesh

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/messkit/messkit/exchange"
	"github.com/messkit/messkit/exchange/channel/mesh/wire"
	"github.com/messkit/messkit/internal/keyed"
	"github.com/messkit/messkit/internal/mistake"
	"github.com/messkit/messkit/internal/wait"
	"github.com/messkit/messkit/mess"
)

// work is a request that has been taken, and is to become a task.
type work struct {
	Peer   string  `json:"peer"`
	ID     string  `json:"id"`
	Text   string  `json:"text"`
	Urgent bool    `json:"urgent,omitempty"` // its priority is high
	Asked  []asked `json:"asked"`
}

func (w *work) key() string  { return idKey(w.Peer, w.ID) }
func (w *work) name() string { return keptWork + digest(w.key()) }

// askedBy is how the answer to a request goes back. An address that is not the
// peer's own is not used.
func (d *Adapter) askedBy(in *incoming) asked {
	a := asked{
		ID: in.ID, Context: in.ReplyContext, Conversation: in.ConversationID, Session: in.Session, SessionKey: in.back, Sealed: in.Payload.Encrypted,
		Subject: in.Payload.Subject,
	}
	if in.ReplyTo == nil || in.Relay != nil {
		return a
	}
	if in.peer.now().where.Owns(in.ReplyTo.URL) {
		a.URL, a.Token = in.ReplyTo.URL, in.ReplyTo.Token
		return a
	}
	d.audit(in, "reply_to_refused", "replyTo.url is not at the address of "+in.From+"; the answer goes there")
	return a
}

// request takes a request: a question in one of ours, or something to be done.
func (d *Adapter) request(ctx context.Context, in *incoming) (string, error) {
	if asked, err := d.askedBack(ctx, in); asked || err != nil {
		return "question", err
	}
	w := &work{Peer: in.From, ID: in.ID, Text: in.text, Urgent: in.Priority == wire.High, Asked: []asked{d.askedBy(in)}}
	if err := d.keep(ctx, w.name(), w); err != nil {
		return "", err
	}
	d.mu.Lock()
	fresh := d.inbox[w.key()] == nil
	if fresh {
		d.inbox[w.key()] = w
	}
	d.mu.Unlock()
	if fresh {
		d.queue(in.peer, w)
	}
	return received, nil
}

// again answers a request that has come before. A new message with the same
// idempotency key gets an answer of its own; the same message again gets the same
// answer again.
func (d *Adapter) again(ctx context.Context, in *incoming, of string) error {
	mine := d.askedBy(in)
	d.mu.Lock()
	w, ref := d.inbox[idKey(in.From, of)], d.byAsked[idKey(in.From, of)]
	t := d.tasks[ref]
	if w != nil {
		if !slices.ContainsFunc(w.Asked, func(a asked) bool { return a.ID == in.ID }) {
			w.Asked = append(w.Asked, mine)
		}
		c := *w
		d.mu.Unlock()
		return d.keep(ctx, w.name(), c)
	}
	if t == nil {
		d.mu.Unlock()
		return nil // it is over long since, or was a question
	}
	i := slices.IndexFunc(t.Asked, func(a asked) bool { return a.ID == in.ID })
	if i < 0 {
		t.Asked = append(t.Asked, mine)
		d.byAsked[idKey(in.From, in.ID)] = t.Ref
	} else {
		t.Asked[i].Sent = false
	}
	d.mu.Unlock()
	if err := d.saveTask(ctx, t); err != nil {
		return err
	}
	d.touch(t.Ref)
	return nil
}

// workOff makes a task of the first request in a queue.
func (d *Adapter) workOff(ctx context.Context, name string) (again time.Duration) {
	return d.requests.Work(name, func(r requested) (again time.Duration) {
		again = keyed.Idle // also after a mistake in the program
		defer mistake.Caught(d.log, "channel", channel, "from", r.peer.name)
		if !d.convert(ctx, r.peer, r.work) {
			again = 0 // the program ends, or convert has waited
		}
		return again
	})
}

// tryAgain is the wait after the exchange could not store something.
const tryAgain = 5 * time.Second

// convert makes a task of a request, and reports whether it is done with.
func (d *Adapter) convert(ctx context.Context, p *peer, w *work) bool {
	e, err := wire.Stored(w.Text)
	in := &incoming{Envelope: e, text: w.Text, peer: p, line: lineOf(e)}
	if err == nil {
		err = in.open()
	}
	if err != nil { // it was good when it came: the key has been changed
		d.log.Error("mesh: a request that was taken cannot be read any more", "from", w.Peer, "id", w.ID, "err", err)
		return d.done(ctx, w)
	}
	req, notes, err := d.build(ctx, in)
	if ctx.Err() != nil {
		return false
	}
	var ref string
	if err == nil {
		ref, err = d.submit(ctx, p, req, in)
	}
	switch {
	case ctx.Err() != nil:
		return false
	case err != nil && unavailable(err):
		d.log.Warn("mesh: the exchange does not take a request; it is tried again", "from", w.Peer, "err", err)
		wait.For(ctx, tryAgain)
		return false
	case err != nil:
		d.audit(in, "request_refused", err.Error())
		if d.refused(ctx, p, w, err) != nil {
			wait.For(ctx, tryAgain)
			return false
		}
		return d.done(ctx, w)
	}
	t := d.taskFor(ref, w, notes)
	for d.saveTask(ctx, t) != nil {
		if !wait.For(ctx, tryAgain) {
			return false
		}
	}
	in.line.Ref = ref
	d.audit(in, "task", "")
	d.touch(ref)
	return d.done(ctx, w)
}

// taskFor is the task of a thread, for all who have asked for it: there is one
// already if the power went after it was written down, or if two messages bear one
// request.
func (d *Adapter) taskFor(ref string, w *work, notes []string) *task {
	d.mu.Lock()
	defer d.mu.Unlock()
	t := d.tasks[ref]
	if t == nil || t.Peer != w.Peer {
		t = &task{Ref: ref, Peer: w.Peer, Made: time.Now()}
	}
	for _, a := range w.Asked {
		if !slices.ContainsFunc(t.Asked, func(b asked) bool { return a.ID == b.ID }) {
			t.Asked = append(t.Asked, a)
		}
	}
	for _, n := range notes {
		if !slices.Contains(t.Notes, n) {
			t.Notes = append(t.Notes, n)
		}
	}
	d.index(t)
	delete(d.inbox, w.key())
	return t
}

// done lets go of a request that was worked off.
func (d *Adapter) done(ctx context.Context, w *work) bool {
	d.mu.Lock()
	delete(d.inbox, w.key())
	d.mu.Unlock()
	for d.keep(ctx, w.name(), nil) != nil {
		if !wait.For(ctx, tryAgain) {
			return false
		}
	}
	return true
}

// submit makes the thread. A request that was submitted before the program ended
// finds its own.
func (d *Adapter) submit(ctx context.Context, p *peer, req *mess.Request, in *incoming) (string, error) {
	if req.ID == in.ID {
		if t, err := d.x.Thread(ctx, p.actor(), req.ID); err == nil {
			return t.Ref, nil
		}
	}
	if time.Now().After(in.Expires().Add(skew)) {
		return "", mess.Refuse(mess.NotReady, "it was over before it could begin")
	}
	answer, err := d.x.Post(ctx, exchange.Inbound{Actor: p.actor(), Channel: channel, Message: mess.Message{Version: "1.1.0", Items: []mess.Item{req}}})
	if err != nil {
		return "", err
	}
	for _, item := range answer.Items {
		if ack, ok := item.(*mess.Ack); ok && ack.Ref != "" {
			return ack.Ref, nil
		}
	}
	return "", errors.New("the exchange does not say which thread it has made")
}

// refused tells a peer that the exchange does not take its request.
func (d *Adapter) refused(ctx context.Context, p *peer, w *work, why error) error {
	for _, a := range w.Asked {
		e := d.answerTo(p, a, wire.Response)
		e.ID = newID()
		e.Payload.Body = "Not done: " + why.Error()
		e.Payload.Metadata = wire.Object{}.With("status", string(mess.Failed))
		if err := d.enqueue(ctx, d.sealed(p, e, a)); err != nil {
			return err
		}
	}
	return nil
}

// answerTo is a message that goes back to where a request came from.
func (d *Adapter) answerTo(p *peer, a asked, kind wire.Type) wire.Envelope {
	subject := a.Subject
	if subject != "" {
		subject = "Re: " + strings.TrimPrefix(subject, "Re: ")
	}
	return wire.Envelope{
		Time: time.Now(), From: d.cfg.Agent, To: p.name, Type: kind, CorrelationID: a.ID, ConversationID: a.Conversation, ReplyContext: a.Context,
		Session: a.Session, TTL: answerTTL, Nonce: newNonce(), Payload: wire.Payload{Subject: subject},
	}
}

// answerTTL is how long an answer is sent again, and kept as a dead letter.
const answerTTL = 24 * time.Hour

// sealed makes a message ready for the place that a request has named.
func (d *Adapter) sealed(p *peer, e wire.Envelope, a asked) outgoing {
	o := d.ready(p, e, a.Sealed)
	o.URL, o.Token, o.SessionKey = a.URL, a.Token, a.SessionKey
	if o.SessionKey != "" && o.URL == "" {
		o.Path = HooksPath + "agent"
	}
	return o
}
