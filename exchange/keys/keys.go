// Package keys holds who may speak to an exchange over a network: a key for
// each actor, stored as its hash. It knows nothing of doors or threads.
package keys

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/messkit/messkit/exchange"
	"github.com/messkit/messkit/mess"
)

// OperatorID is the actor whose key lies in the data folder (decision 0004).
const OperatorID = "operator"

// Names of the files in the data folder.
const (
	keysFile     = "keys.json"
	operatorFile = "operator.key"
)

// Keys are the keys of one exchange. It is safe for concurrent use.
type Keys struct {
	dir      string
	exchange string

	mu      sync.RWMutex
	holders map[string]holder // by the hex of the key's SHA-256
}

// holder is who holds a key, as it is stored.
type holder struct {
	Actor   string    `json:"actor"`
	Roles   []string  `json:"roles"`
	Created time.Time `json:"created"`
}

var roleNames = map[string]exchange.Role{
	"requester": exchange.Requester, "executor": exchange.ExecutorRole, "observer": exchange.Observer, "operator": exchange.Operator,
}

// Open reads the keys of an exchange from a folder, and makes the operator's
// key if there is none.
func Open(dir, exchangeID string) (*Keys, error) {
	k := &Keys{dir: dir, exchange: exchangeID, holders: map[string]holder{}}
	name := filepath.Join(dir, keysFile)
	data, err := os.ReadFile(name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return nil, err
	default:
		if k.holders, err = parse(data); err != nil {
			return nil, fmt.Errorf("%s: %w; restore it from a copy, or remove it and enrol everybody again", name, err)
		}
	}
	return k, k.operator()
}

// parse reads the file of keys. A role that is not known is an error: without
// it somebody would be let in as somebody less.
func parse(data []byte) (map[string]holder, error) {
	var holders map[string]holder
	if err := json.Unmarshal(data, &holders); err != nil {
		return nil, err
	}
	if holders == nil {
		return nil, errors.New("there is no list of keys in it")
	}
	for _, h := range holders {
		for _, name := range h.Roles {
			if _, ok := roleNames[name]; !ok {
				return nil, fmt.Errorf("%s has the role %q, which is not known", h.Actor, name)
			}
		}
	}
	return holders, nil
}

// operator makes sure that the key in operator.key is the operator's.
func (k *Keys) operator() error {
	name := filepath.Join(k.dir, operatorFile)
	data, err := os.ReadFile(name)
	if err == nil {
		if who, err := k.Authenticate(strings.TrimSpace(string(data))); err == nil && who.ID == OperatorID {
			return nil
		}
	} else if !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	key, err := k.Rotate(OperatorID, exchange.Requester|exchange.Observer|exchange.Operator)
	if err != nil {
		return err
	}
	return WriteFile(name, []byte(key+"\n"))
}

// prefix is what every key of this exchange begins with.
func (k *Keys) prefix() string { return "mess_" + k.exchange + "_" }

// Issue makes a key for an actor that has none. It is a refusal with Why
// mess.Conflict if it has one, or if the exchange itself bears the name.
func (k *Keys) Issue(actor string, roles exchange.Role) (string, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if has(k.holders, actor) {
		return "", mess.Refuse(mess.Conflict, "%s has a key already; use it, or have it revoked", actor)
	}
	return k.issue(actor, roles)
}

// Rotate makes a new key for an actor; the old one ends.
func (k *Keys) Rotate(actor string, roles exchange.Role) (string, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.issue(actor, roles)
}

// Revoke ends an actor's key. It reports whether there was one.
func (k *Keys) Revoke(actor string) (bool, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if !has(k.holders, actor) {
		return false, nil
	}
	return true, k.save(without(k.holders, actor))
}

func has(holders map[string]holder, actor string) bool {
	for _, h := range holders {
		if h.Actor == actor {
			return true
		}
	}
	return false
}

func without(holders map[string]holder, actor string) map[string]holder {
	rest := maps.Clone(holders)
	maps.DeleteFunc(rest, func(_ string, h holder) bool { return h.Actor == actor })
	return rest
}

// issue makes the one key of an actor. k.mu is held.
func (k *Keys) issue(actor string, roles exchange.Role) (string, error) {
	if !mess.ValidID(actor) {
		return "", mess.Refuse(mess.Invalid, "%.60q cannot be an actor; use letters, digits and . _ : @ -, at most 128", actor)
	}
	if actor == exchange.Self {
		return "", mess.Refuse(mess.Conflict, "%q is the exchange itself; choose another name", actor)
	}
	var secret [16]byte
	_, _ = rand.Read(secret[:]) // never fails
	key := k.prefix() + hex.EncodeToString(secret[:])
	h := holder{Actor: actor, Created: time.Now().UTC().Truncate(time.Second)}
	for _, name := range slices.Sorted(maps.Keys(roleNames)) {
		if roles&roleNames[name] != 0 {
			h.Roles = append(h.Roles, name)
		}
	}
	next := without(k.holders, actor)
	next[hash(key)] = h
	if err := k.save(next); err != nil {
		return "", err
	}
	return key, nil
}

// Authenticate returns whose key it is. The error is a refusal with Why
// mess.Unauthentic, the same whatever is wrong with the key. What it costs does
// not depend on how many keys there are, nor on how much of the key is right:
// hashes are looked up.
func (k *Keys) Authenticate(key string) (exchange.Actor, error) {
	sum := hash(key)
	k.mu.RLock()
	h, ok := k.holders[sum]
	k.mu.RUnlock()
	if !ok {
		return exchange.Actor{}, mess.Refuse(mess.Unauthentic, "the key is not known here; enrol again")
	}
	who := exchange.Actor{ID: h.Actor}
	for _, name := range h.Roles {
		who.Roles |= roleNames[name]
	}
	return who, nil
}

func hash(key string) string {
	sum := sha256.Sum256([]byte(key))
	return hex.EncodeToString(sum[:])
}

// save makes holders the keys, on disk first: what cannot be written does not
// hold. k.mu is held.
func (k *Keys) save(holders map[string]holder) error {
	data, err := json.MarshalIndent(holders, "", "  ")
	if err != nil {
		return err
	}
	if err := WriteFile(filepath.Join(k.dir, keysFile), data); err != nil {
		return err
	}
	k.holders = holders
	return nil
}

// WriteFile replaces a file, readable by its owner alone, whole or not at all.
func WriteFile(name string, data []byte) error {
	f, err := os.CreateTemp(filepath.Dir(name), "."+filepath.Base(name)+"-*") // made with 0600
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	if err = errors.Join(err, f.Sync(), f.Close()); err == nil {
		err = os.Rename(f.Name(), name)
	}
	if err != nil {
		return errors.Join(fmt.Errorf("%s: %w", name, err), os.Remove(f.Name()))
	}
	return syncDir(filepath.Dir(name))
}

// syncDir makes a new name in a folder survive a power cut.
func syncDir(name string) error {
	d, err := os.Open(name)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}
