package routing

import (
	"fmt"
	"iter"
	"strings"
	"time"

	"github.com/messkit/messkit/exchange/thread"
	"github.com/messkit/messkit/mess"
)

// Request is a pending thread, with the executors of one table.
type Request struct {
	table    *Table
	env      *thread.Envelope
	stopped  bool // a stop of everything allows only people to start it
	now      time.Time
	place    string // its location by name, in lower case
	served   bool   // an executor serves that place
	serving  *group // the executors that serve it, if they are one group
	declined map[string]bool
}

// manyDeclined is the number of declines from which a map replaces the list.
const manyDeclined = 8

// Request prepares the routing of a thread. stopped is true after a stop of everything: then no
// robot may start it.
func (t *Table) Request(env *thread.Envelope, stopped bool, now time.Time) Request {
	r := Request{table: t, env: env, stopped: stopped || env.Stopped, now: now}
	if a := env.Needs.Location; a != nil && a.Name != "" {
		r.place = strings.ToLower(a.Name)
		r.serving, r.served = t.serving(r.place)
	}
	if len(env.Declined) > manyDeclined {
		r.declined = map[string]bool{}
		for _, d := range env.Declined {
			r.declined[d.Executor] = true
		}
	}
	return r
}

// obstacle says why an executor may not take a request.
type obstacle int

const (
	none obstacle = iota
	noCapability
	notMeant
	wasStopped
	cannotConfirm
	notNow
	notThere
)

// CheckExecutor returns why an executor may not take a request, or nil. It ignores declines.
func (r Request) CheckExecutor(e *Executor) error {
	switch o, c := r.obstacle(e); o {
	case noCapability:
		return fmt.Errorf("it has no capability %s", c)
	case notMeant:
		return fmt.Errorf("the request names another executor for %s", c)
	case wasStopped:
		return fmt.Errorf("a client has stopped everything since this request; ask again")
	case cannotConfirm:
		return fmt.Errorf("it does not speak MESS 1.1, which confirm_before needs")
	case notNow:
		return fmt.Errorf("it is not available at this time")
	case notThere:
		return fmt.Errorf("the location is out of its reach")
	}
	return nil
}

// obstacle returns the same as CheckExecutor without a text, with the capability that is missing.
func (r Request) obstacle(e *Executor) (obstacle, string) {
	for _, c := range r.env.Needs.Requires {
		if !e.has(c) {
			return noCapability, c.ID
		}
		if !e.isMeant(c) {
			return notMeant, c.ID
		}
	}
	switch {
	case r.stopped && !e.Person:
		return wasStopped, ""
	case r.env.Needs.ConfirmBefore && !e.confirms():
		return cannotConfirm, ""
	case !e.hours.open(r.now):
		return notNow, ""
	case !r.reaches(e):
		return notThere, ""
	}
	return none, ""
}

// reaches reports whether the location of a request allows an executor. A circle excludes executors
// outside of it. A name excludes executors that list other areas, if some executor lists that name;
// the exchange cannot judge free text that no executor lists.
func (r Request) reaches(e *Executor) bool {
	a := r.env.Needs.Location
	switch {
	case a == nil:
		return true
	case a.Name == "":
		return e.at == nil || within(*e.at, *a)
	}
	return !r.served || e.serves(r.place)
}

// isCandidate reports whether an executor may take a request and has not declined it.
func (r Request) isCandidate(e *Executor) bool {
	o, _ := r.obstacle(e)
	return o == none && !r.hasDeclined(e.ID) && !(e.Person && r.env.IsBarred())
}

func (r Request) hasDeclined(id string) bool {
	if r.declined != nil {
		return r.declined[id]
	}
	return r.env.HasDeclined(id)
}

// smallestGroup returns the smallest group that contains all candidates: those with one of the
// required capabilities, or those that serve the place.
func (r Request) smallestGroup() *group {
	g := r.table.all
	fewer := func(one *group) {
		if one.size() < g.size() {
			g = one
		}
	}
	if r.serving != nil {
		fewer(r.serving)
	}
	for _, c := range r.env.Needs.Requires {
		fewer(r.table.byCapability.group(c.ID))
	}
	return g
}

// Candidates yields the executors that may take a request and have not declined it: robots first,
// then people.
func (r Request) Candidates() iter.Seq[*Executor] {
	return func(yield func(*Executor) bool) {
		g := r.smallestGroup()
		for _, list := range [][]*Executor{g.robots, g.people} {
			for _, e := range list {
				if r.isCandidate(e) && !yield(e) {
					return
				}
			}
		}
	}
}

// People yields the human candidates.
func (r Request) People() iter.Seq[*Executor] {
	return func(yield func(*Executor) bool) {
		for _, e := range r.smallestGroup().people {
			if r.isCandidate(e) && !yield(e) {
				return
			}
		}
	}
}

// matches reports whether a rule applies to a request.
func matches(m mess.Match, n thread.Needs) bool {
	return (m.Capability == "" || n.HasCapability(m.Capability)) &&
		(m.Urgency == "" || m.Urgency == n.Urgency) &&
		(m.Precision == "" || m.Precision == n.Precision)
}
