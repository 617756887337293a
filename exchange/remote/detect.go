// Package remote finds out what answers at an address: an exchange of messkit or a MESS
// reference server. An executor uses it as its exchange.
package remote

import (
	"context"
	"fmt"
	"io"
	"sync"

	"github.com/messkit/messkit/exchange/remote/httpclient"
	"github.com/messkit/messkit/exchange/remote/reference"
	"github.com/messkit/messkit/mess"
)

// Kind is the kind of server at an address.
type Kind string

// The kinds of servers.
const (
	Auto      Kind = "auto"    // asks the server for its kind
	Messkit   Kind = "messkit" // an exchange of messkit
	Reference Kind = "field"   // a MESS reference server
)

// Validate returns an error for an unknown kind.
func (k Kind) Validate() error {
	switch k {
	case "", Auto, Messkit, Reference:
		return nil
	}
	return fmt.Errorf("%.40q is unknown; write auto, messkit or field", string(k))
}

// Exchange has the methods of a remote exchange that an executor calls.
type Exchange interface {
	Send(ctx context.Context, m mess.Message) (mess.Message, error)
	Receive(ctx context.Context, handle func(mess.Message)) error
	Attach(ctx context.Context, ref, name, mime string, data io.Reader) (mess.Media, error)
}

var (
	_ Exchange = (*httpclient.Client)(nil)
	_ Exchange = (*reference.Client)(nil)
	_ Exchange = (*AutoDetect)(nil)
)

// For returns the exchange of a kind that c reaches. It makes no connection.
func For(c *httpclient.Client, k Kind, cfg reference.Config) Exchange {
	switch k {
	case Messkit:
		return c
	case Reference:
		return reference.New(c, cfg)
	}
	return &AutoDetect{c: c, cfg: cfg}
}

// AutoDetect is an exchange of messkit or a MESS reference server. The first call asks the
// server for its kind.
type AutoDetect struct {
	c   *httpclient.Client
	cfg reference.Config

	mu sync.Mutex
	is Exchange // nil until the server has reported its kind
}

// isMesskit reports whether a server identifies itself as an exchange of messkit. The reference
// servers omit one of these fields.
func isMesskit(h httpclient.Health) bool {
	return h.Service == "mess-exchange" && h.Version != "" && h.Exchange != ""
}

// pick asks the server for its kind, once.
func (e *AutoDetect) pick(ctx context.Context) (Exchange, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.is != nil {
		return e.is, nil
	}
	h, err := e.c.Health(ctx)
	if err != nil {
		return nil, err
	}
	if isMesskit(h) {
		e.is = e.c
		return e.is, nil
	}
	if h.Status == "" && h.Service == "" {
		return nil, mess.Errorf(mess.Unavailable, "%s does not say what it is; is this the right address?", e.c.Name())
	}
	id, err := e.c.Exchange(ctx)
	if err != nil {
		return nil, err
	}
	if err := reference.CheckExchange(id); err != nil {
		return nil, mess.Errorf(mess.Invalid, "%v", err)
	}
	e.c.Logger().Info("the server is a reference server; messkit reads its claims back and polls for news", "service", h.Service)
	e.is = reference.New(e.c, e.cfg)
	return e.is, nil
}

// Send calls Send of the exchange at the address.
func (e *AutoDetect) Send(ctx context.Context, m mess.Message) (mess.Message, error) {
	x, err := e.pick(ctx)
	if err != nil {
		return mess.Message{}, err
	}
	return x.Send(ctx, m)
}

// Receive calls Receive of the exchange at the address.
func (e *AutoDetect) Receive(ctx context.Context, handle func(mess.Message)) error {
	x, err := e.pick(ctx)
	if err != nil {
		return err
	}
	return x.Receive(ctx, handle)
}

// Attach calls Attach of the exchange at the address.
func (e *AutoDetect) Attach(ctx context.Context, ref, name, mime string, data io.Reader) (mess.Media, error) {
	x, err := e.pick(ctx)
	if err != nil {
		return mess.Media{}, err
	}
	return x.Attach(ctx, ref, name, mime, data)
}
