package agent_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/messkit/messkit/agent/journal"
	"github.com/messkit/messkit/exchange"
	"github.com/messkit/messkit/mess"
)

// The exchange has allowed a start, and the process died before it wrote its intent. Another
// process follows under the executor's name, as over a broker before it registers. It gives the
// thread back if its journal contains the first process, and otherwise leaves the thread alone.
func TestStartOfDeadProcessIsReturned(t *testing.T) {
	for name, c := range map[string]struct {
		process string
		did     string
		code    mess.Code
	}{
		"of the same journal":    {"before", "on", mess.Completed},
		"of another journal":     {"stranger", "", mess.Held},
		"of one without a name ": {"", "on", mess.Completed},
	} {
		t.Run(name, func(t *testing.T) {
			withHarness(t, func(h *harness) {
				h.stopAgent()
				j, err := journal.Open(h.dir)
				if err := errors.Join(err, j.Run(h.t.Context(), "before"), j.Close()); err != nil {
					t.Fatal(err)
				}
				instance := ""
				if c.process != "" {
					instance = ", instance: " + c.process
				}
				pi := h.actor()
				ref := h.send(requester, "request: {intent: ring the bell}")
				h.send(pi, "re: "+ref+"\nMESS: [{status: {code: claimed"+instance+"}}]")
				h.send(pi, "re: "+ref+"\nepoch: 1\nMESS: [{status: {code: in_progress, effect: once"+instance+"}}]")
				ctx, cancel := context.WithCancel(h.t.Context())
				gone := make(chan error, 1)
				go func() { gone <- h.x.Follow(ctx, pi, "", func(exchange.Event) error { return nil }) }()
				h.startAgent()
				h.advance(59 * time.Second)
				h.wantStatus(ref, c.code)
				if did := h.lamp.acts(); did != c.did {
					t.Errorf("the lamp did %q, want %q", did, c.did)
				}
				cancel()
				if err := <-gone; err != nil {
					t.Error(err)
				}
			})
		})
	}
}

// A rejected report of a thread that the exchange lists as begun here does not count as an
// unused start: the agent reports an unknown effect, and no act repeats.
func TestRejectedReportIsNoUnusedStart(t *testing.T) {
	withHarness(t, func(h *harness) {
		h.connection.set(func(l *connection) {
			l.before = func(m mess.Message) error {
				for _, i := range m.Items {
					if s, ok := i.(*mess.Status); ok && s.Code == mess.Completed {
						return &mess.Error{Code: mess.Invalid, Text: "too many words", Holder: h.actor().ID, Status: mess.InProgress}
					}
				}
				return nil
			}
		})
		ref := h.send(requester, "request: {intent: ring the bell}")
		h.advance(2 * time.Minute)
		s := h.wantStatus(ref, mess.Failed)
		if s.Reason == nil || s.Reason.Effect != mess.EffectUnknown {
			t.Errorf("reason is %+v, want effect unknown", s.Reason)
		}
		if did := h.lamp.acts(); did != "on" {
			t.Errorf("the lamp did %q, want it on once", did)
		}
	})
}

// A message that the claim is over ends the work on a thread that an earlier run had begun; the
// exchange still lists the claim as this executor's. The agent then reads the device and reports,
// without another act and without a restart.
func TestStartedThreadWithoutTaskIsReported(t *testing.T) {
	for name, c := range map[string]struct {
		on   bool // the lamp was switched on before the work ended
		code mess.Code
	}{
		"done":     {true, mess.Completed},
		"not done": {false, mess.Failed},
	} {
		t.Run(name, func(t *testing.T) {
			withHarness(t, func(h *harness) {
				ref := h.leaveCrashState("turn on the porch light", "turn on the porch light", 1)
				h.connection.set(func(l *connection) {
					l.before = func(m mess.Message) error {
						for _, i := range m.Items {
							if s, ok := i.(*mess.Status); ok && s.Code == mess.InProgress {
								h.connection.deliver(mess.Message{ID: "stale", From: "exchange", Re: mess.Refs{ref}, Epoch: 1, Items: []mess.Item{&mess.Status{Code: mess.Pending}}})
								h.lamp.set(func(l *lamp) { l.on = c.on })
								return mess.Errorf(mess.Unavailable, "the line is cut")
							}
						}
						return nil
					}
				})
				h.startAgent()
				h.advance(3 * time.Minute)
				s := h.wantStatus(ref, c.code)
				if c.code == mess.Failed && (s.Reason == nil || s.Reason.Effect != mess.EffectUnknown) {
					t.Errorf("reason is %+v, want effect unknown", s.Reason)
				}
				if did := h.lamp.acts(); did != "" {
					t.Errorf("the lamp did %q", did)
				}
				h.stopAgent()
			})
		})
	}
}
