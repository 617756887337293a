package agent_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/messkit/messkit/agent/device"
	"github.com/messkit/messkit/agent/runtime"
	"github.com/messkit/messkit/capabilities"
	"github.com/messkit/messkit/drivers"
	"github.com/messkit/messkit/mess"
)

// fakeMeter is a simulated sensor that reports changes; a silent one needs readings.
type fakeMeter struct {
	fakeDevice
	signal drivers.Signal
	silent bool
	value  drivers.Reading
	broken error
	looks  int
}

var (
	_ drivers.Sensor   = (*fakeMeter)(nil)
	_ drivers.Notifier = (*fakeMeter)(nil)
)

func (m *fakeMeter) Read(context.Context) ([]drivers.Reading, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.looks++
	r := m.value
	r.At = time.Now()
	return []drivers.Reading{r}, m.broken
}

func (m *fakeMeter) Changes() <-chan struct{} {
	if m.silent {
		return nil
	}
	return m.signal.Changes()
}

func (m *fakeMeter) set(value float64) {
	m.mu.Lock()
	m.value.Value = value
	m.mu.Unlock()
	m.signal.Notify()
}

func (m *fakeMeter) setError(err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.broken = err
}

func waitPlan(c capabilities.Command, args ...any) capabilities.Plan {
	p := capabilities.Plan{
		Capability: "watch-sensor", Device: "meter", Command: c, Risk: capabilities.RiskObserve, Effect: capabilities.Query, Reversible: true,
		Want: []string{"confirmation", "structured"}, Summary: "watch the meter", For: 10 * time.Minute,
	}
	for i := 0; i < len(args); i += 2 {
		p.Args = p.Args.Set(args[i].(string), args[i+1])
	}
	return p
}

// withWait runs a test of one wait in a harness with a meter, which the fridge's camera sees.
func withWait(t *testing.T, m *fakeMeter, p capabilities.Plan, test func(h *harness, ref string)) {
	t.Helper()
	withHarnessSetup(t, func(h *harness) {
		h.more = []device.Device{{Name: "meter", SeenBy: "fridge-cam", Driver: m, Done: device.Done{Below: 5, For: time.Minute}}}
		h.sentences["watch"] = capabilities.Outcome{Plan: &p}
	}, func(h *harness) {
		ref := h.send(requester, "request: {intent: watch, response_hint: [confirmation, structured]}")
		test(h, ref)
	})
}

// lastConfirmation returns the yes or no of a thread's last response.
func lastConfirmation(h *harness, ref string) (confirmed bool) {
	h.t.Helper()
	_, r := h.last(ref)
	for _, e := range r.Content {
		if c, ok := e.Confirmation(); ok {
			return c.Confirmed
		}
	}
	h.t.Errorf("%s: the thread has no confirmation", ref)
	return false
}

func TestWaitReportsAtOnce(t *testing.T) {
	m := &fakeMeter{value: drivers.Reading{Quantity: "contact", Value: 1}}
	withWait(t, m, waitPlan(capabilities.WaitForCondition, "until", "open", "quantity", "contact", "limit", "default"), func(h *harness, ref string) {
		h.advance(time.Minute)
		if s := h.wantStatus(ref, mess.InProgress); !strings.Contains(s.Message, "watching; now: closed") {
			t.Errorf("%+v", s)
		}
		m.set(0)
		h.advance(time.Second) // sooner than the next regular reading
		if s := h.wantStatus(ref, mess.Completed); s.Evidence != mess.Photographed {
			t.Errorf("%+v", s)
		}
		h.wantAnswer(ref, "The meter: open, seen at", "1m0s after the watch began", "The picture is from the fridge.")
		h.image(ref)
		if !lastConfirmation(h, ref) {
			t.Error("the confirmation is false, want true")
		}
	})
}

func TestWaitReadsSilentDevice(t *testing.T) {
	m := &fakeMeter{silent: true, value: drivers.Reading{Quantity: "temperature", Value: 68, Unit: "°F"}}
	withWait(t, m, waitPlan(capabilities.WaitForCondition, "until", "above", "value", 25.0, "quantity", "temperature", "limit", "default"), func(h *harness, ref string) {
		h.advance(time.Minute)
		h.wantStatus(ref, mess.InProgress)
		m.set(77) // it is 25 °C, and not above
		h.advance(time.Minute)
		h.wantStatus(ref, mess.InProgress)
		m.set(79)
		h.advance(6 * time.Second)
		h.wantStatus(ref, mess.Completed)
		h.wantAnswer(ref, "temperature 26.11 °C")
	})
}

