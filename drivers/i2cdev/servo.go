package i2cdev

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"gobot.io/x/gobot/v2/drivers/gpio"
	"gobot.io/x/gobot/v2/drivers/i2c"

	"github.com/messkit/messkit/drivers"
	"github.com/messkit/messkit/internal/wait"
)

var (
	_ drivers.Turner         = (*Servo)(nil)
	_ drivers.SafeReader     = (*Servo)(nil)
	_ drivers.WatchdogTarget = (*Servo)(nil)
)

// ServoConfig is the configuration of one servo on a PCA9685 that turns to angles.
type ServoConfig struct {
	At
	Channel   int                `yaml:"channel"`   // 0 to 15
	Frequency float64            `yaml:"frequency"` // pulse frequency of all channels of the board in Hz
	Travel    float64            `yaml:"travel"`    // angle between the two pulses in degrees
	Shortest  time.Duration      `yaml:"shortest"`  // pulse of 0 degrees
	Longest   time.Duration      `yaml:"longest"`   // pulse of travel degrees
	Min       float64            `yaml:"min"`       // lowest allowed angle
	Max       float64            `yaml:"max"`       // highest allowed angle; 0 means travel
	Positions map[string]float64 `yaml:"positions"` // named angles
	Speed     float64            `yaml:"speed"`     // speed in degrees per second; 0: as fast as the servo can
	Settle    time.Duration      `yaml:"settle"`    // longest time of the servo from one end to the other
	Safe      string             `yaml:"safe"`      // state at Halt: hold, release or park
	Park      *float64           `yaml:"park"`      // angle for park
}

// DefaultServoConfig returns the configuration of a servo of 180 degrees on the first
// channel.
func DefaultServoConfig() ServoConfig {
	return ServoConfig{
		At: At{Address: 0x40}, Frequency: 50, Travel: 180, Shortest: time.Millisecond, Longest: 2 * time.Millisecond,
		Settle: 1500 * time.Millisecond, Safe: "hold",
	}
}

const (
	maxTravel = 360
	minSpeed  = 1.0 // degrees per second
	maxSettle = 10 * time.Second
	leadEvery = 20 * time.Millisecond // shortest interval of steps: one pulse at 50 Hz
)

// turns returns the limits with the positions, ordered by angle.
func (c ServoConfig) turns() drivers.AngleLimits {
	t := drivers.AngleLimits{Min: c.Min, Max: cmp.Or(c.Max, c.Travel)}
	for _, name := range slices.Sorted(maps.Keys(c.Positions)) {
		t.NamedAngles = append(t.NamedAngles, drivers.NamedAngle{Name: name, Degrees: c.Positions[name]})
	}
	slices.SortStableFunc(t.NamedAngles, func(a, b drivers.NamedAngle) int { return int(math.Copysign(1, a.Degrees-b.Degrees)) })
	return t
}

// Validate returns all errors in the configuration.
func (c ServoConfig) Validate() error {
	errs := []error{c.At.validate(0x40, 0x7f)}
	fail := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	if c.Channel < 0 || c.Channel > 15 {
		fail("channel: %d is not between 0 and 15", c.Channel)
	}
	if !(c.Frequency >= 24 && c.Frequency <= 330) {
		fail("frequency: %g Hz is not between 24 and 330; most servos want 50", c.Frequency)
	}
	if !(c.Travel > 0 && c.Travel <= maxTravel) {
		fail("travel: %g degrees is not between 0 and %d", c.Travel, maxTravel)
	}
	for _, p := range []struct {
		key   string
		pulse time.Duration
	}{{"shortest", c.Shortest}, {"longest", c.Longest}} {
		if p.pulse < minPulse || p.pulse > maxPulse {
			fail("%s: a pulse of %v is not between %v and %v", p.key, p.pulse, minPulse, maxPulse)
		}
	}
	if c.Shortest >= c.Longest {
		fail("shortest: %v is not shorter than longest, %v", c.Shortest, c.Longest)
	}
	t := c.turns()
	if !(t.Min >= 0 && t.Min < t.Max && t.Max <= c.Travel) {
		fail("min: %g to %g degrees is outside of the travel of %g", t.Min, t.Max, c.Travel)
	}
	for _, p := range t.NamedAngles {
		if t.Check(p.Degrees) != nil {
			fail("positions: %s is %g degrees, outside of %g to %g", p.Name, p.Degrees, t.Min, t.Max)
		}
		if strings.TrimSpace(p.Name) == "" {
			fail("positions: one has no name")
		}
	}
	if !(c.Speed == 0 || c.Speed >= minSpeed && c.Speed <= 10*maxTravel) {
		fail("speed: %g degrees per second is not between %g and %d; omit the key for full speed", c.Speed, minSpeed, 10*maxTravel)
	}
	if c.Settle <= 0 || c.Settle > maxSettle {
		fail("settle: %v is not between 0 and %v", c.Settle, maxSettle)
	}
	switch {
	case c.Safe != "hold" && c.Safe != "release" && c.Safe != "park":
		fail("safe: %q is unknown; write hold, release or park", c.Safe)
	case c.Safe == "park" && c.Park == nil:
		fail("park: is missing; write the angle to park at, in degrees")
	case c.Park != nil && t.Check(*c.Park) != nil:
		fail("park: %g degrees is outside of %g to %g", *c.Park, t.Min, t.Max)
	}
	return errors.Join(errs...)
}

