package peers

import (
	"bytes"
	"cmp"
	"crypto/aes"
	"crypto/rand"
	"sync"
	"sync/atomic"

	"golang.org/x/time/rate"

	"github.com/messkit/messkit/exchange"
	"github.com/messkit/messkit/exchange/channel/mesh/delivery"
	"github.com/messkit/messkit/exchange/channel/mesh/wire"
)

// Agent is a peer: another agent of the mesh.
type Agent struct {
	Name string
	Rate *rate.Limiter // of its messages
	is   atomic.Pointer[Settings]

	// Turn serializes the messages of a peer. No caller holds it during a network call.
	Turn sync.Mutex
}

// Settings returns the current settings of a peer.
func (p *Agent) Settings() *Settings { return p.is.Load() }

// Settings are the settings of a peer. A change of the registry replaces them.
type Settings struct {
	Config Peer
	Key    wire.Key // for signatures
	Seal   wire.Key // for encryption
	Where  delivery.Peer
}

// Actor returns the actor of a peer as a requester. No API key can have this id, because ids of
// keys contain no slash.
func (p *Agent) Actor() exchange.Actor {
	return exchange.Actor{ID: ActorPrefix + p.Name, Roles: exchange.Requester}
}

// ActorPrefix is the beginning of the id of a peer as a requester.
const ActorPrefix = "mesh/"

// Executor returns the actor of a peer as an executor.
func (p *Agent) Executor() exchange.Actor {
	return exchange.Actor{ID: cmp.Or(p.Settings().Config.Executor, p.Name), Roles: exchange.ExecutorRole}
}

// IsExecutor reports whether a peer is an executor.
func (p *Agent) IsExecutor() bool { return len(p.Settings().Config.Capabilities) > 0 }

// Encrypts reports whether messkit encrypts a message for the peer. asked says that the
// message or the peer asks for it.
func (p *Agent) Encrypts(asked bool) bool {
	return (asked || p.Settings().Config.Encrypt) && p.Settings().Seal != ""
}

// Sealed encrypts a text for the peer.
func (p *Agent) Sealed(text string) (string, error) {
	var iv [aes.BlockSize]byte
	_, _ = rand.Read(iv[:]) // never fails
	return p.Settings().Seal.Seal(text, iv)
}

// Unsealed decrypts a MESS message from a file.
func (p *Agent) Unsealed(data []byte) ([]byte, error) {
	if !bytes.HasPrefix(data, []byte(`{"enc":`)) {
		return data, nil
	}
	text, err := p.Settings().Seal.Open(string(data))
	return []byte(text), err
}
