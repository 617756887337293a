// Package mesh is the MESH 1.0 channel of an exchange: it makes the exchange an agent of a mesh. A
// request of a peer becomes a task of the exchange with the peer as its requester, and the result
// goes back to the peer. The package translates, and decides nothing about tasks.
package mesh

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"
	"golang.org/x/time/rate"

	"github.com/messkit/messkit/exchange"
	"github.com/messkit/messkit/exchange/channel/mesh/delivery"
	"github.com/messkit/messkit/exchange/channel/mesh/peers"
	"github.com/messkit/messkit/exchange/channel/mesh/state"
	"github.com/messkit/messkit/exchange/channel/mesh/wire"
	"github.com/messkit/messkit/internal/wait"
	"github.com/messkit/messkit/mess"
)

// channel is the name of this channel in threads.
const channel = "mesh"

// Options has the dependencies of the adapter in addition to its configuration.
type Options struct {
	Dir     string // folder for files
	Base    string // address at which peers reach the agent, if Config.URL is ""
	Version string
	// YesNo reads the answer to a confirmation.
	YesNo func(text string) (yes, no, stop bool)
	// Storage returns why the exchange can store nothing now; nil: the adapter learns it from the
	// next document.
	Storage func() error
	// Watch is the time between two checks of the registry and the token file; 0: 2 s.
	Watch time.Duration
	// Notice sends a notification to people (ntfy, webhook); nil: the adapter sends none.
	Notice func(p mess.Priority, text string)
	// Through makes the HTTP client for a peer; nil: package delivery makes it.
	Through func(p delivery.Peer, total time.Duration) *http.Client
}

// Adapter is the channel adapter of MESH. Make it with Open, and keep Run running.
type Adapter struct {
	*shared
	files       *fileServer
	outbox      *outbox
	requests    *requests
	tasks       *tasks
	assignments *assignments
	incidents   *incidents
	inbound     *inbound
}

// Open restores the state of an earlier run and registers the peers that are executors.
// Config.Load must have loaded cfg.
func Open(ctx context.Context, x *exchange.Exchange, cfg peers.Config, opts Options, log *slog.Logger) (*Adapter, error) {
	base, err := delivery.Base(cmp.Or(cfg.URL, opts.Base))
	if err != nil {
		return nil, fmt.Errorf("mesh: url: %w", err)
	}
	store, err := state.Open(opts.Dir, time.Now, log)
	if err != nil {
		return nil, err
	}
	registry, addresses, err := peers.Open(cfg, opts.Dir, opts.Watch, log)
	if err != nil {
		return nil, err
	}
	s := &shared{
		x: x, cfg: cfg, opts: opts, base: base.String(), log: log, store: store, documents: &documents{x: x},
		background: &background{log: log, wake: make(chan struct{}, 1)}, registry: registry,
	}
	post := delivery.New(addresses, delivery.Config{Version: opts.Version, RetryAfter: cfg.RetryAfter, Client: opts.Through}, store, log)
	a := newAdapter(s, post)
	a.restore()
	return a, a.assignments.register(ctx)
}

// newAdapter connects the parts of an adapter. Each part knows the parts below it.
func newAdapter(s *shared, post *delivery.Post) *Adapter {
	a := &Adapter{shared: s}
	a.files = &fileServer{shared: s, files: map[string]servedFile{}}
	a.outbox = &outbox{shared: s, files: a.files, post: post, deliveries: map[string]*awaited{}}
	a.requests = &requests{shared: s, files: a.files, outbox: a.outbox, byID: map[string]*outgoingRequest{}}
	a.outbox.ended = a.requests.recordDelivery
	a.tasks = &tasks{
		shared: s, files: a.files, outbox: a.outbox,
		pending: map[string]*pendingRequest{}, tasks: map[string]*task{}, byAsked: map[string]string{}, questions: map[string]string{},
	}
	a.assignments = &assignments{shared: s, files: a.files, requests: a.requests, byRef: map[string]assignment{}}
	a.incidents = &incidents{shared: s, outbox: a.outbox}
	a.inbound = &inbound{
		shared: s, outbox: a.outbox, requests: a.requests, tasks: a.tasks, incidents: a.incidents,
		texts: rate.NewLimiter(rate.Limit(s.cfg.Rate/60), s.cfg.Burst), seen: &dedup{documents: s.documents, seen: map[string]seenMessage{}},
	}
	return a
}

