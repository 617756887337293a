package keys

import (
	"cmp"
	"crypto/rand"
	"encoding/hex"
	"path/filepath"
	"time"

	"github.com/messkit/messkit/exchange"
	"github.com/messkit/messkit/internal/order"
	"github.com/messkit/messkit/mess"
)

// MaxOverlap limits how long the old key stays valid after Renew.
const MaxOverlap = 7 * 24 * time.Hour

// Principal is an actor with a key, without the key itself.
type Principal struct {
	Actor    string     `json:"actor"`
	Roles    []string   `json:"roles"`
	Created  time.Time  `json:"created"`
	OldUntil *time.Time `json:"old_until,omitempty"` // the previous key is valid until then

	Capabilities []string `json:"capabilities,omitempty"` // that an executor may register; nil for all

	Person string `json:"person,omitempty"` // role of a person: operator, resident, guest or viewer; "" for a program
}

// List returns the actors with a key, sorted by name.
func (k *Keys) List() []Principal {
	k.mu.RLock()
	defer k.mu.RUnlock()
	old := map[string]*time.Time{}
	var list []Principal
	listed := false // the operator has a key for each exchange that shares the keys
	for _, h := range k.holders {
		switch {
		case h.Ends == nil && h.Actor == OperatorID && listed:
		case h.Ends == nil:
			listed = listed || h.Actor == OperatorID
			list = append(list, Principal{Actor: h.Actor, Roles: h.Roles, Created: h.Created, Capabilities: h.Capabilities, Person: h.Person.access().Role})
		case !h.ended():
			old[h.Actor] = h.Ends
		}
	}
	for i := range list {
		list[i].OldUntil = old[list[i].Actor]
	}
	order.By(list, func(a, b Principal) int { return cmp.Compare(a.Actor, b.Actor) })
	return list
}

// Has reports whether an actor has a key.
func (k *Keys) Has(actor string) bool {
	k.mu.RLock()
	defer k.mu.RUnlock()
	_, ok := k.current(actor)
	return ok
}

// Issue makes a key for an actor without one. The error is a *mess.Error with the code Conflict if
// the actor has a key, or has the name of the exchange itself.
func (k *Keys) Issue(actor string, roles exchange.Role) (string, error) {
	return k.Enroll(actor, Grant{Roles: roles})
}

