package sim_test

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/messkit/messkit/drivers"
	"github.com/messkit/messkit/drivers/sim"
)

// vacuum starts a vacuum with the default pace.
func vacuum(t *testing.T) (*sim.Vacuum, *sim.World) {
	t.Helper()
	w := sim.NewWorld(time.Now)
	v := sim.NewVacuum("vacuum", sim.DefaultVacuumConfig(), w)
	if err := v.Start(); err != nil {
		t.Fatal(err)
	}
	return v, w
}

func areas(t *testing.T, v *sim.Vacuum) []drivers.Area {
	t.Helper()
	list, err := v.Areas(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return list
}

func battery(t *testing.T, v *sim.Vacuum) float64 {
	t.Helper()
	readings, err := v.Read(t.Context())
	if err != nil || len(readings) != 1 || readings[0].Quantity != "battery" || readings[0].Unit != "%" {
		t.Fatalf("%+v, %v", readings, err)
	}
	return readings[0].Value
}

func floorMap(t *testing.T, v *sim.Vacuum) []byte {
	t.Helper()
	p, err := v.Map(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return p.Data
}

// After a task the dirt is gone from the floor, from the areas and from the map.
func TestVacuumCleansAreas(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		v, w := vacuum(t)
		from, before := time.Now(), floorMap(t, v)
		out, err := v.Clean(t.Context(), []string{"near sink"}, nil)
		if err != nil || !slices.Equal(out.Done, []string{"near sink"}) || len(out.Remaining) != 0 {
			t.Fatalf("%+v, %v", out, err)
		}
		if took := time.Since(from); took != 4*time.Second {
			t.Errorf("took %v", took)
		}
		want := []drivers.Area{{Name: "kitchen", Room: "kitchen"}, {Name: "by stove", Room: "kitchen", Note: "crumbs"}, {Name: "living room", Room: "living room"}}
		if diff := cmp.Diff(want, areas(t, v)); diff != "" {
			t.Errorf("areas (-want +got):\n%s", diff)
		}
		if bytes.Equal(before, floorMap(t, v)) {
			t.Error("the map has not changed")
		}
		if o, err := v.Observe(t.Context()); err != nil || o.Text != "The vacuum is standing still, in the kitchen; its battery has 98 %. To clean: crumbs by stove." {
			t.Errorf("%+v, %v", o, err)
		}
		if _, err := v.Clean(t.Context(), []string{"kitchen"}, nil); err != nil || len(w.Spills("")) != 0 {
			t.Errorf("%v, left: %v", err, w.Spills(""))
		}
	})
}

// Progress never decreases, describes the task, and has the right remaining time.
func TestVacuumProgress(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		v, _ := vacuum(t)
		from := time.Now()
		var steps []drivers.Progress
		out, err := v.Clean(t.Context(), []string{"by stove", "living room"}, func(p drivers.Progress) {
			if ends := time.Since(from) + p.TimeLeft; (ends - 16*time.Second).Abs() > time.Millisecond {
				t.Errorf("%+v after %v", p, time.Since(from))
			}
			steps = append(steps, p)
		})
		if err != nil || len(out.Done) != 2 {
			t.Fatalf("%+v, %v", out, err)
		}
		first, last := steps[0], steps[len(steps)-1]
		if diff := cmp.Diff(drivers.Progress{Percent: 0, Activity: "cleaning by stove", TimeLeft: 16 * time.Second}, first); diff != "" {
			t.Error(diff)
		}
		if diff := cmp.Diff(drivers.Progress{Percent: 100, Activity: "cleaning living room"}, last); diff != "" {
			t.Error(diff)
		}
	})
}

// A stop during a task reports the real progress, and a second task at the same time is an
// error.
func TestVacuumStopsDuringTask(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		v, w := vacuum(t)
		ctx, cancel := context.WithTimeout(t.Context(), 6*time.Second)
		defer cancel()
		time.AfterFunc(time.Second, func() {
			_, err := v.Clean(t.Context(), nil, nil)
			if !errors.Is(err, drivers.ErrBusy) || !strings.Contains(err.Error(), "cleaning near sink, by stove") {
				t.Errorf("a second task: %v", err)
			}
		})
		out, err := v.Clean(ctx, []string{"near sink", "by stove"}, nil)
		if !errors.Is(err, context.DeadlineExceeded) || !slices.Equal(out.Done, []string{"near sink"}) || !slices.Equal(out.Remaining, []string{"by stove"}) {
			t.Errorf("%+v, %v", out, err)
		}
		events := len(w.Log())
		before, err := v.Observe(t.Context())
		if err != nil || !strings.Contains(before.Text, "standing still, in the kitchen") {
			t.Errorf("%+v, %v", before, err)
		}
		<-time.After(time.Minute)
		if w.Moving() || len(w.Log()) != events {
			t.Errorf("the vacuum moves after the stop: %+v", w.Log())
		}
		log := w.Log()
		if last := log[len(log)-1]; last.What != "stands still" {
			t.Errorf("last: %+v", last)
		}
	})
}

