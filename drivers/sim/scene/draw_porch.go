package scene

// drawPorch draws the front door by night: in moonlight, or in the light of the lamp next
// to it.
func drawPorch(c *canvas, s Scene) {
	on := s.Lines[PorchLamp]
	drawFrontWall(c)
	drawFrontDoor(c)
	drawFlowers(c)
	moon := rgb(0x2a3042)
	if on {
		c.light(moon, lamp{x: lampX, y: lampY, reach: 330, col: rgb(0xffd9a0), power: 1.05})
	} else {
		c.light(moon)
	}
	drawWindow(c)
	drawLantern(c, on)
	c.caption("porch, light "+OnOff(on), s)
}

func drawFrontWall(c *canvas) {
	c.shade(0, 0, width, 770, rgb(0x9fb0ac), rgb(0x8a9a96))
	for i := range 15 { // boards of the wall
		c.rect(0, float64(i)*52, width, 4, rgb(0x6f7e7a))
		c.rect(0, float64(i)*52+4, width, 3, rgb(0xb6c5c1))
	}
	c.shade(0, 770, width, 190, rgb(0xb09472), rgb(0x8a7154))
	for i := range 13 { // boards of the floor
		x := float64(i)*120 - 80
		c.polygon(rgb(0x6f5940), x, 770, x+4, 770, x+(x-640)*0.3+6, height, x+(x-640)*0.3, height)
	}
	c.rect(0, 764, width, 10, rgb(0x6f7e7a))
}

func drawFrontDoor(c *canvas) {
	c.rect(420, 140, 320, 630, rgb(0xf0ebe0)) // frame
	c.rect(444, 164, 272, 606, rgb(0xa53a2c)) // door
	for _, p := range [][2]float64{{474, 330}, {592, 330}, {474, 560}, {592, 560}} {
		c.round(p[0], p[1], 94, 190, 6, rgb(0x842b20))
		c.round(p[0]+8, p[1]+8, 78, 174, 5, rgb(0xb2483a))
	}
	c.round(474, 196, 212, 100, 10, rgb(0x842b20)) // pane
	c.round(482, 204, 196, 84, 6, rgb(0x7e95a8))
	c.rect(577, 204, 6, 84, rgb(0x842b20))
	c.text(580, 126, 34, 0.5, rgb(0x2b3330), "12")
	c.ellipse(694, 520, 13, 13, rgb(0xe8c766))
	c.round(686, 546, 16, 36, 4, rgb(0xc8a64e))
	c.polygon(rgb(0x5a6a4f), 455, 792, 705, 792, 730, 856, 430, 856) // mat
	c.text(580, 836, 30, 0.5, rgb(0xe3e8cf), "WELCOME")
}

func drawFlowers(c *canvas) {
	c.ellipse(1070, 838, 92, 14, alpha(rgb(0x2a2118), 0.4))
	for i := range 7 {
		x, y := 1000+float64(i)*23, 590-float64(i%3)*34
		c.stroke(1070, 700, x, y, 8, rgb(0x4f9142))
		for k := range 5 {
			c.ellipse(x+[]float64{0, 15, 9, -9, -15}[k], y+[]float64{-14, -4, 12, 12, -4}[k], 10, 10, rgb(0xeaa3c6))
		}
		c.ellipse(x, y, 8, 8, rgb(0xf4d35e))
	}
	c.polygon(rgb(0xc06a45), 1004, 700, 1136, 700, 1116, 836, 1024, 836)
	c.rect(994, 690, 152, 26, rgb(0xcf7b54))
}

// drawWindow draws the window next to the door, with some light of the living room.
func drawWindow(c *canvas) {
	c.rect(90, 220, 230, 300, rgb(0x5d6166))
	c.shade(104, 234, 202, 272, rgb(0x3c3a3a), rgb(0x57493a))
	for i := range 4 {
		c.shade(108+float64(i)*14, 234, 8, 272, rgb(0x4a4340), rgb(0x6a5742))
		c.shade(252+float64(i)*14, 234, 8, 272, rgb(0x4a4340), rgb(0x6a5742))
	}
	c.rect(201, 234, 8, 272, rgb(0x5d6166))
	c.rect(104, 364, 202, 8, rgb(0x5d6166))
	c.rect(78, 516, 254, 16, rgb(0x666a6e))
}

// Position of the lamp in pixels.
const (
	lampX = 880
	lampY = 300
)

func drawLantern(c *canvas, on bool) {
	metal, glass := rgb(0x22252b), rgb(0x363d49)
	if on {
		glass = rgb(0xfff1bd)
		c.glow(lampX, lampY, 420, rgb(0xffcf80), 0.35)
	}
	c.round(lampX-24, lampY-128, 48, 60, 8, metal) // on the wall
	c.rect(lampX-5, lampY-90, 10, 40, metal)
	c.polygon(metal, lampX-54, lampY-34, lampX-14, lampY-76, lampX+14, lampY-76, lampX+54, lampY-34)
	c.polygon(glass, lampX-42, lampY-34, lampX+42, lampY-34, lampX+30, lampY+56, lampX-30, lampY+56)
	if on {
		c.glow(lampX, lampY+8, 130, rgb(0xfff2cc), 0.9)
		c.ellipse(lampX, lampY+14, 15, 24, rgb(0xffffff))
	}
	for _, x := range []float64{-1, 0, 1} { // bars of the lantern
		c.stroke(lampX+x*42, lampY-34, lampX+x*30, lampY+56, 5, metal)
	}
	c.round(lampX-36, lampY+54, 72, 14, 4, metal)
}
