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

// startCleaning starts a task of twenty seconds.
func (h *harness) startCleaning() (ref string) {
	h.t.Helper()
	ref = h.send(requester, "request: {intent: vacuum both}")
	h.send(person, "reply: {re: "+ref+", confirm: true}")
	h.wantStatus(ref, mess.InProgress)
	return ref
}

func TestCancelBeforeStart(t *testing.T) {
	withHarness(t, func(h *harness) {
		ref := h.send(requester, "request: {intent: vacuum both}")
		h.send(requester, "cancel: {re: "+ref+"}")
		h.advance(time.Minute)
		h.wantStatus(ref, mess.Cancelled)
		if h.vacuum.acts() != "" {
			h.t.Errorf("the vacuum did: %s", h.vacuum.acts())
		}
	})
}

// While one request starts a device, a cancel of the next one and the status do not wait
// for that start.
func TestCancelDuringDeviceStart(t *testing.T) {
	withHarness(t, func(h *harness) {
		h.stopAgent()
		h.lamp.set(func(l *lamp) { l.unplug = true })
		h.startAgent()
		h.advance(time.Second)
		h.lamp.set(func(l *lamp) { l.unplug, l.starts = false, 8*time.Second })
		first := h.send(requester, "request: {intent: turn on the porch light}")
		h.advance(time.Second)
		second := h.send(requester, "request: {intent: turn off the porch light}")
		h.advance(time.Second)
		h.send(requester, "cancel: {re: "+second+"}")
		h.advance(time.Second)
		h.wantStatus(second, mess.Cancelled)
		asked := time.Now()
		h.failureOf("porch-lamp")
		if took := time.Since(asked); took > 0 {
			h.t.Errorf("the status took %v", took)
		}
		h.advance(time.Minute)
		h.wantStatus(first, mess.Completed)
		if h.lamp.acts() != "on" {
			h.t.Errorf("the lamp did: %s", h.lamp.acts())
		}
	})
}

func TestCancelDuringAct(t *testing.T) {
	withHarness(t, func(h *harness) {
		ref := h.startCleaning()
		h.advance(13 * time.Second)
		h.send(requester, "cancel: {re: "+ref+"}")
		s := h.wantStatus(ref, mess.Cancelled)
		if s.Reason.Effect != mess.EffectPartial || !strings.Contains(s.Reason.Detail, "done: near sink; not done: stove") {
			h.t.Errorf("%+v", s.Reason)
		}
		if h.vacuum.acts() != "clean near sink+stove, stopped" {
			h.t.Errorf("the vacuum did: %s", h.vacuum.acts())
		}
	})
}

func TestLateCancel(t *testing.T) {
	withHarness(t, func(h *harness) {
		h.lamp.running = func() { // and its act ignores that
			if _, err := h.postWithoutWait(requester, "cancel: {re: last}"); err != nil {
				h.t.Error(err)
			}
		}
		h.wantStatus(h.send(requester, "request: {intent: turn on the porch light}"), mess.Completed)
	})
}

func TestCancelInHeartbeatAck(t *testing.T) {
	withHarness(t, func(h *harness) {
		ref := h.startCleaning()
		h.connection.set(func(l *connection) { l.dropIncoming = true })
		h.send(requester, "cancel: {re: "+ref+"}")
		h.wantStatus(ref, mess.InProgress)
		h.advance(10 * time.Second)
		h.wantStatus(ref, mess.Cancelled)
	})
}

func TestEveryMessageIsDuplicated(t *testing.T) {
	withHarnessSetup(t, func(h *harness) { h.connection.duplicate = true }, func(h *harness) {
		ref := h.send(requester, "request: {intent: ring the bell}")
		h.wantStatus(ref, mess.Completed)
		v := h.startCleaning()
		h.advance(25 * time.Second)
		h.wantStatus(v, mess.Completed)
		if h.lamp.acts() != "on" || h.vacuum.acts() != "clean near sink+stove" {
			h.t.Errorf("the lamp did %s, the vacuum %s; want each once", h.lamp.acts(), h.vacuum.acts())
		}
		if got, want := h.statuses(ref), "claimed in_progress completed"; got != want {
			h.t.Errorf("%s, want %s", got, want)
		}
	})
}

