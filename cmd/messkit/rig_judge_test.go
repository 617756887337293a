package main

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"
)

// dimRequest is one request to set a lamp to a level. The last 98 requests for that lamp have other
// levels, so the level identifies the request in the lamp's log.
type dimRequest struct {
	id     string
	lamp   int
	level  int
	asked  time.Time
	cancel bool

	ref    string
	status string // "" until it has ended
	effect string
	began  bool
	text   string    // the last known state of the whole thread
	ended  time.Time // time of the read that found the terminal status
}

// dimRequests are the requests for all lamps, one at a time for each lamp.
type dimRequests struct {
	*valveRequests // for calls to the exchange
	t              *testing.T
	lamps          []*rigLamp
	left           atomic.Int64

	mu   sync.Mutex
	list []*dimRequest
}

func newDimRequests(t *testing.T, e *valveRequests, most int) *dimRequests {
	d := &dimRequests{valveRequests: e, t: t}
	for range rigLamps {
		d.lamps = append(d.lamps, newRigLamp(t, 2))
	}
	d.left.Store(int64(most))
	return d
}

// sendAll sends requests with changing levels to all lamps until their number is reached or ctx ends.
func (d *dimRequests) sendAll(ctx context.Context) error {
	var g errgroup.Group
	for n := range d.lamps {
		g.Go(func() error {
			for i := 0; ctx.Err() == nil && d.left.Add(-1) >= 0; i++ {
				d.pause()
				d.runOne(n, 1+i%99)
			}
			return nil
		})
	}
	return g.Wait()
}

func (d *dimRequests) runOne(lamp, level int) {
	one := &dimRequest{lamp: lamp, level: level, asked: time.Now(), cancel: rand.IntN(6) == 0}
	d.mu.Lock()
	one.id = fmt.Sprintf("d%d", len(d.list))
	d.list = append(d.list, one)
	d.mu.Unlock()
	body := fmt.Sprintf(`{"id":%q,"intent":"set dimmer %d to %d percent"}`, one.id, lamp, level)
	end := time.Now().Add(patience)
	for time.Now().Before(end) && one.ref == "" {
		var answer struct{ Ref string }
		if d.call(http.MethodPost, "/requests", body, &answer) == http.StatusCreated {
			one.ref = answer.Ref
		}
	}
	if one.ref != "" && one.cancel {
		randomPause(40 * time.Millisecond)
		d.call(http.MethodPatch, "/requests/"+one.ref, `{"status":"cancelled"}`, nil)
	}
	for one.ref != "" && !d.isTerminal(one) && time.Now().Before(end) {
		<-time.After(15 * time.Millisecond)
	}
}

// isTerminal reads a thread, and reports whether its status is terminal.
func (d *dimRequests) isTerminal(one *dimRequest) bool {
	var raw json.RawMessage
	if d.call(http.MethodGet, "/requests/"+one.ref, "", &raw) != http.StatusOK {
		return false
	}
	var t threadNow
	if json.Unmarshal(raw, &t) != nil || !slices.Contains(append(states["state=finished"], states["state=canceled"]...), t.Thread.Status) {
		return false
	}
	if one.status == "" {
		one.ended = time.Now()
	}
	one.status, one.effect, one.began, one.text = t.Thread.Status, t.end().Reason.Effect, t.began(), string(raw)
	return true
}

// settle waits until all requests are terminal, and for reports about later acts of a lamp.
func (d *dimRequests) settle() {
	end := time.Now().Add(patience)
	for _, one := range d.list {
		for one.ref != "" && one.status == "" && !d.isTerminal(one) && time.Now().Before(end) {
			<-time.After(50 * time.Millisecond)
		}
	}
	<-time.After(2 * time.Second) // a command may be under way
	for _, one := range d.list {
		for one.ref != "" && one.status != "" && !d.isTerminal(one) && time.Now().Before(end) {
			<-time.After(50 * time.Millisecond)
		}
	}
}

// slack is the tolerance for late acts. The lamps and the test share one clock, and one read of a
// thread takes about this time.
const slack = 50 * time.Millisecond

// judge compares every thread with the log of its lamp.
func (d *dimRequests) judge(v *verdict) {
	for i, one := range d.list {
		until := time.Now()
		for _, other := range d.list[i+1:] {
			if other.lamp == one.lamp && other.level == one.level {
				until = other.asked
				break
			}
		}
		d.judgeRequest(v, one, d.lamps[one.lamp].commandTimes(one.level, one.asked, until))
	}
}

func (d *dimRequests) judgeRequest(v *verdict, one *dimRequest, acts []time.Time) {
	v.asked++
	v.acts += len(acts)
	name := fmt.Sprintf("%s (%s, dimmer %d to %d)", one.ref, one.id, one.lamp, one.level)
	if one.ref == "" || one.status == "" {
		v.addProblem(&v.lost, "%s: has not ended within %v", name, patience)
		return
	}
	nothing := one.effect == "none" || slices.Contains([]string{"declined", "expired", "delegated"}, one.status) || one.status == "cancelled" && !one.began
	late := slices.ContainsFunc(acts, func(at time.Time) bool { return at.After(one.ended.Add(slack)) })
	if one.effect == "unknown" {
		v.unknown++
	}
	if late {
		v.late++
	}
	switch {
	case one.status == "completed" && len(acts) == 0:
		v.addProblem(&v.dishonest, "%s: completed, and it was not done", name)
	case nothing && len(acts) > 0:
		v.addProblem(&v.dishonest, "%s: %s, effect %q, and it was done at %v, ended %v", name, one.status, one.effect, acts, one.ended)
	case len(acts) > 1 && !strings.Contains(one.text, "twice"):
		v.addProblem(&v.doubled, "%s: %s, it was done at %v, and the thread does not say that the command may have been sent twice", name, one.status, acts)
	case late && !strings.Contains(one.text, "may still act") && !strings.Contains(one.text, "twice"):
		v.addProblem(&v.dishonest, "%s: %s, it was done at %v after its end at %v, and the thread does not say that it may still act", name, one.status, acts, one.ended)
	case one.status != "completed" && !nothing && one.effect != "unknown" && one.effect != "partial":
		v.addProblem(&v.dishonest, "%s: %s, effect %q: that does not say what was done", name, one.status, one.effect)
	}
}
