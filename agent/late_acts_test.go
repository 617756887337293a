package agent_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/messkit/messkit/agent/device"
	"github.com/messkit/messkit/drivers"
	"github.com/messkit/messkit/mess"
)

// The exchange allowed the start in time, but its answer arrived too late.
func TestLateStartPermissionIsIgnored(t *testing.T) {
	withHarnessSetup(t, func(h *harness) {
		h.cfg.Jitter = func(limit time.Duration) time.Duration { return limit } // so that no retry falls into the last second
	}, func(h *harness) {
		h.connection.set(func(l *connection) {
			l.after = func(m mess.Message) error {
				if hasStatus(m, mess.InProgress) {
					return mess.Errorf(mess.Unavailable, "no line")
				}
				return nil
			}
		})
		soon := time.Now().Add(20 * time.Second).Format(time.RFC3339)
		ref := h.send(requester, "request: {intent: ring the bell, needed_by: '"+soon+"'}")
		h.advance(21 * time.Second)
		h.wantStatus(ref, mess.InProgress)
		h.connection.set(func(l *connection) { l.after = nil })
		h.advance(2 * time.Minute)
		s := h.wantStatus(ref, mess.Failed)
		if s.Reason.Type != "too_late" || s.Reason.Effect != mess.EffectNone || h.lamp.acts() != "" {
			t.Errorf("%+v, and the lamp did %q; want it left", s.Reason, h.lamp.acts())
		}
	})
}

// A run that continues an earlier one cannot report an effect of none, even if it does nothing
// itself.
func TestContinuedTaskNeverReportsEffectNone(t *testing.T) {
	withHarness(t, func(h *harness) {
		ref := h.leaveCrashState("turn on the porch light", "turn on the porch light", 1)
		h.lamp.set(func(l *lamp) { l.broken, l.blind = drivers.ErrNotStarted, true })
		h.startAgent()
		h.advance(time.Minute)
		if s := h.wantStatus(ref, mess.Failed); s.Reason.Effect != mess.EffectUnknown {
			t.Errorf("reason is %+v, want effect unknown", s.Reason)
		}
	})
}

// An exchange that answers only sometimes gets all reports within seconds: each success shows
// that it is there and shortens the next wait.
func TestReportsPassUnreliableExchange(t *testing.T) {
	const tasks = 12
	withHarnessSetup(t, func(h *harness) {
		h.cfg.Jitter = func(limit time.Duration) time.Duration { return limit }
	}, func(h *harness) {
		away, tries := true, 0
		h.connection.set(func(l *connection) {
			l.before = func(m mess.Message) error {
				if !hasStatus(m, mess.Completed) {
					return nil
				}
				if tries++; away || tries%2 == 1 {
					return mess.Errorf(mess.Unavailable, "not now")
				}
				return nil
			}
		})
		var refs []string
		for range tasks {
			refs = append(refs, h.send(requester, "request: {intent: ring the bell}"))
		}
		h.connection.set(func(*connection) { away = false })
		h.advance(2 * tasks * time.Second)
		for _, ref := range refs {
			h.wantStatus(ref, mess.Completed)
		}
	})
}

// silentLamp is a lamp that never answers the first command.
type silentLamp struct {
	deskLamp
	commanded bool
}

func (m *silentLamp) Switch(ctx context.Context, on bool) error {
	if m.commanded {
		return m.deskLamp.Switch(ctx, on)
	}
	m.commanded = true
	m.record("on")
	<-ctx.Done()
	return drivers.MarkMayAct(context.Cause(ctx))
}

// lateActs returns the reports of late acts in a thread.
func (h *harness) lateActs(ref string) (list []mess.Status) {
	for _, m := range h.thread(ref).Messages {
		for _, item := range m.Items {
			if s, ok := item.(*mess.Status); ok && s.Reason != nil && s.Reason.Type == "late_act" {
				list = append(list, *s)
			}
		}
	}
	return list
}

