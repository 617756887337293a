package agentmail

import (
	"bytes"
	"cmp"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/messkit/messkit/exchange/channel/agentmail/format"
	"github.com/messkit/messkit/exchange/channel/agentmail/mailbox"
	"github.com/messkit/messkit/internal/picture"
	"github.com/messkit/messkit/mess"
	"github.com/messkit/messkit/mess/messeaf"
)

// assignment builds the message of an assignment.
func (b *outbox) assignment(ctx context.Context, e *outboxEntry) ([]byte, error) {
	th, err := b.x.Thread(ctx, self, e.Ref)
	if err != nil {
		return nil, err
	}
	req := th.Request()
	m := b.withFiles(ctx, e.Ref, mess.Message{Items: []mess.Item{&req}})
	whole, _ := m.Items[0].(*mess.Request)
	return b.wrap(e.ID, e.At, format.Assign(e.Ref, *whole, th.Expires)).JSON()
}

// render builds the message of an entry, without secrets.
func (b *outbox) render(ctx context.Context, e *outboxEntry) ([]byte, error) {
	body, err := b.build(ctx, e)
	return b.withoutSecrets(body), err
}

// build builds the message of an entry.
func (b *outbox) build(ctx context.Context, e *outboxEntry) ([]byte, error) {
	if e.Body != nil {
		return e.Body, nil
	}
	if e.Kind == string(format.TypeTaskAssignment) {
		return b.assignment(ctx, e)
	}
	th, err := b.x.Thread(ctx, self, e.Ref)
	if err != nil {
		return nil, err
	}
	if e.Index >= len(th.Messages) {
		return nil, mess.Errorf(mess.NotFound, "%s has no message %d", e.Ref, e.Index)
	}
	th.Messages = slices.Clone(th.Messages)
	th.Messages[e.Index] = b.withFiles(ctx, e.Ref, th.Messages[e.Index])
	all := bodies(th, &task{ID: e.Task, Peer: e.To, Actor: e.Actor, Waits: e.Waits}, e.Index)
	if e.Part >= len(all) {
		return nil, mess.Errorf(mess.NotFound, "%s: message %d has no part %d", e.Ref, e.Index, e.Part)
	}
	return b.wrap(e.ID, e.At, all[e.Part]).JSON()
}

// emailOf returns the mail for a message.
func (b *outbox) emailOf(e outboxEntry, body []byte) mailbox.OutgoingMail {
	l := mailbox.OutgoingMail{To: e.To, Body: string(body), Thread: threadID(e.Thread), Importance: "normal"}
	kind, about, importance := describe(body)
	l.Subject = mailbox.Subject("[" + kind + "] " + strings.TrimSpace(e.Task+" "+about))
	if importance != "" {
		l.Importance = importance
	}
	l.Ack = kind == string(format.TypeTaskAssignment) || kind == string(format.TypeCoordinationRequest)
	return l
}

// describe returns the parts of a mail's subject, and its importance.
func describe(body []byte) (kind, about, importance string) {
	m, err := format.Parse(string(body), format.Mail{}, format.Strict)
	if err != nil {
		return "message", "", ""
	}
	switch b := m.Body.(type) {
	case *format.TaskAssignment:
		about, importance = b.Description, string(b.Priority)
	case *format.TaskCompletion:
		about = b.Summary
	case *format.StatusUpdate:
		about = b.Summary
	case *format.ErrorReport:
		about = b.Error.Message
		if b.NeedsHumanIntervention {
			importance = "high"
		}
	case *format.CoordinationRequest:
		about, importance = b.Topic, "high"
	}
	return string(m.Type), about, importance
}

const (
	// maxMail is the size of a mail in bytes, with its files in base64. The reader can be a model,
	// and each byte costs.
	maxMail = 300_000
	// mailPx is the long edge of an image in a mail.
	mailPx = 1280
	// maxPicture is the size of the largest image that is scaled, in bytes.
	maxPicture = 16 << 20
	// mailHead is the size of a mail without its content, in bytes.
	mailHead = 4 << 10
)

