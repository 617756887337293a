package history_test

import (
	"log/slog"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/messkit/messkit/exchange/history"
	"github.com/messkit/messkit/mess"
)

// rig is a history with a clock of its own.
type rig struct {
	*testing.T
	*history.Store
	dir string
	now time.Time
}

func newRig(t *testing.T) *rig {
	t.Helper()
	r := &rig{T: t, dir: filepath.Join(t.TempDir(), "history"), now: time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)}
	r.open()
	return r
}

func (r *rig) open() {
	r.Helper()
	s, err := history.Open(r.dir, func() time.Time { return r.now }, slog.New(slog.DiscardHandler))
	if err != nil {
		r.Fatal(err)
	}
	r.Store = s
}

// restart writes the readings and opens the folder again, as a new process does.
func (r *rig) restart() {
	r.Helper()
	r.write()
	r.open()
}

func (r *rig) write() {
	r.Helper()
	if err := r.Write(); err != nil {
		r.Fatal(err)
	}
}

// measure reports a temperature of the hall at this time.
func (r *rig) measure(celsius float64) { r.report("hall", reading("temperature", celsius, r.now)) }

func reading(quantity string, value float64, at time.Time) mess.StateReading {
	return mess.StateReading{Quantity: quantity, Value: value, Unit: "°C", AsOf: mess.TimeOf(at)}
}

func (r *rig) report(device string, list ...mess.StateReading) {
	r.Record("pi", []mess.DeviceState{{Device: device, State: mess.StateUnknown, Readings: list}})
}

// series returns the points of a quantity of the hall.
func (r *rig) series(quantity string, since time.Duration) (time.Duration, []history.Point) {
	r.Helper()
	step, all, err := r.Query("pi", "hall", r.now.Add(-since), r.now)
	if err != nil {
		r.Fatal(err)
	}
	for _, one := range all {
		if one.Quantity == quantity {
			return step, one.Points
		}
	}
	return step, nil
}

// last returns the last values of the points.
func last(points []history.Point) (list []float64) {
	for _, p := range points {
		list = append(list, p.Last)
	}
	return list
}

// Minutes and hours have the last value, the least and the greatest, before and after a restart.
func TestReadingsSurviveRestart(t *testing.T) {
	r := newRig(t)
	for _, celsius := range []float64{20, 23.5, 21.25} {
		r.measure(celsius)
		r.now = r.now.Add(10 * time.Second)
	}
	r.now = r.now.Add(time.Minute)
	r.measure(22)
	check := func(when string) {
		t.Helper()
		step, points := r.series("temperature", time.Hour)
		want := []history.Point{{time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC), 21.25, 20, 23.5}, {time.Date(2026, 3, 1, 12, 1, 0, 0, time.UTC), 22, 22, 22}}
		if diff := cmp.Diff(want, points); step != time.Minute || diff != "" {
			t.Errorf("%s: step %v (-want +got):\n%s", when, step, diff)
		}
		step, points = r.series("temperature", 48*time.Hour)
		if diff := cmp.Diff([]history.Point{{time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC), 22, 20, 23.5}}, points); step != time.Hour || diff != "" {
			t.Errorf("%s: step %v (-want +got):\n%s", when, step, diff)
		}
	}
	check("before the write")
	r.write()
	check("after the write")
	r.restart()
	check("after a restart")
	r.measure(19) // joined with what the file has of the same hour
	r.restart()
	if _, points := r.series("temperature", 48*time.Hour); !slices.Equal(points, []history.Point{{time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC), 19, 19, 23.5}}) {
		t.Errorf("after another reading the hour is %v", points)
	}
}

// A restart in the middle of an hour keeps the extremes of its first half.
func TestRestartKeepsExtremes(t *testing.T) {
	r := newRig(t)
	r.measure(30)
	r.restart()
	r.now = r.now.Add(20 * time.Minute)
	r.measure(10)
	r.restart()
	if _, points := r.series("temperature", 48*time.Hour); !slices.Equal(points, []history.Point{{time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC), 10, 10, 30}}) {
		t.Errorf("the hour is %v, want 10 between 10 and 30", points)
	}
}

// Minutes last for a day and hours for 30 days, and the file does not grow.
func TestFileHasBound(t *testing.T) {
	r := newRig(t)
	size := int64(0)
	for hour := range 24 * 33 {
		r.measure(float64(hour))
		r.now = r.now.Add(time.Hour)
		if hour%5 == 0 {
			r.write()
		}
	}
	r.write()
	if _, points := r.series("temperature", 23*time.Hour); len(points) != 23 || points[22].Last != 24*33-1 {
		t.Errorf("the last day has %v, want 23 values", last(points))
	}
	_, points := r.series("temperature", 90*24*time.Hour)
	if len(points) != 30*24-1 || points[0].Last != 24*3+1 {
		t.Errorf("there are %d hours from %v on, want %d from %d on", len(points), points[0].Last, 30*24-1, 24*3+1)
	}
	list, err := os.ReadDir(r.dir)
	if err != nil || len(list) != 1 {
		t.Fatal(list, err)
	}
	info, err := list[0].Info()
	if err != nil {
		t.Fatal(err)
	}
	if size = info.Size(); size > 4096+2*20*(24*60+30*24) { // the temperature, and whether the device works
		t.Errorf("the file has %d bytes", size)
	}
}

