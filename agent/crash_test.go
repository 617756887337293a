package agent_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/messkit/messkit/drivers"
	"github.com/messkit/messkit/mess"
)

// deathPoint is a program that dies at the nth possible place.
type deathPoint struct {
	h  *harness
	at int // 0: never

	place string // the name of a place, instead of a number

	mu     sync.Mutex
	places int // number of places so far
	where  string
	done   bool
}

// pass counts a place and lets the program die at the chosen one. From then on, no act of the
// program reaches the exchange, the devices or the next program's disk.
func (d *deathPoint) pass(where string) (dead bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.done {
		return true
	}
	d.places++
	if d.place == "" && d.places != d.at || d.place != "" && d.place != where {
		return false
	}
	d.done, d.where = true, where
	d.h.dir = copyOf(d.h.t, d.h.dir)
	d.h.connection.setCut(true)
	return true
}

// copyOf copies the current content of the disk.
func copyOf(t *testing.T, dir string) string {
	t.Helper()
	to := filepath.Join(t.TempDir(), "journal")
	if err := os.CopyFS(to, os.DirFS(dir)); err != nil {
		t.Fatal(err)
	}
	return to
}

// hasDied reports whether the program has died, where, and how many places it has passed.
func (d *deathPoint) hasDied() (done bool, where string, places int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.done, d.where, d.places
}

// install adds the places of death to the agent.
func (d *deathPoint) install() {
	h := d.h
	h.connection.set(func(l *connection) {
		l.before = func(m mess.Message) error { return d.loseCall("before sending " + describe(m)) }
		l.after = func(m mess.Message) error { return d.loseCall("after sending " + describe(m)) }
		l.attach = func() error { return d.loseCall("around a picture") }
	})
	h.lamp.dies, h.vacuum.dies = d.pass, d.pass
}

func (d *deathPoint) loseCall(where string) error {
	if d.pass(where) {
		return mess.Errorf(mess.Unavailable, "dead")
	}
	return nil
}

func describe(m mess.Message) string {
	if s, ok := m.Items[0].(*mess.Status); ok {
		return string(s.Code)
	}
	return string(m.Items[0].Kind())
}

// restart starts the program again with the disk as it was at its death.
func (h *harness) restart() {
	h.t.Helper()
	copied := h.dir
	h.stopAgent() // it has no connections any more
	h.dir = copied
	h.lamp.dies, h.vacuum.dies = nil, nil
	h.connection = &connection{to: h.x.As(h.actor(), "test")}
	h.startAgent()
}

// confirmAll answers yes to each confirmation request until the thread has ended or d is over.
func (h *harness) confirmAll(ref string, d time.Duration) {
	h.t.Helper()
	for range d / (10 * time.Second) {
		if h.thread(ref).Status == mess.NeedsConfirmation {
			h.send(person, "reply: {re: "+ref+", confirm: true}")
		}
		if h.thread(ref).Status.Terminal() {
			return
		}
		h.advance(10 * time.Second)
	}
}

// The program dies at every possible place and starts again ten seconds later. In each case no
// act repeats that must not, every thread ends, and its final status is true.
func TestDeathAtEveryPoint(t *testing.T) {
	for _, c := range []struct {
		intent string
		blind  bool
		most   int // maximum number of acts
	}{
		{"ring the bell", false, 1},
		{"ring the bell", true, 1},
		{"turn on the porch light", true, 2},
		{"vacuum both", false, 1},
		{`"on, and tell me"`, false, 1},
	} {
		t.Run(fmt.Sprintf("%s, blind %v", c.intent, c.blind), func(t *testing.T) {
			places := 0
			warm := func(h *harness) {
				h.lamp.blind = c.blind
				h.addLampThenWait(&fakeMeter{value: drivers.Reading{Quantity: "temperature", Value: 21, Unit: "°C"}})
			}
			withHarnessSetup(t, warm, func(h *harness) {
				d := &deathPoint{h: h}
				d.install()
				h.confirmAll(h.send(requester, "request: {intent: "+c.intent+"}"), time.Hour)
				_, _, places = d.hasDied()
			})
			if places < 8 {
				t.Fatalf("only %d places to die at", places)
			}
			for at := 1; at <= places; at++ {
				withHarnessSetup(t, warm, func(h *harness) {
					d := &deathPoint{h: h, at: at}
					d.install()
					ref := h.send(requester, "request: {intent: "+c.intent+"}")
					done, where := false, ""
					for range 30 {
						if done, where, _ = d.hasDied(); !done {
							h.confirmAll(ref, 10*time.Second)
						}
					}
					if !done {
						if at < places-5 { // the last few depend on the order of goroutines
							h.t.Errorf("place %d was not reached", at)
						}
						return
					}
					h.advance(10 * time.Second)
					h.restart()
					h.confirmAll(ref, 2*time.Hour)
					h.checkReport(ref, where, c.most)
				})
			}
		})
	}
}

// checkReport compares a thread's status with the acts of the devices.
func (h *harness) checkReport(ref, where string, most int) {
	h.t.Helper()
	synctest.Wait()
	acts := strings.Count(h.lamp.acts(), "on") + strings.Count(h.vacuum.acts(), "clean")
	s, _ := h.last(ref)
	status := h.thread(ref).Status
	report := fmt.Sprintf("died %s; it acted %d times and says %s %+v", where, acts, status, s.Reason)
	switch {
	case !status.Terminal():
		h.t.Errorf("%s: it has not ended; %s", report, h.statuses(ref))
	case acts > most:
		h.t.Errorf("%s: too often", report)
	case status == mess.Completed && acts == 0:
		h.t.Errorf("%s: that is a lie", report)
	case s.Reason != nil && s.Reason.Effect == mess.EffectNone && acts > 0:
		h.t.Errorf("%s: that is a lie", report)
	}
	if testing.Verbose() {
		h.t.Log(report)
	}
}
