package exchange

import (
	"context"
	"errors"
	"slices"
	"syscall"

	"github.com/messkit/messkit/mess"
)

// Inbound is what a door hands to the exchange.
type Inbound struct {
	Actor          Actor
	Channel        string // the door: http, mqtt, mcp, cli, local
	Proof          Proof  // that a person stands behind it; ByKey: nothing proves that
	Message        mess.Message
	DependsOnLater bool // its requests may depend on some of the same requester that come later
}

// Post takes a message and returns what the exchange answers at once: acks,
// and responses to queries. What it refuses is a *mess.Error and has changed
// nothing; of a message that speaks of several threads, each is taken or
// refused for itself, and the ack says which.
func (x *Exchange) Post(ctx context.Context, in Inbound) (mess.Message, error) {
	if in.Actor.ID == Self {
		return mess.Message{}, mess.Errorf(mess.Forbidden, "nobody but the exchange itself is called %q", Self)
	}
	if err := in.Message.Validate(); err != nil {
		return mess.Message{}, mess.Errorf(mess.Invalid, "%v", err)
	}
	if err := checkMedia(in.Message); err != nil {
		return mess.Message{}, err
	}
	p, err := sortItems(in.Message)
	if err != nil {
		return mess.Message{}, err
	}
	x.markAlive(ctx, in.Actor)
	answer := mess.Message{From: Self, Received: mess.TimeOf(x.now())}
	for _, take := range []func(context.Context, Inbound, parts) ([]mess.Item, error){x.configs, x.requests, x.sayings, x.queries} {
		items, err := take(ctx, in, p)
		if err != nil {
			return mess.Message{}, err
		}
		answer.Items = append(answer.Items, items...)
	}
	return answer, nil
}

// parts is a message by what is done with its items.
type parts struct {
	configs  []*mess.Config
	requests []*mess.Request
	others   []mess.Item // unknown items beside requests
	sayings  []saying
	queries  []*mess.Query
}

// saying is what is said to one thread.
type saying struct {
	ref   string
	items []mess.Item
}

func sortItems(m mess.Message) (parts, error) {
	var p parts
	for _, item := range m.Items {
		switch i := item.(type) {
		case *mess.Config:
			p.configs = append(p.configs, i)
		case *mess.Request:
			p.requests = append(p.requests, i)
		case *mess.Query:
			p.queries = append(p.queries, i)
		case *mess.Ack:
			return p, mess.Errorf(mess.Invalid, "ack: comes from the exchange only; leave it out")
		case *mess.Other:
			if len(p.requests) > 0 && len(m.Re) == 0 {
				p.others = append(p.others, i)
				continue
			}
			if err := p.say(m.Re, nil, i); err != nil {
				return p, err
			}
		default:
			own, bare := splitRe(i)
			if a, ok := i.(*mess.Answer); ok && len(m.Re) > 0 {
				own, bare = nil, a // its re is the question's, in the message's thread
			}
			if err := p.say(m.Re, own, bare); err != nil {
				return p, err
			}
		}
	}
	if len(m.Items) == 0 {
		return p, mess.Errorf(mess.Invalid, "MESS: the list is empty; say something")
	}
	return p, nil
}

// say files an item under each thread that it refers to.
func (p *parts) say(message, own mess.Refs, item mess.Item) error {
	refs := own
	if len(refs) == 0 {
		refs = message
	}
	if len(refs) == 0 {
		return mess.Errorf(mess.Invalid, "%s.re: missing; name the thread", item.Kind())
	}
	for _, ref := range refs {
		i := slices.IndexFunc(p.sayings, func(s saying) bool { return s.ref == ref })
		if i < 0 {
			p.sayings = append(p.sayings, saying{ref: ref})
			i = len(p.sayings) - 1
		}
		p.sayings[i].items = append(p.sayings[i].items, item)
	}
	return nil
}

// splitRe takes an item's own re out of it: a thread's messages bear it at the
// message's level (MESSE-AF 2.1, "The re: Field").
func splitRe(item mess.Item) (mess.Refs, mess.Item) {
	switch i := item.(type) {
	case *mess.Status:
		c := *i
		c.Re = nil
		return i.Re, &c
	case *mess.Response:
		c := *i
		c.Re = nil
		return i.Re, &c
	case *mess.Reply:
		c := *i
		c.Re = nil
		return i.Re, &c
	case *mess.Answer:
		c := *i
		c.Re = nil
		return i.Re, &c
	case *mess.Cancel:
		c := *i
		c.Re = nil
		return i.Re, &c
	case *mess.Suggestion:
		c := *i
		c.Re = nil
		return i.Re, &c
	}
	return nil, item
}

// configs registers executors, sets rules, stops, holds and lets go on.
func (x *Exchange) configs(ctx context.Context, in Inbound, p parts) ([]mess.Item, error) {
	var acks []mess.Item
	for _, c := range p.configs {
		ack := mess.Ack{ReceivedAt: mess.TimeOf(x.now())}
		if c.Executor != nil {
			var err error
			if ack, err = x.register(ctx, in.Actor, *c.Executor); err != nil {
				return nil, err
			}
		}
		if c.Routing != nil {
			if !in.Actor.Has(Operator) {
				return nil, mess.Errorf(mess.Forbidden, "config.routing: %q is not an operator, and only operators set routing rules", in.Actor.ID)
			}
			if err := x.registry.SetRules(ctx, *c.Routing); err != nil {
				return nil, x.broken(err)
			}
		}
		if c.Stop != nil {
			s, err := x.Stop(ctx, in.Actor, *c.Stop)
			if err != nil {
				return nil, err
			}
			ack.Stops = []mess.Stop{s}
		}
		if c.Drain != nil {
			h, err := x.Drain(ctx, in.Actor, *c.Drain)
			if err != nil {
				return nil, err
			}
			ack.Drain = &h
		}
		if c.Resume != nil {
			h, err := x.Resume(ctx, in.Actor, *c.Resume)
			if err != nil {
				return nil, err
			}
			ack.Resume = &h
		}
		acks = append(acks, &ack)
	}
	return acks, nil
}

// sayings takes what is said to threads.
func (x *Exchange) sayings(ctx context.Context, in Inbound, p parts) ([]mess.Item, error) {
	var acks []mess.Item
	var refusals []error
	for _, s := range p.sayings {
		ack, err := x.say(ctx, in, s)
		if err != nil {
			refusals = append(refusals, err)
			continue
		}
		acks = append(acks, &ack)
	}
	if len(acks) == 0 && len(refusals) > 0 {
		return nil, refusals[0]
	}
	for _, err := range refusals {
		ack := &mess.Ack{Extra: mess.Object{{Key: "error", Value: err.Error()}}}
		if r, ok := errors.AsType[*mess.Error](err); ok {
			ack.Ref, ack.Status = r.Ref, r.Status
		}
		acks = append(acks, ack)
	}
	return acks, nil
}

// broken is what a store that fails means to whoever has asked. A refusal stays as it is.
func (x *Exchange) broken(err error) error {
	if r, ok := errors.AsType[*mess.Error](err); ok {
		return r
	}
	x.log.Error("store failed", "err", err)
	if errors.Is(err, syscall.ENOSPC) {
		return mess.Errorf(mess.Unavailable, "the exchange has no space left on its disk for this; make room there, and try again")
	}
	return mess.Errorf(mess.Unavailable, "the exchange cannot store this now; try again")
}
