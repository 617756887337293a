package webhook

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/messkit/messkit/exchange"
	"github.com/messkit/messkit/exchange/lease"
	"github.com/messkit/messkit/internal/durable"
	"github.com/messkit/messkit/internal/keyed"
	"github.com/messkit/messkit/internal/wait"
)

// State is the state of a notification.
type State string

// States of a notification.
const (
	Waiting   State = "waiting"   // the exchange will send it, for the first time or again
	Delivered State = "delivered" // the receiver has accepted it
	Rejected  State = "refused"   // the exchange may not send it there, or the receiver has rejected it
	GivenUp   State = "given_up"  // too many attempts have failed
	Lost      State = "lost"      // the exchange has not sent it and will not
)

// Entry is an entry of the delivery log. It contains no secret, and only the host of an
// address.
type Entry struct {
	ID       string    `json:"id,omitempty"`
	Executor string    `json:"executor,omitempty"` // "": every executor with a webhook
	Event    string    `json:"event_type,omitempty"`
	Ref      string    `json:"ref,omitempty"`
	To       string    `json:"to,omitempty"` // https://example.com
	Made     time.Time `json:"made"`
	At       time.Time `json:"at"` // time of the last change
	Tries    int       `json:"tries"`
	State    State     `json:"state"`
	Code     int       `json:"code,omitempty"`  // HTTP status of the last answer
	Err      string    `json:"error,omitempty"` // of the last attempt
}

// storedState is the content of the file.
type storedState struct {
	Ended bool            `json:"ended"` // the last run ended with a graceful shutdown and an up-to-date file
	Queue []*notification `json:"queue"`
	Log   []Entry         `json:"log"`
}

const (
	fileName = "webhooks.json"
	maxLog   = 500
	saveGap  = 200 * time.Millisecond // a burst of changes is one write
)

// Open reads the notifications that an earlier run has left in a folder. It renames an unreadable
// file, and logs the loss of its notifications.
func Open(x *exchange.Exchange, k Keys, cfg Config, dir string, log *slog.Logger) (*Dispatcher, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	cfg.Timeout = cmp.Or(cfg.Timeout, defaultTimeout)
	h := &Dispatcher{
		x: x, keys: k, cfg: cfg, file: filepath.Join(dir, fileName), log: log, client: newClient(cfg), slots: make(chan struct{}, maxOut),
		dirty: make(chan struct{}, 1), queues: keyed.Queues[*notification]{Limit: maxWaiting}, status: statuses{},
	}
	if x.IsShared() {
		h.lease = lease.New(x, channel, log)
		x.FollowChannelState(deliveriesChannel, h.takeChanged)
		return h, nil
	}
	return h, h.load(h.loadPosition())
}

