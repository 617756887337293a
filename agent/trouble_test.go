package agent_test

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/messkit/messkit/agent"
	"github.com/messkit/messkit/agent/device"
	"github.com/messkit/messkit/agent/journal"
	"github.com/messkit/messkit/agent/policy"
	"github.com/messkit/messkit/exchange"
	"github.com/messkit/messkit/mess"
)

// cleaning starts a task of twenty seconds.
func (h *house) cleaning() (ref string) {
	h.t.Helper()
	ref = h.says(claude, "request: {intent: vacuum both}")
	h.says(person, "reply: {re: "+ref+", confirm: true}")
	h.is(ref, mess.InProgress)
	return ref
}

func TestCancelBeforeStart(t *testing.T) {
	inHouse(t, func(h *house) {
		ref := h.says(claude, "request: {intent: vacuum both}")
		h.says(claude, "cancel: {re: "+ref+"}")
		h.after(time.Minute)
		h.is(ref, mess.Cancelled)
		if h.vacuum.did() != "" {
			h.t.Errorf("the vacuum did: %s", h.vacuum.did())
		}
	})
}

// While one request starts a device, a cancel of the next one and the status do not wait
// for that start.
func TestCancelDuringDeviceStart(t *testing.T) {
	inHouse(t, func(h *house) {
		h.stopAgent()
		h.lamp.set(func(l *lamp) { l.unplug = true })
		h.startAgent()
		h.after(time.Second)
		h.lamp.set(func(l *lamp) { l.unplug, l.starts = false, 8*time.Second })
		first := h.says(claude, "request: {intent: turn on the porch light}")
		h.after(time.Second)
		second := h.says(claude, "request: {intent: turn off the porch light}")
		h.after(time.Second)
		h.says(claude, "cancel: {re: "+second+"}")
		h.after(time.Second)
		h.is(second, mess.Cancelled)
		asked := time.Now()
		h.failed("porch-lamp")
		if took := time.Since(asked); took > 0 {
			h.t.Errorf("the status took %v", took)
		}
		h.after(time.Minute)
		h.is(first, mess.Completed)
		if h.lamp.did() != "on" {
			h.t.Errorf("the lamp did: %s", h.lamp.did())
		}
	})
}

func TestCancelDuringAct(t *testing.T) {
	inHouse(t, func(h *house) {
		ref := h.cleaning()
		h.after(13 * time.Second)
		h.says(claude, "cancel: {re: "+ref+"}")
		s := h.is(ref, mess.Cancelled)
		if s.Reason.Effect != mess.EffectPartial || !strings.Contains(s.Reason.Detail, "done: near sink; not done: stove") {
			h.t.Errorf("%+v", s.Reason)
		}
		if h.vacuum.did() != "clean near sink+stove, stopped" {
			h.t.Errorf("the vacuum did: %s", h.vacuum.did())
		}
	})
}

func TestLateCancel(t *testing.T) {
	inHouse(t, func(h *house) {
		h.lamp.running = func() { // and its act ignores that
			if _, err := h.post(claude, "cancel: {re: last}"); err != nil {
				h.t.Error(err)
			}
		}
		h.is(h.says(claude, "request: {intent: turn on the porch light}"), mess.Completed)
	})
}

func TestCancelInHeartbeatAck(t *testing.T) {
	inHouse(t, func(h *house) {
		ref := h.cleaning()
		h.line.set(func(l *line) { l.deaf = true })
		h.says(claude, "cancel: {re: "+ref+"}")
		h.is(ref, mess.InProgress)
		h.after(10 * time.Second)
		h.is(ref, mess.Cancelled)
	})
}

func TestEveryMessageIsDuplicated(t *testing.T) {
	inHouseWith(t, func(h *house) { h.line.double = true }, func(h *house) {
		ref := h.says(claude, "request: {intent: ring the bell}")
		h.is(ref, mess.Completed)
		v := h.cleaning()
		h.after(25 * time.Second)
		h.is(v, mess.Completed)
		if h.lamp.did() != "on" || h.vacuum.did() != "clean near sink+stove" {
			h.t.Errorf("the lamp did %s, the vacuum %s; want each once", h.lamp.did(), h.vacuum.did())
		}
		if got, want := h.codes(ref), "claimed in_progress completed"; got != want {
			h.t.Errorf("%s, want %s", got, want)
		}
	})
}

