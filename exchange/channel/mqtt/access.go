package mqtt

import (
	"github.com/messkit/messkit/exchange"
	"github.com/messkit/messkit/exchange/channel/mqtt/homeassistant"
	"github.com/messkit/messkit/mess/topic"
)

// subject is a client that wants to read or write at the broker.
type subject struct {
	exchange.Actor
	// anonymous is true for a client on this machine without a key. It is the actor that the
	// topic names, unless that actor has a key.
	anonymous bool
}

// accessRules decide who may read and write which topic (rule 7 of the binding). They deny
// everything else.
type accessRules struct {
	root   topic.Root
	hasKey func(id string) bool // the actor needs a key
	// requesterOf returns the requester of a thread, or "".
	requesterOf   func(ref string) string
	homeAssistant bool // the configuration contains Home Assistant
}

// mayWrite reports whether s may publish to a topic.
func (r accessRules) mayWrite(s subject, name string) bool {
	if name == homeassistant.BirthTopic {
		return r.isHome(s)
	}
	t, ok := r.root.Parse(name)
	if !ok {
		return false
	}
	switch t.Kind {
	case topic.ExecutorStatus, topic.ExecutorCard, topic.ExecutorOut:
		return r.is(s, t.ID, exchange.ExecutorRole)
	case topic.AgentOut:
		return r.is(s, t.ID, exchange.Requester) || r.is(s, t.ID, exchange.Operator)
	case topic.ThreadFile:
		return s.anonymous || s.Has(exchange.ExecutorRole) // the exchange checks who holds the thread, and rejects others
	case topic.ExecutorNow, topic.StopLatch:
		return !s.anonymous && s.Has(exchange.Operator)
	}
	return false
}

// mayRead reports whether s may subscribe to a filter, or get a message on a topic. The broker
// asks for both.
func (r accessRules) mayRead(s subject, filter string) bool {
	if filter == topic.Anywhere {
		return true
	}
	sees := !s.anonymous && s.Roles&(exchange.Observer|exchange.Operator) != 0
	if homeassistant.OwnsTopic(filter) {
		return r.isHome(s) || r.homeAssistant && sees
	}
	t, ok := r.root.ParseFilter(filter)
	if !ok {
		return false
	}
	switch t.Kind {
	case topic.ExchangeStatus, topic.StopLatch:
		return true
	case topic.ExecutorStatus, topic.ExecutorCard:
		return sees || r.isHome(s) || r.is(s, t.ID, exchange.ExecutorRole)
	case topic.HomeState:
		return r.isHome(s) || r.homeAssistant && sees
	case topic.ExecutorIn, topic.ExecutorNow:
		return r.is(s, t.ID, exchange.ExecutorRole)
	case topic.AgentIn:
		return r.is(s, t.ID, exchange.Requester) || r.is(s, t.ID, exchange.Operator)
	case topic.ThreadState:
		if sees || t.ID == topic.Wild && !s.anonymous && s.Has(exchange.Requester) { // the broker asks again for each state
			return true
		}
		return !s.anonymous && s.Has(exchange.Requester) && s.ID == r.requesterOf(t.ID)
	}
	return false
}

// isHome reports whether s is Home Assistant.
func (r accessRules) isHome(s subject) bool {
	return r.homeAssistant && r.is(s, homeassistant.Actor, exchange.Requester)
}

// is reports whether s is the actor id in a role.
func (r accessRules) is(s subject, id string, role exchange.Role) bool {
	if s.anonymous {
		return topic.ValidID(id) && id != exchange.Self && !r.hasKey(id)
	}
	return s.ID == id && s.Has(role)
}