func TestVacuumDocksAndCharges(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		v, w := vacuum(t)
		if err := v.Dock(t.Context()); err != nil || len(w.Log()) != 0 {
			t.Errorf("in its dock already: %v, %v", err, w.Log())
		}
		if _, err := v.Clean(t.Context(), nil, nil); err != nil || len(w.Spills("")) != 0 {
			t.Fatalf("%v, left: %v", err, w.Spills(""))
		}
		if b := battery(t, v); b != 88 {
			t.Errorf("battery after two rooms: %v", b)
		}
		if err := v.Dock(t.Context()); err != nil {
			t.Fatal(err)
		}
		if o, err := v.Observe(t.Context()); err != nil || !strings.Contains(o.Text, "in its dock, in the living room") {
			t.Errorf("%+v, %v", o, err)
		}
		if b := battery(t, v); b != 86 {
			t.Errorf("battery in the dock: %v", b)
		}
		<-time.After(10 * time.Second)
		if b := battery(t, v); b != 91 {
			t.Errorf("battery after ten seconds more: %v", b)
		}
		<-time.After(time.Hour)
		if b := battery(t, v); b != 100 {
			t.Errorf("battery after an hour: %v", b)
		}
	})
}

func TestUnknownAreaListsKnownAreas(t *testing.T) {
	v, _ := vacuum(t)
	out, err := v.Clean(t.Context(), []string{"attic", "kitchen"}, nil)
	const want = `vacuum: no place has the name "attic"; known places: kitchen, near sink, by stove, living room`
	if err == nil || err.Error() != want || len(out.Done) != 0 || len(out.Remaining) != 2 {
		t.Errorf("%+v, %v", out, err)
	}
}

// Other requests pause, resume and stop the task, and a dock command ends it.
func TestVacuumPauseResumeStop(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := sim.NewWorld(time.Now)
		v := sim.NewVacuum("vacuum", sim.DefaultVacuumConfig(), w)
		if err := v.Start(); err != nil {
			t.Fatal(err)
		}
		if err := v.Pause(t.Context()); !errors.Is(err, drivers.ErrNothingDone) {
			t.Error(err)
		}
		ended := make(chan error, 1)
		begin := func() {
			go func() {
				_, err := v.Clean(t.Context(), []string{"kitchen"}, nil)
				ended <- err
			}()
			time.Sleep(time.Second) // fake time
		}
		begin()
		if err := v.Pause(t.Context()); err != nil || w.Moving() {
			t.Fatalf("%v, moves %t", err, w.Moving())
		}
		time.Sleep(time.Hour)
		if still, err := v.AtRest(t.Context()); err != nil || !still {
			t.Errorf("%t, %v", still, err)
		}
		if err := v.Resume(t.Context()); err != nil || !w.Moving() {
			t.Fatalf("%v, moves %t", err, w.Moving())
		}
		if err := <-ended; err != nil || w.Moving() {
			t.Errorf("%v, moves %t", err, w.Moving())
		}
		begin()
		if _, err := v.Stop(t.Context()); err != nil || w.Moving() {
			t.Errorf("%v, moves %t", err, w.Moving())
		}
		if err := <-ended; !errors.Is(err, drivers.ErrStopped) {
			t.Error(err)
		}
		begin()
		if err := v.Dock(t.Context()); err != nil {
			t.Error(err)
		}
		if err := <-ended; !errors.Is(err, drivers.ErrStopped) {
			t.Error(err)
		}
		if in, err := v.Docked(t.Context()); err != nil || !in {
			t.Errorf("%t, %v", in, err)
		}
	})
}

// After Spot the floor around the vacuum is clean, and the vacuum stays there.
func TestVacuumCleansTheSpot(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		v, w := vacuum(t)
		if _, err := v.Clean(t.Context(), []string{"near sink"}, nil); err != nil {
			t.Fatal(err)
		}
		spills := w.Spills("kitchen")
		var last drivers.Progress
		if err := v.CleanSpot(t.Context(), func(p drivers.Progress) { last = p }); err != nil {
			t.Fatal(err)
		}
		if last.Percent != 100 || w.Moving() || !slices.Equal(w.Spills("kitchen"), spills) {
			t.Errorf("at %v it moves: %t; spills elsewhere are %q, and were %q", last, w.Moving(), w.Spills("kitchen"), spills)
		}
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(time.Second, cancel)
		if err := v.CleanSpot(ctx, nil); !errors.Is(err, context.Canceled) || w.Moving() {
			t.Errorf("cancelled: %v; it moves: %t", err, w.Moving())
		}
	})
}
