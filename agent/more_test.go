package agent_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/messkit/messkit/agent"
	"github.com/messkit/messkit/agent/device"
	"github.com/messkit/messkit/agent/journal"
	"github.com/messkit/messkit/agent/policy"
	"github.com/messkit/messkit/capabilities"
	"github.com/messkit/messkit/drivers"
	"github.com/messkit/messkit/exchange"
	"github.com/messkit/messkit/internal/picture"
	"github.com/messkit/messkit/mess"
)

// Two agents with the same device names share the requests: each request has one executor.
func TestTwoAgentsShareRequests(t *testing.T) {
	inHouse(t, func(h *house) {
		j, err := journal.Open(h.t.TempDir())
		if err != nil {
			t.Fatal(err)
		}
		second := &lamp{}
		cfg := agent.DefaultConfig()
		cfg.ID = "second-pi"
		x := h.x.As(exchange.Actor{ID: cfg.ID, Roles: exchange.ExecutorRole}, "test")
		a := agent.New(cfg, x, h.words, []device.Device{{Name: "porch-lamp", Driver: second}}, policy.New(policy.DefaultConfig(), time.Now, quiet()), j, time.Now, quiet())
		stop := running(h.t, a.Run)
		synctest.Wait()
		for i := range 20 {
			ref := h.says(claude, fmt.Sprintf("request: {id: r%d, intent: ring the bell}", i))
			h.is(ref, mess.Completed)
			if n := strings.Count(h.codes(ref), "in_progress"); n != 1 {
				t.Errorf("%s: %s", ref, h.codes(ref))
			}
		}
		if n := strings.Count(h.lamp.did()+second.did(), "on"); n != 20 {
			t.Errorf("20 requests were done %d times", n)
		}
		stop()
		if err := j.Close(); err != nil {
			t.Error(err)
		}
	})
}

func TestUnusableAnswerFailsThread(t *testing.T) {
	inHouseWith(t, func(h *house) {
		h.gateCfg.Devices = map[string]policy.Limits{"vacuum": {Locked: true}}
	}, func(h *house) {
		ref := h.says(claude, "request: {id: a, intent: vacuum the kitchen}")
		h.says(claude, "reply: {re: a, answers: {area: both}}")
		if s := h.is(ref, mess.Failed); s.Reason.Effect != mess.EffectNone || !strings.Contains(s.Reason.Detail, "locked") || !*s.Recoverable {
			t.Errorf("%+v", s.Reason)
		}
		ref = h.says(claude, "request: {id: b, intent: vacuum the kitchen}")
		for range 2 {
			h.says(claude, "reply: {re: b, answers: {area: the moon}}")
		}
		if s := h.is(ref, mess.Failed); s.Reason.Type != "not_understood" || s.Reason.Effect != mess.EffectNone {
			t.Errorf("%+v", s.Reason)
		}
	})
}

// A condition in addition to a yes counts.
func TestConditionOfConfirmationCounts(t *testing.T) {
	for more, want := range map[string]mess.Code{"but not before sunset": mess.Failed, "mind the cat": mess.Failed, "keep off the rug": mess.Failed, "the floor is dirty": mess.InProgress} {
		inHouse(t, func(h *house) {
			ref := h.says(claude, "request: {id: v, intent: vacuum both}")
			h.is(ref, mess.NeedsConfirmation)
			h.says(person, "reply: {re: "+ref+", confirm: true, context: ["+more+"]}")
			if s := h.is(ref, want); want == mess.Failed && !strings.Contains(s.Reason.Detail, more) {
				t.Errorf("%+v", s.Reason)
			}
		})
	}
}

// After a cancel between the start permission and the act, nothing happens, and the status says
// so.
func TestCancelBetweenPermissionAndAct(t *testing.T) {
	inHouse(t, func(h *house) {
		h.line.set(func(l *line) {
			l.after = func(m mess.Message) error {
				if saysCode(m, mess.InProgress) {
					if _, err := h.post(claude, "cancel: {re: last}"); err != nil {
						t.Error(err)
					}
					time.Sleep(time.Second) // fake time: the cancel arrives first
				}
				return nil
			}
		})
		ref := h.says(claude, "request: {intent: ring the bell}")
		h.after(2 * time.Second)
		if s := h.is(ref, mess.Cancelled); s.Reason.Effect != mess.EffectNone {
			t.Errorf("%+v", s.Reason)
		}
		if h.lamp.did() != "" {
			t.Errorf("the lamp did: %s", h.lamp.did())
		}
	})
}

