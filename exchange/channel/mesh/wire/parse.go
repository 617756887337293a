package wire

import (
	"bytes"
	"cmp"
	"encoding/json"
	"math"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/messkit/messkit/internal/ascii"
	"github.com/messkit/messkit/mess"
)

// Hook is the body of a request to a hook.
type Hook struct {
	Message    string
	SessionKey string
}

// ParseHook parses the body of a request to a hook.
func ParseHook(body []byte) (Hook, error) {
	o, err := object(body)
	if err != nil {
		return Hook{}, invalid(`the body is not {"message": "..."}: %v`, err)
	}
	var h Hook
	if json.Unmarshal(o.Raw("message"), &h.Message) != nil || strings.TrimSpace(h.Message) == "" {
		return Hook{}, invalid("message: is missing, empty or no text; put the envelope there as text")
	}
	if raw := o.Raw("sessionKey"); !absent(raw) && json.Unmarshal(raw, &h.SessionKey) != nil {
		return Hook{}, invalid("sessionKey: is no text")
	}
	return h, nil
}

// Detect reports whether a text claims to be an envelope, even with a protocol that is no string.
// All other text is a legacy text (section 11, "Backward Compatibility").
func Detect(text string) bool {
	o, err := object([]byte(text))
	if err != nil {
		return false
	}
	raw := o.Raw("protocol")
	return strings.HasPrefix(o.Get("protocol"), "mesh/") || !absent(raw) && raw[0] != '"'
}

// Parse parses an envelope. The error is an *Error, and the envelope is then empty.
func Parse(text string) (Envelope, error) { return parse(text, true) }

// Stored parses an envelope that the agent has accepted before. An earlier version may have checked
// fewer fields, and an accepted message must not get lost.
func Stored(text string) (Envelope, error) { return parse(text, false) }

func parse(text string, strict bool) (Envelope, error) {
	o, err := object([]byte(text))
	if err != nil {
		return Envelope{}, invalid("the message is no envelope: %v", err)
	}
	r := reader{}
	if r.text(o, "protocol"); r.err != nil {
		return Envelope{}, r.err
	}
	e := Envelope{
		Protocol: r.text(o, "protocol"), ID: r.text(o, "id"), From: r.text(o, "from"), To: r.text(o, "to"),
		Type: Type(r.text(o, "type")), CorrelationID: r.text(o, "correlationId"), ConversationID: r.text(o, "conversationId"),
		ReplyContext: present(o.Raw("replyContext")), Session: present(o.Raw("session")),
		Priority: r.text(o, "priority"), IdempotencyKey: r.text(o, "idempotencyKey"), Nonce: r.text(o, "nonce"), Signature: r.text(o, "signature"),
	}
	if version, ok := strings.CutPrefix(e.Protocol, "mesh/1."); !ok || !ascii.Digits(version, 1, len(version)) {
		return Envelope{}, &Error{"unsupported_protocol", "protocol: " + strconv.Quote(clip(e.Protocol)) + ": unsupported version; use " + Protocol}
	}
	e.Priority = cmp.Or(e.Priority, Normal)
	e.Time = r.time(o, "timestamp")
	e.TTL = r.ttl(o.Raw("ttl"))
	e.ReplyTo, e.Relay = r.replyTo(o.Raw("replyTo")), r.relay(o.Raw("relay"))
	e.Payload = r.payload(o.Raw("payload"))
	r.check(e)
	if strict {
		r.lacks(e, o)
	}
	if r.err != nil {
		return Envelope{}, r.err
	}
	return e, nil
}

// reader parses fields and keeps the first error.
type reader struct{ err error }

func (r *reader) fail(format string, args ...any) {
	if r.err == nil {
		r.err = invalid(format, args...)
	}
}

