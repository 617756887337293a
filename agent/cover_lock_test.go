package agent_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/messkit/messkit/capabilities"
	"github.com/messkit/messkit/drivers"
	"github.com/messkit/messkit/drivers/template"
	"github.com/messkit/messkit/mess"
)

// shutter opens to a limit, and locks if it can.
type shutter struct {
	fakeDevice
	is     float64 // percent
	until  float64 // it stops there
	locked bool
	jams   bool
	hangs  bool // it moves until ctx ends, and stops at until
	blind  error
	stuck  error // why it does not move
}

func (s *shutter) Open(ctx context.Context) error { return s.to(ctx, min(100, s.until)) }

func (s *shutter) Close(ctx context.Context) error { return s.to(ctx, 0) }

func (s *shutter) to(ctx context.Context, percent float64) error {
	s.record("moves")
	if s.stuck != nil {
		return s.stuck
	}
	s.is = percent
	if s.hangs {
		<-ctx.Done()
		return ctx.Err()
	}
	return nil
}

func (s *shutter) Opening(context.Context) (float64, error) { return s.is, s.blind }

func (s *shutter) Lock(context.Context) error   { s.record("lock"); s.locked = !s.jams; return nil }
func (s *shutter) Unlock(context.Context) error { s.record("unlock"); s.locked = s.jams; return nil }

func (s *shutter) Locked(context.Context) (bool, error) { return s.locked, s.blind }

// The answer reports the position of a cover or lock, and a wrong position is a failure.
func TestCoverAndLockReportPosition(t *testing.T) {
	blind := errors.New("no answer")
	for _, c := range []struct {
		name     string
		dev      *shutter
		command  capabilities.Command
		code     mess.Code
		evidence mess.Evidence
		effect   mess.Effect
		wantText string
	}{
		{"opens", &shutter{until: 100}, capabilities.Open, mess.Completed, mess.ReadBack, "", "The it is open."},
		{"closes", &shutter{is: 30}, capabilities.Close, mess.Completed, mess.ReadBack, "", "The it is closed."},
		{"sticks", &shutter{until: 40}, capabilities.Open, mess.Failed, mess.EvidenceUnknown, mess.EffectUnknown, ""},
		{"has not moved", &shutter{is: 50, stuck: drivers.ErrNotMoved}, capabilities.Close, mess.Failed, mess.EvidenceUnknown, mess.EffectUnknown, ""},
		{"cannot report its state", &shutter{until: 100, blind: blind}, capabilities.Open, mess.Completed, mess.Acknowledged, "", "could not read it back: no answer"},
		{"locks", &shutter{}, capabilities.Lock, mess.Completed, mess.ReadBack, "", "The it is locked."},
		{"unlocks", &shutter{locked: true}, capabilities.Unlock, mess.Completed, mess.ReadBack, "", "The it is unlocked."},
		{"jams", &shutter{jams: true}, capabilities.Lock, mess.Failed, mess.EvidenceUnknown, mess.EffectUnknown, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			withHarnessSetup(t, func(h *harness) {
				h.addDevice("it", c.dev, map[string]capabilities.Plan{"do it": {Command: c.command, Effect: capabilities.Idempotent, Risk: capabilities.RiskComfort}})
			}, func(h *harness) {
				ref := h.wantResult("request: {intent: do it}", c.code, c.evidence, c.effect)
				if c.wantText != "" {
					h.wantAnswer(ref, c.wantText)
				}
			})
		})
	}
}

// A cancelled cover reports its position.
func TestCancelledCoverReportsPosition(t *testing.T) {
	withHarnessSetup(t, func(h *harness) {
		h.addDevice("it", &shutter{until: 40, hangs: true}, map[string]capabilities.Plan{"open": {Command: capabilities.Open, Effect: capabilities.Idempotent, Risk: capabilities.RiskComfort}})
	}, func(h *harness) {
		ref := h.send(requester, "request: {intent: open}")
		h.advance(time.Second)
		h.send(requester, "cancel: {re: "+ref+"}")
		h.advance(time.Minute)
		s := h.wantStatus(ref, mess.Cancelled)
		if s.Reason.Effect != mess.EffectPartial || s.Evidence != mess.ReadBack || s.Reason.Detail != "stopped midway: it stands still, and reads back as 40 % open" {
			t.Errorf("%q by %q: %s", s.Reason.Effect, s.Evidence, s.Reason.Detail)
		}
	})
}

// The words for an opening are no words for an act.
func TestOpeningIsDescribedAsState(t *testing.T) {
	for is, want := range map[float64]string{0: "The it: closed.", 30: "The it: 30 % open.", 100: "The it: open."} {
		withHarnessSetup(t, func(h *harness) {
			m := &fakeMeter{value: drivers.Reading{Quantity: "opening", Value: is, Unit: "%"}}
			h.addDevice("it", m, map[string]capabilities.Plan{"how far": {Command: capabilities.ReadState, Effect: capabilities.Query, Risk: capabilities.RiskObserve, Args: mess.Object{{Key: "quantity", Value: "opening"}}}})
		}, func(h *harness) {
			ref := h.send(requester, "request: {intent: how far}")
			h.wantStatus(ref, mess.Completed)
			h.wantAnswer(ref, want)
		})
	}
}

