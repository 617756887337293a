// Package runtime holds what all parts of an executor share: the settings, the interfaces to the
// exchange and to the resolver, and the causes for which work ends.
package runtime

import (
	"context"
	"io"

	"github.com/messkit/messkit/capabilities"
	"github.com/messkit/messkit/mess"
)

// Exchange is the part of an exchange that an executor needs. In one process it is the exchange
// itself (exchange.Local), elsewhere exchange/remote.
type Exchange interface {
	// Send posts a message and returns the immediate answer of the exchange: acks, and
	// responses to queries. A rejection is a *mess.Error. With the code mess.Unavailable the
	// message may have arrived, and the caller may send the same message again.
	Send(ctx context.Context, m mess.Message) (mess.Message, error)
	// Receive calls handle for each message to this executor, one at a time: offers (an item of
	// kind request, with Re the thread and ExpiresIn), withdrawn offers (a status by another
	// executor), and replies, answers and cancels for its threads. A message may arrive twice.
	// Receive returns when ctx ends, or when it cannot restore a lost connection.
	Receive(ctx context.Context, handle func(mess.Message)) error
	// Attach uploads an attachment for a thread that this executor holds. A later message
	// refers to it with the returned entry {file: name, mime, size, sha256}.
	Attach(ctx context.Context, ref, name, mime string, data io.Reader) (mess.Media, error)
}

// Resolver turns requests into plans, as *capabilities.Resolver does. It is
// pure and safe for concurrent use.
type Resolver interface {
	Resolve(req mess.Request) capabilities.Outcome
	// Answer continues from a question. reply holds the answers by field, text the rest of the
	// answer.
	Answer(q capabilities.Clarification, reply mess.Object, text string, req mess.Request) capabilities.Outcome
	// Offers returns the capabilities for the registration of the executor.
	Offers() []mess.Capability
	// Places returns the names of the rooms or files that a device has reported last, without asking
	// it; nil for a device that reports none.
	Places(device string) []string
}
