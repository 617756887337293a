// Package mess implements MESS 1.0 and 1.1: messages, content, identifiers, states, their
// validation, and their YAML and JSON.
//
// It is pure: no clock, file, network, log or goroutine. Every type keeps unknown fields in
// Extra, so that the exchange stores and forwards messages of newer peers completely (MESS
// 1.1 section 5.1).
package mess

import "iter"

// Message is one MESS block (MESS 1.0 section 1): an ordered list of typed items, with the
// message-level fields of MESSE-AF 2.1 and the MQTT binding.
type Message struct {
	ID       string `mess:"id"`       // id that the sender gave the message
	Ref      string `mess:"ref"`      // reference that the exchange assigns: {thread}/{type}-{serial}-{id}
	From     string `mess:"from"`     // actor id; the exchange sets it and ignores the value from outside
	Received Time   `mess:"received"` // when the exchange received it
	Channel  string `mess:"channel"`  // channel: http, mqtt, mcp, cli, ...
	Re       Refs   `mess:"re"`       // reference for all items (MESSE-AF 2.1, "The re: Field")
	// ExpiresIn is the remaining time for the receiver by the clock of the exchange. An
	// offer contains it, so that a wrong clock of the executor does no harm.
	ExpiresIn Duration `mess:"expires_in"`
	// Epoch is the fencing token of the claim, or 0.
	Epoch   uint64 `mess:"epoch"`
	Version string `mess:"-"` // the list's "v:" entry; "" if there is none
	Items   []Item `mess:"-"` // in the order of the list
	Extra   Object `mess:"*"`
}

// Current is the MESS version that this package writes.
const Current = "1.1.0"

// Kind is the name of a message type (MESS 1.0 section 1.2).
type Kind string

// Message types of MESS 1.0 section 1.2, and MESSE-AF's answer.
const (
	KindRequest    Kind = "request"
	KindReply      Kind = "reply"
	KindAnswer     Kind = "answer" // MESSE-AF 2.1, "Append Message"
	KindCancel     Kind = "cancel"
	KindQuery      Kind = "query"
	KindConfig     Kind = "config"
	KindAck        Kind = "ack"
	KindStatus     Kind = "status"
	KindResponse   Kind = "response"
	KindSuggestion Kind = "suggestion"
)

// Item is one typed payload of a message: *Request, *Reply, *Answer, *Cancel,
// *Query, *Config, *Ack, *Status, *Response, *Suggestion or *Other.
type Item interface {
	Kind() Kind
}

// Other is an item of an unknown type, as written.
type Other struct {
	Type  Kind
	Value any
}

// Refs is one or more references (MESS 1.0 section 1.3). In a document it is a
// string, or a list of strings.
type Refs []string

// Last is the reference to the most recent request of the sender (MESS 1.0 section 1.3).
const Last = "last"

// Kinds of the item types.
func (*Request) Kind() Kind    { return KindRequest }
func (*Reply) Kind() Kind      { return KindReply }
func (*Answer) Kind() Kind     { return KindAnswer }
func (*Cancel) Kind() Kind     { return KindCancel }
func (*Query) Kind() Kind      { return KindQuery }
func (*Config) Kind() Kind     { return KindConfig }
func (*Ack) Kind() Kind        { return KindAck }
func (*Status) Kind() Kind     { return KindStatus }
func (*Response) Kind() Kind   { return KindResponse }
func (*Suggestion) Kind() Kind { return KindSuggestion }

// Kind returns the name of the unknown type.
func (o *Other) Kind() Kind { return o.Type }

// ItemsOf iterates over the items of one type in messages, each with the message that contains
// it.
func ItemsOf[T Item](messages []Message) iter.Seq2[Message, T] {
	return func(yield func(Message, T) bool) {
		for i := range messages {
			for _, item := range messages[i].Items {
				if one, ok := item.(T); ok && !yield(messages[i], one) {
					return
				}
			}
		}
	}
}

// LastStatus returns the last status in messages, nil if there is none, and its message.
func LastStatus(messages []Message) (last *Status, in Message) {
	for m, s := range ItemsOf[*Status](messages) {
		last, in = s, m
	}
	return last, in
}

// FirstAck returns the first acknowledgement in a message, an empty one if there is none.
func FirstAck(m Message) Ack {
	for _, item := range m.Items {
		if ack, ok := item.(*Ack); ok {
			return *ack
		}
	}
	return Ack{}
}
