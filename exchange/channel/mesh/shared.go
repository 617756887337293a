package mesh

import (
	"context"
	"encoding/json"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"

	"golang.org/x/sync/errgroup"

	"github.com/messkit/messkit/exchange"
	"github.com/messkit/messkit/exchange/channel/mesh/peers"
	"github.com/messkit/messkit/exchange/channel/mesh/state"
	"github.com/messkit/messkit/exchange/channel/mesh/wire"
	"github.com/messkit/messkit/internal/mistake"
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