// Run serves until ctx ends. Open continues unfinished work of an earlier run.
func (a *Adapter) Run(ctx context.Context) error {
	g, ctx := errgroup.WithContext(ctx)
	for _, run := range []func(context.Context){
		a.tasks.follow, a.tasks.notifyAll, a.tasks.convert, a.outbox.replay, a.incidents.summarize, a.inbound.summarize, a.sweep, a.watchFiles,
	} {
		g.Go(func() error { run(ctx); return nil })
	}
	for _, p := range a.registry.Peers() {
		if p.IsExecutor() {
			g.Go(func() error { return a.assignments.serve(ctx, p) })
		}
	}
	a.background.run(ctx, g)
	return g.Wait()
}

// restore continues with the documents of an earlier run. It logs a document that it cannot
// read, and leaves it as it is.
func (a *Adapter) restore() {
	kinds := map[string]func(doc []byte) error{
		docSeen: a.inbound.seen.restore, docText: a.inbound.restoreText, docPending: a.tasks.restoreWork, docTask: a.tasks.restore,
		docAssignment: a.assignments.restore, docOutgoing: a.outbox.restore, docRequest: a.requests.restore, docFile: a.files.restore,
	}
	for name, doc := range a.x.ChannelState(channel) {
		kind, _, _ := strings.Cut(name, "-")
		if restore := kinds[kind+"-"]; restore != nil {
			if err := restore(doc); err != nil {
				a.log.Error("mesh: cannot parse a stored document", "name", name, "err", err)
			}
		}
	}
}

// sweepEvery is the time between two sweeps.
const sweepEvery = time.Hour

// sweep removes expired documents and their files, until ctx ends.
func (a *Adapter) sweep(ctx context.Context) {
	for {
		now := time.Now()
		for _, name := range slices.Concat(a.inbound.seen.expire(now), a.tasks.expire(now), a.requests.expire(now), a.files.expire(now)) {
			if err := a.save(ctx, name, nil); err != nil && ctx.Err() == nil {
				a.log.Warn("mesh: cannot remove an expired document", "err", err)
			}
		}
		if !wait.For(ctx, sweepEvery) {
			return
		}
	}
}

// watchFiles applies changes of the registry and of the token file, until ctx ends.
func (a *Adapter) watchFiles(ctx context.Context) { a.registry.Watch(ctx, a.outbox.post.Peers) }

// ServeHTTP accepts a message of a peer.
func (a *Adapter) ServeHTTP(w http.ResponseWriter, r *http.Request) { a.inbound.ServeHTTP(w, r) }

// ServeFile serves a file to a peer that knows its address.
func (a *Adapter) ServeFile(w http.ResponseWriter, r *http.Request) { a.files.ServeFile(w, r) }

// Health returns the body of /health and /api/status. The status is degraded while a peer is
// unreachable, or while writes to the store fail.
func (a *Adapter) Health() map[string]any {
	h := map[string]any{"ok": true, "status": "ok", "agent": a.cfg.Agent, "protocol": wire.Protocol, "version": a.opts.Version}
	for _, b := range a.store.Breakers() {
		if b.State != state.Closed {
			h["status"] = "degraded"
		}
	}
	if a.failing.Load() || a.store.Failing() || a.opts.Storage != nil && a.opts.Storage() != nil {
		h["status"], h["storage"] = "degraded", "failing"
	}
	return h
}

// ServeStatus answers with Health.
func (a *Adapter) ServeStatus(w http.ResponseWriter, _ *http.Request) {
	reply(w, http.StatusOK, a.Health())
}
