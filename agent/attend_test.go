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

// rug is a simulated vacuum that gets stuck: cleaning takes 100 s, and continues on command
// once its brush is free.
type rug struct {
	part
	errand drivers.Errand
	lock   sync.Mutex
	stuck  bool // its brush is blocked
	waits  bool // it has been waiting since then
}

var (
	_ drivers.Cleaner = (*rug)(nil)
	_ drivers.Spotter = (*rug)(nil)
	_ drivers.Pauser  = (*rug)(nil)
	_ drivers.Stopper = (*rug)(nil)
)

func (r *rug) set(f func()) { r.lock.Lock(); defer r.lock.Unlock(); f() }

func (r *rug) is() (stuck, waits bool) { r.lock.Lock(); defer r.lock.Unlock(); return r.stuck, r.waits }

func (r *rug) Clean(ctx context.Context, areas []string, progress func(drivers.Progress)) (drivers.Outcome, error) {
	r.note("clean")
	return drivers.Outcome{Done: areas, Remaining: nil}, r.work(ctx, progress)
}

func (r *rug) Spot(ctx context.Context, progress func(drivers.Progress)) error {
	r.note("spot")
	return r.work(ctx, progress)
}

func (r *rug) work(ctx context.Context, progress func(drivers.Progress)) error {
	ctx, release, err := r.errand.Take(ctx, "cleaning")
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
		p := drivers.Progress{Percent: done, Doing: "cleaning"}
		if waits {
			p.Help = &drivers.HelpError{Problem: "a brush is blocked", Help: "free its brush, then ask again"}
		} else {
			done++
		}
		progress(p)
	}
	return nil
}

func (r *rug) Dock(context.Context) error  { return nil }
func (r *rug) Pause(context.Context) error { return nil }

func (r *rug) Resume(context.Context) error {
	r.note("resume")
	if stuck, _ := r.is(); stuck {
		return errors.New("rug: a brush is blocked")
	}
	r.set(func() { r.waits = false })
	return nil
}

func (r *rug) Stop(ctx context.Context) (string, error) {
	r.note("stop")
	return "", r.errand.End(ctx)
}

func (r *rug) AtRest(context.Context) (bool, error) { return true, nil }

// cleaning runs a test with a vacuum that got stuck two minutes ago.
func cleaning(t *testing.T, command capabilities.Command, story func(h *house, r *rug, ref string)) {
	t.Helper()
	r := &rug{}
	inHouseWith(t, func(h *house) {
		h.more = []device.Device{{Name: "rug", Label: "vacuum", Driver: r}}
		for word, c := range map[string]capabilities.Command{"sweep": command, "end": capabilities.Stop} {
			h.words[word] = capabilities.Outcome{Plan: &capabilities.Plan{Device: "rug", Command: c, Risk: capabilities.RiskAppliance, Effect: capabilities.Idempotent, Summary: word}}
		}
	}, func(h *house) {
		ref := h.says(claude, "request: {intent: sweep}")
		h.after(30 * time.Second)
		h.is(ref, mess.InProgress)
		r.set(func() { r.stuck = true })
		h.after(2 * time.Minute)
		q := h.is(ref, mess.NeedsInput).Questions[0]
		if q.Question != "The vacuum: a brush is blocked; free its brush. Shall it go on?" || strings.Join(q.Options, ", ") != "go on, cancel" {
			t.Errorf("%+v", q)
		}
		story(h, r, ref)
	})
}

func (r *rug) has(t *testing.T, want string) {
	t.Helper()
	if r.did() != want {
		t.Errorf("the vacuum did %q, want %q", r.did(), want)
	}
}

// A stuck vacuum continues after a person has freed it and answers so.
func TestStuckVacuumContinuesAfterHelp(t *testing.T) {
	for command, did := range map[capabilities.Command]string{capabilities.Clean: "clean", capabilities.CleanSpot: "spot"} {
		cleaning(t, command, func(h *house, r *rug, ref string) {
			h.after(10 * time.Minute)
			h.is(ref, mess.NeedsInput)
			h.says(claude, "answer: {re: "+ref+", value: go on}") // although nobody has freed it
			h.after(time.Minute)
			if q := h.is(ref, mess.NeedsInput).Questions[0]; !strings.HasPrefix(q.Question, "It does not go on: rug: a brush is blocked. The vacuum: ") {
				t.Errorf("%+v", q)
			}
			r.set(func() { r.stuck = false })
			h.after(time.Minute)
			h.is(ref, mess.NeedsInput) // it waits for the answer
			h.says(claude, "answer: {re: "+ref+", value: go on}")
			h.after(10 * time.Second)
			h.is(ref, mess.InProgress)
			h.after(3 * time.Minute)
			h.is(ref, mess.Completed)
			r.has(t, did+", resume, resume")
		})
	}
}

func TestStuckVacuumIsCancelled(t *testing.T) {
	cleaning(t, capabilities.Clean, func(h *house, r *rug, ref string) {
		h.says(claude, "answer: {re: "+ref+`, value: "the red one"}`)
		h.after(time.Minute)
		h.is(ref, mess.NeedsInput)
		h.says(claude, "answer: {re: "+ref+", value: cancel}")
		h.after(time.Minute)
		s := h.is(ref, mess.Failed)
		if s.Reason.Type != "stopped" || s.Reason.Effect != mess.EffectPartial || !strings.Contains(s.Reason.Detail, "the answer was to cancel it") {
			t.Errorf("%+v", s.Reason)
		}
		r.has(t, "clean, stop")
	})
}

// After help at the vacuum itself, no answer is needed; another request may also end the task.
func TestStuckVacuumIsFreedWithoutAnswer(t *testing.T) {
	cleaning(t, capabilities.Clean, func(h *house, r *rug, ref string) {
		r.set(func() { r.stuck, r.waits = false, false })
		h.after(10 * time.Second)
		h.is(ref, mess.InProgress)
		h.after(3 * time.Minute)
		h.is(ref, mess.Completed)
		r.has(t, "clean")
	})
	cleaning(t, capabilities.Clean, func(h *house, r *rug, ref string) {
		h.is(h.says(person, "request: {intent: end}"), mess.Completed)
		h.after(time.Second)
		if s := h.is(ref, mess.Failed); s.Reason.Type != "stopped" {
			t.Errorf("%+v", s.Reason)
		}
		r.has(t, "clean, stop")
	})
	cleaning(t, capabilities.Clean, func(h *house, r *rug, ref string) {
		h.says(claude, "cancel: {re: "+ref+"}")
		h.after(time.Second)
		h.is(ref, mess.Cancelled)
		r.has(t, "clean")
	})
}
