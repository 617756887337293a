// Package mesh is the MESH 1.0 door of an exchange: an agent among others. What a
// peer asks for becomes a task of the exchange, with the peer as its requester;
// what comes of it goes back. It translates and does nothing else.
package mesh

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"
	"golang.org/x/time/rate"

	"github.com/messkit/messkit/exchange"
	"github.com/messkit/messkit/exchange/channel/mesh/delivery"
	"github.com/messkit/messkit/exchange/channel/mesh/state"
	"github.com/messkit/messkit/internal/keyed"
	"github.com/messkit/messkit/internal/mistake"
	"github.com/messkit/messkit/internal/secret"
	"github.com/messkit/messkit/internal/wait"
	"github.com/messkit/messkit/mess"
)

// channel is the name of this door in threads.
const channel = "mesh"

// Options are what the door needs beside its configuration.
type Options struct {
	Dir     string // of its files
	Base    string // where peers reach it, unless configured
	Version string
	// YesNo reads an answer to "shall I?".
	YesNo func(text string) (yes, no, stop bool)
	// Storage tells why nothing can be stored; nil: it is not known before
	// something is.
	Storage func() error
	// Watch is how soon a change of the registry or of the token counts; 0: 2 s.
	Watch time.Duration
	// Notice tells people by the notices of the exchange; nil: nobody is told.
	Notice func(p mess.Priority, text string)
	// Through makes the client for a peer; nil: the post's own.
	Through func(p delivery.Peer, total time.Duration) *http.Client
}

// Adapter is the agent. Make it with Open, and keep its Run running.
type Adapter struct {
	x     *exchange.Exchange
	cfg   Config
	opts  Options
	base  string // http://192.168.1.20:8420
	log   *slog.Logger
	store *state.Store
	post  *delivery.Post

	// These change while the door runs, and are replaced whole.
	tokens atomic.Pointer[[]secret.Text] // that peers show here: the one that they are told, then earlier ones
	peers  atomic.Pointer[map[string]*peer]

	wrong wrong         // tokens, by address
	texts *rate.Limiter // that name no sender
	began time.Time

	refusals refusals
	telling  sync.Mutex  // held while people are told of incidents
	unstored atomic.Bool // the exchange did not store what it was given last

	wake chan struct{} // there is a job

	tellers  keyed.Runner            // by the ref of the task that its peer is told of
	requests keyed.Queues[requested] // of peers, that are to become tasks

	mu        sync.Mutex
	jobs      []func(context.Context)
	seen      map[string]seen  // by peer and id, and by peer and idempotency key
	inbox     map[string]*work // requests that are no tasks yet, by peer and id
	tasks     map[string]*task // by ref
	byAsked   map[string]string
	questions map[string]string // ids of questions to peers, to the refs of their tasks
	asks      map[string]*ask   // requests of ours, by id
	given     map[string]given  // tasks that peers carry out for us, by ref
	// deliveries are of messages that operators have sent since the door runs.
	deliveries map[string]*awaited
	files      map[string]served // what peers may fetch, by its secret name
}

// requested is a request of a peer.
type requested struct {
	peer *peer
	work *work
}

// queue has a request become a task. Urgent ones of a peer wait for urgent ones alone.
func (d *Adapter) queue(p *peer, w *work) {
	name := p.name
	if w.Urgent {
		name += " urgent"
	}
	d.requests.Add(name, requested{p, w})
}

// Open reads what an earlier run has left. The configuration has been loaded.
func Open(ctx context.Context, x *exchange.Exchange, cfg Config, opts Options, log *slog.Logger) (*Adapter, error) {
	base := cfg.URL
	if base == "" {
		base = opts.Base
	}
	u, err := delivery.Base(base)
	if err != nil {
		return nil, fmt.Errorf("mesh: url: %w", err)
	}
	store, err := state.Open(opts.Dir, time.Now, log)
	if err != nil {
		return nil, err
	}
	d := &Adapter{
		x: x, cfg: cfg, opts: opts, base: u.String(), log: log, store: store, began: time.Now(),
		wake: make(chan struct{}, 1), seen: map[string]seen{}, inbox: map[string]*work{}, tasks: map[string]*task{}, byAsked: map[string]string{},
		questions: map[string]string{}, asks: map[string]*ask{}, given: map[string]given{}, files: map[string]served{}, deliveries: map[string]*awaited{},
		texts: rate.NewLimiter(rate.Limit(cfg.Rate/60), cfg.Burst),
	}
	d.post = delivery.New(d.takePeers(cfg), delivery.Config{Version: opts.Version, RetryAfter: cfg.RetryAfter, Client: d.through()}, store, log)
	tokens, err := ownTokens(cfg.Token, filepath.Join(opts.Dir, tokenFile))
	if err != nil {
		return nil, err
	}
	d.tokens.Store(&tokens)
	return d, errors.Join(d.restore(ctx), d.register(ctx))
}

