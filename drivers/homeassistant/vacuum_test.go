package homeassistant_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/messkit/messkit/drivers"
	"github.com/messkit/messkit/drivers/drivertest"
)

const rooms = "segments: {kueche: kitchen, flur: hall}\n"

// robot executes a service of a robot. The caller holds mu.
func (h *home) robot(id, service string, body map[string]any) {
	becomes := map[string]string{"start": "cleaning", "clean_spot": "cleaning", "clean_area": "cleaning", "pause": "paused", "stop": "idle", "return_to_base": "returning"}[service]
	if areas, ok := body["cleaning_area_id"].([]any); ok {
		for _, area := range areas {
			h.calls[len(h.calls)-1] += " " + area.(string)
		}
	}
	h.states[id]["state"], h.next = becomes, nil
	h.tell(id)
	if end := map[string]string{"cleaning": "returning", "returning": "docked"}[becomes]; end != "" && !h.stays { // otherwise the test changes the state
		h.next = func() {
			h.states[id]["state"] = end
			h.tell(id)
		}
		h.slow = 2
	}
}

// set changes the state of an entity and one of its attributes.
func (h *home) set(id, state, key string, value any) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.states[id]["state"], h.states[id][key] = state, value
	h.tell(id)
}

func (h *home) stay() { h.mu.Lock(); defer h.mu.Unlock(); h.stays = true }

func (h *home) log() []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Clone(h.calls)
}

func TestVacuumConforms(t *testing.T) {
	h := newHome(t)
	for _, more := range []string{"", rooms, rooms + "live: false\n"} {
		t.Run(more, func(t *testing.T) {
			drivertest.Run(t, func(t *testing.T) drivers.Device {
				h.renew()
				d, err := open(config(h, "vacuum.robo") + "poll: 50ms\n" + more)
				if err != nil {
					t.Fatal(err)
				}
				return d
			},
				drivertest.Safe(func() error {
					h.mu.Lock()
					defer h.mu.Unlock()
					if s := h.states["vacuum.robo"]["state"]; s == "cleaning" || s == "returning" {
						return errors.New("it moves")
					}
					return nil
				}),
				drivertest.Acts(h.count),
			)
		})
	}
}

// If a robot was unreachable while it cleaned and now stands in the room, its task has not
// succeeded.
func TestVacuumUnreachableDuringTask(t *testing.T) {
	h := newHome(t)
	h.stay()
	d := started(t, config(h, "vacuum.robo")+"live: false\npoll: 50ms\n")
	out := make(chan error, 1)
	at := make(chan struct{})
	seen := sync.OnceFunc(func() { close(at) })
	looks := 0
	go func() {
		_, err := d.(drivers.Cleaner).Clean(context.Background(), nil, func(drivers.Progress) {
			if looks++; looks == 2 {
				seen()
			}
		})
		out <- err
	}()
	<-at
	h.mu.Lock()
	h.states["vacuum.robo"]["state"], h.asked = "unavailable", map[string]bool{}
	h.mu.Unlock()
	if !h.has(func(h *home) bool { return h.asked["vacuum.robo"] }) {
		t.Fatal("nobody looks at it")
	}
	h.set("vacuum.robo", "idle", "error", nil)
	if err := <-out; !errors.Is(err, drivers.ErrOutcomeUnknown) {
		t.Error(err)
	}
}