// The end of an unanswered command says that the device may still act, and how to check that.
// The agent adds a late act within the next minute to the thread, but no act of this program,
// and no later act.
func TestUnansweredCommand(t *testing.T) {
	for name, c := range map[string]struct {
		after time.Duration // time of its act
		ours  bool          // time at which another request switches it
		away  bool          // the exchange is away in the meantime
		want  int
	}{
		"at once":               {after: 200 * time.Millisecond, want: 1},
		"a moment later":        {after: 4300 * time.Millisecond, want: 1},
		"never":                 {after: 0},
		"much later":            {after: 2 * time.Minute},
		"another request":       {after: 4300 * time.Millisecond, ours: true},
		"the exchange was away": {after: 200 * time.Millisecond, away: true, want: 1},
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
				s := h.wantStatus(ref, mess.Cancelled)
				if want := "cancelled midway; it read back as off just now, and may still act"; s.Reason.Effect != mess.EffectUnknown || !strings.Contains(s.Reason.Detail, want) {
					t.Errorf("%+v, want %q", s.Reason, want)
				}
				if want := `in 1m0s ask "is the desk lamp on?"; the agent adds here any late act that it sees until then`; !strings.Contains(s.Suggestion, want) {
					t.Errorf("suggestion %q, want %q", s.Suggestion, want)
				}
				if c.away {
					h.connection.setCut(true)
				}
				h.advance(c.after)
				switch {
				case c.ours:
					h.wantStatus(h.send(requester, "request: {intent: the desk lamp}"), mess.Completed)
				case c.after > 0:
					d.set(func(l *lamp) { l.on = true })
				}
				h.advance(10 * time.Second)
				if c.away {
					h.connection.setCut(false)
					h.advance(10 * time.Second)
				}
				h.advance(time.Minute)
				h.wantStatus(ref, mess.Cancelled)
				list := h.lateActs(ref)
				if len(list) != c.want {
					t.Fatalf("%d late acts in the thread, want %d: %+v", len(list), c.want, list)
				}
				if c.want > 0 && (list[0].Evidence != mess.EvidenceUnknown || list[0].Reason.Effect != mess.EffectUnknown ||
					!strings.Contains(list[0].Reason.Detail, "desk-lamp reads back as on 1s after the end") && !strings.Contains(list[0].Reason.Detail, "desk-lamp reads back as on 5s after the end")) {
					t.Errorf("%+v %+v", list[0], list[0].Reason)
				}
			})
		})
	}
}

// After an unanswered command without a readback, the agent adds the late act to the thread, for
// each commanded state.
func TestUnansweredCommandWithoutReadback(t *testing.T) {
	for _, on := range []bool{true, false} {
		t.Run(map[bool]string{true: "on", false: "off"}[on], func(t *testing.T) {
			d := &deskLamp{safe: "keep"}
			d.broken, d.blind, d.stuck, d.on = drivers.MarkMayAct(errors.New("no answer")), true, true, !on
			withHarnessSetup(t, func(h *harness) { h.addDeskLamp(d, on) }, func(h *harness) {
				ref := h.send(requester, "request: {intent: the desk lamp}")
				h.advance(time.Second)
				h.wantStatus(ref, mess.Failed)
				d.set(func(l *lamp) { l.blind, l.on = false, on })
				h.advance(time.Minute)
				if list := h.lateActs(ref); len(list) != 1 || strings.Contains(list[0].Reason.Detail, "before") {
					t.Errorf("%d late acts in the thread, want 1 without an earlier state: %+v", len(list), list)
				}
			})
		})
	}
}

// A command without an answer that reads back as done is completed, with a note.
func TestUnansweredCommandReadBackIsCompleted(t *testing.T) {
	d := &deskLamp{safe: "keep"}
	d.broken = drivers.MarkMayAct(errors.New("no answer"))
	d.on = true
	withHarnessSetup(t, func(h *harness) { h.addDeskLamp(d, true) }, func(h *harness) {
		ref := h.send(requester, "request: {intent: the desk lamp}")
		h.advance(time.Second)
		if s := h.wantStatus(ref, mess.Completed); s.Evidence != mess.ReadBack {
			t.Errorf("evidence %s", s.Evidence)
		}
		h.wantAnswer(ref, "the device has not answered the command, which may still arrive")
		d.set(func(l *lamp) { l.on = false }) // a person switches it
		h.advance(3 * time.Second)
		d.set(func(l *lamp) { l.on = true })
		h.advance(3 * time.Second)
		if s := h.wantStatus(ref, mess.Completed); !strings.Contains(s.Message, "desk-lamp reads back as on ") {
			t.Errorf("the late act is not in the thread: %+v", s)
		}
	})
}

// The exchange has stored the start when a stop comes, and rejects it then. The agent does nothing, and
// reports that.
func TestStartRejectedAfterItsWrite(t *testing.T) {
	withHarness(t, func(h *harness) {
		h.connection.set(func(l *connection) {
			l.after = func(m mess.Message) error {
				if hasStatus(m, mess.InProgress) {
					return &mess.Error{Code: mess.NotYet, Text: "somebody has stopped everything; do not start", Status: mess.InProgress}
				}
				return nil
			}
		})
		ref := h.send(requester, "request: {intent: turn on the porch light}")
		h.advance(10 * time.Second)
		s := h.wantStatus(ref, mess.Failed)
		if s.Reason.Type != "too_late" || s.Reason.Effect != mess.EffectNone || h.lamp.acts() != "" {
			t.Errorf("%+v, and the lamp did %q; want it left", s.Reason, h.lamp.acts())
		}
	})
}
