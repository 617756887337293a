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

// Inbound is a message of a channel for the exchange.
type Inbound struct {
	Actor          Actor
	Channel        string // http, mqtt, mcp, cli, local and so on
	Proof          Proof  // evidence that a person sends it; ByKey is none
	Message        mess.Message
	DependsOnLater bool // its requests may depend on later requests of the same requester
}

// Origin is the exchange of a site, whose threads this process reads in a copy. Its methods are safe for
// concurrent use. Their errors are *mess.Error.
type Origin interface {
	// Post takes a message for the site, and returns the immediate answer.
	Post(ctx context.Context, in Inbound) (mess.Message, error)
	// Waiting returns the requests that the site has not taken, as far as the actor may see them and the
	// filter selects them. Each looks like a thread, with its client id as ref.
	Waiting(ctx context.Context, actor Actor, f Filter) ([]Thread, error)
	// Find returns the one with a client id of the actor. It also finds those that the site has refused.
	Find(ctx context.Context, actor Actor, id string) (Thread, error)
}

// Post takes a message, and returns the immediate answer of the exchange: acks, and responses to
// queries. The error is a *mess.Error; a rejected message has changed nothing. The exchange takes
// all requests of a message or none, unless its store fails. It accepts or rejects each other part
// for itself, and the acks say which.
//
// The way of a message through this package:
//
//  1. Post validates it, and sortItems sorts its items (post.go).
//  2. postConfigs registers executors, sets rules, and gives orders (registration.go, orders.go).
//  3. postRequests makes a thread of each request (create.go).
//  4. postToThreads makes one step of each thread that the message names: resolve finds the
//     thread (query.go), transition.Apply judges the message, and the store gets the step
//     (thread_post.go).
//  5. answerQueries answers queries (query.go).
//
// After each stored step, commit updates the open threads and their offers, and publishes the
// messages to subscribers (storage.go, offers.go, subscribe.go). A message from the folder of a
// thread comes in through PostExternal.
func (x *Exchange) Post(ctx context.Context, in Inbound) (answer mess.Message, err error) {
	defer func() { x.meter.Refused(err) }()
	if in.Actor.ID == Self {
		return mess.Message{}, mess.Errorf(mess.Forbidden, "only the exchange itself has the name %q", Self)
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
	if x.cfg.Origin != nil {
		return x.cfg.Origin.Post(ctx, in)
	}
	x.markAlive(ctx, in.Actor)
	answer = mess.Message{From: Self, Received: mess.TimeOf(x.now())}
	for _, handle := range []func(context.Context, Inbound, sortedItems) ([]mess.Item, error){x.postConfigs, x.postRequests, x.postToThreads, x.answerQueries} {
		items, err := handle(ctx, in, p)
		switch {
		case err == nil:
			answer.Items = append(answer.Items, items...)
		case len(answer.Items) == 0:
			return mess.Message{}, err
		default:
			answer.Items = append(answer.Items, x.refusalAck(err))
		}
	}
	return answer, nil
}

// sortedItems has the items of a message, by the step of Post that processes them.
type sortedItems struct {
	configs  []*mess.Config
	requests []*mess.Request
	others   []mess.Item // unknown items in a message with requests
	posts    []threadPost
	queries  []*mess.Query
}

// threadPost has the items for one thread.
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
			if err := p.addToThreads(m.Re, nil, i); err != nil {
				return p, err
			}
		default:
			own, bare := splitRe(i)
			if a, ok := i.(*mess.Answer); ok && len(m.Re) > 0 {
				own, bare = nil, a // its re names the question, in the thread of the message
			}
			if err := p.addToThreads(m.Re, own, bare); err != nil {
				return p, err
			}
		}
	}
	if len(m.Items) == 0 {
		return p, mess.Errorf(mess.Invalid, "MESS: the list is empty; add an item")
	}
	return p, nil
}

