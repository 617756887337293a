package valetudo_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/messkit/messkit/drivers"
	"github.com/messkit/messkit/drivers/drivertest"
	"github.com/messkit/messkit/drivers/valetudo"
	"github.com/messkit/messkit/internal/strictyaml"
)

func open(yaml string) (*valetudo.Vacuum, error) {
	env := drivers.Env{Name: "vacuum", Log: slog.New(slog.DiscardHandler), Now: time.Now, Shared: &drivers.Shared{}}
	d, err := valetudo.Kind().Open(env, func(out any) error { return strictyaml.Decode("home.yaml", []byte(yaml), out) })
	if err != nil {
		return nil, err
	}
	return d.(*valetudo.Vacuum), nil
}

const rooms = "\nsegments: {16: kitchen, 17: living room}"

// quick returns a vacuum with a shorter poll interval than a configuration allows.
func quick(yaml string) (*valetudo.Vacuum, error) {
	cfg := valetudo.DefaultConfig()
	if err := strictyaml.Decode("home.yaml", []byte(yaml), &cfg); err != nil {
		return nil, err
	}
	cfg.Poll = 10 * time.Millisecond
	return valetudo.New(drivers.Env{Name: "vacuum", Log: slog.New(slog.DiscardHandler), Now: func() time.Time { return time.Now().Add(time.Duration(later.Load())) }}, cfg)
}

// later is the offset of the clock of quick.
var later atomic.Int64

func started(t *testing.T, h *fakeServer) *valetudo.Vacuum {
	t.Helper()
	v, err := quick("url: " + h.URL + rooms)
	if err == nil {
		err = v.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := v.Halt(); err != nil {
			t.Error(err)
		}
	})
	return v
}

func TestConformance(t *testing.T) {
	h := newFakeServer(t)
	for _, config := range []string{rooms, ""} {
		drivertest.Run(t, func(t *testing.T) drivers.Device {
			h.renew()
			v, err := quick("url: " + h.URL + config)
			if err != nil {
				t.Fatal(err)
			}
			return v
		},
			drivertest.Safe(func() error {
				if h.robot().moves() {
					return errors.New("it moves")
				}
				return nil
			}),
			drivertest.Acts(func() int { return len(h.robot().log()) }),
		)
	}
}

// People use the names of the configuration, and the robot uses its ids.
func TestCleansRoomsByName(t *testing.T) {
	h := newFakeServer(t)
	v := started(t, h)
	areas, err := v.Areas(t.Context())
	want := []drivers.Area{{Name: "kitchen", Room: "kitchen"}, {Name: "living room", Room: "living room"}}
	if diff := cmp.Diff(want, areas); err != nil || diff != "" {
		t.Errorf("%v\n%s", err, diff)
	}
	var reports []drivers.Progress
	out, err := v.Clean(t.Context(), []string{"living room", "kitchen"}, func(p drivers.Progress) { reports = append(reports, p) })
	if err != nil || !slices.Equal(out.Done, []string{"living room", "kitchen"}) || !slices.Equal(h.robot().log(), []string{`start_segment_action ["17","16"]`}) {
		t.Errorf("%+v, %v, %q", out, err, h.robot().log())
	}
	if reports[0].Percent != 0 || reports[len(reports)-1].Percent != 100 || !slices.ContainsFunc(reports, func(p drivers.Progress) bool {
		return p.Percent == 50 && p.Activity == "cleaning living room, kitchen"
	}) {
		t.Errorf("%+v", reports)
	}
	if _, err := v.Clean(t.Context(), nil, nil); err != nil || h.robot().log()[1] != "start" {
		t.Errorf("%v, %q", err, h.robot().log())
	}
	_, err = v.Clean(t.Context(), []string{"attic"}, nil)
	if err == nil || !errors.Is(err, drivers.ErrNothingDone) || !strings.Contains(err.Error(), `the robot has no room "attic"; known rooms: kitchen, living room`) {
		t.Error(err)
	}
}

