package messeaf

import (
	"encoding/base64"
	"fmt"
	"mime"
	"path"
	"slices"
	"strings"

	"github.com/messkit/messkit/mess"
)

// Attachment is a file of a thread: a separate file, or data in a document.
type Attachment struct {
	Message string // ref of the message that contains it; "" for the request
	From    string
	Thread  string // ref of the thread whose folder contains it, if it is another thread
	Kind    string // image, audio, video or file
	Name    string // name in the folder of the thread; for data in a document, a suitable name
	MIME    string // "" if unknown
	Size    int64  // size in the document; -1 if absent
	SHA256  string // hex; "" if absent
	Data    []byte // nil for a separate file
}

// Attachments returns the files of a thread in the order of its messages, in every form
// that implementations use.
func (t Thread) Attachments() []Attachment {
	var all []Attachment
	serial := 0
	for _, m := range t.Messages {
		if m.Ref != "" {
			serial++
		}
		for _, item := range m.Items {
			for _, e := range Content(item) {
				if a, ok := attachment(e, serial); ok {
					a.Message, a.From = m.Ref, m.From
					if a.Thread == t.Envelope.Ref {
						a.Thread = ""
					}
					all = append(all, a)
				}
			}
		}
	}
	return all
}

// Content returns the content entries of an item.
func Content(item mess.Item) []mess.Entry {
	switch i := item.(type) {
	case *mess.Response:
		return i.Content
	case *mess.Reply:
		return i.Context
	case *mess.Request:
		entries := i.Context
		if list, ok := i.Extra.Get("attachments"); ok { // contract, 10
			for _, one := range asList(list) {
				entries = append(entries[:len(entries):len(entries)], mess.Entry{Type: "attachment", Value: one})
			}
		}
		return entries
	}
	return nil
}

// Contents replaces the content list of an item by a copy, and returns it; nil if the item
// has none.
func Contents(item *mess.Item) *[]mess.Entry {
	var list *[]mess.Entry
	switch i := (*item).(type) {
	case *mess.Response:
		c := *i
		*item, list = &c, &c.Content
	case *mess.Request:
		c := *i
		*item, list = &c, &c.Context
	case *mess.Reply:
		c := *i
		*item, list = &c, &c.Context
	default:
		return nil
	}
	*list = slices.Clone(*list)
	return list
}

func asList(v any) []any {
	if list, ok := v.([]any); ok {
		return list
	}
	return []any{v}
}

// attachment converts a content entry to an attachment.
func attachment(e mess.Entry, serial int) (Attachment, bool) {
	a := Attachment{Kind: e.Type, Size: -1}
	switch v := e.Value.(type) {
	case string:
		if strings.HasPrefix(v, scheme) {
			return a.object(mess.Object{{Key: "resource", Value: v}}, serial)
		}
		if e.Type == "image" || e.Type == "audio" || e.Type == "video" || e.Type == "file" {
			return a.inline(v, "", serial)
		}
	case mess.Object:
		return a.object(v, serial)
	}
	return a, false
}

// object decodes the long forms: {file, mime, size}, {path, name, mime}, {name, data},
// {name, type, size, data} and {uri}.
func (a Attachment) object(o mess.Object, serial int) (Attachment, bool) {
	text := func(keys ...string) string {
		for _, k := range keys {
			if v, ok := o.Get(k); ok {
				if s, ok := v.(string); ok {
					return s
				}
			}
		}
		return ""
	}
	a.MIME, a.SHA256 = text("mime", "type"), text("sha256")
	if n, ok := o.Get("size"); ok {
		if n, ok := n.(mess.Number); ok {
			if size, err := n.Int64(); err == nil {
				a.Size = size
			}
		}
	}
	if name := text("file", "path"); name != "" && ValidAttachment(name) {
		a.Name = name
		return a, a.Kind != ""
	}
	if uri := text("resource", "uri"); strings.HasPrefix(uri, scheme) {
		var err error
		a.Thread, _, a.Name, err = ParseResource(uri)
		return a, err == nil && a.Kind != ""
	}
	if data := text("data", "uri"); data != "" {
		return a.inline(data, text("name"), serial)
	}
	return a, false
}

// inline decodes a data URI, or plain base64.
func (a Attachment) inline(text, name string, serial int) (Attachment, bool) {
	mimeType, data, ok := mess.ParseDataURI(text)
	if !ok {
		if strings.Contains(text, ":") {
			return a, false // a link
		}
		var err error
		if data, err = base64.StdEncoding.DecodeString(strings.TrimSpace(text)); err != nil || len(data) == 0 {
			return a, false
		}
	} else {
		a.MIME = mimeType
	}
	a.Data, a.Size = data, int64(len(data))
	if a.MIME == "" {
		a.MIME = mime.TypeByExtension(path.Ext(name))
	}
	a.Kind = KindOf(a.MIME)
	if name == "" {
		name = a.Kind + Extension(a.MIME)
	}
	a.Name = AttachmentName(serial, a.Kind, name)
	return a, true
}

// KindOf returns the content type of a MIME type (section "Attachment References").
func KindOf(mimeType string) string {
	for _, kind := range []string{"image", "audio", "video"} {
		if strings.HasPrefix(mimeType, kind+"/") {
			return kind
		}
	}
	return "file"
}

// extensions contains common file extensions, because the table of the system has several
// for each type.
var extensions = map[string]string{
	"image/jpeg": ".jpg", "image/png": ".png", "image/gif": ".gif", "image/webp": ".webp", "audio/mpeg": ".mp3", "audio/wav": ".wav",
	"audio/mp4": ".m4a", "video/mp4": ".mp4", "video/quicktime": ".mov", "video/webm": ".webm", "application/pdf": ".pdf", "text/plain": ".txt",
}

// Extension returns the usual file extension of a MIME type, or "".
func Extension(mimeType string) string {
	base, _, _ := strings.Cut(mimeType, ";")
	return extensions[strings.TrimSpace(base)]
}

// scheme of references to attachments (section "Resource URIs")
const scheme = "content://"

// Resource returns the URI of an attachment.
func Resource(ref, name string) string { return scheme + ref + "/" + name }

// ParseResource parses a content:// reference to an attachment of a thread, or of one of
// its messages; message is "" for a thread.
func ParseResource(uri string) (thread, message, name string, err error) {
	parts := strings.Split(strings.TrimPrefix(uri, scheme), "/")
	if !strings.HasPrefix(uri, scheme) || len(parts) < 2 || len(parts) > 3 || !ValidRef(parts[0]) || !ValidAttachment(parts[len(parts)-1]) {
		return "", "", "", fmt.Errorf("%.120q is not a reference to an attachment; write it like content://2026-02-01-003-check-fridge/att-002-image-fridge.jpg", uri)
	}
	if len(parts) == 3 {
		message = parts[0] + "/" + parts[1]
	}
	return parts[0], message, parts[len(parts)-1], nil
}
