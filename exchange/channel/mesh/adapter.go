// Package mesh is the MESH 1.0 channel of an exchange: it makes the exchange an agent of a mesh. A
// request of a peer becomes a task of the exchange with the peer as its requester, and the result
// goes back to the peer. The package translates, and decides nothing about tasks.
package mesh

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
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

// ControlPath is the path of the API for operators.
const ControlPath = "/mesh"

// Order is a call of the API for operators.
type Order struct {
	Do    string   `json:"do"` // send, rally, await, delivered, conversation, timeout, status, rotate, letters, replay, drop, audit, file
	Send  *Sending `json:"send,omitempty"`
	ID    string   `json:"id,omitempty"`
	Name  string   `json:"name,omitempty"`
	Seen  int      `json:"seen,omitempty"`  // number of questions that the client knows already
	Final bool     `json:"final,omitempty"` // replay: rejected messages too; rotate: only the newest token stays valid
	Peer  string   `json:"peer,omitempty"`
	Lines int      `json:"lines,omitempty"`
}

// Report is the answer to an Order.
type Report struct {
	Taken        []Taken             `json:"taken,omitempty"`
	Conversation *state.Conversation `json:"conversation,omitempty"`
	Asked        *Asked              `json:"asked,omitempty"`
	Status       *Status             `json:"status,omitempty"`
	DeadLetters  []state.DeadLetter  `json:"letters,omitempty"`
	Sent         int                 `json:"sent,omitempty"`
	Failed       []string            `json:"failed,omitempty"`
	Audit        []state.Line        `json:"audit,omitempty"`
	Data         []byte              `json:"data,omitempty"`
}

// Asked is the state of a request of this agent.
type Asked struct {
	ID          string     `json:"id"`
	To          string     `json:"to"`
	Delivery    string     `json:"delivery,omitempty"`
	DeliveryErr string     `json:"why,omitempty"`
	Acked       string     `json:"acked,omitempty"`
	Questions   []Question `json:"questions,omitempty"`
	Result      *Result    `json:"result,omitempty"`
	Failed      string     `json:"failed,omitempty"`
}

// Lost reports whether delivery of the message has failed.
func (a Asked) Lost() bool {
	return a.Delivery != "" && a.Delivery != delivery.Sent && !strings.HasPrefix(a.Delivery, relayedVia)
}

// Question is a question of a peer about a request.
type Question struct {
	ID       string `json:"id"`
	Text     string `json:"text"`
	Answered bool   `json:"answered,omitempty"`
}

// Status is the state of the agent.
type Status struct {
	Agent       string           `json:"agent"`
	URL         string           `json:"url"`
	TokenFile   string           `json:"peers.TokenFile,omitempty"`
	Peers       []PeerStatus     `json:"peers"`
	DeadLetters int              `json:"deadLetters"`
	Incidents   []state.Incident `json:"incidents,omitempty"`
	Asks        []Asked          `json:"asks,omitempty"`
}

// PeerStatus is the state of a peer.
type PeerStatus struct {
	Name        string    `json:"name"`
	URL         string    `json:"url"`
	Role        string    `json:"role,omitempty"`
	Breaker     string    `json:"breaker"`
	Reachable   *bool     `json:"reachable,omitempty"` // nil: not checked yet
	LastProbe   time.Time `json:"lastProbe,omitzero"`
	LatencyMS   int64     `json:"latencyMs,omitempty"`
	DeadLetters int       `json:"deadLetters,omitempty"`
}

// maxOrder is the size limit of an Order in bytes; it contains files.
const maxOrder = 64 << 20

// Serve answers a call of an operator.
func (a *Adapter) Serve(actor exchange.Actor, w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodPost {
		w.Header().Set("Allow", http.MethodPost)
		reply(w, http.StatusMethodNotAllowed, map[string]string{"error": "use POST"})
		return
	}
	if !actor.Has(exchange.Operator) {
		reply(w, http.StatusForbidden, map[string]string{"error": "only an operator may use the mesh in the name of this agent"})
		return
	}
	var o Order
	dec := json.NewDecoder(http.MaxBytesReader(w, r.Body, maxOrder))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&o); err != nil {
		reply(w, http.StatusBadRequest, map[string]string{"error": "cannot parse the order: " + err.Error()})
		return
	}
	rep, err := a.do(r.Context(), o)
	if err == nil {
		reply(w, http.StatusOK, rep)
		return
	}
	code := http.StatusServiceUnavailable
	if no, ok := errors.AsType[*mess.Error](err); ok && no.Code != mess.Unavailable {
		code = cmp.Or(map[mess.ErrorCode]int{mess.NotFound: http.StatusNotFound, mess.TooLarge: http.StatusRequestEntityTooLarge}[no.Code], http.StatusBadRequest)
	} else {
		a.log.Error("mesh: an order has failed", "do", o.Do, "err", err)
	}
	reply(w, code, map[string]string{"error": err.Error()})
}