// A spot is a zone of 1.5 m around the position of the robot on the map, at 200, 65.
func TestCleansTheSpot(t *testing.T) {
	h := newFakeServer(t)
	v := started(t, h)
	var reports []drivers.Progress
	if err := v.CleanSpot(t.Context(), func(p drivers.Progress) { reports = append(reports, p) }); err != nil {
		t.Fatal(err)
	}
	zone := `{"iterations":1,"points":{"pA":{"x":125,"y":-10},"pB":{"x":275,"y":-10},"pC":{"x":275,"y":140},"pD":{"x":125,"y":140}}}`
	if got := h.robot().log(); !slices.Equal(got, []string{"clean [" + zone + "]"}) {
		t.Errorf("commands are %q", got)
	}
	if last := reports[len(reports)-1]; last.Percent != 100 || last.Activity != "cleaning the spot" {
		t.Errorf("last progress is %+v", last)
	}
	for want, odd := range map[string]func(*robot){
		"this robot cannot clean spots":                      func(r *robot) { r.zoneless = true },
		"the map does not contain the position of the robot": func(r *robot) { r.lost = true },
		"another client has started it":                      func(r *robot) { r.status, r.left = "cleaning", 100 },
		"the robot reports: Wheel lost floor con":            func(r *robot) { r.status, r.problem = "error", map[string]any{"message": "Wheel lost floor contact"} },
	} {
		h.renew().set(odd)
		err := v.CleanSpot(t.Context(), nil)
		if err == nil || !strings.Contains(err.Error(), want) || !errors.Is(err, drivers.ErrNothingDone) && !errors.Is(err, drivers.ErrBusy) || len(h.robot().log()) > 0 {
			t.Errorf("%v, commands are %q, want none, error with %q", err, h.robot().log(), want)
		}
	}
}

// The driver stops a robot whose spot ends early. After a problem Resume cleans the same
// place, even if the robot stands elsewhere.
func TestResumeSpot(t *testing.T) {
	h := newFakeServer(t)
	v := started(t, h)
	h.robot().set(func(r *robot) { r.steps = 1 << 20 })
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	asked := false
	err := v.CleanSpot(ctx, func(p drivers.Progress) {
		switch {
		case p.Help != nil && !asked:
			asked = true
			go func() {
				if err := v.Resume(ctx); err != nil {
					t.Error(err)
				}
				cancel()
			}()
		case p.Help == nil && !asked && len(h.robot().log()) == 1:
			h.robot().set(func(r *robot) {
				r.status, r.problem = "error", map[string]any{"message": "Main brush jammed", "subsystem": "motors"}
			})
		}
	})
	got := h.robot().log()
	if err == nil || len(got) != 3 || got[0] != got[1] || got[2] != "stop" || h.robot().moves() {
		t.Errorf("%v, commands are %q", err, got)
	}
}

func TestStopsWhenCancelled(t *testing.T) {
	h := newFakeServer(t)
	v := started(t, h)
	h.robot().set(func(r *robot) { r.steps = 100000 })
	ctx, cancel := context.WithCancel(t.Context())
	out, err := v.Clean(ctx, []string{"kitchen"}, func(p drivers.Progress) {
		if p.Percent > 50 {
			cancel()
		}
	})
	if !errors.Is(err, context.Canceled) || h.robot().moves() || !slices.Equal(out.Remaining, []string{"kitchen"}) || len(out.Done) != 0 {
		t.Errorf("%+v, %v, moves=%t", out, err, h.robot().moves())
	}
	if log := h.robot().log(); !slices.Equal(log, []string{`start_segment_action ["16"]`, "stop"}) {
		t.Errorf("%q", log)
	}
}

func TestBatteryAndText(t *testing.T) {
	v := started(t, newFakeServer(t))
	r, err := v.Read(t.Context())
	if err != nil || len(r) != 1 || r[0].Value != 87 || r[0].Unit != "%" {
		t.Errorf("%+v, %v", r, err)
	}
	seen, err := v.Observe(t.Context())
	if err != nil || seen.Text != "The vacuum is in its dock; its battery level is 87 % and it is charging." {
		t.Errorf("%+v, %v", seen, err)
	}
}

func TestConfigMistakes(t *testing.T) {
	for _, c := range []struct{ config, want string }{
		{"poll: 1s", "url: is missing"},
		{"url: http://x\npoll: 1900ms", "poll: 1.9s is not between 2s and 1m0s"},
		{"url: http://x\npasses: 0", "passes: 0 is not between 1 and 4"},
		{"url: http://x\nsafe: dock", `safe: "dock" is unknown; write stop or keep`},
		{"url: http://x\nsegments: {1: kitchen, 2: kitchen}", `segments: "1" and "2" have the same name "kitchen"`},
		{"url: http://x\nsegments: {1: ''}", `segments: "1" has no name`},
		{"url: http://x\nsegment: {}", "segment: unknown key"},
		{"url: http://x\ntoken: a", "token: Valetudo has no tokens"},
	} {
		if _, err := open(c.config); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q: %v", c.config, err)
		}
	}
}

