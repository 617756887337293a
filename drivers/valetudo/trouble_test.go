package valetudo_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/messkit/messkit/drivers"
)

func TestProblemNeedsPerson(t *testing.T) {
	defer later.Store(0)
	h := newFakeServer(t)
	v := started(t, h)
	stuck := map[string]any{"severity": map[string]string{"kind": "permanent", "level": "error"}, "subsystem": "motors", "message": "Main brush jammed", "vendorErrorCode": "5"}
	reports := 0
	_, err := v.Clean(t.Context(), nil, func(p drivers.Progress) {
		if reports++; reports == 2 {
			h.robot().set(func(r *robot) { r.status, r.problem = "error", stuck })
		}
		if p.Help != nil { // no person comes
			later.Add(int64(drivers.HelpTimeout))
		}
	})
	help, ok := errors.AsType[*drivers.HelpError](err)
	if !ok || errors.Is(err, drivers.ErrNothingDone) || !strings.Contains(help.Problem, "Main brush jammed") || !strings.Contains(help.Help, "from its wheels and brushes") {
		t.Fatal(err)
	}
	before := len(h.robot().log())
	_, err = v.Clean(t.Context(), nil, nil)
	if !errors.Is(err, drivers.ErrNothingDone) || len(h.robot().log()) != before || !strings.HasPrefix(err.Error(), "vacuum: ") {
		t.Errorf("%v, %q", err, h.robot().log())
	}
	seen, err := v.Observe(t.Context())
	if err != nil || !strings.Contains(seen.Text, "Main brush jammed; remove hair") {
		t.Errorf("%+v, %v", seen, err)
	}
}

// After a person has freed the robot, Resume continues the same rooms. A stay in the dock
// in between is not the end of the task.
func TestResumeAfterProblem(t *testing.T) {
	h := newFakeServer(t)
	v := started(t, h)
	reports, helps := 0, 0
	resumed := make(chan error, 1)
	out, err := v.Clean(t.Context(), []string{"kitchen"}, func(p drivers.Progress) {
		if reports++; reports == 2 {
			h.robot().set(func(r *robot) {
				r.status, r.problem = "error", map[string]any{"message": "Stuck", "subsystem": "navigation"}
			})
		}
		if p.Help == nil {
			return
		}
		switch helps++; helps {
		case 2:
			h.robot().set(func(r *robot) { r.status = "docked" })
		case 4:
			go func() { resumed <- v.Resume(t.Context()) }()
		}
	})
	if err != nil || !slices.Equal(out.Done, []string{"kitchen"}) || helps < 4 {
		t.Errorf("%+v, %v, %d looks at a robot that waits", out, err, helps)
	}
	if err := <-resumed; err != nil {
		t.Error(err)
	}
	if log := h.robot().log(); !slices.Equal(log, []string{`start_segment_action ["16"]`, `start_segment_action ["16"]`}) {
		t.Errorf("%q", log)
	}
	if err := v.Resume(t.Context()); !errors.Is(err, drivers.ErrNothingDone) { // the task has ended
		t.Error(err)
	}
}

// A request neither takes over nor stops the task of another client.
func TestBusyWithAnotherClient(t *testing.T) {
	h := newFakeServer(t)
	v := started(t, h)
	h.robot().set(func(r *robot) { r.status, r.left = "cleaning", 1000 })
	if _, err := v.Clean(t.Context(), nil, nil); !errors.Is(err, drivers.ErrBusy) || len(h.robot().log()) != 0 {
		t.Errorf("%v, %q", err, h.robot().log())
	}
	first := make(chan error)
	go func() { first <- v.Dock(t.Context()) }()
	if err := <-first; err != nil || h.robot().log()[0] != "home" {
		t.Errorf("%v, %q", err, h.robot().log())
	}
}