// check records a missing or invalid field (section 5, "Field Definitions").
func (r *reader) check(e Envelope) {
	switch {
	case !mess.ValidID(e.ID):
		r.fail("id: %q is no id; use letters, digits and . _ : @ -, at most 128", clip(e.ID))
	case !ValidName(e.From):
		r.fail("from: %q cannot name an agent", clip(e.From))
	case !ValidName(e.To):
		r.fail("to: %q cannot name an agent", clip(e.To))
	case !e.Type.Known():
		r.fail("type: unknown value %q; use request, response, notification, alert or ack", clip(string(e.Type)))
	case (e.Type == Response || e.Type == Ack) && e.CorrelationID == "":
		r.fail("correlationId: is missing; a %s names the message that it is for", e.Type)
	case len(e.CorrelationID) > 128 || len(e.ConversationID) > 128 || len(e.IdempotencyKey) > 256 || len(e.Nonce) > 128:
		r.fail("correlationId, conversationId and nonce have at most 128 bytes, idempotencyKey 256")
	case e.Type == Request && strings.TrimSpace(e.Payload.Body) == "" && strings.TrimSpace(e.Payload.Subject) == "":
		r.fail("payload.body: is empty; write the request")
	}
}

// lacks checks the fields that earlier versions did not check (section 5, "Field Definitions").
func (r *reader) lacks(e Envelope, o Object) {
	payload, _ := object(o.Raw("payload")) // parse has reported its error
	switch {
	case e.Priority != High && e.Priority != Normal && e.Priority != Low:
		r.fail("priority: unknown value %q; use high, normal or low", clip(e.Priority))
	case absent(payload.Raw("subject")):
		r.fail("payload.subject: is missing; say in one line what this is about")
	case !absent(o.Raw("replyTo")) && (e.ReplyTo == nil || e.ReplyTo.URL == ""):
		r.fail("replyTo.url: is missing; say where the answer goes, or leave out replyTo")
	case !isText(e.Payload.Metadata.Raw(MessKey)):
		r.fail("payload.metadata.%s: is no text; write the message of MESS as text, or leave it out", MessKey)
	}
}

// isText reports whether a field is a string or absent.
func isText(raw json.RawMessage) bool {
	var s string
	return absent(raw) || json.Unmarshal(raw, &s) == nil
}

// ValidName reports whether s can name an agent. Paths and file names contain it.
func ValidName(s string) bool {
	return ascii.Text(s, 64, "._-") && s[0] != '.' && s[0] != '-'
}

func (r *reader) text(o Object, key string) string {
	raw := o.Raw(key)
	var s string
	if !absent(raw) && json.Unmarshal(raw, &s) != nil {
		r.fail("%s: is no text", key)
	}
	return s
}

func (r *reader) time(o Object, key string) time.Time {
	t, err := time.Parse(time.RFC3339Nano, r.text(o, key))
	if err != nil || t.Year() < 1 || t.Year() > 9999 {
		r.fail("%s: is no time; write it like 2026-02-21T20:45:00.000Z", key)
		return time.Time{}
	}
	return t
}

// ttl parses seconds: an integer, or a string with one.
func (r *reader) ttl(raw json.RawMessage) time.Duration {
	if absent(raw) {
		return DefaultTTL
	}
	text := string(raw)
	var s string
	if json.Unmarshal(raw, &s) == nil {
		text = strings.TrimSpace(s)
	}
	n, err := strconv.ParseFloat(text, 64)
	if err != nil || n != math.Trunc(n) || n < 0 || n > MaxTTL.Seconds() || strings.ContainsAny(text, "xX_nN") {
		r.fail("ttl: %q is not whole seconds from 0 to %.0f", clip(text), MaxTTL.Seconds())
		return 0
	}
	return time.Duration(n) * time.Second
}

// object returns a field that is an object or absent.
func (r *reader) object(raw json.RawMessage, key string) Object {
	if absent(raw) {
		return nil
	}
	o, err := object(raw)
	if err != nil {
		r.fail("%s: is no object", key)
	}
	return o
}

func (r *reader) replyTo(raw json.RawMessage) *ReplyTo {
	o := r.object(raw, "replyTo")
	if o == nil {
		return nil
	}
	return &ReplyTo{URL: r.text(o, "url"), Token: r.text(o, "token")}
}