// cleaning starts a long task in the kitchen, and waits until the robot moves. ended gets
// the result, and out a signal that the robot was seen moving.
func (h *fakeServer) cleaning(t *testing.T, v drivers.Cleaner) (ended chan error, out chan bool) {
	h.robot().set(func(r *robot) { r.steps = 1 << 20 })
	ended, out = make(chan error, 1), make(chan bool, 1)
	go func() {
		_, err := v.Clean(t.Context(), []string{"kitchen"}, func(drivers.Progress) {
			if h.robot().moves() {
				select {
				case out <- true:
				default:
				}
			}
		})
		ended <- err
	}()
	<-out
	return ended, out
}

// Other requests pause, resume and stop the task, and a dock command ends it.
func TestPauseResumeStopDock(t *testing.T) {
	h := newFakeServer(t)
	v := started(t, h)
	if err := v.Pause(t.Context()); !errors.Is(err, drivers.ErrNothingDone) {
		t.Error(err)
	}
	ended, _ := h.cleaning(t, v)
	if err := v.Pause(t.Context()); err != nil || h.robot().moves() {
		t.Fatalf("%v, moves %t", err, h.robot().moves())
	}
	if still, err := v.AtRest(t.Context()); err != nil || !still {
		t.Errorf("%t, %v", still, err)
	}
	if err := v.Resume(t.Context()); err != nil || !h.robot().moves() {
		t.Fatalf("%v, moves %t", err, h.robot().moves())
	}
	if _, err := v.Stop(t.Context()); err != nil || h.robot().moves() {
		t.Fatalf("%v, moves %t", err, h.robot().moves())
	}
	if err := <-ended; !errors.Is(err, drivers.ErrStopped) {
		t.Error(err)
	}
	ended, _ = h.cleaning(t, v)
	if err := v.Dock(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := <-ended; !errors.Is(err, drivers.ErrStopped) || h.robot().log()[len(h.robot().log())-1] != "home" {
		t.Errorf("%v, %q", err, h.robot().log())
	}
}

// A segment of the configuration that the robot lacks is an error when a caller lists the
// rooms or asks for it.
func TestMissingSegment(t *testing.T) {
	h := newFakeServer(t)
	var logged lines
	cfg := valetudo.DefaultConfig()
	if err := strictyaml.Decode("home.yaml", []byte("url: "+h.URL+"\nsegments: {17: living room, 99: kitchen}"), &cfg); err != nil {
		t.Fatal(err)
	}
	v, err := valetudo.New(drivers.Env{Name: "vacuum", Log: slog.New(slog.NewTextHandler(&logged, nil)), Now: time.Now}, cfg)
	if err != nil {
		t.Fatal(err)
	}
	const want = "segments: the robot has no segment 99 (kitchen), only 16 (Küche), 17 (Wohnzimmer), 18"
	if _, err := v.Inspect(t.Context()); err == nil || err.Error() != "vacuum: "+want {
		t.Errorf("Inspect: %v, want %q", err, want)
	}
	if err := v.Start(); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		areas, err := v.Areas(t.Context())
		if err != nil || len(areas) != 2 || areas[1].Name != "kitchen" {
			t.Errorf("Areas: %v, %v; want the areas and a logged error", areas, err)
		}
	}
	_, err = v.Clean(t.Context(), []string{"living room", "kitchen"}, nil)
	if !errors.Is(err, drivers.ErrNothingDone) || !strings.Contains(err.Error(), want) {
		t.Errorf("Clean: %v, want %q", err, want)
	}
	if acts := h.robot().log(); len(acts) > 0 {
		t.Errorf("commands are %v, want none", acts)
	}
	if err := v.Halt(); err != nil {
		t.Error(err)
	}
	if n := strings.Count(logged.String(), want); n != 1 {
		t.Errorf("the log contains it %d times, want once:\n%s", n, logged.String())
	}

	for config, want := range map[string]string{
		rooms:                       "answers: in its dock; rooms: kitchen, living room",
		"":                          "answers: in its dock; rooms: Küche, Wohnzimmer, room 18",
		"\nsegments: {40: kitchen}": "vacuum: segments: the robot has none of them, only 16 (Küche), 17 (Wohnzimmer), 18",
	} {
		v, err := open("url: " + h.URL + config)
		if err != nil {
			t.Fatal(err)
		}
		observed, err := v.Inspect(t.Context())
		if err != nil {
			observed = err.Error()
		}
		if observed != want {
			t.Errorf("%s: Inspect = %q, want %q", config, observed, want)
		}
	}
}

// lines is a log for concurrent use.
type lines struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lines) Write(p []byte) (int, error) { l.mu.Lock(); defer l.mu.Unlock(); return l.b.Write(p) }

func (l *lines) String() string { l.mu.Lock(); defer l.mu.Unlock(); return l.b.String() }