// The network loses every answer of the exchange once: each repeated message is a duplicate.
func TestEveryAckIsLostOnce(t *testing.T) {
	withHarness(t, func(h *harness) {
		lost := map[string]bool{}
		h.connection.set(func(l *connection) {
			l.after = func(m mess.Message) error {
				if len(m.Re) == 0 || lost[m.ID] {
					return nil
				}
				lost[m.ID] = true
				return mess.Errorf(mess.Unavailable, "the answer is lost")
			}
		})
		ref := h.send(requester, "request: {intent: ring the bell}")
		h.connection.set(func(l *connection) { l.after = nil })
		h.advance(5 * time.Second)
		h.wantStatus(ref, mess.Completed)
		if h.lamp.acts() != "on" {
			h.t.Errorf("the lamp did: %s; want it once", h.lamp.acts())
		}
	})
}

func TestTwoOffersForOneDevice(t *testing.T) {
	withHarness(t, func(h *harness) {
		h.lamp.set(func(l *lamp) { l.takes = 5 * time.Second })
		first := h.send(requester, "request: {id: a, intent: turn on the porch light}")
		second := h.send(requester, "request: {id: b, intent: turn off the porch light}")
		h.wantStatus(first, mess.InProgress)
		if s := h.wantStatus(second, mess.Waiting); s.WaitingFor.Resource != "porch-lamp" {
			h.t.Errorf("waits for %+v", s.WaitingFor)
		}
		h.advance(11 * time.Second)
		h.wantStatus(first, mess.Completed)
		h.wantStatus(second, mess.Completed)
		if h.lamp.acts() != "on, off" {
			h.t.Errorf("the lamp did: %s", h.lamp.acts())
		}
	})
}

func TestStop(t *testing.T) {
	withHarness(t, func(h *harness) {
		ref := h.startCleaning()
		h.advance(3 * time.Second)
		h.policy.Stop("the cat")
		synctest.Wait()
		if s := h.wantStatus(ref, mess.Failed); s.Reason.Type != "stop" || s.Reason.Effect != mess.EffectUnknown {
			h.t.Errorf("%+v", s.Reason)
		}
		no := h.send(requester, "request: {intent: turn on the porch light}")
		if s := h.wantStatus(no, mess.Declined); !strings.Contains(s.Reason.Detail, "the cat") {
			h.t.Errorf("%+v", s.Reason)
		}
		h.policy.ResetStop()
		h.wantStatus(h.send(requester, "request: {intent: turn on the porch light}"), mess.Completed)
	})
}

func TestLeaseLostBeforeStart(t *testing.T) {
	withHarness(t, func(h *harness) {
		ref := h.send(requester, "request: {intent: vacuum both}")
		h.wantStatus(ref, mess.NeedsConfirmation)
		h.connection.setCut(true)
		h.advance(35 * time.Second)
		h.wantStatus(ref, mess.Pending)
		h.connection.setCut(false)
		h.advance(2 * time.Minute)
		h.wantStatus(ref, mess.NeedsConfirmation)
		if got, want := h.statuses(ref), "claimed needs_confirmation pending claimed needs_confirmation"; got != want {
			h.t.Errorf("%s, want %s", got, want)
		}
		if h.vacuum.acts() != "" {
			h.t.Errorf("the vacuum did: %s", h.vacuum.acts())
		}
	})
}

// The connection is lost for longer than the lease during a task: the task continues, and its
// report arrives after the connection is back.
func TestConnectionIsLostDuringAct(t *testing.T) {
	withHarness(t, func(h *harness) {
		ref := h.startCleaning()
		h.connection.setCut(true)
		h.advance(5 * time.Minute)
		h.wantStatus(ref, mess.Held)
		h.connection.setCut(false)
		h.advance(2 * time.Minute)
		h.wantStatus(ref, mess.Completed)
		if data, _ := h.image(ref); data != "map" {
			h.t.Errorf("the picture is %q", data)
		}
	})
}

func TestConnectionIsLostAtStart(t *testing.T) {
	withHarness(t, func(h *harness) {
		h.connection.set(func(l *connection) {
			l.before = func(m mess.Message) error {
				if hasStatus(m, mess.InProgress) {
					return mess.Errorf(mess.Unavailable, "no line")
				}
				return nil
			}
		})
		ref := h.send(requester, "request: {intent: ring the bell}")
		h.advance(20 * time.Second)
		if h.wantStatus(ref, mess.Claimed); h.lamp.acts() != "" {
			h.t.Fatalf("the lamp did %s without permission", h.lamp.acts())
		}
		h.connection.set(func(l *connection) { l.before = nil })
		h.advance(time.Minute)
		h.wantStatus(ref, mess.Completed)
	})
}

