package firmware_test

import (
	"fmt"
	"os/exec"
	"strings"
	"testing"

	"github.com/messkit/messkit/mess"
)

// on requests the lamp by capability and device.
const on = `{"intent": "light, please", "requires": [{"switch-on": {"devices": ["desk-lamp"]}}]}`

func TestRelaySwitches(t *testing.T) {
	b := newBench(t)
	b.power()
	b.wantDone(b.ask(on))
	b.wantDone(b.ask(`{"intent": " Turn OFF the desk lamp. "}`))
	b.wantDone(b.ask(`{"intent": "desk lamp on", "requires": ["switch-on"], "context": ["it is dark"]}`))
	b.wantPin("boot:0 1 0 1")
	e := b.x.Executors()
	if len(e) != 1 || e[0].ID != "desk-relay" || e[0].Name != "Relay at the desk" || !e[0].Live {
		t.Errorf("executors: %+v", e)
	}
}

// A repeated request gives the same thread. The relay does not execute it again, neither
// immediately nor after a restart.
func TestRelayIgnoresDuplicates(t *testing.T) {
	b := newBench(t)
	b.power()
	same := `{"id": "evening", "intent": "turn on the desk lamp"}`
	ref := b.ask(same)
	b.wantDone(ref)
	if again := b.ask(same); again != ref {
		t.Errorf("asked again: %s, want %s", again, ref)
	}
	b.waitForAck()
	b.unplug()
	b.power()
	b.ask(same)
	b.wantDone(b.ask(`{"intent": "desk lamp off"}`)) // so the board has processed all earlier messages
	b.wantDone(ref)
	b.wantPin("boot:0 1 boot:0 0")
}

func TestRelayDeclines(t *testing.T) {
	b := newBench(t)
	b.power()
	b.wantDone(b.ask(`{"intent": "desk lamp off"}`)) // so the board has started
	for _, request := range []string{
		`{"intent": "turn on the oven"}`,
		`{"intent": "do not turn on the desk lamp"}`,
		`{"intent": "turn on the desk lamp in an hour"}`,
		`{"intent": "light, please", "requires": ["switch-on"]}`,
		`{"intent": "turn off the desk lamp", "requires": [{"switch-on": {"devices": ["desk-lamp"]}}]}`,
		`{"intent": "light", "requires": [{"switch-on": {"devices": ["desk-lamp"], "for": "PT10M"}}]}`,
		`{"intent": "light", "requires": [{"switch-on": {"devices": ["desk-lamp", "oven"]}}]}`,
		`{"intent": "light", "requires": [{"switch-on": {"devices": ["desk-lamp"]}}, {"switch-off": {"devices": ["desk-lamp"]}}]}`,
		`{"intent": "desk lamp on", "constraints": {"environment": ["dry"]}}`,
		`{"intent": "desk lamp on", "unless": "somebody sleeps"}`,
	} {
		if s := b.ends(b.ask(request)); s.Code != mess.Declined || s.Reason == nil || !strings.Contains(s.Reason.Detail, "desk lamp on") {
			t.Errorf("%s: %s %+v, want declined, and what it does understand", request, s.Code, s.Reason)
		}
	}
	b.wantPin("boot:0 0")
}

// The relay ignores a request that is too long for its memory, and executes the next one.
func TestRelaySkipsTooLongRequest(t *testing.T) {
	b := newBench(t)
	b.power()
	long := b.ask(fmt.Sprintf(`{"intent": "turn on the desk lamp", "context": [%q]}`, strings.Repeat("word ", 8_000)))
	b.wantDone(b.ask(on))
	if s := b.thread(long).Status; s != mess.Pending {
		t.Errorf("too long: %s", s)
	}
	b.wantPin("boot:0 1")
}