// withFiles returns a message with its files in it, as far as they fit, because a mail agent
// cannot fetch them. It scales images.
func (b *outbox) withFiles(ctx context.Context, ref string, m mess.Message) mess.Message {
	text, _ := m.JSON()                      // the message was parsed from JSON
	left := maxMail - mailHead - 2*len(text) // the mail contains it as text and as JSON
	files := 0
	for _, item := range m.Items {
		for _, e := range messeaf.Content(item) {
			if media, ok := e.Media(); ok && messeaf.ValidAttachment(media.File) {
				files++
			}
		}
	}
	share := func() int64 {
		part := max(0, left) / max(1, files) * 3 / 4 // base64 makes four bytes of three
		files--
		return int64(part)
	}
	used := func(n int) { left -= base64.StdEncoding.EncodedLen(n) }
	m.Items = slices.Clone(m.Items)
	for i, item := range m.Items {
		switch one := item.(type) {
		case *mess.Response:
			c := *one
			c.Content = b.inline(ctx, ref, c.Content, share, used)
			m.Items[i] = &c
		case *mess.Request:
			c := *one
			c.Context = b.inline(ctx, ref, c.Context, share, used)
			m.Items[i] = &c
		}
	}
	return m
}

// inline returns content with its files in it. share returns the size limit for the next file in
// bytes; inline calls used with the actual size.
func (b *outbox) inline(ctx context.Context, ref string, content []mess.Entry, share func() int64, used func(int)) []mess.Entry {
	content = slices.Clone(content)
	for i, e := range content {
		media, ok := e.Media()
		if !ok || !messeaf.ValidAttachment(media.File) {
			continue
		}
		f, err := b.fit(ctx, ref, media.File, e.Type == "image", share())
		if err != nil {
			b.log.Warn("a file does not go with the mail", "ref", ref, "file", media.File, "err", err)
			media.Resource, media.File = messeaf.Resource(ref, media.File), ""
			media.Extra = media.Extra.Set("note", "it is at the exchange: "+err.Error())
		} else {
			used(len(f.data))
			if f.scaled {
				media.Resource, media.MIME, media.Size, media.SHA256 = messeaf.Resource(ref, media.File), f.mime, new(int64(len(f.data))), ""
				media.Extra = media.Extra.Set("note", "scaled for mail; the whole picture is at the exchange")
			}
			media.Name = cmp.Or(media.Name, media.File)
			media.URI, media.File = mess.DataURI(f.mime, f.data), ""
		}
		content[i] = mess.MediaEntry(e.Type, media)
	}
	return content
}

// attachment is a file of a mail.
type attachment struct {
	data   []byte
	mime   string
	scaled bool
}

// fit returns a file of at most the given number of bytes. It scales an image for that.
func (b *outbox) fit(ctx context.Context, ref, name string, image bool, most int64) (attachment, error) {
	limit := most
	if image && most >= picture.MinBytes {
		limit = maxPicture
	}
	data, mime, err := b.readFile(ctx, ref, name, limit)
	if err != nil || limit == most {
		return attachment{data: data, mime: mime}, err
	}
	b.pixels.Lock() // a small board has memory for one decoded image
	defer b.pixels.Unlock()
	p, err := picture.Fit(ctx, data, picture.Limits{MaxBytes: int(most), MaxPx: mailPx})
	switch {
	case err == nil:
		return attachment{p.Data, p.MIME, !bytes.Equal(p.Data, data)}, nil
	case ctx.Err() == nil && int64(len(data)) <= most: // the recipient may be able to read it
		return attachment{data: data, mime: mime}, nil
	}
	return attachment{}, err
}

func (b *outbox) readFile(ctx context.Context, ref, name string, most int64) (_ []byte, mime string, err error) {
	r, a, err := b.x.Attachment(ctx, self, ref, name)
	if err != nil {
		return nil, "", err
	}
	defer func() { err = errors.Join(err, r.Close()) }()
	data, err := io.ReadAll(io.LimitReader(r, most+1))
	if err == nil && int64(len(data)) > most {
		err = fmt.Errorf("%d bytes are too many for a mail", a.Size)
	}
	return data, a.MIME, err
}
