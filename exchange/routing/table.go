package routing

import (
	"maps"
	"slices"
	"strings"

	"github.com/messkit/messkit/mess"
)

// Table has the listed executors and the rules of one moment. It is immutable: a change makes a new
// table, which shares the unchanged parts.
type Table struct {
	all          *group
	notified     *group // executors with addresses for notifications
	byCapability index
	byPlace      index // by each name of a served place
	byAccess     index // by the names in access, which contain other places
	rules        []mess.Rule
}

// group is a set of executors, sorted by id.
type group struct{ robots, people []*Executor }

func (g *group) size() int { return len(g.robots) + len(g.people) }

// NewTable makes a table of executors.
func NewTable(list ...*Executor) *Table {
	list = slices.SortedFunc(slices.Values(list), func(a, b *Executor) int { return strings.Compare(a.ID, b.ID) })
	return &Table{
		all:          groupOf(list),
		notified:     groupOf(slices.DeleteFunc(slices.Clone(list), func(e *Executor) bool { return !e.notified() })),
		byCapability: indexOf(list, abilities),
		byPlace:      indexOf(list, places),
		byAccess:     indexOf(list, accesses),
	}
}

func groupOf(list []*Executor) *group {
	g := &group{}
	for _, e := range list {
		of := g.list(e.Person)
		*of = append(*of, e)
	}
	return g
}

func indexOf(list []*Executor, keys func(*Executor) []string) (x index) {
	by := map[string][]*Executor{}
	for _, e := range list {
		for _, key := range keys(e) {
			by[key] = append(by[key], e)
		}
	}
	for _, key := range slices.Sorted(maps.Keys(by)) {
		x = append(x, keyed{key, groupOf(by[key])})
	}
	return x
}

// WithRules returns the table with other rules, in the order of their precedence.
func (t *Table) WithRules(rules ...mess.Rule) *Table {
	n := *t
	n.rules = nil
	byDefault := func(r mess.Rule) bool { return r.Default != nil }
	for _, r := range rules {
		if !byDefault(r) {
			n.rules = append(n.rules, r)
		}
	}
	for _, r := range rules {
		if byDefault(r) { // after all others
			n.rules = append(n.rules, mess.Rule{Prefer: r.Default.Prefer})
		}
	}
	return &n
}

// With returns the table with an executor, which replaces the one with the same id.
func (t *Table) With(e *Executor) *Table {
	n, was := *t, t.Executor(e.ID)
	edit := func(x index, keys func(*Executor) []string) index {
		is := keys(e)
		if was != nil {
			left := slices.DeleteFunc(keys(was), func(key string) bool { return slices.Contains(is, key) })
			x = x.edit(left, was, (*group).without)
		}
		return x.edit(is, e, (*group).with)
	}
	n.all = t.all.with(e)
	if n.notified = t.notified.without(e); e.notified() {
		n.notified = n.notified.with(e)
	}
	n.byCapability, n.byPlace, n.byAccess = edit(t.byCapability, abilities), edit(t.byPlace, places), edit(t.byAccess, accesses)
	return &n
}

// Without returns the table without an executor.
func (t *Table) Without(id string) *Table {
	n, e := *t, t.Executor(id)
	if e == nil {
		return t
	}
	edit := func(x index, keys func(*Executor) []string) index { return x.edit(keys(e), e, (*group).without) }
	n.all, n.notified = t.all.without(e), t.notified.without(e)
	n.byCapability, n.byPlace, n.byAccess = edit(t.byCapability, abilities), edit(t.byPlace, places), edit(t.byAccess, accesses)
	return &n
}

// abilities returns the ids of the capabilities of an executor, each once.
func abilities(e *Executor) []string {
	var list []string
	for _, c := range e.Capabilities {
		list = append(list, c.ID)
	}
	return withoutDuplicates(list)
}

// places returns the names of the served places, each once, without those in access.
func places(e *Executor) []string {
	list := slices.Concat(e.areas, e.access)
	for _, name := range e.access {
		for _, end, ok := strings.Cut(name, "/"); ok; _, end, ok = strings.Cut(end, "/") {
			list = append(list, end)
		}
	}
	return withoutDuplicates(list)
}

// accesses returns the names in access, each once.
func accesses(e *Executor) []string { return withoutDuplicates(e.access) }

