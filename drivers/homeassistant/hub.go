package homeassistant

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
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
	states  map[string]state  // while live
	bell    chan struct{}     // closed when a state changes, or live does
	live    *socket           // nil while there is none that is set up
}

func newHub(url string, token drivers.Secret, limit time.Duration, log *slog.Logger) *hub {
	return &hub{url: url, token: token, limit: limit, log: log, watched: map[string]int{}, areas: map[string]string{}, bell: make(chan struct{})}
}

// open has the hub connect, in its own time, and keep the state of an entity.
func (h *hub) open(entity string) {
	h.turn.Lock()
	defer h.turn.Unlock()
	h.mu.Lock()
	h.watched[entity]++
	fresh := h.watched[entity] == 1
	old := h.live
	h.mu.Unlock()
	h.users++
	if h.users == 1 {
		ctx, cancel := context.WithCancel(context.Background())
		h.end, h.work = cancel, &errgroup.Group{}
		h.work.Go(func() error { h.run(ctx); return nil })
	} else if fresh && old != nil {
		old.end(errNewcomer) // it begins again, with one more
	}
}

var errNewcomer = errors.New("there is one more entity")

// close ends the connection with the last entity.
func (h *hub) close(entity string) {
	h.turn.Lock()
	defer h.turn.Unlock()
	h.mu.Lock()
	if h.watched[entity]--; h.watched[entity] == 0 {
		delete(h.watched, entity)
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
		case errors.Is(err, errNewcomer):
			pause, told = firstPause, false
			continue
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
		return s.live(ctx)
	})
	err = g.Wait()
	h.mu.Lock()
	h.live, h.states = nil, nil
	h.ring()
	h.mu.Unlock()
	if errors.Is(s.dead, errNewcomer) {
		err = errNewcomer
	}
	return worked, err
}

// live tells and asks for a sign of life, until there is none.
func (s *socket) live(ctx context.Context) error {
	t := time.NewTicker(pulse)
	defer t.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-t.C:
		}
		if _, err := s.ask(ctx, "ping", nil); err != nil {
			return err
		}
	}
}

// settle subscribes, and then asks for the states as they are: what changes in
// between comes twice, and nothing is lost.
func (h *hub) settle(ctx context.Context, s *socket) error {
	h.mu.Lock()
	h.states = map[string]state{}
	h.mu.Unlock()
	if _, err := s.ask(ctx, "subscribe_events", map[string]any{"event_type": "state_changed"}); err != nil {
		return err
	}
	data, err := s.ask(ctx, "get_states", nil)
	if err != nil {
		return err
	}
	if err := h.all(data); err != nil {
		return err
	}
	h.findAreas(ctx, s)
	h.mu.Lock()
	defer h.mu.Unlock()
	h.live = s
	h.ring()
	h.log.Info("live states of Home Assistant", "entities", len(h.states))
	return nil
}

// all takes the states of the entities that are watched out of a list of all.
func (h *hub) all(data json.RawMessage) error {
	var list []json.RawMessage
	if err := json.Unmarshal(data, &list); err != nil {
		return errors.New("its states are no list")
	}
	for _, one := range list {
		var id struct {
			ID string `json:"entity_id"`
		}
		if json.Unmarshal(one, &id) == nil {
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
	if h.live != c {
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