// The network loses every answer of the exchange once: each repeated message is a duplicate.
func TestEveryAckIsLostOnce(t *testing.T) {
	inHouse(t, func(h *house) {
		lost := map[string]bool{}
		h.line.set(func(l *line) {
			l.after = func(m mess.Message) error {
				if len(m.Re) == 0 || lost[m.ID] {
					return nil
				}
				lost[m.ID] = true
				return mess.Errorf(mess.Unavailable, "the answer is lost")
			}
		})
		ref := h.says(claude, "request: {intent: ring the bell}")
		h.line.set(func(l *line) { l.after = nil })
		h.after(5 * time.Second)
		h.is(ref, mess.Completed)
		if h.lamp.did() != "on" {
			h.t.Errorf("the lamp did: %s; want it once", h.lamp.did())
		}
	})
}

func TestTwoOffersForOneDevice(t *testing.T) {
	inHouse(t, func(h *house) {
		h.lamp.set(func(l *lamp) { l.takes = 5 * time.Second })
		first := h.says(claude, "request: {id: a, intent: turn on the porch light}")
		second := h.says(claude, "request: {id: b, intent: turn off the porch light}")
		h.is(first, mess.InProgress)
		if s := h.is(second, mess.Waiting); s.WaitingFor.Resource != "porch-lamp" {
			h.t.Errorf("waits for %+v", s.WaitingFor)
		}
		h.after(11 * time.Second)
		h.is(first, mess.Completed)
		h.is(second, mess.Completed)
		if h.lamp.did() != "on, off" {
			h.t.Errorf("the lamp did: %s", h.lamp.did())
		}
	})
}

func TestStop(t *testing.T) {
	inHouse(t, func(h *house) {
		ref := h.cleaning()
		h.after(3 * time.Second)
		h.gate.Stop("the cat")
		synctest.Wait()
		if s := h.is(ref, mess.Failed); s.Reason.Type != "stop" || s.Reason.Effect != mess.EffectUnknown {
			h.t.Errorf("%+v", s.Reason)
		}
		no := h.says(claude, "request: {intent: turn on the porch light}")
		if s := h.is(no, mess.Declined); !strings.Contains(s.Reason.Detail, "the cat") {
			h.t.Errorf("%+v", s.Reason)
		}
		h.gate.ResetStop()
		h.is(h.says(claude, "request: {intent: turn on the porch light}"), mess.Completed)
	})
}

func TestLeaseLostBeforeStart(t *testing.T) {
	inHouse(t, func(h *house) {
		ref := h.says(claude, "request: {intent: vacuum both}")
		h.is(ref, mess.NeedsConfirmation)
		h.line.cutIt(true)
		h.after(35 * time.Second)
		h.is(ref, mess.Pending)
		h.line.cutIt(false)
		h.after(2 * time.Minute)
		h.is(ref, mess.NeedsConfirmation)
		if got, want := h.codes(ref), "claimed needs_confirmation pending claimed needs_confirmation"; got != want {
			h.t.Errorf("%s, want %s", got, want)
		}
		if h.vacuum.did() != "" {
			h.t.Errorf("the vacuum did: %s", h.vacuum.did())
		}
	})
}

// The connection is lost for longer than the lease during a task: the task continues, and its
// report arrives after the connection is back.
func TestConnectionIsLostDuringAct(t *testing.T) {
	inHouse(t, func(h *house) {
		ref := h.cleaning()
		h.line.cutIt(true)
		h.after(5 * time.Minute)
		h.is(ref, mess.Held)
		h.line.cutIt(false)
		h.after(2 * time.Minute)
		h.is(ref, mess.Completed)
		if data, _ := h.picture(ref); data != "map" {
			h.t.Errorf("the picture is %q", data)
		}
	})
}

func TestConnectionIsLostAtStart(t *testing.T) {
	inHouse(t, func(h *house) {
		h.line.set(func(l *line) {
			l.before = func(m mess.Message) error {
				if saysCode(m, mess.InProgress) {
					return mess.Errorf(mess.Unavailable, "no line")
				}
				return nil
			}
		})
		ref := h.says(claude, "request: {intent: ring the bell}")
		h.after(20 * time.Second)
		if h.is(ref, mess.Claimed); h.lamp.did() != "" {
			h.t.Fatalf("the lamp did %s without permission", h.lamp.did())
		}
		h.line.set(func(l *line) { l.before = nil })
		h.after(time.Minute)
		h.is(ref, mess.Completed)
	})
}

