package console

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"path"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/messkit/messkit/exchange"
	"github.com/messkit/messkit/exchange/access"
	"github.com/messkit/messkit/exchange/channel/console/state"
	"github.com/messkit/messkit/exchange/home"
	"github.com/messkit/messkit/internal/wait"
	"github.com/messkit/messkit/mess"
)

// executors returns the registered executors as the caller may see them.
func (g *request) executors(all []exchange.ExecutorInfo) []state.Executor {
	list := []state.Executor{}
	for _, e := range all {
		if seen, ok := home.ExecutorFor(g.actor, e); ok {
			list = append(list, state.OfExecutor(seen, g.actor.Has(exchange.Operator)))
		}
	}
	return list
}

// thread is a thread in an event.
type thread struct {
	Ref       string        `json:"ref"`
	Status    mess.Code     `json:"status"`
	Intent    string        `json:"intent"`
	Requester string        `json:"requestor_id"`
	Executor  string        `json:"executor_id,omitempty"`
	Priority  mess.Priority `json:"priority,omitempty"`
	Created   time.Time     `json:"created_at"`
	Updated   time.Time     `json:"updated_at"`
	By        string        `json:"by,omitempty"`    // the author of the message
	Asked     *home.Asked   `json:"asked,omitempty"` // of a request for a verb of a device
}

const (
	pollEvery  = 500 * time.Millisecond // between two looks for a change of the state, at least
	readEvery  = 2 * time.Second        // between two looks while nothing happens
	busyTime   = time.Second            // after an event: what follows from it comes a little later
	beatEvery  = 15 * time.Second       // without an event; the page then knows that the stream lives
	timesEvery = time.Minute            // between two events with statistics, and with times that say nothing new
)

// streamEvents streams changes to one page: hello, state, change (what differs from the last state),
// thread, offer and withdrawn (with the ref), beat, and reset, after which the page reads all threads
// again. With ?home=true it also has the events of the home: home, device, gone and executor.
//
// A window that shares its stream with no other one says ?own=true. The oldest such stream of a browser
// ends with the event elsewhere when the browser has more than maxOwnStreams.
//
// The id of an event has the position in both kinds of events. With Last-Event-ID the stream
// continues there, and says so in hello; without it, it begins with the present state.
func (g *request) streamEvents() error {
	withHome := g.r.URL.Query().Get("home") == "true"
	if withHome {
		if err := access.Check(g.actor, http.MethodGet, "stream"); err != nil {
			return err
		}
	}
	h := g.w.Header()
	h.Set("Content-Type", "text/event-stream; charset=utf-8")
	h.Set("X-Accel-Buffering", "no")
	s := &stream{w: g.w, happened: make(chan struct{}, 1)}
	after, afterHome, _ := strings.Cut(g.r.Header.Get("Last-Event-ID"), idSeparator)
	s.at, s.atHome = after, afterHome
	group, ctx := errgroup.WithContext(g.r.Context())
	if g.r.URL.Query().Get("own") == "true" {
		over := make(chan struct{})
		defer g.addStream(g.r, sync.OnceFunc(func() { close(over) }))()
		group.Go(func() error { return s.endsWith(ctx, over) })
	}
	hello := func() error {
		if err := s.send("hello", map[string]any{"exchange": g.x.ID(), "resumed": after != ""}); err != nil {
			return err
		}
		group.Go(func() error { return g.sendStates(ctx, s) })
		if withHome {
			group.Go(func() error { return g.cfg.Home.Follow(ctx, g.actor, afterHome, s.homeEvent) })
		}
		return nil
	}
	group.Go(func() error { return g.x.FollowFrom(ctx, g.actor, after, hello, s.event) })
	if err := group.Wait(); err != nil && g.r.Context().Err() == nil && !errors.Is(err, errGone) && !errors.Is(err, errElsewhere) {
		g.log.Debug("console: events ended", "actor", g.actor.ID, "err", err) // the browser connects again
	}
	return nil
}

// sendStates sends the state, and then what has changed. It looks after an event, and now and then.
func (g *request) sendStates(ctx context.Context, s *stream) error {
	var (
		tracker           state.Tracker
		executors, local  <-chan struct{}
		read, timed, wake time.Time
	)
	for {
		var c state.Change
		looked := time.Now()
		withTimes := looked.Sub(timed) >= timesEvery
		if executors == nil || isClosed(executors) || withTimes || looked.Sub(read) >= readEvery {
			executors, read = g.x.ExecutorsChanged(), looked
			if err := tracker.Executors(&c, g.executors(g.x.Executors()), withTimes); err != nil {
				return err
			}
		}
		if g.cfg.Notices != nil {
			tracker.Bell(&c, g.bellCount())
		}
		var err error
		if local, err = g.operatorState(&tracker, &c, withTimes); err != nil {
			return err
		}
		if err := s.sendChange(c, timed.IsZero()); err != nil {
			return err
		}
		if withTimes {
			timed = looked
		}
		pause := readEvery
		if looked.Sub(wake) < busyTime {
			pause = pollEvery
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(pause):
		case <-executors:
		case <-local:
		case <-s.happened:
			wake = time.Now()
		}
		if !wait.For(ctx, pollEvery-time.Since(looked)) {
			return nil
		}
	}
}

