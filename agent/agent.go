// Package agent is the executor: offers in, plan, gate, act once, answer.
package agent

import (
	"context"
	"io"

	"github.com/messkit/messkit/mess"
)

// Exchange is what an executor needs of an exchange. In one process it is the
// exchange itself (exchange.Local), elsewhere exchange/remote.
type Exchange interface {
	// Send posts a message and returns what the exchange answers at once: acks,
	// and responses to queries. An exchange's "no" is a *mess.Refusal; with Why
	// mess.Unavailable the message may or may not have arrived, and the same
	// message may be sent again.
	Send(ctx context.Context, m mess.Message) (mess.Message, error)
	// Receive calls handle, one message at a time, for everything that is
	// addressed to this executor: offers (an item of kind request, with Re the
	// thread and ExpiresIn), withdrawn offers (a status by another executor),
	// replies, answers and cancels for the threads that it holds. Messages may
	// come twice. It returns when ctx ends, or when the connection is lost and
	// cannot be had back by itself.
	Receive(ctx context.Context, handle func(mess.Message)) error
	// Attach stores the bytes for an attachment of a thread that this executor
	// holds. The entry that names it goes into a later message as
	// {file: name, mime, size, sha256}.
	Attach(ctx context.Context, ref, name, mime string, data io.Reader) (mess.Media, error)
}
