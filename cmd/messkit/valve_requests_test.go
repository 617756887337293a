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

// valveRequest is one request to switch a valve exactly once, and the requester's view of its result.
type valveRequest struct {
	id      string
	valve   int
	want    string // on or off, the opposite of the current state
	cancels time.Duration
	no      bool // the requester's answer to a confirmation is no
	before  int  // lines in the valve's log before the request

	ref       string    // "" until the exchange acknowledges the request
	confirmed time.Time // time of the first confirmation, zero without one
	cancelled string    // status after an acknowledged cancel
	status    string    // terminal status; "" until then
	effect    string    // from the reason
	began     bool      // the thread contains the begin
	after     int       // lines in the valve's log after the terminal status
}

// valveRequests are the concurrent requests of a test. Each requester has one valve, whose log survives
// power cuts and kills. A change of a valve between two requests belongs to the first of them.
type valveRequests struct {
	dir    string // folder of the logs
	valves int
	client atomic.Pointer[apiClient] // nil while the exchange is down
	most   int64                     // total number of requests
	left   atomic.Int64
	rest   time.Duration // maximum pause between two requests for one valve; 0: none

	// Readers of a log hold pen for reading. A power cut holds it for writing while it resets the
	// logs to their state at the cut.
	pen sync.RWMutex

	mu   sync.Mutex
	list []*valveRequest
}

func newValveRequests(dir string, valves, most int) *valveRequests {
	e := &valveRequests{dir: dir, valves: valves, most: int64(most)}
	e.left.Store(int64(most))
	return e
}

// outputFile returns the file with a valve's log. Every second valve has the risk class access.
func (e *valveRequests) outputFile(valve int) outputFile {
	return outputFile(filepath.Join(e.dir, fmt.Sprint("valve-", valve)))
}

func needsConfirmation(valve int) bool { return valve%2 == 1 }

// devicesYAML returns the valves as YAML of a configuration.
func (e *valveRequests) devicesYAML() string {
	text := "devices:\n"
	for v := range e.valves {
		text += fmt.Sprintf("  valve-%d: {driver: sim-lamp, line: v%d, file: %s, initial: keep, safe: keep, effect: once", v, v, e.outputFile(v))
		if needsConfirmation(v) {
			text += ", risk: access"
		}
		text += "}\n"
	}
	return text
}

// agentYAML returns the YAML of an executor that continues after a crash without a person: disarm is
// empty.
func (e *valveRequests) agentYAML(id, data string) string {
	return fmt.Sprintf("agent: {id: %s, data: %s, disarm: [], max_acts: {requester: 10000/m, all: 10000/m}}\n", id, data)
}

// lastCommand returns the number of switch commands of a valve, and its state.
func (e *valveRequests) lastCommand(valve int) (n int, last string) {
	text := e.logText(valve)
	if text == "" {
		return 0, "off"
	}
	lines := strings.Split(strings.TrimSpace(text), "\n")
	return len(lines), strings.Fields(lines[len(lines)-1])[1]
}

// logText returns a valve's log, "" before the first switch command.
func (e *valveRequests) logText(valve int) string {
	e.pen.RLock()
	defer e.pen.RUnlock()
	text, err := os.ReadFile(string(e.outputFile(valve)))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		panic(err) // the test cannot judge anything
	}
	return string(text)
}

// waitForAct waits until a process switches a valve, and returns its process ID; 0 on timeout. That
// process has acted, but not reported the result yet.
func (e *valveRequests) waitForAct(within time.Duration) (by int) {
	sizes := make([]int64, e.valves)
	for end, first := time.Now().Add(within), true; time.Now().Before(end); first = false {
		for v := range sizes {
			info, err := os.Stat(string(e.outputFile(v)))
			if err != nil || info.Size() == sizes[v] {
				continue
			}
			if sizes[v] = info.Size(); first {
				continue
			}
			words := strings.Fields(e.logText(v))
			by, _ = strconv.Atoi(words[len(words)-2]) // 0: the line is not complete yet
			return by
		}
		<-time.After(100 * time.Microsecond)
	}
	return 0
}