func (a *Adapter) do(ctx context.Context, o Order) (rep Report, err error) {
	switch o.Do {
	case "send", "rally":
		if o.Send == nil {
			return Report{}, mess.Errorf(mess.Invalid, "send: is missing")
		}
		// Finish the call even if the client disconnects.
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), workTime)
		defer cancel()
		if o.Do == "send" {
			rep.Taken, err = a.requests.Send(ctx, *o.Send)
			return rep, err
		}
		var id string
		if id, rep.Taken, err = a.requests.Rally(ctx, *o.Send); err != nil {
			return rep, err
		}
		rep.Conversation, err = a.requests.conversation(id)
		return rep, err
	case "await":
		rep.Asked, err = a.requests.await(ctx, o.ID, o.Seen)
		return rep, err
	case "delivered":
		rep.Asked, err = a.outbox.awaitDelivery(ctx, o.ID, o.Peer)
		return rep, err
	case "conversation":
		rep.Conversation, err = a.requests.conversation(o.ID)
		return rep, err
	case "timeout":
		return rep, a.store.TimedOut(o.ID)
	case "status":
		rep.Status = a.status()
		return rep, nil
	case "rotate":
		return Report{Status: a.status()}, a.registry.Rotate(o.Final)
	case "letters":
		rep.DeadLetters = a.outbox.deadLetters()
		return rep, nil
	case "replay":
		rep.Sent, rep.Failed = a.outbox.replayAll(ctx, func(l state.DeadLetter) bool {
			return (o.ID == "" || l.ID == o.ID) && (o.Peer == "" || l.To == o.Peer) && (o.Final || !l.Final())
		})
		return rep, nil
	case "drop":
		return a.outbox.drop(o)
	case "audit":
		rep.Audit, err = a.store.Tail(max(1, min(o.Lines, 1000)), func(l state.Line) bool {
			return (o.Peer == "" || l.From == o.Peer || l.To == o.Peer) && (o.ID == "" || l.ID == o.ID || l.CorrelationID == o.ID || l.ConversationID == o.ID)
		})
		return rep, err
	case "file":
		if rep.Data, err = a.files.savedFile(o.ID, o.Name); err != nil {
			return rep, mess.Errorf(mess.NotFound, "there is no file %q of %s", o.Name, o.ID)
		}
		return rep, nil
	}
	return Report{}, mess.Errorf(mess.Invalid, "do: unknown value %q", o.Do)
}

func (a *Adapter) status() *Status {
	s := &Status{Agent: a.cfg.Agent, URL: a.base, DeadLetters: len(a.store.DeadLetters())}
	if a.cfg.Token == "" {
		s.TokenFile = a.opts.Dir + "/" + peers.TokenFile
	}
	breakers, health, deadLetters := a.store.Breakers(), a.store.Health(), map[string]int{}
	for _, l := range a.store.DeadLetters() {
		deadLetters[l.To]++
	}
	all := a.registry.Peers()
	for _, name := range slices.Sorted(maps.Keys(all)) {
		c := all[name].Settings().Config
		p := PeerStatus{Name: name, URL: c.URL, Role: c.Role, Breaker: cmp.Or(breakers[name].State, state.Closed), DeadLetters: deadLetters[name]}
		if h, ok := health[name]; ok {
			p.Reachable, p.LastProbe, p.LatencyMS = &h.Reachable, h.LastProbe, h.LatencyMS
		}
		s.Peers = append(s.Peers, p)
	}
	for _, i := range a.store.Incidents() {
		if i.Status == "active" {
			s.Incidents = append(s.Incidents, i)
		}
	}
	s.Asks = a.requests.list()
	return s
}
