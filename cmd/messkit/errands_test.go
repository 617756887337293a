package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"
)

// errand is one request to switch a valve, which must not be switched twice for
// it, and what became of it as the requester was told.
type errand struct {
	id      string
	valve   int
	want    string // on or off, as it is not now
	cancels time.Duration
	no      bool // what its requester says when asked
	before  int  // notes in the valve's log when it was asked for

	ref       string    // "" until the request was acknowledged
	said      time.Time // when the first yes was sent; zero if none was
	cancelled string    // status after a cancel that was acknowledged
	status    string    // as it ended; "" until then
	effect    string    // of the reason
	began     bool      // the thread says that it was begun
	after     int       // notes when the end was known
}

// errands are the requests of many at once, each with a valve of his own, whose
// log no power cut and no kill can touch. What was done to a valve between two
// of his requests was done for the first.
type errands struct {
	dir    string // of the logs
	valves int
	door   atomic.Pointer[door] // nil while the exchange is away
	most   int64                // how many in all
	left   atomic.Int64
	rest   time.Duration // at most so long between two requests for one valve; 0: none

	// pen is held for reading while a log is read, and for writing while logs are
	// made what they were at the moment of a cut.
	pen sync.RWMutex

	mu   sync.Mutex
	list []*errand
}

func newErrands(dir string, valves, most int) *errands {
	e := &errands{dir: dir, valves: valves, most: int64(most)}
	e.left.Store(int64(most))
	return e
}

// wire is a valve's log. Every second one gives access to something.
func (e *errands) wire(valve int) wire {
	return wire(filepath.Join(e.dir, fmt.Sprint("valve-", valve)))
}

func asksFirst(valve int) bool { return valve%2 == 1 }

// devices are the valves as a configuration has them.
func (e *errands) devices() string {
	text := "devices:\n"
	for v := range e.valves {
		text += fmt.Sprintf("  valve-%d: {driver: sim-lamp, line: v%d, file: %s, initial: keep, safe: keep, effect: once", v, v, e.wire(v))
		if asksFirst(v) {
			text += ", risk: access"
		}
		text += "}\n"
	}
	return text
}

// agent is an executor that goes on after a crash: what is proved here does not
// lean on a person who looks first.
func (e *errands) agent(id, data string) string {
	return fmt.Sprintf("agent: {id: %s, data: %s, disarm: [], max_acts: {requester: 10000/m, all: 10000/m}}\n", id, data)
}

// notes are how often a valve was switched, and how it is.
func (e *errands) notes(valve int) (n int, last string) {
	text := e.text(valve)
	if text == "" {
		return 0, "off"
	}
	lines := strings.Split(strings.TrimSpace(text), "\n")
	return len(lines), strings.Fields(lines[len(lines)-1])[1]
}

// text is a valve's log; there is none before it is switched first.
func (e *errands) text(valve int) string {
	e.pen.RLock()
	defer e.pen.RUnlock()
	text, err := os.ReadFile(string(e.wire(valve)))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		panic(err) // nothing can be judged
	}
	return string(text)
}

// act waits until a valve is switched, and tells which process has done it; 0 if
// none is for so long. What dies then has acted and has not told it yet.
func (e *errands) act(within time.Duration) (by int) {
	sizes := make([]int64, e.valves)
	for end, first := time.Now().Add(within), true; time.Now().Before(end); first = false {
		for v := range sizes {
			info, err := os.Stat(string(e.wire(v)))
			if err != nil || info.Size() == sizes[v] {
				continue
			}
			if sizes[v] = info.Size(); first {
				continue
			}
			words := strings.Fields(e.text(v))
			by, _ = strconv.Atoi(words[len(words)-2]) // 0: its line is not whole yet
			return by
		}
		<-time.After(100 * time.Microsecond)
	}
	return 0
}

