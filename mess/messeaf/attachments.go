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

// Attachment is a file that belongs to a thread: beside its documents, or
// inside one.
type Attachment struct {
	Message string // ref of the message that brought it, "" for the request
	From    string
	Thread  string // ref of the thread in whose folder it lies, where that is another one
	Kind    string // image, audio, video or file
	Name    string // in the thread's folder; of data inside a document, a name that fits it
	MIME    string // "" if nobody said
	Size    int64  // bytes as the document says, -1 if it does not
	SHA256  string // hex, "" if nobody said
	Data    []byte // nil for a file beside the documents
}

// Attachments lists the files of a thread in the order in which messages name
// them, in every form that is written in the field.
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

// Content are the pieces of content of an item.
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

// Contents gives an item its own copy of its list of content, and returns it; nil
// if the item has none.
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

// attachment reads one piece of content as a file.
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

// object reads the long forms: {file, mime, size}, {path, name, mime},
// {name, data}, {name, type, size, data} and {uri}.
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

// inline reads a data URI, or base64 alone.
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

// KindOf is the type of content that a MIME type is (section "Attachment
// References").
func KindOf(mimeType string) string {
	for _, kind := range []string{"image", "audio", "video"} {
		if strings.HasPrefix(mimeType, kind+"/") {
			return kind
		}
	}
	return "file"
}

// extensions of what is common; the system's table knows many for each and
// gives the first of the alphabet.
var extensions = map[string]string{
	"image/jpeg": ".jpg", "image/png": ".png", "image/gif": ".gif", "image/webp": ".webp", "audio/mpeg": ".mp3", "audio/wav": ".wav",
	"audio/mp4": ".m4a", "video/mp4": ".mp4", "video/quicktime": ".mov", "video/webm": ".webm", "application/pdf": ".pdf", "text/plain": ".txt",
}

// Extension is the usual ending of a file of a MIME type, "" if none is usual.
func Extension(mimeType string) string {
	base, _, _ := strings.Cut(mimeType, ";")
	return extensions[strings.TrimSpace(base)]
}

// scheme of references to attachments (section "Resource URIs").
const scheme = "content://"

// Resource is the URI of a thread's attachment.
func Resource(ref, name string) string { return scheme + ref + "/" + name }

// ParseResource reads a content:// reference to an attachment of a thread, or
// of one of its messages, whose ref is then not "".
func ParseResource(uri string) (thread, message, name string, err error) {
	parts := strings.Split(strings.TrimPrefix(uri, scheme), "/")
	if !strings.HasPrefix(uri, scheme) || len(parts) < 2 || len(parts) > 3 || !ValidRef(parts[0]) || !ValidAttachment(parts[len(parts)-1]) {
		return "", "", "", fmt.Errorf("%.120q is no reference to an attachment; write it like content://2026-02-01-003-check-fridge/att-002-image-fridge.jpg", uri)
	}
	if len(parts) == 3 {
		message = parts[0] + "/" + parts[1]
	}
	return parts[0], message, parts[len(parts)-1], nil
}
