package mesh

import (
	"cmp"
	"context"
	"encoding/base64"
	"slices"
	"strings"
	"time"

	"github.com/messkit/messkit/exchange/channel/mesh/wire"
	"github.com/messkit/messkit/mess"
)

// replyTargetOf returns where the answer to a request goes. It ignores an address that is not the
// peer's own.
func (b *outbox) replyTargetOf(in *incoming) replyTarget {
	a := replyTarget{
		ID: in.ID, Context: in.ReplyContext, Conversation: in.ConversationID, Session: in.Session, SessionKey: in.back, Sealed: in.Payload.Encrypted,
		Subject: in.Payload.Subject,
	}
	if in.ReplyTo == nil || in.Relay != nil {
		return a
	}
	if in.peer.settings().where.Owns(in.ReplyTo.URL) {
		a.URL, a.Token = in.ReplyTo.URL, in.ReplyTo.Token
		return a
	}
	b.audit(in, "reply_to_refused", "replyTo.url is not at the address of "+in.From+"; the answer goes there")
	return a
}

// answerTo returns an envelope for the answer to a request.
func (b *outbox) answerTo(p *peer, a replyTarget, kind wire.Type) wire.Envelope {
	subject := a.Subject
	if subject != "" {
		subject = "Re: " + strings.TrimPrefix(subject, "Re: ")
	}
	return wire.Envelope{
		Time: time.Now(), From: b.cfg.Agent, To: p.name, Type: kind, CorrelationID: a.ID, ConversationID: a.Conversation, ReplyContext: a.Context,
		Session: a.Session, TTL: answerTTL, Nonce: newNonce(), Payload: wire.Payload{Subject: subject},
	}
}

// answerTTL is the lifetime of an answer, also as a dead letter.
const answerTTL = 24 * time.Hour

// answer prepares an envelope for the target that a request has named.
func (b *outbox) answer(p *peer, e wire.Envelope, a replyTarget) outgoing {
	o := b.prepare(p, e, a.Sealed)
	o.URL, o.Token, o.SessionKey = a.URL, a.Token, a.SessionKey
	if o.SessionKey != "" && o.URL == "" {
		o.Path = HooksPath + "agent"
	}
	return o
}

// replyTo returns the address and the token for the answers of a peer. Answers for a
// session go to /hooks/agent, the path that reads session keys (section 5.1).
func (b *outbox) replyTo(p *peer, sessionKey string) *wire.ReplyTo {
	path := p.name
	if sessionKey != "" {
		path = "agent"
	}
	return &wire.ReplyTo{URL: b.base + HooksPath + path, Token: string(cmp.Or(p.settings().cfg.Accept, b.token()))}
}

// withFiles adds files to an answer. It serves the files that do not fit into the message.
func (b *outbox) withFiles(ctx context.Context, p *peer, e wire.Envelope, a replyTarget, files []file, m mess.Message) (outgoing, error) {
	native := jsonOf(m)
	if len(native) > maxNative {
		f, err := p.messAsFile(native, a.Sealed && p.settings().seal != "")
		if err != nil {
			return outgoing{}, err
		}
		files = append(slices.Clone(files), f)
	} else {
		e.Payload.Metadata = e.Payload.Metadata.With(messKey, string(native))
	}
	e.Payload.Body = clipBody(e.Payload.Body)
	room := wire.MaxText - len(b.prepare(p, e, a.Sealed).Text) - margin
	for _, f := range files {
		at := wire.Attachment{Type: "inline", Encoding: "base64", Filename: f.Name, MIME: f.MIME, Size: int64(len(f.Data)), Description: f.About}
		cost := base64.StdEncoding.EncodedLen(len(f.Data)) + len(f.Name) + len(f.MIME) + 2*len(f.About) + 200
		if cost <= room {
			at.Data = base64.StdEncoding.EncodeToString(f.Data)
		} else {
			address, err := b.files.serve(ctx, f)
			if err != nil {
				return outgoing{}, err
			}
			at.Type, at.Encoding, at.URL = "url", "", address
			cost = len(address) + len(f.Name) + len(f.MIME) + 2*len(f.About) + 200
		}
		room -= cost
		e.Payload.Attachments = append(e.Payload.Attachments, at)
	}
	return b.answer(p, e, a), nil
}

const (
	maxNative  = 16 << 10 // bytes of a MESS message in the metadata, where escapes may double its size
	maxBodyOut = 16 << 10
	margin     = 2 << 10 // for the signature and for escapes
)

func clipBody(s string) string {
	if len(s) <= maxBodyOut {
		return s
	}
	return strings.ToValidUTF8(s[:maxBodyOut], "") + "\n[the rest is in the message of MESS]"
}

// attached returns the attachments for a message. It serves the files that do not fit into the
// message.
func (b *outbox) attached(ctx context.Context, p *peer, e wire.Envelope, s Sending) ([]wire.Attachment, error) {
	all := slices.Clone(e.Payload.Attachments)
	room := wire.MaxText - len(b.prepare(p, e, s.Encrypt).Text) - margin
	for _, f := range s.Files {
		at := wire.Attachment{Type: "inline", Encoding: "base64", Filename: f.Name, MIME: f.MIME, Size: int64(len(f.Data)), Description: f.About, Data: base64.StdEncoding.EncodeToString(f.Data)}
		if cost := len(at.Data) + len(f.Name) + 2*len(f.About) + 200; cost <= room {
			room -= cost
		} else {
			address, err := b.files.serve(ctx, file(f))
			if err != nil {
				return nil, err
			}
			at.Type, at.Encoding, at.Data, at.URL = "url", "", "", address
			room -= len(address) + len(f.Name) + 200
		}
		all = append(all, at)
	}
	return all, nil
}