// sendAll sends requests to all valves, one at a time each, until their number is reached or ctx
// ends. Then it waits for their terminal statuses.
func (e *valveRequests) sendAll(ctx context.Context) error {
	var g errgroup.Group
	for v := range e.valves {
		g.Go(func() error {
			for ctx.Err() == nil && e.left.Add(-1) >= 0 {
				e.pause()
				if err := e.runOne(v); err != nil {
					return err
				}
			}
			return nil
		})
	}
	return g.Wait()
}

// pause waits between two requests for one valve.
func (e *valveRequests) pause() {
	if e.rest > 0 {
		<-time.After(rand.N(e.rest))
	}
}

// runOne sends one request and waits for its terminal status.
func (e *valveRequests) runOne(valve int) error {
	before, is := e.lastCommand(valve)
	want := map[string]string{"on": "off", "off": "on"}[is]
	one := &valveRequest{valve: valve, want: want, before: before, no: rand.IntN(8) == 0}
	if rand.IntN(6) == 0 {
		one.cancels = time.Duration(1+rand.IntN(40)) * time.Millisecond
	}
	e.mu.Lock()
	one.id = fmt.Sprintf("e%d", len(e.list))
	e.list = append(e.list, one)
	e.mu.Unlock()
	end := time.Now().Add(patience)
	if !e.post(one, end) {
		return nil // the judge reports it
	}
	if one.cancels > 0 {
		<-time.After(one.cancels)
		e.cancel(one)
	}
	for ; !e.isTerminal(one) && time.Now().Before(end); <-time.After(15 * time.Millisecond) {
	}
	one.after, _ = e.lastCommand(valve)
	return nil
}

// post repeats a request until the exchange acknowledges it, sometimes twice at the same time.
func (e *valveRequests) post(one *valveRequest, end time.Time) bool {
	body := fmt.Sprintf(`{"id":%q,"intent":"turn %s valve %d"}`, one.id, one.want, one.valve)
	for time.Now().Before(end) {
		var again errgroup.Group
		if rand.IntN(8) == 0 {
			again.Go(func() error { e.call(http.MethodPost, "/requests", body, nil); return nil })
		}
		var answer struct{ Ref string }
		code := e.call(http.MethodPost, "/requests", body, &answer)
		_ = again.Wait() // the test ignores this answer
		if code == http.StatusCreated {
			one.ref = answer.Ref
			return true
		}
	}
	return false
}

func (e *valveRequests) cancel(one *valveRequest) {
	var answer struct{ Status string }
	if e.call(http.MethodPatch, "/requests/"+one.ref, `{"status":"cancelled"}`, &answer) == http.StatusOK {
		one.cancelled = answer.Status
	}
}

// isTerminal reads the thread, answers an open question, and reports whether the status is terminal.
func (e *valveRequests) isTerminal(one *valveRequest) bool {
	var t threadNow
	if e.call(http.MethodGet, "/requests/"+one.ref, "", &t) != http.StatusOK {
		return false
	}
	if t.Thread.Status == "needs_confirmation" {
		if !one.no && one.confirmed.IsZero() {
			one.confirmed = time.Now()
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

// call makes one HTTP call. It returns code 0 without a response, and also if the exchange went
// down before the response arrived.
func (e *valveRequests) call(method, path, body string, answer any) (code int) {
	d := e.client.Load()
	if d == nil {
		<-time.After(5 * time.Millisecond)
		return 0
	}
	code, data, err := d.call(d.operator, method, path, body)
	if err != nil || e.client.Load() != d {
		<-time.After(5 * time.Millisecond)
		return 0
	}
	if answer != nil && code < 300 && json.Unmarshal(data, answer) != nil {
		return 0
	}
	return code
}