// A permission that took long to arrive does not count: the agent asks again.
func TestSlowStartPermission(t *testing.T) {
	inHouse(t, func(h *house) {
		slow := true
		h.line.set(func(l *line) {
			l.after = func(m mess.Message) error {
				if saysCode(m, mess.InProgress) && slow {
					slow = false
					time.Sleep(3 * time.Second) // fake time
				}
				return nil
			}
		})
		ref := h.says(claude, "request: {intent: ring the bell}")
		h.after(5 * time.Second)
		h.is(ref, mess.Completed)
		if got, want := h.codes(ref), "claimed in_progress in_progress completed"; got != want {
			h.t.Errorf("%s, want %s", got, want)
		}
	})
}

func TestShutdownDuringAct(t *testing.T) {
	inHouse(t, func(h *house) {
		ref := h.cleaning()
		h.after(13 * time.Second)
		h.stopAgent()
		s := h.is(ref, mess.Partial)
		if s.Reason.Type != "interrupted" || len(s.Completed) != 1 {
			h.t.Errorf("%+v, done %v", s.Reason, s.Completed)
		}
		if h.vacuum.did() != "clean near sink+stove, stopped" || h.vacuum.halted != 1 {
			h.t.Errorf("the vacuum did: %s, halted %d times", h.vacuum.did(), h.vacuum.halted)
		}
	})
}

func TestReportSurvivesProgram(t *testing.T) {
	inHouse(t, func(h *house) {
		ref := h.cleaning()
		h.line.cutIt(true)
		h.after(25 * time.Second)
		h.stopAgent()
		h.is(ref, mess.InProgress)
		h.line.cutIt(false)
		h.startAgent()
		h.after(time.Minute)
		h.is(ref, mess.Completed)
		if h.vacuum.did() != "clean near sink+stove" {
			h.t.Errorf("the vacuum did: %s", h.vacuum.did())
		}
	})
}

// Another executor takes the thread during a lost connection: the first does not act, for any
// later message.
func TestAnotherExecutorHasClaim(t *testing.T) {
	inHouse(t, func(h *house) {
		other := exchange.Actor{ID: "other-pi", Roles: exchange.ExecutorRole}
		h.says(other, "config: {executor: {id: other-pi, capabilities: [vacuum-floor], versions: [1.1.0]}}")
		ref := h.says(claude, "request: {intent: vacuum both}")
		h.line.cutIt(true)
		h.after(35 * time.Second)
		h.says(other, "re: "+ref+"\nMESS: [{status: {code: claimed}}]")
		h.line.cutIt(false)
		h.after(2 * time.Minute)
		h.says(other, "re: "+ref+"\nepoch: 2\nMESS: [{status: {code: in_progress}}]")
		h.says(other, "re: "+ref+"\nepoch: 2\nMESS: [{status: {code: completed}}]")
		h.after(time.Minute)
		h.is(ref, mess.Completed)
		if h.vacuum.did() != "" {
			h.t.Errorf("the vacuum did: %s", h.vacuum.did())
		}
	})
}

func TestUnwritableJournal(t *testing.T) {
	inHouse(t, func(h *house) {
		if err := h.journal.Close(); err != nil {
			h.t.Fatal(err)
		}
		no := h.says(claude, "request: {intent: turn on the porch light}")
		if s := h.is(no, mess.Declined); !strings.Contains(s.Reason.Detail, "cannot record its acts") {
			h.t.Errorf("%+v", s.Reason)
		}
		h.is(h.says(claude, `request: {intent: "what's in the fridge?"}`), mess.Completed)
		if h.lamp.did() != "" {
			h.t.Errorf("the lamp did: %s", h.lamp.did())
		}
	})
}

func TestPanicDoesNotEndProgram(t *testing.T) {
	inHouse(t, func(h *house) {
		if s := h.is(h.says(claude, "request: {intent: crash}"), mess.Declined); !strings.Contains(s.Reason.Detail, "boom") {
			h.t.Errorf("%+v", s.Reason)
		}
		h.is(h.says(claude, "request: {intent: turn on the porch light}"), mess.Completed)
	})
}

