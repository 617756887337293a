// Package homeassistant shows the executors of an exchange to Home Assistant by MQTT discovery.
// It publishes what the exchange knows and gives no orders: Home Assistant sends requests like
// any other requester, as the actor homeassistant.
package homeassistant

import (
	"context"
	"log/slog"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/messkit/messkit/exchange"
	"github.com/messkit/messkit/internal/wait"
	"github.com/messkit/messkit/mess"
	"github.com/messkit/messkit/mess/topic"
)

// Broker is the broker, as the publisher sees it.
type Broker interface {
	// Publish returns when the broker has the message, or with an error when it will not get
	// it.
	Publish(ctx context.Context, topic string, payload []byte, retain bool) error
}

// Presence is the part of the MQTT adapter that knows executors on MQTT.
type Presence interface {
	// ReportsStatus reports whether an executor publishes its own status.
	ReportsStatus(info exchange.ExecutorInfo) bool
	// HasLeft reports whether an executor has cleared its status, and so has left for good.
	HasLeft(id string) bool
}

// Config is the settings of a publisher.
type Config struct {
	Exchange *exchange.Exchange
	Channel  string // names the publisher's documents in the store
	Root     topic.Root
	Version  string // of the program
	Presence Presence
	Start    func(func(context.Context, Broker)) // runs a function in the session with the broker, if there is one
	Now      func() time.Time
	Log      *slog.Logger
}

// Publisher publishes the executors for Home Assistant. It is safe for concurrent use.
type Publisher struct {
	cfg          Config
	publications *publications
	changed      chan struct{} // stale is not empty
	presence     chan struct{} // an executor has come or left
	started      chan struct{} // Home Assistant has started

	mu         sync.Mutex
	activities map[string]*activity // by executor
	owners     map[string]string    // by ref: the executor whose activity has the open thread
	stale      map[string]bool      // executors with an unpublished activity
}

// New makes a publisher. It reads what an earlier run has published.
func New(cfg Config) *Publisher {
	return &Publisher{
		cfg: cfg, publications: readPublications(cfg.Exchange, cfg.Channel, cfg.Log),
		changed: make(chan struct{}, 1), presence: make(chan struct{}, 1), started: make(chan struct{}, 1),
		activities: map[string]*activity{}, owners: map[string]string{}, stale: map[string]bool{},
	}
}

// PresenceChanged reports that an executor has come or left. It does not block.
func (h *Publisher) PresenceChanged() { wait.Notify(h.presence) }

// birthSpread spreads the messages after a start of Home Assistant, when other programs publish
// as well.
const birthSpread = 2 * time.Second

// Birth takes the birth message or the will of Home Assistant.
func (h *Publisher) Birth(payload []byte) {
	if string(payload) == "online" {
		wait.Notify(h.started)
	}
}

// Run keeps the retained messages for Home Assistant up to date, until ctx ends.
func (h *Publisher) Run(ctx context.Context, to Broker) {
	p := &retainedTopics{to: to, payloads: map[string]string{}}
	t := time.NewTicker(lookEvery)
	defer t.Stop()
	publish := h.publishAll
	for ctx.Err() == nil {
		news := h.cfg.Exchange.ExecutorsChanged()
		err := publish(ctx, p)
		if err != nil && ctx.Err() == nil {
			h.cfg.Log.Debug("publishing for Home Assistant failed", "err", err)
		}
		publish = h.publishAll
		select {
		case <-ctx.Done():
		case <-h.changed:
			if err == nil {
				publish = h.publishStale
			}
		case <-news:
		case <-h.presence:
		case <-t.C: // an executor that falls silent closes no channel
		case <-h.started:
			wait.For(ctx, rand.N(birthSpread))
			clear(p.payloads)
		}
	}
}

// lookEvery is the time between two looks for executors that have fallen silent.
const lookEvery = 5 * time.Second

// retainedTopics is the retained messages at the broker.
type retainedTopics struct {
	to       Broker
	payloads map[string]string // by topic
}

// put publishes a retained message, unless the broker has the same one.
func (p *retainedTopics) put(ctx context.Context, name string, payload []byte) error {
	if was, is := p.payloads[name]; is && was == string(payload) {
		return nil
	}
	if err := p.to.Publish(ctx, name, payload, true); err != nil {
		return err
	}
	p.payloads[name] = string(payload)
	return nil
}

// publishAll publishes every executor.
func (h *Publisher) publishAll(ctx context.Context, p *retainedTopics) error {
	h.takeStale()
	for _, info := range h.cfg.Exchange.Executors() {
		if h.cfg.Presence.HasLeft(info.ID) {
			if err := h.withdrawExecutor(ctx, p, info.ID); err != nil {
				return err
			}
			continue
		}
		if err := h.publishExecutor(ctx, p, info); err != nil {
			return err
		}
	}
	for _, id := range h.cfg.Exchange.Deregistered() {
		if err := h.withdrawExecutor(ctx, p, id); err != nil {
			return err
		}
	}
	return nil
}

// publishStale publishes the executors whose activity has changed.
func (h *Publisher) publishStale(ctx context.Context, p *retainedTopics) error {
	for _, id := range h.takeStale() {
		info, ok := h.cfg.Exchange.Executor(id)
		if !ok || h.cfg.Presence.HasLeft(id) {
			continue // publishAll withdraws it
		}
		if err := h.publishExecutor(ctx, p, info); err != nil {
			return err
		}
	}
	return nil
}

