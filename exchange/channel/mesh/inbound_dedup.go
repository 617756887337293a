package mesh

import (
	"context"
	"sync"
	"time"

	"github.com/messkit/messkit/exchange/channel/mesh/wire"
)

// seenMessage is a received message. The same message is a duplicate until Until.
type seenMessage struct {
	Key   string    `json:"key"`
	Of    string    `json:"of"` // id of the message
	Until time.Time `json:"until"`
}

// remembered is the shortest time for which dedup knows a message.
const remembered = 24 * time.Hour

// dedup recognizes duplicate messages.
type dedup struct {
	*documents

	mu   sync.Mutex
	seen map[string]seenMessage // by message key
}

func (d *dedup) restore(doc []byte) error {
	s, err := stored[seenMessage](doc)
	if err == nil {
		d.seen[s.Key] = s
	}
	return err
}

// before reports whether the agent has received a message before, and under which id. The alerts of
// one incident share their key, so a key does not make an alert a duplicate.
func (d *dedup) before(in *incoming) (of string, duplicate bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	now := time.Now()
	for i, key := range in.keys() {
		if s, ok := d.seen[key]; ok && now.Before(s.Until) && (i == 0 || in.Type != wire.Alert) {
			return s.Of, true
		}
	}
	return "", false
}

// remember stores the id and the key of a received message. A duplicate does not extend their
// lifetime.
func (d *dedup) remember(ctx context.Context, in *incoming) error {
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
		s := seenMessage{Key: key, Of: in.ID, Until: until}
		if err := d.save(ctx, docSeen+digest(key), s); err != nil {
			return err
		}
		d.mu.Lock()
		d.seen[key] = s
		d.mu.Unlock()
	}
	return nil
}

// expire forgets messages whose time is over, and returns the names of their documents.
func (d *dedup) expire(now time.Time) (names []string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for key, s := range d.seen {
		if now.After(s.Until) {
			delete(d.seen, key)
			names = append(names, docSeen+digest(key))
		}
	}
	return names
}
