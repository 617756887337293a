package homeassistant

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/messkit/messkit/drivers"
	"github.com/messkit/messkit/internal/wait"
)

const (
	firstPause   = time.Second // before the next attempt to connect
	longestPause = time.Minute
	refusedPause = 10 * time.Minute // after a rejected token, because Home Assistant bans clients with many attempts
)

// connection is the shared connection of all entities of one Home Assistant. The connection
// exists while any of them is open. The hub stores their states and ignores other entities.
// Without a connection, entities use REST.
type connection struct {
	url   string
	token drivers.Secret
	limit time.Duration
	log   *slog.Logger

	turn  sync.Mutex // serializes open and close
	users int        // guarded by turn
	end   context.CancelFunc
	work  *errgroup.Group

	mu           sync.Mutex
	watched      map[string]int    // number of devices by entity
	areas        map[string]string // last known area by entity
	states       map[string]state  // states since the beginning of the connection
	pendingCalls map[string]uint64 // entities without a known state, with the sequence number of their open call
	came         uint64            // last sequence number
	changed      chan struct{}     // closes at a change of a state or of live
	live         *socket           // nil while there is no ready connection

	more chan struct{} // signals new entries in fresh
}

func newConnection(url string, token drivers.Secret, limit time.Duration, log *slog.Logger) *connection {
	return &connection{url: url, token: token, limit: limit, log: log, watched: map[string]int{}, areas: map[string]string{}, pendingCalls: map[string]uint64{}, changed: make(chan struct{}), more: make(chan struct{}, 1)}
}

// open adds an entity, and starts the connection in the background if it is the first.
func (h *connection) open(entity string) {
	h.turn.Lock()
	defer h.turn.Unlock()
	h.mu.Lock()
	h.watched[entity]++
	if h.watched[entity] == 1 && h.states != nil {
		h.came++
		h.pendingCalls[entity] = h.came
		wait.Notify(h.more)
	}
	h.mu.Unlock()
	h.users++
	if h.users == 1 {
		ctx, cancel := context.WithCancel(context.Background())
		h.end, h.work = cancel, &errgroup.Group{}
		h.work.Go(func() error { h.run(ctx); return nil })
	}
}

// close removes an entity, and closes the connection after the last.
func (h *connection) close(entity string) {
	h.turn.Lock()
	defer h.turn.Unlock()
	h.mu.Lock()
	if h.watched[entity]--; h.watched[entity] == 0 {
		delete(h.watched, entity)
		delete(h.states, entity) // the connection no longer updates it
		delete(h.pendingCalls, entity)
	}
	h.mu.Unlock()
	if h.users--; h.users == 0 {
		h.end()
		_ = h.work.Wait() // always nil
	}
}

// run connects repeatedly.
func (h *connection) run(ctx context.Context) {
	pause, logged := firstPause, false
	for ctx.Err() == nil {
		worked, err := h.session(ctx)
		if ctx.Err() != nil {
			return
		}
		switch {
		case worked:
			pause, logged = firstPause, false
		case errors.Is(err, errRefused):
			pause = refusedPause
		}
		if !logged {
			h.log.Warn("live states of Home Assistant are unavailable; the driver polls instead", "err", err)
			logged = true
		}
		wait.For(ctx, pause)
		if pause < longestPause {
			pause = min(longestPause, 2*pause)
		}
	}
}

// session runs one connection until its end; worked reports whether it became ready.
func (h *connection) session(ctx context.Context) (worked bool, err error) {
	s, err := dial(ctx, h.url, h.token, h.limit, h.applyEvent)
	if err != nil {
		return false, err
	}
	g, ctx := errgroup.WithContext(ctx)
	g.Go(s.readMessages)
	g.Go(func() error {
		<-ctx.Done()
		s.end(errGone)
		return nil
	})
	g.Go(func() error {
		if err := h.subscribe(ctx, s); err != nil {
			return err
		}
		h.mu.Lock()
		worked = true
		h.mu.Unlock()
		return h.keepAlive(ctx, s)
	})
	err = g.Wait()
	h.mu.Lock()
	h.live, h.states = nil, nil
	h.notifyChange()
	h.mu.Unlock()
	return worked, err
}