// Each task is one service call, and the driver follows it to its end.
func TestVacuumTasks(t *testing.T) {
	for _, way := range []string{"live: false\n", ""} {
		for want, do := range map[string]func(context.Context, drivers.Device, func(drivers.Progress)) error{
			"vacuum/start vacuum.robo": func(ctx context.Context, d drivers.Device, p func(drivers.Progress)) error {
				_, err := d.(drivers.Cleaner).Clean(ctx, nil, p)
				return err
			},
			"vacuum/clean_area vacuum.robo flur kueche": func(ctx context.Context, d drivers.Device, p func(drivers.Progress)) error {
				out, err := d.(drivers.Cleaner).Clean(ctx, []string{"hall", "kitchen"}, p)
				if !slices.Equal(out.Done, []string{"hall", "kitchen"}) {
					t.Errorf("%+v", out)
				}
				return err
			},
			"vacuum/clean_spot vacuum.robo": func(ctx context.Context, d drivers.Device, p func(drivers.Progress)) error {
				return d.(drivers.SpotCleaner).CleanSpot(ctx, p)
			},
		} {
			h := newHome(t)
			d := started(t, config(h, "vacuum.robo")+rooms+way+"poll: 50ms\n")
			if way == "" {
				settled(t, h, d)
			}
			var told []drivers.Progress
			if err := do(t.Context(), d, func(p drivers.Progress) { told = append(told, p) }); err != nil {
				t.Errorf("%s: %v", want, err)
			}
			if len(told) < 2 || told[len(told)-1].Percent != 100 || !strings.HasPrefix(told[0].Activity, "cleaning") {
				t.Errorf("%s: told %+v", want, told)
			}
			if got := h.log(); !slices.Equal(got, []string{want}) {
				t.Errorf("called %q, want %q", got, want)
			}
			if err := d.(drivers.Cleaner).Dock(t.Context()); err != nil {
				t.Error(err)
			}
			if docked, err := d.(drivers.DockReader).Docked(t.Context()); err != nil || !docked {
				t.Errorf("docked %t, %v", docked, err)
			}
		}
	}
}

// Pause, resume and stop work no matter which client started the robot.
func TestVacuumPauseAndStop(t *testing.T) {
	h := newHome(t)
	h.stay()
	d := started(t, config(h, "vacuum.robo")+"poll: 50ms\n")
	out := make(chan error, 1)
	go func() {
		_, err := d.(drivers.Cleaner).Clean(context.Background(), nil, func(drivers.Progress) {})
		out <- err
	}()
	if !h.has(func(h *home) bool { return h.states["vacuum.robo"]["state"] == "cleaning" }) {
		t.Fatal("it has not set out")
	}
	if err := d.(drivers.Pauser).Resume(t.Context()); err != nil { // it works on its task
		t.Error(err)
	}
	if err := d.(drivers.Pauser).Pause(t.Context()); err != nil {
		t.Error(err)
	}
	if err := d.(drivers.Pauser).Resume(t.Context()); err != nil {
		t.Error(err)
	}
	if _, err := d.(drivers.Stopper).Stop(t.Context()); err != nil {
		t.Error(err)
	}
	if err := <-out; !errors.Is(err, drivers.ErrStopped) {
		t.Errorf("the task ends with %v", err)
	}
	want := []string{"vacuum/start vacuum.robo", "vacuum/pause vacuum.robo", "vacuum/start vacuum.robo", "vacuum/stop vacuum.robo"}
	if got := slices.Compact(h.log()); !slices.Equal(got, want) { // the driver repeats the stop after an early end
		t.Errorf("called %q, want %q", got, want)
	}
	if still, err := d.(drivers.RestReader).AtRest(t.Context()); err != nil || !still {
		t.Errorf("at rest %t, %v", still, err)
	}
}

// A robot with a problem waits for a person, and continues the same task on Resume.
func TestVacuumNeedsPerson(t *testing.T) {
	h := newHome(t)
	h.stay()
	d := started(t, config(h, "vacuum.robo")+rooms+"poll: 50ms\n")
	out := make(chan error, 1)
	var last drivers.Progress // guarded by h.mu
	go func() {
		_, err := d.(drivers.Cleaner).Clean(context.Background(), []string{"hall"}, func(p drivers.Progress) {
			h.mu.Lock()
			defer h.mu.Unlock()
			last = p
		})
		out <- err
	}()
	if !h.has(func(h *home) bool { return h.states["vacuum.robo"]["state"] == "cleaning" }) {
		t.Fatal("it has not set out")
	}
	h.set("vacuum.robo", "error", "error", "Brush stuck")
	var help drivers.HelpError
	if !h.has(func(*home) bool {
		if last.Help != nil {
			help = *last.Help
		}
		return last.Help != nil
	}) {
		t.Fatal("nobody is asked")
	}
	if !strings.Contains(help.Problem, "Brush stuck") || !strings.Contains(help.Help, "free its wheels") {
		t.Errorf("%+v", help)
	}
	seen, err := d.(drivers.Observer).Observe(t.Context())
	if err != nil || !strings.Contains(seen.Text, "Brush stuck") || !strings.Contains(seen.Text, "its battery level is 80 %") {
		t.Errorf("%q, %v", seen.Text, err)
	}
	if err := d.(drivers.Pauser).Resume(t.Context()); err != nil {
		t.Error(err)
	}
	if !h.has(func(*home) bool { return last.Help == nil }) {
		t.Fatal("it is not seen that it goes on")
	}
	h.set("vacuum.robo", "docked", "error", nil)
	if err := <-out; err != nil {
		t.Error(err)
	}
	if got := h.log(); !slices.Equal(got, []string{"vacuum/clean_area vacuum.robo flur", "vacuum/clean_area vacuum.robo flur"}) {
		t.Errorf("called %q", got)
	}
	h.set("vacuum.robo", "error", "error", nil)
	if _, err := d.(drivers.Cleaner).Clean(t.Context(), nil, nil); !errors.Is(err, drivers.ErrNothingDone) || !strings.Contains(err.Error(), "error without a description") {
		t.Error(err)
	}
}

