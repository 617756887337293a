package sim

import "math"

// point is a point on the floor in meters from the north-west corner; y grows southward.
type point struct{ x, y float64 }

// rect is a rectangle of the floor in meters.
type rect struct{ x, y, w, h float64 }

// room is one room of the floor.
type room struct {
	name string
	rect
	free rect // area without furniture, where the vacuum drives
}

var rooms = []room{
	{"kitchen", rect{0, 0, 4.2, 4.8}, rect{0.35, 0.95, 3.5, 3.5}},
	{"living room", rect{4.2, 0, 3.8, 4.8}, rect{4.55, 1.25, 3.1, 3.2}},
}

// door is the gap in the wall between the rooms.
var door = rect{4.2, 3, 0, 1.1}

// Positions of the furniture.
var (
	counter = rect{0, 0, 3.45, 0.6}
	sink    = rect{0.6, 0.08, 0.8, 0.42}
	stove   = rect{2.7, 0, 0.75, 0.6}
	fridge  = rect{3.45, 0, 0.75, 0.65}
	sofa    = rect{4.55, 0.05, 2, 0.9}
	rug     = rect{5, 1.6, 2.2, 1.6}
)

// dock is the position of the dock. The vacuum drives to it straight from the apron,
// because the sofa is next to it.
var (
	dock  = point{7.4, 0.4}
	apron = point{7.4, 1.25}
)

func roomAt(p point) int {
	if p.x < rooms[1].x {
		return 0
	}
	return 1
}

// between returns the corners of a path between two points, through the door if necessary.
// It includes the end, but not the start.
func between(from, to point) []point {
	var way []point
	if roomAt(from) == 1 && from.y < apron.y { // in the dock, or stopped in front of it
		way = append(way, apron)
	}
	if a, b := roomAt(from), roomAt(to); a != b {
		y := door.y + door.h/2
		sides := []point{{rooms[1].x - 0.3, y}, {rooms[1].x + 0.3, y}}
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
func lanes(from point, r rect) []point {
	way := between(from, point{r.x, r.y})
	n := int(math.Ceil(r.h / lane))
	for i := range n + 1 {
		y := r.y + r.h*float64(i)/float64(n)
		a, b := point{r.x, y}, point{r.x + r.w, y}
		if i%2 == 1 {
			a, b = b, a
		}
		way = append(way, a, b)
	}
	return way
}

// cut divides a path into n legs of equal length. Each leg contains its corners and its
// end.
func cut(from point, way []point, n int) [][]point {
	at, total := from, 0.0
	for _, p := range way {
		total += at.to(p)
		at = p
	}
	legs := make([][]point, n)
	at, i := from, 0
	rest := total / float64(n) // rest of this leg
	for _, p := range way {
		for d := at.to(p); d > rest && i < n-1; d = at.to(p) {
			at = point{at.x + (p.x-at.x)*rest/d, at.y + (p.y-at.y)*rest/d}
			legs[i] = append(legs[i], at)
			i, rest = i+1, total/float64(n)
		}
		rest -= at.to(p)
		at = p
		legs[i] = append(legs[i], p)
	}
	return legs
}

func (p point) to(q point) float64 { return math.Hypot(q.x-p.x, q.y-p.y) }
