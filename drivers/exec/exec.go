// Package exec uses programs as devices: commands that switch a device, print a number, or
// write an image. A driver runs only the exact command lines of the configuration: a
// program by its full path that no other user can write, with its arguments, never through
// a shell, with a time limit. A command line contains nothing from a request.
//
// Not supported: programs that continue in the background, and arguments that depend on a
// request.
package exec

import (
	"context"
	"fmt"
	"math"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/messkit/messkit/drivers"
	"github.com/messkit/messkit/internal/process"
)

var (
	_ drivers.Switch          = (*Output)(nil)
	_ drivers.StartHaltStates = (*Output)(nil)
	_ drivers.Switch          = (*Readable)(nil)
	_ drivers.SwitchReader    = (*Readable)(nil)
	_ drivers.SafeReader      = (*Readable)(nil)
	_ drivers.Sensor          = (*Sensor)(nil)
	_ drivers.Photographer    = (*Camera)(nil)
)

// Kinds returns the driver kinds of this package.
func Kinds() []drivers.Kind {
	return []drivers.Kind{
		{Name: "exec-camera", Class: "camera", About: "a command that writes an image", Open: drivers.NewFactory(DefaultCameraConfig, func(env drivers.Env, cfg CameraConfig) (*Camera, error) {
			return NewCamera(env.Name, cfg, env.Now), nil
		})},
		{Name: "exec-sensor", Class: "sensor", About: "a command that prints a number", Open: drivers.NewFactory(DefaultSensorConfig, func(env drivers.Env, cfg SensorConfig) (*Sensor, error) {
			return NewSensor(env.Name, cfg, env.Now), nil
		})},
		{Name: "exec-switch", Class: "switch", About: "commands that switch a device on and off", Open: drivers.NewFactory(DefaultSwitchConfig, func(env drivers.Env, cfg SwitchConfig) (drivers.Device, error) { return NewSwitch(env.Name, cfg), nil })},
	}
}

// program implements the common part of all kinds.
type program struct {
	drivers.Passive
	limits Limits
	turn   chan struct{} // semaphore: one command at a time
}

func newProgram(name string, l Limits) program {
	return program{Passive: drivers.NewPassive(name), limits: l, turn: make(chan struct{}, 1)}
}

// run checks the program again, because another user may have changed it, and runs it.
func (p *program) run(ctx context.Context, args []string, maxBytes int) (process.Result, error) {
	select {
	case p.turn <- struct{}{}:
		defer func() { <-p.turn }()
	case <-ctx.Done():
		return process.Result{}, context.Cause(ctx)
	}
	if err := process.Check(args); err != nil {
		return process.Result{}, drivers.MarkNothingDone(err)
	}
	return process.Run(ctx, process.Spec{Args: args, Limit: p.limits.Timeout, MaxBytes: maxBytes, Env: p.limits.Env})
}

// succeed runs a command and returns an error for an exit code other than 0.
func (p *program) succeed(ctx context.Context, args []string, maxBytes int) ([]byte, error) {
	r, err := p.run(ctx, args, maxBytes)
	if err != nil {
		return nil, err
	}
	return r.Output, r.Failed(args[0])
}

// few is the output limit for commands that print a number or nothing.
const few = 4 << 10 // bytes

// NewSwitch returns an Output for a valid configuration, or a Readable if the configuration
// has a state command.
func NewSwitch(name string, cfg SwitchConfig) drivers.Device {
	s := &Output{newProgram(name, cfg.Limits), cfg}
	if len(cfg.State) == 0 {
		return s
	}
	return &Readable{s}
}

// Output is a switch that commands operate.
type Output struct {
	program
	cfg SwitchConfig
}

// Start sets the initial level.
func (s *Output) Start() error {
	if err := s.cfg.SetInitial(s.end); err != nil {
		return err
	}
	s.MarkStarted()
	return nil
}

// Halt sets the safe level.
func (s *Output) Halt() error {
	s.StopVerbs()
	return s.cfg.SetSafe(s.end)
}