// The driver rejects an unsupported or redundant command without a call.
func TestVacuumRejectsCommand(t *testing.T) {
	h := newHome(t)
	plain := started(t, config(h, "vacuum.plain")+rooms+"live: false\npoll: 50ms\n")
	clean := func(d drivers.Device, areas ...string) error {
		_, err := d.(drivers.Cleaner).Clean(t.Context(), areas, nil)
		return err
	}
	_, read := plain.(drivers.Sensor).Read(t.Context())
	for want, err := range map[string]error{
		"has no clean_area":             clean(plain, "hall"),
		`no room "attic"`:               clean(plain, "attic"),
		"has no clean_spot":             plain.(drivers.SpotCleaner).CleanSpot(t.Context(), nil),
		"rejects pause":                 plain.(drivers.Pauser).Pause(t.Context()),
		`is "unavailable"`:              clean(started(t, config(h, "vacuum.gone")+"live: false\npoll: 50ms\n")),
		"another client has started it": clean(started(t, config(h, "vacuum.busy")+"live: false\nsafe: keep\n")),
	} {
		if err == nil || !errors.Is(err, drivers.ErrNothingDone) && !errors.Is(err, drivers.ErrBusy) || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", want, err)
		}
	}
	if read == nil || !strings.Contains(read.Error(), "reports no battery level") {
		t.Error(read)
	}
	if h.count() != 0 {
		t.Errorf("called %q", h.log())
	}
}

// A call whose connection breaks may have arrived: the driver stops the robot and reports
// that.
func TestVacuumStopsAfterBrokenCall(t *testing.T) {
	h := newHome(t)
	d := started(t, config(h, "vacuum.robo")+"poll: 50ms\n")
	settled(t, h, d)
	h.mu.Lock()
	h.deaf, h.stays = true, true
	h.mu.Unlock()
	_, err := d.(drivers.Cleaner).Clean(t.Context(), nil, nil)
	if err == nil || errors.Is(err, drivers.ErrNothingDone) {
		t.Error(err)
	}
	if got := h.log(); len(got) < 2 || got[0] != "vacuum/start vacuum.robo" || got[1] != "vacuum/stop vacuum.robo" {
		t.Errorf("called %q", got)
	}
	if still, err := d.(drivers.RestReader).AtRest(t.Context()); err != nil || !still {
		t.Errorf("at rest %t, %v", still, err)
	}
}

