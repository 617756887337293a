// Package mess holds the words of MESS 1.0 and 1.1: messages, content,
// identifiers, states, their validation, and their YAML and JSON.
//
// It is pure: no clock, file, network, log or goroutine. Every type keeps what
// it does not know in Extra, so that a message written by a newer peer is
// stored and passed on whole (MESS 1.1 section 5.1).
package mess

// Message is one MESS block (MESS 1.0 section 1): an ordered list of typed
// items, with the message-level fields that MESSE-AF 2.1 and the MQTT binding
// put beside the list.
type Message struct {
	ID       string `mess:"id"`       // the sender's own name for this message
	Ref      string `mess:"ref"`      // the message's ref, {thread}/{type}-{serial}-{id}, given by the exchange
	From     string `mess:"from"`     // actor id; set by the exchange, never believed from outside
	Received Time   `mess:"received"` // when the exchange took it
	Channel  string `mess:"channel"`  // the door it came through: http, mqtt, mcp, cli, ...
	Re       Refs   `mess:"re"`       // what all items refer to (MESSE-AF 2.1, "The re: Field")
	// ExpiresIn is what is left for the receiver, by the exchange's clock
	// (an offer carries it, so a wrong clock on the board does no harm).
	ExpiresIn Duration `mess:"expires_in"`
	// Epoch is the fence of the claim that this message belongs to, 0 if none.
	Epoch   uint64 `mess:"epoch"`
	Version string `mess:"-"` // the list's "v:" entry, "" if it had none
	Items   []Item `mess:"-"` // in the order of the list
	Extra   Object `mess:"*"`
}

// Current is the version of MESS that this package writes.
const Current = "1.1.0"

// Kind is the name of a message type (MESS 1.0 section 1.2).
type Kind string

// The message types of MESS 1.0 section 1.2, and MESSE-AF's answer.
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

// Other is an item of a type that this package does not know. It is kept as
// it was written.
type Other struct {
	Type  Kind
	Value any
}

// Refs is one or more references (MESS 1.0 section 1.3). In a document it is a
// string, or a list of strings.
type Refs []string

// Last is the casual reference to the sender's most recent request
// (MESS 1.0 section 1.3).
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

// Kind returns the unknown type's name.
func (o *Other) Kind() Kind { return o.Type }
