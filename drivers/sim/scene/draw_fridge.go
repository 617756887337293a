package scene

// Positions and capacities of the shelves in pixels.
const (
	shelfLeft  = 96.0
	shelfWidth = 868.0
	perShelf   = 4
)

var shelves = []float64{312, 552, 792}

// drawFridge draws the open fridge: its shelves with their contents.
func drawFridge(c *canvas, s Scene) {
	c.shade(0, 0, width, height, rgb(0x6f7f86), rgb(0x4b565c))
	c.round(48, 20, 964, 884, 30, rgb(0xe3e7ea)) // the body
	c.rect(shelfLeft, 64, shelfWidth, 800, rgb(0xe9f0f4))
	c.light(rgb(0xccd3da), lamp{x: 530, y: 90, reach: 420, col: rgb(0xffedc4), power: 0.17})
	drawFridgeDoor(c)
	c.rect(shelfLeft, 64, 14, 800, alpha(rgb(0x7d93a1), 0.25)) // the inner walls
	c.rect(shelfLeft+shelfWidth-14, 64, 14, 800, alpha(rgb(0x7d93a1), 0.25))
	c.glow(530, 78, 210, rgb(0xffe2a0), 0.14)
	c.round(440, 64, 180, 24, 11, rgb(0xfffdf0)) // the interior light
	c.outline(440, 60, 180, 5, 5, rgb(0xc3ccd2))
	for _, y := range shelves {
		c.rect(shelfLeft, y, shelfWidth, 9, rgb(0xa9c3d2))
		c.rect(shelfLeft, y+9, shelfWidth, 36, alpha(rgb(0xffffff), 0.55))
		c.rect(shelfLeft, y+45, shelfWidth, 2, alpha(rgb(0x5b7384), 0.35))
	}
	for i, name := range s.Fridge {
		if i == perShelf*len(shelves) {
			break // items behind are hidden
		}
		x, y := shelfLeft+shelfWidth/perShelf*(float64(i%perShelf)+0.5), shelves[i/perShelf]
		c.ellipse(x, y+2, 84, 7, alpha(rgb(0x2c3c48), 0.28))
		drawing, ok := things[name]
		if !ok {
			drawing = box
		}
		drawing(c, x, y)
		c.text(x, y+36, 25, 0.5, rgb(0x1f2a33), name)
	}
	c.caption("fridge", s)
}

// drawFridgeDoor draws the open door at the right, with empty racks.
func drawFridgeDoor(c *canvas) {
	c.polygon(rgb(0xcfd6da), 1012, 40, 1244, 8, 1244, 914, 1012, 884)
	c.polygon(rgb(0xeef3f6), 1024, 64, 1216, 40, 1216, 886, 1024, 858)
	for _, y := range []float64{250, 470, 690, 836} {
		c.polygon(alpha(rgb(0x9db8c7), 0.55), 1024, y-70, 1216, y-84, 1216, y+6, 1024, y)
		c.polygon(rgb(0x86a3b3), 1024, y, 1216, y+6, 1216, y+16, 1024, y+9)
	}
	c.rect(1008, 40, 6, 844, rgb(0x9aa6ad)) // the hinge
}

// things maps the items of the fridge to their drawings; each stands on (x, y).
var things = map[string]func(c *canvas, x, y float64){
	"milk":          milk,
	"6 eggs":        eggs,
	"butter":        butter,
	"cheddar":       cheddar,
	"yoghurt":       yoghurt,
	"half a lemon":  lemon,
	"carrots":       carrots,
	"broccoli":      broccoli,
	"leftover soup": soup,
}

func box(c *canvas, x, y float64) {
	c.round(x-55, y-110, 110, 110, 8, rgb(0xc79a63))
	c.rect(x-8, y-110, 16, 110, rgb(0xe3c495))
}

func milk(c *canvas, x, y float64) {
	c.rect(x-48, y-150, 96, 150, rgb(0xf7f9ff))
	c.polygon(rgb(0xe2e8f5), x-48, y-150, x-26, y-200, x+26, y-200, x+48, y-150)
	c.rect(x-26, y-212, 52, 14, rgb(0xd3daea))
	c.rect(x-48, y-96, 96, 56, rgb(0x2f6fc4))
	c.text(x, y-58, 30, 0.5, rgb(0xffffff), "MILK")
	c.rect(x+36, y-150, 12, 150, alpha(rgb(0x6c7c99), 0.25))
}

