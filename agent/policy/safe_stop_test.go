package policy_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"gobot.io/x/gobot/v2"

	"github.com/messkit/messkit/agent/policy"
	"github.com/messkit/messkit/agent/policy/settings"
	"github.com/messkit/messkit/capabilities"
	"github.com/messkit/messkit/drivers"
)

// machine is a device that records each call and its time, in fake time.
type machine struct {
	mu     sync.Mutex
	began  time.Time
	log    []string
	on     bool
	fails  int           // how many of the next halts fail
	hangs  bool          // a halt does not end before the test does
	hang   chan struct{} // closed at the end of the test
	slow   time.Duration // duration of a switch, even after ctx has ended
	starts time.Duration // duration of a start, which switches it on
}

var _ drivers.Device = (*machine)(nil)

func (*machine) Name() string                 { return "machine" }
func (*machine) SetName(string)               {}
func (*machine) Connection() gobot.Connection { return nil }

func (m *machine) note(what string, on bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.on = on
	m.log = append(m.log, fmt.Sprintf("%s %v", what, time.Since(m.began)))
}

func (m *machine) history() string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return strings.Join(m.log, ", ")
}

func (m *machine) Start() error {
	if m.starts > 0 {
		time.Sleep(m.starts) // fake time
		m.note("started on", true)
	}
	return nil
}

func (m *machine) Halt() error {
	if m.hangs {
		<-m.hang
	}
	m.mu.Lock()
	failing := m.fails > 0
	m.fails--
	m.mu.Unlock()
	if failing {
		return errors.New("machine: no contact")
	}
	m.note("halted", false)
	return nil
}

func (m *machine) Switch(_ context.Context, on bool) error {
	time.Sleep(m.slow) // fake time
	m.note(map[bool]string{true: "on", false: "off"}[on], on)
	return nil
}

// reportsSafety is a machine that can report whether it is safe.
type reportsSafety struct{ *machine }

func (h reportsSafety) Safe(context.Context) (bool, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return !h.on, nil
}

// neverSafe is a machine whose halt has no effect.
type neverSafe struct{ *machine }

func (neverSafe) Safe(context.Context) (bool, error) { return false, nil }

// silentAboutSafety is a machine that does not answer whether it is safe before the test ends.
type silentAboutSafety struct{ *machine }

func (s silentAboutSafety) Safe(context.Context) (bool, error) {
	<-s.hang
	return true, nil
}

// keepsState is a machine that keeps its state at a halt and reports that as safe.
type keepsState struct{ reportsSafety }

var _ drivers.StateKeeper = keepsState{}

func (keepsState) KeepsState() bool { return true }

// withDevices runs a test with started devices, in a bubble of fake time.
func withDevices(t *testing.T, devices map[string]drivers.Device, test func(*testing.T, *policy.Policy)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		cfg := settings.DefaultConfig()
		cfg.Defaults.MaxOn = 0
		cfg.Devices = map[string]settings.Limits{"timed": {MaxOn: time.Hour}}
		g := policy.New(cfg, time.Now, slog.New(slog.DiscardHandler))
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- g.Run(ctx) }()
		for name, d := range devices {
			m := bare(d)
			m.began, m.hang = time.Now(), make(chan struct{}) // in the bubble
			if m.starts == 0 {
				if err := g.Start(t.Context(), d, name); err != nil {
					t.Error(err)
				}
			}
		}
		test(t, g)
		for _, d := range devices {
			close(bare(d).hang)
		}
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
}

func bare(d drivers.Device) *machine {
	switch d := d.(type) {
	case reportsSafety:
		return d.machine
	case neverSafe:
		return d.machine
	case silentAboutSafety:
		return d.machine
	case keepsState:
		return d.machine
	}
	return d.(*machine)
}

// For a device that a stop leaves unchanged, the report does not claim evidence of safety.
func TestStopReportsUnchangedDevice(t *testing.T) {
	withDevices(t, map[string]drivers.Device{"kiln": keepsState{reportsSafety{&machine{}}}}, func(t *testing.T, g *policy.Policy) {
		g.Stop("smoke")
		synctest.Wait()
		wantText(t, "the kiln", report(g), "kiln safe  0s unchanged, because it has safe: keep; its activity continues")
	})
}

func planFor(device string) capabilities.Plan {
	p := switchPlan(true, 0)
	p.Device, p.Risk = device, capabilities.RiskAppliance
	return p
}

func report(g *policy.Policy) string {
	var list []string
	for _, s := range g.SafeResults() {
		list = append(list, strings.TrimSpace(fmt.Sprintf("%s %s %s %v %s", s.Device, s.State, s.Evidence, s.Took, s.Err)))
	}
	return strings.Join(list, "\n")
}

