package imaging_test

import (
	"bytes"
	"fmt"
	"image"
	"image/color"
	"image/draw"
	"image/jpeg"
	"math"
	"math/rand/v2"

	"golang.org/x/image/font"
	"golang.org/x/image/font/basicfont"
	"golang.org/x/image/math/fixed"
)

// writeLines writes text in the middle of a picture, each pixel of the font scale pixels
// wide.
func writeLines(img *image.RGBA, ink color.Color, scale int, text ...string) {
	b := img.Bounds()
	for n, line := range text {
		small := image.NewAlpha(image.Rect(0, 0, 7*len(line), 13))
		d := font.Drawer{Dst: small, Src: image.Opaque, Face: basicfont.Face7x13, Dot: fixed.P(0, 11)}
		d.DrawString(line)
		x0, y0 := b.Dx()/2-small.Rect.Dx()*scale/2, b.Dy()/2+(2*n-len(text))*13*scale/2
		for y := range 13 * scale {
			for x := range small.Rect.Dx() * scale {
				if small.AlphaAt(x/scale, y/scale).A > 0 {
					img.Set(b.Min.X+x0+x, b.Min.Y+y0+y, ink)
				}
			}
		}
	}
}

func filled(w, h int, at func(x, y int) color.Color) *image.RGBA {
	img := image.NewRGBA(image.Rect(0, 0, w, h))
	for y := range h {
		for x := range w {
			img.Set(x, y, at(x, y))
		}
	}
	return img
}

func plain(c color.Color) func(int, int) color.Color { return func(int, int) color.Color { return c } }

func rgb(r, g, b int) color.RGBA { return color.RGBA{uint8(r), uint8(g), uint8(b), 255} }

// shot is a picture and the quality of its JPEG. A program draws it, and it shows no real place.
type shot struct {
	Name    string
	Image   *image.RGBA
	Quality int
}

// JPEG returns the picture as a JPEG.
func (s shot) JPEG() []byte {
	var b bytes.Buffer
	_ = jpeg.Encode(&b, s.Image, &jpeg.Options{Quality: s.Quality}) // a buffer takes all
	return b.Bytes()
}

// Again returns the picture as a camera takes it once more: some samples differ by the
// noise of its sensor.
func (s shot) Again(r *rand.Rand) shot {
	img := image.NewRGBA(s.Image.Rect)
	copy(img.Pix, s.Image.Pix)
	for range len(img.Pix) / 40 {
		i := r.IntN(len(img.Pix))
		img.Pix[i] = uint8(max(0, min(255, int(img.Pix[i])+r.IntN(17)-8)))
	}
	return shot{s.Name, img, s.Quality}
}

