package roombawifi_test

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/messkit/messkit/drivers"
	"github.com/messkit/messkit/drivers/drivertest"
	"github.com/messkit/messkit/drivers/roombawifi"
	"github.com/messkit/messkit/internal/strictyaml"
)

func config(r *robot) roombawifi.Config {
	cfg := roombawifi.DefaultConfig()
	cfg.Host, cfg.Port, cfg.Blid, cfg.Password, cfg.Pin = r.host, r.port, blid, password, r.pin
	cfg.Segments = map[string]string{"3": "kitchen", "7": "hall"}
	cfg.Poll = 5 * time.Millisecond
	return cfg
}

func unopened(cfg roombawifi.Config) *roombawifi.Robot {
	return roombawifi.New(drivers.Env{Name: "roomba", Log: slog.New(slog.DiscardHandler), Now: func() time.Time { return time.Now().Add(time.Duration(later.Load())) }}, cfg)
}

// later is the offset of the clock of an unopened robot.
var later atomic.Int64

func started(t *testing.T, cfg roombawifi.Config) *roombawifi.Robot {
	t.Helper()
	r := unopened(cfg)
	if err := r.Start(); err != nil {
		t.Fatal(err)
	}
	return r
}

func TestConformance(t *testing.T) {
	now := newRobot(t, false)
	drivertest.Run(t, func(*testing.T) drivers.Device {
		now.set(func(r *robot) { r.cycle, r.phase, r.acts = "none", "charge", nil })
		now.sendState()
		return unopened(config(now))
	},
		drivertest.Safe(func() error {
			if now.moves() {
				return errors.New("it moves")
			}
			return nil
		}),
		drivertest.Acts(func() int { return len(now.log()) }))
}

// The driver detects a task that begins and ends between two polls.
func TestShortTask(t *testing.T) {
	fake := newRobot(t, false)
	fake.set(func(f *robot) { f.steps = 1 })
	cfg := config(fake)
	cfg.Poll = 300 * time.Millisecond // the task needs some 6
	if _, err := started(t, cfg).Clean(t.Context(), nil, nil); err != nil {
		t.Error(err)
	}
}

func TestCleansRoomsByName(t *testing.T) {
	fake := newRobot(t, false)
	r := started(t, config(fake))
	var reports []drivers.Progress
	out, err := r.Clean(t.Context(), []string{"hall", "kitchen"}, func(p drivers.Progress) { reports = append(reports, p) })
	if err != nil || !slices.Equal(out.Done, []string{"hall", "kitchen"}) || !slices.Equal(fake.log(), []string{"start map1/220101T/7/rid map1/220101T/3/rid"}) {
		t.Fatalf("%+v, %v, %q", out, err, fake.log())
	}
	if last := reports[len(reports)-1]; last.Percent != 100 || !slices.ContainsFunc(reports, func(p drivers.Progress) bool {
		return p.Activity == "cleaning hall, kitchen; 20 m² done; its battery level is 87 %"
	}) {
		t.Errorf("%+v", reports)
	}
	if in, err := r.Docked(t.Context()); err != nil || !in {
		t.Errorf("%t, %v", in, err)
	}
	if _, err := r.Clean(t.Context(), nil, nil); err != nil || fake.log()[1] != "start" {
		t.Errorf("%v, %q", err, fake.log())
	}
	if _, err := r.Clean(t.Context(), []string{"attic"}, nil); !errors.Is(err, drivers.ErrNothingDone) || !strings.Contains(err.Error(), `segments has no room "attic"; known rooms: hall, kitchen`) {
		t.Error(err)
	}
	seen, err := r.Observe(t.Context())
	if err != nil || seen.Text != "The vacuum is in its dock; its battery level is 87 %." {
		t.Errorf("%+v, %v", seen, err)
	}
}

