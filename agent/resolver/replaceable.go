package resolver

import (
	"sync/atomic"

	"github.com/messkit/messkit/agent/runtime"
	"github.com/messkit/messkit/capabilities"
	"github.com/messkit/messkit/mess"
)

// Replaceable is a resolver that the program replaces after a change of the devices. A request
// uses the same resolver from its beginning to its end. It is safe for concurrent use.
type Replaceable struct{ current atomic.Pointer[Resolver] }

var _ runtime.Resolver = (*Replaceable)(nil)

// NewReplaceable returns a Replaceable that uses r.
func NewReplaceable(r *Resolver) *Replaceable {
	p := &Replaceable{}
	p.Replace(r)
	return p
}

// Replace makes new requests use r.
func (p *Replaceable) Replace(r *Resolver) { p.current.Store(r) }

// Resolve implements runtime.Resolver.
func (p *Replaceable) Resolve(req mess.Request) capabilities.Outcome {
	return p.current.Load().Resolve(req)
}

// Answer implements runtime.Resolver.
func (p *Replaceable) Answer(q capabilities.Clarification, reply mess.Object, text string, req mess.Request) capabilities.Outcome {
	return p.current.Load().Answer(q, reply, text, req)
}

// Offers implements runtime.Resolver.
func (p *Replaceable) Offers() []mess.Capability { return p.current.Load().Offers() }

// Places implements runtime.Resolver.
func (p *Replaceable) Places(device string) []string { return p.current.Load().Places(device) }