// drawnPages returns thirty pages: words and signs on plain, divided, shaded and patterned
// grounds.
func drawnPages() (list []shot) {
	add := func(name string, img *image.RGBA, quality int) { list = append(list, shot{name, img, quality}) }
	sizes := [][2]int{{640, 480}, {1280, 720}, {352, 288}, {800, 600}, {960, 540}}
	texts := [][]string{
		{"CONNECTION TO CAMERA LOST", "SINCE 2026-11-23 10:00:01"},
		{"NO SIGNAL"},
		{"UNABLE TO OPEN VIDEO DEVICE", "IS THE CAMERA PLUGGED IN?"},
		{"Camera offline", "Retrying ..."},
		{"No frames have been received", "check the error logs"},
	}
	grounds := []struct{ paper, ink color.RGBA }{
		{rgb(128, 128, 128), rgb(255, 255, 255)},
		{rgb(0, 0, 0), rgb(255, 255, 255)},
		{rgb(255, 255, 255), rgb(0, 0, 0)},
		{rgb(0, 0, 170), rgb(255, 255, 255)},
		{rgb(24, 26, 32), rgb(160, 160, 170)},
		{rgb(0, 70, 0), rgb(0, 255, 0)},
		{rgb(200, 30, 30), rgb(255, 255, 0)},
		{rgb(40, 40, 40), rgb(255, 60, 60)},
		{rgb(230, 230, 225), rgb(60, 60, 60)},
		{rgb(16, 16, 16), rgb(90, 90, 90)},
	}
	for i, g := range grounds {
		size := sizes[i%len(sizes)]
		img := filled(size[0], size[1], plain(g.paper))
		writeLines(img, g.ink, 1+i%3, texts[i%len(texts)]...)
		add(fmt.Sprint("words ", i), img, []int{75, 92, 60, 85, 95}[i%5])
	}
	for i := range 5 { // a bar above and below
		size := sizes[i]
		img := filled(size[0], size[1], plain(grounds[i].paper))
		bar := image.NewUniform(rgb(60+30*i, 50, 200-30*i))
		draw.Draw(img, image.Rect(0, 0, size[0], size[1]/8), bar, image.Point{}, draw.Src)
		draw.Draw(img, image.Rect(0, size[1]*9/10, size[0], size[1]), bar, image.Point{}, draw.Src)
		writeLines(img, grounds[i].ink, 2, texts[(i+1)%len(texts)]...)
		add(fmt.Sprint("bars ", i), img, 70+5*i)
	}
	for i := range 4 { // a crossed camera
		size := sizes[i]
		w, h := size[0], size[1]
		img := filled(w, h, func(x, y int) color.Color {
			dx, dy := float64(x-w/2), float64(y-h/2)
			r, ring := math.Hypot(dx, dy), float64(h)/4
			if math.Abs(r-ring) < float64(h)/60 || r < ring && math.Abs(dx-dy) < float64(h)/60 {
				return rgb(220, 40, 40)
			}
			return grounds[i+4].paper
		})
		add(fmt.Sprint("sign ", i), img, 80)
	}
	bars := []color.RGBA{rgb(192, 192, 192), rgb(192, 192, 0), rgb(0, 192, 192), rgb(0, 192, 0), rgb(192, 0, 192), rgb(192, 0, 0), rgb(0, 0, 192)}
	for i := range 3 { // color bars
		size := sizes[i]
		img := filled(size[0], size[1], func(x, _ int) color.Color { return bars[x*7/size[0]] })
		if i > 0 {
			writeLines(img, color.Black, 1+i, "NO VIDEO")
		}
		add(fmt.Sprint("color bars ", i), img, 75+5*i)
	}
	for i := range 4 { // shaded from top to bottom, or from the middle
		size := sizes[i]
		w, h := size[0], size[1]
		img := filled(w, h, func(x, y int) color.Color {
			v := 40 + 120*y/h
			if i%2 == 1 {
				v = 150 - int(100*math.Hypot(float64(x-w/2), float64(y-h/2))/float64(w))
			}
			return rgb(v/2, v/2+20, v)
		})
		writeLines(img, color.White, 2+i%2, texts[i]...)
		add(fmt.Sprint("shaded ", i), img, 70+6*i)
	}
	for i := range 2 { // a checkered ground, as programs draw transparency
		size := sizes[i]
		side := 16 << i
		img := filled(size[0], size[1], func(x, y int) color.Color {
			if (x/side+y/side)%2 == 0 {
				return rgb(102, 102, 102)
			}
			return rgb(153, 153, 153)
		})
		writeLines(img, color.Black, 3, "NO IMAGE")
		add(fmt.Sprint("chequered ", i), img, 85)
	}
	full := filled(800, 600, plain(rgb(0, 0, 130)))
	var all []string
	for i := range 20 {
		all = append(all, fmt.Sprintf("0x%08x: the stream has no key frame, retrying in %d s", i*7919, i))
	}
	writeLines(full, color.White, 1, all...)
	add("a screen of text", full, 80)
	half := filled(640, 480, func(x, _ int) color.Color {
		return map[bool]color.Color{true: color.Black, false: rgb(90, 90, 90)}[x < 320]
	})
	writeLines(half, rgb(250, 250, 250), 2, "OFFLINE")
	add("two halves", half, 90)
	return list
}

// field is smooth noise of values from -1 to 1: hills of a size in pixels.
type field struct {
	size float64
	grid [64][64]float64
}