// A kelvin is no degree Celsius, and a pascal is no hectopascal.
func TestConditionComparesUnitOfPlan(t *testing.T) {
	for _, c := range []struct {
		reading drivers.Reading
		above   float64
		want    mess.Code
		text    string
	}{
		{drivers.Reading{Quantity: "temperature", Value: 293, Unit: "K"}, 25, mess.InProgress, "now: temperature 19.85 °C"},
		{drivers.Reading{Quantity: "pressure", Value: 95_000, Unit: "Pa"}, 1000, mess.InProgress, "now: pressure 950 hPa"},
		{drivers.Reading{Quantity: "energy", Value: 7.2, Unit: "MJ"}, 5, mess.InProgress, "now: energy 2 kWh"},
		{drivers.Reading{Quantity: "power", Value: 2000, Unit: "VA"}, 1000, mess.Failed, "it measures power in VA, and messkit cannot convert that to W"},
	} {
		m := &fakeMeter{value: c.reading}
		withWait(t, m, waitPlan(capabilities.WaitForCondition, "until", "above", "value", c.above, "quantity", c.reading.Quantity, "limit", "default"), func(h *harness, ref string) {
			h.advance(time.Second)
			s := h.wantStatus(ref, c.want)
			text := s.Message
			if s.Reason != nil {
				text += s.Reason.Detail
			}
			if !strings.Contains(text, c.text) {
				t.Errorf("%v: %q; want %q", c.reading, text, c.text)
			}
		})
	}
}

func TestConditionAlreadyTrueIsReported(t *testing.T) {
	m := &fakeMeter{value: drivers.Reading{Quantity: "contact", Value: 0}}
	withWait(t, m, waitPlan(capabilities.WaitForCondition, "until", "open", "quantity", "contact", "limit", "default"), func(h *harness, ref string) {
		h.advance(time.Second)
		h.wantStatus(ref, mess.Completed)
		h.wantAnswer(ref, "The meter: open. It was so already when the watch began.")
	})
}

// The condition does not become true: with a requested duration the watch is complete.
func TestWaitWithoutResult(t *testing.T) {
	for limit, want := range map[string]mess.Code{"asked": mess.Completed, "default": mess.Failed} {
		m := &fakeMeter{value: drivers.Reading{Quantity: "contact", Value: 1}}
		withWait(t, m, waitPlan(capabilities.WaitForCondition, "until", "change", "quantity", "contact", "limit", limit), func(h *harness, ref string) {
			h.advance(10*time.Minute - time.Second)
			h.wantStatus(ref, mess.InProgress)
			h.advance(2 * time.Second)
			s := h.wantStatus(ref, want)
			if limit == "asked" {
				h.wantAnswer(ref, "The agent watched the meter for 10m0s, and it did not happen; now: closed.")
				if lastConfirmation(h, ref) {
					t.Error("the confirmation is true, want false")
				}
				return
			}
			if s.Reason.Type != "not_happened" || s.Reason.Effect != mess.EffectNone || s.Recoverable == nil || !*s.Recoverable || !strings.Contains(s.Reason.Detail, "now: closed") {
				t.Errorf("%+v %+v", s, s.Reason)
			}
		})
	}
}

func TestWaitIsCancelled(t *testing.T) {
	m := &fakeMeter{value: drivers.Reading{Quantity: "contact", Value: 1}}
	withWait(t, m, waitPlan(capabilities.WaitForCondition, "until", "open", "quantity", "contact", "limit", "default"), func(h *harness, ref string) {
		h.advance(time.Minute)
		h.send(requester, "cancel: {re: "+ref+"}")
		h.advance(time.Second)
		if s := h.wantStatus(ref, mess.Cancelled); s.Reason.Effect != mess.EffectNone {
			t.Errorf("%+v", s.Reason)
		}
	})
}

// The time of a wait continues during a downtime, and the answer mentions that downtime.
func TestWaitContinuesInNextRun(t *testing.T) {
	m := &fakeMeter{value: drivers.Reading{Quantity: "contact", Value: 1}}
	withWait(t, m, waitPlan(capabilities.WaitForCondition, "until", "open", "quantity", "contact", "limit", "default"), func(h *harness, ref string) {
		h.advance(4 * time.Minute)
		h.stopAgent()
		h.wantStatus(ref, mess.InProgress)
		h.advance(time.Minute)
		h.startAgent()
		h.advance(time.Minute)
		h.wantStatus(ref, mess.InProgress)
		m.set(0)
		h.advance(time.Second)
		h.wantStatus(ref, mess.Completed)
		h.wantAnswer(ref, "The meter: open, seen at", "6m0s after the watch began", "the program restarted during this watch")
	})
	m = &fakeMeter{value: drivers.Reading{Quantity: "contact", Value: 1}}
	withWait(t, m, waitPlan(capabilities.WaitForCondition, "until", "open", "quantity", "contact", "limit", "asked"), func(h *harness, ref string) {
		h.advance(4 * time.Minute)
		h.stopAgent()
		h.advance(time.Minute)
		h.startAgent()
		h.advance(5*time.Minute + 5*time.Second)
		h.wantStatus(ref, mess.Completed)
		h.wantAnswer(ref, "it did not happen")
	})
}

