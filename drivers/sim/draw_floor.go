package sim

import (
	"fmt"
	"image/color"
	"math"
)

// drawKitchen looks at the kitchen from above the door: sink and stove at the
// far wall, and the floor before them.
func drawKitchen(c *canvas, s scene) {
	c.shade(0, 0, width, 330, rgb(0xe9e2d3), rgb(0xd9cfbc))
	c.shade(0, 330, width, 630, rgb(0xb98f63), rgb(0x8f6a45))
	for i := range 12 { // boards of the floor
		y := 330 + math.Pow(float64(i)/12, 1.6)*630
		c.rect(0, y, width, 2, alpha(rgb(0x6a4a2c), 0.5))
	}
	c.rect(0, 190, width, 24, rgb(0x70757a)) // counter
	c.shade(0, 214, width, 150, rgb(0x8fa3ad), rgb(0x76898f))
	for i := range 9 {
		c.rect(float64(i)*150, 214, 4, 150, rgb(0x5e7077))
		c.round(float64(i)*150+64, 232, 30, 8, 4, rgb(0x3d4a50))
	}
	c.round(210, 176, 210, 20, 6, rgb(0xc6ced3)) // sink
	c.stroke(315, 180, 315, 96, 12, rgb(0xaab4ba))
	c.stroke(310, 100, 372, 100, 12, rgb(0xaab4ba))
	c.stroke(368, 98, 368, 136, 10, rgb(0xaab4ba))
	c.text(315, 80, 22, 0.5, rgb(0x5a5246), "sink")
	c.rect(860, 176, 230, 188, rgb(0x2b2e33)) // stove
	c.rect(880, 244, 190, 92, rgb(0x11151a))
	for i := range 4 {
		c.ellipse(895+float64(i)*53, 205, 13, 13, rgb(0xc9ced3))
	}
	c.round(905, 120, 140, 58, 8, rgb(0x9b3d33)) // pot
	c.rect(890, 114, 170, 10, rgb(0x7f2d25))
	c.text(975, 96, 22, 0.5, rgb(0x5a5246), "stove")
	for i, one := range s.spills {
		if one.room == "kitchen" {
			x, y := onFloor(one.at)
			crumbs(c, x, y, uint32(i+7), one.what)
		}
	}
	if s.robot.at.x < rooms[0].w {
		x, y := onFloor(s.robot.at)
		disc(c, x, y, 62, 30, s.robot.heading)
	}
	c.caption("kitchen", s)
}

// onFloor is where a point of the kitchen's floor is in its picture.
func onFloor(p point) (x, y float64) {
	depth := p.y / rooms[0].h
	y = 400 + math.Pow(depth, 1.3)*480
	return 640 + (p.x-2.1)/2.1*(520+120*depth), y
}

// crumbs strews grains about a point; the same seed strews the same.
func crumbs(c *canvas, x, y float64, seed uint32, what string) {
	col := rgb(0xf6f1e2) // rice
	if what != "rice" {
		col = rgb(0x5e3b1b)
	}
	for range 90 {
		seed = seed*1664525 + 1013904223
		a := float64(seed>>8&0xffff) / 0xffff * 2 * math.Pi
		seed = seed*1664525 + 1013904223
		d := math.Sqrt(float64(seed>>8&0xffff) / 0xffff)
		c.ellipse(x+math.Cos(a)*d*105, y+math.Sin(a)*d*34, 6, 3.4, col)
	}
	c.text(x, y+64, 24, 0.5, rgb(0xfff6e5), what)
}

// disc is the vacuum.
func disc(c *canvas, x, y, rx, ry, heading float64) {
	c.ellipse(x, y+ry*0.5, rx, ry, alpha(rgb(0x000000), 0.35))
	c.ellipse(x, y, rx, ry, rgb(0x33383f))
	c.ellipse(x, y-4, rx*0.86, ry*0.86, rgb(0x4a525b))
	c.ellipse(x+math.Cos(heading)*rx*0.6, y-4+math.Sin(heading)*ry*0.6, rx*0.16, ry*0.2, rgb(0x53e07f))
}

// drawMap is the vacuum's map: rooms, what lies about, the way driven.
func drawMap(c *canvas, s scene) {
	const scale, left, top = 150.0, 40.0, 90.0 // pixels a metre
	px := func(p point) (x, y float64) { return left + p.x*scale, top + p.y*scale }
	c.rect(0, 0, width, height, rgb(0xf2f4f6))
	tints := []color.NRGBA{rgb(0xdbe9f6), rgb(0xe6f0dc)}
	for i, r := range rooms {
		x, y := px(point{r.x, r.y})
		c.rect(x, y, r.w*scale, r.h*scale, tints[i])
		c.text(x+r.w*scale/2, y+r.h*scale-30, 34, 0.5, rgb(0x51606e), r.name)
	}
	for _, r := range rooms {
		x, y := px(point{r.x, r.y})
		w, h := r.w*scale, r.h*scale
		for _, wall := range [][4]float64{{x, y, x + w, y}, {x, y + h, x + w, y + h}, {x, y, x, y + h}, {x + w, y, x + w, y + h}} {
			c.stroke(wall[0], wall[1], wall[2], wall[3], 10, rgb(0x46525c))
		}
	}
	doorX, doorY := px(point{rooms[1].x, 3})
	c.rect(doorX-6, doorY, 12, 1.1*scale, mix(tints[0], tints[1], 0.5))
	for _, f := range []struct {
		at   point
		name string
	}{{point{1, 0.35}, "sink"}, {point{3.1, 0.35}, "stove"}} {
		x, y := px(f.at)
		c.round(x-60, y-36, 120, 56, 8, rgb(0xb7c3cc))
		c.text(x, y, 24, 0.5, rgb(0x33404a), f.name)
	}
	for _, one := range s.spills {
		x, y := px(one.at)
		c.ellipse(x, y, 46, 34, alpha(rgb(0xd98a2b), 0.75))
		c.text(x, y+66, 24, 0.5, rgb(0x8a5310), one.what)
	}
	for i := 1; i < len(s.robot.path); i++ {
		x1, y1 := px(s.robot.path[i-1])
		x2, y2 := px(s.robot.path[i])
		c.stroke(x1, y1, x2, y2, 7, alpha(rgb(0x1f6fd1), 0.7))
	}
	x, y := px(dock)
	c.round(x-34, y-46, 68, 26, 6, rgb(0x2b3138))
	c.text(x-10, y+62, 22, 0.5, rgb(0x33404a), "dock")
	x, y = px(s.robot.at)
	disc(c, x, y, 34, 34, s.robot.heading)
	c.text(40, 58, 30, 0, rgb(0x33404a), fmt.Sprintf("floor · battery %.0f %%", s.robot.battery))
	c.caption("map", s)
}
