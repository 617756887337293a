package sim_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"image"
	"image/jpeg"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/messkit/messkit/drivers"
	"github.com/messkit/messkit/drivers/drivertest"
	"github.com/messkit/messkit/drivers/sim"
	"github.com/messkit/messkit/internal/strictyaml"
)

// bench opens devices in a world of their own and asks that world.
type bench struct {
	world *sim.World
	line  string
}

func (b *bench) relay(*testing.T) drivers.Device {
	b.world = sim.NewWorld(time.Now)
	return sim.NewRelay("porch-light", sim.RelayConfig{Line: b.line, Initial: "off", Safe: "off"}, b.world)
}

func (b *bench) camera(*testing.T) drivers.Device {
	b.world = sim.NewWorld(time.Now)
	return sim.NewCamera("porch-camera", sim.CameraConfig{Room: "porch"}, b.world)
}

func (b *bench) vacuum(*testing.T) drivers.Device {
	b.world = sim.NewWorld(time.Now)
	return sim.NewVacuum("vacuum", sim.VacuumConfig{Pace: 60 * time.Millisecond}, b.world)
}

func (b *bench) acts() int { return len(b.world.Log()) }

func (b *bench) on() bool { return b.world.Line(b.line) == 1 }

func (b *bench) force(on bool) {
	b.world.SetLine(b.line, map[bool]byte{true: 1}[on])
}

func (b *bench) off() error {
	if b.on() {
		return errors.New("the lamp is on")
	}
	return nil
}

func (b *bench) still() error {
	log := b.world.Log()
	if n := len(log); n > 0 && log[n-1].What != "stands still" {
		return fmt.Errorf("the vacuum: %s", log[n-1].What)
	}
	return nil
}

func TestRelayKeepsTheRules(t *testing.T) {
	b := &bench{line: "porch-lamp"}
	drivertest.Run(t, b.relay, drivertest.Safe(b.off), drivertest.Acts(b.acts), drivertest.Level(b.on), drivertest.Force(b.force))
}

func TestCameraKeepsTheRules(t *testing.T) {
	b := &bench{}
	drivertest.Run(t, b.camera)
}

func TestVacuumKeepsTheRules(t *testing.T) {
	b := &bench{}
	drivertest.Run(t, b.vacuum, drivertest.Safe(b.still), drivertest.Acts(b.acts))
}

// open opens a device of a kind as a program does.
func open(t *testing.T, shared *drivers.Shared, kind, config string) (drivers.Device, error) {
	t.Helper()
	for _, k := range sim.Kinds() {
		if k.Name == kind {
			env := drivers.Env{Name: "it", Log: slog.New(slog.DiscardHandler), Now: time.Now, Shared: shared}
			return k.Open(env, func(out any) error { return strictyaml.Decode("c.yaml", []byte(config), out) })
		}
	}
	t.Fatalf("no kind %s", kind)
	return nil, nil
}

// The devices of one program share one home: the camera sees the lamp.
func TestThePictureShowsTheLamp(t *testing.T) {
	var shared drivers.Shared
	lamp, err := open(t, &shared, "sim-lamp", "")
	if err != nil {
		t.Fatal(err)
	}
	camera, err := open(t, &shared, "sim-camera", "room: porch")
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range []drivers.Device{lamp, camera} {
		if err := d.Start(); err != nil {
			t.Fatal(err)
		}
	}
	dark := brightness(t, camera)
	if err := lamp.(drivers.Switch).Switch(t.Context(), true); err != nil {
		t.Fatal(err)
	}
	lit := brightness(t, camera)
	if lit < dark+60 {
		t.Errorf("brightness about the lamp: %d dark, %d lit", dark, lit)
	}
	if o, err := camera.(drivers.Observer).Observe(t.Context()); err != nil || !strings.Contains(o.Text, "porch light is on") {
		t.Errorf("%+v, %v", o, err)
	}
	if err := lamp.Halt(); err != nil {
		t.Fatal(err)
	}
	if again := brightness(t, camera); again != dark {
		t.Errorf("after Halt: %d, dark is %d", again, dark)
	}
}