func newField(r *rand.Rand, size float64) *field {
	f := &field{size: size}
	for y := range f.grid {
		for x := range f.grid[y] {
			f.grid[y][x] = 2*r.Float64() - 1
		}
	}
	return f
}

func (f *field) at(x, y float64) float64 {
	x, y = x/f.size, y/f.size
	ix, iy := math.Floor(x), math.Floor(y)
	ease := func(t float64) float64 { return t * t * (3 - 2*t) }
	u, v := ease(x-ix), ease(y-iy)
	g := func(dx, dy int) float64 { return f.grid[(int(iy)+dy)&63][(int(ix)+dx)&63] }
	return (g(0, 0)*(1-u)+g(1, 0)*u)*(1-v) + (g(0, 1)*(1-u)+g(1, 1)*u)*v
}

// kinds of scenes, by light and subject.
var kinds = []string{"room", "street", "night", "fog", "infrared", "wall", "window", "snow"}

// drawnScene returns picture number n as a camera takes it, with light that falls off, objects,
// texture, and the noise of a sensor.
func drawnScene(n int) shot {
	r := rand.New(rand.NewPCG(uint64(n), 77))
	kind := kinds[n%len(kinds)]
	size := [][2]int{{400, 300}, {352, 288}, {320, 240}}[r.IntN(3)]
	w, h := size[0], size[1]
	base, contrast, noise, things := 110.0, 60.0, 1.5+4*r.Float64(), 12
	switch kind {
	case "night":
		base, contrast, noise, things = 6+20*r.Float64(), 8+8*r.Float64(), 1.5+3*r.Float64(), 6
	case "fog":
		base, contrast, noise, things = 150+50*r.Float64(), 8+10*r.Float64(), 1+2*r.Float64(), 4
	case "infrared":
		base, contrast = 90, 45
	case "wall":
		base, contrast, noise, things = 160+40*r.Float64(), 10, 1.5+2*r.Float64(), 1
	case "window":
		base, contrast = 60, 40
	case "snow":
		base, contrast, noise, things = 215, 18, 1.5+2*r.Float64(), 5
	}
	large, middle, fine := newField(r, float64(w)/3), newField(r, float64(w)/14), newField(r, 9)
	type thing struct{ x, y, w, h, light, tint float64 }
	var list []thing
	for range things {
		list = append(list, thing{r.Float64() * float64(w), r.Float64() * float64(h), float64(w) * (0.03 + 0.2*r.Float64()), float64(h) * (0.05 + 0.3*r.Float64()), contrast * (2*r.Float64() - 1), 30 * (2*r.Float64() - 1)})
	}
	lampX, lampY := float64(w)*r.Float64(), float64(h)*r.Float64()/2
	tint := 12 * (2*r.Float64() - 1)
	img := filled(w, h, func(x, y int) color.Color {
		fx, fy := float64(x), float64(y)
		v := base + contrast*(0.7*large.at(fx, fy)+0.4*middle.at(fx, fy)+0.15*fine.at(fx, fy)) - contrast*0.3*math.Hypot(fx/float64(w)-0.5, fy/float64(h)-0.5)
		t := tint
		for _, o := range list {
			if math.Abs(fx-o.x) < o.w/2 && math.Abs(fy-o.y) < o.h/2 {
				v += o.light + 0.1*contrast*fine.at(fx*2, fy*2)
				t += o.tint
			}
		}
		switch kind {
		case "night":
			v += 230 * math.Exp(-math.Hypot(fx-lampX, fy-lampY)/(float64(w)*0.02))
		case "window":
			if fx > float64(w)*0.6 && fy < float64(h)*0.5 {
				v += 170
			}
		case "infrared":
			t = 0
		}
		v += noise * r.NormFloat64()
		if kind == "infrared" || kind == "fog" {
			t *= 0.2
		}
		clip := func(v float64) int { return int(max(0, min(255, v))) }
		return rgb(clip(v+t), clip(v), clip(v-t))
	})
	return shot{fmt.Sprintf("%s %d", kind, n), img, 45 + r.IntN(50)}
}