// ask has every valve asked for one thing after the other until there were
// enough or ctx ends, and waits until what was asked for has ended.
func (e *errands) ask(ctx context.Context) error {
	var g errgroup.Group
	for v := range e.valves {
		g.Go(func() error {
			for ctx.Err() == nil && e.left.Add(-1) >= 0 {
				e.pause()
				if err := e.one(v); err != nil {
					return err
				}
			}
			return nil
		})
	}
	return g.Wait()
}

// pause is the time between two requests for one valve.
func (e *errands) pause() {
	if e.rest > 0 {
		<-time.After(rand.N(e.rest))
	}
}

// one is one request from its beginning to its end.
func (e *errands) one(valve int) error {
	before, is := e.notes(valve)
	want := map[string]string{"on": "off", "off": "on"}[is]
	one := &errand{valve: valve, want: want, before: before, no: rand.IntN(8) == 0}
	if rand.IntN(6) == 0 {
		one.cancels = time.Duration(1+rand.IntN(40)) * time.Millisecond
	}
	e.mu.Lock()
	one.id = fmt.Sprintf("e%d", len(e.list))
	e.list = append(e.list, one)
	e.mu.Unlock()
	end := time.Now().Add(patience)
	if !e.asked(one, end) {
		return nil // the judge says so
	}
	if one.cancels > 0 {
		<-time.After(one.cancels)
		e.cancel(one)
	}
	for ; !e.ended(one) && time.Now().Before(end); <-time.After(15 * time.Millisecond) {
	}
	one.after, _ = e.notes(valve)
	return nil
}

// asked asks until that is acknowledged, at times twice at once.
func (e *errands) asked(one *errand, end time.Time) bool {
	body := fmt.Sprintf(`{"id":%q,"intent":"turn %s valve %d"}`, one.id, one.want, one.valve)
	for time.Now().Before(end) {
		var again errgroup.Group
		if rand.IntN(8) == 0 {
			again.Go(func() error { e.call(http.MethodPost, "/requests", body, nil); return nil })
		}
		var answer struct{ Ref string }
		code := e.call(http.MethodPost, "/requests", body, &answer)
		_ = again.Wait() // what it is answered does not count
		if code == http.StatusCreated {
			one.ref = answer.Ref
			return true
		}
	}
	return false
}

func (e *errands) cancel(one *errand) {
	var answer struct{ Status string }
	if e.call(http.MethodPatch, "/requests/"+one.ref, `{"status":"cancelled"}`, &answer) == http.StatusOK {
		one.cancelled = answer.Status
	}
}

// ended looks how a request stands, answers what is asked, and reports whether
// it has ended.
func (e *errands) ended(one *errand) bool {
	var t threadNow
	if e.call(http.MethodGet, "/requests/"+one.ref, "", &t) != http.StatusOK {
		return false
	}
	if t.Thread.Status == "needs_confirmation" {
		if !one.no && one.said.IsZero() {
			one.said = time.Now()
		}
		e.call(http.MethodPatch, "/requests/"+one.ref, fmt.Sprintf(`{"mess":[{"reply":{"re":%q,"confirm":%v,"action_hash":%q}}]}`, one.ref, !one.no, t.end().ActionHash), nil)
		return false
	}
	if !slices.Contains(append(states["state=finished"], states["state=canceled"]...), t.Thread.Status) {
		return false
	}
	one.status, one.effect, one.began = t.Thread.Status, t.end().Reason.Effect, t.began()
	return true
}

// call makes one call. What is answered by an exchange that is away when the
// answer comes was not answered: code is 0.
func (e *errands) call(method, path, body string, answer any) (code int) {
	d := e.door.Load()
	if d == nil {
		<-time.After(5 * time.Millisecond)
		return 0
	}
	code, data, err := d.call(d.operator, method, path, body)
	if err != nil || e.door.Load() != d {
		<-time.After(5 * time.Millisecond)
		return 0
	}
	if answer != nil && code < 300 && json.Unmarshal(data, answer) != nil {
		return 0
	}
	return code
}