func TestHangingDriver(t *testing.T) {
	inHouseWith(t, func(h *house) {
		h.gateCfg.Devices = map[string]policy.Limits{"porch-lamp": {Timeout: 5 * time.Second, StopWithin: time.Second}}
	}, func(h *house) {
		free := make(chan struct{})
		h.lamp.set(func(l *lamp) { l.running = func() { <-free } })
		ref := h.says(claude, "request: {intent: ring the bell}")
		h.after(7 * time.Second)
		if s := h.is(ref, mess.Failed); s.Reason.Type != "timeout" || s.Reason.Effect != mess.EffectUnknown || !strings.HasPrefix(s.Suggestion, "look before retrying") {
			t.Errorf("%+v, suggestion %q", s.Reason, s.Suggestion)
		}
		if s := h.is(h.says(claude, "request: {intent: ring the bell}"), mess.Declined); !strings.Contains(s.Reason.Detail, "quarantine") {
			t.Errorf("%+v", s.Reason)
		}
		h.is(h.says(claude, `request: {intent: "what's in the fridge?"}`), mess.Completed)
		h.lamp.set(func(l *lamp) { l.running = nil })
		close(free)
		synctest.Wait()
		h.is(h.says(claude, "request: {intent: turn on the porch light}"), mess.Completed)
	})
}

// eye is a camera without further knowledge.
type eye struct {
	part
	data []byte // a JPEG; nil: words that count as a PNG
}

func (e *eye) Photo(context.Context) (drivers.Photo, error) {
	if e.data != nil {
		return drivers.Photo{Data: e.data, MIME: "image/jpeg", CapturedAt: time.Now()}, nil
	}
	return drivers.Photo{Data: []byte("a picture"), MIME: "image/png", CapturedAt: time.Now()}, nil
}

// weather is a sensor.
type weather struct{ part }

func (w *weather) Read(context.Context) ([]drivers.Reading, error) {
	return []drivers.Reading{
		{Quantity: "temperature", Value: 4.5, Unit: "°C", At: time.Now()},
		{Quantity: "motion", Value: 1},
		{Quantity: "contact"},
	}, nil
}

// with adds a device and its sentences to the house.
func (h *house) with(name string, d drivers.Device, plans map[string]capabilities.Plan) {
	h.more = append(h.more, device.Device{Name: name, Driver: d})
	for words, p := range plans {
		p.Device = name
		h.words[words] = capabilities.Outcome{Plan: &p}
	}
}

func withQuantity(p capabilities.Plan, q string) capabilities.Plan {
	p.Args = mess.Object{{Key: "quantity", Value: q}}
	return p
}

func TestOtherVerbs(t *testing.T) {
	inHouseWith(t, func(h *house) {
		query := capabilities.Plan{Effect: capabilities.Query, Risk: capabilities.RiskObserve}
		photo, observe, read := query, query, query
		photo.Command, observe.Command, read.Command = capabilities.TakePhoto, capabilities.Observe, capabilities.ReadState
		h.with("eye", &eye{}, map[string]capabilities.Plan{"photo": photo, "look": observe})
		h.with("weather", &weather{}, map[string]capabilities.Plan{
			"weather": read, "how warm": withQuantity(read, "temperature"), "how loud": withQuantity(read, "noise"),
		})
		h.words["go home"] = capabilities.Outcome{Plan: &capabilities.Plan{
			Device: "vacuum", Command: capabilities.Dock, Effect: capabilities.Idempotent, Risk: capabilities.RiskComfort, Want: []string{"confirmation"},
		}}
		everywhere := clean()
		everywhere.Risk = capabilities.RiskComfort
		h.words["clean"] = capabilities.Outcome{Plan: &everywhere}
	}, func(h *house) {
		for intent, want := range map[string]string{
			"clean":    "The vacuum has finished cleaning.",
			"photo":    "A picture from the eye",
			"look":     "A picture from the eye",
			"weather":  "The weather: temperature 4.5 °C, something moves, open.",
			"how warm": "The weather: temperature 4.5 °C.",
			"go home":  "The vacuum is in its dock.",
		} {
			ref := h.says(claude, "request: {intent: "+intent+"}")
			h.is(ref, mess.Completed)
			h.answers(ref, want)
			if strings.Contains(want, "picture") {
				if data, a := h.picture(ref); data != "a picture" || !strings.HasSuffix(a.Name, "eye.png") {
					t.Errorf("%s: %q as %s", intent, data, a.Name)
				}
			}
		}
		s := h.is(h.says(claude, "request: {intent: how loud}"), mess.Failed)
		if want := "weather measures no noise now; it measures: temperature, motion and contact"; s.Reason.Detail != want {
			t.Errorf("%q, want %q", s.Reason.Detail, want)
		}
	})
}