// Run serves until ctx ends. What is under way then goes on when it runs again.
func (d *Adapter) Run(ctx context.Context) error {
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() error { return d.follow(ctx) })
	g.Go(func() error { d.tellers.Run(ctx, d.tellOne); return nil })
	g.Go(func() error { d.requests.Runner.Run(ctx, d.workOff); return nil })
	g.Go(func() error { return d.replay(ctx) })
	g.Go(func() error { return d.sumUp(ctx) })
	g.Go(func() error { return d.sweep(ctx) })
	g.Go(func() error { return d.watchFiles(ctx) })
	for _, p := range d.allPeers() {
		if p.works() {
			g.Go(func() error { return d.employ(ctx, p) })
		}
	}
	for {
		for _, job := range d.takeJobs() {
			g.Go(func() error { d.work(ctx, job); return nil })
		}
		select {
		case <-ctx.Done():
			return g.Wait()
		case <-d.wake:
		}
	}
}

// spawn has Run do something in the background.
func (d *Adapter) spawn(job func(context.Context)) {
	d.mu.Lock()
	d.jobs = append(d.jobs, job)
	d.mu.Unlock()
	wait.Notify(d.wake)
}

// work does one thing in the background. What a peer has sent must not end the others.
func (d *Adapter) work(ctx context.Context, job func(context.Context)) {
	defer mistake.Caught(d.log, "channel", channel)
	job(ctx)
}

func (d *Adapter) takeJobs() []func(context.Context) {
	d.mu.Lock()
	defer d.mu.Unlock()
	jobs := d.jobs
	d.jobs = nil
	return jobs
}

// keep stores a document of the door; nil removes it.
func (d *Adapter) keep(ctx context.Context, name string, v any) error {
	if v == nil {
		return d.put(ctx, name, nil)
	}
	doc, err := json.Marshal(v)
	if err != nil {
		return err
	}
	return d.put(ctx, name, doc)
}

// put stores a document as it is, and notes whether that is possible now.
func (d *Adapter) put(ctx context.Context, name string, doc []byte) error {
	err := d.x.Keep(ctx, channel, name, doc)
	if ctx.Err() == nil {
		d.unstored.Store(err != nil)
	}
	return err
}

// restore takes up what an earlier run has left.
func (d *Adapter) restore(ctx context.Context) error {
	docs, err := d.x.Kept(ctx, channel)
	if err != nil {
		return err
	}
	for name, doc := range docs {
		if err := d.restoreOne(name, doc); err != nil {
			d.log.Error("mesh: something that was kept cannot be read", "name", name, "err", err)
		}
	}
	return nil
}

func (d *Adapter) restoreOne(name string, doc []byte) error {
	kind, _, _ := strings.Cut(name, "-")
	switch kind + "-" {
	case keptSeen:
		var s seen
		if err := json.Unmarshal(doc, &s); err != nil {
			return err
		}
		d.seen[s.Key] = s
	case keptWork:
		w := &work{}
		if err := json.Unmarshal(doc, w); err != nil {
			return err
		}
		if p := d.peer(w.Peer); p != nil {
			d.inbox[w.key()] = w
			d.queue(p, w)
		}
	case keptTask:
		t := &task{}
		if err := json.Unmarshal(doc, t); err != nil {
			return err
		}
		d.index(t)
	case keptGiven:
		var g given
		if err := json.Unmarshal(doc, &g); err != nil {
			return err
		}
		d.given[g.Ref] = g
	case keptOut:
		o := outgoing{}
		if err := json.Unmarshal(doc, &o); err != nil {
			return err
		}
		d.spawn(func(ctx context.Context) { d.deliver(ctx, o) })
	case keptAsk:
		a := &ask{changed: make(chan struct{})}
		if err := json.Unmarshal(doc, a); err != nil {
			return err
		}
		d.asks[a.ID] = a
		d.watch(a)
	case keptFile:
		var f served
		if err := json.Unmarshal(doc, &f); err != nil {
			return err
		}
		d.files[f.Secret] = f
	case keptText:
		var t text
		if err := json.Unmarshal(doc, &t); err != nil {
			return err
		}
		d.spawn(func(ctx context.Context) { d.handed(ctx, t) })
	}
	return nil
}