// A permission that took long to arrive does not count: the agent asks again.
func TestSlowStartPermission(t *testing.T) {
	withHarness(t, func(h *harness) {
		slow := true
		h.connection.set(func(l *connection) {
			l.after = func(m mess.Message) error {
				if hasStatus(m, mess.InProgress) && slow {
					slow = false
					time.Sleep(3 * time.Second) // fake time
				}
				return nil
			}
		})
		ref := h.send(requester, "request: {intent: ring the bell}")
		h.advance(5 * time.Second)
		h.wantStatus(ref, mess.Completed)
		if got, want := h.statuses(ref), "claimed in_progress in_progress completed"; got != want {
			h.t.Errorf("%s, want %s", got, want)
		}
	})
}

func TestShutdownDuringAct(t *testing.T) {
	withHarness(t, func(h *harness) {
		ref := h.startCleaning()
		h.advance(13 * time.Second)
		h.stopAgent()
		s := h.wantStatus(ref, mess.Partial)
		if s.Reason.Type != "interrupted" || len(s.Completed) != 1 {
			h.t.Errorf("%+v, done %v", s.Reason, s.Completed)
		}
		if h.vacuum.acts() != "clean near sink+stove, stopped" || h.vacuum.halted != 1 {
			h.t.Errorf("the vacuum did: %s, halted %d times", h.vacuum.acts(), h.vacuum.halted)
		}
	})
}

func TestReportSurvivesProgram(t *testing.T) {
	withHarness(t, func(h *harness) {
		ref := h.startCleaning()
		h.connection.setCut(true)
		h.advance(25 * time.Second)
		h.stopAgent()
		h.wantStatus(ref, mess.InProgress)
		h.connection.setCut(false)
		h.startAgent()
		h.advance(time.Minute)
		h.wantStatus(ref, mess.Completed)
		if h.vacuum.acts() != "clean near sink+stove" {
			h.t.Errorf("the vacuum did: %s", h.vacuum.acts())
		}
	})
}

// Another executor takes the thread during a lost connection: the first does not act, for any
// later message.
func TestAnotherExecutorHasClaim(t *testing.T) {
	withHarness(t, func(h *harness) {
		other := exchange.Actor{ID: "other-pi", Roles: exchange.ExecutorRole}
		h.send(other, "config: {executor: {id: other-pi, capabilities: [vacuum-floor], versions: [1.1.0]}}")
		ref := h.send(requester, "request: {intent: vacuum both}")
		h.connection.setCut(true)
		h.advance(35 * time.Second)
		h.send(other, "re: "+ref+"\nMESS: [{status: {code: claimed}}]")
		h.connection.setCut(false)
		h.advance(2 * time.Minute)
		h.send(other, "re: "+ref+"\nepoch: 2\nMESS: [{status: {code: in_progress}}]")
		h.send(other, "re: "+ref+"\nepoch: 2\nMESS: [{status: {code: completed}}]")
		h.advance(time.Minute)
		h.wantStatus(ref, mess.Completed)
		if h.vacuum.acts() != "" {
			h.t.Errorf("the vacuum did: %s", h.vacuum.acts())
		}
	})
}

func TestUnwritableJournal(t *testing.T) {
	withHarness(t, func(h *harness) {
		if err := h.journal.Close(); err != nil {
			h.t.Fatal(err)
		}
		no := h.send(requester, "request: {intent: turn on the porch light}")
		if s := h.wantStatus(no, mess.Declined); !strings.Contains(s.Reason.Detail, "cannot record its acts") {
			h.t.Errorf("%+v", s.Reason)
		}
		h.wantStatus(h.send(requester, `request: {intent: "what's in the fridge?"}`), mess.Completed)
		if h.lamp.acts() != "" {
			h.t.Errorf("the lamp did: %s", h.lamp.acts())
		}
	})
}

