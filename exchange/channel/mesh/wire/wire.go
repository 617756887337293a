// Package wire holds the messages of MESH 1.0 as peers write them: the envelope,
// its text, signature and encryption. It knows no peer, clock or exchange.
package wire

import (
	"encoding/json"
	"fmt"
	"time"
)

// Protocol is what is written here. All of 1.x is read.
const Protocol = "mesh/1.0"

// Limits of a message, in bytes (MESH 1.0 section 10; "Attachment Type
// Reference").
const (
	MaxText   = 64 << 10  // an envelope; of one that comes in, without inline data
	MaxInline = 64 << 10  // the data of one inline attachment
	MaxBody   = 256 << 10 // the body of one HTTP request
)

// DefaultTTL is how long a message lives that does not say so.
const DefaultTTL = 300 * time.Second

// MaxTTL is the longest life of a message that is taken: as long it is known as
// one that has come before.
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

// Known reports whether there is such a type.
func (t Type) Known() bool {
	switch t {
	case Request, Response, Notification, Alert, Ack:
		return true
	}
	return false
}

// The priorities. Others count as normal.
const (
	High   = "high"
	Normal = "normal"
	Low    = "low"
)

// Envelope is one message (MESH 1.0 section 5).
type Envelope struct {
	Protocol       string
	ID             string
	Time           time.Time // when it was made
	From, To       string
	Type           Type
	CorrelationID  string
	ConversationID string
	ReplyTo        *ReplyTo
	ReplyContext   json.RawMessage // as it was written; nil for none
	Session        json.RawMessage // as it was written; nil for none
	Priority       string
	TTL            time.Duration // from Time; whole seconds
	IdempotencyKey string
	Nonce          string
	Payload        Payload
	Signature      string // as it came; what is written is signed by Sign
	Relay          *Relay
}

// MessKey is the member of the metadata in which a message of MESS goes whole, as
// text. What is no text there may be a limit that somebody meant, so it is refused.
const MessKey = "mess"

// ReplyTo is where the answer to a request goes.
type ReplyTo struct {
	URL   string
	Token string
}

// Payload is what a message says.
type Payload struct {
	Subject     string
	Body        string
	Attachments []Attachment
	Metadata    Object
	Encrypted   bool // Body is the text of a Sealed
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
	Size        int64 // bytes; -1 if nobody said
	Description string
}

// Relay says that a message goes through somebody else.
type Relay struct {
	From, Via, OriginalTo string
}

// Object is a JSON object with its members in order.
type Object []Member

// Member is one member of an Object.
type Member struct {
	Key   string
	Value json.RawMessage
}

// Get returns the text of a member, "" if there is none or it is no text.
func (o Object) Get(key string) string {
	var s string
	for _, m := range o {
		if m.Key == key && json.Unmarshal(m.Value, &s) != nil {
			s = ""
		}
	}
	return s
}

// Raw returns a member as it was written, nil if there is none.
func (o Object) Raw(key string) (v json.RawMessage) {
	for _, m := range o {
		if m.Key == key {
			v = m.Value
		}
	}
	return v
}

// With returns o with a member that is a text.
func (o Object) With(key, text string) Object {
	return append(o[:len(o):len(o)], Member{key, appendString(nil, text)})
}

// Without is o as JSON, without a member; nil if nothing else is in it.
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

// Expires is when a message is over.
func (e Envelope) Expires() time.Time { return e.Time.Add(e.TTL) }

// SessionKey is the session that a message is for, by its reply context; "" for
// none (section 5.1).
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

// Error says why a message is none.
type Error struct {
	Code string // invalid or unsupported_protocol
	Text string
}

func (e *Error) Error() string { return e.Text }

func invalid(format string, args ...any) error {
	return &Error{"invalid", fmt.Sprintf(format, args...)}
}
