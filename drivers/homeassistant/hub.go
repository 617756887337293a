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
)

const (
	firstPause   = time.Second // before it is tried to connect again
	longestPause = time.Minute
	refusedPause = 10 * time.Minute // where the token is refused: Home Assistant shuts out who tries often
)

// hub is what all entities of one Home Assistant have in common: a connection
// that is there while any of them is open, and their states as it tells them. What
// it tells of other entities is passed over. While there is no connection,
// entities are asked for over REST.
type hub struct {
	url   string
	token drivers.Secret
	limit time.Duration
	log   *slog.Logger

	turn  sync.Mutex // held by open and close
	users int        // guarded by turn
	end   context.CancelFunc
	work  *errgroup.Group

	mu      sync.Mutex
	watched map[string]int    // entities, and by how many devices
	areas   map[string]string // of entities; it keeps what was known
	states  map[string]state  // from the beginning of a connection
	fresh   map[string]uint64 // entities that came since then, and whose state is not known yet, by number
	came    uint64            // how many have come
	bell    chan struct{}     // closed when a state changes, or live does
	live    *socket           // nil while there is none that is set up

	more chan struct{} // there are fresh ones
}

func newHub(url string, token drivers.Secret, limit time.Duration, log *slog.Logger) *hub {
	return &hub{url: url, token: token, limit: limit, log: log, watched: map[string]int{}, areas: map[string]string{}, fresh: map[string]uint64{}, bell: make(chan struct{}), more: make(chan struct{}, 1)}
}

// open has the hub connect, in its own time, and keep the state of an entity.
func (h *hub) open(entity string) {
	h.turn.Lock()
	defer h.turn.Unlock()
	h.mu.Lock()
	h.watched[entity]++
	if h.watched[entity] == 1 && h.states != nil {
		h.came++
		h.fresh[entity] = h.came
		select {
		case h.more <- struct{}{}:
		default: // somebody has said so
		}
	}
	h.mu.Unlock()
	h.users++
	if h.users == 1 {
		ctx, cancel := context.WithCancel(context.Background())
		h.end, h.work = cancel, &errgroup.Group{}
		h.work.Go(func() error { h.run(ctx); return nil })
	}
}

// close ends the connection with the last entity.
func (h *hub) close(entity string) {
	h.turn.Lock()
	defer h.turn.Unlock()
	h.mu.Lock()
	if h.watched[entity]--; h.watched[entity] == 0 {
		delete(h.watched, entity)
		delete(h.states, entity) // nobody keeps it up to date
		delete(h.fresh, entity)
	}
	h.mu.Unlock()
	if h.users--; h.users == 0 {
		h.end()
		_ = h.work.Wait() // it returns nil
	}
}

// run connects, again and again.
func (h *hub) run(ctx context.Context) {
	pause, told := firstPause, false
	for ctx.Err() == nil {
		worked, err := h.session(ctx)
		if ctx.Err() != nil {
			return
		}
		switch {
		case worked:
			pause, told = firstPause, false
		case errors.Is(err, errRefused):
			pause = refusedPause
		}
		if !told {
			h.log.Warn("no live states of Home Assistant; asking it each time", "err", err)
			told = true
		}
		t := time.NewTimer(pause)
		select {
		case <-t.C:
		case <-ctx.Done():
			t.Stop()
			return
		}
		if pause < longestPause {
			pause = min(longestPause, 2*pause)
		}
	}
}

// session is one connection from its beginning to its end; worked reports whether
// it was set up.
func (h *hub) session(ctx context.Context) (worked bool, err error) {
	s, err := dial(ctx, h.url, h.token, h.limit, h.hear)
	if err != nil {
		return false, err
	}
	g, ctx := errgroup.WithContext(ctx)
	g.Go(s.hear)
	g.Go(func() error {
		<-ctx.Done()
		s.end(errGone)
		return nil
	})
	g.Go(func() error {
		if err := h.settle(ctx, s); err != nil {
			return err
		}
		h.mu.Lock()
		worked = true
		h.mu.Unlock()
		return h.tend(ctx, s)
	})
	err = g.Wait()
	h.mu.Lock()
	h.live, h.states = nil, nil
	h.ring()
	h.mu.Unlock()
	return worked, err
}

