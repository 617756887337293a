package remote

import (
	"context"
	"fmt"
	"io"
	"sync"

	"github.com/messkit/messkit/mess"
)

// Kind is what speaks at an address.
type Kind string

// The kinds.
const (
	Auto    Kind = "auto"    // it is asked, and says itself what it is
	Messkit Kind = "messkit" // an exchange of ours
	InField Kind = "field"   // one of the servers in the field
)

// Validate tells if there is no such kind.
func (k Kind) Validate() error {
	switch k {
	case "", Auto, Messkit, InField:
		return nil
	}
	return fmt.Errorf("%.40q is unknown; write auto, messkit or field", string(k))
}

// Exchange is what an executor needs of an exchange elsewhere.
type Exchange interface {
	Send(ctx context.Context, m mess.Message) (mess.Message, error)
	Receive(ctx context.Context, handle func(mess.Message)) error
	Attach(ctx context.Context, ref, name, mime string, data io.Reader) (mess.Media, error)
}

var (
	_ Exchange = (*Client)(nil)
	_ Exchange = (*Field)(nil)
	_ Exchange = (*Either)(nil)
)

// For is the exchange of that kind that c reaches. It does not reach out.
func For(c *Client, k Kind, cfg FieldConfig) Exchange {
	switch k {
	case Messkit:
		return c
	case InField:
		return NewField(c, cfg)
	}
	return &Either{c: c, cfg: cfg}
}

// Either is an exchange of ours or one of the servers in the field, whichever
// turns out to be there.
type Either struct {
	c   *Client
	cfg FieldConfig

	mu sync.Mutex
	is Exchange // nil until it has said what it is
}

// ours reports whether an exchange of ours says that of itself. Those in the
// field leave out one or the other.
func (h Health) ours() bool {
	return h.Service == "mess-exchange" && h.Version != "" && h.Exchange != ""
}

// pick asks what is there, once.
func (e *Either) pick(ctx context.Context) (Exchange, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.is != nil {
		return e.is, nil
	}
	h, err := e.c.Health(ctx)
	if err != nil {
		return nil, err
	}
	if h.ours() {
		e.is = e.c
		return e.is, nil
	}
	if h.Status == "" && h.Service == "" {
		return nil, mess.Errorf(mess.Unavailable, "%s does not say what it is; is this the right address?", e.c.name)
	}
	id, err := e.c.exchange(ctx)
	if err != nil {
		return nil, err
	}
	if err := CheckFieldExchange(id); err != nil {
		return nil, mess.Errorf(mess.Invalid, "%v", err)
	}
	e.c.log.Info("a server of the field: claims are read back, and news asked for", "service", h.Service)
	e.is = NewField(e.c, e.cfg)
	return e.is, nil
}

// Send does what the Send of what is there does.
func (e *Either) Send(ctx context.Context, m mess.Message) (mess.Message, error) {
	x, err := e.pick(ctx)
	if err != nil {
		return mess.Message{}, err
	}
	return x.Send(ctx, m)
}

// Receive does what the Receive of what is there does.
func (e *Either) Receive(ctx context.Context, handle func(mess.Message)) error {
	x, err := e.pick(ctx)
	if err != nil {
		return err
	}
	return x.Receive(ctx, handle)
}

// Attach does what the Attach of what is there does.
func (e *Either) Attach(ctx context.Context, ref, name, mime string, data io.Reader) (mess.Media, error) {
	x, err := e.pick(ctx)
	if err != nil {
		return mess.Media{}, err
	}
	return x.Attach(ctx, ref, name, mime, data)
}