// operatorState adds what only operators see: the local executor, and with times the statistics of
// the program. changed closes when a page changes the local executor; nil: there is none to see.
func (g *request) operatorState(tracker *state.Tracker, c *state.Change, withTimes bool) (changed <-chan struct{}, err error) {
	if !g.actor.Has(exchange.Operator) {
		return nil, nil
	}
	if withTimes && g.cfg.Status != nil {
		c.Status = g.cfg.Status()
	}
	if g.local == nil {
		return nil, nil
	}
	r, changed, err := g.local.Read()
	if err == nil {
		tracker.Here(c, r, withTimes)
	}
	return changed, err
}

func isClosed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

var (
	errGone      = errors.New("the browser has disconnected")
	errElsewhere = errors.New("other windows of the browser have streams")
)

// idSeparator stands between the two positions in the id of an event. Neither position contains it.
const idSeparator = "~"

// stream writes events, one at a time. It is safe for concurrent use.
type stream struct {
	happened chan struct{} // has an entry after an event of the exchange

	mu     sync.Mutex
	w      http.ResponseWriter
	at     string // position in the events of the exchange
	atHome string // position in the events of the home
	sent   time.Time
}

// send writes an event that changes no position.
func (s *stream) send(name string, v any) error { return s.sendAt(name, v, nil, "") }

// sendAt writes an event, and moves a position to id unless id is "".
func (s *stream) sendAt(name string, v any, position *string, id string) error {
	data, err := json.Marshal(v)
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	var b bytes.Buffer
	if id != "" {
		*position = id
		fmt.Fprintf(&b, "id: %s%s%s\n", s.at, idSeparator, s.atHome)
	}
	fmt.Fprintf(&b, "event: %s\ndata: %s\n\n", name, data)
	if _, err := s.w.Write(b.Bytes()); err != nil {
		return errGone
	}
	if f, ok := s.w.(http.Flusher); ok {
		f.Flush()
	}
	s.sent = time.Now()
	return nil
}

// endsWith sends the event elsewhere when over closes, and returns errElsewhere then.
func (s *stream) endsWith(ctx context.Context, over <-chan struct{}) error {
	select {
	case <-ctx.Done():
		return nil
	case <-over:
	}
	if err := s.send("elsewhere", struct{}{}); err != nil {
		return err
	}
	return errElsewhere
}

// sendChange sends the first state as a whole, and later what has changed. Without a change it sends a
// beat when the stream has been silent for long.
func (s *stream) sendChange(c state.Change, first bool) error {
	switch {
	case first:
		if c.Changed == nil {
			c.Changed = []state.Executor{}
		}
		return s.send("state", state.State{Executors: c.Changed, Bell: c.Bell, Status: c.Status, Here: c.Here})
	case !c.IsEmpty():
		return s.send("change", c)
	case s.isSilent():
		return s.send("beat", struct{}{})
	}
	return nil
}

func (s *stream) isSilent() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return time.Since(s.sent) >= beatEvery
}

// homeEvent writes one event of the home.
func (s *stream) homeEvent(e home.Event) error { return s.sendAt(e.Name, e.Data, &s.atHome, e.ID) }

// event writes one event of the exchange.
func (s *stream) event(e exchange.Event) error {
	wait.Notify(s.happened)
	t := thread{
		Ref: e.Thread.Ref, Status: e.Thread.Status, Intent: e.Thread.Intent, Requester: e.Thread.Requester, Executor: e.Thread.Executor,
		Priority: e.Thread.Priority, Created: e.Thread.Created, Updated: e.Thread.Updated, By: e.Message.From, Asked: home.AskedOf(&e.Thread),
	}
	switch e.Kind {
	case exchange.EventMessage:
		return s.sendAt("thread", t, &s.at, e.ID)
	case exchange.EventOffer, exchange.EventWithdrawn:
		return s.sendAt(string(e.Kind), t, &s.at, e.ID)
	case exchange.EventReset:
		return s.sendAt("reset", struct{}{}, &s.at, e.ID)
	}
	return nil // the state contains stops
}

// imageThreads is how many threads lastImages searches.
const imageThreads = 60

// lastImage is the last image of a device.
type lastImage struct {
	Device   string    `json:"device"`
	Executor string    `json:"executor"`
	Ref      string    `json:"ref"`
	Name     string    `json:"name"`
	At       time.Time `json:"at"`
}

// lastImages lists the last image of each device, from the threads that the caller may see.
func (g *request) lastImages() error {
	page, err := g.x.List(g.r.Context(), g.actor, exchange.Filter{Status: []mess.Code{mess.Completed, mess.Partial, mess.Failed, mess.InProgress}, Limit: imageThreads})
	if err != nil {
		return err
	}
	list, seen := []lastImage{}, map[string]bool{}
	for _, e := range page.Threads {
		t, err := g.x.Thread(g.r.Context(), g.actor, e.Ref)
		if err != nil {
			continue // the thread does not exist any more
		}
		for _, a := range t.Attachments() {
			device := deviceOf(a.Name)
			if !strings.HasPrefix(a.MIME, "image/") || seen[e.Executor+"/"+device] {
				continue
			}
			seen[e.Executor+"/"+device] = true
			list = append(list, lastImage{device, e.Executor, e.Ref, a.Name, e.Updated})
		}
	}
	writeJSON(g.w, http.StatusOK, map[string]any{"pictures": list})
	return nil
}

// deviceOf returns the device in the name of an attachment, such as fridge-camera in
// att-003-image-fridge-camera.jpg.
func deviceOf(name string) string {
	parts := strings.SplitN(strings.TrimSuffix(name, path.Ext(name)), "-", 4)
	return parts[len(parts)-1]
}