func (r *reader) relay(raw json.RawMessage) *Relay {
	o := r.object(raw, "relay")
	if o == nil {
		return nil
	}
	l := &Relay{From: r.text(o, "from"), Via: r.text(o, "via"), OriginalTo: r.text(o, "originalTo")}
	if !ValidName(l.From) || !ValidName(l.Via) || !ValidName(l.OriginalTo) {
		r.fail("relay: from, via and originalTo must name agents")
	}
	return l
}

// maxAttachments limits the files of a message.
const maxAttachments = 64

func (r *reader) payload(raw json.RawMessage) Payload {
	o := r.object(raw, "payload")
	if o == nil {
		r.fail("payload: is missing")
		return Payload{}
	}
	p := Payload{Subject: r.text(o, "subject"), Body: r.text(o, "body"), Metadata: r.object(o.Raw("metadata"), "payload.metadata")}
	if absent(o.Raw("body")) {
		r.fail("payload.body: is missing")
	}
	if raw := o.Raw("encrypted"); !absent(raw) && json.Unmarshal(raw, &p.Encrypted) != nil {
		r.fail("payload.encrypted: is neither true nor false")
	}
	var list []json.RawMessage
	if raw := o.Raw("attachments"); !absent(raw) && json.Unmarshal(raw, &list) != nil || len(list) > maxAttachments {
		r.fail("payload.attachments: is no list of at most %d", maxAttachments)
		return p
	}
	for _, one := range list {
		p.Attachments = append(p.Attachments, r.attachment(one))
	}
	return p
}

func (r *reader) attachment(raw json.RawMessage) Attachment {
	o := r.object(raw, "payload.attachments")
	a := Attachment{
		Type: r.text(o, "type"), URL: r.text(o, "url"), Encoding: r.text(o, "encoding"), Data: r.text(o, "data"), Path: r.text(o, "path"),
		Filename: r.text(o, "filename"), MIME: r.text(o, "mimeType"), Description: r.text(o, "description"), Size: -1,
	}
	if a.Filename == "" {
		a.Filename = r.text(o, "name") // section 5 uses this name
	}
	if raw := o.Raw("size"); !absent(raw) {
		n, err := strconv.ParseInt(string(bytes.Trim(raw, `"`)), 10, 64)
		if err != nil || n < 0 {
			r.fail("payload.attachments: size: is no number of bytes")
		}
		a.Size = n
	}
	given := map[string]bool{"url": a.URL != "", "path": a.Path != "", "inline": true}[a.Type]
	if !given {
		r.fail("payload.attachments: one is not {type: url, url}, {type: inline, data} or {type: path, path}")
	}
	return a
}

func absent(raw json.RawMessage) bool { return len(raw) == 0 || string(raw) == "null" }

func present(raw json.RawMessage) json.RawMessage {
	if absent(raw) {
		return nil
	}
	return raw
}

// clip shortens a text for an error message.
func clip(s string) string {
	if len(s) > 60 {
		return strings.ToValidUTF8(s[:60], "") + "..."
	}
	return s
}

// object parses an object. If a key occurs twice, the last value counts.
func object(text []byte) (Object, error) {
	if !utf8.Valid(text) {
		return nil, invalid("the text is not UTF-8")
	}
	text = bytes.TrimSpace(text)
	if len(text) == 0 || text[0] != '{' {
		return nil, invalid("it is no JSON object")
	}
	if !json.Valid(text) {
		return nil, invalid("it is no JSON")
	}
	dec := json.NewDecoder(bytes.NewReader(text))
	if _, err := dec.Token(); err != nil {
		return nil, err
	}
	var o Object
	for dec.More() {
		key, err := dec.Token()
		if err != nil {
			return nil, err
		}
		var v json.RawMessage
		if err := dec.Decode(&v); err != nil {
			return nil, err
		}
		o = append(o, Member{key.(string), v})
	}
	return o, nil
}

// ParseObject parses an object. The error is an *Error.
func ParseObject(text []byte) (Object, error) { return object(text) }
