package home

import (
	"context"

	"github.com/messkit/messkit/mess"
)

// Map is the map of a robot, as a picture with positions in pixels from its left top corner.
type Map struct {
	Image          []byte    `json:"image"` // as base64
	MIME           string    `json:"mime"`
	At             mess.Time `json:"at"`
	Width          int       `json:"width"` // pixels
	Height         int       `json:"height"`
	MetersPerPixel float64   `json:"meters_per_pixel,omitempty"` // 0 if unknown
	Rooms          []MapRoom `json:"rooms"`
	Robot          *MapPoint `json:"robot,omitempty"`
	Dock           *MapPoint `json:"dock,omitempty"`
}

// MapRoom is a room with the box around it. Its name is an area of the verbs of the robot.
type MapRoom struct {
	Name   string  `json:"name"`
	X      float64 `json:"x"`
	Y      float64 `json:"y"`
	Width  float64 `json:"width"`
	Height float64 `json:"height"`
}

// MapPoint is a position.
type MapPoint struct {
	X float64 `json:"x"`
	Y float64 `json:"y"`
}

// MapFunc reads the map of a device of an executor in this process; nil if there is none.
type MapFunc func(ctx context.Context, executor, device string) (*Map, error)
