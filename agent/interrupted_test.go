package agent_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/messkit/messkit/agent/device"
	"github.com/messkit/messkit/capabilities"
	"github.com/messkit/messkit/drivers"
	"github.com/messkit/messkit/mess"
)

// robot is a vacuum that reports whether it stands still.
type robot struct {
	*vacuum
	still bool
	blind error
}

func (r *robot) AtRest(context.Context) (bool, error) { return r.still, r.blind }

func (r *robot) Dock(ctx context.Context) error {
	r.record("dock")
	<-ctx.Done()
	return ctx.Err()
}

// An interrupted task has a clean end if the device reports that it stands still: its effect is
// known, and no person has to check before the next task.
func TestInterruptedTaskAtRestHasKnownEffect(t *testing.T) {
	for name, c := range map[string]struct {
		robot    robot
		intent   string
		effect   mess.Effect
		wantText string
	}{
		"at rest":                  {robot{still: true}, "clean", mess.EffectPartial, "stopped midway; it stands still; begun, and not finished: near sink and stove"},
		"it moves":                 {robot{}, "clean", mess.EffectUnknown, "cancelled midway; it may still be moving; begun, and not finished: near sink and stove"},
		"it does not answer":       {robot{blind: errors.New("no answer")}, "clean", mess.EffectUnknown, "cancelled midway; it may still be moving; begun, and not finished"},
		"on its way to the dock":   {robot{still: true}, "dock", mess.EffectPartial, "stopped midway; it stands still"},
		"and drives on regardless": {robot{}, "dock", mess.EffectUnknown, "cancelled midway; it may still be moving"},
	} {
		t.Run(name, func(t *testing.T) {
			var doubts []string
			r := c.robot
			r.vacuum = newVacuum()
			withHarnessSetup(t, func(h *harness) {
				h.more = []device.Device{{Name: "robot", Driver: &r}}
				h.cfg.Unknown = func(ref string, _ capabilities.Plan) { doubts = append(doubts, ref) }
				p := cleanPlan("near sink", "stove")
				p.Device = "robot"
				if c.intent == "dock" {
					p.Command, p.Args, p.Effect = capabilities.Dock, nil, capabilities.Idempotent
				}
				h.sentences["robot"] = capabilities.Outcome{Plan: &p}
			}, func(h *harness) {
				ref := h.send(requester, "request: {intent: robot}")
				h.send(person, "reply: {re: "+ref+", confirm: true}")
				h.advance(3 * time.Second)
				h.send(requester, "cancel: {re: "+ref+"}")
				s := h.wantStatus(ref, mess.Cancelled)
				if s.Reason.Effect != c.effect || !strings.HasPrefix(s.Reason.Detail, c.wantText) || strings.Contains(s.Reason.Detail, "done: nothing") {
					t.Errorf("%+v, want %s: %s", s.Reason, c.effect, c.wantText)
				}
				if clean := c.effect == mess.EffectPartial; (len(doubts) == 0) != clean || (s.Evidence == mess.ReadBack) != clean {
					t.Errorf("doubts: %v, evidence %s", doubts, s.Evidence)
				}
			})
		})
	}
}

// A robot that continues after a crash appears in its thread and in the status, with advice how
// to stop it, until its next use.
func TestRobotThatContinuesAfterCrash(t *testing.T) {
	for name, c := range map[string]struct {
		robot robot
		moves bool
	}{
		"it cleans":          {robot{}, true},
		"at rest":            {robot{still: true}, false},
		"it does not answer": {robot{blind: errors.New("no answer")}, false},
	} {
		t.Run(name, func(t *testing.T) {
			r := c.robot
			r.vacuum = newVacuum()
			withHarnessSetup(t, func(h *harness) {
				h.more = []device.Device{{Name: "robot", Label: "old robot", Driver: &steered{&r}}}
				p, end := cleanPlan("stove"), cleanPlan()
				p.Device, end.Device = "robot", "robot"
				end.Command, end.Effect, end.Risk = capabilities.Stop, capabilities.Idempotent, capabilities.RiskComfort
				h.sentences["robot"], h.sentences["end"] = capabilities.Outcome{Plan: &p}, capabilities.Outcome{Plan: &end}
			}, func(h *harness) {
				ref := h.leaveCrashState("robot", "robot", 1)
				h.startAgent()
				h.advance(15 * time.Second)
				s := h.wantStatus(ref, mess.Failed)
				const ask = `to stop it, ask "stop the old robot"`
				if strings.Contains(s.Suggestion, ask) != c.moves || !strings.HasSuffix(s.Suggestion, "look before retrying") {
					t.Errorf("suggestion is %q", s.Suggestion)
				}
				failed := func() string { return h.failureOf("robot").Reason }
				if strings.Contains(failed(), ask) != c.moves {
					t.Errorf("failure of the robot is %q", failed())
				}
				r.still, r.blind = true, nil
				h.wantStatus(h.send(person, "request: {intent: end}"), mess.Completed)
				if failed() != "" {
					t.Errorf("the robot stands still, and its failure is %q, want none", failed())
				}
			})
		})
	}
}

// steered is a robot with a stop.
type steered struct{ *robot }

func (s *steered) Stop(context.Context) (string, error) { s.record("stop"); return "", nil }
func (s *steered) Pause(context.Context) error          { return nil }
func (s *steered) Resume(context.Context) error         { return nil }

var _ drivers.RestReader = (*robot)(nil)
