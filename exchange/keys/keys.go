// Package keys holds who may speak to an exchange over a network: a key for
// each actor, stored as its hash. It knows nothing of doors or threads.
package keys

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/messkit/messkit/exchange"
	"github.com/messkit/messkit/internal/durable"
	"github.com/messkit/messkit/mess"
)

// OperatorID is the actor whose key lies in the data folder (decision 07).
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

	change sync.Mutex // held by a goroutine that writes keys or pins to the disk
	queued queue      // changes that wait for it
	pins   pins

	mu      sync.RWMutex // never held over the disk: who shows a key to stop something does not wait for that
	ring                 // what holds now
	watches map[*watch]bool
	codes   codes
}

// holder is who holds a key, as it is stored.
type holder struct {
	Actor   string     `json:"actor"`
	Roles   []string   `json:"roles"`
	Created time.Time  `json:"created"`
	Ends    *time.Time `json:"ends,omitempty"` // a newer key has taken its place; nil: it has no end

	// Capabilities are those that its code granted to an executor; nil: all.
	Capabilities []string `json:"capabilities,omitempty"`
}

func (h holder) ended() bool { return h.Ends != nil && !time.Now().Before(*h.Ends) }

// Open reads the keys of an exchange from a folder, and makes the operator's
// key if there is none.
func Open(dir, exchangeID string) (*Keys, error) {
	k := &Keys{dir: dir, exchange: exchangeID, ring: newRing(nil), watches: map[*watch]bool{}, codes: newCodes()}
	name := filepath.Join(dir, keysFile)
	data, err := os.ReadFile(name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return nil, err
	default:
		holders, err := parse(data)
		if err != nil {
			return nil, fmt.Errorf("%s: %w; restore it from a copy, or remove it and enrol everybody again", name, err)
		}
		k.ring = newRing(holders)
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
		if _, err := Roles(h.Roles); err != nil {
			return nil, fmt.Errorf("%s: %w", h.Actor, err)
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
	return durable.Replace(name, []byte(key+"\n"))
}

// prefix is what every key of this exchange begins with.
func (k *Keys) prefix() string { return "mess_" + k.exchange + "_" }

// maxKey is longer than any key: an id has 128 bytes at most.
const maxKey = 256

// Authenticate returns whose key it is. The error is a refusal with Why
// mess.Unauthorized, the same whatever is wrong with the key. It costs one hash
// of at most maxKey bytes and one look into a map, whatever the key is like and
// however many there are; the hash hides how much of it is right.
func (k *Keys) Authenticate(key string) (exchange.Actor, error) {
	sum := hash(key)
	k.mu.RLock()
	h, ok := k.holders[sum]
	k.mu.RUnlock()
	if !ok || h.ended() {
		return exchange.Actor{}, mess.Errorf(mess.Unauthorized, "the key is not known here; enrol again")
	}
	roles, _ := Roles(h.Roles) // checked when they were read
	return exchange.Actor{ID: h.Actor, Roles: roles}, nil
}

// Shared returns who an actor is and what it and the exchange know in common
// without telling anybody the key: the hex of its SHA-256. It reports false if
// the actor has no key.
func (k *Keys) Shared(actor string) (who exchange.Actor, secret []byte, ok bool) {
	k.mu.RLock()
	defer k.mu.RUnlock()
	sum, ok := k.current(actor)
	if !ok {
		return exchange.Actor{}, nil, false
	}
	roles, _ := Roles(k.holders[sum].Roles) // checked when they were read
	return exchange.Actor{ID: actor, Roles: roles}, []byte(sum), true
}

// replace writes a file; a test has it hang.
var replace = durable.Replace

// digest is SHA-256; a test counts how often it is asked.
var digest = sha256.Sum256

func hash(key string) string {
	sum := digest([]byte(key[:min(len(key), maxKey)]))
	return hex.EncodeToString(sum[:])
}

// save makes next the keys, on disk first: what cannot be written does not
// hold. Keys whose time is over are left out. What goes on under a key that has
// changed is ended. k.change is held.
func (k *Keys) save(next ring) error {
	next.tidy()
	data, err := json.MarshalIndent(next.holders, "", "  ")
	if err != nil {
		return err
	}
	if err := replace(filepath.Join(k.dir, keysFile), data); err != nil {
		return err
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	k.ring = next
	k.look()
	return nil
}
