package agent_test

import (
	"strings"
	"testing"
	"time"

	"github.com/messkit/messkit/agent/device"
	"github.com/messkit/messkit/mess"
)

// kills ends the program as a power cut does, calls meanwhile, and starts the program again.
func (h *house) kills(meanwhile func()) {
	h.t.Helper()
	copied := copyOf(h.t, h.dir)
	h.line.cutIt(true)
	h.stopAgent() // it has no connections any more
	meanwhile()
	h.dir = copied
	h.line = &line{to: h.x.As(h.pi(), "test")}
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
			d := &mute{desk: desk{safe: "keep"}}
			inHouseWith(t, func(h *house) {
				h.withDesk(&d.desk, true)
				h.more[0] = device.Device{Name: "desk-lamp", Label: "desk lamp", Driver: d}
				h.cfg.Jitter = func(time.Duration) time.Duration { return 500 * time.Millisecond }
			}, func(h *house) {
				ref := h.says(claude, "request: {intent: the desk lamp}")
				h.after(2 * time.Second)
				h.says(claude, "cancel: {re: "+ref+"}")
				h.is(ref, mess.Cancelled)
				if c.person {
					h.is(h.says(claude, "request: {intent: the desk lamp}"), mess.Completed)
					h.after(2 * time.Second)
				}
				for k := 1; k <= c.kills; k++ {
					h.after(c.every)
					on := func() { d.set(func(l *lamp) { l.on = true }) }
					h.kills(func() {
						if k == c.acts && c.down || c.person {
							on() // it stays on, or goes on
						}
					})
					if k == c.acts && !c.down {
						h.after(2 * time.Second)
						on()
					}
				}
				h.after(2 * time.Minute)
				h.is(ref, mess.Cancelled)
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
	d := &mute{desk: desk{safe: "keep"}}
	inHouseWith(t, func(h *house) {
		h.withDesk(&d.desk, true)
		h.more[0] = device.Device{Name: "desk-lamp", Label: "desk lamp", Driver: d}
	}, func(h *house) {
		ref := h.says(claude, "request: {intent: the desk lamp}")
		h.after(2 * time.Second)
		h.line.set(func(l *line) {
			l.before = func(m mess.Message) error {
				if saysCode(m, mess.Cancelled) || saysCode(m, mess.Failed) {
					return mess.Errorf(mess.Unavailable, "not now")
				}
				return nil
			}
		})
		h.says(claude, "cancel: {re: "+ref+"}")
		h.after(5 * time.Second)
		d.set(func(l *lamp) { l.on = true })
		h.after(10 * time.Second)
		h.dir = copyOf(t, h.dir)
		h.line.cutIt(true)
		h.after(2 * time.Minute)
		h.reboots()
		h.after(time.Minute)
		h.is(ref, mess.Cancelled)
		if n := len(h.lateActs(ref)); n != 1 {
			t.Errorf("%d late acts are reported, want 1", n)
		}
	})
}
