package valetudo_test

import (
	"bytes"
	"image"
	"image/color"
	"testing"

	"github.com/messkit/messkit/drivers"
)

func TestMapShowsTheHome(t *testing.T) {
	h := newFakeServer(t)
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

// The positions on the map fit its picture: the marks of the robot and the dock, and the color of each room.
func TestMapKnowsItsRooms(t *testing.T) {
	v := started(t, newFakeServer(t))
	m, err := v.FloorMap(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	img, _, err := image.Decode(bytes.NewReader(m.Data))
	if err != nil || img.Bounds().Dx() != m.Width || img.Bounds().Dy() != m.Height || m.MetersPerPixel <= 0 || m.MetersPerPixel > 0.05 {
		t.Fatalf("%v, %v, %d by %d pixels of %v m", img.Bounds(), err, m.Width, m.Height, m.MetersPerPixel)
	}
	areas, err := v.Areas(t.Context())
	if err != nil || len(m.Rooms) == 0 || len(m.Rooms) != len(areas) {
		t.Fatalf("%+v, %v; the robot has the rooms %v", m.Rooms, err, areas)
	}
	colors := map[color.Color]bool{}
	for i, r := range m.Rooms {
		if r.Name != areas[i].Name {
			t.Errorf("room %q, want %q", r.Name, areas[i].Name)
		}
		if r.X < 0 || r.Y < 0 || r.Width < 1 || r.Height < 1 || r.X+r.Width > float64(m.Width) || r.Y+r.Height > float64(m.Height) {
			t.Errorf("%s is outside of the picture: %+v", r.Name, r)
		}
		colors[img.At(int(r.X+2), int(r.Y+2))] = true
	}
	if len(colors) != len(m.Rooms) {
		t.Errorf("%d colors at the corners of %d rooms", len(colors), len(m.Rooms))
	}
	for name, mark := range map[string]struct {
		at *drivers.MapPoint
		is color.RGBA
	}{"robot": {m.Robot, color.RGBA{200, 30, 40, 255}}, "dock": {m.Dock, color.RGBA{30, 140, 60, 255}}} {
		if mark.at == nil {
			t.Errorf("no %s", name)
			continue
		}
		found := false
		for _, by := range []float64{-8, 0, 8} { // the other mark may cover a part
			found = found || img.At(int(mark.at.X+by), int(mark.at.Y)) == color.Color(mark.is)
		}
		if !found {
			t.Errorf("the %s is not at %+v", name, *mark.at)
		}
	}
}
