package scene

func drawKitchenWindow(c *canvas) {
	c.rect(430, 24, 330, 142, rgb(0xfbf8f1))
	c.shade(442, 36, 306, 118, rgb(0x16233f), rgb(0x37507c)) // night
	c.ellipse(690, 66, 17, 17, rgb(0xf5efd2))
	c.ellipse(682, 61, 15, 15, rgb(0x1f2f50))
	for _, star := range [][2]float64{{480, 60}, {530, 96}, {570, 52}, {630, 118}, {655, 60}, {500, 126}, {720, 120}} {
		c.ellipse(star[0], star[1], 2, 2, rgb(0xffffff))
	}
	c.rect(592, 36, 7, 118, rgb(0xfbf8f1))
	c.rect(418, 162, 354, 12, rgb(0xe5dcc8))
}

// drawCupboards draws the counter and the cupboards below it.
func drawCupboards(c *canvas) {
	c.shade(0, 236, 1040, kitchenFar-236, rgb(0x88a9a5), rgb(0x6d8f8b))
	for i := range 7 {
		x := float64(i)*150 + 12
		c.round(x, 250, 134, 130, 5, rgb(0x5f807c))
		c.round(x+3, 253, 128, 124, 4, rgb(0x7fa09c))
		c.round(x+47, 264, 40, 8, 4, rgb(0xe8e4da))
	}
	c.rect(0, kitchenFar-16, 1040, 16, rgb(0x3c4a49))
	c.shade(0, 210, 1040, 28, rgb(0x5c5d63), rgb(0x44454b))
	c.rect(0, 206, 1040, 6, rgb(0x7b7d84))
}

func drawSink(c *canvas, x float64) {
	c.round(x-110, 200, 220, 20, 8, rgb(0xdde4e8))
	c.round(x-96, 206, 192, 10, 5, rgb(0x8b979f))
	c.polyline(13, rgb(0xb4c0c7), Point{x, 204}, Point{x, 118}, Point{x + 12, 104}, Point{x + 46, 104}, Point{x + 58, 116}, Point{x + 58, 138})
	c.polyline(5, rgb(0xe9eff2), Point{x - 2, 200}, Point{x - 2, 120}, Point{x + 12, 102}, Point{x + 44, 102})
	c.round(x-44, 182, 26, 20, 5, rgb(0xb4c0c7))
	c.text(x-52, 168, 24, 0.5, rgb(0x6a5f4e), "sink")
}

func drawStove(c *canvas, x float64) {
	c.rect(x-115, 206, 230, kitchenFar-206, rgb(0x2e3238))
	c.rect(x-115, 206, 230, 8, rgb(0x15181c))
	for i := range 4 {
		k := x - 78 + float64(i)*52
		c.ellipse(k, 236, 14, 14, rgb(0xd5dade))
		c.rect(k-2, 224, 4, 14, rgb(0x3a3f45))
	}
	c.round(x-92, 266, 184, 100, 8, rgb(0x14171b)) // oven
	c.round(x-80, 290, 160, 64, 6, rgb(0x23282e))
	c.round(x-84, 272, 168, 9, 4, rgb(0xbcc4ca))
	c.round(x-70, 140, 140, 66, 10, rgb(0xb5483c)) // pot
	c.round(x-94, 156, 24, 12, 5, rgb(0x8c342a))
	c.round(x+70, 156, 24, 12, 5, rgb(0x8c342a))
	c.round(x-76, 132, 152, 14, 6, rgb(0x8c342a))
	c.round(x-16, 116, 32, 16, 7, rgb(0x33373c))
	c.text(x, 98, 24, 0.5, rgb(0x6a5f4e), "stove")
}

// drawCoffeeMachine draws the machine, with a light and a full pot while it is on.
func drawCoffeeMachine(c *canvas, x float64, on bool) {
	c.round(x-52, 92, 104, 40, 8, rgb(0x2b2f36))
	c.rect(x+18, 120, 34, 88, rgb(0x2b2f36))
	c.round(x-56, 192, 112, 16, 6, rgb(0x2b2f36))
	c.polygon(alpha(rgb(0xcfe0e8), 0.85), x-44, 144, x+8, 144, x+14, 192, x-50, 192)
	led := rgb(0x5d6269)
	if on {
		led = rgb(0x6dff8e)
		c.polygon(rgb(0x4a2a16), x-47, 162, x+11, 162, x+14, 192, x-50, 192)
		c.glow(x+35, 110, 46, led, 0.8)
		for i := range 3 { // steam
			c.polyline(5, alpha(rgb(0xffffff), 0.55), Point{x - 40 + float64(i)*22, 84}, Point{x - 32 + float64(i)*22, 66}, Point{x - 40 + float64(i)*22, 48})
		}
	}
	c.rect(x-22, 132, 10, 10, rgb(0x15181c))
	c.ellipse(x+35, 110, 8, 8, led)
}

func drawFridgeOutside(c *canvas) {
	c.rect(1232, 40, 10, kitchenFar-40, alpha(rgb(0x3d352a), 0.25))
	c.round(1024, 36, 212, kitchenFar-36, 14, rgb(0xe6eaed))
	c.shade(1034, 46, 192, 110, rgb(0xf6f8f9), rgb(0xdde3e7))
	c.shade(1034, 164, 192, kitchenFar-176, rgb(0xf3f6f7), rgb(0xd2dadf))
	c.rect(1024, 156, 212, 8, rgb(0x9aa6ad))
	c.round(1044, 96, 10, 50, 5, rgb(0x8d999f))
	c.round(1044, 176, 10, 96, 5, rgb(0x8d999f))
	c.round(1024, kitchenFar-10, 212, 12, 4, rgb(0x50585d))
}
