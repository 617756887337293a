package mesh

import (
	"cmp"
	"context"
	"encoding/base64"
	"slices"
	"strings"
	"time"

	"github.com/messkit/messkit/exchange/channel/mesh/peers"
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
	if in.peer.Settings().Where.Owns(in.ReplyTo.URL) {
		a.URL, a.Token = in.ReplyTo.URL, in.ReplyTo.Token
		return a
	}
	b.audit(in, "reply_to_refused", "replyTo.url is not at the address of "+in.From+"; the answer goes there")
	return a
}

// answerTo returns an envelope for the answer to a request.
func (b *outbox) answerTo(p *peers.Agent, a replyTarget, kind wire.Type) wire.Envelope {
	subject := a.Subject
	if subject != "" {
		subject = "Re: " + strings.TrimPrefix(subject, "Re: ")
	}
	return wire.Envelope{
		Time: time.Now(), From: b.cfg.Agent, To: p.Name, Type: kind, CorrelationID: a.ID, ConversationID: a.Conversation, ReplyContext: a.Context,
		Session: a.Session, TTL: answerTTL, Nonce: newNonce(), Payload: wire.Payload{Subject: subject},
	}
}

// answerTTL is the lifetime of an answer, also as a dead letter.
const answerTTL = 24 * time.Hour

// answer prepares an envelope for the target that a request has named.
func (b *outbox) answer(p *peers.Agent, e wire.Envelope, a replyTarget) outgoing {
	o := b.prepare(p, e, a.Sealed)
	o.URL, o.Token, o.SessionKey = a.URL, a.Token, a.SessionKey
	if o.SessionKey != "" && o.URL == "" {
		o.Path = HooksPath + "agent"
	}
	return o
}

// replyTo returns the address and the token for the answers of a peer. Answers for a
// session go to /hooks/agent, the path that reads session keys (section 5.1).
func (b *outbox) replyTo(p *peers.Agent, sessionKey string) *wire.ReplyTo {
	path := p.Name
	if sessionKey != "" {
		path = "agent"
	}
	return &wire.ReplyTo{URL: b.base + HooksPath + path, Token: string(cmp.Or(p.Settings().Config.Accept, b.registry.Token()))}
}

// withFiles adds files to an answer. It serves the files that do not fit into the message.
func (b *outbox) withFiles(ctx context.Context, p *peers.Agent, e wire.Envelope, a replyTarget, files []Attached, m mess.Message) (outgoing, error) {
	native := jsonOf(m)
	if len(native) > maxNative {
		f, err := messAsFile(p, native, a.Sealed && p.Settings().Seal != "")
		if err != nil {
			return outgoing{}, err
		}
		files = append(slices.Clone(files), f)
	} else {
		e.Payload.Metadata = e.Payload.Metadata.With(messKey, string(native))
	}
	e.Payload.Body = clipBody(e.Payload.Body)
	var err error
	if e.Payload.Attachments, err = b.attach(ctx, p, e, a.Sealed, files); err != nil {
		return outgoing{}, err
	}
	return b.answer(p, e, a), nil
}

const (
	maxNative  = 16 << 10 // bytes of a MESS message in the metadata, where escapes may double its size
	maxBodyOut = 16 << 10
	margin     = 2 << 10 // for the signature and for escapes
)

func clipBody(s string) string { return clip(s, maxBodyOut, "\n[the rest is in the message of MESS]") }

// clip returns at most the given number of bytes of a text. end follows what it has shortened.
func clip(s string, most int, end string) string {
	if len(s) <= most {
		return s
	}
	return strings.ToValidUTF8(s[:most], "") + end
}

// attach returns the attachments of a message with further files. It serves the files that do not
// fit into the message.
func (b *outbox) attach(ctx context.Context, p *peers.Agent, e wire.Envelope, seal bool, files []Attached) ([]wire.Attachment, error) {
	all := slices.Clone(e.Payload.Attachments)
	room := wire.MaxText - len(b.prepare(p, e, seal).Text) - margin
	for _, f := range files {
		at := wire.Attachment{Type: "inline", Encoding: "base64", Filename: f.Name, MIME: f.MIME, Size: int64(len(f.Data)), Description: f.About}
		overhead := len(f.Name) + len(f.MIME) + 2*len(f.About) + 200
		if cost := base64.StdEncoding.EncodedLen(len(f.Data)) + overhead; cost <= room {
			at.Data = base64.StdEncoding.EncodeToString(f.Data)
			room -= cost
		} else {
			address, err := b.files.serve(ctx, f)
			if err != nil {
				return nil, err
			}
			at.Type, at.Encoding, at.URL = "url", "", address
			room -= len(address) + overhead
		}
		all = append(all, at)
	}
	return all, nil
}
