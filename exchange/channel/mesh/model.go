package mesh

import (
	"bytes"
	"crypto/aes"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/time/rate"

	"github.com/messkit/messkit/exchange"
	"github.com/messkit/messkit/exchange/channel/mesh/delivery"
	"github.com/messkit/messkit/exchange/channel/mesh/state"
	"github.com/messkit/messkit/exchange/channel/mesh/wire"
	"github.com/messkit/messkit/internal/secret"
	"github.com/messkit/messkit/mess"
)

// peer is another agent while the door runs.
type peer struct {
	name string
	is   atomic.Pointer[peerSettings]
	rate *rate.Limiter

	// turn is held while one of its messages is taken: never over the network.
	turn sync.Mutex
}

// settings are the settings of a peer now.
func (p *peer) settings() *peerSettings { return p.is.Load() }

// peerSettings of a peer. They are replaced when the registry changes.
type peerSettings struct {
	cfg   Peer
	key   wire.Key // that signs
	seal  wire.Key // that encrypts
	where delivery.Peer
}

// actor is who a peer is at the exchange. Nobody else can have that name: ids
// have no slashes.
func (p *peer) actor() exchange.Actor {
	return exchange.Actor{ID: actorPrefix + p.name, Roles: exchange.Requester}
}

const actorPrefix = "mesh/"

// executor is who a peer is as an executor.
func (p *peer) executor() exchange.Actor {
	c := p.settings().cfg
	id := c.Executor
	if id == "" {
		id = p.name
	}
	return exchange.Actor{ID: id, Roles: exchange.ExecutorRole}
}

// isExecutor reports whether a peer is an executor.
func (p *peer) isExecutor() bool { return len(p.settings().cfg.Capabilities) > 0 }

// encrypts reports whether messkit encrypts a message for the peer. asked says that the
// message or the peer asks for it.
func (p *peer) encrypts(asked bool) bool {
	return (asked || p.settings().cfg.Encrypt) && p.settings().seal != ""
}

// sealed is a text as the peer alone can read it.
func (p *peer) sealed(text string) (string, error) {
	var iv [aes.BlockSize]byte
	_, _ = rand.Read(iv[:]) // never fails
	return p.settings().seal.Seal(text, iv)
}

// messAsFile is a message of MESS as a file, encrypted where the text is.
func (p *peer) messAsFile(text []byte, seal bool) (file, error) {
	if seal || p.settings().cfg.Encrypt {
		sealed, err := p.sealed(string(text))
		if err != nil {
			return file{}, err
		}
		text = []byte(sealed)
	}
	return file{Name: messFile, MIME: "application/json", Data: text}, nil
}

// unsealed is a message of MESS that came as a file.
func (p *peer) unsealed(data []byte) ([]byte, error) {
	if !bytes.HasPrefix(data, []byte(`{"enc":`)) {
		return data, nil
	}
	text, err := p.settings().seal.Open(string(data))
	return []byte(text), err
}

// incoming is a message that may be taken.
type incoming struct {
	wire.Envelope
	text    string // as it came
	peer    *peer
	session string // its key, "" for none
	back    string // the key that goes back with an answer, "" for none
	signed  bool
	line    state.Line
}

// open decrypts what is encrypted: the text, and the message of ours in it.
func (in *incoming) open() error {
	if !in.Payload.Encrypted {
		return nil
	}
	body, err := in.peer.settings().seal.Open(in.Payload.Body)
	if err != nil {
		return reject(http.StatusBadRequest, "sealed", "payload.body: "+err.Error())
	}
	if inner := in.Payload.Metadata.Get(messKey); strings.HasPrefix(inner, `{"enc":`) {
		if inner, err = in.peer.settings().seal.Open(inner); err != nil {
			return reject(http.StatusBadRequest, "sealed", "payload.metadata.mess: "+err.Error())
		}
		in.Payload.Metadata = in.Payload.Metadata.With(messKey, inner)
	}
	in.Payload.Body = body
	return nil
}

// keys are what a message is known by.
func (in *incoming) keys() []string {
	keys := []string{idKey(in.From, in.ID)}
	if in.IdempotencyKey != "" {
		keys = append(keys, in.From+"\x00key\x00"+string(in.Type)+"\x00"+in.IdempotencyKey)
	}
	return keys
}

