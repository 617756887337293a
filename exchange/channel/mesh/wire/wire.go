// Package wire has the messages of MESH 1.0: the envelope, its text, signature and encryption. It
// is pure, and knows no peers.
package wire

import (
	"encoding/json"
	"fmt"
	"time"
)

// Protocol is the protocol of sent messages. Parse accepts all of 1.x.
const Protocol = "mesh/1.0"

// Limits of a message, in bytes (MESH 1.0 section 10; "Attachment Type Reference").
const (
	MaxText   = 64 << 10  // of an envelope; for a received one without its inline data
	MaxInline = 64 << 10  // of the data of one inline attachment
	MaxBody   = 256 << 10 // of the body of one HTTP request
)

// DefaultTTL is the lifetime of a message that names none.
const DefaultTTL = 300 * time.Second

// MaxTTL is the longest lifetime of a message. The agent recognizes a duplicate for that time.
const MaxTTL = 30 * 24 * time.Hour

// Type is the type of a message.
type Type string

// The types.
const (
	Request      Type = "request"
	Response     Type = "response"
	Notification Type = "notification"
	Alert        Type = "alert"
	Ack          Type = "ack"
)

// Known reports whether the specification has the type.
func (t Type) Known() bool {
	switch t {
	case Request, Response, Notification, Alert, Ack:
		return true
	}
	return false
}

// The priorities. Every other priority counts as normal.
const (
	High   = "high"
	Normal = "normal"
	Low    = "low"
)

// Envelope is a message (MESH 1.0 section 5).
type Envelope struct {
	Protocol       string
	ID             string
	Time           time.Time // creation time
	From, To       string
	Type           Type
	CorrelationID  string
	ConversationID string
	ReplyTo        *ReplyTo
	ReplyContext   json.RawMessage // unparsed; nil for none
	Session        json.RawMessage // unparsed; nil for none
	Priority       string
	TTL            time.Duration // from Time; whole seconds
	IdempotencyKey string
	Nonce          string
	Payload        Payload
	Signature      string // as received; Sign makes the one of a sent message
	Relay          *Relay
}

// MessKey is the metadata field with a whole MESS message, as a string. The agent rejects a value
// that is no string, because it could contain a limit that the sender needs.
const MessKey = "mess"

// ReplyTo is the address for the answer to a request.
type ReplyTo struct {
	URL   string
	Token string
}

// Payload is the content of a message.
type Payload struct {
	Subject     string
	Body        string
	Attachments []Attachment
	Metadata    Object
	Encrypted   bool // Body is encrypted
}

// Attachment is a file ("Attachment Types").
type Attachment struct {
	Type        string // url, inline or path
	URL         string
	Encoding    string // of Data: base64
	Data        string
	Path        string
	Filename    string
	MIME        string
	Size        int64 // in bytes; -1 if unknown
	Description string
}

// Relay names the agent that forwards a message.
type Relay struct {
	From, Via, OriginalTo string
}

// Object is a JSON object that keeps the order of its fields.
type Object []Member

// Member is a field of an Object.
type Member struct {
	Key   string
	Value json.RawMessage
}

// Get returns the string in a field, "" if there is none.
func (o Object) Get(key string) string {
	var s string
	for _, m := range o {
		if m.Key == key && json.Unmarshal(m.Value, &s) != nil {
			s = ""
		}
	}
	return s
}

// Raw returns a field unparsed, nil if there is none.
func (o Object) Raw(key string) (v json.RawMessage) {
	for _, m := range o {
		if m.Key == key {
			v = m.Value
		}
	}
	return v
}

// With returns o with a string in a field.
func (o Object) With(key, text string) Object {
	return append(o[:len(o):len(o)], Member{key, appendString(nil, text)})
}

// Without returns o as JSON without a field; nil if it is empty then.
func (o Object) Without(key string) json.RawMessage {
	b := printer{}
	b.open()
	for _, m := range o {
		if m.Key != key {
			b.raw(m.Key, m.Value)
		}
	}
	b.close()
	if len(b.out) == len("{}") {
		return nil
	}
	return b.out
}

// Expires returns the end of the lifetime.
func (e Envelope) Expires() time.Time { return e.Time.Add(e.TTL) }

// SessionKey returns the session key in the reply context, "" for none (section 5.1).
func (e Envelope) SessionKey() string {
	if len(e.ReplyContext) == 0 {
		return ""
	}
	o, err := object(e.ReplyContext)
	if err != nil {
		return ""
	}
	return o.Get("sessionKey")
}

// Error is the reason why a text is no valid message.
type Error struct {
	Code string // invalid or unsupported_protocol
	Text string
}

func (e *Error) Error() string { return e.Text }

func invalid(format string, args ...any) error {
	return &Error{"invalid", fmt.Sprintf(format, args...)}
}