// takeStale empties stale and returns it in order.
func (h *Publisher) takeStale() []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	ids := slices.Sorted(maps.Keys(h.stale))
	clear(h.stale)
	return ids
}

// withdrawExecutor removes the messages of an executor that has left for good.
func (h *Publisher) withdrawExecutor(ctx context.Context, p *retainedTopics, id string) error {
	slug := slugOf(id)
	if err := h.publications.withdraw(ctx, p.to, slug); err != nil {
		return err
	}
	maps.DeleteFunc(p.payloads, func(name, _ string) bool {
		return name == DiscoveryTopic(slug) || strings.HasPrefix(name, h.cfg.Root.Home(slug, ""))
	})
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.activities, id)
	return nil
}

// publishExecutor publishes the status of one executor, then its discovery payload, then its
// states.
func (h *Publisher) publishExecutor(ctx context.Context, p *retainedTopics, info exchange.ExecutorInfo) error {
	a := executorView{exchange: h.cfg.Exchange.ID(), root: h.cfg.Root, version: h.cfg.Version, info: info, at: h.cfg.Now()}
	h.mu.Lock()
	if now := h.activities[info.ID]; now != nil {
		a.activity = activity{open: slices.Clone(now.open), last: now.last}
	}
	h.mu.Unlock()
	was := h.publications.entitiesOf(a.slug())
	is := map[string]string{}
	for _, e := range a.entities() {
		is[e.key] = e.platform
	}
	a.removed = was
	if err := h.publications.keep(ctx, a.slug(), a.topics(), union(was, is)); err != nil {
		return err
	}
	status := statusTopic(a.root, info.ID)
	if !h.cfg.Presence.ReportsStatus(info) {
		if err := p.put(ctx, status, h.statusPayload(info)); err != nil {
			return err
		}
	} else {
		delete(p.payloads, status)
	}
	if err := p.put(ctx, DiscoveryTopic(a.slug()), a.payload()); err != nil {
		return err
	}
	if !maps.Equal(was, is) { // the first payload removes these entities, and the next one omits them
		a.removed = nil
		if err := p.put(ctx, DiscoveryTopic(a.slug()), a.payload()); err != nil {
			return err
		}
		if err := h.publications.keep(ctx, a.slug(), a.topics(), is); err != nil {
			return err
		}
	}
	return h.publishStates(ctx, p, a)
}

// Thread takes the status of a thread at the begin of a session.
func (h *Publisher) Thread(ctx context.Context, e exchange.Envelope) {
	if e.Status != mess.NeedsConfirmation && e.Status != mess.NeedsInput {
		h.Message(e, mess.Message{}, false)
		return
	}
	t, err := h.cfg.Exchange.Thread(ctx, exchange.Actor{ID: exchange.Self, Roles: exchange.Observer}, e.Ref)
	if err != nil {
		return // the thread is gone, or its next message repeats this
	}
	for _, m := range t.Messages {
		h.Message(t.Envelope, m, false)
	}
}

// Message takes a message of a thread. If now is false, the message may be older than the session,
// and Message does not publish its images.
func (h *Publisher) Message(e exchange.Envelope, m mess.Message, now bool) {
	defer wait.Notify(h.changed)
	id := executorOf(e)
	h.mu.Lock()
	if other := h.owners[e.Ref]; other != "" && (other != id || e.Status.Terminal()) { // another executor may have had it before
		delete(h.owners, e.Ref)
		h.stale[other] = true
		if d := h.activities[other]; d != nil {
			d.open = slices.DeleteFunc(d.open, func(w *openTask) bool { return w.envelope.Ref == e.Ref })
			h.prune(other)
		}
	}
	if id != "" && (h.activities[id] != nil || len(h.activities) < maxNames || h.isShown(id)) {
		if h.activities[id] == nil {
			h.activities[id] = &activity{}
		}
		h.activities[id].apply(e, m)
		if h.stale[id] = true; !e.Status.Terminal() {
			h.owners[e.Ref] = id
		}
		h.prune(id)
	}
	h.mu.Unlock()
	if now && e.Requester == Actor {
		h.publishImages(id, e, m)
	}
}

// maxNames bounds the unregistered executors with an activity, because every requester can name an
// executor.
const maxNames = 1000

// prune removes an unregistered executor without an open thread. The caller holds h.mu.
func (h *Publisher) prune(id string) {
	if d := h.activities[id]; d != nil && len(d.open) == 0 && !h.isShown(id) {
		delete(h.activities, id)
	}
}

func (d *activity) index(ref string) int {
	return slices.IndexFunc(d.open, func(w *openTask) bool { return w.envelope.Ref == ref })
}

// apply takes a message of a thread of this executor. It replaces the openTask and does not
// change it, because others may read it.
func (d *activity) apply(e exchange.Envelope, m mess.Message) {
	if e.Status.Terminal() {
		d.last = endSummary(e, m)
		return
	}
	w := openTask{}
	i := d.index(e.Ref)
	if i >= 0 {
		w = *d.open[i]
	}
	w.envelope = e
	w.apply(m)
	if i >= 0 {
		d.open[i] = &w
	} else {
		d.open = append(d.open, &w)
	}
}

// isShown reports whether the broker has messages about an executor.
func (h *Publisher) isShown(id string) bool { return h.publications.has(slugOf(id)) }

// sortedKeys returns the keys of a map in order.
func sortedKeys(m map[string]string) []string { return slices.Sorted(maps.Keys(m)) }

// OwnsTopic reports whether a topic or filter belongs to Home Assistant.
func OwnsTopic(name string) bool { return strings.HasPrefix(name, prefix) }