// The power goes while the pin moves, before the change or after it. The board cannot know which,
// and reports an unknown effect.
func TestPowerCutDuringSwitchIsUnknown(t *testing.T) {
	for when, pin := range map[string]string{"before": "boot:0 stalled boot:0 0", "after": "boot:0 1 stalled boot:0 0"} {
		t.Run(when, func(t *testing.T) {
			b := newBench(t)
			b.file("stall", when)
			b.power()
			ref := b.ask(on)
			b.eventually("pin that moves", func() bool { return strings.HasSuffix(b.pin(), "stalled") })
			b.unplug()
			b.remove("stall")
			b.power()
			b.wantFailed(ref, "interrupted", mess.EffectUnknown)
			b.wantDone(b.ask(`{"intent": "desk lamp off"}`)) // the board works again
			b.wantPin(pin)
		})
	}
}

// The power goes after the task and before its report. The lamp was on, and is off since the
// restart, so "on" fails with a partial effect. "off" is still true.
func TestPowerCutBeforeReport(t *testing.T) {
	t.Run("on", func(t *testing.T) {
		b, ref := cutOffAt(t, mess.Completed, on)
		b.wantFailed(ref, "interrupted", mess.EffectPartial)
		b.wantPin("boot:0 1 boot:0")
	})
	t.Run("off", func(t *testing.T) {
		b, ref := cutOffAt(t, mess.Completed, `{"intent": "desk lamp off"}`)
		b.wantDone(ref)
		b.wantPin("boot:0 0 boot:0")
	})
	t.Run("at the gate", func(t *testing.T) {
		b, ref := cutOffAt(t, mess.InProgress, on)
		b.wantFailed(ref, "interrupted", mess.EffectUnknown)
		b.wantPin("boot:0 boot:0")
	})
}

// cutOffAt sends a request, cuts the power at a message with a status code, and switches the
// board on again.
func cutOffAt(t *testing.T, code mess.Code, request string) (*bench, string) {
	t.Helper()
	b := newBench(t)
	hung := make(chan struct{})
	b.cut.Store(&cut{code: code, hung: hung})
	b.power()
	ref := b.ask(request)
	b.eventually("report", func() bool {
		select {
		case <-hung:
			return true
		default:
			return false
		}
	})
	b.unplug()
	b.power()
	return b, ref
}

// The network loses a message, or its answer.
func TestRelaySurvivesLostMessages(t *testing.T) {
	for _, arrives := range []bool{false, true} {
		t.Run(fmt.Sprintf("gate, arrives %v", arrives), func(t *testing.T) {
			b := newBench(t)
			b.cut.Store(&cut{code: mess.InProgress, arrive: arrives})
			b.power()
			b.wantFailed(b.ask(on), "not_started", mess.EffectNone)
			b.wantPin("boot:0")
		})
		t.Run(fmt.Sprintf("report, arrives %v", arrives), func(t *testing.T) {
			b := newBench(t)
			b.cut.Store(&cut{code: mess.Completed, arrive: arrives})
			b.power()
			ref := b.ask(on)
			b.ends(ref)
			b.wantDone(b.ask(`{"intent": "desk lamp off"}`)) // the relay repeated its report before
			b.wantDone(ref)
			b.wantPin("boot:0 1 0")
		})
	}
}

func TestRelayReportsStuckPin(t *testing.T) {
	b := newBench(t)
	b.file("stuck", "yes")
	b.power()
	b.wantFailed(b.ask(on), "device", mess.EffectUnknown)
}

func TestRelaySwitchesOffByItself(t *testing.T) {
	b := newBench(t)
	if err := exec.Command(b.python[0], "-c", "import _thread").Run(); err != nil {
		t.Skip("this python has no threads, of which the test's timer is made")
	}
	b.config(map[string]any{"max_on": 1})
	b.power()
	b.wantDone(b.ask(on))
	b.eventually("end of the on", func() bool { return b.pin() == "boot:0 1 0" })
}

// With a wrong code the exchange does not admit the board. With the right one the board registers
// and does the task.
func TestRelayEnrolls(t *testing.T) {
	b := newBench(t)
	b.config(map[string]any{"enrol": "wrong"})
	b.power()
	ref := b.ask(on)
	b.eventually("boot", func() bool { return b.pin() == "boot:0" })
	b.unplug()
	if s := b.thread(ref).Status; s != mess.Pending {
		t.Errorf("with a wrong code: %s", s)
	}
	b.config(nil)
	b.power()
	b.wantDone(ref)
}
