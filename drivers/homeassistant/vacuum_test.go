package homeassistant_test

import (
	"context"
	"errors"
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
	h.publish(id)
	if end := map[string]string{"cleaning": "returning", "returning": "docked"}[becomes]; end != "" && !h.stays { // otherwise the test changes the state
		h.next = func() {
			h.states[id]["state"] = end
			h.publish(id)
		}
		h.slow = 2
	}
}

// set changes the state of an entity and one of its attributes.
func (h *home) set(id, state, key string, value any) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.states[id]["state"], h.states[id][key] = state, value
	h.publish(id)
}

func (h *home) stay() { h.mu.Lock(); defer h.mu.Unlock(); h.stays = true }

func (h *home) log() []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Clone(h.calls)
}

func TestVacuumConforms(t *testing.T) {
	h := newHome(t)
	for _, more := range []string{"", rooms, rooms + "live: false\n", rooms + "map: camera.robo_map\n"} {
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
		t.Fatal("the driver does not read the state")
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
			var reports []drivers.Progress
			if err := do(t.Context(), d, func(p drivers.Progress) { reports = append(reports, p) }); err != nil {
				t.Errorf("%s: %v", want, err)
			}
			if len(reports) < 2 || reports[len(reports)-1].Percent != 100 || !strings.HasPrefix(reports[0].Activity, "cleaning") {
				t.Errorf("%s: progress is %+v", want, reports)
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
		t.Fatal("the robot does not clean")
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
		t.Fatal("the robot does not clean")
	}
	h.set("vacuum.robo", "error", "error", "Brush stuck")
	var help drivers.HelpError
	if !h.has(func(*home) bool {
		if last.Help != nil {
			help = *last.Help
		}
		return last.Help != nil
	}) {
		t.Fatal("the driver does not ask for a person")
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
		t.Fatal("the progress does not report that the robot continues")
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
