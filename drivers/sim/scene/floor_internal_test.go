package scene

import (
	"math"
	"testing"
)

// From any position, the vacuum drives neither through walls nor through furniture.
func TestPathsAvoidWallsAndFurniture(t *testing.T) {
	var ends []Point
	targets := []Rect{{3, 1, 0.8, 0.4}, {0.6, 1, 0.8, 0.4}}
	for _, r := range rooms {
		targets = append(targets, r.free)
	}
	for _, r := range targets {
		ends = append(ends, Point{r.x, r.y}, Point{r.x + r.w, r.y}, Point{r.x, r.y + r.h}, Point{r.x + r.w, r.y + r.h})
	}
	for _, from := range append(ends, dock, Point{dock.x, 0.8}) {
		checkWay(t, from, between(from, dock))
		for _, r := range targets {
			checkWay(t, from, lanes(from, r))
		}
	}
}

func checkWay(t *testing.T, from Point, way []Point) {
	t.Helper()
	const n = 2000 // legs that are short enough to count as points
	at := from
	for _, leg := range cut(from, way, n) {
		for _, p := range leg {
			if roomAt(at) != roomAt(p) && (p.y < door.y || p.y > door.y+door.h) {
				t.Errorf("from %v: through the wall at %v", from, p)
			}
			for _, f := range []Rect{counter, fridge, sofa} {
				if p.x > f.x && p.x < f.x+f.w && p.y > f.y && p.y < f.y+f.h {
					t.Fatalf("from %v: through furniture at %v", from, p)
				}
			}
			at = p
		}
	}
	if at != way[len(way)-1] {
		t.Errorf("from %v: ends at %v, not at %v", from, at, way[len(way)-1])
	}
}

func TestCutMakesEqualLegs(t *testing.T) {
	from := Point{0, 0}
	legs := cut(from, []Point{{1, 0}, {1, 0.5}, {3, 0.5}}, 7)
	at := from
	for i, leg := range legs {
		long := 0.0
		for _, p := range leg {
			long += at.to(p)
			at = p
		}
		if math.Abs(long-0.5) > 1e-9 {
			t.Errorf("leg %d is %v long", i, long)
		}
	}
	if legs := cut(from, []Point{from}, 3); len(legs) != 3 || legs[0][0] != from {
		t.Errorf("a way of no length: %v", legs)
	}
}
