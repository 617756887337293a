package valetudo_test

import (
	"bytes"
	"context"
	"errors"
	"image"
	"image/color"
	_ "image/png"
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
	d, err := valetudo.Open(env, func(out any) error { return strictyaml.Decode("home.yaml", []byte(yaml), out) })
	if err != nil {
		return nil, err
	}
	return d.(*valetudo.Vacuum), nil
}

const rooms = "\nsegments: {16: kitchen, 17: living room}"

// quick is a vacuum that is looked at more often than a configuration may say.
func quick(yaml string) (*valetudo.Vacuum, error) {
	cfg := valetudo.DefaultConfig()
	if err := strictyaml.Decode("home.yaml", []byte(yaml), &cfg); err != nil {
		return nil, err
	}
	cfg.Poll = 10 * time.Millisecond
	return valetudo.New("vacuum", cfg, slog.New(slog.DiscardHandler), func() time.Time { return time.Now().Add(time.Duration(later.Load())) })
}

// later is how far the clock of quick is ahead.
var later atomic.Int64

func started(t *testing.T, h *house) *valetudo.Vacuum {
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

func TestKeepsTheRules(t *testing.T) {
	h := newHouse(t)
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

// Rooms go by the names of the configuration, and the robot by its ids.
func TestCleansRoomsByName(t *testing.T) {
	h := newHouse(t)
	v := started(t, h)
	areas, err := v.Areas(t.Context())
	want := []drivers.Area{{Name: "kitchen", Room: "kitchen"}, {Name: "living room", Room: "living room"}}
	if diff := cmp.Diff(want, areas); err != nil || diff != "" {
		t.Errorf("%v\n%s", err, diff)
	}
	var told []drivers.Progress
	out, err := v.Clean(t.Context(), []string{"living room", "kitchen"}, func(p drivers.Progress) { told = append(told, p) })
	if err != nil || !slices.Equal(out.Done, []string{"living room", "kitchen"}) || !slices.Equal(h.robot().log(), []string{`start_segment_action ["17","16"]`}) {
		t.Errorf("%+v, %v, %q", out, err, h.robot().log())
	}
	if told[0].Percent != 0 || told[len(told)-1].Percent != 100 || !slices.ContainsFunc(told, func(p drivers.Progress) bool {
		return p.Percent == 50 && p.Doing == "cleaning living room, kitchen"
	}) {
		t.Errorf("%+v", told)
	}
	if _, err := v.Clean(t.Context(), nil, nil); err != nil || h.robot().log()[1] != "start" {
		t.Errorf("%v, %q", err, h.robot().log())
	}
	_, err = v.Clean(t.Context(), []string{"attic"}, nil)
	if err == nil || !errors.Is(err, drivers.ErrNothingDone) || !strings.Contains(err.Error(), `there is no room "attic"; known rooms: kitchen, living room`) {
		t.Error(err)
	}
}

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

func TestStopsWhenCancelled(t *testing.T) {
	h := newHouse(t)
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

func TestMapShowsTheHome(t *testing.T) {
	h := newHouse(t)
	p, err := started(t, h).Map(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	img, _, err := image.Decode(bytes.NewReader(p.Data))
	if err != nil || img.Bounds().Dx() < 800 {
		t.Fatalf("%v, %v", img.Bounds(), err)
	}
	seen := map[color.Color]int{}
	for y := range img.Bounds().Dy() {
		for x := range img.Bounds().Dx() {
			seen[img.At(x, y)]++
		}
	}
	for name, c := range map[string]color.RGBA{
		"wall": {60, 60, 70, 255}, "floor": {205, 215, 225, 255}, "first room": {140, 180, 225, 255}, "second room": {240, 200, 140, 255},
		"way": {255, 255, 255, 255}, "dock": {30, 140, 60, 255}, "robot": {200, 30, 40, 255},
	} {
		if seen[c] < 100 {
			t.Errorf("%d pixels of the %s", seen[c], name)
		}
	}
}

func TestBatteryAndWords(t *testing.T) {
	v := started(t, newHouse(t))
	r, err := v.Read(t.Context())
	if err != nil || len(r) != 1 || r[0].Value != 87 || r[0].Unit != "%" {
		t.Errorf("%+v, %v", r, err)
	}
	seen, err := v.Observe(t.Context())
	if err != nil || seen.Text != "The vacuum is in its dock; its battery has 87 % and is charging." {
		t.Errorf("%+v, %v", seen, err)
	}
}

func TestConfigMistakes(t *testing.T) {
	for _, c := range []struct{ config, want string }{
		{"poll: 1s", "url: is missing"},
		{"url: http://x\npoll: 1900ms", "poll: 1.9s is not between 2s and 1m0s"},
		{"url: http://x\npasses: 0", "passes: 0 is not between 1 and 4"},
		{"url: http://x\nsafe: dock", `safe: "dock" is unknown; write stop or keep`},
		{"url: http://x\nsegments: {1: kitchen, 2: kitchen}", `segments: 1 and 2 are both called "kitchen"`},
		{"url: http://x\nsegments: {1: ''}", "segments: 1 has no name"},
		{"url: http://x\nsegment: {}", "segment: unknown key"},
		{"url: http://x\ntoken: a", "token: Valetudo has none"},
	} {
		if _, err := open(c.config); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q: %v", c.config, err)
		}
	}
}

// cleaning has a robot clean the kitchen for long, and waits until it moves. ended tells
// how that ends, and out that it was seen moving.
func (h *house) cleaning(t *testing.T, v drivers.Cleaner) (ended chan error, out chan bool) {
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

// Another request pauses, resumes and stops what it is at, and a dock ends it.
func TestSteering(t *testing.T) {
	h := newHouse(t)
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

// A segment that the configuration names and the robot does not have is told, where
// the rooms are looked at and where it is asked for.
func TestASegmentThatIsNotThere(t *testing.T) {
	h := newHouse(t)
	var logged lines
	cfg := valetudo.DefaultConfig()
	if err := strictyaml.Decode("home.yaml", []byte("url: "+h.URL+"\nsegments: {17: living room, 99: kitchen}"), &cfg); err != nil {
		t.Fatal(err)
	}
	v, err := valetudo.New("vacuum", cfg, slog.New(slog.NewTextHandler(&logged, nil)), time.Now)
	if err != nil {
		t.Fatal(err)
	}
	const want = "segments: the robot has no segment 99 (kitchen); it has 16 (Küche), 17 (Wohnzimmer), 18"
	if _, err := v.Inspect(t.Context()); err == nil || err.Error() != "vacuum: "+want {
		t.Errorf("Inspect: %v, want %q", err, want)
	}
	if err := v.Start(); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		areas, err := v.Areas(t.Context())
		if err != nil || len(areas) != 2 || areas[1].Name != "kitchen" {
			t.Errorf("Areas: %v, %v; what is asked for is to be told what is wrong", areas, err)
		}
	}
	_, err = v.Clean(t.Context(), []string{"living room", "kitchen"}, nil)
	if !errors.Is(err, drivers.ErrNothingDone) || !strings.Contains(err.Error(), want) {
		t.Errorf("Clean: %v, want %q", err, want)
	}
	if acts := h.robot().log(); len(acts) > 0 {
		t.Errorf("the robot was told %v", acts)
	}
	if err := v.Halt(); err != nil {
		t.Error(err)
	}
	if n := strings.Count(logged.String(), want); n != 1 {
		t.Errorf("it stands in the log %d times, want once:\n%s", n, logged.String())
	}

	for config, want := range map[string]string{
		rooms:                       "answers: in its dock; rooms: kitchen, living room",
		"":                          "answers: in its dock; rooms: Küche, Wohnzimmer, room 18",
		"\nsegments: {40: kitchen}": "vacuum: segments: the robot has none of them; it has 16 (Küche), 17 (Wohnzimmer), 18",
	} {
		v, err := open("url: " + h.URL + config)
		if err != nil {
			t.Fatal(err)
		}
		says, err := v.Inspect(t.Context())
		if err != nil {
			says = err.Error()
		}
		if says != want {
			t.Errorf("%s: Inspect says %q, want %q", config, says, want)
		}
	}
}

// lines is a log that many may write.
type lines struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lines) Write(p []byte) (int, error) { l.mu.Lock(); defer l.mu.Unlock(); return l.b.Write(p) }

func (l *lines) String() string { l.mu.Lock(); defer l.mu.Unlock(); return l.b.String() }