func TestMaxOnSwitchesOff(t *testing.T) {
	inHouseWith(t, func(h *house) {
		h.gateCfg.Devices = map[string]policy.Limits{"porch-lamp": {MaxOn: time.Hour}}
	}, func(h *house) {
		ref := h.says(claude, "request: {intent: turn on the porch light}")
		h.answers(ref, "off again in 1h0m0s")
		h.after(61 * time.Minute)
		if h.lamp.did() != "on, off" {
			h.t.Errorf("the lamp did: %s", h.lamp.did())
		}
	})
}

// max_on counts from the start of the program, and works without the exchange.
func TestMaxOnCountsFromStart(t *testing.T) {
	inHouseWith(t, func(h *house) {
		h.gateCfg.Devices = map[string]policy.Limits{"porch-lamp": {MaxOn: time.Hour}}
		h.lamp.on = true
		h.line.cutIt(true)
	}, func(h *house) {
		h.after(59 * time.Minute)
		if h.lamp.did() != "" {
			h.t.Errorf("the lamp did: %s", h.lamp.did())
		}
		h.after(2 * time.Minute)
		if h.lamp.did() != "off" {
			h.t.Errorf("the lamp did: %q, want off", h.lamp.did())
		}
	})
}

func TestRejectedImages(t *testing.T) {
	inHouse(t, func(h *house) {
		h.line.set(func(l *line) {
			l.before = func(m mess.Message) error {
				if saysCode(m, mess.Completed) && strings.Contains(text(h.t, m), "file: fridge-cam.jpg") {
					return mess.Errorf(mess.NotFound, "no such attachment")
				}
				return nil
			}
		})
		ref := h.says(claude, `request: {intent: "what's in the fridge?"}`)
		h.is(ref, mess.Completed)
		h.answers(ref, "There is milk", "has not taken the pictures", "no such attachment")
	})
}

// If the exchange stores no files, the report contains the image in the short form; if that is
// too large, the report has no image.
func TestReportContainsImageWithoutFileStore(t *testing.T) {
	for _, fits := range []bool{true, false} {
		inHouseWith(t, func(h *house) {
			h.line.inline = true
			h.line.before = func(m mess.Message) error {
				if !fits && saysCode(m, mess.Completed) && strings.Contains(text(t, m), "data:image/") {
					return mess.Errorf(mess.TooLarge, "the report is larger than the server takes")
				}
				return nil
			}
		}, func(h *house) {
			ref := h.says(claude, `request: {intent: "what's in the fridge?"}`)
			h.is(ref, mess.Completed)
			if !fits {
				h.answers(ref, "There is milk", "has not taken the pictures", "larger than the server takes")
				return
			}
			for _, m := range h.thread(ref).Messages {
				for _, item := range m.Items {
					r, ok := item.(*mess.Response)
					if !ok {
						continue
					}
					for _, e := range r.Content {
						uri, inline := e.Value.(string)
						if at, _ := e.Extra.Get("captured_at"); e.Type == "image" && (!inline || !strings.HasPrefix(uri, "data:image/") || at == nil) {
							t.Errorf("the picture: %+v", e)
						}
						fits = fits && e.Type != "image"
					}
				}
			}
			if fits { // nothing has contradicted it
				t.Error("there is no picture")
			}
		})
	}
}

// While an older report is on its way, the thread gets its image, and the terminal status
// contains it: the version that was stored for a crash does not replace it.
func TestTerminalStatusContainsLateImage(t *testing.T) {
	inHouseWith(t, func(h *house) {
		h.cfg.Jitter = func(limit time.Duration) time.Duration { return limit }
		tries := 0
		h.line.before = func(m mess.Message) error {
			if !saysCode(m, mess.Completed) || !strings.Contains(text(t, m), "porch light is on") {
				return nil
			}
			if tries++; tries == 1 {
				return mess.Errorf(mess.Unavailable, "not now")
			}
			time.Sleep(5 * time.Second)
			return nil
		}
		h.line.attach = func() error { time.Sleep(2 * time.Second); return nil } // before and after
	}, func(h *house) {
		h.says(claude, "request: {intent: turn on the porch light}")
		ref := h.says(claude, `request: {intent: "what's in the fridge?"}`)
		h.after(time.Minute)
		h.is(ref, mess.Completed)
		h.picture(ref)
		if s, _ := h.last(ref); s.Evidence != mess.Photographed {
			t.Errorf("evidence %q: the last word is not what was sent", s.Evidence)
		}
	})
}