// brightness is that of the lamp's glass in a picture, 0 to 255.
func brightness(t *testing.T, camera drivers.Device) int {
	t.Helper()
	p, err := camera.(drivers.Photographer).Photo(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	img, err := jpeg.Decode(bytes.NewReader(p.Data))
	if err != nil {
		t.Fatal(err)
	}
	if img.Bounds() != image.Rect(0, 0, 1280, 960) || len(p.Data) > 512_000 {
		t.Errorf("%v, %d bytes", img.Bounds(), len(p.Data))
	}
	r, g, b, _ := img.At(885, 310).RGBA()
	return int((r + g + b) / 3 >> 8)
}

func TestFridgeSaysWhatIsIn(t *testing.T) {
	camera, err := open(t, &drivers.Shared{}, "sim-camera", "room: fridge")
	if err != nil {
		t.Fatal(err)
	}
	if err := camera.Start(); err != nil {
		t.Fatal(err)
	}
	o, err := camera.(drivers.Observer).Observe(t.Context())
	if err != nil || !strings.Contains(o.Text, "milk") || len(o.Facts) != 9 {
		t.Errorf("%+v, %v", o, err)
	}
	if p, err := camera.(drivers.Photographer).Photo(t.Context()); err != nil || p.MIME != "image/jpeg" {
		t.Error(err)
	}
}

func TestConfigMistakes(t *testing.T) {
	for _, c := range []struct{ kind, config, want string }{
		{"sim-camera", "", "room: is missing; write what the camera looks at: fridge, kitchen, porch"},
		{"sim-camera", "room: attic", `room: "attic" is not in the simulated home`},
		{"sim-lamp", "safe: maybe", `safe: "maybe" is unknown; write on, off or keep`},
		{"sim-lamp", "line: ''", "line: is empty"},
		{"sim-plug", "pin: 3", "pin: unknown key; known keys: initial, line, safe"},
		{"sim-vacuum", "pace: 1ms", "pace: 1ms is too short"},
	} {
		_, err := open(t, &drivers.Shared{}, c.kind, c.config)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s with %q: %v", c.kind, c.config, err)
		}
	}
}

func vacuum(t *testing.T, pace time.Duration) (*sim.Vacuum, *sim.World) {
	t.Helper()
	w := sim.NewWorld(time.Now)
	v := sim.NewVacuum("vacuum", sim.VacuumConfig{Pace: pace}, w)
	if err := v.Start(); err != nil {
		t.Fatal(err)
	}
	return v, w
}

// What is cleaned is gone from the floor, from the areas and from the map.
func TestVacuumCleansWhatItIsSentTo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		v, w := vacuum(t, 4*time.Second)
		from := time.Now()
		before, err := v.Map(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		out, err := v.Clean(t.Context(), []string{"near sink"}, nil)
		if err != nil || !slices.Equal(out.Done, []string{"near sink"}) || len(out.Remaining) != 0 {
			t.Fatalf("%+v, %v", out, err)
		}
		if took := time.Since(from); took != 4*time.Second {
			t.Errorf("took %v", took)
		}
		if left := w.Spills("kitchen"); !slices.Equal(left, []string{"by stove"}) {
			t.Errorf("left: %v", left)
		}
		areas, err := v.Areas(t.Context())
		if err != nil || len(areas) != 3 {
			t.Errorf("%+v, %v", areas, err)
		}
		after, err := v.Map(t.Context())
		if err != nil || bytes.Equal(before.Data, after.Data) {
			t.Error("the map has not changed", err)
		}
		if _, err := v.Clean(t.Context(), []string{"kitchen"}, nil); err != nil || len(w.Spills("")) != 0 {
			t.Errorf("%v, %v", err, w.Spills(""))
		}
		battery, err := v.Read(t.Context())
		if err != nil || battery[0].Value >= 100 {
			t.Errorf("%+v, %v", battery, err)
		}
		if err := v.Dock(t.Context()); err != nil {
			t.Fatal(err)
		}
		if battery, err = v.Read(t.Context()); err != nil || battery[0].Value != 100 {
			t.Errorf("%+v, %v", battery, err)
		}
	})
}

// A stop midway is told truthfully, and a second task meanwhile is refused.
func TestVacuumStopsMidway(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		v, w := vacuum(t, 4*time.Second)
		ctx, cancel := context.WithTimeout(t.Context(), 6*time.Second)
		defer cancel()
		time.AfterFunc(time.Second, func() {
			if _, err := v.Clean(t.Context(), nil, nil); !errors.Is(err, drivers.ErrBusy) {
				t.Errorf("a second task: %v", err)
			}
			if err := v.Dock(t.Context()); !errors.Is(err, drivers.ErrBusy) {
				t.Errorf("docking meanwhile: %v", err)
			}
		})
		out, err := v.Clean(ctx, []string{"near sink", "by stove"}, nil)
		if !errors.Is(err, context.DeadlineExceeded) || !slices.Equal(out.Done, []string{"near sink"}) || !slices.Equal(out.Remaining, []string{"by stove"}) {
			t.Errorf("%+v, %v", out, err)
		}
		log := w.Log()
		if last := log[len(log)-1]; last.What != "stands still" {
			t.Errorf("last: %+v", last)
		}
	})
}