func TestFinishedApplianceIsReported(t *testing.T) {
	m := &fakeMeter{value: drivers.Reading{Quantity: "power", Value: 500, Unit: "W"}}
	withWait(t, m, waitPlan(capabilities.WaitUntilDone, "until", "done", "limit", "default"), func(h *harness, ref string) {
		h.advance(time.Minute)
		m.set(2) // it pauses
		h.advance(50 * time.Second)
		m.set(700)
		h.advance(time.Minute)
		h.wantStatus(ref, mess.InProgress)
		m.set(2)
		h.advance(50 * time.Second)
		h.wantStatus(ref, mess.InProgress)
		h.advance(15 * time.Second)
		h.wantStatus(ref, mess.Completed)
		h.wantAnswer(ref, "The meter has finished: it is at 2 W for 1m0s, and took up to 700 W.")
	})
	m = &fakeMeter{value: drivers.Reading{Quantity: "power", Value: 1, Unit: "W"}}
	withWait(t, m, waitPlan(capabilities.WaitUntilDone, "until", "done", "limit", "default"), func(h *harness, ref string) {
		h.advance(65 * time.Second)
		h.wantStatus(ref, mess.Completed)
		h.wantAnswer(ref, "The meter is not at work", "the agent has not seen it work since the watch began")
	})
	m = &fakeMeter{value: drivers.Reading{Quantity: "temperature", Value: 1, Unit: "°C"}}
	withWait(t, m, waitPlan(capabilities.WaitUntilDone, "until", "done", "limit", "default"), func(h *harness, ref string) {
		h.advance(time.Second)
		if s := h.wantStatus(ref, mess.Failed); !strings.Contains(s.Reason.Detail, "the agent cannot tell when it has finished: it measures no power now") {
			t.Errorf("%+v", s.Reason)
		}
	})
}

// A device may be silent for a while; after a longer silence, the wait ends.
func TestWaitEndsAfterLongSilence(t *testing.T) {
	m := &fakeMeter{value: drivers.Reading{Quantity: "contact", Value: 1}}
	p := waitPlan(capabilities.WaitForCondition, "until", "open", "quantity", "contact", "limit", "asked")
	p.For = time.Hour
	withWait(t, m, p, func(h *harness, ref string) {
		h.advance(time.Minute)
		m.setError(errors.New("made: no answer"))
		h.advance(9 * time.Minute)
		h.wantStatus(ref, mess.InProgress)
		m.setError(nil)
		h.advance(10 * time.Minute)
		h.wantStatus(ref, mess.InProgress)
		m.setError(errors.New("made: no answer"))
		h.advance(11 * time.Minute)
		if s := h.wantStatus(ref, mess.Failed); !strings.Contains(s.Reason.Detail, "meter cannot be watched: made: no answer") {
			t.Errorf("%+v", s.Reason)
		}
	})
}

// Frequent change events of a device do not cause readings without a pause.
func TestWaitLimitsReadings(t *testing.T) {
	m := &fakeMeter{value: drivers.Reading{Quantity: "contact", Value: 1}}
	withWait(t, m, waitPlan(capabilities.WaitForCondition, "until", "open", "quantity", "contact", "limit", "asked"), func(h *harness, ref string) {
		for range 1000 {
			m.signal.Notify()
			h.advance(10 * time.Millisecond)
		}
		m.mu.Lock()
		looks := m.looks
		m.mu.Unlock()
		if looks > 42 {
			t.Errorf("%d looks in ten seconds", looks)
		}
		h.wantStatus(ref, mess.InProgress)
	})
}

func TestNumberOfWaitsIsLimited(t *testing.T) {
	m := &fakeMeter{value: drivers.Reading{Quantity: "contact", Value: 1}}
	p := waitPlan(capabilities.WaitForCondition, "until", "open", "quantity", "contact", "limit", "default")
	withHarnessSetup(t, func(h *harness) {
		h.cfg.Watch.AtOnce = 2
		h.more = []device.Device{{Name: "meter", Driver: m}}
		h.sentences["watch"] = capabilities.Outcome{Plan: &p}
	}, func(h *harness) {
		first := h.send(requester, "request: {intent: watch}")
		h.send(requester, "request: {intent: watch}")
		third := h.send(requester, "request: {intent: watch}")
		if s, _ := h.last(third); s.Code != mess.Declined || !strings.Contains(s.Reason.Detail, "the agent already watches 2 things") {
			t.Errorf("%+v %+v", s, s.Reason)
		}
		h.send(requester, "cancel: {re: "+first+"}")
		h.advance(time.Second)
		h.wantStatus(h.send(requester, "request: {intent: watch}"), mess.InProgress)
		h.advance(11 * time.Minute)
	})
}

func TestImpossibleWaitsAreRejected(t *testing.T) {
	for want, change := range map[string]func(*runtime.Watches){
		"longest: 1s is not between":           func(w *runtime.Watches) { w.Longest = time.Second },
		"default: 25h0m0s is not between 1s":   func(w *runtime.Watches) { w.Default = 25 * time.Hour },
		"every: 1ms is not between 1s and 10m": func(w *runtime.Watches) { w.Every = time.Millisecond },
		"at_once: -1 is too few":               func(w *runtime.Watches) { w.AtOnce = -1 },
	} {
		w := runtime.DefaultWatches()
		if err := w.Validate(); err != nil {
			t.Fatal(err)
		}
		change(&w)
		if err := w.Validate(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
	for want, d := range map[string]device.Done{"below: -1 W cannot be": {Below: -1}, "for: 2h0m0s is not between": {For: 2 * time.Hour}} {
		if err := d.Validate(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
}