// Servo turns to angles by the pulses of one channel. It does not move at Start. The driver
// reads back the pulse from the chip; the real position of the servo remains unknown.
type Servo struct {
	drivers.Base
	cfg   ServoConfig
	turns drivers.AngleLimits
	buses Buses
}

// NewServo returns a servo for a valid configuration.
func NewServo(name string, cfg ServoConfig, buses Buses) *Servo {
	return &Servo{Base: drivers.NewBase(name), cfg: cfg, turns: cfg.turns(), buses: buses}
}

// AngleLimits returns the limits of the servo.
func (s *Servo) AngleLimits() drivers.AngleLimits { return s.turns }

// Start allows verbs. The servo does not move.
func (s *Servo) Start() error { s.MarkStarted(); return nil }

// Halt stops a turn, and sets the safe state.
func (s *Servo) Halt() error {
	s.StopVerbs()
	angle, keep := s.safe()
	if keep {
		return nil
	}
	return s.WithName(s.channel().setPulse(s.cfg.At, s.buses, angle))
}

// safe returns the angle of the safe state; keep is true if the servo holds its present
// angle.
func (s *Servo) safe() (angle int, keep bool) {
	switch s.cfg.Safe {
	case "release":
		return released, false
	case "park":
		return s.angle(*s.cfg.Park), false
	}
	return 0, true
}

// Safe reads back from the chip whether the servo has its safe state.
func (s *Servo) Safe(context.Context) (bool, error) {
	angle, keep := s.safe()
	if keep {
		return true, nil
	}
	is, err := s.channel().readPulse(s.cfg.At, s.buses)
	return err == nil && is == s.channel().ticks(angle), s.WithName(err)
}

// TurnTo turns the servo, and waits for the time that it needs. With a speed, TurnTo moves
// it in small steps from its last angle, and stops when ctx ends.
func (s *Servo) TurnTo(ctx context.Context, degrees float64) error {
	return s.Do(ctx, func(ctx context.Context) error {
		if err := s.turns.Check(degrees); err != nil {
			return err
		}
		return s.turn(ctx, degrees)
	})
}

func (s *Servo) turn(ctx context.Context, to float64) error {
	ch := s.channel()
	before, err := ch.readPulse(s.cfg.At, s.buses)
	if err != nil {
		return drivers.MarkNothingDone(err)
	}
	from, known := ch.angle(before)
	end, way := s.angle(to), s.cfg.Settle
	if known {
		way = s.cfg.Settle * time.Duration(abs(end-from)) / gobotTravel
	}
	if known && s.cfg.Speed > 0 {
		if err := s.lead(ctx, from, end); err != nil {
			return err
		}
		way = 0
	} else if err := ch.setPulse(s.cfg.At, s.buses, end); err != nil {
		return err
	}
	if !wait.For(ctx, way+leadEvery) {
		return ctx.Err()
	}
	return nil
}

// lead moves the servo in steps by time. A slow chip makes the steps larger, but not the
// speed.
func (s *Servo) lead(ctx context.Context, from, to int) error {
	every := time.Duration(s.cfg.Travel / gobotTravel / s.cfg.Speed * float64(time.Second)) // for one of Gobot's degrees
	way := abs(to - from)
	for done, began := 0, time.Now(); ; {
		if !wait.For(ctx, max(leadEvery, every)) {
			return ctx.Err()
		}
		next := min(way, max(done, int(time.Since(began)/every)))
		at := from + next
		if to < from {
			at = from - next
		}
		if next > done || next == way {
			if err := s.channel().setPulse(s.cfg.At, s.buses, at); err != nil {
				return err
			}
		}
		if done = next; done == way {
			return nil
		}
	}
}

func abs(n int) int { return max(n, -n) }

// angle converts an angle to Gobot's degrees.
func (s *Servo) angle(degrees float64) int {
	return int(math.Round(degrees / s.cfg.Travel * gobotTravel))
}

func (s *Servo) channel() pulses {
	ticks := func(pulse time.Duration) float64 { return pulse.Seconds() * s.cfg.Frequency * pcaPeriod }
	return pulses{s.cfg.Channel, s.cfg.Frequency, ticks(s.cfg.Shortest), ticks(s.cfg.Longest)}
}