// keepAlive reads the states of new entities, and sends heartbeats until one has no answer.
func (h *connection) keepAlive(ctx context.Context, s *socket) error {
	t := time.NewTicker(pulse)
	defer t.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-t.C:
			if _, err := s.ask(ctx, "ping", nil); err != nil {
				return err
			}
		case <-h.more:
			if err := h.readEntities(ctx, s); err != nil {
				return err
			}
		}
	}
}

// subscribe asks for the changes, and then reads the present states, so it misses no change; a
// change in between arrives twice.
func (h *connection) subscribe(ctx context.Context, s *socket) error {
	h.mu.Lock()
	h.states, h.pendingCalls = map[string]state{}, map[string]uint64{}
	h.mu.Unlock()
	if _, err := s.ask(ctx, "subscribe_events", map[string]any{"event_type": "state_changed"}); err != nil {
		return err
	}
	if err := h.readEntities(ctx, s); err != nil {
		return err
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.live = s
	h.notifyChange()
	h.log.Info("live states of Home Assistant are available", "entities", len(h.states))
	return nil
}

// readEntities reads the states and the areas of all entities. One list serves all entities that
// were added before the request.
func (h *connection) readEntities(ctx context.Context, s *socket) error {
	h.mu.Lock()
	pendingCalls := maps.Clone(h.pendingCalls)
	h.mu.Unlock()
	data, err := s.ask(ctx, "get_states", nil)
	if err != nil {
		return err
	}
	if err := h.all(data, pendingCalls); err != nil {
		return err
	}
	h.findAreas(ctx, s)
	h.mu.Lock()
	defer h.mu.Unlock()
	for id, n := range pendingCalls {
		if h.pendingCalls[id] == n {
			delete(h.pendingCalls, id)
		}
	}
	h.notifyChange()
	return nil
}

// all takes the states of the watched entities from a list. It ignores entities that were
// added after the request, because their state in the list may be older than the last
// event.
func (h *connection) all(data json.RawMessage, pendingCalls map[string]uint64) error {
	var list []json.RawMessage
	if err := json.Unmarshal(data, &list); err != nil {
		return errors.New("the states of Home Assistant are not a list")
	}
	for _, one := range list {
		var id struct {
			ID string `json:"entity_id"`
		}
		h.mu.Lock()
		late := json.Unmarshal(one, &id) != nil || h.pendingCalls[id.ID] != pendingCalls[id.ID]
		h.mu.Unlock()
		if !late {
			h.take(id.ID, one, false)
		}
	}
	return nil
}

// applyEvent processes an event.
func (h *connection) applyEvent(e event) {
	if e.Type == "state_changed" {
		h.take(e.Data.ID, e.Data.New, true)
	}
}

// take stores the state of a watched entity. A state from an event is never older than the
// list, so the list does not replace it.
func (h *connection) take(id string, data json.RawMessage, event bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.watched[id] == 0 || h.states == nil {
		return
	}
	if _, known := h.states[id]; known && !event {
		return
	}
	defer h.notifyChange()
	if len(data) == 0 || string(data) == "null" { // stored, so that an older list does not add the entity again
		h.states[id] = state{ID: id, fault: fmt.Errorf("entity %s no longer exists in Home Assistant", id)}
		return
	}
	s, err := parseState(data, id)
	if err != nil {
		s = state{ID: id, fault: err}
	}
	h.states[id] = s // events arrive in order
}

// notifyChange signals a change. The caller holds mu.
func (h *connection) notifyChange() {
	close(h.changed)
	h.changed = make(chan struct{})
}

// changes returns a channel that closes at the next change.
func (h *connection) changes() <-chan struct{} {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.changed
}

// socket returns the ready connection, or nil.
func (h *connection) socket() *socket {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.live
}

// state returns the present state of an entity. It sends a ping first: the answer arrives
// after all earlier changes. live is false without a connection.
func (h *connection) state(ctx context.Context, id string) (s state, live bool, err error) {
	c := h.socket()
	if c == nil {
		return state{}, false, nil
	}
	if _, err := c.ask(ctx, "ping", nil); err != nil {
		return state{}, false, nil //nolint:nilerr // REST is asked then, and has an error of its own
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.live != c || h.pendingCalls[id] > 0 {
		return state{}, false, nil
	}
	s, known := h.states[id]
	switch {
	case !known:
		return state{}, true, errors.New(misspelt(id))
	case s.fault != nil:
		return state{}, true, s.fault
	}
	return s, true, nil
}
