package scene

import (
	"image"
	"image/color"
	"image/draw"
	"math"

	"golang.org/x/image/vector"
)

// Size of every image in pixels.
const (
	width  = 1280
	height = 960
)

// canvas draws shapes with smooth edges.
type canvas struct {
	img *image.RGBA
	r   *vector.Rasterizer
}

func newCanvas() *canvas {
	return &canvas{image.NewRGBA(image.Rect(0, 0, width, height)), &vector.Rasterizer{}}
}

// nrgba is a color whose components are independent of its opacity.
type nrgba = color.NRGBA

// rgb returns an opaque color from 0xRRGGBB.
func rgb(hex uint32) nrgba {
	return nrgba{R: uint8(hex >> 16), G: uint8(hex >> 8), B: uint8(hex), A: 255}
}

// alpha returns c with an opacity from 0 to 1.
func alpha(c nrgba, a float64) nrgba {
	c.A = uint8(255 * a)
	return c
}

// mix returns the color between a and b at part, from 0 to 1.
func mix(a, b nrgba, part float64) nrgba {
	f := func(x, y uint8) uint8 { return uint8(float64(x) + (float64(y)-float64(x))*part) }
	return nrgba{R: f(a.R, b.R), G: f(a.G, b.G), B: f(a.B, b.B), A: f(a.A, b.A)}
}

// polygon fills a shape.
func (c *canvas) polygon(col nrgba, xy ...float64) {
	c.fill(col, xy, func(ox, oy float64) {
		c.r.MoveTo(float32(xy[0]-ox), float32(xy[1]-oy))
		for i := 2; i+1 < len(xy); i += 2 {
			c.r.LineTo(float32(xy[i]-ox), float32(xy[i+1]-oy))
		}
		c.r.ClosePath()
	})
}

// fill fills the shape that path draws from the given corner, and that lies between the
// points xy. It processes only that part of the image, which saves time.
func (c *canvas) fill(col nrgba, xy []float64, path func(ox, oy float64)) {
	x0, y0, x1, y1 := xy[0], xy[1], xy[0], xy[1]
	for i := 2; i+1 < len(xy); i += 2 {
		x0, x1 = min(x0, xy[i]), max(x1, xy[i])
		y0, y1 = min(y0, xy[i+1]), max(y1, xy[i+1])
	}
	at := image.Rect(int(math.Floor(x0)), int(math.Floor(y0)), int(math.Ceil(x1))+1, int(math.Ceil(y1))+1).Intersect(c.img.Bounds())
	if at.Empty() {
		return
	}
	c.r.Reset(at.Dx(), at.Dy())
	path(float64(at.Min.X), float64(at.Min.Y))
	c.r.Draw(c.img, at, image.NewUniform(col), image.Point{})
}

func (c *canvas) rect(x, y, w, h float64, col nrgba) {
	c.polygon(col, x, y, x+w, y, x+w, y+h, x, y+h)
}

// shade fills a rectangle with a gradient from top to bottom.
func (c *canvas) shade(x, y, w, h float64, top, bottom nrgba) {
	for i := range int(h) {
		at := image.Rect(int(x), int(y)+i, int(x+w), int(y)+i+1)
		draw.Draw(c.img, at, image.NewUniform(mix(top, bottom, float64(i)/h)), image.Point{}, draw.Over)
	}
}

// round fills a rectangle with round corners of radius r.
func (c *canvas) round(x, y, w, h, r float64, col nrgba) {
	r = min(r, w/2, h/2)
	const parts = 8 // of a corner
	var xy []float64
	for corner, at := range [][2]float64{{x + w - r, y + h - r}, {x + r, y + h - r}, {x + r, y + r}, {x + w - r, y + r}} {
		for i := range parts + 1 {
			sin, cos := math.Sincos(math.Pi / 2 * (float64(corner) + float64(i)/parts))
			xy = append(xy, at[0]+r*cos, at[1]+r*sin)
		}
	}
	c.polygon(col, xy...)
}

