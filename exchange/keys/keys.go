// Package keys has the actors that may use an exchange over a network. Each has a key, and the
// package stores only its hash. It knows no channels and no threads.
package keys

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/messkit/messkit/exchange"
	"github.com/messkit/messkit/internal/durable"
	"github.com/messkit/messkit/mess"
)

// OperatorID is the actor whose key is in the data folder (decision 07).
const OperatorID = "operator"

// Names of the files in the data folder.
const (
	keysFile     = "keys.json"
	operatorFile = "operator.key"
)

// Keys has the keys of one exchange. It is safe for concurrent use.
type Keys struct {
	dir      string
	exchange string

	changes changes[ring]
	pins    pins

	mu       sync.RWMutex                 // never held during a write: authentication for a stop must not wait for the disk
	ring                                  // the present keys
	sessions map[string]map[*session]bool // by actor
	codes    codes

	// These are for keys that several exchanges share.
	docs      Documents // nil: this exchange has its own keys
	log       *slog.Logger
	sharing   chan struct{}     // has an element for each change under way; goroutines send to it before they take mu
	operators map[string]holder // keys of the operator at this exchange
}

// holder is the stored form of a key.
type holder struct {
	Actor   string     `json:"actor"`
	Roles   []string   `json:"roles"`
	Created time.Time  `json:"created"`
	Ends    *time.Time `json:"ends,omitempty"` // a newer key has replaced it; nil for no end

	// Capabilities has those that the enrollment code of an executor has granted; nil for all.
	Capabilities []string `json:"capabilities,omitempty"`

	// Shared marks a key in the file that the exchanges share. If they have ended it, it must not come back.
	Shared bool `json:"shared,omitempty"`

	Person *Person `json:"person,omitempty"` // whose key it is; nil for a program. It is immutable.
}

func (h holder) ended() bool {
	return h.Ends != nil && !time.Now().Before(*h.Ends) || h.Person.access().Ended()
}

// actor returns the actor of a key.
func (h holder) actor() exchange.Actor {
	roles, _ := Roles(h.Roles) // Open has checked them
	return exchange.Actor{ID: h.Actor, Roles: roles | h.Person.roles(), Scope: h.Person.scope()}
}

// Open reads the keys of an exchange from a folder, and makes the key of the operator if there is
// none.
func Open(dir, exchangeID string) (*Keys, error) {
	k := &Keys{dir: dir, exchange: exchangeID, ring: newRing(nil), sessions: map[string]map[*session]bool{}, sharing: make(chan struct{}, changesAtOnce), codes: newCodes()}
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

// parse reads the file of keys. An unknown role is an error, because the actor would have the wrong
// permissions without it.
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
		if h.Person != nil {
			if err := h.Person.Check(); err != nil {
				return nil, fmt.Errorf("%s: %w", h.Actor, err)
			}
		}
	}
	return holders, nil
}

// operator makes sure that operator.key has the key of the operator.
func (k *Keys) operator() error {
	name := filepath.Join(k.dir, operatorFile)
	data, err := os.ReadFile(name)
	if err == nil {
		if actor, err := k.Authenticate(strings.TrimSpace(string(data))); err == nil && actor.ID == OperatorID {
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

// prefix returns the prefix of every key of this exchange.
func (k *Keys) prefix() string { return "mess_" + k.exchange + "_" }

// maxKey is longer than any key: an id has at most 128 bytes.
const maxKey = 256

// Authenticate returns the actor of a key. The error is a *mess.Error with the code Unauthorized,
// the same for every wrong key. A call costs one hash of at most maxKey bytes and one map access,
// for any key and any number of keys. The hash hides how much of a wrong key is right.
func (k *Keys) Authenticate(key string) (exchange.Actor, error) {
	sum := hash(key)
	k.mu.RLock()
	h, ok := k.holders[sum]
	k.mu.RUnlock()
	if !ok || h.ended() {
		return exchange.Actor{}, mess.Errorf(mess.Unauthorized, "the exchange does not know the key; enroll again")
	}
	return h.actor(), nil
}

// Shared returns the actor with an id, and a secret that it shares with the exchange. The secret is
// the hex form of the SHA-256 of its key. If the actor has no key, ok is false.
func (k *Keys) Shared(id string) (actor exchange.Actor, secret []byte, ok bool) {
	k.mu.RLock()
	defer k.mu.RUnlock()
	sum, ok := k.current(id)
	if !ok {
		return exchange.Actor{}, nil, false
	}
	if k.holders[sum].ended() {
		return exchange.Actor{}, nil, false
	}
	return k.holders[sum].actor(), []byte(sum), true
}

// Secrets returns the actor with an id, and the secrets of all its valid keys. They are none for an
// actor without a key. See Shared for a secret.
func (k *Keys) Secrets(id string) (actor exchange.Actor, secrets [][]byte) {
	k.mu.RLock()
	defer k.mu.RUnlock()
	for _, sum := range k.of[id] {
		if h := k.holders[sum]; !h.ended() {
			actor, secrets = h.actor(), append(secrets, []byte(sum))
		}
	}
	return actor, secrets
}

// replace writes a file; a test makes it block.
var replace = durable.Replace

// digest is SHA-256; a test counts its calls.
var digest = sha256.Sum256

func hash(key string) string {
	sum := digest([]byte(key[:min(len(key), maxKey)]))
	return hex.EncodeToString(sum[:])
}

// save writes the next keys to the disk, and then puts them in force. It leaves out expired keys,
// and ends the sessions of changed ones. Only changes calls it.
func (k *Keys) save(next ring) error {
	next.removeExpired()
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