// load reads the file. resumed reports whether the Dispatcher follows the feed from where the last
// run was, and so misses no event of a thread.
func (h *Dispatcher) load(resumed bool) error {
	data, err := os.ReadFile(h.file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	h.used = true
	var was storedState
	if err := json.Unmarshal(data, &was); err != nil {
		aside := h.file + ".unreadable"
		h.log.Error("webhooks: the stored queue is unreadable; the exchange renames the file", "err", err)
		if err := os.Rename(h.file, aside); err != nil {
			return err
		}
		h.logLost(fmt.Sprintf("the stored queue was unreadable; it is in %s", filepath.Base(aside)))
		return nil
	}
	h.recent = was.Log[max(0, len(was.Log)-maxLog):]
	for _, n := range was.Queue {
		if n != nil { // a file that a person has edited
			h.queues.Add(n.Executor, n)
		}
	}
	if !was.Ended && !resumed {
		h.logLost("the exchange did not shut down gracefully: notifications of its last moments may be missing")
	}
	return nil
}

// logLost logs a possible loss of notifications.
func (h *Dispatcher) logLost(reason string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	now := time.Now()
	e := Entry{Made: now, At: now, State: Lost, Err: reason}
	if h.lease != nil {
		e.ID = newID() // names its document
	}
	h.appendLog(e)
}

// entryOf returns the entry of a notification.
func entryOf(n notification, s State, r result) Entry {
	e := Entry{ID: n.ID, Executor: n.Executor, Event: n.Event, Ref: n.Thread.Ref, To: originOf(n.URL), Made: n.Made, At: time.Now(), Tries: n.Tries, State: s, Code: r.code}
	if r.err != nil {
		e.Err = r.err.Error()
	}
	return e
}

// logState records the state of a notification. The caller holds h.mu.
func (h *Dispatcher) logState(n notification, s State, r result) {
	e := entryOf(n, s, r)
	if r.err != nil {
		h.log.Debug("webhook not delivered", "executor", n.Executor, "ref", n.Thread.Ref, "state", s, "err", e.Err)
	}
	if i := slices.IndexFunc(h.recent, func(o Entry) bool { return o.ID == n.ID }); i >= 0 {
		h.recent[i] = e
		h.markUnsaved(e.ID)
		return
	}
	h.appendLog(e)
}

// appendLog appends an entry. The caller holds h.mu.
func (h *Dispatcher) appendLog(e Entry) {
	h.used = true
	h.recent = append(h.recent, e)
	h.markUnsaved(e.ID)
	h.dropOldest()
}

// dropOldest removes the oldest entries beyond the limit. The caller holds h.mu.
func (h *Dispatcher) dropOldest() {
	if n := len(h.recent) - maxLog; n > 0 {
		for _, old := range h.recent[:n] {
			h.markUnsaved(old.ID)
		}
		h.recent = slices.Clone(h.recent[n:])
	}
}

// markUnsaved makes saveChanges write the file, or the document of a delivery. The caller holds h.mu.
func (h *Dispatcher) markUnsaved(id string) {
	if h.term > 0 {
		h.changed[id] = true
	}
	h.unsaved = true
	wait.Notify(h.dirty)
}

// originOf returns the scheme and host of an address: the rest may contain a secret.
func originOf(address string) string {
	u, err := url.Parse(address)
	if err != nil || u.Host == "" {
		return ""
	}
	return u.Scheme + "://" + u.Host
}

// Deliveries returns the entries that an actor may see, the newest first: all for an operator,
// its own for an executor.
func (h *Dispatcher) Deliveries(actor exchange.Actor) []Entry {
	list := []Entry{}
	for _, e := range slices.Backward(h.entries()) {
		if actor.Has(exchange.Operator) || e.Executor == actor.ID {
			list = append(list, e)
		}
	}
	return list
}

// entries returns the log, the oldest first.
func (h *Dispatcher) entries() []Entry {
	if h.lease != nil {
		return h.storedEntries()
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Clone(h.recent)
}

// saveChanges writes the file after each change, and the position now and then, until ctx ends.
func (h *Dispatcher) saveChanges(ctx context.Context) error {
	h.mu.Lock()
	h.unsaved = true // until the shutdown, the file says that this run has not ended gracefully
	h.mu.Unlock()
	h.save(ctx, false)
	position := time.NewTicker(positionEvery)
	defer position.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-h.dirty:
		case <-position.C:
		}
		h.save(ctx, false)
		if !wait.For(ctx, saveGap) {
			return nil
		}
	}
}

// save writes the queues and the log, and then the position in the feed: the position never passes
// an event that the file does not have. If the disk fails, the exchange sends notifications all the
// same.
func (h *Dispatcher) save(ctx context.Context, ended bool) {
	h.saving.Lock()
	defer h.saving.Unlock()
	if h.term > 0 {
		h.saveShared(ctx)
		return
	}
	h.mu.Lock()
	at, _ := json.Marshal(h.at)                               // cannot fail: plain values
	moved, unsaved := h.moved, h.used && (h.unsaved || ended) // without any webhook there is no file
	h.moved, h.unsaved = false, false
	var data []byte
	var err error
	if unsaved {
		data, err = json.Marshal(storedState{Ended: ended, Queue: h.queues.All(), Log: h.recent})
	}
	h.mu.Unlock()
	if unsaved {
		if err == nil {
			err = durable.Replace(h.file, data)
		}
		if err != nil {
			h.log.Warn("webhooks: storing the queue failed; after a restart the exchange sends its notifications again", "err", err)
			h.again(moved, true)
			return
		}
	}
	if moved && h.storePosition(ctx, at) != nil {
		h.again(true, false)
	}
}

// again makes a later save write what this one could not.
func (h *Dispatcher) again(moved, unsaved bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.moved, h.unsaved = h.moved || moved, h.unsaved || unsaved
}
