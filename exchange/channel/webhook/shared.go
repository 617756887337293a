package webhook

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/messkit/messkit/internal/keyed"
	"github.com/messkit/messkit/internal/order"
	"github.com/messkit/messkit/mess"
)

// deliveriesChannel is the name under which exchanges with the same store keep the log and the queues,
// by delivery id.
const deliveriesChannel = "webhook-deliveries"

// delivery is the document of a notification.
type delivery struct {
	Entry        Entry         `json:"entry"`
	Notification *notification `json:"notification,omitempty"` // until it is sent or given up
	Term         uint64        `json:"term,omitempty"`         // of the sender that has written it
}

// parseDelivery reads a document. Nobody sends an unreadable one.
func parseDelivery(doc []byte) (d delivery, ok bool) {
	return d, doc != nil && json.Unmarshal(doc, &d) == nil
}

// newID returns a random delivery id.
func newID() string { return strings.ToLower(rand.Text()) }

// runSender sends notifications as the one exchange that does so, until ctx ends. It goes on where the
// last one was.
func (h *Dispatcher) runSender(ctx context.Context, term uint64) error {
	s := &Dispatcher{
		x: h.x, keys: h.keys, cfg: h.cfg, log: h.log, client: h.client, slots: h.slots, people: h.people, notices: h.notices, push: h.push,
		dirty: make(chan struct{}, 1), queues: keyed.Queues[*notification]{Limit: maxWaiting}, status: statuses{},
		lease: h.lease, term: term, changed: map[string]bool{},
	}
	s.loadPosition()
	s.at.Term = term
	h.sender.Store(s)
	defer h.sender.Store(nil)
	for _, d := range h.storedDeliveries() {
		s.take(d)
	}
	return s.run(ctx)
}

// storedDeliveries returns the deliveries that the store has, the oldest first.
func (h *Dispatcher) storedDeliveries() (all []delivery) {
	for _, doc := range h.x.ChannelState(deliveriesChannel) {
		if d, ok := parseDelivery(doc); ok {
			all = append(all, d)
		}
	}
	order.By(all, func(a, b delivery) int {
		return cmp.Or(a.Entry.Made.Compare(b.Entry.Made), cmp.Compare(a.Entry.ID, b.Entry.ID))
	})
	return all
}

// takeChanged takes a delivery that another exchange has stored.
func (h *Dispatcher) takeChanged(_ string, doc []byte) {
	if d, ok := parseDelivery(doc); ok {
		if s := h.sender.Load(); s != nil {
			s.take(d)
		}
	}
}

// take adds a stored delivery to the log of a sender and, if it waits, to its queue.
func (h *Dispatcher) take(d delivery) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.hasNotification(notification{ID: d.Entry.ID, Executor: d.Entry.Executor}) {
		return
	}
	n := d.Notification
	if n == nil {
		h.recent = append(h.recent, d.Entry)
		h.dropOldest()
		return
	}
	if oldest, full := h.queues.Add(n.Executor, n); full {
		oldest.lost = true
		h.logState(*oldest, Lost, result{err: errTooMany})
	}
	h.logState(*n, Waiting, result{})
}

// handTime limits the time to store a notification for the sender.
const handTime = 10 * time.Second

// hand stores a notification for the exchange that sends.
func (h *Dispatcher) hand(n notification) error {
	ctx, cancel := context.WithTimeout(context.Background(), handTime)
	defer cancel()
	d := delivery{Entry: entryOf(n, Waiting, result{}), Notification: &n}
	if err := h.storeNew(ctx, d); err != nil {
		return err
	}
	if s := h.sender.Load(); s != nil { // the feed brings only the writes of others
		s.take(d)
	}
	return nil
}

// storeNew stores a delivery that the store does not have.
func (h *Dispatcher) storeNew(ctx context.Context, d delivery) error {
	doc, err := json.Marshal(d)
	if err != nil {
		return err
	}
	return h.x.ChangeChannelState(ctx, deliveriesChannel, d.Entry.ID, func(is []byte) ([]byte, error) {
		if is != nil {
			return is, nil
		}
		return doc, nil
	})
}

// storeEntry stores the result of a test, for the log of all exchanges with the same store.
func (h *Dispatcher) storeEntry(ctx context.Context, e Entry) {
	if h.lease == nil {
		return
	}
	d := delivery{Entry: e}
	if err := h.storeNew(ctx, d); err != nil {
		h.log.Debug("webhooks: the exchange could not store the result of a test", "err", err)
		return
	}
	if s := h.sender.Load(); s != nil {
		s.take(d)
	}
}

// storedEntries returns the log of all exchanges with the same store, the oldest first.
func (h *Dispatcher) storedEntries() (list []Entry) {
	for _, d := range h.storedDeliveries() {
		list = append(list, d.Entry)
	}
	return list[max(0, len(list)-maxLog):]
}

// errFenced says that another exchange sends by now.
var errFenced error = mess.Errorf(mess.Conflict, "another exchange sends the notifications")

// saveShared writes the changed deliveries, and then the position in the feed: the position never
// passes an event whose deliveries the store does not have.
func (h *Dispatcher) saveShared(ctx context.Context) {
	docs, at, moved := h.collect()
	g, together := errgroup.WithContext(ctx)
	g.SetLimit(maxOut)
	for id, doc := range docs {
		g.Go(func() error {
			return h.x.ChangeChannelState(together, deliveriesChannel, id, func(is []byte) ([]byte, error) {
				if was, ok := parseDelivery(is); ok && was.Term > h.term {
					return nil, errFenced
				}
				return doc, nil
			})
		})
	}
	err := g.Wait()
	if err == nil && moved {
		err = h.x.ChangeChannelState(ctx, channel, positionName, func(is []byte) ([]byte, error) {
			var was position
			if json.Unmarshal(is, &was) == nil && was.Term > h.term {
				return nil, errFenced
			}
			return at, nil
		})
	}
	if err == nil {
		return
	}
	h.log.Debug("webhooks: the exchange could not store its deliveries; it tries again", "err", err)
	h.again(moved, true)
	h.mu.Lock()
	defer h.mu.Unlock()
	for id := range docs {
		h.changed[id] = true
	}
}

// collect returns the documents of changed deliveries, nil for dropped ones, and the position.
func (h *Dispatcher) collect() (docs map[string][]byte, at []byte, moved bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	docs = map[string][]byte{}
	if len(h.changed) > 0 {
		waiting := map[string]*notification{}
		for _, n := range h.queues.All() {
			waiting[n.ID] = n
		}
		for id := range h.changed {
			n := waiting[id]
			i := slices.IndexFunc(h.recent, func(e Entry) bool { return e.ID == id })
			d := delivery{Notification: n, Term: h.term}
			switch {
			case i >= 0:
				if d.Entry = h.recent[i]; d.Entry.State != Waiting {
					d.Notification = nil
				}
			case n != nil:
				d.Entry = entryOf(*n, Waiting, result{})
			default:
				docs[id] = nil
				continue
			}
			docs[id], _ = json.Marshal(d) // cannot fail: plain values
		}
	}
	h.changed = map[string]bool{}
	at, _ = json.Marshal(h.at) // cannot fail: plain values
	moved = h.moved
	h.moved, h.unsaved = false, false
	return docs, at, moved
}