func idKey(peer, id string) string { return peer + "\x00id\x00" + id }

func digest(s string) string {
	sum := sha256.Sum256([]byte(s))
	return hex.EncodeToString(sum[:16])
}

// newID is an id for a message.
func newID() string {
	var b [16]byte
	_, _ = rand.Read(b[:]) // never fails
	b[6], b[8] = b[6]&0x0f|0x40, b[8]&0x3f|0x80
	return fmt.Sprintf("msg_%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
}

func newNonce() string {
	var b [16]byte
	_, _ = rand.Read(b[:]) // never fails
	return hex.EncodeToString(b[:])
}

// replyTarget is one request for a task: the answer goes to each.
type replyTarget struct {
	ID           string          `json:"id"`
	URL          string          `json:"url,omitempty"` // "": the peer's own
	Token        string          `json:"token,omitempty"`
	Context      json.RawMessage `json:"context,omitempty"`
	Conversation string          `json:"conversation,omitempty"`
	Session      json.RawMessage `json:"session,omitempty"`
	SessionKey   string          `json:"session_key,omitempty"`
	Sealed       bool            `json:"sealed,omitempty"`
	Subject      string          `json:"subject,omitempty"`
	Answer       string          `json:"answer,omitempty"` // the id of the response
	Sent         bool            `json:"sent,omitempty"`   // it is on its way
}

// outgoing is a message that is on its way until it is delivered or a dead
// letter.
type outgoing struct {
	ID         string    `json:"id"`
	To         string    `json:"to"`
	Text       string    `json:"text"` // the envelope, signed where it is
	Signature  string    `json:"signature,omitempty"`
	Path       string    `json:"path,omitempty"`
	URL        string    `json:"url,omitempty"` // where the peer wants it; "": Path of its own
	Token      string    `json:"token,omitempty"`
	SessionKey string    `json:"session_key,omitempty"`
	Priority   string    `json:"priority,omitempty"`
	Alert      bool      `json:"alert,omitempty"`
	Expires    time.Time `json:"expires"`
	Once       bool      `json:"once,omitempty"`    // it is not kept, and not tried again
	NoRetry    bool      `json:"noRetry,omitempty"` // it is not tried again
	Through    bool      `json:"through,omitempty"` // it is of somebody else, and goes as it is

	done func(delivery.Outcome) // told what came of it; nil for nobody
}

func (o outgoing) name() string { return docOutgoing + digest(o.To+"\x00"+o.ID) }

// body is the body of the request.
func (o outgoing) body() []byte {
	return wire.Hook{Message: o.Text, SessionKey: o.SessionKey}.Text()
}

func (o outgoing) message() delivery.Message {
	return delivery.Message{
		ID: o.ID, To: o.To, Path: o.Path, URL: o.URL, Token: secret.Text(o.Token), Body: o.body(), Signature: o.Signature, Priority: o.Priority,
		Alert: o.Alert, Expires: o.Expires, Once: o.Once || o.NoRetry,
	}
}

const relayedVia = "relayed_via_"

// file is an attachment with its bytes.
type file struct {
	Name, MIME string
	Data       []byte
	About      string // description, "" for none
}

// descriptionKey is the member of a file of MESS that says what is in it.
const descriptionKey = "description"

// entry is a file as content of a message.
func (f file) entry() mess.Entry {
	kind, _, _ := strings.Cut(f.MIME, "/")
	if kind != "image" && kind != "audio" && kind != "video" {
		kind = "file"
	}
	media := mess.Media{URI: mess.DataURI(f.MIME, f.Data), Name: f.Name, MIME: f.MIME}
	if f.About != "" {
		media.Extra = mess.Object{{Key: descriptionKey, Value: f.About}}
	}
	return mess.ObjectEntry(kind, media)
}

// messKey is the member of the metadata in which a message of MESS goes whole, as
// text: peers print numbers anew.
const messKey = wire.MessKey

// messFile is the attachment that has it where it is too large for that.
const messFile = "message.mess.json"