// lateCover moves or turns after the last reading.
type lateCover struct{ shutter }

func (l *lateCover) Open(context.Context) error {
	return errors.New("no answer, though it may have heard")
}

func (l *lateCover) Unlock(context.Context) error {
	return errors.New("no answer, though it may have heard")
}

// slowCover keeps moving after the end of its task.
type slowCover struct{ shutter }

func (s *slowCover) Opening(context.Context) (float64, error) { s.is++; return s.is, nil }

// A cover that may still open does not count as standing still: its effect is not partial, and
// a person has to check.
func TestCoverThatMayOpenIsUnknown(t *testing.T) {
	for name, c := range map[string]struct {
		dev     drivers.Device
		command capabilities.Command
	}{
		"a door that has not set out": {&lateCover{}, capabilities.Open},
		"a lock":                      {&lateCover{shutter{locked: true}}, capabilities.Unlock},
		"a door on its way":           {&slowCover{shutter{until: 40, hangs: true}}, capabilities.Open},
	} {
		t.Run(name, func(t *testing.T) {
			withHarnessSetup(t, func(h *harness) {
				h.addDevice("it", c.dev, map[string]capabilities.Plan{"do it": {Command: c.command, Effect: capabilities.Idempotent, Risk: capabilities.RiskComfort}})
			}, func(h *harness) {
				ref := h.send(requester, "request: {intent: do it}")
				h.advance(time.Second)
				if _, hangs := c.dev.(*slowCover); hangs {
					h.send(requester, "cancel: {re: "+ref+"}")
				}
				h.advance(time.Minute)
				s, _ := h.last(ref)
				if s.Reason == nil || s.Reason.Effect != mess.EffectUnknown || s.Evidence == mess.ReadBack {
					t.Errorf("%+v %+v", s, s.Reason)
				}
			})
		})
	}
}

// A cover that a stop halts on its way reports that it stands still: the effect is known to be
// partial. A cover that ignores the stop may be anywhere.
func TestStopMidwayOfCover(t *testing.T) {
	for name, c := range map[string]struct {
		wild     bool
		effect   mess.Effect
		evidence mess.Evidence
		wantText string
	}{
		"is at rest":           {false, mess.EffectPartial, mess.ReadBack, "it stands still"},
		"ignores each command": {true, mess.EffectUnknown, mess.EvidenceUnknown, "it may still be moving"},
	} {
		t.Run(name, func(t *testing.T) {
			withHarnessSetup(t, func(h *harness) {
				var mu sync.Mutex // a halt runs concurrently with the call that it ends
				var p template.CoverPosition
				travel := template.Movement{
					Go: func(context.Context) error {
						mu.Lock()
						defer mu.Unlock()
						p.Known, p.Moving = true, true
						return nil
					},
					Look: func(context.Context) (template.CoverPosition, error) {
						mu.Lock()
						defer mu.Unlock()
						if p.Moving {
							p.Percent++
						}
						return p, nil
					},
					Stop: func(context.Context) error {
						mu.Lock()
						defer mu.Unlock()
						p.Moving = c.wild
						return nil
					},
					To: 100, Limit: time.Hour, Every: time.Second, Timeout: 4 * time.Second,
				}
				d := template.New("it", "garage-door", template.DefaultSettings().SwitchLevels, 20*time.Second, drivers.NewConnection("test"), template.Verbs{
					Cover: template.NewCover(travel, travel, nil),
					Read:  func(context.Context) ([]drivers.Reading, error) { return nil, nil },
				})
				h.addDevice("it", d, map[string]capabilities.Plan{"open": {Command: capabilities.Open, Effect: capabilities.Once, Risk: capabilities.RiskComfort}})
			}, func(h *harness) {
				ref := h.send(requester, "request: {intent: open}")
				h.advance(5 * time.Second)
				h.wantStatus(ref, mess.InProgress)
				h.postStop(requester)
				h.advance(time.Minute)
				s := h.wantStatus(ref, mess.Failed)
				if s.Reason.Effect != c.effect || s.Evidence != c.evidence || !strings.Contains(s.Reason.Detail, c.wantText) {
					t.Errorf("%q by %q: %s; want %q by %q: %s", s.Reason.Effect, s.Evidence, s.Reason.Detail, c.effect, c.evidence, c.wantText)
				}
				if _, r := h.last(ref); !c.wild && r.Notes != "" {
					t.Errorf("noted: %s", r.Notes)
				}
			})
		})
	}
}
