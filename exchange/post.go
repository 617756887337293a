package exchange

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/messkit/messkit/exchange/thread"
	"github.com/messkit/messkit/exchange/transition"
	"github.com/messkit/messkit/mess"
	"github.com/messkit/messkit/mess/messeaf"
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
// declinedChange for itself, and the ack says which.
func (x *Exchange) Post(ctx context.Context, in Inbound) (mess.Message, error) {
	if in.Actor.ID == Self {
		return mess.Message{}, mess.Errorf(mess.Forbidden, "nobody but the exchange itself is called %q", Self)
	}
	if err := in.Message.Validate(); err != nil {
		return mess.Message{}, mess.Errorf(mess.Invalid, "%v", err)
	}
	if err := thread.CheckMedia(in.Message); err != nil {
		return mess.Message{}, err
	}
	p, err := sortItems(in.Message)
	if err != nil {
		return mess.Message{}, err
	}
	x.markAlive(ctx, in.Actor)
	answer := mess.Message{From: Self, Received: mess.TimeOf(x.now())}
	for _, take := range []func(context.Context, Inbound, sortedItems) ([]mess.Item, error){x.postConfigs, x.postRequests, x.postToThreads, x.answerQueries} {
		items, err := take(ctx, in, p)
		if err != nil {
			return mess.Message{}, err
		}
		answer.Items = append(answer.Items, items...)
	}
	return answer, nil
}

// sortedItems is a message by what is done with its items.
type sortedItems struct {
	configs  []*mess.Config
	requests []*mess.Request
	others   []mess.Item // unknown items beside requests
	sayings  []threadPost
	queries  []*mess.Query
}

// threadPost is what is said to one thread.
type threadPost struct {
	ref   string
	items []mess.Item
}

func sortItems(m mess.Message) (sortedItems, error) {
	var p sortedItems
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

// postToThread files an item under each thread that it refers to.
func (p *sortedItems) say(message, own mess.Refs, item mess.Item) error {
	refs := own
	if len(refs) == 0 {
		refs = message
	}
	if len(refs) == 0 {
		return mess.Errorf(mess.Invalid, "%s.re: missing; name the thread", item.Kind())
	}
	for _, ref := range refs {
		i := slices.IndexFunc(p.sayings, func(s threadPost) bool { return s.ref == ref })
		if i < 0 {
			p.sayings = append(p.sayings, threadPost{ref: ref})
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

// postConfigs registers executors, sets rules, stops, holds and lets go on.
func (x *Exchange) postConfigs(ctx context.Context, in Inbound, p sortedItems) ([]mess.Item, error) {
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
				return nil, x.storeError(err)
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

// postToThreads takes what is said to threads.
func (x *Exchange) postToThreads(ctx context.Context, in Inbound, p sortedItems) ([]mess.Item, error) {
	var acks []mess.Item
	var refusals []error
	for _, s := range p.sayings {
		ack, err := x.postToThread(ctx, in, s)
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

// PostExternal takes a message that another program has put into a thread's folder. It
// is judged as if its sender had posted it, as requester and executor, never as
// operator: a file proves nobody. What is refused stays in the thread, as
// evidence of what was said, with an ack that says why.
func (x *Exchange) PostExternal(ctx context.Context, ref string, m mess.Message) error {
	s := threadPost{ref: ref} // where it lies says what it is about
	if len(m.Re) == 1 && messeaf.ThreadRef(m.Re[0]) == ref {
		s.ref = m.Re[0]
	}
	for _, item := range m.Items {
		own, bare := splitRe(item)
		if len(own) == 1 && strings.HasPrefix(own[0], ref+"/") {
			s.ref = own[0]
		}
		s.items = append(s.items, bare)
	}
	m.Items, m.Re = s.items, mess.Refs{s.ref}
	in := Inbound{Actor: Actor{ID: m.From, Roles: Requester | ExecutorRole}, Channel: "file", Message: m}
	err := x.checkExternal(m)
	if err == nil {
		x.markAlive(ctx, in.Actor)
		_, err = x.postToThread(ctx, in, s)
	}
	if r, ok := errors.AsType[*mess.Error](err); ok && !errors.Is(r, mess.Unavailable) {
		x.log.Warn("a message that another program has put into a thread is refused", "ref", ref, "from", m.From, "err", err)
		err = x.recordRejected(ctx, in, s, r.Error())
	}
	return err
}

// checkExternal refuses what nobody may say in a thread.
func (x *Exchange) checkExternal(m mess.Message) error {
	if m.From == Self {
		return mess.Errorf(mess.Forbidden, "nobody but the exchange itself is called %q", Self)
	}
	if err := m.Validate(); err != nil {
		return mess.Errorf(mess.Invalid, "%v", err)
	}
	return nil
}

// recordRejected keeps what was refused.
func (x *Exchange) recordRejected(ctx context.Context, in Inbound, s threadPost, why string) error {
	_, err := x.step(ctx, messeaf.ThreadRef(s.ref), func(Envelope) transition.Input {
		i := x.input(in.Actor, in.Channel, in.Message)
		i.Noted = why
		return i
	})
	return err
}
