package agent_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/messkit/messkit/agent/device"
	"github.com/messkit/messkit/agent/policy/settings"
	"github.com/messkit/messkit/capabilities"
	"github.com/messkit/messkit/drivers"
	"github.com/messkit/messkit/exchange"
	"github.com/messkit/messkit/mess"
)

// A confirmation request times out, and then nothing happens.
func TestConfirmationTimesOut(t *testing.T) {
	withHarness(t, func(h *harness) {
		ref := h.send(requester, "request: {intent: vacuum both}")
		s := h.wantStatus(ref, mess.NeedsConfirmation)
		if within, _ := s.Extra.Get("confirm_within"); within != "PT5M" {
			h.t.Errorf("is asked within %v", within)
		}
		h.advance(5*time.Minute - time.Second)
		h.wantStatus(ref, mess.NeedsConfirmation)
		h.advance(2 * time.Second)
		s = h.wantStatus(ref, mess.Failed)
		if s.Reason.Type != "not_confirmed" || s.Reason.Effect != mess.EffectNone || s.Reason.Detail != "no person has confirmed it within 5m0s, so the agent did nothing; ask again if you still want it" {
			h.t.Errorf("%+v", s.Reason)
		}
		if _, err := h.post(person, "reply: {re: "+ref+", confirm: true}"); err == nil {
			h.t.Error("the exchange accepted a confirmation after the end, want an error")
		}
		h.advance(time.Hour)
		if h.vacuum.acts() != "" {
			h.t.Errorf("the vacuum did: %s", h.vacuum.acts())
		}
	})
}

// An answer that is not an authorized confirmation of this plan does not count.
func TestInvalidConfirmationIsIgnored(t *testing.T) {
	for _, reply := range []string{
		"reply: {re: {ref}, confirm: 'yes'}", "reply: {re: {ref}, confirm: 1}", "reply: {re: {ref}, confirm: yes}", "reply: {re: last, confirm: true}",
		"reply: {re: {ref}, confirm: true, action_hash: abc}", "reply: {re: {ref}/question-001, confirm: true}", "reply: {re: {ref}, answers: {confirm: true}}",
		"answer: {re: {ref}, value: 'true'}", "answer: {re: {ref}, value: 1}", "reply: {re: {ref}, accept: true}",
	} {
		withHarness(t, func(h *harness) {
			ref := h.send(requester, "request: {intent: vacuum both, confirm_before: true}")
			h.wantStatus(ref, mess.NeedsConfirmation)
			m, err := mess.Parse([]byte(strings.ReplaceAll(reply, "{ref}", ref)))
			if err == nil {
				_, _ = h.x.Post(h.t.Context(), exchange.Inbound{Actor: person, Channel: "test", Message: m}) // accepted or not, it is no confirmation
			}
			h.advance(10 * time.Minute)
			if h.vacuum.acts() != "" {
				h.t.Errorf("%s: the vacuum did: %s", reply, h.vacuum.acts())
			}
			h.wantStatus(ref, mess.Failed)
		})
	}
}

// slowSensor is a sensor at whose reading the whole process may stand still.
type slowSensor struct {
	fakeDevice
	mu    sync.Mutex
	reads int
	stop  map[int]time.Duration // how long, by the number of the reading
}

func (p *slowSensor) Read(context.Context) ([]drivers.Reading, error) {
	p.mu.Lock()
	p.reads++
	pause := p.stop[p.reads]
	p.mu.Unlock()
	time.Sleep(pause) // fake time
	return []drivers.Reading{{Quantity: "contact", Value: 1, At: time.Now()}}, nil
}

// A process that stood still between the start permission and the act asks again.
func TestLatePermissionIsRequestedAgain(t *testing.T) {
	for _, cancelled := range []bool{false, true} {
		door := &slowSensor{stop: map[int]time.Duration{4: time.Minute}} // after two checks of the plan and one at the start of the pass
		set := func(h *harness) {
			h.policyCfg.Devices = map[string]settings.Limits{
				"porch-lamp": {Requires: []settings.Condition{{Device: "door", Is: "closed"}}}, "door": {Timeout: time.Hour, StopWithin: time.Hour},
			}
			h.more = []device.Device{{Name: "door", Driver: door}}
		}
		withHarnessSetup(t, set, func(h *harness) {
			ref := h.send(requester, "request: {intent: ring the bell}")
			h.wantStatus(ref, mess.InProgress)
			if cancelled {
				h.connection.set(func(l *connection) { l.dropIncoming = true }) // only the next request reaches it
				h.send(requester, "cancel: {re: "+ref+"}")
			}
			h.advance(2 * time.Minute)
			want := map[bool]string{false: "on", true: ""}[cancelled]
			if h.lamp.acts() != want {
				h.t.Errorf("cancelled %v: the lamp did %q, want %q", cancelled, h.lamp.acts(), want)
			}
			if n := strings.Count(h.statuses(ref), "in_progress"); !cancelled && n != 2 {
				h.t.Errorf("the exchange was asked %d times, want twice: %s", n, h.statuses(ref))
			}
		})
	}
}

