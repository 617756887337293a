package agent_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/messkit/messkit/agent/device"
	"github.com/messkit/messkit/agent/policy/settings"
	"github.com/messkit/messkit/capabilities"
	"github.com/messkit/messkit/drivers"
	"github.com/messkit/messkit/mess"
)

// dimmableLamp is a lamp with a level, a color and a dock, all with readback.
type dimmableLamp struct {
	lamp
	level  float64
	color  drivers.Color
	docked bool
}

func (b *dimmableLamp) Dim(context.Context, float64) error            { return nil }
func (b *dimmableLamp) Level(context.Context) (float64, error)        { return b.level, nil }
func (b *dimmableLamp) SetColor(context.Context, drivers.Color) error { return nil }
func (b *dimmableLamp) Color(context.Context) (drivers.Color, error)  { return b.color, nil }
func (b *dimmableLamp) Dock(context.Context) error                    { return nil }
func (b *dimmableLamp) Docked(context.Context) (bool, error)          { return b.docked, nil }
func (b *dimmableLamp) Clean(context.Context, []string, func(drivers.Progress)) (drivers.Outcome, error) {
	return drivers.Outcome{}, nil
}

// A light that ends one percent beside the commanded level has failed to dim.
func TestWrongLevelIsFailure(t *testing.T) {
	withHarnessSetup(t, func(h *harness) {
		h.more = []device.Device{{Name: "bulb", Driver: &dimmableLamp{lamp: lamp{on: true}, level: 39}}}
		h.sentences["do it"] = capabilities.Outcome{Plan: &capabilities.Plan{
			Capability: "x", Device: "bulb", Command: capabilities.Dim, Args: mess.Object{{Key: "level", Value: 40.0}},
			Risk: capabilities.RiskComfort, Effect: capabilities.Idempotent, Summary: "do it",
		}}
	}, func(h *harness) {
		ref := h.send(requester, "request: {intent: do it}")
		h.advance(time.Minute)
		if s := h.wantStatus(ref, mess.Failed); s.Reason == nil || !strings.Contains(s.Reason.Detail, "39 %") {
			t.Errorf("reason is %+v, want the state readback of 39 %%", s.Reason)
		}
	})
}

// After a crash, the agent reads back an act that must not repeat, if the device can report it.
func TestReadbackAfterCrash(t *testing.T) {
	red := drivers.Color{R: 255}
	for name, c := range map[string]struct {
		command  capabilities.Command
		args     mess.Object
		is       *dimmableLamp
		code     mess.Code
		wantText string
	}{
		"dimmed":             {capabilities.Dim, mess.Object{{Key: "level", Value: 40.0}}, &dimmableLamp{level: 40.4}, mess.Completed, "reads back as 40.4 %"},
		"dimmed otherwise":   {capabilities.Dim, mess.Object{{Key: "level", Value: 40.0}}, &dimmableLamp{level: 80}, mess.Failed, "now reads back as 80 %"},
		"dimmed nearly":      {capabilities.Dim, mess.Object{{Key: "level", Value: 40.0}}, &dimmableLamp{level: 39}, mess.Failed, "now reads back as 39 %"},
		"so much brighter":   {capabilities.Dim, mess.Object{{Key: "change", Value: 10.0}}, &dimmableLamp{level: 80}, mess.Failed, "bulb is off now, which does not show whether the command took effect"},
		"tinted":             {capabilities.SetColor, mess.Object{{Key: "colour", Value: "#ff0000"}}, &dimmableLamp{color: red}, mess.Completed, "reads back as #ff0000"},
		"tinted otherwise":   {capabilities.SetColor, mess.Object{{Key: "colour", Value: "#00ff00"}}, &dimmableLamp{color: red}, mess.Failed, "now reads back as #ff0000"},
		"docked":             {capabilities.Dock, nil, &dimmableLamp{docked: true}, mess.Completed, "reads back as in its dock"},
		"away from its dock": {capabilities.Dock, nil, &dimmableLamp{}, mess.Failed, "now reads back as away from its dock"},
		"moved":              {capabilities.Move, mess.Object{{Key: "forward", Value: 0.2}}, &dimmableLamp{}, mess.Failed, "bulb is off now, which does not show whether the command took effect"},
	} {
		t.Run(name, func(t *testing.T) {
			withHarnessSetup(t, func(h *harness) {
				h.more = []device.Device{{Name: "bulb", Driver: c.is}}
				h.sentences["do it"] = capabilities.Outcome{Plan: &capabilities.Plan{
					Capability: "x", Device: "bulb", Command: c.command, Args: c.args, Risk: capabilities.RiskComfort, Effect: capabilities.Once, Summary: "do it",
				}}
			}, func(h *harness) {
				ref := h.leaveCrashState("do it", "do it", 1)
				h.startAgent()
				h.advance(15 * time.Second)
				s := h.wantStatus(ref, c.code)
				answer := s.Message
				if s.Reason != nil {
					answer = s.Reason.Detail
				}
				if !strings.Contains(answer, c.wantText) {
					h.t.Errorf("answer is %q, want %q in it", answer, c.wantText)
				}
			})
		})
	}
}

// After a crash, the agent reads back a repeatable plan that the policy now rejects: a door can
// still report its position.
func TestRejectedPlanIsReadBackAfterCrash(t *testing.T) {
	for name, c := range map[string]struct {
		is       float64
		code     mess.Code
		wantText []string
	}{
		"open":  {100, mess.Completed, []string{"it reads back as open"}},
		"stuck": {40, mess.Failed, []string{"it now reads back as 40 % open", "the agent does not begin it again: it: locked: the configuration locks it out"}},
	} {
		t.Run(name, func(t *testing.T) {
			withHarnessSetup(t, func(h *harness) {
				h.addDevice("it", &shutter{is: c.is}, map[string]capabilities.Plan{"open it": {Command: capabilities.Open, Effect: capabilities.Idempotent, Risk: capabilities.RiskComfort}})
			}, func(h *harness) {
				ref := h.leaveCrashState("open it", "open it", 1)
				h.policyCfg.Devices = map[string]settings.Limits{"it": {Locked: true}}
				h.startAgent()
				h.advance(15 * time.Second)
				s := h.wantStatus(ref, c.code)
				answer := s.Message
				if s.Reason != nil {
					answer = s.Reason.Detail
				}
				for _, w := range c.wantText {
					if !strings.Contains(answer, w) {
						h.t.Errorf("answer is %q, want %q in it", answer, w)
					}
				}
			})
		})
	}
}
