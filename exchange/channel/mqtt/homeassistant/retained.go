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

// exhibit is what lies at the broker of one executor. It is kept, so that it can be
// taken away by a run that does not show it any more.
type exhibit struct {
	Topics   []string          `json:"topics"`
	Entities map[string]string `json:"entities"` // the platforms of what Home Assistant knows, by key
}

// exhibits are what lies at the broker, by the slug of an executor. It is safe for concurrent use.
type exhibits struct {
	x       *exchange.Exchange
	channel string

	mu sync.Mutex
	of map[string]exhibit
}

// documentPrefix and the slug of an executor name a document of the channel.
const documentPrefix = "shown."

// readExhibits reads what an earlier run has kept.
func readExhibits(ctx context.Context, x *exchange.Exchange, channel string, log *slog.Logger) (*exhibits, error) {
	docs, err := x.ChannelState(ctx, channel)
	if err != nil {
		return nil, err
	}
	r := &exhibits{x: x, channel: channel, of: map[string]exhibit{}}
	for name, doc := range docs {
		slug, ok := strings.CutPrefix(name, documentPrefix)
		if !ok {
			continue
		}
		var e exhibit
		if err := json.Unmarshal(doc, &e); err != nil {
			log.Warn("what the MQTT door has kept cannot be read; it begins anew", "name", name, "err", err)
			continue
		}
		r.of[slug] = e
	}
	return r, nil
}

// keep notes what is going to lie at the broker, before it does. Topics that
// lie there already stay noted.
func (r *exhibits) keep(ctx context.Context, slug string, topics []string, entities map[string]string) error {
	r.mu.Lock()
	was := r.of[slug]
	r.mu.Unlock()
	topics = slices.Compact(slices.Sorted(slices.Values(slices.Concat(was.Topics, topics))))
	if slices.Equal(topics, was.Topics) && maps.Equal(entities, was.Entities) {
		return nil
	}
	is := exhibit{topics, entities}
	doc, err := json.Marshal(is)
	if err == nil {
		err = r.x.SaveChannelState(ctx, r.channel, documentPrefix+slug, doc)
	}
	if err != nil {
		return err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.of[slug] = is
	return nil
}

// withdraw takes away what lies at the broker of one executor.
func (r *exhibits) withdraw(ctx context.Context, to Broker, slug string) error {
	r.mu.Lock()
	e, is := r.of[slug]
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
	delete(r.of, slug)
	return nil
}

// slugs lists the executors of which something lies at the broker.
func (r *exhibits) slugs() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Sorted(maps.Keys(r.of))
}

// entitiesOf are the platforms of what Home Assistant knows of an executor, by key.
func (r *exhibits) entitiesOf(slug string) map[string]string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.of[slug].Entities
}

// has reports whether something lies at the broker of an executor.
func (r *exhibits) has(slug string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	_, is := r.of[slug]
	return is
}

// Withdrawal takes away what an earlier run has shown to Home Assistant, where
// nothing is shown any more.
type Withdrawal struct {
	exhibits *exhibits
	log      *slog.Logger
}

// NewWithdrawal reads what an earlier run has shown. channel names its documents.
func NewWithdrawal(ctx context.Context, x *exchange.Exchange, channel string, log *slog.Logger) (*Withdrawal, error) {
	r, err := readExhibits(ctx, x, channel, log)
	return &Withdrawal{exhibits: r, log: log}, err
}

// Run takes everything away. What fails is tried again in the next session.
func (w *Withdrawal) Run(ctx context.Context, to Broker) {
	for _, slug := range w.exhibits.slugs() {
		if err := w.exhibits.withdraw(ctx, to, slug); err != nil {
			w.log.Debug("what Home Assistant was shown is not taken away yet", "executor", slug, "err", err)
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

// topics are where something lies of an executor, beside what it says itself.
func (a about) topics() []string {
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

// joined are the entries of both.
func joined(a, b map[string]string) map[string]string {
	all := maps.Clone(b)
	for k, v := range a {
		if _, is := all[k]; !is {
			all[k] = v
		}
	}
	return all
}
