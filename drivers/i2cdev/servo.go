package i2cdev

import (
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

	"gobot.io/x/gobot/v2"
	"gobot.io/x/gobot/v2/drivers/gpio"
	"gobot.io/x/gobot/v2/drivers/i2c"

	"github.com/messkit/messkit/drivers"
)

var (
	_ drivers.Turner     = (*Servo)(nil)
	_ drivers.SafeReader = (*Servo)(nil)
	_ drivers.Guarded    = (*Servo)(nil)
)

// ServoConfig of one servo on a PCA9685 that turns to angles.
type ServoConfig struct {
	At
	Channel   int                `yaml:"channel"`   // 0 to 15
	Frequency float64            `yaml:"frequency"` // of the pulses of all channels of the board, in Hz
	Travel    float64            `yaml:"travel"`    // how far the servo turns between the two pulses, in degrees
	Shortest  time.Duration      `yaml:"shortest"`  // the pulse of 0 degrees
	Longest   time.Duration      `yaml:"longest"`   // the pulse of travel degrees
	Min       float64            `yaml:"min"`       // the least angle that it may be turned to
	Max       float64            `yaml:"max"`       // the greatest; 0 is travel
	Positions map[string]float64 `yaml:"positions"` // angles with a name
	Speed     float64            `yaml:"speed"`     // degrees a second that it is led with; 0: as fast as it can
	Settle    time.Duration      `yaml:"settle"`    // how long it may take from one end to the other by itself
	Safe      string             `yaml:"safe"`      // hold, release or park, when it ends
	Park      *float64           `yaml:"park"`      // the angle of park
}

// DefaultServoConfig is a plain servo of 180 degrees on the first channel.
func DefaultServoConfig() ServoConfig {
	return ServoConfig{
		At: At{Address: 0x40}, Frequency: 50, Travel: 180, Shortest: time.Millisecond, Longest: 2 * time.Millisecond,
		Settle: 1500 * time.Millisecond, Safe: "hold",
	}
}

const (
	maxTravel = 360
	slowest   = 1.0 // degrees a second
	maxSettle = 10 * time.Second
	leadEvery = 20 * time.Millisecond // a servo that is led is told at most so often: once a pulse of 50 Hz
)

// turns are the limits with the positions, in the order of their angles.
func (c ServoConfig) turns() drivers.Turns {
	t := drivers.Turns{Min: c.Min, Max: c.Max}
	if t.Max == 0 {
		t.Max = c.Travel
	}
	for _, name := range slices.Sorted(maps.Keys(c.Positions)) {
		t.Positions = append(t.Positions, drivers.Position{Name: name, Degrees: c.Positions[name]})
	}
	slices.SortStableFunc(t.Positions, func(a, b drivers.Position) int { return int(math.Copysign(1, a.Degrees-b.Degrees)) })
	return t
}

// Validate tells all that cannot be.
func (c ServoConfig) Validate() error {
	errs := []error{c.At.validate(0x40, 0x7f)}
	wrong := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	if c.Channel < 0 || c.Channel > 15 {
		wrong("channel: %d is none of 0 to 15", c.Channel)
	}
	if !(c.Frequency >= 24 && c.Frequency <= 330) {
		wrong("frequency: %g Hz is not between 24 and 330; most servos want 50", c.Frequency)
	}
	if !(c.Travel > 0 && c.Travel <= maxTravel) {
		wrong("travel: %g degrees is not between 0 and %d", c.Travel, maxTravel)
	}
	for _, p := range []struct {
		key   string
		pulse time.Duration
	}{{"shortest", c.Shortest}, {"longest", c.Longest}} {
		if p.pulse < minPulse || p.pulse > maxPulse {
			wrong("%s: a pulse of %v is not between %v and %v", p.key, p.pulse, minPulse, maxPulse)
		}
	}
	if c.Shortest >= c.Longest {
		wrong("shortest: %v is no shorter than longest, %v", c.Shortest, c.Longest)
	}
	t := c.turns()
	if !(t.Min >= 0 && t.Min < t.Max && t.Max <= c.Travel) {
		wrong("min: %g to %g degrees is not within the travel of %g", t.Min, t.Max, c.Travel)
	}
	for _, p := range t.Positions {
		if t.Check(p.Degrees) != nil {
			wrong("positions: %s is %g degrees, and not within %g to %g", p.Name, p.Degrees, t.Min, t.Max)
		}
		if strings.TrimSpace(p.Name) == "" {
			wrong("positions: one has no name")
		}
	}
	if !(c.Speed == 0 || c.Speed >= slowest && c.Speed <= 10*maxTravel) {
		wrong("speed: %g degrees a second is not between %g and %d; leave it out for as fast as it can", c.Speed, slowest, 10*maxTravel)
	}
	if c.Settle <= 0 || c.Settle > maxSettle {
		wrong("settle: %v is not between 0 and %v", c.Settle, maxSettle)
	}
	switch {
	case c.Safe != "hold" && c.Safe != "release" && c.Safe != "park":
		wrong("safe: %q is unknown; write hold, release or park", c.Safe)
	case c.Safe == "park" && c.Park == nil:
		wrong("park: is missing; write the angle to park at, in degrees")
	case c.Park != nil && t.Check(*c.Park) != nil:
		wrong("park: %g degrees is not within %g to %g", *c.Park, t.Min, t.Max)
	}
	return errors.Join(errs...)
}

