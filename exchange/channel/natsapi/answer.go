package natsapi

import (
	"bytes"
	"context"
	"errors"
	"time"

	"github.com/messkit/messkit/exchange"
	"github.com/messkit/messkit/exchange/channel/intake"
	"github.com/messkit/messkit/internal/mistake"
	"github.com/messkit/messkit/internal/natslink"
	"github.com/messkit/messkit/mess"
)

// answer carries out one message, and answers it.
func (a *API) answer(q question) {
	defer mistake.Caught(a.log, "executor", q.Executor, "kind", q.Kind, "bytes", len(q.body))
	reply := natslink.Head{Kind: natslink.Answer, Executor: q.Executor, ID: q.ID, Part: q.Part, Parts: q.Parts, Node: a.node}
	if q.Parts > 1 {
		complete, err := a.join(&q)
		if errors.Is(err, natslink.ErrTooLong) {
			a.refused.Add(1)
			text := a.encode(q, intake.Rejection(mess.Errorf(mess.TooLarge, "the message is longer than %d bytes; send less", a.maxBody())))
			a.respond(q.msg, natslink.Seal(q.secret, reply, text))
			return
		}
		if reply.Restart = err != nil; !complete {
			a.respond(q.msg, natslink.Seal(q.secret, reply, nil))
			return
		}
	}
	var text []byte
	switch q.Kind {
	case natslink.Hello:
		reply.Exchange = a.x.ID()
	case natslink.Begin:
		reply.MaxFile, reply.BeatMS = a.cfg.MaxAttachment, a.cfg.Beat.Milliseconds()
		a.beginSession(q)
	case natslink.Message:
		text = a.encode(q, a.post(q))
	case natslink.File:
		text = a.encode(q, a.attach(q))
	default:
		a.unreadable.Add(1)
		return
	}
	a.respond(q.msg, natslink.Seal(q.secret, reply, text))
}

// join adds a part to the body of its executor. With the last part, q gets the whole body.
func (a *API) join(q *question) (complete bool, err error) {
	a.mu.Lock()
	b := a.bodies[q.Executor]
	if b == nil {
		b = &body{}
		a.bodies[q.Executor] = b
	}
	b.last = time.Now()
	a.mu.Unlock() // the messages of one executor come one at a time
	q.body, complete, err = b.Add(q.Head, q.body, a.maxBody())
	if complete || err != nil {
		a.mu.Lock()
		defer a.mu.Unlock()
		delete(a.bodies, q.Executor)
	}
	return complete, err
}

// maxBody is the limit of a body, in bytes.
func (a *API) maxBody() int { return int(max(a.cfg.MaxAttachment, intake.Max)) }

// executor returns the sender as an actor. Over NATS it has no other role.
func (q question) executor() exchange.Actor {
	return exchange.Actor{ID: q.Executor, Roles: exchange.ExecutorRole}
}

// post passes a message to the exchange, and returns its answer.
func (a *API) post(q question) mess.Message {
	m, err := intake.Read(q.body, true)
	if err != nil {
		if n := a.unreadable.Add(1); intake.IsLogged(n) {
			a.log.Warn("a payload is no message", "executor", q.Executor, "bytes", len(q.body), "err", err, "count", n)
		}
		return answerTo(m, intake.Rejection(err))
	}
	ctx, cancel := context.WithTimeout(context.Background(), workTime)
	defer cancel()
	answer, err := a.x.Post(ctx, exchange.Inbound{Actor: q.executor(), Channel: channel, Message: m})
	if err != nil {
		a.refused.Add(1)
		return answerTo(m, intake.Rejection(err))
	}
	a.taken.Add(1)
	return answerTo(m, answer)
}

func answerTo(m, answer mess.Message) mess.Message {
	if m.ID != "" {
		answer.Re = mess.Refs{m.ID}
	}
	return answer
}

// attach takes the bytes of an attachment.
func (a *API) attach(q question) mess.Message {
	ctx, cancel := context.WithTimeout(context.Background(), workTime)
	defer cancel()
	media, err := a.x.Attach(ctx, q.executor(), q.Ref, q.Name, q.MIME, bytes.NewReader(q.body))
	if err != nil {
		a.refused.Add(1)
		return intake.Rejection(err)
	}
	a.taken.Add(1)
	return intake.Attached(q.Ref, media, mess.TimeOf(time.Now()))
}

// encode returns an answer as text. One that does not fit into a message is an error.
func (a *API) encode(q question, m mess.Message) []byte {
	text, err := m.JSON()
	if most := int(a.nc.MaxPayload()) - natslink.HeadRoom; err == nil && len(text) > most {
		err = mess.Errorf(mess.TooLarge, "the answer has %d bytes, and the NATS servers carry %d; ask for less, or set max_payload there", len(text), most)
	}
	if err != nil {
		text, err = answerTo(mess.Message{ID: m.ID}, intake.Rejection(err)).JSON()
	}
	if err != nil {
		a.log.Error("encoding an answer failed", "executor", q.Executor, "err", err)
	}
	return text
}
