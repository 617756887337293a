package printer_test

import (
	"errors"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/messkit/messkit/drivers"
	"github.com/messkit/messkit/drivers/drivertest"
	"github.com/messkit/messkit/drivers/printer"
	"github.com/messkit/messkit/internal/strictyaml"
)

func open(config string) (*printer.Printer, error) {
	env := drivers.Env{Name: "printer", Log: slog.New(slog.DiscardHandler), Now: time.Now, Shared: &drivers.Shared{}}
	d, err := printer.Kind().Open(env, func(out any) error { return strictyaml.Decode("home.yaml", []byte(config), out) })
	if err != nil {
		return nil, err
	}
	return d.(*printer.Printer), nil
}

// quick returns a printer with a shorter poll interval than a configuration allows.
func quick(t *testing.T, b *bench, more string) *printer.Printer {
	t.Helper()
	cfg := printer.DefaultConfig()
	if err := strictyaml.Decode("home.yaml", []byte("url: "+b.URL+"\ntoken: "+key+"\nserver: "+b.kind+"\n"+more), &cfg); err != nil {
		t.Fatal(err)
	}
	cfg.Poll = 5 * time.Millisecond
	p, err := printer.New(drivers.Env{Name: "printer", Log: slog.New(slog.DiscardHandler), Now: time.Now}, cfg)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func each(t *testing.T, test func(t *testing.T, b *bench, p *printer.Printer)) {
	t.Helper()
	for _, kind := range slices.Sorted(maps.Keys(faces)) {
		t.Run(kind, func(t *testing.T) {
			b := newBench(t, kind)
			p := quick(t, b, "")
			if err := p.Start(); err != nil {
				t.Fatal(err)
			}
			test(t, b, p)
		})
	}
}

func TestConformance(t *testing.T) {
	for _, kind := range slices.Sorted(maps.Keys(faces)) {
		t.Run(kind, func(t *testing.T) {
			b := newBench(t, kind)
			drivertest.Run(t, func(t *testing.T) drivers.Device { b.renew(); return quick(t, b, "") },
				drivertest.Safe(func() error {
					if phase, heats := b.machine().is(); phase == "printing" || phase == "paused" || heats {
						return errors.New(phase)
					}
					return nil
				}))
		})
	}
}

// follow polls a print until its end.
func follow(t *testing.T, p *printer.Printer, one drivers.Print) (last drivers.PrintState, seen []drivers.PrintState) {
	t.Helper()
	for range 100 {
		s, err := p.PrintState(t.Context(), one)
		if err != nil {
			t.Fatal(err)
		}
		seen = append(seen, s)
		if s.Finished {
			return s, seen
		}
	}
	t.Fatal("the print does not end")
	return last, seen
}

func TestPrintsAFileByName(t *testing.T) {
	each(t, func(t *testing.T, b *bench, p *printer.Printer) {
		one, err := p.Print(t.Context(), "benchy")
		if err != nil || one.File != "benchy_0.2mm_PLA_1h35m.gcode" || !slices.Equal(b.machine().log(), []string{"start benchy_0.2mm_PLA_1h35m.gcode"}) {
			t.Fatalf("%+v, %v, %q", one, err, b.machine().log())
		}
		last, seen := follow(t, p, one)
		if last.Err != nil || last.Percent != 100 || len(seen) < layers/2 {
			t.Errorf("%+v after %d looks", last, len(seen))
		}
		mid := seen[len(seen)/2]
		if mid.Percent <= 0 || mid.Percent >= 100 || !strings.HasPrefix(mid.Activity, "printing benchy_0.2mm_PLA_1h35m.gcode") || b.kind != "moonraker" && mid.TimeLeft == 0 {
			t.Errorf("%+v", mid)
		}
		if b.kind == "moonraker" && (mid.Layers != layers || mid.Layer == 0) {
			t.Errorf("%+v", mid)
		}
		for _, name := range []string{"vase", "../../etc/passwd", "benchy_0.2mm_PLA_1h35m.gcode", ""} {
			before := len(b.machine().log())
			if _, err := p.Print(t.Context(), name); !errors.Is(err, drivers.ErrNothingDone) || len(b.machine().log()) != before {
				t.Errorf("%q: %v, %q", name, err, b.machine().log())
			}
		}
	})
}

func TestFileNames(t *testing.T) {
	each(t, func(t *testing.T, b *bench, p *printer.Printer) {
		b.machine().set(func(m *machine) {
			m.files = append(m.files, "../outside.gcode", "Gear-Box_v2.gcode", "gear_0.1mm.gcode", "gear_0.2mm.gcode")
		})
		areas, err := p.Areas(t.Context())
		want := []string{"benchy", "cube", "gear 0 1mm", "gear 0 2mm", "gear box v2", "old dragon", "toys dragon"}
		if b.kind == "prusalink" { // the driver does not search its other folders
			want = []string{"benchy", "gear 0 1mm", "gear 0 2mm", "gear box v2"}
		}
		var got []string
		for _, a := range areas {
			got = append(got, a.Name)
		}
		slices.Sort(got)
		if diff := cmp.Diff(want, got); err != nil || diff != "" {
			t.Errorf("%v\n%s", err, diff)
		}
		named := quick(t, b, "files: {boat: benchy_0.2mm_PLA_1h35m.gcode}")
		if err := named.Start(); err != nil {
			t.Fatal(err)
		}
		if areas, err := named.Areas(t.Context()); err != nil || len(areas) != 1 || areas[0].Name != "boat" {
			t.Errorf("%v, %v", areas, err)
		}
		if _, err := named.Print(t.Context(), "cube"); !errors.Is(err, drivers.ErrNothingDone) {
			t.Error(err)
		}
	})
}

// The files of a PrusaLink have short names on the card; people see the long names.
func TestLongFileNames(t *testing.T) {
	b := newBench(t, "prusalink")
	b.machine().set(func(m *machine) { m.files = append(m.files, "VASE~1.BGC") })
	p := quick(t, b, "")
	if err := p.Start(); err != nil {
		t.Fatal(err)
	}
	one, err := p.Print(t.Context(), "vase")
	if err != nil || one.File != "VASE~1.BGC" || one.Label != "vase_0.2mm_PLA_2h10m.bgcode" {
		t.Fatalf("%+v, %v", one, err)
	}
	if s, err := p.PrintState(t.Context(), one); err != nil || s.Activity != "printing vase_0.2mm_PLA_2h10m.bgcode" {
		t.Errorf("%+v, %v", s, err)
	}
	if o, err := p.Observe(t.Context()); err != nil || !strings.Contains(o.Text, "printing vase_0.2mm_PLA_2h10m.bgcode;") {
		t.Errorf("%+v, %v", o, err)
	}
	if left, err := p.Stop(t.Context()); err != nil || !strings.Contains(left, "of vase_0.2mm_PLA_2h10m.bgcode) lies on the bed") {
		t.Errorf("%q, %v", left, err)
	}
}

func TestPauseResumeAndCancel(t *testing.T) {
	each(t, func(t *testing.T, b *bench, p *printer.Printer) {
		if err := p.Pause(t.Context()); !errors.Is(err, drivers.ErrNothingDone) {
			t.Error(err)
		}
		one, err := p.Print(t.Context(), "benchy")
		if err != nil {
			t.Fatal(err)
		}
		b.machine().set(func(m *machine) { m.frozen, m.layer = true, 4 })
		if _, err := p.Print(t.Context(), "benchy"); !errors.Is(err, drivers.ErrBusy) {
			t.Error(err)
		}
		if err := p.Pause(t.Context()); err != nil {
			t.Fatal(err)
		}
		s, err := p.PrintState(t.Context(), one)
		still, rerr := p.AtRest(t.Context())
		if err != nil || rerr != nil || !s.Paused || s.Finished || s.Help != nil || !still || !strings.HasPrefix(s.Activity, "paused: ") {
			t.Errorf("%+v, %t, %v, %v", s, still, err, rerr)
		}
		if err := p.Resume(t.Context()); err != nil {
			t.Fatal(err)
		}
		left, err := p.Stop(t.Context())
		phase, heats := b.machine().is()
		if err != nil || phase != "cancelled" || heats || !strings.Contains(left, "lies on the bed, which still has 60 °C: remove it when the bed is cold") {
			t.Errorf("%q, %v, %s, heats %t", left, err, phase, heats)
		}
		if cools := strings.Contains(left, "the heaters are off"); cools == (b.kind == "prusalink") {
			t.Error(left)
		}
		if s, err := p.PrintState(t.Context(), one); err != nil || !s.Finished || s.Err == nil || !strings.Contains(s.Err.Error(), "canceled") {
			t.Errorf("%+v, %v", s, err)
		}
	})
}

// Find finds a print by its file and start time, while it runs and after its end, and
// starts none.
func TestFind(t *testing.T) {
	each(t, func(t *testing.T, b *bench, p *printer.Printer) {
		since := time.Now()
		if _, err := p.FindPrint(t.Context(), "benchy", since); err == nil {
			t.Error("a print is found that was never begun")
		}
		if _, err := p.Print(t.Context(), "benchy"); err != nil {
			t.Fatal(err)
		}
		one, err := p.FindPrint(t.Context(), "benchy", since)
		if err != nil || one.File != "benchy_0.2mm_PLA_1h35m.gcode" {
			t.Fatalf("%+v, %v", one, err)
		}
		for _, other := range []time.Time{since.Add(time.Hour), since.Add(-time.Hour)} {
			found, err := p.FindPrint(t.Context(), "benchy", other)
			if kept := b.kind != "prusalink" && other.Before(since); (err == nil) != kept {
				t.Errorf("%v: %+v, %v", other.Sub(since), found, err)
			}
		}
		follow(t, p, one)
		again, err := p.FindPrint(t.Context(), "benchy", since)
		if b.kind == "prusalink" {
			if err == nil || !strings.Contains(err.Error(), "it does not print") {
				t.Errorf("%+v, %v", again, err)
			}
		} else if s, perr := p.PrintState(t.Context(), again); err != nil || perr != nil || !s.Finished || s.Err != nil || s.Percent != 100 {
			t.Errorf("%+v, %+v, %v, %v", again, s, err, perr)
		}
		if log := b.machine().log(); len(log) != 1 {
			t.Errorf("%q", log)
		}
	})
}

// The driver does not take the end of the previous print for the end of the new one, which
// may begin late. A cancel before that returns an error until the print has begun and
// stopped.
func TestSameFileTwice(t *testing.T) {
	each(t, func(t *testing.T, b *bench, p *printer.Printer) {
		const start = "start benchy_0.2mm_PLA_1h35m.gcode"
		one, err := p.Print(t.Context(), "benchy")
		if err != nil {
			t.Fatal(err)
		}
		follow(t, p, one)
		b.machine().set(func(m *machine) { m.acts, m.deaf = nil, true })
		if again, err := p.Print(soon(t, b, start), "benchy"); !errors.Is(err, drivers.ErrMayAct) {
			t.Fatalf("%+v, %v", again, err)
		}
		b.machine().set(func(m *machine) { m.deaf = false })
		if left, err := p.Stop(t.Context()); !errors.Is(err, drivers.ErrMayAct) {
			t.Errorf("%q, %v", left, err)
		}
		b.machine().set(func(m *machine) { m.frozen = true; m.begin(one.File) })
		if left, err := p.Stop(t.Context()); err != nil || !strings.Contains(left, "lies on the bed") {
			t.Errorf("%q, %v", left, err)
		}
		if phase, _ := b.machine().is(); phase != "cancelled" {
			t.Error(phase)
		}
		if _, err := p.Stop(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

// A graceful shutdown lets a print continue, and a stop cancels it, unless the
// configuration says otherwise.
func TestLeaveAndHalt(t *testing.T) {
	each(t, func(t *testing.T, b *bench, p *printer.Printer) {
		if _, err := p.Print(t.Context(), "benchy"); err != nil {
			t.Fatal(err)
		}
		b.machine().set(func(m *machine) { m.frozen = true })
		if err := p.Detach(); err != nil {
			t.Fatal(err)
		}
		if phase, _ := b.machine().is(); phase != "printing" {
			t.Error(phase)
		}
		if err := quick(t, b, "safe: keep").Halt(); err != nil {
			t.Fatal(err)
		}
		if phase, _ := b.machine().is(); phase != "printing" {
			t.Error(phase)
		}
		if safe, err := p.Safe(t.Context()); err != nil || safe {
			t.Errorf("%t, %v", safe, err)
		}
		if err := p.Halt(); err != nil {
			t.Fatal(err)
		}
		if phase, heats := b.machine().is(); phase != "cancelled" || heats {
			t.Errorf("%s, heats %t", phase, heats)
		}
		if safe, err := p.Safe(t.Context()); err != nil || !safe {
			t.Errorf("%t, %v", safe, err)
		}
	})
}

func TestProgressText(t *testing.T) {
	each(t, func(t *testing.T, b *bench, p *printer.Printer) {
		b.machine().set(func(m *machine) { m.frozen = true })
		if _, err := p.Print(t.Context(), "benchy"); err != nil {
			t.Fatal(err)
		}
		b.machine().set(func(m *machine) { m.layer = 4 })
		seen, err := p.Observe(t.Context())
		if err != nil || !strings.Contains(seen.Text, "printing benchy_0.2mm_PLA_1h35m.gcode") || !strings.Contains(seen.Text, "40 % is done") || strings.Contains(seen.Text, " 0s") {
			t.Errorf("%+v, %v", seen, err)
		}
		r, err := p.Read(t.Context())
		if err != nil || r[0].Quantity != "progress" || r[0].Value != 40 {
			t.Errorf("%+v, %v", r, err)
		}
	})
}

func TestConfigMistakes(t *testing.T) {
	for _, c := range []struct{ config, want string }{
		{"server: moonraker", "url: is missing"},
		{"url: http://x\nserver: duet", `server: "duet" is unknown; write moonraker, octoprint or prusalink`},
		{"url: http://x\nserver: moonraker\npoll: 1s", "poll: 1s is not between 2s and 1m0s"},
		{"url: http://x\nserver: moonraker\nsafe: off", `safe: "off" is unknown; write cancel or keep`},
		{"url: http://x\nserver: moonraker\nfiles: {boat: ../etc/passwd}", `files: boat: "../etc/passwd" is not a path on the printer`},
		{"url: http://x\nserver: moonraker\nfiles: {'-': a.gcode}", `files: "-" has no letters or digits`},
		{"url: http://x\nserver: prusalink\nstorage: ../x", `storage: "../x" is unknown`},
	} {
		if _, err := open(c.config); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q: %v", c.config, err)
		}
	}
}
