package mesh

import (
	"cmp"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/messkit/messkit/exchange"
	"github.com/messkit/messkit/exchange/channel/mesh/peers"
	"github.com/messkit/messkit/exchange/channel/mesh/wire"
	"github.com/messkit/messkit/mess"
)

// respond sends the result of a task to all requests for it.
func (ts *tasks) respond(ctx context.Context, p *peers.Agent, t *task, th exchange.Thread) error {
	ts.mu.Lock()
	var open []replyTarget
	for i := range t.Asked {
		if !t.Asked[i].Sent {
			t.Asked[i].Answer = cmp.Or(t.Asked[i].Answer, newID())
			open = append(open, t.Asked[i])
		}
	}
	if t.Question != nil {
		delete(ts.questions, t.Question.ID)
		t.Question = nil
	}
	taskNotes := slices.Clone(t.Notes)
	ts.mu.Unlock()
	if len(open) == 0 {
		return nil
	}
	if err := ts.saveTask(ctx, t); err != nil { // stored before anything is sent, so that a restart uses the same ids
		return err
	}
	files, notes := ts.files.sentFiles(ctx, p, th)
	notes = append(taskNotes, notes...)
	for _, a := range open {
		e := ts.outbox.answerTo(p, a, wire.Response)
		e.ID = a.Answer
		e.Payload.Body = resultText(th, notes)
		e.Payload.Metadata = wire.Object{}.With("status", string(th.Status)).With("ref", t.Ref)
		if !p.Encrypts(a.Sealed) { // metadata are not encrypted
			e.Payload.Metadata = append(e.Payload.Metadata, responseMetadata(th)...)
		}
		o, err := ts.outbox.withFiles(ctx, p, e, a, files, allResults(th))
		if err == nil {
			err = ts.outbox.enqueue(ctx, o)
		}
		if err != nil {
			return err
		}
	}
	ts.mu.Lock()
	for i := range t.Asked {
		if slices.ContainsFunc(open, func(a replyTarget) bool { return a.ID == t.Asked[i].ID }) {
			t.Asked[i].Sent = true
		}
	}
	if t.Ended.IsZero() {
		t.Ended = time.Now()
	}
	ts.mu.Unlock()
	return ts.saveTask(ctx, t)
}

// responseMetadata returns the metadata of the last response that a peer has sent for a
// thread (section 6, pattern 6).
func responseMetadata(th exchange.Thread) (meta wire.Object) {
	for _, r := range mess.ItemsOf[*mess.Response](th.Messages) {
		meta = relayedMetadata(r.Extra)
	}
	return meta
}

// allResults returns the results of a thread as one MESS message: the terminal status and all
// content.
func allResults(th exchange.Thread) mess.Message {
	s, m := mess.LastStatus(th.Messages)
	if s == nil || s.Code != th.Status { // a cancel has ended the thread, or a later message has another status
		s = &mess.Status{Code: th.Status}
		for one, is := range mess.ItemsOf[*mess.Status](th.Messages) {
			if is.Code == th.Status {
				m, s = one, is
			}
		}
	}
	out := mess.Message{Version: "1.1.0", Ref: m.Ref, From: m.From, Received: m.Received, Re: mess.Refs{cmp.Or(th.ClientID, th.Ref)}}
	out.Items = append(out.Items, s)
	for _, r := range mess.ItemsOf[*mess.Response](th.Messages) {
		out.Items = append(out.Items, r)
	}
	return out
}

// resultText describes the result of a task.
func resultText(th exchange.Thread, notes []string) string {
	s, _ := mess.LastStatus(th.Messages)
	parts := []string{}
	if th.Status != mess.Completed {
		parts = append(parts, statusText(th.Status, s))
	}
	for _, r := range mess.ItemsOf[*mess.Response](th.Messages) {
		for i, e := range r.Content {
			if e.Type != "structured" || i == 0 { // later ones repeat the content for programs
				parts = append(parts, entryText(e))
			}
		}
		parts = append(parts, r.Notes)
	}
	parts = slices.DeleteFunc(parts, func(s string) bool { return s == "" })
	if len(parts) == 0 {
		parts = []string{statusText(th.Status, s)}
	}
	for _, n := range notes {
		parts = append(parts, "Note: "+n)
	}
	return strings.Join(parts, "\n")
}

// entryText describes an entry of content.
func entryText(e mess.Entry) string {
	if text, ok := e.Text(); ok {
		return text
	}
	if media, ok := e.Media(); ok {
		return "[" + e.Type + ": " + cmp.Or(media.File, media.Name, "attached") + "]"
	}
	if c, ok := e.Confirmation(); ok {
		word := map[bool]string{true: "yes", false: "no"}[c.Confirmed]
		return strings.TrimSuffix(word+": "+c.Details, ": ")
	}
	if f, ok := e.Failure(); ok {
		return "Error: " + strings.TrimSuffix(f.Message+" ("+f.Code+")", " ()")
	}
	text, err := json.Marshal(e.Value)
	if err != nil {
		return ""
	}
	return e.Type + ": " + string(text)
}

// statusText describes the status of a task.
func statusText(code mess.Code, s *mess.Status) string {
	words := strings.ReplaceAll(string(cmp.Or(code, mess.Pending)), "_", " ")
	text := strings.ToUpper(words[:1]) + words[1:]
	if s == nil || s.Code != code {
		return text + "."
	}
	if s.ProgressPct != nil {
		text += fmt.Sprintf(", %.0f %%", *s.ProgressPct)
	}
	if s.Message != "" {
		text += ": " + s.Message
	}
	if r := s.Reason; r != nil {
		if reason := cmp.Or(r.Detail, r.Type); reason != "" {
			text += ": " + reason
		}
		switch r.Effect {
		case mess.EffectUnknown:
			text += "; the outcome is unknown, check the state before you ask again"
		case mess.EffectPartial:
			text += "; part of it happened"
		case mess.EffectNone:
			if !strings.Contains(text, "nothing was done") {
				text += "; nothing was done"
			}
		}
	}
	if s.Suggestion != "" {
		text += "; " + s.Suggestion
	}
	return strings.TrimSuffix(text, ".") + "."
}

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
