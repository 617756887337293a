package thread

import (
	"slices"

	"github.com/messkit/messkit/mess"
	"github.com/messkit/messkit/mess/messeaf"
)

// Thread is an envelope with its messages in order.
type Thread struct {
	Envelope
	Messages []mess.Message
}

// Request returns the request of the thread. If no message has it, the result has only the intent.
func (t Thread) Request() mess.Request {
	for _, r := range mess.ItemsOf[*mess.Request](t.Messages) {
		return *r
	}
	return mess.Request{Intent: t.Intent}
}

// MessagesSince returns the messages of others since the last message of id, without acks.
func (t Thread) MessagesSince(id string) []mess.Message {
	var list []mess.Message
	for _, m := range slices.Backward(t.Messages) {
		if m.From == id {
			break
		}
		if !messeaf.IsAck(m) {
			list = append(list, m)
		}
	}
	slices.Reverse(list)
	return list
}

// Attachment is a file that belongs to a thread.
type Attachment struct {
	Name   string // att-{serial}-{type}-{name}.{ext}
	MIME   string
	Size   int64  // bytes
	SHA256 string // hex
}

// Attachments lists the files of a thread in the order of the messages that name them.
func (t Thread) Attachments() []Attachment {
	var list []Attachment
	t.each(func(_ mess.Message, e mess.Entry) {
		if a, ok := attached(e); ok {
			list = append(list, a)
		}
	})
	return list
}

// AllAttachments lists the files of a thread and the inline data of its messages, by the names that
// Exchange.Attachment opens.
func (t Thread) AllAttachments() []Attachment {
	var list []Attachment
	t.each(func(m mess.Message, e mess.Entry) {
		if a, ok := attached(e); ok {
			list = append(list, a)
		} else if a, ok := messeaf.Inline(m, e); ok {
			list = append(list, Attachment{Name: a.Name, MIME: a.MIME, Size: a.Size, SHA256: a.SHA256})
		}
	})
	return list
}

// Inline returns inline data of a message by name.
func (t Thread) Inline(name string) (found Attachment, data []byte, ok bool) {
	t.each(func(m mess.Message, e mess.Entry) {
		if a, is := messeaf.Inline(m, e); is && a.Name == name && !ok {
			found, data, ok = Attachment{Name: a.Name, MIME: a.MIME, Size: a.Size, SHA256: a.SHA256}, a.Data, true
		}
	})
	return found, data, ok
}

// each calls fn with each piece of content.
func (t Thread) each(fn func(mess.Message, mess.Entry)) {
	for _, m := range t.Messages {
		for _, item := range m.Items {
			for _, e := range messeaf.Content(item) {
				fn(m, e)
			}
		}
	}
}

// attached returns the attachment that an entry names.
func attached(e mess.Entry) (Attachment, bool) {
	f, ok := e.Media()
	if !ok || !messeaf.ValidAttachment(f.File) || f.SHA256 == "" && f.Size == nil {
		return Attachment{}, false
	}
	a := Attachment{Name: f.File, MIME: f.MIME, SHA256: f.SHA256}
	if f.Size != nil {
		a.Size = *f.Size
	}
	return a, true
}