// ellipse fills an ellipse around a center.
func (c *canvas) ellipse(cx, cy, rx, ry float64, col nrgba) {
	const corners = 48
	xy := make([]float64, 0, 2*corners)
	for i := range corners {
		s, k := math.Sincos(2 * math.Pi * float64(i) / corners)
		xy = append(xy, cx+rx*k, cy+ry*s)
	}
	c.polygon(col, xy...)
}

// stroke draws a line with a thickness.
func (c *canvas) stroke(x1, y1, x2, y2, thick float64, col nrgba) {
	l := math.Hypot(x2-x1, y2-y1)
	if l == 0 {
		return
	}
	dx, dy := (y1-y2)/l*thick/2, (x2-x1)/l*thick/2
	c.polygon(col, x1+dx, y1+dy, x2+dx, y2+dy, x2-dx, y2-dy, x1-dx, y1-dy)
}

// polyline draws a line through points, with round corners.
func (c *canvas) polyline(thick float64, col nrgba, points ...Point) {
	for i, p := range points {
		if i > 0 {
			c.stroke(points[i-1].x, points[i-1].y, p.x, p.y, thick, col)
		}
		c.ellipse(p.x, p.y, thick/2, thick/2, col)
	}
}

// outline draws the edge of a rectangle.
func (c *canvas) outline(x, y, w, h, thick float64, col nrgba) {
	c.rect(x, y, w, thick, col)
	c.rect(x, y+h-thick, w, thick, col)
	c.rect(x, y+thick, thick, h-2*thick, col)
	c.rect(x+w-thick, y+thick, thick, h-2*thick, col)
}

// lamp is a light source in the image.
type lamp struct {
	x, y  float64
	reach float64 // distance in pixels at which the light is half as strong
	col   nrgba
	power float64
}

// light changes the colors of daylight to those under an ambient light (1 is day) and
// lamps.
func (c *canvas) light(ambient nrgba, lamps ...lamp) {
	for y := range height {
		row := c.img.Pix[y*c.img.Stride : (y+1)*c.img.Stride]
		for x := range width {
			r, g, b := float64(ambient.R), float64(ambient.G), float64(ambient.B)
			for _, l := range lamps {
				dx, dy := float64(x)-l.x, float64(y)-l.y
				f := l.power / (1 + (dx*dx+dy*dy)/(l.reach*l.reach))
				r, g, b = r+f*float64(l.col.R), g+f*float64(l.col.G), b+f*float64(l.col.B)
			}
			p := row[4*x : 4*x+3]
			p[0] = uint8(min(255, float64(p[0])*r/255))
			p[1] = uint8(min(255, float64(p[1])*g/255))
			p[2] = uint8(min(255, float64(p[2])*b/255))
		}
	}
}

// glow draws the haze around a light source.
func (c *canvas) glow(cx, cy, radius float64, col nrgba, strength float64) {
	for y := max(0, int(cy-radius)); y < min(height, int(cy+radius)); y++ {
		row := c.img.Pix[y*c.img.Stride:]
		for x := max(0, int(cx-radius)); x < min(width, int(cx+radius)); x++ {
			d := math.Hypot(float64(x)-cx, float64(y)-cy) / radius
			if d >= 1 {
				continue
			}
			f := (1 - d) * (1 - d) * strength
			for i, add := range [3]uint8{col.R, col.G, col.B} {
				row[4*x+i] = uint8(min(255, float64(row[4*x+i])+float64(add)*f))
			}
		}
	}
}

// tag draws a word on a light background, centered on x.
func (c *canvas) tag(x, y float64, s string) {
	const size = 24
	w := lengthOf(s, size) + 24
	c.round(x-w/2, y-25, w, 34, 10, alpha(rgb(0xfffdf6), 0.85))
	c.text(x, y, size, 0.5, rgb(0x3a2c17), s)
}

// caption draws the title and the time of an image.
func (c *canvas) caption(what string, s Scene) {
	c.rect(0, height-44, width, 44, alpha(rgb(0x000000), 0.6))
	c.text(20, height-14, 22, 0, rgb(0xffffff), what+" (simulated)")
	c.text(width-20, height-14, 22, 1, rgb(0xffffff), s.Now.Format("2006-01-02 15:04:05"))
}
