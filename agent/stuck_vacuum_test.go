package agent_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/messkit/messkit/agent/device"
	"github.com/messkit/messkit/capabilities"
	"github.com/messkit/messkit/drivers"
	"github.com/messkit/messkit/mess"
)

// stuckVacuum is a simulated vacuum that gets stuck: cleaning takes 100 s, and continues on command
// once its brush is free.
type stuckVacuum struct {
	fakeDevice
	errand drivers.ExclusiveTask
	lock   sync.Mutex
	stuck  bool // its brush is blocked
	waits  bool // it has been waiting since then
}

var (
	_ drivers.Cleaner     = (*stuckVacuum)(nil)
	_ drivers.SpotCleaner = (*stuckVacuum)(nil)
	_ drivers.Pauser      = (*stuckVacuum)(nil)
	_ drivers.Stopper     = (*stuckVacuum)(nil)
)

func (r *stuckVacuum) set(f func()) { r.lock.Lock(); defer r.lock.Unlock(); f() }

func (r *stuckVacuum) state() (stuck, waits bool) {
	r.lock.Lock()
	defer r.lock.Unlock()
	return r.stuck, r.waits
}

func (r *stuckVacuum) Clean(ctx context.Context, areas []string, progress func(drivers.Progress)) (drivers.Outcome, error) {
	r.record("clean")
	return drivers.Outcome{Done: areas, Remaining: nil}, r.work(ctx, progress)
}

func (r *stuckVacuum) CleanSpot(ctx context.Context, progress func(drivers.Progress)) error {
	r.record("spot")
	return r.work(ctx, progress)
}

func (r *stuckVacuum) work(ctx context.Context, progress func(drivers.Progress)) error {
	ctx, release, err := r.errand.Begin(ctx, "cleaning")
	if err != nil {
		return err
	}
	defer release()
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for done := 0.0; done < 100; {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-tick.C:
		}
		r.lock.Lock()
		r.waits = r.waits || r.stuck
		waits := r.waits
		r.lock.Unlock()
		p := drivers.Progress{Percent: done, Activity: "cleaning"}
		if waits {
			p.Help = &drivers.HelpError{Problem: "a brush is blocked", Help: "free its brush, then ask again"}
		} else {
			done++
		}
		progress(p)
	}
	return nil
}

func (r *stuckVacuum) Dock(context.Context) error  { return nil }
func (r *stuckVacuum) Pause(context.Context) error { return nil }

func (r *stuckVacuum) Resume(context.Context) error {
	r.record("resume")
	if stuck, _ := r.state(); stuck {
		return errors.New("rug: a brush is blocked")
	}
	r.set(func() { r.waits = false })
	return nil
}

func (r *stuckVacuum) Stop(ctx context.Context) (string, error) {
	r.record("stop")
	return "", r.errand.End(ctx)
}

func (r *stuckVacuum) AtRest(context.Context) (bool, error) { return true, nil }

// withStuckVacuum runs a test with a vacuum that got stuck two minutes ago.
func withStuckVacuum(t *testing.T, command capabilities.Command, test func(h *harness, r *stuckVacuum, ref string)) {
	t.Helper()
	r := &stuckVacuum{}
	withHarnessSetup(t, func(h *harness) {
		h.more = []device.Device{{Name: "rug", Label: "vacuum", Driver: r}}
		for word, c := range map[string]capabilities.Command{"sweep": command, "end": capabilities.Stop} {
			h.sentences[word] = capabilities.Outcome{Plan: &capabilities.Plan{Device: "rug", Command: c, Risk: capabilities.RiskAppliance, Effect: capabilities.Idempotent, Summary: word}}
		}
	}, func(h *harness) {
		ref := h.send(requester, "request: {intent: sweep}")
		h.advance(30 * time.Second)
		h.wantStatus(ref, mess.InProgress)
		r.set(func() { r.stuck = true })
		h.advance(2 * time.Minute)
		q := h.wantStatus(ref, mess.NeedsInput).Questions[0]
		if q.Question != "The vacuum: a brush is blocked; free its brush. Shall it go on?" || strings.Join(q.Options, ", ") != "go on, cancel" {
			t.Errorf("%+v", q)
		}
		test(h, r, ref)
	})
}

