package scene

import "math"

// Vertical positions of the furniture and of the floor's end, in pixels from the top.
const (
	kitchenFar  = 400
	kitchenNear = 900
)

// drawKitchen draws the kitchen from its south wall: the counter with sink and stove at the
// far side, and the floor in front of it.
func drawKitchen(c *canvas, s Scene) {
	c.shade(0, 0, width, kitchenFar, rgb(0xf3ead9), rgb(0xe2d6c0))
	drawBoards(c, kitchenFar, rgb(0xc79b6d), rgb(0xa3774c))
	drawKitchenWindow(c)
	drawCupboards(c)
	drawSink(c, 368)
	drawStove(c, 880)
	drawCoffeeMachine(c, 610, s.Lines[CoffeeMachine])
	drawFridgeOutside(c)
	for i, one := range s.Spills {
		if one.Room == "kitchen" {
			x, y := onFloor(0, one.at)
			strew(c, x, y, 100, 26, uint32(i+7), one.What)
			c.tag(x, y+60, one.What)
		}
	}
	drawRobotIn(c, s, 0)
	c.caption("kitchen", s)
}

// drawBoards draws a wooden floor from y down to the bottom.
func drawBoards(c *canvas, y float64, far, near nrgba) {
	c.shade(0, y, width, height-y, far, near)
	for i := range 13 {
		at := y + math.Pow(float64(i)/12, 1.5)*(height-y)
		c.rect(0, at, width, 2, alpha(rgb(0x5e4126), 0.45))
		for k := range 4 { // joints of the boards
			x := float64((k*389+i*211)%width) + 30
			c.rect(x, at, 2, math.Pow(float64(i+1)/12, 1.5)*(height-y)-(at-y), alpha(rgb(0x5e4126), 0.35))
		}
	}
	c.shade(0, y, width, 16, alpha(rgb(0x2a1c10), 0.5), alpha(rgb(0x2a1c10), 0))
}

// onFloor returns the position in the room's image of a point on its floor.
func onFloor(room int, p Point) (x, y float64) {
	r := rooms[room]
	depth := (p.y - counter.h) / (r.h - counter.h)
	y = kitchenFar + 10 + math.Pow(max(0, depth), 1.1)*(kitchenNear-kitchenFar-10)
	return width/2 + (p.x-r.x-r.w/2)/(r.w/2)*(520+110*depth), y
}

// drawRobotIn draws the vacuum if it is in the room.
func drawRobotIn(c *canvas, s Scene, room int) {
	if roomAt(s.Vacuum.at) != room {
		return
	}
	x, y := onFloor(room, s.Vacuum.at)
	size := 1 + 0.5*(y-kitchenFar)/(kitchenNear-kitchenFar)
	robotShadow(c, x, y+16*size, 60*size, 27*size)
	c.ellipse(x, y+9*size, 60*size, 27*size, rgb(0x1d2126)) // its side
	robotTop(c, x, y-4*size, 60*size, 27*size, s.Vacuum.heading)
}

func robotShadow(c *canvas, x, y, rx, ry float64) {
	c.ellipse(x, y, rx*1.06, ry*1.06, alpha(rgb(0x000000), 0.3))
}

// robotTop draws the vacuum from above; the green light is at its front.
func robotTop(c *canvas, x, y, rx, ry, heading float64) {
	sin, cos := math.Sincos(heading)
	c.ellipse(x, y, rx, ry, rgb(0x343a42))
	c.ellipse(x, y, rx*0.9, ry*0.9, rgb(0x59636e))
	c.ellipse(x, y, rx*0.86, ry*0.86, rgb(0x454e58))
	c.ellipse(x-cos*rx*0.15, y-sin*ry*0.15, rx*0.36, ry*0.36, rgb(0x2a2f36)) // the tower
	c.ellipse(x-cos*rx*0.15, y-sin*ry*0.15, rx*0.26, ry*0.26, rgb(0x6d7883))
	c.ellipse(x+cos*rx*0.62, y+sin*ry*0.62, rx*0.13, ry*0.13, rgb(0x5ef08c))
}

// strew scatters grains around a point; the same seed gives the same pattern.
func strew(c *canvas, x, y, rx, ry float64, seed uint32, what string) {
	col, edge := rgb(0xfffaf0), rgb(0x8f7f62) // rice
	if what != "rice" {
		col, edge = rgb(0x6b431d), rgb(0x3d2510)
	}
	for range 110 {
		seed = seed*1664525 + 1013904223
		a := float64(seed>>8&0xffff) / 0xffff * 2 * math.Pi
		seed = seed*1664525 + 1013904223
		d := float64(seed>>8&0xffff) / 0xffff // denser in the middle
		gx, gy := x+math.Cos(a)*d*rx, y+math.Sin(a)*d*ry
		c.ellipse(gx, gy+1.5, 5.5, 3.4, edge)
		c.ellipse(gx, gy, 5, 2.8, col)
	}
}