// tend learns the states of entities that come, and asks for a sign of life, until there
// is none.
func (h *hub) tend(ctx context.Context, s *socket) error {
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
			if err := h.learn(ctx, s); err != nil {
				return err
			}
		}
	}
}

// settle subscribes, and then asks for the states as they are: what changes in
// between comes twice, and nothing is lost.
func (h *hub) settle(ctx context.Context, s *socket) error {
	h.mu.Lock()
	h.states, h.fresh = map[string]state{}, map[string]uint64{}
	h.mu.Unlock()
	if _, err := s.ask(ctx, "subscribe_events", map[string]any{"event_type": "state_changed"}); err != nil {
		return err
	}
	if err := h.learn(ctx, s); err != nil {
		return err
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.live = s
	h.ring()
	h.log.Info("live states of Home Assistant", "entities", len(h.states))
	return nil
}

// learn asks for the states and the areas of all entities. One list serves all that have
// come until it was asked for.
func (h *hub) learn(ctx context.Context, s *socket) error {
	h.mu.Lock()
	fresh := maps.Clone(h.fresh)
	h.mu.Unlock()
	data, err := s.ask(ctx, "get_states", nil)
	if err != nil {
		return err
	}
	if err := h.all(data, fresh); err != nil {
		return err
	}
	h.findAreas(ctx, s)
	h.mu.Lock()
	defer h.mu.Unlock()
	for id, n := range fresh {
		if h.fresh[id] == n {
			delete(h.fresh, id)
		}
	}
	h.ring()
	return nil
}

// all takes the states of the entities that are watched out of a list of all. Of those
// that have come since the list was asked for, it may be older than the last event.
func (h *hub) all(data json.RawMessage, fresh map[string]uint64) error {
	var list []json.RawMessage
	if err := json.Unmarshal(data, &list); err != nil {
		return errors.New("its states are no list")
	}
	for _, one := range list {
		var id struct {
			ID string `json:"entity_id"`
		}
		h.mu.Lock()
		late := json.Unmarshal(one, &id) != nil || h.fresh[id.ID] != fresh[id.ID]
		h.mu.Unlock()
		if !late {
			h.take(id.ID, one, false)
		}
	}
	return nil
}

// hear takes an event.
func (h *hub) hear(e event) {
	if e.Type == "state_changed" {
		h.take(e.Data.ID, e.Data.New, true)
	}
}

// take keeps the state of an entity, if it is watched. What an event has told is
// never older than a list that was asked for when it was subscribed to.
func (h *hub) take(id string, data json.RawMessage, event bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.watched[id] == 0 || h.states == nil {
		return
	}
	if _, told := h.states[id]; told && !event {
		return
	}
	defer h.ring()
	if len(data) == 0 || string(data) == "null" { // noted, lest a list that is older adds it again
		h.states[id] = state{ID: id, fault: fmt.Errorf("%s was taken out of Home Assistant", id)}
		return
	}
	s, err := parseState(data, id)
	if err != nil {
		s = state{ID: id, fault: err}
	}
	h.states[id] = s // they come in their order
}

// ring wakes all who wait for a change. mu is held.
func (h *hub) ring() {
	close(h.bell)
	h.bell = make(chan struct{})
}

// changes is closed with the next change.
func (h *hub) changes() <-chan struct{} {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.bell
}

// socket is the connection, nil where there is none.
func (h *hub) socket() *socket {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.live
}

// state is that of an entity as it is now: an answer to a question that was asked
// now comes behind all that has changed before. live is false where there is no
// connection.
func (h *hub) state(ctx context.Context, id string) (s state, live bool, err error) {
	c := h.socket()
	if c == nil {
		return state{}, false, nil
	}
	if _, err := c.ask(ctx, "ping", nil); err != nil {
		return state{}, false, nil //nolint:nilerr // REST is asked then, and has an error of its own
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.live != c || h.fresh[id] > 0 {
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
