package agent_test

import (
	"testing"
	"time"

	"github.com/messkit/messkit/drivers"
	"github.com/messkit/messkit/mess"
)

// The exchange has said yes in time, and was not heard until it was too late.
func TestAPermissionThatComesTooLate(t *testing.T) {
	inHouseWith(t, func(h *house) {
		h.cfg.Jitter = func(limit time.Duration) time.Duration { return limit } // so that none comes in the last second
	}, func(h *house) {
		h.line.set(func(l *line) {
			l.after = func(m mess.Message) error {
				if saysCode(m, mess.InProgress) {
					return mess.Refuse(mess.Unavailable, "no line")
				}
				return nil
			}
		})
		soon := time.Now().Add(20 * time.Second).Format(time.RFC3339)
		ref := h.says(claude, "request: {intent: ring the bell, needed_by: '"+soon+"'}")
		h.after(21 * time.Second)
		h.is(ref, mess.InProgress)
		h.line.set(func(l *line) { l.after = nil })
		h.after(2 * time.Minute)
		s := h.is(ref, mess.Failed)
		if s.Reason.Type != "too_late" || s.Reason.Effect != mess.EffectNone || h.lamp.did() != "" {
			t.Errorf("%+v, and the lamp did %q; want it left", s.Reason, h.lamp.did())
		}
	})
}

// A run that goes on with what an earlier one has begun cannot say that nothing
// was done, though it does nothing itself.
func TestASecondRunDoesNotSpeakForTheFirst(t *testing.T) {
	inHouse(t, func(h *house) {
		ref := h.crashed("turn on the porch light", "turn on the porch light", 1)
		h.lamp.set(func(l *lamp) { l.broken, l.blind = drivers.ErrNotStarted, true })
		h.startAgent()
		h.after(time.Minute)
		if s := h.is(ref, mess.Failed); s.Reason.Effect != mess.EffectUnknown {
			t.Errorf("it ends with %+v, want effect unknown", s.Reason)
		}
	})
}

// An exchange that answers now and then has all reports within seconds: those
// that get through show that it is there, and the next need not wait the longer.
func TestReportsGetThroughOneByOne(t *testing.T) {
	const tasks = 12
	inHouseWith(t, func(h *house) {
		h.cfg.Jitter = func(limit time.Duration) time.Duration { return limit }
	}, func(h *house) {
		away, tries := true, 0
		h.line.set(func(l *line) {
			l.before = func(m mess.Message) error {
				if !saysCode(m, mess.Completed) {
					return nil
				}
				if tries++; away || tries%2 == 1 {
					return mess.Refuse(mess.Unavailable, "not now")
				}
				return nil
			}
		})
		var refs []string
		for range tasks {
			refs = append(refs, h.says(claude, "request: {intent: ring the bell}"))
		}
		h.line.set(func(*line) { away = false })
		h.after(2 * tasks * time.Second)
		for _, ref := range refs {
			h.is(ref, mess.Completed)
		}
	})
}
