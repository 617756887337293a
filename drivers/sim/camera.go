package sim

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"image/jpeg"
	"maps"
	"slices"
	"strings"

	"gobot.io/x/gobot/v2"

	"github.com/messkit/messkit/drivers"
)

var (
	_ drivers.Photographer = (*Camera)(nil)
	_ drivers.Observer     = (*Camera)(nil)
)

// views are what a camera can look at.
var views = map[string]func(*canvas, scene){
	"fridge": drawFridge, "porch": drawPorch, "kitchen": drawKitchen,
}

// CameraConfig of a camera.
type CameraConfig struct {
	Room string `yaml:"room"` // fridge, porch or kitchen
}

// Validate tells what cannot be.
func (c CameraConfig) Validate() error {
	known := strings.Join(slices.Sorted(maps.Keys(views)), ", ")
	if c.Room == "" {
		return errors.New("room: is missing; write what the camera looks at: " + known)
	}
	if views[c.Room] == nil {
		return fmt.Errorf("room: %q is not in the simulated home; known: %s", c.Room, known)
	}
	return nil
}

// Camera renders a room as it is, and says what is there.
type Camera struct {
	life
	cfg   CameraConfig
	world *World
}

func openCamera(env drivers.Env, decode func(any) error) (drivers.Device, error) {
	var cfg CameraConfig
	if err := decode(&cfg); err != nil {
		return nil, err
	}
	w, err := worldOf(env)
	if err != nil {
		return nil, err
	}
	return NewCamera(env.Name, cfg, w), nil
}

// NewCamera makes a camera in a world.
func NewCamera(name string, cfg CameraConfig, w *World) *Camera {
	return &Camera{life: life{name: name}, cfg: cfg, world: w}
}

// Connection is the Gobot adaptor below.
func (c *Camera) Connection() gobot.Connection { return &adaptor{name: "sim", world: c.world} }

// Start makes it ready.
func (c *Camera) Start() error { c.start(); return nil }

// Halt ends it.
func (c *Camera) Halt() error { c.halt(); return nil }

// Photo renders the room.
func (c *Camera) Photo(ctx context.Context) (drivers.Photo, error) {
	ctx, done, err := c.begin(ctx)
	if err != nil {
		return drivers.Photo{}, err
	}
	defer done()
	s := c.world.scene()
	p, err := render(views[c.cfg.Room], s)
	if ctx.Err() != nil {
		return drivers.Photo{}, c.ended(ctx)
	}
	return p, err
}

// jpegQuality keeps edges of text clean; such a picture has about 150 KB.
const jpegQuality = 88

func render(draw func(*canvas, scene), s scene) (drivers.Photo, error) {
	c := newCanvas()
	draw(c, s)
	var b bytes.Buffer
	if err := jpeg.Encode(&b, c.img, &jpeg.Options{Quality: jpegQuality}); err != nil {
		return drivers.Photo{}, err
	}
	return drivers.Photo{Data: b.Bytes(), MIME: "image/jpeg", CapturedAt: s.now}, nil
}

// Observe says what is in the room.
func (c *Camera) Observe(ctx context.Context) (drivers.Observation, error) {
	_, done, err := c.begin(ctx)
	if err != nil {
		return drivers.Observation{}, err
	}
	defer done()
	s := c.world.scene()
	text, facts := s.says(c.cfg.Room)
	return drivers.Observation{Text: text, Facts: facts, At: s.now}, nil
}
