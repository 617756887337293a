package sim

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/messkit/messkit/drivers"
	"github.com/messkit/messkit/drivers/sim/scene"
)

var (
	_ drivers.Photographer = (*Camera)(nil)
	_ drivers.Observer     = (*Camera)(nil)
)

// CameraConfig is the configuration of a camera.
type CameraConfig struct {
	Room string `yaml:"room"` // fridge, porch, kitchen or living-room
}

// DefaultCameraConfig returns a configuration without a room.
func DefaultCameraConfig() CameraConfig { return CameraConfig{} }

// Validate returns the first error in the configuration.
func (c CameraConfig) Validate() error {
	known := scene.Views()
	if c.Room == "" {
		return errors.New("room: is missing; write the room of the camera: " + strings.Join(known, ", "))
	}
	if !slices.Contains(known, c.Room) {
		return fmt.Errorf("room: %q is not in the simulated home; known: %s", c.Room, strings.Join(known, ", "))
	}
	return nil
}

// Camera renders a room, and reports its contents.
type Camera struct {
	drivers.Passive
	cfg   CameraConfig
	world *World
}

// NewCamera returns a camera in a world, for a valid configuration.
func NewCamera(name string, cfg CameraConfig, w *World) *Camera {
	return &Camera{Passive: drivers.NewPassive(name), cfg: cfg, world: w}
}

// Photo renders the room.
func (c *Camera) Photo(ctx context.Context) (drivers.Photo, error) {
	return takePhoto(ctx, &c.Base, c.world, func(ctx context.Context, s scene.Scene) ([]byte, error) { return s.Photo(ctx, c.cfg.Room) })
}

// Observe returns the contents of the room.
func (c *Camera) Observe(ctx context.Context) (drivers.Observation, error) {
	return drivers.DoValue(ctx, &c.Base, func(context.Context) (drivers.Observation, error) {
		s := c.world.scene()
		text, facts := s.Says(c.cfg.Room)
		return drivers.Observation{Text: text, Facts: facts, At: s.Now}, nil
	})
}

// takePhoto renders the world during one verb of the device with the Base b.
func takePhoto(ctx context.Context, b *drivers.Base, w *World, draw func(context.Context, scene.Scene) ([]byte, error)) (drivers.Photo, error) {
	return drivers.TakePhoto(ctx, b, func(ctx context.Context) (drivers.Photo, error) {
		s := w.scene()
		data, err := draw(ctx, s)
		if err != nil {
			return drivers.Photo{}, err
		}
		return drivers.Photo{Data: data, MIME: "image/jpeg", CapturedAt: s.Now}, nil
	})
}