func withoutDuplicates(list []string) []string {
	list = slices.Clone(list)
	slices.Sort(list)
	return slices.Compact(list)
}

func byID(e *Executor, id string) int { return strings.Compare(e.ID, id) }

// list returns the list of a group for robots or for people.
func (g *group) list(person bool) *[]*Executor {
	if person {
		return &g.people
	}
	return &g.robots
}

// with returns the group with an executor, which replaces the one with the same id.
func (g *group) with(e *Executor) *group {
	n := *g
	list, other := n.list(e.Person), n.list(!e.Person)
	*other = leftOut(*other, e.ID)
	i, there := slices.BinarySearchFunc(*list, e.ID, byID)
	rest := (*list)[i:]
	if there {
		rest = rest[1:]
	}
	*list = slices.Concat((*list)[:i], []*Executor{e}, rest)
	return &n
}

func (g *group) without(e *Executor) *group {
	return &group{leftOut(g.robots, e.ID), leftOut(g.people, e.ID)}
}

// leftOut returns a list without an executor.
func leftOut(list []*Executor, id string) []*Executor {
	if i, there := slices.BinarySearchFunc(list, id, byID); there {
		return slices.Concat(list[:i], list[i+1:])
	}
	return list
}

// Executor returns an executor by id, or nil.
func (t *Table) Executor(id string) *Executor {
	for _, list := range [][]*Executor{t.all.robots, t.all.people} {
		if i, ok := slices.BinarySearchFunc(list, id, byID); ok {
			return list[i]
		}
	}
	return nil
}

// Len returns the number of executors.
func (t *Table) Len() int { return t.all.size() }

// All returns the executors, sorted by id. The caller must not change the list.
func (t *Table) All() []*Executor { return t.all.inOrder() }

// Notified returns the executors with addresses for notifications, sorted by id.
func (t *Table) Notified() []*Executor { return t.notified.inOrder() }

func (g *group) inOrder() []*Executor {
	list, people := make([]*Executor, 0, g.size()), g.people
	for _, e := range g.robots {
		for len(people) > 0 && people[0].ID < e.ID {
			list, people = append(list, people[0]), people[1:]
		}
		list = append(list, e)
	}
	return append(list, people...)
}

// Has reports whether some executor has a capability.
func (t *Table) Has(c mess.Capability) bool {
	g := t.byCapability.group(c.ID)
	able := func(e *Executor) bool { return e.has(c) }
	return slices.ContainsFunc(g.robots, able) || slices.ContainsFunc(g.people, able)
}

// SamePlaces reports whether executors serve the same places in both tables.
func (t *Table) SamePlaces(other *Table) bool {
	same := func(a, b keyed) bool { return a.key == b.key }
	return slices.EqualFunc(t.byPlace, other.byPlace, same) && slices.EqualFunc(t.byAccess, other.byAccess, same)
}

// serving returns the executors that serve a place. served reports whether there are any. If they
// are several groups, g is nil.
func (t *Table) serving(place string) (g *group, served bool) {
	var found []*group
	if one := t.byPlace.group(place); one.size() > 0 {
		found = append(found, one)
	}
	for i, c := range place {
		if c != '/' {
			continue
		}
		if one := t.byAccess.group(place[:i]); one.size() > 0 {
			found = append(found, one)
		}
	}
	if len(found) == 1 {
		return found[0], true
	}
	return nil, len(found) > 0
}

// index has groups by key, sorted by key. It is immutable.
type index []keyed

type keyed struct {
	key string
	*group
}

func (x index) find(key string) (int, bool) {
	return slices.BinarySearchFunc(x, key, func(a keyed, b string) int { return strings.Compare(a.key, b) })
}

// emptyGroup is the group of an unknown key.
var emptyGroup = &group{}

func (x index) group(key string) *group {
	if i, ok := x.find(key); ok {
		return x[i].group
	}
	return emptyGroup
}

// edit returns the index with changed groups for some keys.
func (x index) edit(keys []string, e *Executor, change func(*group, *Executor) *group) index {
	if len(keys) == 0 {
		return x
	}
	x = slices.Clone(x)
	for _, key := range keys {
		i, ok := x.find(key)
		switch g := change(x.group(key), e); {
		case !ok:
			x = slices.Insert(x, i, keyed{key, g})
		case g.size() == 0:
			x = slices.Delete(x, i, i+1)
		default:
			x[i].group = g
		}
	}
	return x
}
