package homeassistant

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"image"
	_ "image/jpeg" // the formats of maps
	_ "image/png"
	"maps"
	"math"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/messkit/messkit/drivers"
	"github.com/messkit/messkit/drivers/httpclient"
)

var (
	_ drivers.FloorMapper = (*mapVacuum)(nil)
	_ drivers.FloorMapper = (*roomMapVacuum)(nil)
	_ drivers.RoomLister  = (*roomMapVacuum)(nil)
)

// mapVacuum is a vacuum whose map is the picture of another entity.
type mapVacuum struct{ *vacuum }

// roomMapVacuum is a mapVacuum with rooms in the configuration.
type roomMapVacuum struct{ roomVacuum }

// Map returns the picture of the map.
func (v mapVacuum) Map(ctx context.Context) (drivers.Photo, error) {
	m, err := v.floorMap(ctx, nil)
	return m.Photo, err
}

// FloorMap returns the map. It has no rooms, because the configuration has none.
func (v mapVacuum) FloorMap(ctx context.Context) (drivers.FloorMap, error) {
	return v.floorMap(ctx, nil)
}

// Map returns the picture of the map.
func (v roomMapVacuum) Map(ctx context.Context) (drivers.Photo, error) {
	m, err := v.floorMap(ctx, nil)
	return m.Photo, err
}

// FloorMap returns the map, with the rooms of the configuration if the map says where they are.
func (v roomMapVacuum) FloorMap(ctx context.Context) (drivers.FloorMap, error) {
	return v.floorMap(ctx, v.Rooms())
}

func (v *vacuum) floorMap(ctx context.Context, rooms []string) (drivers.FloorMap, error) {
	return drivers.DoValue(ctx, &v.Base, func(ctx context.Context) (drivers.FloorMap, error) {
		return v.entity.floorMap(ctx, rooms)
	})
}

// mapPoint is a position in the units of a robot or in pixels. The source is the attributes of the
// integration Xiaomi Cloud Map Extractor, which those for Dreame and Roborock robots share.
type mapPoint struct{ X, Y float64 }

// mapState is the state of an entity with a map. Rooms and positions are in the units of the robot, and
// three calibration points give the pixels for them.
type mapState struct {
	ID         string `json:"entity_id"`
	State      string `json:"state"`
	Attributes struct {
		Calibration []struct{ Vacuum, Map mapPoint } `json:"calibration_points"`
		Rooms       map[string]mapRoom               `json:"rooms"`
		Robot       *mapPoint                        `json:"vacuum_position"`
		Dock        *mapPoint                        `json:"charger"`
	} `json:"attributes"`
}

// mapRoom is the box around a room.
type mapRoom struct {
	Name           string
	X0, Y0, X1, Y1 float64
}

// parseMapState reads a state. Attributes of another form count as missing: the picture is a map without them.
func parseMapState(data []byte, id string) (mapState, error) {
	var plain struct {
		ID    string `json:"entity_id"`
		State string `json:"state"`
	}
	if err := json.Unmarshal(data, &plain); err != nil || plain.ID != id {
		return mapState{}, errors.New("map: the answer is not a state of the entity; check that url is a Home Assistant")
	}
	if plain.State == "unavailable" || plain.State == "unknown" || plain.State == "" {
		return mapState{}, fmt.Errorf("map: %s is %q in Home Assistant; check it there", id, plain.State)
	}
	var s mapState
	if json.Unmarshal(data, &s) != nil {
		return mapState{ID: plain.ID, State: plain.State}, nil
	}
	return s, nil
}

