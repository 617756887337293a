package mesh

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/messkit/messkit/exchange"
	"github.com/messkit/messkit/exchange/channel/mesh/delivery"
	"github.com/messkit/messkit/exchange/channel/mesh/peers"
	"github.com/messkit/messkit/exchange/channel/mesh/state"
	"github.com/messkit/messkit/exchange/channel/mesh/wire"
	"github.com/messkit/messkit/internal/mistake"
	"github.com/messkit/messkit/internal/secret"
	"github.com/messkit/messkit/internal/wait"
	"github.com/messkit/messkit/mess"
)

// shared has the values that all parts of the adapter use. Its own fields do not change after Open.
type shared struct {
	x        *exchange.Exchange
	cfg      peers.Config
	opts     Options
	base     string // where peers reach this agent: http://192.168.1.20:8420
	log      *slog.Logger
	store    *state.Store
	registry *peers.Registry
	*documents
	*background
}

// documents are the documents that the exchange stores for the adapter.
type documents struct {
	x       *exchange.Exchange
	failing atomic.Bool // the exchange did not store the last document
}

// The prefixes of the names of documents, by kind.
const (
	docSeen       = "seen-"
	docPending    = "work-"
	docTask       = "task-"
	docAssignment = "given-"
	docOutgoing   = "out-"
	docRequest    = "ask-"
	docFile       = "file-"
	docText       = "text-"
)

// stored decodes a document.
func stored[T any](doc []byte) (v T, _ error) {
	err := json.Unmarshal(doc, &v)
	return v, err
}

// background runs jobs while the adapter runs.
type background struct {
	log  *slog.Logger
	wake chan struct{} // receives when there is a job

	mu   sync.Mutex
	jobs []func(context.Context)
}

// audit writes a received message to the audit log.
func (s *shared) audit(in *incoming, status, detail string) {
	line := in.line
	line.Status, line.Detail = status, detail
	s.store.Audit(line)
}

// lineOf converts an envelope to a line of the audit log.
func lineOf(e wire.Envelope) state.Line {
	return state.Line{
		From: e.From, To: e.To, Type: string(e.Type), ID: e.ID, Subject: e.Payload.Subject, Body: e.Payload.Body, CorrelationID: e.CorrelationID,
		ConversationID: e.ConversationID, ReplyContext: string(e.ReplyContext), Signed: e.Signature != "", Session: e.Session,
		Metadata: e.Payload.Metadata.Without(messKey),
	}
}

// notify sends a notification to people (ntfy, webhook).
func (s *shared) notify(p mess.Priority, subject, body string) {
	if s.opts.Notice == nil {
		return
	}
	text := subject
	if body = strings.TrimSpace(body); body != "" && !strings.HasSuffix(subject, body) {
		text += "\n" + clip(body, maxNotice, "...")
	}
	s.opts.Notice(p, text)
}

// maxNotice is the largest part of a text in a notification, in bytes.
const maxNotice = 1000

// escalate notifies people of a message that the agent gives up.
func (s *shared) escalate(l state.DeadLetter, reason string) {
	s.log.Warn("mesh: delivery of a message has failed for good", "to", l.To, "id", l.ID, "why", reason)
	s.notify(mess.Elevated, "A message to "+l.To+" was not delivered: "+reason, "messkit mesh audit --id "+l.ID+" shows it")
}

func (s *shared) inSession(key string, m state.InSession) error {
	if key == "" {
		return nil
	}
	return s.store.InSession(key, m)
}

// save stores a document; nil removes it.
func (d *documents) save(ctx context.Context, name string, v any) error {
	if v == nil {
		return d.saveRaw(ctx, name, nil)
	}
	doc, err := json.Marshal(v)
	if err != nil {
		return err
	}
	return d.saveRaw(ctx, name, doc)
}

// saveRaw stores an encoded document, and records whether the exchange could store it.
func (d *documents) saveRaw(ctx context.Context, name string, doc []byte) error {
	err := d.x.SaveChannelState(ctx, channel, name, doc)
	if ctx.Err() == nil {
		d.failing.Store(err != nil)
	}
	return err
}

// spawn starts a job as soon as the adapter runs.
func (b *background) spawn(job func(context.Context)) {
	b.mu.Lock()
	b.jobs = append(b.jobs, job)
	b.mu.Unlock()
	wait.Notify(b.wake)
}