// A sensor that appears later starts at its first use.
func TestLateSensorStartsAtFirstUse(t *testing.T) {
	door := &lamp{unplug: true}
	withHarnessSetup(t, func(h *harness) {
		h.policyCfg.Devices = map[string]settings.Limits{"porch-lamp": {Requires: []settings.Condition{{Device: "door", Is: "off"}}}}
		h.more = []device.Device{{Name: "door", Driver: door}}
	}, func(h *harness) {
		door.set(func(l *lamp) { l.unplug = false })
		h.wantStatus(h.send(requester, "request: {intent: turn on the porch light}"), mess.Completed)
		if door.started != 1 {
			h.t.Errorf("started %d times", door.started)
		}
	})
}

// The safety policy knows the requester, and the agent reports an unknown result to it.
func TestPolicyGetsRequesterAndResult(t *testing.T) {
	var doubts []string
	withHarnessSetup(t, func(h *harness) {
		h.policyCfg.MaxActs.Requester = settings.Rate{N: 1, Per: time.Hour}
		h.cfg.Unknown = func(ref string, plan capabilities.Plan) {
			doubts = append(doubts, fmt.Sprintf("%s %s", plan.Device, plan.Risk))
		}
	}, func(h *harness) {
		h.wantStatus(h.send(requester, "request: {intent: turn on the porch light}"), mess.Completed)
		s := h.wantStatus(h.send(requester, "request: {intent: ring the bell}"), mess.Declined)
		if !strings.Contains(s.Reason.Detail, `"claude-agent" may act 1/h at most`) {
			h.t.Errorf("%+v", s.Reason)
		}
		h.wantStatus(h.send(requester, "request: {intent: turn off the porch light}"), mess.Completed)
		ref := h.send(person, "request: {intent: vacuum both}")
		h.vacuum.broken = errors.New("it has lost its way")
		h.send(person, "reply: {re: "+ref+", confirm: true}")
		synctest.Wait()
		if s := h.wantStatus(ref, mess.Failed); s.Reason.Effect != mess.EffectUnknown {
			h.t.Errorf("%+v", s.Reason)
		}
		if want := []string{"vacuum motion"}; !slices.Equal(doubts, want) {
			h.t.Errorf("doubts: %v, want %v", doubts, want)
		}
	})
}

// byAgent names what switches off a device without a timer and a watchdog.
const byAgent = "by this agent; if the agent stops, nothing does until it runs again"

// The confirmation request says that the device goes off again, and by which means.
func TestQuestionStatesSwitchOff(t *testing.T) {
	for want, c := range map[string]struct {
		maxOn, lasts time.Duration
		words        string
	}{
		"":                     {},
		"the light will be on": {words: "the light will be on"},
		"it is switched off again within 1h0m0s, " + byAgent:                      {maxOn: time.Hour},
		"the light will be on; it is switched off again within 10m0s, " + byAgent: {maxOn: time.Hour, lasts: 10 * time.Minute, words: "the light will be on"},
	} {
		withHarnessSetup(t, func(h *harness) {
			h.policyCfg.Devices = map[string]settings.Limits{"porch-lamp": {MaxOn: c.maxOn}}
			p := *h.sentences["turn on the porch light"].Plan
			p.For, p.Consequences = c.lasts, c.words
			h.sentences["turn on the porch light"] = capabilities.Outcome{Plan: &p}
		}, func(h *harness) {
			ref := h.send(requester, "request: {intent: turn on the porch light, confirm_before: true}")
			if s := h.wantStatus(ref, mess.NeedsConfirmation); s.Consequences != want {
				h.t.Errorf("a person reads %q, want %q", s.Consequences, want)
			}
		})
	}
}

// The confirmation request has the action and the consequences as phrases for a page to translate, and
// beside them what switches the device off again. Words that the phrases do not say have none.
func TestQuestionHasPhrases(t *testing.T) {
	for words, want := range map[string][2]string{
		"the porch light will be on":          {`[{"code":"switch-on","device":"porch light","for":600}]`, `[{"device":"porch light","in":600,"by":"agent_runs"}]`},
		"the porch light will be on, and hot": {"null", "null"},
	} {
		withHarnessSetup(t, func(h *harness) {
			h.policyCfg.Devices = map[string]settings.Limits{"porch-lamp": {MaxOn: time.Hour}}
			p := *h.sentences["turn on the porch light"].Plan
			p.Capability, p.Summary, p.Consequences, p.For = "switch-on", "turn on the porch light for 10 minutes", words, 10*time.Minute
			h.sentences["turn on the porch light"] = capabilities.Outcome{Plan: &p}
		}, func(h *harness) {
			s := h.wantStatus(h.send(requester, "request: {intent: turn on the porch light, confirm_before: true}"), mess.NeedsConfirmation)
			phrases, _ := s.Extra.Get("phrases")
			offs, _ := s.Extra.Get("switch_offs")
			got, err := json.Marshal(phrases)
			also, err2 := json.Marshal(offs)
			if err != nil || err2 != nil || string(got) != want[0] || string(also) != want[1] {
				h.t.Errorf("with %q the phrases are %s and %s, want %v", words, got, also, want)
			}
		})
	}
}