// An unanswered command may take effect after all later ones. The errors of the stopped
// task, of Halt, and of the next command report that, and the caller repeats Halt.
func TestUnansweredCommandMayAct(t *testing.T) {
	for _, live := range []string{"", "live: false\n"} {
		t.Run(live, func(t *testing.T) {
			t.Parallel()
			h := newHome(t)
			v := started(t, config(h, "vacuum.robo")+live+"poll: 50ms\ntimeout: 1s\n")
			if live == "" {
				settled(t, h, v)
			}
			h.mu.Lock()
			h.mute, h.stays = "vacuum/start", true
			h.mu.Unlock()
			if _, err := v.(drivers.Cleaner).Clean(t.Context(), nil, nil); !errors.Is(err, drivers.ErrMayAct) {
				t.Errorf("clean: %v", err)
			}
			if still, err := v.(drivers.RestReader).AtRest(t.Context()); still || err == nil {
				t.Errorf("at rest %t, %v", still, err)
			}
			if err := v.Halt(); !errors.Is(err, drivers.ErrMayAct) {
				t.Errorf("halt: %v", err)
			}
		})
	}
	h := newHome(t)
	lamp, lock := started(t, config(h, "light.hall")+"live: false\ntimeout: 1s\n"), started(t, config(h, "lock.front")+"live: false\ntimeout: 1s\n")
	for service, tell := range map[string]func() error{
		"light/turn_on": func() error { return lamp.(drivers.Switch).Switch(t.Context(), true) },
		"lock/unlock":   func() error { return lock.(drivers.Locker).Unlock(t.Context()) },
	} {
		h.mu.Lock()
		h.mute = service
		h.mu.Unlock()
		if err := tell(); err == nil || errors.Is(err, drivers.ErrNothingDone) {
			t.Errorf("%s: %v", service, err)
		}
	}
	if err := lamp.(drivers.Switch).Switch(t.Context(), false); !errors.Is(err, drivers.ErrMayAct) {
		t.Errorf("off: %v", err)
	}
	for _, d := range []drivers.Device{lamp, lock} {
		if err := d.Halt(); !errors.Is(err, drivers.ErrMayAct) {
			t.Errorf("%s halted: %v", d.Name(), err)
		}
	}
}

// If the caller of a command goes before the answer, the command still counts as under way,
// and Last waits for it.
func TestCancelledCommandMayAct(t *testing.T) {
	for _, live := range []string{"", "live: false\n"} {
		for _, answers := range []bool{false, true} {
			t.Run(fmt.Sprint(live, answers), func(t *testing.T) {
				t.Parallel()
				h := newHome(t)
				d := started(t, config(h, "light.hall")+live+"timeout: 5s\n")
				if live == "" {
					settled(t, h, d)
				}
				held := make(chan struct{})
				h.mu.Lock()
				h.mute, h.held = "light/turn_on", held
				h.mu.Unlock()
				ctx, cancel := context.WithCancel(t.Context())
				told := make(chan error, 1)
				go func() { told <- d.(drivers.Switch).Switch(ctx, true) }()
				if !h.has(func(h *home) bool { return len(h.calls) > 0 }) {
					t.Fatal("it was not told")
				}
				cancel()
				if err := <-told; !errors.Is(err, context.Canceled) || errors.Is(err, drivers.ErrNothingDone) {
					t.Errorf("on: %v", err)
				}
				if answers {
					close(held)
				}
				if err := d.Halt(); errors.Is(err, drivers.ErrMayAct) == answers || answers && err != nil {
					t.Errorf("halt: %v", err)
				}
				if got := h.log(); len(got) < 2 || got[len(got)-1] != "light/turn_off light.hall" {
					t.Errorf("called %q", got)
				}
				if !answers {
					close(held)
				}
			})
		}
	}
}

// A rejection with a changed state is not ErrNothingDone.
func TestRejectionWithAnEffect(t *testing.T) {
	h := newHome(t)
	h.denies, h.stays = "service_validation_error", true
	robot := started(t, config(h, "vacuum.robo")+"live: false\npoll: 50ms\n")
	lock := started(t, config(h, "lock.front")+"live: false\ncode: '4711'\n")
	for what, err := range map[string]error{
		"clean":  second(robot.(drivers.Cleaner).Clean(t.Context(), nil, nil)),
		"unlock": lock.(drivers.Locker).Unlock(t.Context()),
	} {
		if err == nil || errors.Is(err, drivers.ErrNothingDone) || !strings.Contains(err.Error(), "failed in Home Assistant, but the state") {
			t.Errorf("%s: %v", what, err)
		}
	}
	if err := lock.(drivers.Locker).Unlock(t.Context()); !errors.Is(err, drivers.ErrNothingDone) {
		t.Errorf("it is unlocked already: %v", err)
	}
	if got := h.log(); !slices.Contains(got, "vacuum/stop vacuum.robo") {
		t.Errorf("called %q", got)
	}
}

func second[T any](_ T, err error) error { return err }
