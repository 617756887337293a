package door

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/messkit/messkit/exchange"
	"github.com/messkit/messkit/mess"
	"github.com/messkit/messkit/mess/messeaf"
)

// maxInline is how many bytes of files go with one message: a mail server takes a
// megabyte, of which base64 takes a third.
const maxInline = 700_000

// whole is a message with its files in it, as far as they fit: a mail agent cannot
// fetch them here.
func (d *Door) whole(ctx context.Context, ref string, m mess.Message) mess.Message {
	left := int64(maxInline)
	m.Items = slices.Clone(m.Items)
	for i, item := range m.Items {
		switch one := item.(type) {
		case *mess.Response:
			c := *one
			c.Content = d.inlined(ctx, ref, c.Content, &left)
			m.Items[i] = &c
		case *mess.Request:
			c := *one
			c.Context = d.inlined(ctx, ref, c.Context, &left)
			m.Items[i] = &c
		}
	}
	return m
}

func (d *Door) inlined(ctx context.Context, ref string, content []mess.Entry, left *int64) []mess.Entry {
	content = slices.Clone(content)
	for i, e := range content {
		media, ok := e.Media()
		if !ok || !messeaf.ValidAttachment(media.File) {
			continue
		}
		data, mime, err := d.attached(ctx, ref, media.File, *left)
		if err != nil {
			d.log.Warn("a file does not go with the mail", "ref", ref, "file", media.File, "err", err)
			media.Resource, media.File = messeaf.Resource(ref, media.File), ""
			media.Extra = media.Extra.Set("note", "it is at the exchange: "+err.Error())
		} else {
			*left -= int64(len(data))
			if media.Name == "" {
				media.Name = media.File
			}
			media.URI, media.File = mess.DataURI(mime, data), ""
		}
		content[i] = mess.MediaEntry(e.Type, media)
	}
	return content
}

func (d *Door) attached(ctx context.Context, ref, name string, most int64) (_ []byte, mime string, err error) {
	r, a, err := d.x.Attachment(ctx, self, ref, name)
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

// kept puts the files that came in a response into its thread.
func (d *Door) kept(ctx context.Context, who exchange.Actor, ref string, content []mess.Entry) []mess.Entry {
	content = slices.Clone(content)
	for i, e := range content {
		media, ok := e.Media()
		if !ok {
			continue
		}
		mime, data, ok := mess.ParseDataURI(media.URI)
		if !ok {
			continue
		}
		name := media.Name
		if name == "" {
			name = e.Type + messeaf.Extension(mime)
		}
		file, err := d.x.Attach(ctx, who, ref, name, mime, bytes.NewReader(data))
		if err != nil { // then it stays as it came
			d.log.Warn("a file that came by mail is not kept as one", "ref", ref, "err", err)
			continue
		}
		media.URI, media.File, media.MIME, media.Size, media.SHA256 = "", file.File, file.MIME, file.Size, file.SHA256
		content[i] = mess.MediaEntry(e.Type, media)
	}
	return content
}
