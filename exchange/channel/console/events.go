package console

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"path"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/messkit/messkit/exchange"
	"github.com/messkit/messkit/exchange/notices"
	"github.com/messkit/messkit/mess"
)

// executor is an executor as the page shows it.
type executor struct {
	ID           string            `json:"id"`
	Name         string            `json:"name"`
	Person       bool              `json:"person"`
	Live         bool              `json:"live"`
	LastSeen     time.Time         `json:"last_seen"`
	Capabilities []mess.Capability `json:"capabilities"` // with their areas
	Availability mess.Availability `json:"availability,omitempty"`
	Schedule     string            `json:"schedule,omitempty"`
	Stopped      *mess.StopState   `json:"stopped,omitempty"`
	Stopping     int               `json:"stopping,omitempty"`   // stops that it has not confirmed
	StopOrder    *mess.Stop        `json:"stop_order,omitempty"` // the last of them
	DrainReason  string            `json:"on_hold,omitempty"`
	DrainOrder   *mess.DrainOrder  `json:"hold,omitempty"` // the order behind on_hold, if there is one: who, when and why
	Disarmed     any               `json:"disarmed,omitempty"`
	Failing      []mess.Failing    `json:"failing,omitempty"` // for operators
	Claims       int               `json:"claims,omitempty"`  // threads that it has claimed
	Software     string            `json:"software,omitempty"`
	Battery      *mess.Battery     `json:"battery,omitempty"` // nil if it reports none
}

// state is the status of everything but threads.
type state struct {
	Executors []executor     `json:"executors"`
	Bell      *notices.Count `json:"bell,omitempty"`
	Status    any            `json:"status,omitempty"` // for operators
	Here      any            `json:"here,omitempty"`   // for operators
}

// executors returns the registered executors as the caller may see them.
func (g *request) executors() []executor {
	list := []executor{}
	for _, e := range g.x.Executors() {
		if g.actor.IsGuest() && exchange.IsPerson(e.Executor) {
			continue
		}
		one := executor{
			ID: e.ID, Name: e.Name, Person: exchange.IsPerson(e.Executor), Live: e.Live, LastSeen: e.LastSeen.Truncate(time.Minute),
			Capabilities: withAreas(e.Capabilities), Claims: e.Claims, Software: e.Software(), Battery: e.Battery(), Availability: e.Availability, Schedule: e.Schedule, Stopping: len(e.UnconfirmedStops), DrainReason: e.DrainReason, DrainOrder: e.Drain,
		}
		if e.Stopped != nil && e.Stopped.Reason != "" {
			one.Stopped = e.Stopped
		}
		if n := len(e.UnconfirmedStops); n > 0 {
			one.StopOrder = &e.UnconfirmedStops[n-1]
		}
		if reason, _ := e.Extra.Get("disarmed"); reason != nil && reason != "" {
			one.Disarmed = reason
		}
		if g.actor.Has(exchange.Operator) {
			one.Failing = e.FailingDevices()
		}
		list = append(list, one)
	}
	return list
}

// withAreas returns capabilities with their areas and without other metadata, which the page does not
// use: a fleet has many.
func withAreas(all []mess.Capability) []mess.Capability {
	list := make([]mess.Capability, len(all))
	for i, c := range all {
		list[i] = mess.Capability{ID: c.ID}
		meta, _ := c.Meta.(mess.Object)
		if areas, ok := meta.Get("areas"); ok {
			list[i].Meta = mess.Object{{Key: "areas", Value: areas}}
		}
	}
	return list
}

// programState returns the count of the bell, and for operators the status of the program and of the
// local executor.
func (g *request) programState() (s state) {
	s.Bell = g.bellCount()
	if g.actor.Has(exchange.Operator) {
		if g.cfg.Status != nil {
			s.Status = g.cfg.Status()
		}
		if g.cfg.LocalExecutor != nil {
			s.Here = g.cfg.LocalExecutor.State()
		}
	}
	return s
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
	By        string        `json:"by,omitempty"` // the author of the message
}

const (
	pollEvery   = 500 * time.Millisecond // between two looks for a change of the state
	readEvery   = 2 * time.Second        // after it an executor may have fallen silent
	resendAfter = 15 * time.Second       // the stream sends the state again after this time, as a heartbeat
)

