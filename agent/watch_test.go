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

// meter is a simulated sensor that reports changes; a silent one needs readings.
type meter struct {
	part
	bell   drivers.Bell
	silent bool
	value  drivers.Reading
	broken error
	looks  int
}

var (
	_ drivers.Sensor   = (*meter)(nil)
	_ drivers.Notifier = (*meter)(nil)
)

func (m *meter) Read(context.Context) ([]drivers.Reading, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.looks++
	r := m.value
	r.At = time.Now()
	return []drivers.Reading{r}, m.broken
}

func (m *meter) Changes() <-chan struct{} {
	if m.silent {
		return nil
	}
	return m.bell.Changes()
}

func (m *meter) set(value float64) {
	m.mu.Lock()
	m.value.Value = value
	m.mu.Unlock()
	m.bell.Ring()
}

func (m *meter) fails(err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.broken = err
}

func watchPlan(c capabilities.Command, args ...any) capabilities.Plan {
	p := capabilities.Plan{
		Capability: "watch-sensor", Device: "meter", Command: c, Risk: capabilities.RiskObserve, Effect: capabilities.Query, Reversible: true,
		Want: []string{"confirmation", "structured"}, Summary: "watch the meter", For: 10 * time.Minute,
	}
	for i := 0; i < len(args); i += 2 {
		p.Args = p.Args.Set(args[i].(string), args[i+1])
	}
	return p
}

// watching runs a test of one wait in a house with a meter, which the fridge's camera sees.
func watching(t *testing.T, m *meter, p capabilities.Plan, story func(h *house, ref string)) {
	t.Helper()
	inHouseWith(t, func(h *house) {
		h.more = []device.Device{{Name: "meter", SeenBy: "fridge-cam", Driver: m, Done: device.Done{Below: 5, For: time.Minute}}}
		h.words["watch"] = capabilities.Outcome{Plan: &p}
	}, func(h *house) {
		ref := h.says(claude, "request: {intent: watch, response_hint: [confirmation, structured]}")
		story(h, ref)
	})
}

// confirmed returns the yes or no of a thread's last response.
func confirmed(h *house, ref string) (yes bool) {
	h.t.Helper()
	_, r := h.last(ref)
	for _, e := range r.Content {
		if c, ok := e.Confirmation(); ok {
			return c.Confirmed
		}
	}
	h.t.Errorf("%s: there is no yes or no", ref)
	return false
}

func TestWaitReportsAtOnce(t *testing.T) {
	m := &meter{value: drivers.Reading{Quantity: "contact", Value: 1}}
	watching(t, m, watchPlan(capabilities.Watch, "until", "open", "quantity", "contact", "limit", "default"), func(h *house, ref string) {
		h.after(time.Minute)
		if s := h.is(ref, mess.InProgress); !strings.Contains(s.Message, "watching; now: closed") {
			t.Errorf("%+v", s)
		}
		m.set(0)
		h.after(time.Second) // sooner than the next regular reading
		if s := h.is(ref, mess.Completed); s.Evidence != mess.Photographed {
			t.Errorf("%+v", s)
		}
		h.answers(ref, "The meter: open, seen at", "1m0s after the watch began", "The picture is from the fridge.")
		h.picture(ref)
		if !confirmed(h, ref) {
			t.Error("it says no")
		}
	})
}

func TestWaitReadsSilentDevice(t *testing.T) {
	m := &meter{silent: true, value: drivers.Reading{Quantity: "temperature", Value: 68, Unit: "°F"}}
	watching(t, m, watchPlan(capabilities.Watch, "until", "above", "value", 25.0, "quantity", "temperature", "limit", "default"), func(h *house, ref string) {
		h.after(time.Minute)
		h.is(ref, mess.InProgress)
		m.set(77) // it is 25 °C, and not above
		h.after(time.Minute)
		h.is(ref, mess.InProgress)
		m.set(79)
		h.after(6 * time.Second)
		h.is(ref, mess.Completed)
		h.answers(ref, "temperature 26.11 °C")
	})
}

func TestConditionAlreadyTrueIsReported(t *testing.T) {
	m := &meter{value: drivers.Reading{Quantity: "contact", Value: 0}}
	watching(t, m, watchPlan(capabilities.Watch, "until", "open", "quantity", "contact", "limit", "default"), func(h *house, ref string) {
		h.after(time.Second)
		h.is(ref, mess.Completed)
		h.answers(ref, "The meter: open. It was so already when the watch began.")
	})
}

