package scene

import "math"

// Point is a point on the floor in meters from the north-west corner; y grows southward.
type Point struct{ x, y float64 }

// Rect is a rectangle of the floor in meters.
type Rect struct{ x, y, w, h float64 }

// room is one room of the floor.
type room struct {
	name string
	Rect
	free Rect // area without furniture, where the vacuum drives
}

var rooms = []room{
	{"kitchen", Rect{0, 0, 4.2, 4.8}, Rect{0.35, 0.95, 3.5, 3.5}},
	{"living room", Rect{4.2, 0, 3.8, 4.8}, Rect{4.55, 1.25, 3.1, 3.2}},
}

// door is the gap in the wall between the rooms.
var door = Rect{4.2, 3, 0, 1.1}

// Positions of the furniture.
var (
	counter = Rect{0, 0, 3.45, 0.6}
	sink    = Rect{0.6, 0.08, 0.8, 0.42}
	stove   = Rect{2.7, 0, 0.75, 0.6}
	fridge  = Rect{3.45, 0, 0.75, 0.65}
	sofa    = Rect{4.55, 0.05, 2, 0.9}
	rug     = Rect{5, 1.6, 2.2, 1.6}
)

// dock is the position of the dock. The vacuum drives to it straight from the apron,
// because the sofa is next to it.
var (
	dock  = Point{7.4, 0.4}
	apron = Point{7.4, 1.25}
)

func roomAt(p Point) int {
	if p.x < rooms[1].x {
		return 0
	}
	return 1
}

// between returns the corners of a path between two points, through the door if necessary.
// It includes the end, but not the start.
func between(from, to Point) []Point {
	var way []Point
	if roomAt(from) == 1 && from.y < apron.y { // in the dock, or stopped in front of it
		way = append(way, apron)
	}
	if a, b := roomAt(from), roomAt(to); a != b {
		y := door.y + door.h/2
		sides := []Point{{rooms[1].x - 0.3, y}, {rooms[1].x + 0.3, y}}
		way = append(way, sides[a], sides[b])
	}
	if to == dock {
		way = append(way, apron)
	}
	return append(way, to)
}

// lane is the distance between the lanes of the vacuum in meters, slightly less than the
// width of its brush.
const lane = 0.2

// lanes returns a path from a point to a rectangle, and up and down in it.
func lanes(from Point, r Rect) []Point {
	way := between(from, Point{r.x, r.y})
	n := int(math.Ceil(r.h / lane))
	for i := range n + 1 {
		y := r.y + r.h*float64(i)/float64(n)
		a, b := Point{r.x, y}, Point{r.x + r.w, y}
		if i%2 == 1 {
			a, b = b, a
		}
		way = append(way, a, b)
	}
	return way
}

// cut divides a path into n legs of equal length. Each leg contains its corners and its
// end.
func cut(from Point, way []Point, n int) [][]Point {
	at, total := from, 0.0
	for _, p := range way {
		total += at.to(p)
		at = p
	}
	legs := make([][]Point, n)
	at, i := from, 0
	rest := total / float64(n) // rest of this leg
	for _, p := range way {
		for d := at.to(p); d > rest && i < n-1; d = at.to(p) {
			at = Point{at.x + (p.x-at.x)*rest/d, at.y + (p.y-at.y)*rest/d}
			legs[i] = append(legs[i], at)
			i, rest = i+1, total/float64(n)
		}
		rest -= at.to(p)
		at = p
		legs[i] = append(legs[i], p)
	}
	return legs
}

func (p Point) to(q Point) float64 { return math.Hypot(q.x-p.x, q.y-p.y) }

// around is half the width of a spot in meters.
const around = 0.5

// about returns the part of r near p; for a p outside of r, the part near the closest edge.
func (r Rect) about(p Point) Rect {
	side := min(2*around, r.w, r.h)
	x := math.Max(r.x, math.Min(p.x-side/2, r.x+r.w-side))
	y := math.Max(r.y, math.Min(p.y-side/2, r.y+r.h-side))
	return Rect{x, y, side, side}
}

func (r Rect) has(p Point) bool { return p.x >= r.x && p.x <= r.x+r.w && p.y >= r.y && p.y <= r.y+r.h }
