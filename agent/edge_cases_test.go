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
	"github.com/messkit/messkit/agent/policy/settings"
	"github.com/messkit/messkit/capabilities"
	"github.com/messkit/messkit/drivers"
	"github.com/messkit/messkit/exchange"
	"github.com/messkit/messkit/internal/picture"
	"github.com/messkit/messkit/mess"
)

// Two agents with the same device names share the requests: each request has one executor.
func TestTwoAgentsShareRequests(t *testing.T) {
	withHarness(t, func(h *harness) {
		j, err := journal.Open(h.t.TempDir())
		if err != nil {
			t.Fatal(err)
		}
		second := &lamp{}
		cfg := agent.DefaultConfig()
		cfg.ID = "second-pi"
		x := h.x.As(exchange.Actor{ID: cfg.ID, Roles: exchange.ExecutorRole}, "test")
		a := agent.New(cfg, x, h.sentences, []device.Device{{Name: "porch-lamp", Driver: second}}, policy.New(settings.DefaultConfig(), time.Now, quiet()), j, time.Now, quiet())
		stop := runUntilStopped(h.t, a.Run)
		synctest.Wait()
		for i := range 20 {
			ref := h.send(requester, fmt.Sprintf("request: {id: r%d, intent: ring the bell}", i))
			h.wantStatus(ref, mess.Completed)
			if n := strings.Count(h.statuses(ref), "in_progress"); n != 1 {
				t.Errorf("%s: %s", ref, h.statuses(ref))
			}
		}
		if n := strings.Count(h.lamp.acts()+second.acts(), "on"); n != 20 {
			t.Errorf("20 requests were done %d times", n)
		}
		stop()
		if err := j.Close(); err != nil {
			t.Error(err)
		}
	})
}

func TestUnusableAnswerFailsThread(t *testing.T) {
	withHarnessSetup(t, func(h *harness) {
		h.policyCfg.Devices = map[string]settings.Limits{"vacuum": {Locked: true}}
	}, func(h *harness) {
		ref := h.send(requester, "request: {id: a, intent: vacuum the kitchen}")
		h.send(requester, "reply: {re: a, answers: {area: both}}")
		if s := h.wantStatus(ref, mess.Failed); s.Reason.Effect != mess.EffectNone || !strings.Contains(s.Reason.Detail, "locked") || !*s.Recoverable {
			t.Errorf("%+v", s.Reason)
		}
		ref = h.send(requester, "request: {id: b, intent: vacuum the kitchen}")
		for range 2 {
			h.send(requester, "reply: {re: b, answers: {area: the moon}}")
		}
		if s := h.wantStatus(ref, mess.Failed); s.Reason.Type != "not_understood" || s.Reason.Effect != mess.EffectNone {
			t.Errorf("%+v", s.Reason)
		}
	})
}

// A condition in addition to a yes counts.
func TestConditionOfConfirmationCounts(t *testing.T) {
	for more, want := range map[string]mess.Code{"but not before sunset": mess.Failed, "mind the cat": mess.Failed, "keep off the rug": mess.Failed, "the floor is dirty": mess.InProgress} {
		withHarness(t, func(h *harness) {
			ref := h.send(requester, "request: {id: v, intent: vacuum both}")
			h.wantStatus(ref, mess.NeedsConfirmation)
			h.send(person, "reply: {re: "+ref+", confirm: true, context: ["+more+"]}")
			if s := h.wantStatus(ref, want); want == mess.Failed && !strings.Contains(s.Reason.Detail, more) {
				t.Errorf("%+v", s.Reason)
			}
		})
	}
}

// After a cancel between the start permission and the act, nothing happens, and the status says
// so.
func TestCancelBetweenPermissionAndAct(t *testing.T) {
	withHarness(t, func(h *harness) {
		h.connection.set(func(l *connection) {
			l.after = func(m mess.Message) error {
				if hasStatus(m, mess.InProgress) {
					if _, err := h.postWithoutWait(requester, "cancel: {re: last}"); err != nil {
						t.Error(err)
					}
					time.Sleep(time.Second) // fake time: the cancel arrives first
				}
				return nil
			}
		})
		ref := h.send(requester, "request: {intent: ring the bell}")
		h.advance(2 * time.Second)
		if s := h.wantStatus(ref, mess.Cancelled); s.Reason.Effect != mess.EffectNone {
			t.Errorf("%+v", s.Reason)
		}
		if h.lamp.acts() != "" {
			t.Errorf("the lamp did: %s", h.lamp.acts())
		}
	})
}