// run starts the jobs in g until ctx ends. A panic ends only the job that caused it, because
// a message of a peer can be its cause.
func (b *background) run(ctx context.Context, g *errgroup.Group) {
	for {
		for _, job := range b.takeJobs() {
			g.Go(func() error {
				defer mistake.Caught(b.log, "channel", channel)
				job(ctx)
				return nil
			})
		}
		select {
		case <-ctx.Done():
			return
		case <-b.wake:
		}
	}
}

func (b *background) takeJobs() []func(context.Context) {
	b.mu.Lock()
	defer b.mu.Unlock()
	jobs := b.jobs
	b.jobs = nil
	return jobs
}

// incoming is a received message.
type incoming struct {
	wire.Envelope
	text    string // as received
	peer    *peers.Agent
	session string // session key, "" for none
	back    string // session key for the answer, "" for none
	signed  bool
	line    state.Line
}

// open decrypts an encrypted message: its text, and the MESS message in its metadata.
func (in *incoming) open() error {
	if !in.Payload.Encrypted {
		return nil
	}
	body, err := in.peer.Settings().Seal.Open(in.Payload.Body)
	if err != nil {
		return reject(http.StatusBadRequest, "sealed", "payload.body: "+err.Error())
	}
	if inner := in.Payload.Metadata.Get(messKey); strings.HasPrefix(inner, `{"enc":`) {
		if inner, err = in.peer.Settings().Seal.Open(inner); err != nil {
			return reject(http.StatusBadRequest, "sealed", "payload.metadata.mess: "+err.Error())
		}
		in.Payload.Metadata = in.Payload.Metadata.With(messKey, inner)
	}
	in.Payload.Body = body
	return nil
}

// keys returns the keys by which dedup recognizes a message.
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

// newID returns a new message id.
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

// replyTarget is where one of the requests for a task gets its answer.
type replyTarget struct {
	ID           string          `json:"id"`
	URL          string          `json:"url,omitempty"` // "": the address of the peer
	Token        string          `json:"token,omitempty"`
	Context      json.RawMessage `json:"context,omitempty"`
	Conversation string          `json:"conversation,omitempty"`
	Session      json.RawMessage `json:"session,omitempty"`
	SessionKey   string          `json:"session_key,omitempty"`
	Sealed       bool            `json:"sealed,omitempty"`
	Subject      string          `json:"subject,omitempty"`
	Answer       string          `json:"answer,omitempty"` // id of the response
	Sent         bool            `json:"sent,omitempty"`   // the response is in the outbox
}

// outgoing is a message in the outbox.
type outgoing struct {
	ID         string    `json:"id"`
	To         string    `json:"to"`
	Text       string    `json:"text"` // envelope, signed if the peer has a key
	Signature  string    `json:"signature,omitempty"`
	Path       string    `json:"path,omitempty"`
	URL        string    `json:"url,omitempty"` // address from the request; "": Path at the peer
	Token      string    `json:"token,omitempty"`
	SessionKey string    `json:"session_key,omitempty"`
	Priority   string    `json:"priority,omitempty"`
	Alert      bool      `json:"alert,omitempty"`
	Expires    time.Time `json:"expires"`
	Once       bool      `json:"once,omitempty"`    // not stored, and sent once
	NoRetry    bool      `json:"noRetry,omitempty"` // sent once
	Through    bool      `json:"through,omitempty"` // message of another agent, which goes out unchanged

	done func(delivery.Outcome) // called with the outcome; nil: no caller waits for it
}

func (o outgoing) name() string { return docOutgoing + digest(o.To+"\x00"+o.ID) }

// body returns the body of the HTTP request.
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

// descriptionKey is the field of a MESS file entry for its description.
const descriptionKey = "description"

// entry converts a file to content of a MESS message.
func (f Attached) entry() mess.Entry {
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

// messKey is the metadata field with the whole MESS message. It is a string, because peers may
// change the form of numbers.
const messKey = wire.MessKey

// messFile is the attachment with a MESS message that is too large for the metadata.
const messFile = "message.mess.json"

// messAsFile makes a file of a MESS message for a peer, encrypted if the message is.
func messAsFile(p *peers.Agent, text []byte, seal bool) (Attached, error) {
	if seal || p.Settings().Config.Encrypt {
		sealed, err := p.Sealed(string(text))
		if err != nil {
			return Attached{}, err
		}
		text = []byte(sealed)
	}
	return Attached{Name: messFile, MIME: "application/json", Data: text}, nil
}
