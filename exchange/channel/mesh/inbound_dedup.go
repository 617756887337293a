package mesh

import (
	"context"
	"time"

	"github.com/messkit/messkit/internal/wait"
)

// seen is a message that has come. What comes again within its time is known.
type seen struct {
	Key   string    `json:"key"`
	Of    string    `json:"of"` // the id of the message
	Until time.Time `json:"until"`
}

// remembered is how long a message is known at least.
const remembered = 24 * time.Hour

// seenBefore reports whether a message has come before, and under which id. An
// alert bears the same key as others of its incident: that is no repetition.
func (d *Adapter) seenBefore(in *incoming) (of string, twice bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	now := time.Now()
	for i, key := range in.keys() {
		if s, ok := d.seen[key]; ok && now.Before(s.Until) && (i == 0 || in.Type != "alert") {
			return s.Of, true
		}
	}
	if key := idKey(in.From, in.ID); in.Type == "request" && (d.inbox[key] != nil || d.byAsked[key] != "") {
		return in.ID, true // the power went before it was noted as seen
	}
	return "", false
}

// remember writes down that a message has come. What is known stays as it is: who
// repeats a key does not prolong it.
func (d *Adapter) remember(ctx context.Context, in *incoming) error {
	until := time.Now().Add(remembered)
	if end := in.Expires().Add(skew); end.After(until) {
		until = end
	}
	for _, key := range in.keys() {
		d.mu.Lock()
		was, known := d.seen[key]
		d.mu.Unlock()
		if known && time.Now().Before(was.Until) {
			continue
		}
		s := seen{Key: key, Of: in.ID, Until: until}
		if err := d.keep(ctx, keptSeen+digest(key), s); err != nil {
			return err
		}
		d.mu.Lock()
		d.seen[key] = s
		d.mu.Unlock()
	}
	return nil
}

// sweepEvery is how often is let go of what is over.
const sweepEvery = time.Hour

// sweep lets go of what is over.
func (d *Adapter) sweep(ctx context.Context) error {
	for {
		for _, name := range d.over(time.Now()) {
			if err := d.keep(ctx, name, nil); err != nil && ctx.Err() == nil {
				d.log.Warn("mesh: something old stays", "err", err)
			}
		}
		if !wait.For(ctx, sweepEvery) {
			return nil
		}
	}
}

// over takes out of memory what is over, and returns its names in the store.
func (d *Adapter) over(now time.Time) (names []string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for key, s := range d.seen {
		if now.After(s.Until) {
			delete(d.seen, key)
			names = append(names, keptSeen+digest(key))
		}
	}
	for ref, t := range d.tasks {
		if !t.Ended.IsZero() && now.Sub(t.Ended) > remembered && t.answered() {
			d.unindex(t)
			names = append(names, keptTask+ref)
		}
	}
	for id, a := range d.asks {
		if now.Sub(a.Expires) > remembered {
			delete(d.asks, id)
			d.removeFiles(id)
			names = append(names, keptAsk+id)
		}
	}
	for name, f := range d.files {
		if now.After(f.Until) {
			delete(d.files, name)
			d.removeServed(name)
			names = append(names, keptFile+name)
		}
	}
	return names
}