// streamEvents streams changes: state (executors, devices, stops), thread, offer and withdrawn
// (the ref), and reset, after which a page reads everything again. Changes of counters and
// times alone wait for the next heartbeat.
func (g *request) streamEvents() error {
	h := g.w.Header()
	h.Set("Content-Type", "text/event-stream; charset=utf-8")
	h.Set("X-Accel-Buffering", "no")
	s := &stream{w: g.w}
	group, ctx := errgroup.WithContext(g.r.Context())
	hello := func() error {
		if err := s.send("", "hello", map[string]string{"exchange": g.x.ID()}); err != nil {
			return err
		}
		group.Go(func() error { return g.sendStates(ctx, s) })
		return nil
	}
	group.Go(func() error {
		return g.x.FollowFrom(ctx, g.actor, g.r.Header.Get("Last-Event-ID"), hello, s.event)
	})
	if err := group.Wait(); err != nil && g.r.Context().Err() == nil && !errors.Is(err, errGone) {
		g.log.Debug("console: events ended", "actor", g.actor.ID, "err", err) // the browser connects again
	}
	return nil
}

// sendStates sends the state, and sends it again when it has changed. It reads the executors
// anew only when one has changed, or may have fallen silent.
func (g *request) sendStates(ctx context.Context, s *stream) error {
	look := time.NewTicker(pollEvery)
	defer look.Stop()
	var (
		executors           []executor
		plainList, sentList []byte
		changed             <-chan struct{}
		read, sent          time.Time
	)
	for {
		if changed == nil || isClosed(changed) || time.Since(read) >= readEvery {
			changed, read = g.x.ExecutorsChanged(), time.Now()
			executors = g.executors()
			data, err := json.Marshal(executors)
			if err != nil {
				return err
			}
			plainList = withoutCounters(data)
		}
		now := g.programState()
		data, err := json.Marshal(now)
		if err != nil {
			return err
		}
		if plain := slices.Concat(plainList, withoutCounters(data)); !bytes.Equal(plain, sentList) || time.Since(sent) > resendAfter {
			sentList, sent = plain, time.Now()
			now.Executors = executors
			if err := s.send("", "state", now); err != nil {
				return err
			}
		}
		select {
		case <-ctx.Done():
			return nil
		case <-look.C:
		}
	}
}

func isClosed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// counters are the fields that change all the time.
var counters = []string{"uptime_s", "log", "journal", "mqtt", "last_seen", "as_of"}

// withoutCounters removes the counters from a state.
func withoutCounters(state []byte) []byte {
	var v any
	if json.Unmarshal(state, &v) != nil {
		return state
	}
	removeCounters(v)
	plain, err := json.Marshal(v)
	if err != nil {
		return state
	}
	return plain
}

func removeCounters(v any) {
	switch v := v.(type) {
	case map[string]any:
		for _, name := range counters {
			delete(v, name)
		}
		for _, one := range v {
			removeCounters(one)
		}
	case []any:
		for _, one := range v {
			removeCounters(one)
		}
	}
}

var errGone = errors.New("the browser has disconnected")

// stream writes events, one at a time. It is safe for concurrent use.
type stream struct {
	mu sync.Mutex
	w  http.ResponseWriter
}

func (s *stream) send(id, name string, v any) error {
	data, err := json.Marshal(v)
	if err != nil {
		return err
	}
	var b bytes.Buffer
	if id != "" {
		fmt.Fprintf(&b, "id: %s\n", id)
	}
	fmt.Fprintf(&b, "event: %s\ndata: %s\n\n", name, data)
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, err := s.w.Write(b.Bytes()); err != nil {
		return errGone
	}
	if f, ok := s.w.(http.Flusher); ok {
		f.Flush()
	}
	return nil
}

// event writes one event of the exchange.
func (s *stream) event(e exchange.Event) error {
	t := thread{
		Ref: e.Thread.Ref, Status: e.Thread.Status, Intent: e.Thread.Intent, Requester: e.Thread.Requester, Executor: e.Thread.Executor,
		Priority: e.Thread.Priority, Created: e.Thread.Created, Updated: e.Thread.Updated, By: e.Message.From,
	}
	switch e.Kind {
	case exchange.EventMessage:
		return s.send(e.ID, "thread", t)
	case exchange.EventOffer, exchange.EventWithdrawn:
		return s.send(e.ID, string(e.Kind), t)
	case exchange.EventReset:
		return s.send(e.ID, "reset", struct{}{})
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
