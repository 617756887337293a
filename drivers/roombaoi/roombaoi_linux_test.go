package roombaoi_test

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/messkit/messkit/drivers"
	"github.com/messkit/messkit/drivers/drivertest"
	"github.com/messkit/messkit/drivers/roombaoi"
	"github.com/messkit/messkit/internal/strictyaml"
)

func quick(b *bench) *roombaoi.Robot {
	cfg := roombaoi.DefaultConfig()
	cfg.Port, cfg.Poll = b.port, 2*time.Millisecond
	return roombaoi.New(drivers.Env{Name: "roomba", Log: slog.New(slog.DiscardHandler), Now: func() time.Time { return time.Now().Add(time.Duration(later.Load())) }}, cfg)
}

// later is the offset of the clock of quick.
var later atomic.Int64

func started(t *testing.T, b *bench) *roombaoi.Robot {
	t.Helper()
	r := quick(b)
	if err := r.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		b.robot().set(func(r *robot) { r.deaf = false })
		if err := r.Halt(); err != nil {
			t.Error(err)
		}
	})
	return r
}

func TestConformance(t *testing.T) {
	b := newBench(t)
	drivertest.Run(t, func(*testing.T) drivers.Device { b.renew(); return quick(b) },
		drivertest.Safe(func() error {
			if b.robot().moves() {
				return errors.New("it moves")
			}
			return nil
		}),
		drivertest.Acts(func() int { return len(b.robot().log()) }))
}