// StartHaltStates returns the levels that Start and Halt set.
func (s *Output) StartHaltStates() (initial, safe string) { return s.cfg.StartHaltStates() }

// end sets a level at Start or Halt. The command has a time limit of its own.
func (s *Output) end(on bool) error { return s.WithName(s.set(context.Background(), on)) }

func (s *Output) set(ctx context.Context, on bool) error {
	args := s.cfg.Off
	if on {
		args = s.cfg.On
	}
	_, err := s.succeed(ctx, args, few)
	return err
}

// Switch runs the command for on or off.
func (s *Output) Switch(ctx context.Context, on bool) error {
	return s.Do(ctx, func(ctx context.Context) error { return s.set(ctx, on) })
}

// Readable is an Output with a state command.
type Readable struct{ *Output }

// On runs the state command.
func (r *Readable) On(ctx context.Context) (bool, error) {
	return drivers.DoValue(ctx, &r.Base, r.state)
}

// Safe reads back whether the switch is at its safe level.
func (r *Readable) Safe(ctx context.Context) (bool, error) {
	safe, err := r.cfg.IsSafe(func() (bool, error) { return r.state(ctx) })
	return safe, r.WithName(err)
}

func (r *Readable) state(ctx context.Context) (bool, error) {
	result, err := r.run(ctx, r.cfg.State, few)
	switch {
	case err != nil:
		return false, err
	case result.Code == 0 || result.Code == 1:
		return result.Code == 0, nil
	}
	return false, fmt.Errorf("%w; 0 is on, 1 is off", result.Failed(r.cfg.State[0]))
}

// Sensor is a sensor that a command reads.
type Sensor struct {
	program
	cfg SensorConfig
	now func() time.Time
}

// NewSensor returns a sensor for a valid configuration.
func NewSensor(name string, cfg SensorConfig, now func() time.Time) *Sensor {
	return &Sensor{newProgram(name, cfg.Limits), cfg, now}
}

// Read runs the command and parses its output.
func (s *Sensor) Read(ctx context.Context) ([]drivers.Reading, error) {
	return drivers.DoValue(ctx, &s.Base, func(ctx context.Context) ([]drivers.Reading, error) {
		at := s.now()
		out, err := s.succeed(ctx, s.cfg.Read, few)
		if err != nil {
			return nil, err
		}
		value, err := strconv.ParseFloat(strings.TrimSpace(string(out)), 64)
		if err != nil || math.IsNaN(value) || math.IsInf(value, 0) {
			return nil, fmt.Errorf("%s prints %.40q, which is not a number; change it so that it prints one number and nothing else", s.cfg.Read[0], out)
		}
		return []drivers.Reading{{Quantity: s.cfg.Quantity, Value: value, Unit: s.cfg.Unit, At: at}}, nil
	})
}

// Camera is a camera whose images a command takes.
type Camera struct {
	program
	cfg CameraConfig
	now func() time.Time
}

// NewCamera returns a camera for a valid configuration.
func NewCamera(name string, cfg CameraConfig, now func() time.Time) *Camera {
	return &Camera{newProgram(name, cfg.Limits), cfg, now}
}

// Photo runs the command and returns its image. The capture time is the start of the
// command.
func (c *Camera) Photo(ctx context.Context) (drivers.Photo, error) {
	return drivers.TakePhoto(ctx, &c.Base, func(ctx context.Context) (drivers.Photo, error) {
		at := c.now()
		data, err := c.succeed(ctx, c.cfg.Photo, c.cfg.MaxBytes)
		if err != nil {
			return drivers.Photo{}, err
		}
		mime := http.DetectContentType(data)
		if mime != "image/jpeg" && mime != "image/png" {
			return drivers.Photo{}, fmt.Errorf("%s writes %s of %d bytes, neither JPEG nor PNG; change it so that it writes the image to its standard output", c.cfg.Photo[0], mime, len(data))
		}
		return drivers.Photo{Data: data, MIME: mime, CapturedAt: at}, nil
	})
}