func TestHangingDriver(t *testing.T) {
	withHarnessSetup(t, func(h *harness) {
		h.policyCfg.Devices = map[string]settings.Limits{"porch-lamp": {Timeout: 5 * time.Second, StopWithin: time.Second}}
	}, func(h *harness) {
		free := make(chan struct{})
		h.lamp.set(func(l *lamp) { l.running = func() { <-free } })
		ref := h.send(requester, "request: {intent: ring the bell}")
		h.advance(7 * time.Second)
		if s := h.wantStatus(ref, mess.Failed); s.Reason.Type != "timeout" || s.Reason.Effect != mess.EffectUnknown || !strings.HasPrefix(s.Suggestion, "look before retrying") {
			t.Errorf("%+v, suggestion %q", s.Reason, s.Suggestion)
		}
		if s := h.wantStatus(h.send(requester, "request: {intent: ring the bell}"), mess.Declined); !strings.Contains(s.Reason.Detail, "quarantine") {
			t.Errorf("%+v", s.Reason)
		}
		h.wantStatus(h.send(requester, `request: {intent: "what's in the fridge?"}`), mess.Completed)
		h.lamp.set(func(l *lamp) { l.running = nil })
		close(free)
		synctest.Wait()
		h.wantStatus(h.send(requester, "request: {intent: turn on the porch light}"), mess.Completed)
	})
}

// fakeCamera is a camera without further knowledge.
type fakeCamera struct {
	fakeDevice
	data []byte // a JPEG; nil: words that count as a PNG
}

func (e *fakeCamera) Photo(context.Context) (drivers.Photo, error) {
	if e.data != nil {
		return drivers.Photo{Data: e.data, MIME: "image/jpeg", CapturedAt: time.Now()}, nil
	}
	return drivers.Photo{Data: []byte("a picture"), MIME: "image/png", CapturedAt: time.Now()}, nil
}

// weatherStation is a sensor.
type weatherStation struct{ fakeDevice }

func (w *weatherStation) Read(context.Context) ([]drivers.Reading, error) {
	return []drivers.Reading{
		{Quantity: "temperature", Value: 4.5, Unit: "°C", At: time.Now()},
		{Quantity: "motion", Value: 1},
		{Quantity: "contact"},
	}, nil
}

// addDevice adds a device and its sentences to the harness.
func (h *harness) addDevice(name string, d drivers.Device, plans map[string]capabilities.Plan) {
	h.more = append(h.more, device.Device{Name: name, Driver: d})
	for words, p := range plans {
		p.Device = name
		h.sentences[words] = capabilities.Outcome{Plan: &p}
	}
}

func planWithQuantity(p capabilities.Plan, q string) capabilities.Plan {
	p.Args = mess.Object{{Key: "quantity", Value: q}}
	return p
}

func TestOtherVerbs(t *testing.T) {
	withHarnessSetup(t, func(h *harness) {
		query := capabilities.Plan{Effect: capabilities.Query, Risk: capabilities.RiskObserve}
		photo, observe, read := query, query, query
		photo.Command, observe.Command, read.Command = capabilities.TakePhoto, capabilities.Observe, capabilities.ReadState
		h.addDevice("eye", &fakeCamera{}, map[string]capabilities.Plan{"photo": photo, "look": observe})
		h.addDevice("weather", &weatherStation{}, map[string]capabilities.Plan{
			"weather": read, "how warm": planWithQuantity(read, "temperature"), "how loud": planWithQuantity(read, "noise"),
		})
		h.sentences["go home"] = capabilities.Outcome{Plan: &capabilities.Plan{
			Device: "vacuum", Command: capabilities.Dock, Effect: capabilities.Idempotent, Risk: capabilities.RiskComfort, Want: []string{"confirmation"},
		}}
		everywhere := cleanPlan()
		everywhere.Risk = capabilities.RiskComfort
		h.sentences["clean"] = capabilities.Outcome{Plan: &everywhere}
	}, func(h *harness) {
		for intent, want := range map[string]string{
			"clean":    "The vacuum has finished cleaning.",
			"photo":    "A picture from the eye",
			"look":     "A picture from the eye",
			"weather":  "The weather: temperature 4.5 °C, something moves, open.",
			"how warm": "The weather: temperature 4.5 °C.",
			"go home":  "The vacuum is in its dock.",
		} {
			ref := h.send(requester, "request: {intent: "+intent+"}")
			h.wantStatus(ref, mess.Completed)
			h.wantAnswer(ref, want)
			if strings.Contains(want, "picture") {
				if data, a := h.image(ref); data != "a picture" || !strings.HasSuffix(a.Name, "eye.png") {
					t.Errorf("%s: %q as %s", intent, data, a.Name)
				}
			}
		}
		s := h.wantStatus(h.send(requester, "request: {intent: how loud}"), mess.Failed)
		if want := "weather measures no noise now; it measures: temperature, motion and contact"; s.Reason.Detail != want {
			t.Errorf("%q, want %q", s.Reason.Detail, want)
		}
	})
}

