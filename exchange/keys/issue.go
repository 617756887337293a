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

// MaxOverlap is how long an old key may go on beside the new one.
const MaxOverlap = 7 * 24 * time.Hour

// Principal is who holds a key, without the key.
type Principal struct {
	Actor    string     `json:"actor"`
	Roles    []string   `json:"roles"`
	Created  time.Time  `json:"created"`
	OldUntil *time.Time `json:"old_until,omitempty"` // until then the key before is good as well

	Capabilities []string `json:"capabilities,omitempty"` // that an executor may register; nil: all
}

// List tells who holds a key, by name.
func (k *Keys) List() []Principal {
	k.mu.RLock()
	defer k.mu.RUnlock()
	old := map[string]*time.Time{}
	var list []Principal
	for _, h := range k.holders {
		switch {
		case h.Ends == nil:
			list = append(list, Principal{Actor: h.Actor, Roles: h.Roles, Created: h.Created, Capabilities: h.Capabilities})
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

// Issue makes a key for an actor that has none. It is a refusal with Why
// mess.Conflict if it has one, or if the exchange itself bears the name.
func (k *Keys) Issue(actor string, roles exchange.Role) (string, error) {
	return k.Enroll(actor, Grant{Roles: roles})
}

// IssueAll makes keys for many actors with one write to the disk. An actor that has a
// key is a refusal, and nobody has one then.
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
				return hasKey(actor)
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

// Enroll makes a key with what a code grants, for an actor that has none.
func (k *Keys) Enroll(actor string, g Grant) (string, error) {
	return k.issue(actor, g, func(next ring) error {
		if _, ok := next.current(actor); ok {
			return hasKey(actor)
		}
		return nil
	})
}

func hasKey(actor string) error {
	return mess.Errorf(mess.Conflict, "%s has a key already; use it, or have it revoked", actor)
}

// Granted are the capabilities that an actor may register, by the code with which it
// came; nil: all.
func (k *Keys) Granted(actor string) []string {
	k.mu.RLock()
	defer k.mu.RUnlock()
	sum, ok := k.current(actor)
	if !ok {
		return nil
	}
	return k.holders[sum].Capabilities
}

// Rotate makes a new key for an actor, whether or not it has one; the old one
// ends at once.
func (k *Keys) Rotate(actor string, roles exchange.Role) (string, error) {
	return k.issue(actor, Grant{Roles: roles}, func(ring) error { return nil })
}

// Renew makes a new key with the same roles for an actor that has one. The old
// key is good for the overlap, so that whoever uses it can change over; one that
// is older still ends now. The operator's new key is in its file as well.
func (k *Keys) Renew(actor string, overlap time.Duration) (string, error) {
	if overlap < 0 || overlap > MaxOverlap {
		return "", mess.Errorf(mess.Invalid, "overlap: %v is not between 0s and %v", overlap, MaxOverlap)
	}
	var key string
	err := k.update(func(next ring) error {
		sum, ok := next.current(actor)
		if !ok {
			return noKey(actor)
		}
		old := next.holders[sum]
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

// Revoke ends all keys of an actor, and what goes on under them. It reports
// whether there was one. The operator's is not revoked but renewed: without it
// nobody could mend anything.
func (k *Keys) Revoke(actor string) (had bool, err error) {
	if actor == OperatorID {
		return false, mess.Errorf(mess.Conflict, "the operator's key cannot be revoked; rotate it without an overlap")
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

// SetRoles gives an actor other roles; its keys stay, and what goes on under
// them is begun anew.
func (k *Keys) SetRoles(actor string, roles exchange.Role) error {
	return k.update(func(next ring) error {
		if _, ok := next.current(actor); !ok {
			return noKey(actor)
		}
		if roles == 0 {
			return noRoles()
		}
		if actor == OperatorID && roles&exchange.Operator == 0 {
			return mess.Errorf(mess.Conflict, "%s cannot lose the role operator; somebody must be able to mend things", actor)
		}
		for _, sum := range next.of[actor] {
			h := next.holders[sum]
			h.Roles = Names(roles)
			next.put(sum, h)
		}
		return nil
	})
}

func noKey(actor string) error {
	return mess.Errorf(mess.NotFound, "%.60q has no key here; messkit keys list tells who has", actor)
}

func noRoles() error {
	return mess.Errorf(mess.Invalid, "roles: none; write some of requester, executor, observer, operator")
}

// issue makes a new key of an actor in the place of those that it has, if may allows it.
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

// make makes a key of an actor. It writes nothing.
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