func TestImageThatCannotFit(t *testing.T) {
	inHouseWith(t, func(h *house) {
		h.cfg.Fit = func(context.Context, []byte, picture.Limits) (picture.Picture, error) {
			return picture.Picture{}, errors.New("no picture fits in 3 bytes")
		}
		h.with("eye", &eye{}, map[string]capabilities.Plan{"photo": {Command: capabilities.TakePhoto, Effect: capabilities.Query}})
	}, func(h *house) {
		ref := h.says(claude, "request: {intent: photo, response_hint: [{image: {max_bytes: 3}}]}")
		if s := h.is(ref, mess.Failed); s.Reason.Effect != mess.EffectNone || !strings.Contains(s.Reason.Detail, "no picture fits in 3 bytes") {
			t.Errorf("%+v", s.Reason)
		}
		ref = h.says(claude, `request: {intent: "what's in the fridge?"}`)
		h.is(ref, mess.Completed) // the words are an answer, too
		h.answers(ref, "There is milk", "no picture fits")
	})
}

func TestProgressReportsAreLimited(t *testing.T) {
	inHouseWith(t, func(h *house) { h.vacuum.each = 30 * time.Minute; h.vacuum.steps = 1800 }, func(h *house) {
		ref := h.cleaning()
		h.after(61 * time.Minute)
		h.is(ref, mess.Completed)
		if n := strings.Count(h.codes(ref), "in_progress"); n < 50 || n > 200 {
			t.Errorf("%d reports of progress in an hour", n)
		}
	})
}

// With more requests than places, the agent carries out all of them, once each.
func TestManyRequestsRunOnceEach(t *testing.T) {
	inHouseWith(t, func(h *house) { h.cfg.MaxThreads = 4 }, func(h *house) {
		h.lamp.set(func(l *lamp) { l.takes = time.Second })
		var refs []string
		for i := range 50 {
			ref, err := h.post(claude, fmt.Sprintf("request: {id: r%d, intent: ring the bell}", i))
			if err != nil {
				t.Fatal(err)
			}
			refs = append(refs, ref)
		}
		h.after(time.Minute)
		for _, ref := range refs {
			h.is(ref, mess.Completed)
		}
		if n := strings.Count(h.lamp.did(), "on"); n != 50 {
			t.Errorf("50 requests were done %d times", n)
		}
	})
}

// A driver that ignores its context does not keep the program from ending, and the report says
// that the effect is unknown.
func TestShutdownDespiteHangingDriver(t *testing.T) {
	inHouse(t, func(h *house) {
		free := make(chan struct{})
		h.lamp.set(func(l *lamp) { l.running = func() { <-free } })
		ref := h.says(claude, "request: {intent: ring the bell}")
		began := time.Now()
		h.stopAgent()
		if took := time.Since(began); took > 20*time.Second {
			t.Errorf("it took %v to end", took)
		}
		if s := h.is(ref, mess.Failed); s.Reason.Type != "interrupted" || s.Reason.Effect != mess.EffectUnknown {
			t.Errorf("%+v", s.Reason)
		}
		close(free)
		synctest.Wait()
	})
}

func TestShutdownWithoutExchange(t *testing.T) {
	inHouse(t, func(h *house) {
		h.stopAgent()
		h.line.cutIt(true)
		h.startAgent()
		h.after(time.Hour)
		h.stopAgent()
		if h.lamp.started != 2 || h.lamp.halted != 2 {
			t.Errorf("started %d, halted %d times, want twice each", h.lamp.started, h.lamp.halted)
		}
	})
}

func TestConfigReportsEveryError(t *testing.T) {
	if err := agent.DefaultConfig().Validate(); err != nil {
		t.Error(err)
	}
	err := agent.Config{ID: "a b", Heartbeat: time.Millisecond, MaxThreads: -1, EndTime: -1}.Validate()
	for _, want := range []string{"id:", "heartbeat:", "max_threads:", "end_time:"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v\nlacks %q", err, want)
		}
	}
}