func openServo(env drivers.Env, decode func(any) error) (drivers.Device, error) {
	cfg := DefaultServoConfig()
	if err := decode(&cfg); err != nil {
		return nil, err
	}
	return NewServo(env.Name, cfg, System{}), nil
}

// Servo turns to angles, by the pulses of one channel. It does not move at Start.
// What it is told is read back from the chip; where the servo stands, nobody knows.
type Servo struct {
	drivers.Life
	cfg   ServoConfig
	turns drivers.Turns
	buses Buses
	link  drivers.Link
}

// NewServo makes a servo of a valid configuration.
func NewServo(name string, cfg ServoConfig, buses Buses) *Servo {
	return &Servo{Life: drivers.NewLife(name), cfg: cfg, turns: cfg.turns(), buses: buses}
}

// Connection is a Gobot adaptor that does nothing: the bus is open while a verb is
// under way.
func (s *Servo) Connection() gobot.Connection { return &s.link }

// Turns are its limits.
func (s *Servo) Turns() drivers.Turns { return s.turns }

// Start makes it ready; it stays where it is.
func (s *Servo) Start() error { s.Opened(); return nil }

// Halt ends a turn where it is, and goes to the safe state.
func (s *Servo) Halt() error {
	s.Closed()
	angle, keep := s.safe()
	if keep {
		return nil
	}
	return s.Named(s.channel().tell(s.cfg.At, s.buses, angle))
}

// safe is the angle of the safe state; keep: it holds the one that it has.
func (s *Servo) safe() (angle int, keep bool) {
	switch s.cfg.Safe {
	case "release":
		return released, false
	case "park":
		return s.angle(*s.cfg.Park), false
	}
	return 0, true
}

// Safe reads back from the chip whether it is in its safe state.
func (s *Servo) Safe(context.Context) (bool, error) {
	angle, keep := s.safe()
	if keep {
		return true, nil
	}
	is, err := s.channel().told(s.cfg.At, s.buses)
	return err == nil && is == s.channel().ticks(angle), s.Named(err)
}

// TurnTo turns it, and gives it the time that it needs. With a speed it is led there
// in small steps from where it was told to be last, and stops with ctx on its way.
func (s *Servo) TurnTo(ctx context.Context, degrees float64) error {
	ctx, done, err := s.Begin(ctx)
	if err != nil {
		return err
	}
	defer done()
	if err := s.turns.Check(degrees); err != nil {
		return s.Named(err)
	}
	return s.Told(ctx, s.turn(ctx, degrees))
}

func (s *Servo) turn(ctx context.Context, to float64) error {
	ch := s.channel()
	before, err := ch.told(s.cfg.At, s.buses)
	if err != nil {
		return drivers.NotDone(err)
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
	} else if err := ch.tell(s.cfg.At, s.buses, end); err != nil {
		return err
	}
	return pause(ctx, way+leadEvery)
}