// addToThreads adds an item to the post of each thread that it names.
func (p *sortedItems) addToThreads(message, own mess.Refs, item mess.Item) error {
	refs := own
	if len(refs) == 0 {
		refs = message
	}
	if len(refs) == 0 {
		return mess.Errorf(mess.Invalid, "%s.re: missing; name the thread", item.Kind())
	}
	for _, ref := range refs {
		i := slices.IndexFunc(p.posts, func(s threadPost) bool { return s.ref == ref })
		if i < 0 {
			p.posts = append(p.posts, threadPost{ref: ref})
			i = len(p.posts) - 1
		}
		p.posts[i].items = append(p.posts[i].items, item)
	}
	return nil
}

// splitRe removes the re field of an item: in a thread, messages have it at their own level
// (MESSE-AF 2.1, "The re: Field").
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

// postConfigs registers executors, sets routing rules, and gives orders to stop, drain and resume
// (MESS 1.0 section 7.4).
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

// postToThreads makes a step of each thread. If every step fails, the error is the first one.
func (x *Exchange) postToThreads(ctx context.Context, in Inbound, p sortedItems) ([]mess.Item, error) {
	var acks []mess.Item
	var rejections []error
	for _, s := range p.posts {
		ack, err := x.postToThread(ctx, in, s)
		if err != nil {
			rejections = append(rejections, err)
			continue
		}
		acks = append(acks, &ack)
	}
	if len(acks) == 0 && len(rejections) > 0 {
		return nil, rejections[0]
	}
	for _, err := range rejections {
		acks = append(acks, x.refusalAck(err))
	}
	return acks, nil
}

// refusalAck returns the ack for a part of a message that the exchange has rejected, while it has
// accepted another part.
func (x *Exchange) refusalAck(err error) *mess.Ack {
	x.meter.Refused(err)
	ack := &mess.Ack{Extra: mess.Object{{Key: "error", Value: err.Error()}}}
	if r, ok := errors.AsType[*mess.Error](err); ok {
		ack.Ref, ack.Status = r.Ref, r.Status
	}
	return ack
}

// PostExternal takes a message that another program has written into the folder of a thread. The
// exchange judges it as if its sender had posted it, as requester and executor but never as
// operator: a file proves no identity. A rejected message stays in the thread as evidence, with an
// ack that has the reason.
func (x *Exchange) PostExternal(ctx context.Context, ref string, m mess.Message) error {
	s := threadPost{ref: ref} // the folder determines the thread
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
		x.log.Warn("the exchange has rejected a message of another program in a thread", "ref", ref, "from", m.From, "err", err)
		err = x.recordRejected(ctx, in, s, r.Error())
	}
	return err
}

// checkExternal rejects invalid messages, and those in the name of the exchange.
func (x *Exchange) checkExternal(m mess.Message) error {
	if m.From == Self {
		return mess.Errorf(mess.Forbidden, "only the exchange itself has the name %q", Self)
	}
	if err := m.Validate(); err != nil {
		return mess.Errorf(mess.Invalid, "%v", err)
	}
	return nil
}

// waiting adds the requests that the Origin has not taken to the first page of a list.
func (x *Exchange) waiting(ctx context.Context, actor Actor, f Filter, page Page) (Page, error) {
	if x.cfg.Origin == nil || f.Cursor != "" {
		return page, nil
	}
	list, err := x.cfg.Origin.Waiting(ctx, actor, f)
	var first []Envelope
	for i := range list {
		first = append(first, list[i].Envelope)
	}
	page.Threads = slices.Insert(page.Threads, 0, first...)
	return page, err
}

// find finds a request at the Origin that is no thread. Without any, it returns err.
func (x *Exchange) find(ctx context.Context, actor Actor, name string, err error) (Thread, error) {
	if x.cfg.Origin == nil || !errors.Is(err, mess.NotFound) {
		return Thread{}, err
	}
	return x.cfg.Origin.Find(ctx, actor, name)
}

// recordRejected stores a rejected message as evidence.
func (x *Exchange) recordRejected(ctx context.Context, in Inbound, s threadPost, reason string) error {
	_, err := x.step(ctx, messeaf.ThreadRef(s.ref), func(Envelope) transition.Input {
		i := x.input(in.Actor, in.Channel, in.Message)
		i.EvidenceReason = reason
		return i
	})
	return err
}
