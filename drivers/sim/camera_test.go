package sim_test

import (
	"bytes"
	"image"
	"image/jpeg"
	"slices"
	"strings"
	"testing"

	"github.com/messkit/messkit/drivers"
	"github.com/messkit/messkit/drivers/sim"
)

// brightness returns the brightness of a rectangle of a new image, 0 to 255.
func brightness(t *testing.T, camera drivers.Device, at image.Rectangle) int {
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
	sum := 0
	for y := at.Min.Y; y < at.Max.Y; y++ {
		for x := at.Min.X; x < at.Max.X; x++ {
			r, g, b, _ := img.At(x, y).RGBA()
			sum += int((r + g + b) / 3 >> 8)
		}
	}
	return sum / (at.Dx() * at.Dy())
}

func observe(t *testing.T, d drivers.Device) drivers.Observation {
	t.Helper()
	o, err := d.(drivers.Observer).Observe(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return o
}

var (
	lampGlass = image.Rect(855, 280, 905, 340)
	wall      = image.Rect(950, 100, 1250, 500) // next to the lamp
)

// The devices of one program share one home: the camera shows the lamp.
func TestCameraShowsTheLamp(t *testing.T) {
	var shared drivers.Shared
	lamp := started(t, &shared, "sim-lamp", "")
	camera := started(t, &shared, "sim-camera", "room: porch")
	for name, at := range map[string]image.Rectangle{"glass": lampGlass, "wall": wall} {
		dark := brightness(t, camera, at)
		if err := lamp.(drivers.Switch).Switch(t.Context(), true); err != nil {
			t.Fatal(err)
		}
		if lit := brightness(t, camera, at); lit < 2*dark+30 {
			t.Errorf("%s: brightness is %d dark, %d lit", name, dark, lit)
		}
		if o := observe(t, camera); !strings.Contains(o.Text, "porch light is on") {
			t.Errorf("%+v", o)
		}
		if err := lamp.(drivers.Switch).Switch(t.Context(), false); err != nil {
			t.Fatal(err)
		}
		if again := brightness(t, camera, at); again != dark {
			t.Errorf("%s: brightness is %d off again, was %d", name, again, dark)
		}
	}
}

func TestImageShowsFridge(t *testing.T) {
	var shared drivers.Shared
	camera := started(t, &shared, "sim-camera", "room: fridge")
	milk := image.Rect(156, 240, 250, 270) // its blue label
	full := brightness(t, camera, milk)
	o := observe(t, camera)
	if !strings.Contains(o.Text, "milk, 6 eggs") || !slices.Contains(o.Facts, drivers.Fact{Name: "half a lemon", Value: true}) {
		t.Errorf("%+v", o)
	}
	w := worldOf(t, &shared)
	w.SetFridge()
	if empty := brightness(t, camera, milk); empty < full+30 {
		t.Errorf("brightness is %d with milk, %d without", full, empty)
	}
	if o := observe(t, camera); o.Text != "The fridge is empty." || len(o.Facts) != 0 {
		t.Errorf("%+v", o)
	}
	// More items than the shelves have space for, and items without a drawing.
	w.SetFridge(strings.Split(strings.Repeat("pizza,", 30), ",")...)
	brightness(t, camera, milk)
}

func TestImageShowsOtherRooms(t *testing.T) {
	var shared drivers.Shared
	w := worldOf(t, &shared)
	kitchen := started(t, &shared, "sim-camera", "room: kitchen")
	living := started(t, &shared, "sim-camera", "room: living-room")
	if o := observe(t, kitchen); o.Text != "On the floor of the kitchen: rice near sink and crumbs by stove. The coffee machine is off." {
		t.Error(o.Text)
	}
	if o := observe(t, living); o.Text != "The floor of the living room is clean. The vacuum is in its dock. The floor lamp is off." {
		t.Error(o.Text)
	}
	for _, c := range []struct {
		camera drivers.Device
		line   string
		at     image.Rectangle
	}{
		{kitchen, sim.CoffeeMachine, image.Rect(641, 106, 649, 114)},
		{living, sim.LivingRoomLamp, image.Rect(120, 110, 180, 180)},
	} {
		off := brightness(t, c.camera, c.at)
		w.SetLine(c.line, true)
		if on := brightness(t, c.camera, c.at); on < off+40 {
			t.Errorf("%s: brightness is %d off, %d on", c.line, off, on)
		}
	}
}