// lead tells it angle after angle, each at its time: a chip that is slow to answer
// makes the steps greater, and never the speed.
func (s *Servo) lead(ctx context.Context, from, to int) error {
	every := time.Duration(s.cfg.Travel / gobotTravel / s.cfg.Speed * float64(time.Second)) // for one of Gobot's degrees
	way := abs(to - from)
	for done, began := 0, time.Now(); ; {
		if err := pause(ctx, max(leadEvery, every)); err != nil {
			return err
		}
		next := min(way, max(done, int(time.Since(began)/every)))
		at := from + next
		if to < from {
			at = from - next
		}
		if next > done || next == way {
			if err := s.channel().tell(s.cfg.At, s.buses, at); err != nil {
				return err
			}
		}
		if done = next; done == way {
			return nil
		}
	}
}

func abs(n int) int { return max(n, -n) }

func pause(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// angle is an angle in Gobot's degrees.
func (s *Servo) angle(degrees float64) int {
	return int(math.Round(degrees / s.cfg.Travel * gobotTravel))
}

func (s *Servo) channel() pulses {
	ticks := func(pulse time.Duration) float64 { return pulse.Seconds() * s.cfg.Frequency * pcaPeriod }
	return pulses{s.cfg.Channel, s.cfg.Frequency, ticks(s.cfg.Shortest), ticks(s.cfg.Longest)}
}

// gobotTravel is what Gobot's servo driver counts all servos in: 180 degrees from one
// end to the other, and whole ones. The chip knows no finer ones at 50 Hz.
const gobotTravel = 180

// released is no angle: the channel has no pulse.
const released = -1

// pcaPeriod is what a period is counted in.
const pcaPeriod = 4096

// pulses are those of one channel, in 4096ths of a period.
type pulses struct {
	Channel   int     `json:"channel"`
	Frequency float64 `json:"frequency"` // Hz
	Shortest  float64 `json:"shortest"`
	Longest   float64 `json:"longest"`
}

// ticks is the pulse of an angle.
func (p pulses) ticks(angle int) uint16 {
	if angle == released {
		return 0
	}
	return uint16(math.Round(p.Shortest + (p.Longest-p.Shortest)*float64(angle)/gobotTravel))
}

// angle is that of a pulse; known is false for none, and for one that this servo is
// never told.
func (p pulses) angle(ticks uint16) (angle int, known bool) {
	angle = int(math.Round((float64(ticks) - p.Shortest) / (p.Longest - p.Shortest) * gobotTravel))
	return angle, angle >= 0 && angle <= gobotTravel
}

// tell gives the channel the pulse of an angle, and reads it back from the chip.
func (p pulses) tell(at At, buses Buses, angle int) error {
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
			return fmt.Errorf("it was told a pulse of %d/%d of a period, and has %d", p.ticks(angle), pcaPeriod, is)
		}
		return err
	})
}

// told is the pulse that the channel has; 0 for none, and while the chip sleeps.
func (p pulses) told(at At, buses Buses) (ticks uint16, err error) {
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

// pulseWriter is the adaptor of Gobot's servo driver on Gobot's driver of the chip,
// which by itself knows one range of pulses for all servos.
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

// servoOrder has a channel set to an angle, or released.
type servoOrder struct {
	At
	Device string `json:"device"`
	Pulses pulses `json:"pulses"`
	Angle  int    `json:"angle"`
}

// Orders are how another process takes it to its safe state. Nobody else turns it
// off: a servo that holds something may let go of it.
func (s *Servo) Orders() drivers.Orders {
	angle, keep := s.safe()
	if keep {
		return drivers.Orders{}
	}
	data, _ := json.Marshal(servoOrder{s.cfg.At, s.Name(), s.channel(), angle}) // strings and numbers always can be
	return drivers.Orders{Safe: data}
}

// ObeyServo carries out orders for such servos, where it is not so already.
func ObeyServo(buses Buses, data []byte) (changed bool, err error) {
	var o servoOrder
	if err := json.Unmarshal(data, &o); err != nil {
		return false, fmt.Errorf("i2cdev: an order cannot be read: %w", err)
	}
	if o.Angle < released || o.Angle > gobotTravel || o.Pulses.Channel < 0 || o.Pulses.Channel > 15 {
		return false, fmt.Errorf("%s: an order is for no angle of a servo", o.Device)
	}
	if is, err := o.Pulses.told(o.At, buses); err == nil && is == o.Pulses.ticks(o.Angle) {
		return false, nil
	}
	if err := o.Pulses.tell(o.At, buses, o.Angle); err != nil {
		return false, fmt.Errorf("%s: %w", o.Device, err)
	}
	return true, nil
}
