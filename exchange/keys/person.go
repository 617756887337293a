package keys

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/messkit/messkit/exchange"
	"github.com/messkit/messkit/internal/order"
	"github.com/messkit/messkit/mess"
)

// What a person may do on the page.
const (
	PersonOperator = "operator" // everything
	PersonResident = "resident" // operates all devices, answers questions, and sees tasks and history
	PersonGuest    = "guest"    // operates some devices until a date, and sees nothing else
	PersonViewer   = "viewer"   // sees what a resident sees, and never acts
)

// personRoles has the roles of each kind of person. A guest has none: its scope says what it may do.
var personRoles = map[string]exchange.Role{
	PersonOperator: exchange.Requester | exchange.Observer | exchange.Operator,
	PersonResident: exchange.Requester | exchange.Observer | exchange.Resident,
	PersonGuest:    0,
	PersonViewer:   exchange.Observer,
}

// Access has the rights of a person.
type Access struct {
	Role  string     `json:"role"`
	Until *time.Time `json:"until,omitempty"` // the end; nil for none. A guest has one.
	Areas []string   `json:"areas,omitempty"` // of a guest; nil for all
	Entry bool       `json:"entry,omitempty"` // a guest may also use locks, doors and alarms
}

// Person is a person with a key.
type Person struct {
	Actor string `json:"-"`
	Name  string `json:"name"`
	Access
}

// Limits of the access of a guest.
const (
	maxAreas = 64
	maxArea  = 100 // bytes
)

// Check returns an error for an access that nobody can have. The error is a *mess.Error.
func (a Access) Check() error {
	if _, ok := personRoles[a.Role]; !ok {
		return mess.Errorf(mess.Invalid, "role: %.20q is unknown; write operator, resident, guest or viewer", a.Role)
	}
	guest := a.Role == PersonGuest
	switch {
	case guest && a.Until == nil:
		return mess.Errorf(mess.Invalid, "until: missing; a guest needs the time at which the access ends")
	case a.Role == PersonOperator && a.Until != nil:
		return mess.Errorf(mess.Invalid, "until: an operator has no end date; leave it out")
	case !guest && (a.Areas != nil || a.Entry):
		return mess.Errorf(mess.Invalid, "areas, entry: are for a guest only; leave them out")
	case a.Areas != nil && len(a.Areas) == 0:
		return mess.Errorf(mess.Invalid, "areas: the list is empty; name some, or leave it out for all")
	case len(a.Areas) > maxAreas || slices.ContainsFunc(a.Areas, func(s string) bool { return len(s) > maxArea }):
		return mess.Errorf(mess.Invalid, "areas: too many or too long; write %d areas of %d bytes at most", maxAreas, maxArea)
	}
	return nil
}

func (p *Person) access() Access {
	if p == nil {
		return Access{}
	}
	return p.Access
}

// Ended reports whether the end of an access has passed.
func (a Access) Ended() bool { return a.Until != nil && !time.Now().Before(*a.Until) }

func (p *Person) roles() exchange.Role { return personRoles[p.access().Role] }

func (p *Person) scope() *exchange.Scope {
	if p == nil || p.Role != PersonGuest {
		return nil
	}
	return &exchange.Scope{Areas: p.Areas, Entry: p.Entry, Until: *p.Until}
}

func isPerson(actor string) error {
	return mess.Errorf(mess.Conflict, "%s is a person; change the access on the page People, or invite the person again", actor)
}

// checkEnd returns an error for an access that has ended already.
func (a Access) checkEnd() error {
	if a.Ended() {
		return mess.Errorf(mess.Invalid, "until: %s is over; write a later time", a.Until.Format(time.RFC3339))
	}
	return nil
}

// Admit makes the key of a person. An older key of that person ends at once. The error is a
// *mess.Error with the code Conflict if the actor is a program.
func (k *Keys) Admit(actor, name string, a Access) (string, error) {
	if err := cmp.Or(a.Check(), a.checkEnd()); err != nil {
		return "", err
	}
	key, h, err := k.make(actor, Grant{Roles: exchange.Requester})
	if err != nil {
		return "", err
	}
	h.Roles, h.Person = Names(personRoles[a.Role]), &Person{Name: name, Access: a}
	err = k.update(func(next ring) error {
		if sum, ok := next.current(actor); ok && next.holders[sum].Person == nil {
			return hasKeyError(actor)
		}
		next.drop(actor)
		next.put(hash(key), h)
		return nil
	})
	if err != nil {
		return "", err
	}
	return key, nil
}

// SetAccess changes what a person may do. The person's key stays; streams that use it end and can
// start again.
func (k *Keys) SetAccess(actor string, a Access) error {
	if err := cmp.Or(a.Check(), a.checkEnd()); err != nil {
		return err
	}
	return k.update(func(next ring) error {
		sum, ok := next.current(actor)
		if !ok || next.holders[sum].Person == nil {
			return mess.Errorf(mess.NotFound, "%.60q is no person with a key here", actor)
		}
		h := next.holders[sum]
		h.Roles, h.Person = Names(personRoles[a.Role]), &Person{Name: h.Person.Name, Access: a}
		next.put(sum, h)
		return nil
	})
}

// Persons returns the persons with a key, sorted by name. Those whose access has ended are among them.
func (k *Keys) Persons() (list []Person) {
	k.mu.RLock()
	defer k.mu.RUnlock()
	for _, h := range k.holders {
		if h.Person != nil {
			p := *h.Person
			p.Actor = h.Actor
			list = append(list, p)
		}
	}
	order.By(list, func(a, b Person) int {
		return cmp.Or(strings.Compare(a.Name, b.Name), strings.Compare(a.Actor, b.Actor))
	})
	return list
}

// Person returns the person with a key. ok is false for a program and an unknown actor.
func (k *Keys) Person(actor string) (_ Person, ok bool) {
	k.mu.RLock()
	defer k.mu.RUnlock()
	sum, ok := k.current(actor)
	if !ok || k.holders[sum].Person == nil {
		return Person{}, false
	}
	p := *k.holders[sum].Person
	p.Actor = actor
	return p, true
}
