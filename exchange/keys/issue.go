package keys

import (
	"cmp"
	"crypto/rand"
	"encoding/hex"
	"maps"
	"path/filepath"
	"time"

	"github.com/messkit/messkit/exchange"
	"github.com/messkit/messkit/internal/order"
	"github.com/messkit/messkit/mess"
)

// MaxOverlap is how long an old key may go on beside the new one.
const MaxOverlap = 7 * 24 * time.Hour

// Holder is who holds a key, without the key.
type Holder struct {
	Actor    string     `json:"actor"`
	Roles    []string   `json:"roles"`
	Created  time.Time  `json:"created"`
	OldUntil *time.Time `json:"old_until,omitempty"` // until then the key before is good as well

	Capabilities []string `json:"capabilities,omitempty"` // that an executor may register; nil: all
}

// List tells who holds a key, by name.
func (k *Keys) List() []Holder {
	k.mu.RLock()
	defer k.mu.RUnlock()
	old := map[string]*time.Time{}
	var list []Holder
	for _, h := range k.holders {
		switch {
		case h.Ends == nil:
			list = append(list, Holder{Actor: h.Actor, Roles: h.Roles, Created: h.Created, Capabilities: h.Capabilities})
		case !h.ended():
			old[h.Actor] = h.Ends
		}
	}
	for i := range list {
		list[i].OldUntil = old[list[i].Actor]
	}
	order.By(list, func(a, b Holder) int { return cmp.Compare(a.Actor, b.Actor) })
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
	k.change.Lock()
	defer k.change.Unlock()
	if _, ok := k.current(actor); ok {
		return "", mess.Refuse(mess.Conflict, "%s has a key already; use it, or have it revoked", actor)
	}
	return k.issue(actor, Grant{Roles: roles}, without(k.holders, actor))
}

// IssueAll makes keys for many actors with one write to the disk. An actor that has a
// key is a refusal, and nobody has one then.
func (k *Keys) IssueAll(actors map[string]exchange.Role) (map[string]string, error) {
	k.change.Lock()
	defer k.change.Unlock()
	next := maps.Clone(k.holders)
	for _, h := range next {
		if _, ok := actors[h.Actor]; ok {
			return nil, mess.Refuse(mess.Conflict, "%s has a key already; use it, or have it revoked", h.Actor)
		}
	}
	all := make(map[string]string, len(actors))
	for actor, roles := range actors {
		key, err := k.add(actor, Grant{Roles: roles}, next)
		if err != nil {
			return nil, err
		}
		all[actor] = key
	}
	return all, k.save(next)
}

// Enroll makes a key with what a code grants, for an actor that has none.
func (k *Keys) Enroll(actor string, g Grant) (string, error) {
	k.change.Lock()
	defer k.change.Unlock()
	if _, ok := k.current(actor); ok {
		return "", mess.Refuse(mess.Conflict, "%s has a key already; use it, or have it revoked", actor)
	}
	return k.issue(actor, g, without(k.holders, actor))
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
	k.change.Lock()
	defer k.change.Unlock()
	return k.issue(actor, Grant{Roles: roles}, without(k.holders, actor))
}

// Renew makes a new key with the same roles for an actor that has one. The old
// key is good for the overlap, so that whoever uses it can change over; one that
// is older still ends now. The operator's new key is in its file as well.
func (k *Keys) Renew(actor string, overlap time.Duration) (string, error) {
	if overlap < 0 || overlap > MaxOverlap {
		return "", mess.Refuse(mess.Invalid, "overlap: %v is not between 0s and %v", overlap, MaxOverlap)
	}
	k.change.Lock()
	defer k.change.Unlock()
	sum, ok := k.current(actor)
	if !ok {
		return "", noKey(actor)
	}
	old, next := k.holders[sum], without(k.holders, actor)
	roles, err := Roles(old.Roles)
	if err != nil {
		return "", err
	}
	if overlap > 0 {
		ends := time.Now().Add(overlap).UTC().Truncate(time.Second)
		old.Ends = &ends
		next[sum] = old
	}
	key, err := k.issue(actor, Grant{roles, old.Capabilities}, next)
	if err == nil && actor == OperatorID {
		err = replace(filepath.Join(k.dir, operatorFile), []byte(key+"\n"))
	}
	return key, err
}

// Revoke ends all keys of an actor, and what goes on under them. It reports
// whether there was one. The operator's is not revoked but renewed: without it
// nobody could mend anything.
func (k *Keys) Revoke(actor string) (bool, error) {
	k.change.Lock()
	defer k.change.Unlock()
	if actor == OperatorID {
		return false, mess.Refuse(mess.Conflict, "the operator's key cannot be revoked; rotate it without an overlap")
	}
	if _, ok := k.current(actor); !ok {
		return false, nil
	}
	return true, k.save(without(k.holders, actor))
}

// SetRoles gives an actor other roles; its keys stay, and what goes on under
// them is begun anew.
func (k *Keys) SetRoles(actor string, roles exchange.Role) error {
	k.change.Lock()
	defer k.change.Unlock()
	if _, ok := k.current(actor); !ok {
		return noKey(actor)
	}
	if roles == 0 {
		return noRoles()
	}
	if actor == OperatorID && roles&exchange.Operator == 0 {
		return mess.Refuse(mess.Conflict, "%s cannot lose the role operator; somebody must be able to mend things", actor)
	}
	next := maps.Clone(k.holders)
	for sum, h := range next {
		if h.Actor == actor {
			h.Roles = Names(roles)
			next[sum] = h
		}
	}
	return k.save(next)
}

func noKey(actor string) error {
	return mess.Refuse(mess.Unknown, "%.60q has no key here; messkit keys list tells who has", actor)
}

func noRoles() error {
	return mess.Refuse(mess.Invalid, "roles: none; write some of requester, executor, observer, operator")
}

// current finds the key of an actor that has no end. k.mu or k.change is held.
func (k *Keys) current(actor string) (sum string, ok bool) {
	sum, ok = k.newest[actor]
	return sum, ok
}

func without(holders map[string]holder, actor string) map[string]holder {
	rest := maps.Clone(holders)
	maps.DeleteFunc(rest, func(_ string, h holder) bool { return h.Actor == actor })
	return rest
}

// issue makes a key of an actor beside the others. k.change is held.
func (k *Keys) issue(actor string, g Grant, others map[string]holder) (string, error) {
	key, err := k.add(actor, g, others)
	if err != nil {
		return "", err
	}
	if err := k.save(others); err != nil {
		return "", err
	}
	return key, nil
}

// add puts a new key of an actor beside the others. It writes nothing.
func (k *Keys) add(actor string, g Grant, others map[string]holder) (string, error) {
	if !mess.ValidID(actor) {
		return "", mess.Refuse(mess.Invalid, "%.60q cannot be an actor; use letters, digits and . _ : @ -, at most 128", actor)
	}
	if actor == exchange.Self {
		return "", mess.Refuse(mess.Conflict, "%q is the exchange itself; choose another name", actor)
	}
	if g.Roles == 0 {
		return "", noRoles()
	}
	var secret [16]byte
	_, _ = rand.Read(secret[:]) // never fails
	key := k.prefix() + hex.EncodeToString(secret[:])
	others[hash(key)] = holder{Actor: actor, Roles: Names(g.Roles), Created: time.Now().UTC().Truncate(time.Second), Capabilities: g.Capabilities}
	return key, nil
}
