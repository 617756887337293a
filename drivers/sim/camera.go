package sim

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/messkit/messkit/drivers"
)

var (
	_ drivers.Photographer = (*Camera)(nil)
	_ drivers.Observer     = (*Camera)(nil)
)

// views maps the rooms of cameras to their drawings.
var views = map[string]func(*canvas, scene){
	"fridge": drawFridge, "porch": drawPorch, "kitchen": drawKitchen, "living-room": drawLivingRoom,
}

// CameraConfig is the configuration of a camera.
type CameraConfig struct {
	Room string `yaml:"room"` // fridge, porch, kitchen or living-room
}

// DefaultCameraConfig returns a configuration without a room.
func DefaultCameraConfig() CameraConfig { return CameraConfig{} }

// Validate returns the first error in the configuration.
func (c CameraConfig) Validate() error {
	known := strings.Join(slices.Sorted(maps.Keys(views)), ", ")
	if c.Room == "" {
		return errors.New("room: is missing; write the room of the camera: " + known)
	}
	if views[c.Room] == nil {
		return fmt.Errorf("room: %q is not in the simulated home; known: %s", c.Room, known)
	}
	return nil
}

// Camera renders a room, and reports its contents.
type Camera struct {
	drivers.Base
	cfg   CameraConfig
	world *World
}

func openCamera(env drivers.Env, decode func(any) error) (drivers.Device, error) {
	cfg := DefaultCameraConfig()
	if err := decode(&cfg); err != nil {
		return nil, err
	}
	w, err := WorldOf(env)
	if err != nil {
		return nil, err
	}
	return NewCamera(env.Name, cfg, w), nil
}

// NewCamera returns a camera in a world, for a valid configuration.
func NewCamera(name string, cfg CameraConfig, w *World) *Camera {
	return &Camera{Base: drivers.NewBase(name), cfg: cfg, world: w}
}

// Start allows verbs.
func (c *Camera) Start() error { c.MarkStarted(); return nil }

// Halt ends verbs under way.
func (c *Camera) Halt() error { c.StopVerbs(); return nil }

// Photo renders the room.
func (c *Camera) Photo(ctx context.Context) (drivers.Photo, error) {
	return shoot(ctx, &c.Base, c.world, views[c.cfg.Room])
}

// Observe returns the contents of the room.
func (c *Camera) Observe(ctx context.Context) (drivers.Observation, error) {
	_, done, err := c.Begin(ctx)
	if err != nil {
		return drivers.Observation{}, err
	}
	defer done()
	s := c.world.scene()
	text, facts := s.says(c.cfg.Room)
	return drivers.Observation{Text: text, Facts: facts, At: s.now}, nil
}