// A robot under a bed is unreachable for a while, and its task continues; a robot that
// charges continues by itself; a robot that never sets out is an error.
func TestUnreachableForAWhile(t *testing.T) {
	h := newFakeServer(t)
	v := started(t, h)
	reports := 0
	_, err := v.Clean(t.Context(), nil, func(p drivers.Progress) {
		switch reports++; reports {
		case 2:
			h.robot().set(func(r *robot) { r.failures, r.status, r.flag = 5, "docked", "resumable" })
		case 3:
			if !strings.Contains(p.Activity, "charging before it continues") {
				t.Errorf("%+v", p)
			}
			h.robot().set(func(r *robot) { r.status, r.flag = "cleaning", "none" })
		}
	})
	if err != nil || reports < 4 {
		t.Errorf("%v, %d progress reports", err, reports)
	}
	h.robot().set(func(r *robot) { r.steps = 100000 })
	reports = 0
	_, err = v.Clean(t.Context(), nil, func(drivers.Progress) {
		if reports++; reports == 2 {
			h.robot().set(func(r *robot) { r.failures = 30 })
		}
	})
	if err == nil || errors.Is(err, drivers.ErrNothingDone) || !strings.Contains(err.Error(), "no answer for 30 polls, so the robot may still work") {
		t.Error(err)
	}
	if h.robot().moves() {
		t.Error("the robot moves after the error, want it stopped")
	}
}

// If a robot was unreachable while it cleaned and now stands in the room, as after a
// restart, its task has not succeeded.
func TestLostSight(t *testing.T) {
	h := newFakeServer(t)
	v := started(t, h)
	h.robot().set(func(r *robot) { r.steps = 100000 })
	reports := 0
	out, err := v.Clean(t.Context(), []string{"kitchen"}, func(drivers.Progress) {
		if reports++; reports == 2 {
			h.robot().set(func(r *robot) { r.failures, r.status, r.flag = 3, "idle", "none" })
		}
	})
	if !errors.Is(err, drivers.ErrOutcomeUnknown) || !slices.Equal(out.Remaining, []string{"kitchen"}) {
		t.Errorf("%+v, %v", out, err)
	}
}

// If a robot cannot receive a stop or dock command, the driver continues to follow its task
// to its end.
func TestStopFailsWhileUnreachable(t *testing.T) {
	h := newFakeServer(t)
	v := started(t, h)
	ended, out := h.cleaning(t, v)
	h.robot().set(func(r *robot) { r.gone = true })
	if _, err := v.Stop(t.Context()); err == nil {
		t.Error("Stop of an unreachable robot succeeds, want an error")
	}
	if err := v.Dock(t.Context()); !errors.Is(err, drivers.ErrNothingDone) {
		t.Errorf("docked: %v", err)
	}
	select {
	case err := <-ended:
		t.Fatalf("the driver does not follow the task any more: %v", err)
	default:
	}
	h.robot().set(func(r *robot) { r.gone = false })
	for len(out) > 0 {
		<-out
	}
	<-out // the driver has seen it again
	h.robot().set(func(r *robot) { r.left = 1 })
	if err := <-ended; err != nil {
		t.Errorf("error of a completed task is %v", err)
	}
}

// A robot that may have a command and did not stop may still set out, even if it stands
// still now.
func TestMaySetOutIsNotAtRest(t *testing.T) {
	h := newFakeServer(t)
	v := started(t, h)
	h.robot().set(func(r *robot) { r.cut = true })
	if _, err := v.Clean(t.Context(), nil, nil); err == nil || errors.Is(err, drivers.ErrNothingDone) {
		t.Errorf("%v", err)
	}
	if still, err := v.AtRest(t.Context()); still || err == nil || !strings.Contains(err.Error(), "may still set out") {
		t.Errorf("at rest: %t, %v", still, err)
	}
	h.robot().set(func(r *robot) { r.cut = false })
	if _, err := v.Stop(t.Context()); err != nil {
		t.Error(err)
	}
	if still, err := v.AtRest(t.Context()); !still || err != nil {
		t.Errorf("at rest: %t, %v", still, err)
	}
}
