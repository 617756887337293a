package messeaf

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"strings"

	"github.com/messkit/messkit/mess"
)

// InlineName returns an attachment name for data in a message. It depends only on the bytes
// and the serial of the message.
func InlineName(serial int, mimeType string, data []byte) string {
	sum := sha256.Sum256(data)
	return AttachmentName(serial, KindOf(mimeType), hex.EncodeToString(sum[:8])+Extension(mimeType))
}

// InlineResource returns the URI of data in a message of a thread.
func InlineResource(thread string, m mess.Message, name string) string {
	_, own, _ := strings.Cut(m.Ref, "/")
	return Resource(thread, cmp.Or(own, "request")+"/"+name)
}

// Inline returns the data in an entry of a message as an attachment; false if there is
// none.
func Inline(m mess.Message, e mess.Entry) (Attachment, bool) {
	uri, ok := e.Value.(string)
	if f, media := e.Media(); media && !ok {
		uri = f.URI
	}
	mimeType, data, ok := mess.ParseDataURI(uri)
	if !ok || e.Type == "" {
		return Attachment{}, false
	}
	sum := sha256.Sum256(data)
	return Attachment{
		Message: m.Ref, From: m.From, Kind: KindOf(mimeType), Name: InlineName(Serial(m.Ref), mimeType, data), MIME: mimeType,
		Size: int64(len(data)), SHA256: hex.EncodeToString(sum[:]), Data: data,
	}, true
}

// Named returns the message with a content:// name in resource for each of its files and
// data (section "Resource URIs").
func Named(thread string, m mess.Message) mess.Message {
	return eachEntry(m, func(e mess.Entry) (mess.Entry, bool) {
		if o, ok := e.Value.(mess.Object); ok {
			if f, ok := e.Media(); ok && ValidAttachment(f.File) && f.Resource == "" {
				e.Value = o.Clone().Set(resourceKey, Resource(thread, f.File))
				return e, true
			}
		}
		a, ok := Inline(m, e)
		if _, has := e.Extra.Get(resourceKey); !ok || has {
			return e, false
		}
		e.Extra = e.Extra.Clone().Set(resourceKey, InlineResource(thread, m, a.Name))
		return e, true
	})
}

// Unnamed removes the names that Named has added.
func Unnamed(thread string, m mess.Message) mess.Message {
	return eachEntry(m, func(e mess.Entry) (mess.Entry, bool) {
		if f, ok := e.Media(); ok && f.File != "" && f.Resource == Resource(thread, f.File) {
			e.Value = without(e.Value.(mess.Object))
			return e, true
		}
		uri, _ := e.Extra.Get(resourceKey)
		if s, ok := uri.(string); !ok || !strings.HasPrefix(s, scheme) {
			return e, false
		}
		e.Extra = without(e.Extra)
		return e, true
	})
}

const resourceKey = "resource"

func without(o mess.Object) mess.Object {
	var rest mess.Object
	for _, f := range o {
		if f.Key != resourceKey {
			rest = append(rest, f)
		}
	}
	return rest
}

// eachEntry returns the message with the entries that change returns. If change changes
// none, it returns m itself.
func eachEntry(m mess.Message, change func(mess.Entry) (mess.Entry, bool)) mess.Message {
	var items []mess.Item
	for i := range m.Items {
		var list *[]mess.Entry
		for j, e := range Content(m.Items[i]) {
			e, changed := change(e)
			if !changed {
				continue
			}
			if items == nil {
				items = append(items, m.Items...)
			}
			if list == nil {
				list = Contents(&items[i])
			}
			if j < len(*list) { // keeps the attachments next to the context of a request
				(*list)[j] = e
			}
		}
	}
	if items != nil {
		m.Items = items
	}
	return m
}