// IssueAll makes keys for many actors with one write to the disk. If one of them has a key, it
// makes none.
func (k *Keys) IssueAll(actors map[string]exchange.Role) (map[string]string, error) {
	all, holders := make(map[string]string, len(actors)), map[string]holder{}
	for actor, roles := range actors {
		key, h, err := k.make(actor, Grant{Roles: roles})
		if err != nil {
			return nil, err
		}
		all[actor], holders[hash(key)] = key, h
	}
	err := k.update(func(next ring) error {
		for actor := range actors {
			if len(next.of[actor]) > 0 {
				return hasKeyError(actor)
			}
		}
		for sum, h := range holders {
			next.put(sum, h)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return all, nil
}

// Enroll makes a key with a grant, for an actor without one.
func (k *Keys) Enroll(actor string, g Grant) (string, error) {
	return k.issue(actor, g, func(next ring) error {
		if _, ok := next.current(actor); ok {
			return hasKeyError(actor)
		}
		return nil
	})
}

func hasKeyError(actor string) error {
	return mess.Errorf(mess.Conflict, "%s has a key already; use it, or have it revoked", actor)
}

// Granted returns the capabilities that an actor may register; nil for all.
func (k *Keys) Granted(actor string) []string {
	k.mu.RLock()
	defer k.mu.RUnlock()
	sum, ok := k.current(actor)
	if !ok {
		return nil
	}
	return k.holders[sum].Capabilities
}

// Rotate makes a new key for an actor. An old one ends at once.
func (k *Keys) Rotate(actor string, roles exchange.Role) (string, error) {
	return k.issue(actor, Grant{Roles: roles}, func(ring) error { return nil })
}

// Renew makes a new key with the same roles for an actor that has one. The old key stays valid for
// the overlap, so that its users can change over. A still older key ends at once. Renew also writes
// the key of the operator into its file.
func (k *Keys) Renew(actor string, overlap time.Duration) (string, error) {
	if overlap < 0 || overlap > MaxOverlap {
		return "", mess.Errorf(mess.Invalid, "overlap: %v is not between 0s and %v", overlap, MaxOverlap)
	}
	if actor == OperatorID && k.docs != nil {
		return k.renewSharedOperator(overlap)
	}
	var key string
	err := k.update(func(next ring) error {
		sum, ok := next.current(actor)
		if !ok {
			return noKey(actor)
		}
		old := next.holders[sum]
		if old.Person != nil {
			return isPerson(actor)
		}
		roles, err := Roles(old.Roles)
		if err != nil {
			return err
		}
		text, h, err := k.make(actor, Grant{roles, old.Capabilities})
		if err != nil {
			return err
		}
		next.drop(actor)
		if overlap > 0 {
			ends := time.Now().Add(overlap).UTC().Truncate(time.Second)
			old.Ends = &ends
			next.put(sum, old)
		}
		key = text
		next.put(hash(key), h)
		return nil
	})
	if err != nil {
		return "", err
	}
	if actor == OperatorID {
		err = replace(filepath.Join(k.dir, operatorFile), []byte(key+"\n"))
	}
	return key, err
}

// Revoke ends all keys of an actor, and the sessions that use them. had is false if there was
// none. It returns an error for the key of the operator, because without that key no operator
// could repair anything.
func (k *Keys) Revoke(actor string) (had bool, err error) {
	if actor == OperatorID {
		return false, mess.Errorf(mess.Conflict, "messkit does not revoke the operator's key; rotate it without an overlap")
	}
	err = k.update(func(next ring) error {
		if _, had = next.current(actor); !had {
			return noKey(actor)
		}
		next.drop(actor)
		return nil
	})
	if !had {
		return false, nil
	}
	return true, err
}

// SetRoles changes the roles of an actor. Its keys stay; the sessions that use them end and can
// start again.
func (k *Keys) SetRoles(actor string, roles exchange.Role) error {
	return k.update(func(next ring) error {
		if _, ok := next.current(actor); !ok {
			return noKey(actor)
		}
		if roles == 0 {
			return noRoles()
		}
		if actor == OperatorID && roles&exchange.Operator == 0 {
			return mess.Errorf(mess.Conflict, "%s cannot lose the role operator; the exchange needs its operator", actor)
		}
		for _, sum := range next.of[actor] {
			h := next.holders[sum]
			if h.Person != nil {
				return isPerson(actor)
			}
			h.Roles = Names(roles)
			next.put(sum, h)
		}
		return nil
	})
}

func noKey(actor string) error {
	return mess.Errorf(mess.NotFound, "%.60q has no key here; messkit keys list shows all keys", actor)
}

func noRoles() error {
	return mess.Errorf(mess.Invalid, "roles: none; write some of requester, executor, observer, operator")
}

// issue makes a new key of an actor in place of the old ones, if may allows it.
func (k *Keys) issue(actor string, g Grant, may func(next ring) error) (string, error) {
	key, h, err := k.make(actor, g)
	if err != nil {
		return "", err
	}
	err = k.update(func(next ring) error {
		if err := may(next); err != nil {
			return err
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

// make makes a key of an actor without writing it.
func (k *Keys) make(actor string, g Grant) (key string, h holder, err error) {
	if !mess.ValidID(actor) {
		return "", h, mess.Errorf(mess.Invalid, "%.60q cannot be an actor; use letters, digits and . _ : @ -, at most 128", actor)
	}
	if actor == exchange.Self {
		return "", h, mess.Errorf(mess.Conflict, "%q is the exchange itself; choose another name", actor)
	}
	if g.Roles == 0 {
		return "", h, noRoles()
	}
	var secret [16]byte
	_, _ = rand.Read(secret[:]) // never fails
	key = k.prefix() + hex.EncodeToString(secret[:])
	return key, holder{Actor: actor, Roles: Names(g.Roles), Created: time.Now().UTC().Truncate(time.Second), Capabilities: g.Capabilities}, nil
}
