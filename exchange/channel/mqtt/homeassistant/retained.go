package homeassistant

import (
	"context"
	"encoding/json"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/messkit/messkit/exchange"
	"github.com/messkit/messkit/mess"
)

// publication is the retained messages about one executor. The store keeps it, so that a later
// run can remove them.
type publication struct {
	Topics   []string          `json:"topics"`
	Entities map[string]string `json:"entities"` // the platforms of the entities that Home Assistant knows, by key
}

// publications is the retained messages, by the slug of an executor. It is safe for concurrent
// use.
type publications struct {
	x       *exchange.Exchange
	channel string

	mu     sync.Mutex
	bySlug map[string]publication
}

// documentPrefix and the slug of an executor name a document of the channel.
const documentPrefix = "shown."

// readPublications reads the documents of an earlier run.
func readPublications(x *exchange.Exchange, channel string, log *slog.Logger) *publications {
	r := &publications{x: x, channel: channel, bySlug: map[string]publication{}}
	for name, doc := range x.ChannelState(channel) {
		slug, ok := strings.CutPrefix(name, documentPrefix)
		if !ok {
			continue
		}
		var e publication
		if err := json.Unmarshal(doc, &e); err != nil {
			log.Warn("MQTT: a stored document is unreadable; the adapter starts without it", "name", name, "err", err)
			continue
		}
		r.bySlug[slug] = e
	}
	return r
}

// keep stores what the publisher is about to publish. Earlier topics stay in the document.
func (r *publications) keep(ctx context.Context, slug string, topics []string, entities map[string]string) error {
	r.mu.Lock()
	was := r.bySlug[slug]
	r.mu.Unlock()
	topics = slices.Compact(slices.Sorted(slices.Values(slices.Concat(was.Topics, topics))))
	if slices.Equal(topics, was.Topics) && maps.Equal(entities, was.Entities) {
		return nil
	}
	is := publication{topics, entities}
	doc, err := json.Marshal(is)
	if err == nil {
		err = r.x.SaveChannelState(ctx, r.channel, documentPrefix+slug, doc)
	}
	if err != nil {
		return err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.bySlug[slug] = is
	return nil
}

// withdraw removes the messages about one executor.
func (r *publications) withdraw(ctx context.Context, to Broker, slug string) error {
	r.mu.Lock()
	e, is := r.bySlug[slug]
	r.mu.Unlock()
	if !is {
		return nil
	}
	for _, name := range e.Topics {
		if err := to.Publish(ctx, name, nil, true); err != nil {
			return err
		}
	}
	if err := r.x.SaveChannelState(ctx, r.channel, documentPrefix+slug, nil); err != nil {
		return err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.bySlug, slug)
	return nil
}

// slugs returns the executors with a publication, in order.
func (r *publications) slugs() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Sorted(maps.Keys(r.bySlug))
}

// entitiesOf returns the platforms of the entities that Home Assistant knows of an executor, by
// key.
func (r *publications) entitiesOf(slug string) map[string]string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.bySlug[slug].Entities
}

// has reports whether the broker retains messages about an executor.
func (r *publications) has(slug string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	_, is := r.bySlug[slug]
	return is
}

// Withdrawal removes the messages of an earlier run if the configuration does not contain Home
// Assistant any more.
type Withdrawal struct {
	published *publications
	log       *slog.Logger
}

// NewWithdrawal reads what an earlier run has published. channel names its documents.
func NewWithdrawal(x *exchange.Exchange, channel string, log *slog.Logger) *Withdrawal {
	return &Withdrawal{published: readPublications(x, channel, log), log: log}
}

// Run removes all messages. The next session repeats what fails.
func (w *Withdrawal) Run(ctx context.Context, to Broker) {
	for _, slug := range w.published.slugs() {
		if err := w.published.withdraw(ctx, to, slug); err != nil {
			w.log.Debug("removing the messages for Home Assistant failed", "executor", slug, "err", err)
			return
		}
	}
}

// Birth does nothing.
func (*Withdrawal) Birth([]byte) {}

// Message does nothing.
func (*Withdrawal) Message(exchange.Envelope, mess.Message, bool) {}

// Thread does nothing.
func (*Withdrawal) Thread(context.Context, exchange.Envelope) {}

// PresenceChanged does nothing.
func (*Withdrawal) PresenceChanged() {}

// topics returns the topics of an executor on which the publisher retains messages.
func (a executorView) topics() []string {
	list := []string{DiscoveryTopic(a.slug())}
	for _, name := range []string{"task", "standing", "asks", "works", "answer", "writes", "chooses"} {
		list = append(list, a.topic(name))
	}
	for _, e := range a.entities() {
		if _, is := a.stateText(e); is {
			list = append(list, a.topic(e.key))
		}
	}
	if status := statusTopic(a.root, a.info.ID); status == a.topic("status") {
		list = append(list, status)
	}
	return list
}

// union returns the entries of both maps. Those of b win.
func union(a, b map[string]string) map[string]string {
	all := maps.Clone(b)
	for k, v := range a {
		if _, is := all[k]; !is {
			all[k] = v
		}
	}
	return all
}