// The history keeps only what a device has reported itself, at a time that can be true.
func TestOnlyTrueReadingsAreKept(t *testing.T) {
	r := newRig(t)
	commanded := reading("temperature", 50, r.now)
	commanded.Commanded = new(true)
	r.report("hall", commanded)
	r.report("hall", reading("temperature", math.NaN(), r.now))
	r.report("hall", reading("temperature", math.Inf(1), r.now))
	r.report("hall", reading("temperature", 1e300, r.now))
	r.report("hall", reading("temperature", 1, r.now.Add(time.Hour)), reading("temperature", 2, r.now.AddDate(-1, 0, 0)))
	r.report("hall", mess.StateReading{Quantity: "temperature", Value: 3, AsOf: "yesterday"})
	if _, points := r.series("temperature", time.Hour); points != nil {
		t.Errorf("the history has %v, want nothing", points)
	}
	r.measure(4)
	r.report("hall", reading("temperature", 5, r.now)) // the same time: a repeated report
	if _, points := r.series("temperature", time.Hour); !slices.Equal(last(points), []float64{4}) {
		t.Errorf("the history has %v, want 4", points)
	}
}

// A failing device is not reached, and a device at work is working.
func TestFailuresAndWorkAreKept(t *testing.T) {
	r := newRig(t)
	state := mess.DeviceState{Device: "hall", State: "docked", Readings: []mess.StateReading{reading("docked", 1, r.now)}}
	for range 3 {
		r.Record("pi", []mess.DeviceState{state})
		r.now = r.now.Add(time.Minute)
		state.Failing, state.State, state.Doing = &mess.DeviceFailing{Reason: "no answer"}, "cleaning", "cleaning"
	}
	for quantity, want := range map[string][]float64{history.Reached: {1, 0, 0}, history.Working: {0, 1, 1}} {
		if _, points := r.series(quantity, time.Hour); !slices.Equal(last(points), want) {
			t.Errorf("%s is %v, want %v", quantity, last(points), want)
		}
	}
}

// A damaged file or slot costs its readings alone, and the next write repairs the file.
func TestDamageCostsOnlyReadings(t *testing.T) {
	r := newRig(t)
	r.measure(20)
	r.now = r.now.Add(time.Minute)
	r.measure(21)
	r.restart()
	name := filepath.Join(r.dir, "pi~hall.ring")
	data, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	const reached = 20 * (24*60 + 30*24)          // bytes of the series before that of the temperature
	for i := 4096 + reached; i < len(data); i++ { // damage the first slot of the temperature
		if data[i] != 0 {
			data[i] ^= 1
			break
		}
	}
	r.put(name, data)
	if _, points := r.series("temperature", time.Hour); !slices.Equal(last(points), []float64{21}) {
		t.Errorf("with a damaged slot the history has %v, want 21", last(points))
	}
	r.put(name, []byte("\x00\x01 nothing"))
	if _, points := r.series("temperature", time.Hour); points != nil {
		t.Errorf("a damaged file has %v", points)
	}
	r.now = r.now.Add(time.Minute)
	r.measure(22)
	r.restart()
	if _, points := r.series("temperature", time.Hour); !slices.Equal(last(points), []float64{22}) {
		t.Errorf("after the repair the history has %v, want 22", last(points))
	}
}

func (r *rig) put(name string, data []byte) {
	r.Helper()
	if err := os.WriteFile(name, data, 0o600); err != nil {
		r.Fatal(err)
	}
}

// No name of an executor or a device leaves the folder, and names do not collide.
func TestNamesStayInFolder(t *testing.T) {
	r := newRig(t)
	names := []string{"../hall", "..", ".", "a/b", "a~b", "a%2Fb", "hall\x00", "Hall", "hall", strings.Repeat("x", 300), ""}
	for i, device := range names {
		r.now = r.now.Add(time.Second)
		r.report(device, reading("temperature", float64(i), r.now))
	}
	r.restart()
	for i, device := range names {
		_, all, err := r.Query("pi", device, r.now.Add(-time.Hour), r.now)
		if err != nil {
			t.Errorf("%q: %v", device, err)
			continue
		}
		got := -1.0
		for _, one := range all {
			if one.Quantity == "temperature" {
				got = one.Points[0].Last
			}
		}
		want := float64(i)
		if device == "" || len(device) > 200 {
			want = -1
		}
		if got != want {
			t.Errorf("%q has %v, want %v", device, got, want)
		}
	}
	outside, err := os.ReadDir(filepath.Dir(r.dir))
	if err != nil || len(outside) != 1 {
		t.Errorf("files outside of the folder: %v %v", outside, err)
	}
}

// Any content of a file gives an answer without a panic, and finite values.
func FuzzFile(f *testing.F) {
	f.Add([]byte(`{"messkit_history":1,"series":[{"quantity":"temperature"}]}`))
	f.Add([]byte(`{"messkit_history":1,"series":[{},{},{},{},{},{},{},{},{}]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		r := newRig(t)
		r.put(filepath.Join(r.dir, "pi~hall.ring"), data)
		for range 2 {
			for _, since := range []time.Duration{time.Hour, 100 * 24 * time.Hour} {
				_, all, err := r.Query("pi", "hall", r.now.Add(-since), r.now)
				if err != nil {
					t.Fatal(err)
				}
				for _, one := range all {
					for _, p := range one.Points {
						if math.IsNaN(p.Last+p.Min+p.Max) || math.IsInf(p.Last+p.Min+p.Max, 0) {
							t.Fatal(p)
						}
					}
				}
			}
			r.measure(20)
			r.restart()
		}
	})
}
