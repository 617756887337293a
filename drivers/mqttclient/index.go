package mqttclient

import (
	"slices"
	"strings"
)

// index finds the members that subscribe to a topic (MQTT 3.1.1 §4.7). A map contains the
// filters without wildcards, and a tree of levels the others, so the time for a topic does
// not grow with the number of filters.
type index struct {
	exact     map[string]*entry
	wildcards node
}

// entry is a filter with its members.
type entry struct {
	filter  string
	subs    []sub
	refused bool // the broker has rejected the filter
	cuts    int  // how often the broker has disconnected on this filter alone
}

// sub is one member of a filter.
type sub struct {
	m *Member
	// awaits is true until the first message of the topic after Join or Again. The broker
	// repeats a retained message for each new subscription, and the index delivers it only
	// to members that await it: for the others an older message would replace a newer one.
	awaits bool
}

// node is a level of the filters with wildcards.
type node struct {
	next  map[string]*node
	entry *entry
}

func hasWildcard(filter string) bool { return strings.ContainsAny(filter, "+#") }

// find returns the entry of a filter, or nil.
func (x *index) find(filter string) *entry {
	if !hasWildcard(filter) {
		return x.exact[filter]
	}
	n := &x.wildcards
	for level := range strings.SplitSeq(filter, "/") {
		if n = n.next[level]; n == nil {
			return nil
		}
	}
	return n.entry
}

// add adds a member to a filter.
func (x *index) add(filter string, m *Member) {
	e := x.find(filter)
	if e == nil {
		e = &entry{filter: filter}
		x.put(e)
	}
	e.subs = append(e.subs, sub{m, true})
}

func (x *index) put(e *entry) {
	if !hasWildcard(e.filter) {
		if x.exact == nil {
			x.exact = map[string]*entry{}
		}
		x.exact[e.filter] = e
		return
	}
	n := &x.wildcards
	for level := range strings.SplitSeq(e.filter, "/") {
		if n.next == nil {
			n.next = map[string]*node{}
		}
		if n.next[level] == nil {
			n.next[level] = &node{}
		}
		n = n.next[level]
	}
	n.entry = e
}

// remove removes a member from a filter, and reports whether it was the last.
func (x *index) remove(filter string, m *Member) (last bool) {
	e := x.find(filter)
	if e == nil {
		return false
	}
	e.subs = slices.DeleteFunc(e.subs, func(s sub) bool { return s.m == m })
	if len(e.subs) > 0 {
		return false
	}
	if hasWildcard(filter) {
		x.wildcards.drop(strings.Split(filter, "/"))
	} else {
		delete(x.exact, filter)
	}
	return true
}

// drop removes a filter and the levels that no other filter needs.
func (n *node) drop(levels []string) {
	if len(levels) == 0 {
		n.entry = nil
		return
	}
	next := n.next[levels[0]]
	next.drop(levels[1:])
	if next.entry == nil && len(next.next) == 0 {
		delete(n.next, levels[0])
	}
}

// match calls each for every filter that matches the topic.
func (x *index) match(topic string, each func(*entry)) {
	if e := x.exact[topic]; e != nil {
		each(e)
	}
	if len(x.wildcards.next) > 0 {
		x.wildcards.match(topic, true, each)
	}
}

func (n *node) match(rest string, first bool, each func(*entry)) {
	level, rest, more := strings.Cut(rest, "/")
	collect := func(n *node) {
		if n == nil {
			return
		}
		if more {
			n.match(rest, false, each)
			return
		}
		if n.entry != nil {
			each(n.entry)
		}
		if all := n.next["#"]; all != nil && all.entry != nil { // "a/#" also matches "a"
			each(all.entry)
		}
	}
	collect(n.next[level])
	if first && strings.HasPrefix(level, "$") { // no wildcard matches a first level with $ (§4.7.2)
		return
	}
	collect(n.next["+"])
	if all := n.next["#"]; all != nil && all.entry != nil {
		each(all.entry)
	}
}

// all calls each for every filter.
func (x *index) all(each func(*entry)) {
	for _, e := range x.exact {
		each(e)
	}
	x.wildcards.all(each)
}

func (n *node) all(each func(*entry)) {
	if n.entry != nil {
		each(n.entry)
	}
	for _, next := range n.next {
		next.all(each)
	}
}
