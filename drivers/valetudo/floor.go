package valetudo

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"image/png"
	"slices"
	"time"

	"github.com/messkit/messkit/drivers"
	"github.com/messkit/messkit/drivers/httpclient"
)

// Limits for a map. Homes have some 400 by 400 pixels of 5 cm.
const (
	mapBytes  = 8 << 20
	maxEdge   = 4096
	maxPixels = 4 << 20
	maxPoints = 1 << 16
)

// floor is the map of a robot (ValetudoMap, version 2).
type floor struct {
	PixelSize int      `json:"pixelSize"` // cm
	Layers    []layer  `json:"layers"`
	Entities  []entity `json:"entities"`
}

// layer is walls, floor or a room. Its pixels are runs of x, y and length.
type layer struct {
	Type string `json:"type"`
	Runs []int  `json:"compressedPixels"`
	Meta struct {
		ID   json.RawMessage `json:"segmentId"` // "17" or 17
		Area float64         `json:"area"`      // cm²
	} `json:"metaData"`
}

// entity is an object on the map, in cm.
type entity struct {
	Type   string    `json:"type"`
	Points []float64 `json:"points"` // x, y, x, y, ...
}

func parseFloor(data []byte) (floor, error) {
	var f floor
	if err := json.Unmarshal(data, &f); err != nil {
		return floor{}, errors.New("the answer is not a map of Valetudo; check url and the version of Valetudo")
	}
	pixels, points := 0, 0
	for _, l := range f.Layers {
		if len(l.Runs)%3 != 0 {
			return floor{}, errors.New("the map has a truncated layer")
		}
		for i := 0; i < len(l.Runs); i += 3 {
			x, y, n := l.Runs[i], l.Runs[i+1], l.Runs[i+2]
			if x < 0 || y < 0 || n < 1 || n > maxEdge || x > 1<<20 || y > 1<<20 {
				return floor{}, fmt.Errorf("the map has a run of %d at %d, %d", n, x, y)
			}
			pixels += n
		}
		if pixels > maxPixels {
			return floor{}, fmt.Errorf("the map has more than %d pixels", maxPixels)
		}
	}
	for _, e := range f.Entities {
		points += len(e.Points) / 2
	}
	switch {
	case pixels == 0:
		return floor{}, errors.New("the map is empty; let the robot map the home first")
	case f.PixelSize < 1 || f.PixelSize > 100 || points > maxPoints:
		return floor{}, fmt.Errorf("the map has pixels of %d cm, and %d points", f.PixelSize, points)
	}
	return f, nil
}

// id returns the id of a segment, without the quotes of some versions.
func (l layer) id() string { return string(bytes.Trim(l.Meta.ID, `"`)) }

// area returns the total area of the segments in cm²; nil means all segments.
func (f floor) area(ids []string) float64 {
	sum := 0.0
	for _, l := range f.Layers {
		if l.Type == "segment" && l.Meta.Area > 0 && (ids == nil || slices.Contains(ids, l.id())) {
			sum += l.Meta.Area
		}
	}
	return sum
}

func (v *Vacuum) readFloor(ctx context.Context) (floor, error) {
	a, err := v.web.Do(ctx, httpclient.Call{Path: mapPath, Max: mapBytes})
	if err != nil {
		return floor{}, err
	}
	return parseFloor(a.Body)
}

// floor returns the total area of the segments in cm², or 0 if unknown. It serves only as
// information for people.
func (v *Vacuum) floor(ctx context.Context, ids []string) float64 {
	f, err := v.readFloor(ctx)
	if err != nil {
		v.log.Debug("no map", "err", err)
	}
	return f.area(ids)
}

// Map draws the rooms, the path, the dock and the robot.
func (v *Vacuum) Map(ctx context.Context) (drivers.Photo, error) {
	m, err := v.drawFloor(ctx, func(context.Context) ([]room, error) { return nil, nil })
	return m.Photo, err
}

// FloorMap draws the map, and reports where the rooms are that Clean takes.
func (v *Vacuum) FloorMap(ctx context.Context) (drivers.FloorMap, error) {
	return v.drawFloor(ctx, v.rooms)
}

func (v *Vacuum) drawFloor(ctx context.Context, rooms func(context.Context) ([]room, error)) (drivers.FloorMap, error) {
	var at time.Time
	var known []room
	f, err := drivers.DoValue(ctx, &v.Base, func(ctx context.Context) (floor, error) {
		at = v.now()
		f, err := v.readFloor(ctx)
		if err == nil {
			known, err = rooms(ctx)
		}
		return f, err
	})
	if err != nil {
		return drivers.FloorMap{}, err
	}
	c, err := f.draw()
	if err != nil {
		return drivers.FloorMap{}, v.WithName(err)
	}
	var b bytes.Buffer
	if err := png.Encode(&b, c.img); err != nil {
		return drivers.FloorMap{}, v.WithName(err)
	}
	m := f.place(c, known)
	m.Photo = drivers.Photo{Data: b.Bytes(), MIME: "image/png", CapturedAt: at}
	return m, nil
}