// The kernel does not exclude a second process from a tty, so the driver locks it.
func TestLineIsExclusive(t *testing.T) {
	b := newBench(t)
	other, err := os.OpenFile(b.port, os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	if err := unix.Flock(int(other.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		t.Fatal(err)
	}
	r := started(t, b)
	if err := r.Dock(t.Context()); err == nil || !strings.Contains(err.Error(), "another program uses it") || len(b.robot().log()) != 0 {
		t.Errorf("%v; the robot received %q", err, b.robot().log())
	}
	if err := unix.Flock(int(other.Fd()), unix.LOCK_UN); err != nil {
		t.Fatal(err)
	}
	if _, err := r.Docked(t.Context()); err != nil {
		t.Errorf("when the other has gone: %v", err)
	}
}

func TestCleanAndDock(t *testing.T) {
	b := newBench(t)
	b.robot().set(func(r *robot) { r.noisy, r.asleep = true, 3 })
	r := started(t, b)
	var reports []drivers.Progress
	out, err := r.Clean(t.Context(), nil, func(p drivers.Progress) { reports = append(reports, p) })
	if err != nil || len(out.Remaining) > 0 || !slices.Equal(b.robot().log(), []string{"clean"}) {
		t.Fatalf("%+v, %v, %q", out, err, b.robot().log())
	}
	if last := reports[len(reports)-1]; last.Percent != 100 || !strings.Contains(reports[1].Activity, "its battery level is 80 %") {
		t.Errorf("%+v", reports)
	}
	if in, err := r.Docked(t.Context()); err != nil || !in {
		t.Errorf("%t, %v", in, err)
	}
	if err := r.Dock(t.Context()); err != nil || len(b.robot().log()) != 1 { // the robot is in its dock
		t.Errorf("%v, %q", err, b.robot().log())
	}
	if err := r.CleanSpot(t.Context(), nil); err != nil || b.robot().log()[1] != "spot" {
		t.Errorf("%v, %q", err, b.robot().log())
	}
	if err := r.Dock(t.Context()); err != nil || b.robot().log()[2] != "dock" {
		t.Errorf("%v, %q", err, b.robot().log())
	}
	seen, err := r.Observe(t.Context())
	if err != nil || seen.Text != "The vacuum is in its dock; its battery level is 80 % and it is charging." {
		t.Errorf("%+v, %v", seen, err)
	}
}

// The clean command would stop a moving robot, so the driver does not send it.
func TestCleanCommandToggles(t *testing.T) {
	b := newBench(t)
	r := started(t, b)
	b.robot().set(func(r *robot) { r.task, r.left, r.docked = "clean", 1000, false })
	if _, err := r.Clean(t.Context(), nil, nil); !errors.Is(err, drivers.ErrBusy) || len(b.robot().log()) != 0 {
		t.Errorf("%v, %q", err, b.robot().log())
	}
	if err := r.Dock(t.Context()); err != nil || !slices.Equal(b.robot().log(), []string{"safe", "dock"}) {
		t.Errorf("%v, %q", err, b.robot().log())
	}
}

func TestProblemNeedsPerson(t *testing.T) {
	defer later.Store(0)
	b := newBench(t)
	r := started(t, b)
	reports := 0
	_, err := r.Clean(t.Context(), nil, func(p drivers.Progress) {
		if reports++; reports == 3 {
			b.robot().set(func(r *robot) { r.drop, r.left = true, 1000 })
		}
		if p.Help != nil { // no person comes
			later.Add(int64(drivers.HelpTimeout))
		}
	})
	help, ok := errors.AsType[*drivers.HelpError](err)
	if !ok || errors.Is(err, drivers.ErrNothingDone) || help.Problem != "a wheel hangs in the air" || b.robot().moves() {
		t.Errorf("%v, moves %t", err, b.robot().moves())
	}
	for problem, set := range map[string]func(*robot){
		"a wheel hangs in the air":  func(r *robot) { r.drop = true },
		"a brush does not turn":     func(r *robot) { r.over = 0b100 },
		"a wheel does not turn":     func(r *robot) { r.over = 0b10000 },
		"its battery level is 4 %%": func(r *robot) { r.charge = 100 },
		"port: is it in its socket": func(r *robot) { r.asleep = 1 << 20 },
	} {
		b.renew().set(set)
		_, err := r.Clean(t.Context(), nil, nil)
		if !errors.Is(err, drivers.ErrNothingDone) || len(b.robot().log()) != 0 || strings.HasPrefix(problem, "a") && !strings.Contains(err.Error(), problem) {
			t.Errorf("%s: %v, %q", problem, err, b.robot().log())
		}
	}
	b.renew().set(func(r *robot) { r.strands = true })
	if _, err := r.Clean(t.Context(), nil, nil); err == nil || !strings.Contains(err.Error(), "the robot stands still away from its dock") {
		t.Error(err)
	}
	if _, err := r.Clean(t.Context(), []string{"kitchen"}, nil); !errors.Is(err, drivers.ErrNothingDone) {
		t.Error(err)
	}
}

// After a person has set the robot on the floor, Resume continues the task.
func TestResumeAfterProblem(t *testing.T) {
	b := newBench(t)
	r := started(t, b)
	reports, helps := 0, 0
	resumed := make(chan error, 2)
	_, err := r.Clean(t.Context(), nil, func(p drivers.Progress) {
		if reports++; reports == 3 {
			b.robot().set(func(r *robot) { r.drop, r.task = true, "" }) // the robot's own task ends with that
		}
		if p.Help == nil {
			return
		}
		switch helps++; helps {
		case 2:
			resumed <- r.Resume(t.Context()) // the wheel still hangs in the air
			b.robot().set(func(r *robot) { r.drop = false })
		case 4:
			go func() { resumed <- r.Resume(t.Context()) }()
		}
	})
	if err != nil || helps < 4 {
		t.Errorf("%v, %d looks at a robot that waits", err, helps)
	}
	if err := <-resumed; !errors.Is(err, drivers.ErrNothingDone) || !strings.Contains(err.Error(), "hangs in the air") {
		t.Error(err)
	}
	if err := <-resumed; err != nil {
		t.Error(err)
	}
	if log := b.robot().log(); !slices.Equal(log, []string{"clean", "clean"}) {
		t.Errorf("%q", log)
	}
}

// Other requests pause, resume and stop the task.
func TestPauseResumeStopDock(t *testing.T) {
	b := newBench(t)
	r := started(t, b)
	if err := r.Pause(t.Context()); !errors.Is(err, drivers.ErrNothingDone) {
		t.Error(err)
	}
	b.robot().set(func(r *robot) { r.frames = 1 << 20 })
	out := make(chan bool, 1)
	ended := make(chan error, 1)
	go func() {
		_, err := r.Clean(t.Context(), nil, func(drivers.Progress) {
			if b.robot().moves() {
				select {
				case out <- true:
				default:
				}
			}
		})
		ended <- err
	}()
	<-out
	if err := r.Pause(t.Context()); err != nil || b.robot().moves() {
		t.Fatalf("%v, moves %t", err, b.robot().moves())
	}
	if err := r.Resume(t.Context()); err != nil || !b.robot().moves() {
		t.Fatalf("%v, moves %t", err, b.robot().moves())
	}
	if _, err := r.Stop(t.Context()); err != nil || b.robot().moves() {
		t.Fatalf("%v, moves %t", err, b.robot().moves())
	}
	if err := <-ended; !errors.Is(err, drivers.ErrStopped) || !strings.HasPrefix(err.Error(), "roomba: ") {
		t.Error(err)
	}
	b.robot().set(func(r *robot) { r.task, r.left, r.deaf = "clean", 1<<20, true })
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	if _, err := r.Stop(ctx); err == nil {
		t.Error("Stop of a robot that receives nothing succeeds, want an error")
	}
}

// A robot with a start command and a failed stop may still set out, even if its wheels
// stand still, until it has received the stop.
func TestMaySetOutIsNotAtRest(t *testing.T) {
	if testing.Short() {
		t.Skip("this test waits until the driver gives up a stop")
	}
	t.Parallel()
	b := newBench(t)
	r := started(t, b)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	reports := 0
	_, err := r.Clean(ctx, nil, func(drivers.Progress) {
		if reports++; reports == 2 { // the first report comes before the command
			b.robot().set(func(r *robot) { r.asleep = 1 << 20 })
			cancel()
		}
	})
	if err == nil {
		t.Fatal("a task that was broken off is done")
	}
	b.robot().set(func(r *robot) { r.asleep, r.task = 0, "" })
	if still, err := r.AtRest(t.Context()); still || err == nil || !strings.Contains(err.Error(), "may still set out") {
		t.Errorf("at rest: %t, %v", still, err)
	}
	if _, err := r.Stop(t.Context()); err != nil || !slices.Contains(b.robot().log(), "safe") {
		t.Errorf("%v, %q", err, b.robot().log())
	}
	if still, err := r.AtRest(t.Context()); !still || err != nil {
		t.Errorf("at rest: %t, %v", still, err)
	}
}

func TestConfigMistakes(t *testing.T) {
	for _, c := range []struct{ config, want string }{
		{"poll: 1s", `port: "" is not a serial port`},
		{"port: /dev/x\npoll: 1ms", "poll: 1ms is not between"},
		{"port: /dev/x\nbaud: 9600", "baud: 9600 is unknown"},
		{"port: /dev/x\nsafe: dock", `safe: "dock" is unknown`},
	} {
		env := drivers.Env{Name: "roomba", Log: slog.New(slog.DiscardHandler), Now: time.Now}
		if _, err := roombaoi.Kind().Open(env, func(out any) error { return strictyaml.Decode("home.yaml", []byte(c.config), out) }); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q: %v", c.config, err)
		}
	}
}