// The condition does not become true: with a requested duration the watch is complete.
func TestWaitWithoutResult(t *testing.T) {
	for limit, want := range map[string]mess.Code{"asked": mess.Completed, "default": mess.Failed} {
		m := &meter{value: drivers.Reading{Quantity: "contact", Value: 1}}
		watching(t, m, watchPlan(capabilities.Watch, "until", "change", "quantity", "contact", "limit", limit), func(h *house, ref string) {
			h.after(10*time.Minute - time.Second)
			h.is(ref, mess.InProgress)
			h.after(2 * time.Second)
			s := h.is(ref, want)
			if limit == "asked" {
				h.answers(ref, "The agent watched the meter for 10m0s, and it did not happen; now: closed.")
				if confirmed(h, ref) {
					t.Error("it says yes")
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
	m := &meter{value: drivers.Reading{Quantity: "contact", Value: 1}}
	watching(t, m, watchPlan(capabilities.Watch, "until", "open", "quantity", "contact", "limit", "default"), func(h *house, ref string) {
		h.after(time.Minute)
		h.says(claude, "cancel: {re: "+ref+"}")
		h.after(time.Second)
		if s := h.is(ref, mess.Cancelled); s.Reason.Effect != mess.EffectNone {
			t.Errorf("%+v", s.Reason)
		}
	})
}

// The time of a wait continues during a downtime, and the answer mentions that downtime.
func TestWaitContinuesInNextRun(t *testing.T) {
	m := &meter{value: drivers.Reading{Quantity: "contact", Value: 1}}
	watching(t, m, watchPlan(capabilities.Watch, "until", "open", "quantity", "contact", "limit", "default"), func(h *house, ref string) {
		h.after(4 * time.Minute)
		h.stopAgent()
		h.is(ref, mess.InProgress)
		h.after(time.Minute)
		h.startAgent()
		h.after(time.Minute)
		h.is(ref, mess.InProgress)
		m.set(0)
		h.after(time.Second)
		h.is(ref, mess.Completed)
		h.answers(ref, "The meter: open, seen at", "6m0s after the watch began", "the program restarted during this watch")
	})
	m = &meter{value: drivers.Reading{Quantity: "contact", Value: 1}}
	watching(t, m, watchPlan(capabilities.Watch, "until", "open", "quantity", "contact", "limit", "asked"), func(h *house, ref string) {
		h.after(4 * time.Minute)
		h.stopAgent()
		h.after(time.Minute)
		h.startAgent()
		h.after(5*time.Minute + 5*time.Second)
		h.is(ref, mess.Completed)
		h.answers(ref, "it did not happen")
	})
}

func TestFinishedApplianceIsReported(t *testing.T) {
	m := &meter{value: drivers.Reading{Quantity: "power", Value: 500, Unit: "W"}}
	watching(t, m, watchPlan(capabilities.Await, "until", "done", "limit", "default"), func(h *house, ref string) {
		h.after(time.Minute)
		m.set(2) // it pauses
		h.after(50 * time.Second)
		m.set(700)
		h.after(time.Minute)
		h.is(ref, mess.InProgress)
		m.set(2)
		h.after(50 * time.Second)
		h.is(ref, mess.InProgress)
		h.after(15 * time.Second)
		h.is(ref, mess.Completed)
		h.answers(ref, "The meter has finished: it is at 2 W for 1m0s, and took up to 700 W.")
	})
	m = &meter{value: drivers.Reading{Quantity: "power", Value: 1, Unit: "W"}}
	watching(t, m, watchPlan(capabilities.Await, "until", "done", "limit", "default"), func(h *house, ref string) {
		h.after(65 * time.Second)
		h.is(ref, mess.Completed)
		h.answers(ref, "The meter is not at work", "the agent has not seen it work since the watch began")
	})
	m = &meter{value: drivers.Reading{Quantity: "temperature", Value: 1, Unit: "°C"}}
	watching(t, m, watchPlan(capabilities.Await, "until", "done", "limit", "default"), func(h *house, ref string) {
		h.after(time.Second)
		if s := h.is(ref, mess.Failed); !strings.Contains(s.Reason.Detail, "the agent cannot tell when it has finished: it measures no power now") {
			t.Errorf("%+v", s.Reason)
		}
	})
}

// A device may be silent for a while; after a longer silence, the wait ends.
func TestWaitEndsAfterLongSilence(t *testing.T) {
	m := &meter{value: drivers.Reading{Quantity: "contact", Value: 1}}
	p := watchPlan(capabilities.Watch, "until", "open", "quantity", "contact", "limit", "asked")
	p.For = time.Hour
	watching(t, m, p, func(h *house, ref string) {
		h.after(time.Minute)
		m.fails(errors.New("made: no answer"))
		h.after(9 * time.Minute)
		h.is(ref, mess.InProgress)
		m.fails(nil)
		h.after(10 * time.Minute)
		h.is(ref, mess.InProgress)
		m.fails(errors.New("made: no answer"))
		h.after(11 * time.Minute)
		if s := h.is(ref, mess.Failed); !strings.Contains(s.Reason.Detail, "meter cannot be watched: made: no answer") {
			t.Errorf("%+v", s.Reason)
		}
	})
}

// Frequent change events of a device do not cause readings without a pause.
func TestWaitLimitsReadings(t *testing.T) {
	m := &meter{value: drivers.Reading{Quantity: "contact", Value: 1}}
	watching(t, m, watchPlan(capabilities.Watch, "until", "open", "quantity", "contact", "limit", "asked"), func(h *house, ref string) {
		for range 1000 {
			m.bell.Ring()
			h.after(10 * time.Millisecond)
		}
		m.mu.Lock()
		looks := m.looks
		m.mu.Unlock()
		if looks > 42 {
			t.Errorf("%d looks in ten seconds", looks)
		}
		h.is(ref, mess.InProgress)
	})
}

func TestNumberOfWaitsIsLimited(t *testing.T) {
	m := &meter{value: drivers.Reading{Quantity: "contact", Value: 1}}
	p := watchPlan(capabilities.Watch, "until", "open", "quantity", "contact", "limit", "default")
	inHouseWith(t, func(h *house) {
		h.cfg.Watch.AtOnce = 2
		h.more = []device.Device{{Name: "meter", Driver: m}}
		h.words["watch"] = capabilities.Outcome{Plan: &p}
	}, func(h *house) {
		first := h.says(claude, "request: {intent: watch}")
		h.says(claude, "request: {intent: watch}")
		third := h.says(claude, "request: {intent: watch}")
		if s, _ := h.last(third); s.Code != mess.Declined || !strings.Contains(s.Reason.Detail, "the agent already watches 2 things") {
			t.Errorf("%+v %+v", s, s.Reason)
		}
		h.says(claude, "cancel: {re: "+first+"}")
		h.after(time.Second)
		h.is(h.says(claude, "request: {intent: watch}"), mess.InProgress)
		h.after(11 * time.Minute)
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