// The robot accepts one connection: simultaneous verbs share it, and close it afterwards.
func TestOneConnection(t *testing.T) {
	fake := newRobot(t, false)
	fake.set(func(f *robot) { f.steps = 1 << 20 })
	r := started(t, config(fake))
	ctx, enough := context.WithCancel(t.Context())
	var cleaning, all sync.WaitGroup
	cleaning.Go(func() { _, _ = r.Clean(ctx, nil, nil) }) // ends below
	await(t, fake.moves)                                  // so there is a connection
	for range 8 {
		all.Go(func() {
			if _, err := r.Read(t.Context()); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	enough()
	cleaning.Wait()
	fake.set(func(f *robot) {
		if f.most != 1 {
			t.Errorf("%d connections at a time", f.most)
		}
	})
	await(t, func() (ok bool) { fake.set(func(f *robot) { ok = len(f.clients) == 0 }); return ok })
}

func await(t *testing.T, so func() bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for !so() {
		select {
		case <-ctx.Done():
			t.Fatal("the robot does not reach the state")
		case <-tick.C:
		}
	}
}

// The driver trusts a self-signed certificate only by its fingerprint, unless the
// configuration disables the check. Old robots support only one cipher.
func TestTrust(t *testing.T) {
	fake := newRobot(t, true)
	cfg := config(fake)
	if _, err := started(t, cfg).Read(t.Context()); err != nil {
		t.Errorf("the old cipher: %v", err)
	}
	cfg.Pin = ""
	if _, err := started(t, cfg).Read(t.Context()); err == nil || !strings.Contains(err.Error(), "with the fingerprint "+fake.pin) || !errors.Is(err, drivers.ErrNothingDone) {
		t.Error(err)
	}
	cfg.Pin = "sha256:" + strings.Repeat("0", 64)
	if _, err := started(t, cfg).Read(t.Context()); err == nil || !strings.Contains(err.Error(), "differs from pin:") {
		t.Error(err)
	}
	cfg.Pin, cfg.Insecure = "", true
	if _, err := started(t, cfg).Read(t.Context()); err != nil {
		t.Error(err)
	}
	cfg.Password = "wrong"
	if _, err := started(t, cfg).Read(t.Context()); err == nil || strings.Contains(err.Error(), "wrong") || !errors.Is(err, drivers.ErrNothingDone) {
		t.Error(err)
	}
}

func TestPauseResumeStopDock(t *testing.T) {
	fake := newRobot(t, false)
	r := started(t, config(fake))
	fake.set(func(f *robot) { f.steps = 1 << 20 })
	if err := r.Pause(t.Context()); !errors.Is(err, drivers.ErrNothingDone) {
		t.Error(err)
	}
	begin := func() (ended chan error) {
		ended = make(chan error, 1)
		go func() {
			_, err := r.Clean(t.Context(), nil, nil)
			ended <- err
		}()
		await(t, func() bool {
			if len(ended) > 0 {
				t.Fatal(<-ended)
			}
			seen, err := r.Observe(t.Context())
			return err == nil && strings.HasPrefix(seen.Text, "The vacuum is cleaning")
		})
		return ended
	}
	ended := begin()
	if err := r.Pause(t.Context()); err != nil || fake.moves() {
		t.Fatalf("%v, moves %t", err, fake.moves())
	}
	if still, err := r.AtRest(t.Context()); err != nil || !still {
		t.Errorf("%t, %v", still, err)
	}
	if err := r.Resume(t.Context()); err != nil || !fake.moves() {
		t.Fatalf("%v, moves %t", err, fake.moves())
	}
	if _, err := r.Stop(t.Context()); err != nil || fake.moves() {
		t.Fatalf("%v, moves %t", err, fake.moves())
	}
	if err := <-ended; !errors.Is(err, drivers.ErrStopped) {
		t.Error(err)
	}
	ended = begin()
	fake.set(func(f *robot) { f.steps = 8 })
	if err := r.Dock(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := <-ended; !errors.Is(err, drivers.ErrStopped) {
		t.Error(err)
	}
	if log := fake.log(); log[len(log)-1] != "dock" {
		t.Errorf("%q", log)
	}
}

func TestProblemNeedsPerson(t *testing.T) {
	defer later.Store(0)
	fake := newRobot(t, false)
	r := started(t, config(fake))
	fake.set(func(f *robot) { f.steps = 1 << 20 })
	reports := 0
	_, err := r.Clean(t.Context(), nil, func(p drivers.Progress) {
		if reports++; reports == 3 {
			fake.set(func(f *robot) { f.phase, f.fault = "stuck", 2 })
			fake.sendState()
		}
		if p.Help != nil { // no person comes
			later.Add(int64(drivers.HelpTimeout))
		}
	})
	help, ok := errors.AsType[*drivers.HelpError](err)
	if !ok || errors.Is(err, drivers.ErrNothingDone) || help.Problem != "its brushes do not turn" || !strings.Contains(help.Help, "remove the brushes") {
		t.Error(err)
	}
	await(t, func() bool { log := fake.log(); return log[len(log)-1] == "stop" }) // the driver also stops a robot with a problem
	for want, set := range map[string]func(*robot){
		"its left wheel hangs in the air": func(f *robot) { f.fault = 1 },
		"the robot reports the error 999": func(f *robot) { f.fault = 999 },
		"its bin is full":                 func(f *robot) { f.notReady = 16 },
	} {
		fake.set(func(f *robot) { f.cycle, f.phase, f.fault, f.notReady = "none", "charge", 0, 0; set(f) })
		fake.sendState()
		before := len(fake.log())
		if _, err := r.Clean(t.Context(), nil, nil); !errors.Is(err, drivers.ErrNothingDone) || !strings.Contains(err.Error(), want) || len(fake.log()) != before {
			t.Errorf("%s: %v", want, err)
		}
	}
	fake.set(func(f *robot) {
		f.cycle, f.phase, f.fault, f.notReady, f.strands, f.steps = "none", "charge", 0, 0, true, 8
	})
	fake.sendState()
	if _, err := r.Clean(t.Context(), nil, nil); err == nil || !strings.Contains(err.Error(), "the robot stands still away from its dock") {
		t.Error(err)
	}
}

// After a person has freed the robot, Resume continues: the mission if the robot still has
// one, otherwise the same rooms.
func TestResumeAfterProblem(t *testing.T) {
	for cycle, want := range map[string]string{"clean": "resume", "none": "start map1/220101T/7/rid"} {
		fake := newRobot(t, false)
		r := started(t, config(fake))
		fake.set(func(f *robot) { f.steps = 1 << 20 })
		reports, helps := 0, 0
		resumed := make(chan error, 1)
		out, err := r.Clean(t.Context(), []string{"hall"}, func(p drivers.Progress) {
			if reports++; reports == 2 {
				fake.set(func(f *robot) { f.phase, f.fault = "stuck", 2 })
				fake.sendState()
			}
			if p.Help == nil {
				return
			}
			switch helps++; helps {
			case 2:
				fake.set(func(f *robot) { f.cycle, f.phase, f.fault, f.left, f.steps = cycle, "stop", 0, 8, 8 })
				fake.sendState()
			case 6:
				go func() { resumed <- r.Resume(t.Context()) }()
			}
		})
		if err != nil || !slices.Equal(out.Done, []string{"hall"}) || helps < 6 {
			t.Errorf("%+v, %v, %d looks at a robot that waits", out, err, helps)
		}
		if err := <-resumed; err != nil {
			t.Error(err)
		}
		if log := fake.log(); !slices.Equal(log, []string{"start map1/220101T/7/rid", want}) {
			t.Errorf("%q", log)
		}
	}
}

func TestConfigMistakes(t *testing.T) {
	const good = "host: 192.168.1.52\nblid: " + blid + "\npassword: x\n"
	for _, c := range []struct{ config, want string }{
		{"blid: x", `host: "" is not an address`},
		{"host: x", `blid: "" is invalid`},
		{"host: x\nblid: y", "password_file: is missing"},
		{good + "poll: 1s", "poll: 1s is not between 2s and 1m0s"},
		{good + "pin: 00", "pin: is not a fingerprint"},
		{good + "segments: {1: hall, 2: hall}", `"1" and "2" have the same name "hall"`},
		{good + "map: ../x", `map: "../x" is not the id`},
		{good + "safe: dock", `safe: "dock" is unknown`},
		{good + "password_file: /etc/x", "password_file: excludes password"},
	} {
		env := drivers.Env{Name: "roomba", Log: slog.New(slog.DiscardHandler), Now: time.Now}
		if _, err := roombawifi.Kind().Open(env, func(out any) error { return strictyaml.Decode("home.yaml", []byte(c.config), out) }); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q: %v", c.config, err)
		}
	}
}
