package mesh

import (
	"bytes"
	"cmp"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/messkit/messkit/exchange"
	"github.com/messkit/messkit/exchange/channel/mesh/wire"
	"github.com/messkit/messkit/mess"
)

// respond sends what came of a task to all who have asked for it.
func (d *Adapter) respond(ctx context.Context, p *peer, t *task, th exchange.Thread) error {
	d.mu.Lock()
	var open []asked
	for i := range t.Asked {
		if !t.Asked[i].Sent {
			t.Asked[i].Answer = cmp.Or(t.Asked[i].Answer, newID())
			open = append(open, t.Asked[i])
		}
	}
	if t.Question != nil {
		delete(d.questions, t.Question.ID)
		t.Question = nil
	}
	said := slices.Clone(t.Notes)
	d.mu.Unlock()
	if len(open) == 0 {
		return nil
	}
	if err := d.saveTask(ctx, t); err != nil { // the ids hold before anything is sent
		return err
	}
	files, notes := d.sentFiles(ctx, p, th)
	notes = append(said, notes...)
	for _, a := range open {
		e := d.answerTo(p, a, wire.Response)
		e.ID = a.Answer
		e.Payload.Body = resultText(th, notes)
		e.Payload.Metadata = wire.Object{}.With("status", string(th.Status)).With("ref", t.Ref)
		if !p.encrypts(a.Sealed) { // metadata go in clear
			e.Payload.Metadata = append(e.Payload.Metadata, responseMetadata(th)...)
		}
		o, err := d.withFiles(ctx, p, e, a, files, whole(th))
		if err == nil {
			err = d.enqueue(ctx, o)
		}
		if err != nil {
			return err
		}
	}
	d.mu.Lock()
	for i := range t.Asked {
		if slices.ContainsFunc(open, func(a asked) bool { return a.ID == t.Asked[i].ID }) {
			t.Asked[i].Sent = true
		}
	}
	if t.Ended.IsZero() {
		t.Ended = time.Now()
	}
	d.mu.Unlock()
	return d.saveTask(ctx, t)
}

// responseMetadata returns the metadata of the last response that a peer has sent for a
// thread (section 6, pattern 6).
func responseMetadata(th exchange.Thread) (meta wire.Object) {
	for _, m := range th.Messages {
		for _, item := range m.Items {
			if r, ok := item.(*mess.Response); ok {
				meta = relayedMetadata(r.Extra)
			}
		}
	}
	return meta
}

// whole is what the executors have answered, as one message of MESS: the last
// status, and all content.
func whole(th exchange.Thread) mess.Message {
	m, s := lastStatus(th)
	if s == nil || s.Code != th.Status { // a cancel has ended it, or something was said behind the end
		s = &mess.Status{Code: th.Status}
		for _, one := range th.Messages {
			for _, item := range one.Items {
				if is, ok := item.(*mess.Status); ok && is.Code == th.Status {
					m, s = one, is
				}
			}
		}
	}
	out := mess.Message{Version: "1.1.0", Ref: m.Ref, From: m.From, Received: m.Received, Re: mess.Refs{cmp.Or(th.ClientID, th.Ref)}}
	out.Items = append(out.Items, s)
	for _, one := range th.Messages {
		for _, item := range one.Items {
			if r, ok := item.(*mess.Response); ok {
				out.Items = append(out.Items, r)
			}
		}
	}
	return out
}

// sentFiles are the files of the responses of a thread.
func (d *Adapter) sentFiles(ctx context.Context, p *peer, th exchange.Thread) (files []file, notes []string) {
	for _, m := range th.Messages {
		for _, item := range m.Items {
			r, ok := item.(*mess.Response)
			if !ok {
				continue
			}
			for _, e := range r.Content {
				media, ok := e.Media()
				if !ok || media.File == "" {
					continue
				}
				data, err := d.attachment(ctx, p, th.Ref, media.File)
				if err != nil {
					notes = append(notes, fmt.Sprintf("%s cannot be sent: %v", media.File, err))
					continue
				}
				about, _ := media.Extra.Get(descriptionKey)
				text, _ := about.(string)
				files = append(files, file{media.File, media.MIME, data, text})
			}
		}
	}
	return files, notes
}

func (d *Adapter) attachment(ctx context.Context, p *peer, ref, name string) ([]byte, error) {
	r, _, err := d.x.Attachment(ctx, p.actor(), ref, name)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	var b bytes.Buffer
	_, err = io.Copy(&b, io.LimitReader(r, maxSent))
	return b.Bytes(), err
}

// withFiles puts files into an answer, as far as they fit; the others are served.
func (d *Adapter) withFiles(ctx context.Context, p *peer, e wire.Envelope, a asked, files []file, m mess.Message) (outgoing, error) {
	native := jsonOf(m)
	if len(native) > maxNative {
		f, err := p.messAsFile(native, a.Sealed && p.now().seal != "")
		if err != nil {
			return outgoing{}, err
		}
		files = append(slices.Clone(files), f)
	} else {
		e.Payload.Metadata = e.Payload.Metadata.With(messKey, string(native))
	}
	e.Payload.Body = clipped(e.Payload.Body)
	room := wire.MaxText - len(d.ready(p, e, a.Sealed).Text) - margin
	for _, f := range files {
		at := wire.Attachment{Type: "inline", Encoding: "base64", Filename: f.Name, MIME: f.MIME, Size: int64(len(f.Data)), Description: f.About}
		cost := base64.StdEncoding.EncodedLen(len(f.Data)) + len(f.Name) + len(f.MIME) + 2*len(f.About) + 200
		if cost <= room {
			at.Data = base64.StdEncoding.EncodeToString(f.Data)
		} else {
			address, err := d.serve(ctx, f)
			if err != nil {
				return outgoing{}, err
			}
			at.Type, at.Encoding, at.URL = "url", "", address
			cost = len(address) + len(f.Name) + len(f.MIME) + 2*len(f.About) + 200
		}
		room -= cost
		e.Payload.Attachments = append(e.Payload.Attachments, at)
	}
	return d.sealed(p, e, a), nil
}

const (
	maxNative  = 16 << 10 // bytes of a message of MESS in the metadata, where text in it may double
	maxBodyOut = 16 << 10
	margin     = 2 << 10 // for the signature, and what escapes
)

func clipped(s string) string {
	if len(s) <= maxBodyOut {
		return s
	}
	return strings.ToValidUTF8(s[:maxBodyOut], "") + "\n[the rest is in the message of MESS]"
}

// resultText is what came of a task, for people and models.
func resultText(th exchange.Thread, notes []string) string {
	_, s := lastStatus(th)
	parts := []string{}
	if th.Status != mess.Completed {
		parts = append(parts, statusText(th.Status, s))
	}
	for _, m := range th.Messages {
		for _, item := range m.Items {
			r, ok := item.(*mess.Response)
			if !ok {
				continue
			}
			for i, e := range r.Content {
				if e.Type != "structured" || i == 0 { // later ones say the same, for programs
					parts = append(parts, entryText(e))
				}
			}
			parts = append(parts, r.Notes)
		}
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

// entryText is a piece of content in words.
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

// statusText is how a task stands, in words.
func statusText(code mess.Code, s *mess.Status) string {
	words := strings.ReplaceAll(string(code), "_", " ")
	if words == "" {
		words = "pending"
	}
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
		if why := cmp.Or(r.Detail, r.Type); why != "" {
			text += ": " + why
		}
		switch r.Effect {
		case mess.EffectUnknown:
			text += "; nobody knows what was done, look before you ask again"
		case mess.EffectPartial:
			text += "; some of it was done"
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