func wantText(t *testing.T, what, got, want string) {
	t.Helper()
	if got != want {
		t.Errorf("%s:\n%s\nwant:\n%s", what, got, want)
	}
}

func TestStopMakesEveryDeviceSafe(t *testing.T) {
	lamp, hung, dumb, wrong := reportsSafety{&machine{}}, &machine{hangs: true}, &machine{}, neverSafe{&machine{}}
	withDevices(t, map[string]drivers.Device{"lamp": lamp, "hung": hung, "dumb": dumb, "wrong": wrong}, func(t *testing.T, g *policy.Policy) {
		wantText(t, "before a stop", report(g), "")
		advance(time.Second)
		g.Stop("the cat is in the way")
		synctest.Wait()
		// A hanging device delays no other, and the report shows it as pending.
		wantText(t, "at once", report(g), "dumb safe acknowledged 0s\nhung pending  0s\nlamp safe read_back 0s\nwrong unsafe  0s messkit halted it, but it reports that it is not safe; switch it off by hand")
		wantText(t, "the lamp", lamp.history(), "halted 1s")
		_, err := g.Check(planFor("lamp"))
		wantRejection(t, err, "stop", "the cat is in the way")
		look := planFor("lamp")
		look.Effect = capabilities.Query
		_, err = g.Check(look)
		wantRejection(t, err, "stop")
		wantRejection(t, g.Start(t.Context(), lamp, "lamp"), "stop")

		advance(10 * time.Second)
		if !strings.Contains(report(g), "hung unsafe  10s its driver has not answered within 10s") {
			t.Errorf("after its time:\n%s", report(g))
		}
		g.ResetStop()
		_, err = g.Check(planFor("hung"))
		wantRejection(t, err, "quarantine", "halt")
		if _, err := g.Check(planFor("lamp")); err != nil {
			t.Errorf("after Clear: %v", err)
		}
		advance(time.Hour)
		if got := wrong.history(); !strings.HasPrefix(got, "halted 1s, halted 2s, halted 4s, halted 8s") || strings.Contains(got, "1m") {
			t.Errorf("halts are %s, want retries until Clear and none after it", got)
		}
	})
}

// A driver does not answer whether its device is safe. A person resets the stop, and the next stop
// still halts every device at once.
func TestSilentDriverDelaysNoLaterStop(t *testing.T) {
	lamp, silent := reportsSafety{&machine{}}, silentAboutSafety{&machine{}}
	withDevices(t, map[string]drivers.Device{"lamp": lamp, "silent": silent}, func(t *testing.T, g *policy.Policy) {
		g.Stop("first")
		synctest.Wait()
		g.ResetStop()
		advance(time.Second)
		g.Stop("second")
		synctest.Wait()
		wantText(t, "the lamp", lamp.history(), "halted 0s, halted 1s")
		wantText(t, "the silent device", silent.history(), "halted 0s, halted 1s")
	})
}

func TestFailedHaltIsRetried(t *testing.T) {
	m := &machine{fails: 2}
	withDevices(t, map[string]drivers.Device{"lamp": m}, func(t *testing.T, g *policy.Policy) {
		g.Stop("")
		synctest.Wait()
		wantText(t, "at once", report(g), "lamp unsafe  0s machine: no contact")
		advance(time.Minute)
		wantText(t, "then", report(g), "lamp safe acknowledged 0s")
		wantText(t, "the device", m.history(), "halted 3s")
		g.Stop("once more")
		synctest.Wait()
		wantText(t, "the device", m.history(), "halted 3s, halted 1m0s")
		if g.Stopped() != "stopped" {
			t.Errorf("%q: the first reason is the reason", g.Stopped())
		}
	})
}

// The policy undoes the late effect of a driver that ignored the stop.
func TestLateCallIsUndone(t *testing.T) {
	m := &machine{slow: 3 * time.Second}
	starting := &machine{starts: 4 * time.Second}
	withDevices(t, map[string]drivers.Device{"lamp": m, "starting": starting}, func(t *testing.T, g *policy.Policy) {
		pass := begin(t, g, planFor("lamp"))
		var both sync.WaitGroup
		both.Go(func() { _ = pass.Switch(t.Context(), m, true) })          // returns at any time
		both.Go(func() { _ = g.Start(t.Context(), starting, "starting") }) // so does this
		advance(time.Second)
		g.Stop("too late")
		synctest.Wait()
		wantText(t, "at once", m.history(), "halted 1s")
		both.Wait()
		synctest.Wait()
		wantText(t, "the switch", m.history(), "halted 1s, on 3s, halted 3s")
		wantText(t, "the start", starting.history(), "halted 1s, started on 4s, halted 4s")
		wantRejection(t, pass.Switch(t.Context(), m, true), "stop")
		pass.End()
	})
}