func text(t *testing.T, m mess.Message) string {
	t.Helper()
	data, err := m.YAML()
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// While the upload of an image fails, its report waits, and other reports do not.
func TestSlowUploadDelaysItsReportOnly(t *testing.T) {
	inHouse(t, func(h *house) {
		h.line.set(func(l *line) { l.attach = func() error { return mess.Errorf(mess.Unavailable, "not now") } })
		ref := h.cleaning()
		h.after(25 * time.Second)
		h.is(h.says(claude, "request: {intent: ring the bell}"), mess.Completed)
		h.is(ref, mess.InProgress)
		h.line.set(func(l *line) { l.attach = nil })
		h.after(2 * time.Minute)
		h.is(ref, mess.Completed)
		if data, _ := h.picture(ref); data != "map" {
			t.Errorf("the picture is %q", data)
		}
	})
}

func TestDuplicateReplyAnswersOnce(t *testing.T) {
	inHouseWith(t, func(h *house) { h.line.double = true }, func(h *house) {
		ref := h.says(claude, "request: {id: v, intent: vacuum the kitchen}")
		h.says(claude, "reply: {re: v, answers: {area: the moon}}")
		if got, want := h.codes(ref), "claimed needs_input needs_input"; got != want {
			t.Errorf("%s, want %s", got, want)
		}
	})
}

// If all heartbeats fail and other calls work, the exchange ends the claim and offers the
// thread again, and the agent claims it again.
func TestLostHeartbeatsEndClaim(t *testing.T) {
	inHouse(t, func(h *house) {
		h.line.set(func(l *line) {
			l.before = func(m mess.Message) error {
				if _, ok := m.Items[0].(*mess.Config); ok {
					return mess.Errorf(mess.Unavailable, "lost")
				}
				return nil
			}
		})
		ref := h.says(claude, "request: {intent: vacuum both}")
		h.after(40 * time.Second)
		if got, want := h.codes(ref), "claimed needs_confirmation pending claimed needs_confirmation"; got != want {
			t.Errorf("%s, want %s", got, want)
		}
		h.says(person, "reply: {re: "+ref+", confirm: true}")
		h.after(time.Minute)
		h.is(ref, mess.Completed)
		if h.vacuum.did() != "clean near sink+stove" {
			t.Errorf("the vacuum did: %s", h.vacuum.did())
		}
	})
}

// The first claim reveals a short lease. The agent keeps it from then on, before the time of
// the next heartbeat.
func TestShortLeaseIsKept(t *testing.T) {
	inHouseWith(t, func(h *house) {
		h.close()
		cfg := exchange.DefaultConfig()
		cfg.Lease = 4 * time.Second
		h.openExchange(cfg)
	}, func(h *house) {
		ref := h.says(claude, "request: {intent: vacuum both}")
		h.after(time.Minute)
		if got, want := h.codes(ref), "claimed needs_confirmation"; got != want {
			t.Errorf("%s, want %s", got, want)
		}
	})
}

// With a copied card, two agents share an id and a key. An act that must not repeat does not,
// although both get every offer.
func TestTwoAgentsWithOneID(t *testing.T) {
	inHouse(t, func(h *house) {
		j, err := journal.Open(h.t.TempDir())
		if err != nil {
			h.t.Fatal(err)
		}
		twin := &lamp{}
		a := agent.New(h.cfg, h.x.As(h.pi(), "test"), h.words, []device.Device{{Name: "porch-lamp", Label: "porch light", Driver: twin}},
			policy.New(h.gateCfg, time.Now, quiet()), j, time.Now, quiet())
		stop := running(h.t, a.Run)
		synctest.Wait()
		const n = 30
		for i := range n {
			ref := h.says(claude, fmt.Sprintf("request: {id: r%d, intent: ring the bell}", i))
			h.after(5 * time.Second)
			h.is(ref, mess.Completed)
			h.lamp.set(func(l *lamp) { l.on = false })
			twin.set(func(l *lamp) { l.on = false })
		}
		stop()
		if err := j.Close(); err != nil {
			h.t.Error(err)
		}
		first, second := strings.Count(h.lamp.did(), "on"), strings.Count(twin.did(), "on")
		if first+second != n {
			h.t.Errorf("%d requests, and the two acted %d and %d times", n, first, second)
		}
	})
}