// gobotTravel is the travel of every servo in Gobot's driver: 180 whole degrees. The chip
// has no finer steps at 50 Hz.
const gobotTravel = 180

// released is the value for no angle: the channel has no pulse.
const released = -1

// pcaPeriod is the number of ticks in a period.
const pcaPeriod = 4096

// pulses describes one channel, in 4096ths of a period.
type pulses struct {
	Channel   int     `json:"channel"`
	Frequency float64 `json:"frequency"` // Hz
	Shortest  float64 `json:"shortest"`
	Longest   float64 `json:"longest"`
}

// ticks returns the pulse of an angle.
func (p pulses) ticks(angle int) uint16 {
	if angle == released {
		return 0
	}
	return uint16(math.Round(p.Shortest + (p.Longest-p.Shortest)*float64(angle)/gobotTravel))
}

// angle returns the angle of a pulse; known is false for no pulse, and for a pulse that
// this driver never sets.
func (p pulses) angle(ticks uint16) (angle int, known bool) {
	angle = int(math.Round((float64(ticks) - p.Shortest) / (p.Longest - p.Shortest) * gobotTravel))
	return angle, angle >= 0 && angle <= gobotTravel
}

// setPulse sets the pulse of an angle, and reads it back from the chip.
func (p pulses) setPulse(at At, buses Buses, angle int) error {
	return at.use(buses, func(b Bus) error {
		chip, err := servo{Channel: p.Channel, Frequency: p.Frequency}.chip(at, b)
		if err != nil {
			return err
		}
		if angle == released {
			err = chip.SetPWM(p.Channel, 0, 0)
		} else {
			err = gpio.NewServoDriver(&pulseWriter{b, chip, p}, strconv.Itoa(p.Channel)).Move(uint8(angle))
		}
		if err != nil {
			return err
		}
		is, err := p.read(at, b)
		if err == nil && is != p.ticks(angle) {
			return fmt.Errorf("the chip has the pulse %[3]d instead of %[1]d/%[2]d of a period", p.ticks(angle), pcaPeriod, is)
		}
		return err
	})
}

// readPulse returns the pulse of the channel; 0 for none, and while the chip sleeps.
func (p pulses) readPulse(at At, buses Buses) (ticks uint16, err error) {
	err = at.use(buses, func(b Bus) (err error) { ticks, err = p.read(at, b); return err })
	return ticks, err
}

func (p pulses) read(at At, b Bus) (uint16, error) {
	c, err := at.direct(b)
	if err != nil {
		return 0, err
	}
	running, err := servo{Frequency: p.Frequency}.running(c)
	if err != nil || !running {
		return 0, err
	}
	return pulseOf(c, p.Channel)
}

// pulseWriter connects Gobot's servo driver to Gobot's chip driver, which has only one
// pulse range for all servos.
type pulseWriter struct {
	Bus
	chip   *i2c.PCA9685Driver
	pulses pulses
}

var _ gpio.ServoWriter = (*pulseWriter)(nil)

// ServoWrite implements gpio.ServoWriter.
func (w *pulseWriter) ServoWrite(pin string, angle byte) error {
	channel, err := strconv.Atoi(pin)
	if err != nil {
		return err
	}
	return w.chip.SetPWM(channel, 0, w.pulses.ticks(int(angle)))
}

// servoOrder sets a channel to an angle, or releases it.
type servoOrder struct {
	At
	Device string `json:"device"`
	Pulses pulses `json:"pulses"`
	Angle  int    `json:"angle"`
}

// WatchdogCommands returns the command with which another process sets the safe state. There
// is no command for off, because a released servo may drop its load.
func (s *Servo) WatchdogCommands() drivers.WatchdogCommands {
	angle, keep := s.safe()
	if keep {
		return drivers.WatchdogCommands{}
	}
	data, _ := json.Marshal(servoOrder{s.cfg.At, s.Name(), s.channel(), angle}) // JSON can represent all of its fields
	return drivers.WatchdogCommands{Safe: data}
}

// RunServoCommand executes orders for such servos, unless the servo already has the pulse.
func RunServoCommand(buses Buses, data []byte) (changed bool, err error) {
	var o servoOrder
	if err := json.Unmarshal(data, &o); err != nil {
		return false, fmt.Errorf("i2cdev: invalid order: %w", err)
	}
	if o.Angle < released || o.Angle > gobotTravel || o.Pulses.Channel < 0 || o.Pulses.Channel > 15 {
		return false, fmt.Errorf("%s: invalid order: the servo has no such angle or channel", o.Device)
	}
	if is, err := o.Pulses.readPulse(o.At, buses); err == nil && is == o.Pulses.ticks(o.Angle) {
		return false, nil
	}
	if err := o.Pulses.setPulse(o.At, buses, o.Angle); err != nil {
		return false, fmt.Errorf("%s: %w", o.Device, err)
	}
	return true, nil
}
