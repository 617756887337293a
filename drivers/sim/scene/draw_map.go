package scene

import (
	"fmt"

	"github.com/messkit/messkit/drivers"
)

// Position of the floor on the map: pixels per meter, and its corner.
const (
	mapScale = 150.0
	mapLeft  = 40.0
	mapTop   = 96.0
)

func onMap(p Point) Point { return Point{mapLeft + p.x*mapScale, mapTop + p.y*mapScale} }

// Layout returns where the rooms, the vacuum and its dock are on the image of Map.
func (s Scene) Layout() drivers.FloorMap {
	point := func(p Point) *drivers.MapPoint {
		at := onMap(p)
		return &drivers.MapPoint{X: at.x, Y: at.y}
	}
	m := drivers.FloorMap{Width: width, Height: height, MetersPerPixel: 1 / mapScale, Robot: point(s.Vacuum.at), Dock: point(dock)}
	for _, r := range rooms {
		at := onMap(Point{r.x, r.y})
		m.Rooms = append(m.Rooms, drivers.MapRoom{Name: r.name, X: at.x, Y: at.y, Width: r.w * mapScale, Height: r.h * mapScale})
	}
	return m
}

// drawMap draws the map of the vacuum: rooms and furniture, dirt, the path since its last
// start, and the vacuum.
func drawMap(c *canvas, s Scene) {
	c.rect(0, 0, width, height, rgb(0xf4f6f8))
	drawRooms(c)
	drawPlan(c)
	drawWalls(c)
	for i, one := range s.Spills {
		p, a := onMap(one.at), one.area()
		c.mapRect(a, 0, alpha(rgb(0xf0a030), 0.3))
		strew(c, p.x, p.y, 52, 26, uint32(i+7), one.What)
		c.tag(p.x, p.y+64, one.What+", "+one.Name)
	}
	drawWay(c, s.Vacuum)
	for _, r := range rooms {
		at := onMap(Point{r.x + r.w/2, r.y + r.h - 0.16})
		c.tag(at.x, at.y, r.name)
	}
	c.text(mapLeft, 62, 36, 0, rgb(0x26323c), "Floor map")
	drawBattery(c, s.Vacuum.Charge(s.Now))
	drawScale(c)
	c.text(mapLeft, 880, 26, 0, rgb(0x4a5a66), "vacuum: "+s.Vacuum.doing()+", in the "+rooms[roomAt(s.Vacuum.at)].name)
	c.caption("map", s)
}

var tints = []nrgba{rgb(0xd6e6f5), rgb(0xe3efd6)} // colors of the rooms

func drawRooms(c *canvas) {
	for i, r := range rooms {
		c.mapRect(r.Rect, 0, tints[i])
	}
}

// drawWalls draws the walls, with a gap for the door.
func drawWalls(c *canvas) {
	const wall = 14 // pixels
	for _, r := range rooms {
		p := onMap(Point{r.x, r.y})
		c.outline(p.x-wall/2, p.y-wall/2, r.w*mapScale+wall, r.h*mapScale+wall, wall, rgb(0x3d4953))
	}
	p := onMap(Point{door.x, door.y})
	c.rect(p.x-wall/2-1, p.y, wall/2+1, door.h*mapScale, tints[0])
	c.rect(p.x, p.y, wall/2+1, door.h*mapScale, tints[1])
}

// drawPlan draws the furniture from above.
func drawPlan(c *canvas) {
	body, edge := rgb(0xb9c5cd), rgb(0x8797a2)
	word := func(r Rect, s string) {
		p := onMap(Point{r.x + r.w/2, r.y + r.h/2})
		c.text(p.x, p.y+8, 22, 0.5, rgb(0x33404a), s)
	}
	c.mapRect(counter, 0, body)
	c.mapRect(sink, 14, rgb(0xeef3f6))
	word(sink, "sink")
	c.mapRect(stove, 4, rgb(0x4d5962))
	for _, ring := range []Point{{2.88, 0.16}, {3.27, 0.16}, {2.88, 0.44}, {3.27, 0.44}} {
		p := onMap(ring)
		c.ellipse(p.x, p.y, 20, 16, rgb(0x7d8b95))
		c.ellipse(p.x, p.y, 15, 12, rgb(0x4d5962))
	}
	p := onMap(Point{stove.x + stove.w/2, stove.h})
	c.text(p.x, p.y+26, 22, 0.5, rgb(0x33404a), "stove")
	c.mapRect(fridge, 6, rgb(0xdfe6ea))
	word(fridge, "fridge")
	c.mapRect(rug, 16, rgb(0xd5dfc6))
	c.mapRect(sofa, 20, edge)
	c.mapRect(Rect{sofa.x + 0.15, sofa.y + 0.28, sofa.w - 0.3, sofa.h - 0.34}, 12, body)
	word(sofa, "sofa")
	d := onMap(Point{dock.x, 0})
	c.round(d.x-44, d.y+8, 88, 30, 8, rgb(0x2b3138))
	c.text(d.x-56, d.y+31, 22, 1, rgb(0x33404a), "dock")
}

// drawWay draws the path and the position of the vacuum.
func drawWay(c *canvas, r Vacuum) {
	way := make([]Point, len(r.path))
	for i, p := range r.path {
		way[i] = onMap(p)
	}
	c.polyline(5, rgb(0x2f7de0), way...)
	if len(way) > 0 {
		c.ellipse(way[0].x, way[0].y, 9, 9, rgb(0x1b57a8))
	}
	p := onMap(r.at)
	robotShadow(c, p.x+3, p.y+5, 27, 27)
	robotTop(c, p.x, p.y, 27, 27, r.heading)
}

func drawBattery(c *canvas, percent float64) {
	col := rgb(0x3aa657)
	if percent < 20 {
		col = rgb(0xd64545)
	}
	c.round(1098, 32, 84, 40, 8, rgb(0x3d4953))
	c.round(1103, 37, 74, 30, 5, rgb(0xf4f6f8))
	c.round(1106, 40, 68*percent/100, 24, 4, col)
	c.round(1182, 44, 8, 16, 3, rgb(0x3d4953))
	c.text(1084, 62, 30, 1, rgb(0x26323c), fmt.Sprintf("%.0f %%", percent))
}

func drawScale(c *canvas) {
	const x, y = 1090, 872
	c.rect(x, y, mapScale, 5, rgb(0x3d4953))
	c.rect(x, y-8, 5, 21, rgb(0x3d4953))
	c.rect(x+mapScale-5, y-8, 5, 21, rgb(0x3d4953))
	c.text(x-16, y+10, 24, 1, rgb(0x4a5a66), "1 m")
}

// mapRect draws a rectangle of the floor with round corners of r pixels.
func (c *canvas) mapRect(a Rect, r float64, col nrgba) {
	p := onMap(Point{a.x, a.y})
	c.round(p.x, p.y, a.w*mapScale, a.h*mapScale, r, col)
}
