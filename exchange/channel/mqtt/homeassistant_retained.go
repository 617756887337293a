package mqtt

import (
	"context"
	"encoding/json"
	"maps"
	"slices"
)

// exhibit is what lies at the broker of one executor. It is kept, so that it can be
// taken away by a run that does not show it any more.
type exhibit struct {
	Topics   []string          `json:"topics"`
	Entities map[string]string `json:"entities"` // the platforms of what Home Assistant knows, by key
}

// rememberExhibit reads one that an earlier run has kept.
func (d *Adapter) rememberExhibit(slug string, doc []byte) error {
	var e exhibit
	if err := json.Unmarshal(doc, &e); err != nil {
		return err
	}
	d.exhibits[slug] = e
	return nil
}

// keepExhibit notes what is going to lie at the broker, before it does. Topics that
// lie there already stay noted.
func (d *Adapter) keepExhibit(ctx context.Context, slug string, topics []string, entities map[string]string) error {
	d.mu.Lock()
	was := d.exhibits[slug]
	d.mu.Unlock()
	topics = slices.Compact(slices.Sorted(slices.Values(slices.Concat(was.Topics, topics))))
	if slices.Equal(topics, was.Topics) && maps.Equal(entities, was.Entities) {
		return nil
	}
	is := exhibit{topics, entities}
	doc, err := json.Marshal(is)
	if err == nil {
		err = d.x.SaveChannelState(ctx, channel, keptShown+slug, doc)
	}
	if err != nil {
		return err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.exhibits[slug] = is
	return nil
}

// withdraw takes away what lies at the broker of one executor.
func (d *Adapter) withdraw(ctx context.Context, to publisher, slug string) error {
	d.mu.Lock()
	e, is := d.exhibits[slug]
	d.mu.Unlock()
	if !is {
		return nil
	}
	for _, name := range e.Topics {
		if err := to.publish(ctx, outgoing{topic: name, retain: true}); err != nil {
			return err
		}
	}
	if err := d.x.SaveChannelState(ctx, channel, keptShown+slug, nil); err != nil {
		return err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.exhibits, slug)
	return nil
}

// withdrawAll takes away what an earlier run has shown to Home Assistant, where
// nothing is shown any more. What fails is tried again in the next session.
func (d *Adapter) withdrawAll(ctx context.Context, to publisher) {
	d.mu.Lock()
	slugs := slices.Sorted(maps.Keys(d.exhibits))
	d.mu.Unlock()
	for _, slug := range slugs {
		if err := d.withdraw(ctx, to, slug); err != nil {
			d.log.Debug("what Home Assistant was shown is not taken away yet", "executor", slug, "err", err)
			return
		}
	}
}

// disown clears a status that the exchange has published for an executor, when it
// says it no more.
func (d *Adapter) disown(ctx context.Context, id string) {
	if d.home == nil {
		d.send(ctx, outgoing{topic: statusTopic(d.root, id), retain: true})
	}
}

// topics are where something lies of an executor, beside what it says itself.
func (a about) topics() []string {
	list := []string{discovery(a.slug())}
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

// known reports whether Home Assistant is shown an executor.
func (h *home) known(id string) bool {
	h.d.mu.Lock()
	defer h.d.mu.Unlock()
	_, is := h.d.exhibits[slugOf(id)]
	return is
}

// entitiesOf are the platforms of what Home Assistant knows of an executor, by key.
func (d *Adapter) entitiesOf(slug string) map[string]string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.exhibits[slug].Entities
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
