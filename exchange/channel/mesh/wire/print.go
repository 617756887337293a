package wire

import (
	"cmp"
	"encoding/json"
	"strconv"
	"time"
)

// stamp is the format of a timestamp: UTC with milliseconds.
const stamp = "2006-01-02T15:04:05.000Z"

// Text returns the unsigned envelope in the form in which other agents compute the signature:
// compact, in their order of fields, with the escapes of jq.
func (e Envelope) Text() string {
	b := printer{}
	b.open()
	b.text("protocol", Protocol)
	b.text("id", e.ID)
	b.text("timestamp", e.Time.UTC().Format(stamp))
	b.text("from", e.From)
	b.text("to", e.To)
	b.text("type", string(e.Type))
	b.orNull("correlationId", e.CorrelationID)
	b.orNull("conversationId", e.ConversationID)
	if e.ReplyTo == nil {
		b.raw("replyTo", nil)
	} else {
		b.key("replyTo")
		b.open()
		b.text("url", e.ReplyTo.URL)
		b.text("token", e.ReplyTo.Token)
		b.close()
	}
	b.raw("replyContext", e.ReplyContext)
	b.raw("session", e.Session)
	b.text("priority", cmp.Or(e.Priority, Normal))
	b.raw("ttl", strconv.AppendInt(nil, int64(e.TTL/time.Second), 10))
	b.orNull("idempotencyKey", e.IdempotencyKey)
	b.orNull("nonce", e.Nonce)
	b.key("payload")
	e.Payload.print(&b)
	if e.Relay != nil {
		b.key("relay")
		b.open()
		b.text("from", e.Relay.From)
		b.text("via", e.Relay.Via)
		b.text("originalTo", e.Relay.OriginalTo)
		b.close()
	}
	b.close()
	return string(b.out)
}

func (p Payload) print(b *printer) {
	b.open()
	b.text("subject", p.Subject)
	b.text("body", p.Body)
	b.key("attachments")
	b.out = append(b.out, '[')
	for i, a := range p.Attachments {
		if i > 0 {
			b.out = append(b.out, ',')
		}
		a.print(b)
	}
	b.out = append(b.out, ']')
	b.key("metadata")
	b.open()
	for _, m := range p.Metadata {
		b.raw(m.Key, m.Value)
	}
	b.close()
	if p.Encrypted {
		b.raw("encrypted", json.RawMessage("true"))
	}
	b.close()
}

func (a Attachment) print(b *printer) {
	b.open()
	b.text("type", a.Type)
	for _, m := range []struct{ key, value string }{
		{"url", a.URL},
		{"encoding", a.Encoding},
		{"data", a.Data},
		{"path", a.Path},
		{"filename", a.Filename},
		{"mimeType", a.MIME},
	} {
		if m.value != "" {
			b.text(m.key, m.value)
		}
	}
	if a.Size >= 0 {
		b.raw("size", strconv.AppendInt(nil, a.Size, 10))
	}
	if a.Description != "" {
		b.text("description", a.Description)
	}
	b.close()
}

// Text returns the body of a request to a hook.
func (h Hook) Text() []byte {
	b := printer{}
	b.open()
	b.text("message", h.Message)
	if h.SessionKey != "" {
		b.text("sessionKey", h.SessionKey)
	}
	b.close()
	return b.out
}

// printer writes compact JSON.
type printer struct{ out []byte }

func (b *printer) open()  { b.out = append(b.out, '{') }
func (b *printer) close() { b.out = append(b.out, '}') }

func (b *printer) key(key string) {
	if b.out[len(b.out)-1] != '{' {
		b.out = append(b.out, ',')
	}
	b.out = append(appendString(b.out, key), ':')
}

func (b *printer) text(key, value string) {
	b.key(key)
	b.out = appendString(b.out, value)
}

func (b *printer) orNull(key, value string) {
	if value == "" {
		b.raw(key, nil)
		return
	}
	b.text(key, value)
}

func (b *printer) raw(key string, value json.RawMessage) {
	b.key(key)
	if len(value) == 0 {
		value = json.RawMessage("null")
	}
	b.out = append(b.out, value...)
}

// appendString appends a string with the escapes of jq, which escapes DEL too.
func appendString(b []byte, s string) []byte {
	const hex = "0123456789abcdef"
	b = append(b, '"')
	for _, r := range s { // invalid UTF-8 becomes U+FFFD
		switch r {
		case '"', '\\':
			b = append(b, '\\', byte(r))
		case '\b':
			b = append(b, `\b`...)
		case '\f':
			b = append(b, `\f`...)
		case '\n':
			b = append(b, `\n`...)
		case '\r':
			b = append(b, `\r`...)
		case '\t':
			b = append(b, `\t`...)
		default:
			if r < ' ' || r == 0x7f {
				b = append(b, `\u00`...)
				b = append(b, hex[r>>4], hex[r&15])
				continue
			}
			b = append(b, string(r)...)
		}
	}
	return append(b, '"')
}
