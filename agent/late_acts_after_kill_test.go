package agent_test

import (
	"strings"
	"testing"
	"time"

	"github.com/messkit/messkit/agent/device"
	"github.com/messkit/messkit/mess"
)

// killAndRestart ends the program as a power cut does, calls meanwhile, and starts the program again.
func (h *harness) killAndRestart(meanwhile func()) {
	h.t.Helper()
	copied := copyOf(h.t, h.dir)
	h.connection.setCut(true)
	h.stopAgent() // it has no connections any more
	meanwhile()
	h.dir = copied
	h.connection = &connection{to: h.x.As(h.actor(), "test")}
	h.startAgent()
}

// The watch for a late act outlives any number of kills, for the minute in which the command
// may arrive. The agent reports each late act once.
func TestLateActIsReportedAfterKills(t *testing.T) {
	for name, c := range map[string]struct {
		kills  int
		every  time.Duration
		acts   int  // number of kills before the act; 0: no act
		down   bool // during the downtime
		person bool // another request switches it on and off in the meantime
		want   int
	}{
		"one":                  {kills: 1, every: 5 * time.Second, acts: 1, want: 1},
		"seven":                {kills: 7, every: 5 * time.Second, acts: 7, want: 1},
		"killed after it":      {kills: 5, every: 5 * time.Second, acts: 2, want: 1},
		"while it was down":    {kills: 3, every: 5 * time.Second, acts: 2, down: true, want: 1},
		"never":                {kills: 3, every: 5 * time.Second},
		"when it cannot be it": {kills: 7, every: 11 * time.Second, acts: 7},
		"another request":      {kills: 3, every: 5 * time.Second, person: true},
	} {
		t.Run(name, func(t *testing.T) {
			d := &silentLamp{deskLamp: deskLamp{safe: "keep"}}
			withHarnessSetup(t, func(h *harness) {
				h.addDeskLamp(&d.deskLamp, true)
				h.more[0] = device.Device{Name: "desk-lamp", Label: "desk lamp", Driver: d}
				h.cfg.Jitter = func(time.Duration) time.Duration { return 500 * time.Millisecond }
			}, func(h *harness) {
				ref := h.send(requester, "request: {intent: the desk lamp}")
				h.advance(2 * time.Second)
				h.send(requester, "cancel: {re: "+ref+"}")
				h.wantStatus(ref, mess.Cancelled)
				if c.person {
					h.wantStatus(h.send(requester, "request: {intent: the desk lamp}"), mess.Completed)
					h.advance(2 * time.Second)
				}
				for k := 1; k <= c.kills; k++ {
					h.advance(c.every)
					on := func() { d.set(func(l *lamp) { l.on = true }) }
					h.killAndRestart(func() {
						if k == c.acts && c.down || c.person {
							on() // it stays on, or goes on
						}
					})
					if k == c.acts && !c.down {
						h.advance(2 * time.Second)
						on()
					}
				}
				h.advance(2 * time.Minute)
				h.wantStatus(ref, mess.Cancelled)
				list := h.lateActs(ref)
				if len(list) != c.want {
					t.Fatalf("%d late acts in the thread, want %d: %+v", len(list), c.want, list)
				}
				if c.want > 0 && !strings.Contains(list[0].Reason.Detail, "after the end; it read back as off before") {
					t.Errorf("%+v", list[0].Reason)
				}
				if left := h.journal.LateWatches(); len(left) > 0 {
					t.Errorf("the journal still has %+v", left)
				}
			})
		})
	}
}

// If a run sees a late act while the exchange is away, the next run reports it, even after the
// end of the watch.
func TestNextRunReportsLateAct(t *testing.T) {
	d := &silentLamp{deskLamp: deskLamp{safe: "keep"}}
	withHarnessSetup(t, func(h *harness) {
		h.addDeskLamp(&d.deskLamp, true)
		h.more[0] = device.Device{Name: "desk-lamp", Label: "desk lamp", Driver: d}
	}, func(h *harness) {
		ref := h.send(requester, "request: {intent: the desk lamp}")
		h.advance(2 * time.Second)
		h.connection.set(func(l *connection) {
			l.before = func(m mess.Message) error {
				if hasStatus(m, mess.Cancelled) || hasStatus(m, mess.Failed) {
					return mess.Errorf(mess.Unavailable, "not now")
				}
				return nil
			}
		})
		h.send(requester, "cancel: {re: "+ref+"}")
		h.advance(5 * time.Second)
		d.set(func(l *lamp) { l.on = true })
		h.advance(10 * time.Second)
		h.dir = copyOf(t, h.dir)
		h.connection.setCut(true)
		h.advance(2 * time.Minute)
		h.restart()
		h.advance(time.Minute)
		h.wantStatus(ref, mess.Cancelled)
		if n := len(h.lateActs(ref)); n != 1 {
			t.Errorf("%d late acts are reported, want 1", n)
		}
	})
}