func TestPanicDoesNotEndProgram(t *testing.T) {
	withHarness(t, func(h *harness) {
		if s := h.wantStatus(h.send(requester, "request: {intent: crash}"), mess.Declined); !strings.Contains(s.Reason.Detail, "boom") {
			h.t.Errorf("%+v", s.Reason)
		}
		h.wantStatus(h.send(requester, "request: {intent: turn on the porch light}"), mess.Completed)
	})
}

func TestMaxOnSwitchesOff(t *testing.T) {
	withHarnessSetup(t, func(h *harness) {
		h.policyCfg.Devices = map[string]policy.Limits{"porch-lamp": {MaxOn: time.Hour}}
	}, func(h *harness) {
		ref := h.send(requester, "request: {intent: turn on the porch light}")
		h.wantAnswer(ref, "off again in 1h0m0s")
		h.advance(61 * time.Minute)
		if h.lamp.acts() != "on, off" {
			h.t.Errorf("the lamp did: %s", h.lamp.acts())
		}
	})
}

// max_on counts from the start of the program, and works without the exchange.
func TestMaxOnCountsFromStart(t *testing.T) {
	withHarnessSetup(t, func(h *harness) {
		h.policyCfg.Devices = map[string]policy.Limits{"porch-lamp": {MaxOn: time.Hour}}
		h.lamp.on = true
		h.connection.setCut(true)
	}, func(h *harness) {
		h.advance(59 * time.Minute)
		if h.lamp.acts() != "" {
			h.t.Errorf("the lamp did: %s", h.lamp.acts())
		}
		h.advance(2 * time.Minute)
		if h.lamp.acts() != "off" {
			h.t.Errorf("the lamp did: %q, want off", h.lamp.acts())
		}
	})
}

func TestRejectedImages(t *testing.T) {
	withHarness(t, func(h *harness) {
		h.connection.set(func(l *connection) {
			l.before = func(m mess.Message) error {
				if hasStatus(m, mess.Completed) && strings.Contains(yamlText(h.t, m), "file: fridge-cam.jpg") {
					return mess.Errorf(mess.NotFound, "no such attachment")
				}
				return nil
			}
		})
		ref := h.send(requester, `request: {intent: "what's in the fridge?"}`)
		h.wantStatus(ref, mess.Completed)
		h.wantAnswer(ref, "There is milk", "has not taken the pictures", "no such attachment")
	})
}