func eggs(c *canvas, x, y float64) {
	for i := range 6 {
		dx, dy := float64(i%3)*52-52, float64(i/3)*24
		c.ellipse(x+dx+8*float64(i/3), y-62+dy, 25, 31, rgb([]uint32{0xe9c9a4, 0xf3dcc0}[i%2]))
		c.ellipse(x+dx+8*float64(i/3)-7, y-72+dy, 7, 9, alpha(rgb(0xffffff), 0.6))
	}
	c.round(x-92, y-36, 190, 36, 8, rgb(0x8d9a8b))
}

func butter(c *canvas, x, y float64) {
	c.polygon(rgb(0xfbe68a), x-80, y-44, x-58, y-64, x+82, y-64, x+60, y-44)
	c.rect(x-80, y-44, 140, 44, rgb(0xf3d557))
	c.polygon(rgb(0xd9b93d), x+60, y-44, x+82, y-64, x+82, y-20, x+60, y)
	c.rect(x-80, y-44, 50, 44, rgb(0xe8edf0))
	c.polygon(rgb(0xf6f9fa), x-80, y-44, x-58, y-64, x-8, y-64, x-30, y-44)
}

func cheddar(c *canvas, x, y float64) {
	c.polygon(rgb(0xf5a52a), x-85, y, x-85, y-40, x+85, y-40, x+85, y)
	c.polygon(rgb(0xffc04f), x-85, y-40, x+30, y-96, x+85, y-40)
	for _, p := range [][3]float64{{-50, -18, 11}, {5, -24, 8}, {48, -14, 12}} {
		c.ellipse(x+p[0], y+p[1], p[2], p[2]*0.8, rgb(0xd9861a))
	}
}

func yoghurt(c *canvas, x, y float64) {
	c.polygon(rgb(0xfdfdff), x-52, y-110, x+52, y-110, x+40, y, x-40, y)
	c.polygon(rgb(0xd8447f), x-48, y-78, x+48, y-78, x+43, y-30, x-43, y-30)
	c.ellipse(x, y-110, 56, 13, rgb(0xe5e9f2))
	c.ellipse(x, y-54, 18, 16, rgb(0xff9dc0))
}

func lemon(c *canvas, x, y float64) {
	c.ellipse(x, y-46, 60, 46, rgb(0xf2d21f))
	c.ellipse(x-4, y-48, 48, 38, rgb(0xfff5bd))
	for i := range 4 {
		dx := []float64{44, 31, 0, -31}[i]
		dy := []float64{0, 26, 36, 26}[i]
		c.stroke(x-4-dx, y-48-dy, x-4+dx, y-48+dy, 3, rgb(0xf0dc6a))
	}
}

func carrots(c *canvas, x, y float64) {
	for i := range 3 {
		dy := float64(i) * 26
		c.polygon(rgb(0xf07f1d), x-70, y-74+dy, x-70, y-50+dy, x+85, y-58+dy)
		c.polygon(rgb(0x3f9142), x-70, y-70+dy, x-112, y-88+dy, x-96, y-62+dy, x-116, y-46+dy, x-70, y-54+dy)
	}
}

func broccoli(c *canvas, x, y float64) {
	c.polygon(rgb(0x9cc47a), x-18, y, x-26, y-70, x+26, y-70, x+18, y)
	for _, p := range [][3]float64{{-46, -84, 34}, {46, -84, 34}, {-18, -116, 36}, {24, -112, 34}, {0, -82, 36}} {
		c.ellipse(x+p[0], y+p[1], p[2], p[2]*0.85, rgb(0x2f7d33))
		c.ellipse(x+p[0]-8, y+p[1]-9, p[2]*0.5, p[2]*0.4, rgb(0x4a9a45))
	}
}

func soup(c *canvas, x, y float64) {
	c.polygon(nrgba{R: 158, G: 190, B: 208, A: 235}, x-80, y-78, x+80, y-78, x+70, y, x-70, y)
	c.polygon(rgb(0xc8642b), x-76, y-52, x+76, y-52, x+70, y, x-70, y)
	c.round(x-88, y-96, 176, 22, 9, rgb(0x2c7fb8))
}
