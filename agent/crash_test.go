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

// death is a program that dies at the nth possible place.
type death struct {
	h  *house
	at int // 0: never

	place string // the name of a place, instead of a number

	mu     sync.Mutex
	places int // number of places so far
	where  string
	done   bool
}

// passes counts a place and lets the program die at the chosen one. From then on, no act of the
// program reaches the exchange, the devices or the next program's disk.
func (d *death) passes(where string) (dead bool) {
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
	d.h.line.cutIt(true)
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

// came reports whether the program has died, where, and how many places it has passed.
func (d *death) came() (done bool, where string, places int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.done, d.where, d.places
}

// armed adds the places of death to the agent.
func (d *death) armed() {
	h := d.h
	h.line.set(func(l *line) {
		l.before = func(m mess.Message) error { return d.lost("before sending " + what(m)) }
		l.after = func(m mess.Message) error { return d.lost("after sending " + what(m)) }
		l.attach = func() error { return d.lost("around a picture") }
	})
	h.lamp.dies, h.vacuum.dies = d.passes, d.passes
}

func (d *death) lost(where string) error {
	if d.passes(where) {
		return mess.Errorf(mess.Unavailable, "dead")
	}
	return nil
}

func what(m mess.Message) string {
	if s, ok := m.Items[0].(*mess.Status); ok {
		return string(s.Code)
	}
	return string(m.Items[0].Kind())
}

// reboots starts the program again with the disk as it was at its death.
func (h *house) reboots() {
	h.t.Helper()
	copied := h.dir
	h.stopAgent() // it has no connections any more
	h.dir = copied
	h.lamp.dies, h.vacuum.dies = nil, nil
	h.line = &line{to: h.x.As(h.pi(), "test")}
	h.startAgent()
}

// confirms answers yes to each confirmation request until the thread has ended or d is over.
func (h *house) confirms(ref string, d time.Duration) {
	h.t.Helper()
	for range d / (10 * time.Second) {
		if h.thread(ref).Status == mess.NeedsConfirmation {
			h.says(person, "reply: {re: "+ref+", confirm: true}")
		}
		if h.thread(ref).Status.Terminal() {
			return
		}
		h.after(10 * time.Second)
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
			warm := func(h *house) {
				h.lamp.blind = c.blind
				h.withWatch(&meter{value: drivers.Reading{Quantity: "temperature", Value: 21, Unit: "°C"}})
			}
			inHouseWith(t, warm, func(h *house) {
				d := &death{h: h}
				d.armed()
				h.confirms(h.says(claude, "request: {intent: "+c.intent+"}"), time.Hour)
				_, _, places = d.came()
			})
			if places < 8 {
				t.Fatalf("only %d places to die at", places)
			}
			for at := 1; at <= places; at++ {
				inHouseWith(t, warm, func(h *house) {
					d := &death{h: h, at: at}
					d.armed()
					ref := h.says(claude, "request: {intent: "+c.intent+"}")
					done, where := false, ""
					for range 30 {
						if done, where, _ = d.came(); !done {
							h.confirms(ref, 10*time.Second)
						}
					}
					if !done {
						if at < places-5 { // the last few depend on the order of goroutines
							h.t.Errorf("place %d was not reached", at)
						}
						return
					}
					h.after(10 * time.Second)
					h.reboots()
					h.confirms(ref, 2*time.Hour)
					h.isTrue(ref, where, c.most)
				})
			}
		})
	}
}

// isTrue compares a thread's status with the acts of the devices.
func (h *house) isTrue(ref, where string, most int) {
	h.t.Helper()
	synctest.Wait()
	acts := strings.Count(h.lamp.did(), "on") + strings.Count(h.vacuum.did(), "clean")
	s, _ := h.last(ref)
	status := h.thread(ref).Status
	said := fmt.Sprintf("died %s; it acted %d times and says %s %+v", where, acts, status, s.Reason)
	switch {
	case !status.Terminal():
		h.t.Errorf("%s: it has not ended; %s", said, h.codes(ref))
	case acts > most:
		h.t.Errorf("%s: too often", said)
	case status == mess.Completed && acts == 0:
		h.t.Errorf("%s: that is a lie", said)
	case s.Reason != nil && s.Reason.Effect == mess.EffectNone && acts > 0:
		h.t.Errorf("%s: that is a lie", said)
	}
	if testing.Verbose() {
		h.t.Log(said)
	}
}