// If the exchange stores no files, the report contains the image in the short form; if that is
// too large, the report has no image.
func TestReportContainsImageWithoutFileStore(t *testing.T) {
	for _, fits := range []bool{true, false} {
		withHarnessSetup(t, func(h *harness) {
			h.connection.sync = true
			h.connection.before = func(m mess.Message) error {
				if !fits && hasStatus(m, mess.Completed) && strings.Contains(yamlText(t, m), "data:image/") {
					return mess.Errorf(mess.TooLarge, "the report is larger than the server takes")
				}
				return nil
			}
		}, func(h *harness) {
			ref := h.send(requester, `request: {intent: "what's in the fridge?"}`)
			h.wantStatus(ref, mess.Completed)
			if !fits {
				h.wantAnswer(ref, "There is milk", "has not taken the pictures", "larger than the server takes")
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
	withHarnessSetup(t, func(h *harness) {
		h.cfg.Jitter = func(limit time.Duration) time.Duration { return limit }
		tries := 0
		h.connection.before = func(m mess.Message) error {
			if !hasStatus(m, mess.Completed) || !strings.Contains(yamlText(t, m), "porch light is on") {
				return nil
			}
			if tries++; tries == 1 {
				return mess.Errorf(mess.Unavailable, "not now")
			}
			time.Sleep(5 * time.Second)
			return nil
		}
		h.connection.attach = func() error { time.Sleep(2 * time.Second); return nil } // before and after
	}, func(h *harness) {
		h.send(requester, "request: {intent: turn on the porch light}")
		ref := h.send(requester, `request: {intent: "what's in the fridge?"}`)
		h.advance(time.Minute)
		h.wantStatus(ref, mess.Completed)
		h.image(ref)
		if s, _ := h.last(ref); s.Evidence != mess.Photographed {
			t.Errorf("evidence %q: the last word is not what was sent", s.Evidence)
		}
	})
}

func yamlText(t *testing.T, m mess.Message) string {
	t.Helper()
	data, err := m.YAML()
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// While the upload of an image fails, its report waits, and other reports do not.
func TestSlowUploadDelaysItsReportOnly(t *testing.T) {
	withHarness(t, func(h *harness) {
		h.connection.set(func(l *connection) { l.attach = func() error { return mess.Errorf(mess.Unavailable, "not now") } })
		ref := h.startCleaning()
		h.advance(25 * time.Second)
		h.wantStatus(h.send(requester, "request: {intent: ring the bell}"), mess.Completed)
		h.wantStatus(ref, mess.InProgress)
		h.connection.set(func(l *connection) { l.attach = nil })
		h.advance(2 * time.Minute)
		h.wantStatus(ref, mess.Completed)
		if data, _ := h.image(ref); data != "map" {
			t.Errorf("the picture is %q", data)
		}
	})
}

func TestDuplicateReplyAnswersOnce(t *testing.T) {
	withHarnessSetup(t, func(h *harness) { h.connection.duplicate = true }, func(h *harness) {
		ref := h.send(requester, "request: {id: v, intent: vacuum the kitchen}")
		h.send(requester, "reply: {re: v, answers: {area: the moon}}")
		if got, want := h.statuses(ref), "claimed needs_input needs_input"; got != want {
			t.Errorf("%s, want %s", got, want)
		}
	})
}

// If all heartbeats fail and other calls work, the exchange ends the claim and offers the
// thread again, and the agent claims it again.
func TestLostHeartbeatsEndClaim(t *testing.T) {
	withHarness(t, func(h *harness) {
		h.connection.set(func(l *connection) {
			l.before = func(m mess.Message) error {
				if _, ok := m.Items[0].(*mess.Config); ok {
					return mess.Errorf(mess.Unavailable, "lost")
				}
				return nil
			}
		})
		ref := h.send(requester, "request: {intent: vacuum both}")
		h.advance(40 * time.Second)
		if got, want := h.statuses(ref), "claimed needs_confirmation pending claimed needs_confirmation"; got != want {
			t.Errorf("%s, want %s", got, want)
		}
		h.send(person, "reply: {re: "+ref+", confirm: true}")
		h.advance(time.Minute)
		h.wantStatus(ref, mess.Completed)
		if h.vacuum.acts() != "clean near sink+stove" {
			t.Errorf("the vacuum did: %s", h.vacuum.acts())
		}
	})
}

// The first claim reveals a short lease. The agent keeps it from then on, before the time of
// the next heartbeat.
func TestShortLeaseIsKept(t *testing.T) {
	withHarnessSetup(t, func(h *harness) {
		h.close()
		cfg := exchange.DefaultConfig()
		cfg.Lease = 4 * time.Second
		h.openExchange(cfg)
	}, func(h *harness) {
		ref := h.send(requester, "request: {intent: vacuum both}")
		h.advance(time.Minute)
		if got, want := h.statuses(ref), "claimed needs_confirmation"; got != want {
			t.Errorf("%s, want %s", got, want)
		}
	})
}

// With a copied card, two agents share an id and a key. An act that must not repeat does not,
// although both get every offer.
func TestTwoAgentsWithOneID(t *testing.T) {
	withHarness(t, func(h *harness) {
		j, err := journal.Open(h.t.TempDir())
		if err != nil {
			h.t.Fatal(err)
		}
		twin := &lamp{}
		a := agent.New(h.cfg, h.x.As(h.actor(), "test"), h.sentences, []device.Device{{Name: "porch-lamp", Label: "porch light", Driver: twin}},
			policy.New(h.policyCfg, time.Now, quiet()), j, time.Now, quiet())
		stop := runUntilStopped(h.t, a.Run)
		synctest.Wait()
		const n = 30
		for i := range n {
			ref := h.send(requester, fmt.Sprintf("request: {id: r%d, intent: ring the bell}", i))
			h.advance(5 * time.Second)
			h.wantStatus(ref, mess.Completed)
			h.lamp.set(func(l *lamp) { l.on = false })
			twin.set(func(l *lamp) { l.on = false })
		}
		stop()
		if err := j.Close(); err != nil {
			h.t.Error(err)
		}
		first, second := strings.Count(h.lamp.acts(), "on"), strings.Count(twin.acts(), "on")
		if first+second != n {
			h.t.Errorf("%d requests, and the two acted %d and %d times", n, first, second)
		}
	})
}