// The policy halts a device again if it answers first and acts after it was safe; it does not
// check a device without a recent command.
func TestLateActAfterStopIsHalted(t *testing.T) {
	m := reportsSafety{&machine{}}
	withDevices(t, map[string]drivers.Device{"lamp": m}, func(t *testing.T, g *policy.Policy) {
		pass := begin(t, g, planFor("lamp"))
		if err := pass.Switch(t.Context(), m, true); err != nil {
			t.Error(err)
		}
		pass.End()
		advance(time.Second)
		g.Stop("wait")
		advance(1500 * time.Millisecond)
		wantText(t, "at first", report(g), "lamp safe read_back 0s")
		m.note("sets out", true)
		advance(time.Second)
		wantText(t, "the device", m.history(), "on 0s, halted 1s, sets out 2.5s, halted 3s")
		wantText(t, "then", report(g), "lamp safe read_back 0s")
		advance(time.Minute)
		m.note("by hand", true)
		advance(time.Hour)
		wantText(t, "much later", m.history(), "on 0s, halted 1s, sets out 2.5s, halted 3s, by hand 1m3.5s")
	})
}

// A stop switches off a device that is on for a time, whatever its safe state.
func TestStopSwitchesOffTimedDevice(t *testing.T) {
	timed, untimed := &machine{}, &machine{}
	withDevices(t, map[string]drivers.Device{"timed": timed, "untimed": untimed}, func(t *testing.T, g *policy.Policy) {
		advance(2 * time.Hour) // the call that began at the start is over
		for name, m := range map[string]*machine{"timed": timed, "untimed": untimed} {
			pass := begin(t, g, planFor(name))
			if err := pass.Switch(t.Context(), m, true); err != nil {
				t.Error(err)
			}
			pass.End()
		}
		g.Stop("enough")
		advance(5 * time.Hour)
		wantText(t, "timed", timed.history(), "off 1h0m0s, on 2h0m0s, off 2h0m0s, halted 2h0m0s")
		wantText(t, "untimed", untimed.history(), "on 2h0m0s, halted 2h0m0s")
	})
}

// A device that appears during a stop is halted, not started.
func TestNewDeviceDuringStopIsHalted(t *testing.T) {
	m := &machine{starts: time.Hour}
	withDevices(t, map[string]drivers.Device{"lamp": m}, func(t *testing.T, g *policy.Policy) {
		g.Stop("as found at the start")
		wantRejection(t, g.Start(t.Context(), m, "lamp"), "stop", "as found")
		synctest.Wait()
		wantText(t, "the device", m.history(), "halted 0s")
	})
}

// Under load every device is safe at once: queues and running tasks cause no delay.
func TestStopUnderLoad(t *testing.T) {
	devices := map[string]drivers.Device{}
	for i := range 50 {
		devices[fmt.Sprintf("relay-%02d", i)] = reportsSafety{&machine{slow: 40 * time.Millisecond}}
	}
	devices["hung"] = &machine{hangs: true, slow: 40 * time.Millisecond}
	withDevices(t, devices, func(t *testing.T, g *policy.Policy) {
		ctx, cancel := context.WithCancel(t.Context())
		var load sync.WaitGroup
		for name, d := range devices {
			for range 20 { // each device has a queue
				load.Go(func() {
					for ctx.Err() == nil {
						pass, err := g.Admit(ctx, policy.Order{Plan: planFor(name)}, nil)
						if err != nil {
							return
						}
						_ = pass.Switch(ctx, bare(d), true) // until the stop
						pass.End()
					}
				})
			}
		}
		advance(time.Second + 7*time.Millisecond)
		g.Stop("under load")
		time.Sleep(100 * time.Millisecond) // fake time
		synctest.Wait()
		for _, s := range g.SafeResults() {
			if s.Device != "hung" && (s.State != policy.StateSafe || s.Took > 100*time.Millisecond) {
				t.Errorf("%+v", s)
			}
		}
		for name, d := range devices {
			if m := bare(d); name != "hung" && m.on {
				t.Errorf("%s is on after 100ms", name)
			}
		}
		cancel()
		load.Wait()
	})
}

// A cancelled act does not return a device to its safe level during a stop: only the stop commands
// the device.
func TestNoReturnToSafeLevelDuringStop(t *testing.T) {
	m := &machine{}
	withDevices(t, map[string]drivers.Device{"lamp": m}, func(t *testing.T, g *policy.Policy) {
		pass := begin(t, g, planFor("lamp"))
		defer pass.End()
		advance(time.Second)
		g.Stop("smoke")
		synctest.Wait()
		wantRejection(t, pass.ReturnToSafeLevel(t.Context(), m, true), "stop", "smoke")
		synctest.Wait()
		if got := m.history(); strings.Contains(got, "on") {
			t.Errorf("the lamp: %s; want halts only", got)
		}
	})
}
