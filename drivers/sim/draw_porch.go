package sim

import "image/color"

// drawPorch looks at the front door by night: dark, or in the light of the
// lamp beside it.
func drawPorch(c *canvas, s scene) {
	on := s.lines[porchLine] == 1
	lit := 0.16 // of the colours by day
	if on {
		lit = 0.78
	}
	dark := rgb(0x05070d)
	by := func(hex uint32) color.NRGBA { return mix(dark, rgb(hex), lit) }
	c.shade(0, 0, width, height, by(0x8d8270), by(0x6f6556))
	for i := range 15 { // boards of the wall
		c.rect(0, float64(i)*52, width, 3, by(0x5d5446))
	}
	c.shade(0, 760, width, 200, by(0x7a6a55), by(0x4b4034))
	for i := range 9 { // boards of the floor
		x := float64(i) * 160
		c.polygon(by(0x55483a), x, 760, x+4, 760, x+(x-640)*0.35+6, 960, x+(x-640)*0.35, 960)
	}
	c.rect(430, 150, 320, 612, by(0xe8e2d6)) // frame
	c.rect(452, 172, 276, 590, by(0x7c2f26)) // door
	for _, p := range [][2]float64{{480, 210}, {600, 210}, {480, 480}, {600, 480}} {
		c.round(p[0], p[1], 100, 220, 8, by(0x662318))
		c.round(p[0]+8, p[1]+8, 84, 204, 6, by(0x8a372c))
	}
	c.ellipse(704, 476, 12, 12, by(0xe0c060))
	c.round(470, 772, 240, 60, 8, by(0x3f4a3a)) // mat
	c.text(590, 811, 26, 0.5, by(0xb9c2a8), "WELCOME")
	c.polygon(by(0xa5583a), 1010, 690, 1130, 690, 1112, 800, 1028, 800) // flower pot
	for i := range 7 {
		x := 1010 + float64(i)*20
		c.stroke(1070, 690, x, 590-float64(i%3)*30, 7, by(0x4c8a3f))
		c.ellipse(x, 585-float64(i%3)*30, 15, 15, by(0xe4b7d0))
	}
	drawLamp(c, on)
	what := "porch, light off"
	if on {
		what = "porch, light on"
	}
	c.caption(what, s)
}

// Where the lamp hangs, in pixels; tests look there.
const (
	lampX = 870
	lampY = 300
)

func drawLamp(c *canvas, on bool) {
	c.round(lampX-16, lampY-110, 32, 70, 6, rgb(0x1b1c1f))
	c.polygon(rgb(0x1b1c1f), lampX-46, lampY-36, lampX, lampY-80, lampX+46, lampY-36)
	glass := rgb(0x2a2e35)
	if on {
		glass = rgb(0xfff2b8)
	}
	c.polygon(glass, lampX-38, lampY-36, lampX+38, lampY-36, lampX+28, lampY+46, lampX-28, lampY+46)
	c.stroke(lampX, lampY-36, lampX, lampY+46, 4, rgb(0x1b1c1f))
	c.round(lampX-32, lampY+46, 64, 12, 4, rgb(0x1b1c1f))
	if on {
		c.glow(lampX, lampY, 620, rgb(0xffd070), 0.42)
		c.glow(lampX, lampY+6, 120, rgb(0xfff6d8), 1)
	}
}
