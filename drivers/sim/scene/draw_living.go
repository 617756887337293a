package scene

// drawLivingRoom draws the living room from its south wall: the sofa, the dock, and a floor
// lamp.
func drawLivingRoom(c *canvas, s Scene) {
	on := s.Lines[LivingRoomLamp]
	c.shade(0, 0, width, kitchenFar, rgb(0xd9e2da), rgb(0xc5d1c6))
	drawBoards(c, kitchenFar, rgb(0xb98d62), rgb(0x946b44))
	c.rect(0, kitchenFar-18, width, 18, rgb(0xf2f0e8))
	drawPicture(c)
	drawRug(c)
	drawSofa(c)
	drawPlant(c)
	drawDock(c)
	ambient := rgb(0x7c8294)
	if on {
		c.light(ambient, lamp{x: floorLampX, y: 170, reach: 420, col: rgb(0xffd9a0), power: 0.5})
	} else {
		c.light(ambient)
	}
	drawFloorLamp(c, on)
	for i, one := range s.Spills {
		if one.Room == "living room" {
			x, y := onFloor(1, one.at)
			strew(c, x, y, 100, 26, uint32(i+7), one.What)
			c.tag(x, y+60, one.What)
		}
	}
	drawRobotIn(c, s, 1)
	c.caption("living room", s)
}

const floorLampX = 150

func drawFloorLamp(c *canvas, on bool) {
	shade := rgb(0x8d8577)
	if on {
		shade = rgb(0xffe9b8)
		c.glow(floorLampX, 150, 330, rgb(0xffcf80), 0.16)
	}
	c.rect(floorLampX-4, 190, 8, 236, rgb(0x2d2a26))
	c.ellipse(floorLampX, 428, 52, 12, rgb(0x2d2a26))
	c.polygon(shade, floorLampX-44, 90, floorLampX+44, 90, floorLampX+82, 200, floorLampX-82, 200)
}

func drawPicture(c *canvas) {
	c.rect(400, 40, 260, 150, rgb(0x5b4330))
	c.shade(412, 52, 236, 126, rgb(0x8fc1e3), rgb(0xd9ecf5))
	c.ellipse(600, 84, 18, 18, rgb(0xffe08a))
	c.polygon(rgb(0x6f9a6b), 412, 178, 480, 92, 548, 178)
	c.polygon(rgb(0x4f7d55), 490, 178, 570, 112, 648, 178)
}

func drawSofa(c *canvas) {
	c.ellipse(460, 466, 330, 20, alpha(rgb(0x20160c), 0.4))
	c.round(190, 226, 540, 190, 26, rgb(0x2f6f7e)) // back
	c.round(236, 310, 224, 112, 18, rgb(0x3f8796)) // cushions
	c.round(466, 310, 224, 112, 18, rgb(0x3f8796)) //
	c.round(150, 280, 90, 176, 30, rgb(0x286270))  // arms
	c.round(680, 280, 90, 176, 30, rgb(0x286270))  //
	c.rect(196, 412, 528, 44, rgb(0x2a6674))       // front
	c.round(264, 262, 104, 100, 20, rgb(0xe9b44c)) // pillows
	c.round(590, 270, 96, 92, 20, rgb(0xd96c4f))   //
	c.rect(206, 454, 20, 14, rgb(0x3b2a1a))        // feet
	c.rect(694, 454, 20, 14, rgb(0x3b2a1a))        //
}

func drawRug(c *canvas) {
	c.polygon(rgb(0xa8443d), 330, 540, 960, 540, 1060, 780, 240, 780)
	c.polygon(rgb(0xe8d3ae), 352, 556, 940, 556, 1028, 764, 272, 764)
	c.polygon(rgb(0xb9564c), 372, 570, 922, 570, 1000, 750, 300, 750)
}

func drawPlant(c *canvas) {
	for i := range 7 {
		k := float64(i - 3)
		x, y := 1172+k*28, 150+k*k*12 // the tip
		mx, my := 1180+k*22, 235+k*k*2
		c.polygon(rgb([]uint32{0x3f7f46, 0x55995a}[i%2]), 1174, 330, mx-20, my, x, y, mx+16, my+8, 1186, 330)
	}
	c.polygon(rgb(0xd8d2c4), 1128, 318, 1232, 318, 1216, 424, 1144, 424)
}

// drawDock draws the dock of the vacuum at the wall.
func drawDock(c *canvas) {
	x, y := onFloor(1, Point{dock.x, 0})
	c.round(x-62, y-64, 124, 70, 8, rgb(0x2b3036))
	c.round(x-50, y-52, 100, 30, 5, rgb(0x3d444c))
	c.ellipse(x, y-37, 5, 5, rgb(0x5ef08c))
	c.text(x, y-76, 22, 0.5, rgb(0x44524a), "dock")
}
