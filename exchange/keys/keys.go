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
		if err := json.Unmarshal(data, &k.holders); err != nil {
			return nil, fmt.Errorf("%s: %w; restore it from a copy, or remove it and enrol everybody again", name, err)
		}
	}
	return k, k.operator()
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
	return writeFile(name, []byte(key+"\n"))
}

// prefix is what every key of this exchange begins with.
func (k *Keys) prefix() string { return "mess_" + k.exchange + "_" }

// Issue makes a key for an actor that has none. It is a refusal with Why
// mess.Conflict if it has one.
func (k *Keys) Issue(actor string, roles exchange.Role) (string, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.has(actor) {
		return "", mess.Refuse(mess.Conflict, "%s has a key already; use it, or have it revoked", actor)
	}
	return k.issue(actor, roles)
}

// Rotate makes a new key for an actor; the old one ends.
func (k *Keys) Rotate(actor string, roles exchange.Role) (string, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.drop(actor)
	return k.issue(actor, roles)
}

// Revoke ends an actor's key. It reports whether there was one.
func (k *Keys) Revoke(actor string) (bool, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if !k.has(actor) {
		return false, nil
	}
	k.drop(actor)
	return true, k.save()
}

func (k *Keys) has(actor string) bool {
	for _, h := range k.holders {
		if h.Actor == actor {
			return true
		}
	}
	return false
}

func (k *Keys) drop(actor string) {
	maps.DeleteFunc(k.holders, func(_ string, h holder) bool { return h.Actor == actor })
}

func (k *Keys) issue(actor string, roles exchange.Role) (string, error) {
	var secret [16]byte
	_, _ = rand.Read(secret[:]) // never fails
	key := k.prefix() + hex.EncodeToString(secret[:])
	h := holder{Actor: actor, Created: time.Now().UTC().Truncate(time.Second)}
	for _, name := range slices.Sorted(maps.Keys(roleNames)) {
		if roles&roleNames[name] != 0 {
			h.Roles = append(h.Roles, name)
		}
	}
	k.holders[hash(key)] = h
	if err := k.save(); err != nil {
		delete(k.holders, hash(key))
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

func (k *Keys) save() error {
	data, err := json.MarshalIndent(k.holders, "", "  ")
	if err != nil {
		return err
	}
	return writeFile(filepath.Join(k.dir, keysFile), data)
}

// writeFile replaces a file, readable by its owner alone, whole or not at all.
func writeFile(name string, data []byte) error {
	f, err := os.CreateTemp(filepath.Dir(name), "."+filepath.Base(name)+"-*") // made with 0600
	if err != nil {
		return err
	}
	defer os.Remove(f.Name()) // is gone where all went well
	_, err = f.Write(data)
	if err := errors.Join(err, f.Sync(), f.Close()); err != nil {
		return err
	}
	return os.Rename(f.Name(), name)
}
