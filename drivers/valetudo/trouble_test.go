package valetudo_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/messkit/messkit/drivers"
)

func TestTroubleIsForAPerson(t *testing.T) {
	defer later.Store(0)
	h := newHouse(t)
	v := started(t, h)
	stuck := map[string]any{"severity": map[string]string{"kind": "permanent", "level": "error"}, "subsystem": "motors", "message": "Main brush jammed", "vendorErrorCode": "5"}
	told := 0
	_, err := v.Clean(t.Context(), nil, func(p drivers.Progress) {
		if told++; told == 2 {
			h.robot().set(func(r *robot) { r.status, r.problem = "error", stuck })
		}
		if p.Help != nil { // nobody comes
			later.Add(int64(drivers.HelpTime))
		}
	})
	help, ok := errors.AsType[*drivers.HelpError](err)
	if !ok || errors.Is(err, drivers.ErrNothingDone) || !strings.Contains(help.Problem, "Main brush jammed") || !strings.Contains(help.Help, "free its wheels and brushes") {
		t.Fatal(err)
	}
	before := len(h.robot().log())
	_, err = v.Clean(t.Context(), nil, nil)
	if !errors.Is(err, drivers.ErrNothingDone) || len(h.robot().log()) != before || !strings.HasPrefix(err.Error(), "vacuum: ") {
		t.Errorf("%v, %q", err, h.robot().log())
	}
	seen, err := v.Observe(t.Context())
	if err != nil || !strings.Contains(seen.Text, "Main brush jammed; free its wheels") {
		t.Errorf("%+v, %v", seen, err)
	}
}

// A person frees it, and it goes on with the same rooms when it is told to: that it
// stands in its dock meanwhile is not the end of its task.
func TestGoesOnAfterTrouble(t *testing.T) {
	h := newHouse(t)
	v := started(t, h)
	told, helps := 0, 0
	resumed := make(chan error, 1)
	out, err := v.Clean(t.Context(), []string{"kitchen"}, func(p drivers.Progress) {
		if told++; told == 2 {
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
	if err := v.Resume(t.Context()); !errors.Is(err, drivers.ErrNothingDone) { // the task is over
		t.Error(err)
	}
}

// What somebody else has started is neither taken over nor stopped by a request.
func TestBusyForSomebodyElse(t *testing.T) {
	h := newHouse(t)
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

// A robot under a bed is out of reach for a while, and is not given up; one that
// charges in between goes on by itself; one that never sets out is told.
func TestPatience(t *testing.T) {
	h := newHouse(t)
	v := started(t, h)
	told := 0
	_, err := v.Clean(t.Context(), nil, func(p drivers.Progress) {
		switch told++; told {
		case 2:
			h.robot().set(func(r *robot) { r.failures, r.status, r.flag = 5, "docked", "resumable" })
		case 3:
			if !strings.Contains(p.Doing, "charging before it goes on") {
				t.Errorf("%+v", p)
			}
			h.robot().set(func(r *robot) { r.status, r.flag = "cleaning", "none" })
		}
	})
	if err != nil || told < 4 {
		t.Errorf("%v, told %d times", err, told)
	}
	h.robot().set(func(r *robot) { r.steps = 100000 })
	told = 0
	_, err = v.Clean(t.Context(), nil, func(drivers.Progress) {
		if told++; told == 2 {
			h.robot().set(func(r *robot) { r.failures = 30 })
		}
	})
	if err == nil || errors.Is(err, drivers.ErrNothingDone) || !strings.Contains(err.Error(), "it has not answered 30 times, and may still be at it") {
		t.Error(err)
	}
	if h.robot().moves() {
		t.Error("it was left alone while it moves")
	}
}

// One that was out of reach while it cleaned, and stands in the room since, as after a
// restart of its own, has not done.
func TestLostSight(t *testing.T) {
	h := newHouse(t)
	v := started(t, h)
	h.robot().set(func(r *robot) { r.steps = 100000 })
	told := 0
	out, err := v.Clean(t.Context(), []string{"kitchen"}, func(drivers.Progress) {
		if told++; told == 2 {
			h.robot().set(func(r *robot) { r.failures, r.status, r.flag = 3, "idle", "none" })
		}
	})
	if !errors.Is(err, drivers.ErrLostSight) || !slices.Equal(out.Remaining, []string{"kitchen"}) {
		t.Errorf("%+v, %v", out, err)
	}
}

// A robot that cannot be told to stop or to come home is at it still, and is followed:
// when it is heard again its task ends as it does.
func TestOneThatCannotBeStoppedIsFollowed(t *testing.T) {
	h := newHouse(t)
	v := started(t, h)
	ended, out := h.cleaning(t, v)
	h.robot().set(func(r *robot) { r.gone = true })
	if _, err := v.Stop(t.Context()); err == nil {
		t.Error("one that answers nobody is said to have stopped")
	}
	if err := v.Dock(t.Context()); !errors.Is(err, drivers.ErrNothingDone) {
		t.Errorf("docked: %v", err)
	}
	select {
	case err := <-ended:
		t.Fatalf("its task is not followed any more: %v", err)
	default:
	}
	h.robot().set(func(r *robot) { r.gone = false })
	for len(out) > 0 {
		<-out
	}
	<-out // it was seen again
	h.robot().set(func(r *robot) { r.left = 1 })
	if err := <-ended; err != nil {
		t.Errorf("it did its task, and that ended with %v", err)
	}
}

// One that has heard, or not, and could not be stopped, may set out yet: that it stands
// says nothing.
func TestOneThatMayYetSetOutIsNotAtRest(t *testing.T) {
	h := newHouse(t)
	v := started(t, h)
	h.robot().set(func(r *robot) { r.cut = true })
	if _, err := v.Clean(t.Context(), nil, nil); err == nil || errors.Is(err, drivers.ErrNothingDone) {
		t.Errorf("%v", err)
	}
	if still, err := v.AtRest(t.Context()); still || err == nil || !strings.Contains(err.Error(), "may set out yet") {
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