func TestImageThatCannotFit(t *testing.T) {
	withHarnessSetup(t, func(h *harness) {
		h.cfg.Fit = func(context.Context, []byte, picture.Limits) (picture.Picture, error) {
			return picture.Picture{}, errors.New("no picture fits in 3 bytes")
		}
		h.addDevice("eye", &fakeCamera{}, map[string]capabilities.Plan{"photo": {Command: capabilities.TakePhoto, Effect: capabilities.Query}})
	}, func(h *harness) {
		ref := h.send(requester, "request: {intent: photo, response_hint: [{image: {max_bytes: 3}}]}")
		if s := h.wantStatus(ref, mess.Failed); s.Reason.Effect != mess.EffectNone || !strings.Contains(s.Reason.Detail, "no picture fits in 3 bytes") {
			t.Errorf("%+v", s.Reason)
		}
		ref = h.send(requester, `request: {intent: "what's in the fridge?"}`)
		h.wantStatus(ref, mess.Completed) // the words are an answer, too
		h.wantAnswer(ref, "There is milk", "no picture fits")
	})
}

func TestProgressReportsAreLimited(t *testing.T) {
	withHarnessSetup(t, func(h *harness) { h.vacuum.each = 30 * time.Minute; h.vacuum.steps = 1800 }, func(h *harness) {
		ref := h.startCleaning()
		h.advance(61 * time.Minute)
		h.wantStatus(ref, mess.Completed)
		if n := strings.Count(h.statuses(ref), "in_progress"); n < 50 || n > 200 {
			t.Errorf("%d reports of progress in an hour", n)
		}
	})
}

// With more requests than places, the agent carries out all of them, once each.
func TestManyRequestsRunOnceEach(t *testing.T) {
	withHarnessSetup(t, func(h *harness) { h.cfg.MaxThreads = 4 }, func(h *harness) {
		h.lamp.set(func(l *lamp) { l.takes = time.Second })
		var refs []string
		for i := range 50 {
			ref, err := h.postWithoutWait(requester, fmt.Sprintf("request: {id: r%d, intent: ring the bell}", i))
			if err != nil {
				t.Fatal(err)
			}
			refs = append(refs, ref)
		}
		h.advance(time.Minute)
		for _, ref := range refs {
			h.wantStatus(ref, mess.Completed)
		}
		if n := strings.Count(h.lamp.acts(), "on"); n != 50 {
			t.Errorf("50 requests were done %d times", n)
		}
	})
}

// A driver that ignores its context does not keep the program from ending, and the report says
// that the effect is unknown.
func TestShutdownDespiteHangingDriver(t *testing.T) {
	withHarness(t, func(h *harness) {
		free := make(chan struct{})
		h.lamp.set(func(l *lamp) { l.running = func() { <-free } })
		ref := h.send(requester, "request: {intent: ring the bell}")
		began := time.Now()
		h.stopAgent()
		if took := time.Since(began); took > 20*time.Second {
			t.Errorf("the shutdown took %v, want 20s at most", took)
		}
		if s := h.wantStatus(ref, mess.Failed); s.Reason.Type != "interrupted" || s.Reason.Effect != mess.EffectUnknown {
			t.Errorf("%+v", s.Reason)
		}
		close(free)
		synctest.Wait()
	})
}

func TestShutdownWithoutExchange(t *testing.T) {
	withHarness(t, func(h *harness) {
		h.stopAgent()
		h.connection.setCut(true)
		h.startAgent()
		h.advance(time.Hour)
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
