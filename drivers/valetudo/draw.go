package valetudo

import (
	"fmt"
	"image"
	"image/color"
	"math"

	"github.com/messkit/messkit/drivers"
)

// Colors of a map as indexes of the palette.
const (
	paper = iota
	ground
	wall
	way
	dockMark
	robotMark
	firstRoom
)

var palette = color.Palette{
	color.RGBA{250, 250, 250, 255},
	color.RGBA{205, 215, 225, 255},
	color.RGBA{60, 60, 70, 255},
	color.RGBA{255, 255, 255, 255},
	color.RGBA{30, 140, 60, 255},
	color.RGBA{200, 30, 40, 255},
	color.RGBA{140, 180, 225, 255},
	color.RGBA{240, 200, 140, 255},
	color.RGBA{165, 210, 160, 255},
	color.RGBA{225, 165, 180, 255},
	color.RGBA{190, 170, 220, 255},
}

const (
	drawnEdge = 1200 // approximate length of the longer edge of the image in pixels
	margin    = 8    // map pixels around the drawing
)

// canvas draws enlarged map pixels.
type canvas struct {
	img    *image.Paletted
	scale  int
	origin image.Point
}

func (f floor) draw() (canvas, error) {
	box := f.bounds()
	if box.Dx() > maxEdge || box.Dy() > maxEdge {
		return canvas{}, fmt.Errorf("the map has %d by %d pixels, above the limit of %d", box.Dx(), box.Dy(), maxEdge)
	}
	box = box.Inset(-margin)
	scale := max(1, drawnEdge/max(box.Dx(), box.Dy()))
	c := canvas{image.NewPaletted(image.Rect(0, 0, box.Dx()*scale, box.Dy()*scale), palette), scale, box.Min}
	rooms := 0
	for _, kind := range []string{"floor", "segment", "wall"} {
		for _, l := range f.Layers {
			if l.Type != kind {
				continue
			}
			ink := map[string]uint8{"floor": ground, "wall": wall}[kind]
			if kind == "segment" {
				ink = firstRoom + uint8(rooms%(len(palette)-firstRoom))
				rooms++
			}
			for i := 0; i < len(l.Runs); i += 3 {
				c.fill(image.Rect(l.Runs[i], l.Runs[i+1], l.Runs[i]+l.Runs[i+2], l.Runs[i+1]+1), ink)
			}
		}
	}
	for _, e := range f.Entities {
		c.entity(e, float64(f.PixelSize))
	}
	return c, nil
}

// place returns where the rooms, the robot and its dock are on the drawing of c.
func (f floor) place(c canvas, rooms []room) drivers.FloorMap {
	cm := float64(f.PixelSize)
	m := drivers.FloorMap{Width: c.img.Rect.Dx(), Height: c.img.Rect.Dy(), MetersPerPixel: cm / 100 / float64(c.scale)}
	boxes := map[string]image.Rectangle{}
	for _, l := range f.Layers {
		if l.Type == "segment" {
			boxes[l.id()] = boxes[l.id()].Union(l.bounds())
		}
	}
	for _, r := range rooms {
		if box := boxes[r.ID].Sub(c.origin); !r.Missing && !boxes[r.ID].Empty() {
			m.Rooms = append(m.Rooms, drivers.MapRoom{
				Name: r.Name, X: float64(box.Min.X * c.scale), Y: float64(box.Min.Y * c.scale), Width: float64(box.Dx() * c.scale), Height: float64(box.Dy() * c.scale),
			})
		}
	}
	for _, e := range f.Entities {
		if len(e.Points) < 2 {
			continue
		}
		at := &drivers.MapPoint{X: (e.Points[0]/cm - float64(c.origin.X)) * float64(c.scale), Y: (e.Points[1]/cm - float64(c.origin.Y)) * float64(c.scale)}
		if !(at.X >= 0 && at.Y >= 0 && at.X <= float64(m.Width) && at.Y <= float64(m.Height)) { // also NaN
			continue
		}
		switch e.Type {
		case "robot_position":
			m.Robot = at
		case "charger_location":
			m.Dock = at
		}
	}
	return m
}

func (f floor) bounds() image.Rectangle {
	var box image.Rectangle
	for _, l := range f.Layers {
		box = box.Union(l.bounds())
	}
	return box
}

func (l layer) bounds() image.Rectangle {
	var box image.Rectangle
	for i := 0; i < len(l.Runs); i += 3 {
		box = box.Union(image.Rect(l.Runs[i], l.Runs[i+1], l.Runs[i]+l.Runs[i+2], l.Runs[i+1]+1))
	}
	return box
}

// fill fills a rectangle of map pixels.
func (c canvas) fill(r image.Rectangle, ink uint8) {
	r = r.Sub(c.origin)
	r = image.Rect(r.Min.X*c.scale, r.Min.Y*c.scale, r.Max.X*c.scale, r.Max.Y*c.scale).Intersect(c.img.Rect)
	for y := r.Min.Y; y < r.Max.Y; y++ {
		row := c.img.Pix[c.img.PixOffset(r.Min.X, y):c.img.PixOffset(r.Max.X, y)]
		for i := range row {
			row[i] = ink
		}
	}
}

// entity draws the path, the dock or the robot.
func (c canvas) entity(e entity, cm float64) {
	at := func(i int) image.Point {
		x, y := e.Points[i]/cm-float64(c.origin.X), e.Points[i+1]/cm-float64(c.origin.Y)
		clamp := func(v float64) int { return int(min(2*maxEdge, max(-maxEdge, v)) * float64(c.scale)) }
		return image.Pt(clamp(x), clamp(y))
	}
	for i := 0; i+1 < len(e.Points); i += 2 {
		switch e.Type {
		case "path":
			if i > 0 {
				c.line(at(i-2), at(i))
			}
		case "charger_location":
			c.disc(at(i), 3*c.scale, dockMark)
		case "robot_position":
			c.disc(at(i), 3*c.scale, robotMark)
		}
	}
}

func (c canvas) line(a, b image.Point) {
	n := max(1, int(math.Hypot(float64(b.X-a.X), float64(b.Y-a.Y))))
	if n > c.img.Rect.Dx()+c.img.Rect.Dy() {
		return // no valid path leaves the map
	}
	for i := range n + 1 {
		p := image.Pt(a.X+(b.X-a.X)*i/n, a.Y+(b.Y-a.Y)*i/n)
		if p.In(c.img.Rect) {
			c.img.SetColorIndex(p.X, p.Y, way)
		}
	}
}

func (c canvas) disc(at image.Point, radius int, ink uint8) {
	for y := -radius; y <= radius; y++ {
		for x := -radius; x <= radius; x++ {
			if p := at.Add(image.Pt(x, y)); x*x+y*y <= radius*radius && p.In(c.img.Rect) {
				c.img.SetColorIndex(p.X, p.Y, ink)
			}
		}
	}
}