// floorMap reads the picture of the map entity, and where the rooms are on it.
func (e *entity) floorMap(ctx context.Context, rooms []string) (drivers.FloorMap, error) {
	id := url.PathEscape(e.cfg.Map)
	a, err := e.web.Do(ctx, httpclient.Call{Path: "/api/states/" + id})
	if no, ok := errors.AsType[*httpclient.StatusError](err); ok && strings.Contains(no.Says, "Entity not found") {
		no.Advice = misspelt(e.cfg.Map)
	}
	if err != nil {
		return drivers.FloorMap{}, err
	}
	s, err := parseMapState(a.Body, e.cfg.Map)
	if err != nil {
		return drivers.FloorMap{}, err
	}
	domain, _, _ := strings.Cut(e.cfg.Map, ".")
	now := e.now()
	at := now
	if t, err := time.Parse(time.RFC3339Nano, s.State); err == nil && t.Before(now) { // the state of an image is the time of its last change
		at = t
	}
	photo, err := e.web.Photo(ctx, httpclient.Call{Path: "/api/" + domain + "_proxy/" + id}, at, "map: the entity delivers neither JPEG nor PNG; check its image in Home Assistant")
	if err != nil {
		return drivers.FloorMap{}, err
	}
	size, _, err := image.DecodeConfig(bytes.NewReader(photo.Data))
	if err != nil {
		return drivers.FloorMap{}, fmt.Errorf("map: the image has an error: %w; check it in Home Assistant", err)
	}
	m := drivers.FloorMap{Photo: photo, Width: size.Width, Height: size.Height}
	s.place(&m, rooms)
	return m, nil
}

// place adds the positions to a map. It adds none without three usable calibration points.
func (s mapState) place(m *drivers.FloorMap, rooms []string) {
	toPixels, ok := s.transform()
	if !ok {
		return
	}
	inside := func(p mapPoint) bool {
		return p.X >= 0 && p.Y >= 0 && p.X <= float64(m.Width) && p.Y <= float64(m.Height) // false for NaN
	}
	point := func(p *mapPoint) *drivers.MapPoint {
		if p == nil || !inside(toPixels(*p)) {
			return nil
		}
		at := toPixels(*p)
		return &drivers.MapPoint{X: at.X, Y: at.Y}
	}
	m.Robot, m.Dock = point(s.Attributes.Robot), point(s.Attributes.Dock)
	for _, key := range slices.Sorted(maps.Keys(s.Attributes.Rooms)) {
		r := s.Attributes.Rooms[key]
		at := slices.IndexFunc(rooms, func(name string) bool { return strings.EqualFold(name, r.Name) })
		a, b := toPixels(mapPoint{r.X0, r.Y0}), toPixels(mapPoint{r.X1, r.Y1})
		if at < 0 || !inside(a) || !inside(b) {
			continue
		}
		m.Rooms = append(m.Rooms, drivers.MapRoom{
			Name: rooms[at], X: min(a.X, b.X), Y: min(a.Y, b.Y), Width: math.Abs(b.X - a.X), Height: math.Abs(b.Y - a.Y),
		})
	}
}

// transform returns the function from the units of the robot to pixels, which three points define. ok is
// false if they lie on a line.
func (s mapState) transform() (toPixels func(mapPoint) mapPoint, ok bool) {
	c := s.Attributes.Calibration
	if len(c) < 3 {
		return nil, false
	}
	ax, ay := c[1].Vacuum.X-c[0].Vacuum.X, c[1].Vacuum.Y-c[0].Vacuum.Y
	bx, by := c[2].Vacuum.X-c[0].Vacuum.X, c[2].Vacuum.Y-c[0].Vacuum.Y
	det := ax*by - ay*bx
	if det == 0 || math.IsNaN(det) || math.IsInf(det, 0) {
		return nil, false
	}
	return func(p mapPoint) mapPoint {
		x, y := p.X-c[0].Vacuum.X, p.Y-c[0].Vacuum.Y
		u, v := (x*by-y*bx)/det, (y*ax-x*ay)/det
		return mapPoint{
			c[0].Map.X + u*(c[1].Map.X-c[0].Map.X) + v*(c[2].Map.X-c[0].Map.X),
			c[0].Map.Y + u*(c[1].Map.Y-c[0].Map.Y) + v*(c[2].Map.Y-c[0].Map.Y),
		}
	}, true
}