func (r *stuckVacuum) wantLog(t *testing.T, want string) {
	t.Helper()
	if r.acts() != want {
		t.Errorf("the vacuum did %q, want %q", r.acts(), want)
	}
}

// A stuck vacuum continues after a person has freed it and answers so.
func TestStuckVacuumContinuesAfterHelp(t *testing.T) {
	for command, did := range map[capabilities.Command]string{capabilities.Clean: "clean", capabilities.CleanSpot: "spot"} {
		withStuckVacuum(t, command, func(h *harness, r *stuckVacuum, ref string) {
			h.advance(10 * time.Minute)
			h.wantStatus(ref, mess.NeedsInput)
			h.send(requester, "answer: {re: "+ref+", value: go on}") // although nobody has freed it
			h.advance(time.Minute)
			if q := h.wantStatus(ref, mess.NeedsInput).Questions[0]; !strings.HasPrefix(q.Question, "It does not go on: rug: a brush is blocked. The vacuum: ") {
				t.Errorf("%+v", q)
			}
			r.set(func() { r.stuck = false })
			h.advance(time.Minute)
			h.wantStatus(ref, mess.NeedsInput) // it waits for the answer
			h.send(requester, "answer: {re: "+ref+", value: go on}")
			h.advance(10 * time.Second)
			h.wantStatus(ref, mess.InProgress)
			h.advance(3 * time.Minute)
			h.wantStatus(ref, mess.Completed)
			r.wantLog(t, did+", resume, resume")
		})
	}
}

func TestStuckVacuumIsCancelled(t *testing.T) {
	withStuckVacuum(t, capabilities.Clean, func(h *harness, r *stuckVacuum, ref string) {
		h.send(requester, "answer: {re: "+ref+`, value: "the red one"}`)
		h.advance(time.Minute)
		h.wantStatus(ref, mess.NeedsInput)
		h.send(requester, "answer: {re: "+ref+", value: cancel}")
		h.advance(time.Minute)
		s := h.wantStatus(ref, mess.Failed)
		if s.Reason.Type != "stopped" || s.Reason.Effect != mess.EffectPartial || !strings.Contains(s.Reason.Detail, "the answer was to cancel it") {
			t.Errorf("%+v", s.Reason)
		}
		r.wantLog(t, "clean, stop")
	})
}

// After help at the vacuum itself, no answer is needed; another request may also end the task.
func TestStuckVacuumIsFreedWithoutAnswer(t *testing.T) {
	withStuckVacuum(t, capabilities.Clean, func(h *harness, r *stuckVacuum, ref string) {
		r.set(func() { r.stuck, r.waits = false, false })
		h.advance(10 * time.Second)
		h.wantStatus(ref, mess.InProgress)
		h.advance(3 * time.Minute)
		h.wantStatus(ref, mess.Completed)
		r.wantLog(t, "clean")
	})
	withStuckVacuum(t, capabilities.Clean, func(h *harness, r *stuckVacuum, ref string) {
		h.wantStatus(h.send(person, "request: {intent: end}"), mess.Completed)
		h.advance(time.Second)
		if s := h.wantStatus(ref, mess.Failed); s.Reason.Type != "stopped" {
			t.Errorf("%+v", s.Reason)
		}
		r.wantLog(t, "clean, stop")
	})
	withStuckVacuum(t, capabilities.Clean, func(h *harness, r *stuckVacuum, ref string) {
		h.send(requester, "cancel: {re: "+ref+"}")
		h.advance(time.Second)
		h.wantStatus(ref, mess.Cancelled)
		r.wantLog(t, "clean")
	})
}
