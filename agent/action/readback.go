package action

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/messkit/messkit/agent/device"
	"github.com/messkit/messkit/agent/policy"
	"github.com/messkit/messkit/agent/wording"
	"github.com/messkit/messkit/capabilities"
	"github.com/messkit/messkit/drivers"
	"github.com/messkit/messkit/internal/wait"
	"github.com/messkit/messkit/mess"
)

// Sight is a reading of a device's state.
type Sight struct {
	Known bool   `json:"known,omitempty"` // the reading succeeded
	So    bool   `json:"so,omitempty"`    // the state was as planned
	Now   string `json:"now,omitempty"`   // description of the state
	Acts  uint64 `json:"-"`               // the number of its acts at that time (policy.Policy.ActCount)
}

// ReadSight reads whether a device is in the planned state.
func ReadSight(ctx context.Context, set *device.Set, plan capabilities.Plan) Sight {
	d := set.Get(plan.Device)
	acts := set.Gate.ActCount(plan.Device)
	read := readbackOf(d.Driver, plan)
	if read == nil {
		return Sight{}
	}
	var s Sight
	_, s.Known = device.ReadState(ctx, set, d, func(ctx context.Context, p *policy.Pass) (_ struct{}, err error) {
		s.So, s.Now, err = read(ctx, p)
		return struct{}{}, err
	})
	s.Acts = acts
	if acts != set.Gate.ActCount(plan.Device) { // it acted during the reading
		s.Known = false
	}
	return s
}

// Finding is the conclusion from a reading about a plan that had begun.
type Finding string

// The findings of a reading.
const (
	FoundDone    Finding = "done"
	FoundNotDone Finding = "not done"
	FoundUnknown Finding = "unknown"
)

// Verify reads whether an earlier run has carried out a plan, and returns the evidence. It does
// not act.
func Verify(ctx context.Context, s *device.Set, plan capabilities.Plan) (is Finding, how string) {
	if len(plan.Steps) > 0 { // the last executed step is unknown
		var said []string
		for _, step := range plan.Steps {
			if _, how := Verify(ctx, s, step); step.Actuates() {
				said = append(said, how)
			}
		}
		return FoundUnknown, strings.Join(said, "; ")
	}
	so, now, err := ReadBack(ctx, s, plan)
	switch {
	case errors.Is(err, ErrNoReadback):
		return FoundUnknown, currentState(ctx, s, plan.Device)
	case err != nil:
		return FoundUnknown, fmt.Sprintf("%s: %v", plan.Device, err)
	case so:
		return FoundDone, fmt.Sprintf("%s reads back as %s", plan.Device, now)
	}
	return FoundNotDone, fmt.Sprintf("%s now reads back as %s", plan.Device, now)
}

// ErrNoReadback reports an act that leaves no readable state.
var ErrNoReadback = errors.New("its state does not show whether the command took effect")

// currentState describes the current state of a device, without a conclusion about the plan.
func currentState(ctx context.Context, s *device.Set, name string) string {
	now := ""
	if d := s.Get(name); d != nil {
		now = s.State(ctx, d)
		rest, reads := d.Driver.(drivers.RestReader)
		if now == "" && reads {
			still, known := device.ReadState(ctx, s, d, func(ctx context.Context, p *policy.Pass) (bool, error) { return p.AtRest(ctx, rest) })
			now = device.WordFor(func(still bool) string { return map[bool]string{true: "standing still", false: "moving"}[still] })(still, known)
		}
	}
	if now == "" {
		return fmt.Sprintf("%s: %v", name, ErrNoReadback)
	}
	return fmt.Sprintf("%s is %s now, which does not show whether the command took effect", name, now)
}

// ReadBack reads whether a device is in the planned state, and describes the state.
func ReadBack(ctx context.Context, s *device.Set, plan capabilities.Plan) (so bool, now string, err error) {
	d := s.Get(plan.Device)
	if d == nil {
		return false, "", ErrNoReadback
	}
	read := readbackOf(d.Driver, plan)
	if read == nil {
		return false, "", ErrNoReadback
	}
	look := plan
	look.Command, look.Effect = capabilities.ReadState, capabilities.Query
	pass, err := s.Gate.Admit(ctx, policy.Order{Plan: look}, nil)
	if err != nil {
		return false, "", err
	}
	defer pass.End()
	return read(ctx, pass)
}

// levelWithin is the tolerated difference of a level, in percent. Devices count in 100, 254 or
// 255 steps, which are closer than that; a difference of one percent is another level, from
// another command.
const levelWithin = 0.5

// readback reads back a state with a pass for reading.
type readback func(ctx context.Context, p *policy.Pass) (so bool, now string, err error)

// readbackOf returns the function that reads back the effect of a plan; nil if the device cannot
// report it, or if the act leaves no state.
func readbackOf(d drivers.Device, plan capabilities.Plan) readback {
	switch plan.Command {
	case capabilities.SetSwitch:
		want, _ := plan.Args.Get("on")
		return readbackWith(d, (*policy.Pass).On, func(on bool) (bool, string) { return on == want, wording.OnOff(on) })
	case capabilities.Dim:
		want, absolute := numberArg(plan.Args, "level")
		if !absolute {
			return nil // the start of the change is unknown
		}
		return readLevel(d, want)
	case capabilities.SetColor:
		value, _ := plan.Args.Get("colour")
		text, _ := value.(string)
		want, wrong := drivers.ParseColor(text)
		return readbackWith(d, (*policy.Pass).Color, func(is drivers.Color) (bool, string) { return wrong == nil && is == want, is.String() })
	case capabilities.Pause, capabilities.Stop:
		if staysHot(d, plan) {
			return nil
		}
		return readbackWith(d, (*policy.Pass).AtRest, func(still bool) (bool, string) {
			return still, map[bool]string{true: "standing still", false: "moving"}[still]
		})
	case capabilities.Open, capabilities.Close:
		open := plan.Command == capabilities.Open
		return readbackWith(d, (*policy.Pass).Opening, func(is float64) (bool, string) {
			return open && is > 99 || !open && is < 1, wording.Opening(is)
		})
	case capabilities.OpenTo:
		want, _ := numberArg(plan.Args, "opening")
		return readbackWith(d, (*policy.Pass).Opening, func(is float64) (bool, string) {
			return math.Abs(is-want) <= drivers.OpeningTolerance, wording.Opening(is)
		})
	case capabilities.SetColorTemperature:
		want, absolute := numberArg(plan.Args, "kelvin")
		if !absolute {
			return nil
		}
		return readColorTemperature(d, want)
	case capabilities.TurnTo:
		want, _ := numberArg(plan.Args, "angle")
		return readAngle(d, want)
	case capabilities.SetTemperature:
		want, _ := numberArg(plan.Args, "temperature")
		return readbackWith(d, (*policy.Pass).Target, func(is float64) (bool, string) { return atTarget(is, want), wording.Rounded(is) + " °C" })
	case capabilities.Lock, capabilities.Unlock:
		return readbackWith(d, (*policy.Pass).Locked, func(is bool) (bool, string) {
			return is == (plan.Command == capabilities.Lock), map[bool]string{true: "locked", false: "unlocked"}[is]
		})
	case capabilities.Dock:
		return readbackWith(d, (*policy.Pass).Docked, func(in bool) (bool, string) {
			return in, map[bool]string{true: "in its dock", false: "away from its dock"}[in]
		})
	}
	return nil
}

// readbackWith reads one state, if the device can report it.
func readbackWith[R, V any](d drivers.Device, read func(*policy.Pass, context.Context, R) (V, error), judge func(V) (bool, string)) readback {
	r, ok := d.(R)
	if !ok {
		return nil
	}
	return func(ctx context.Context, p *policy.Pass) (bool, string, error) {
		v, err := read(p, ctx, r)
		if err != nil {
			return false, "", err
		}
		so, now := judge(v)
		return so, now, nil
	}
}

// readLevel reads back the brightness of a light, in percent.
func readLevel(d drivers.Device, want float64) readback {
	return readbackWith(d, (*policy.Pass).Level, func(is float64) (bool, string) { return math.Abs(is-want) <= levelWithin, wording.Rounded(is) + " %" })
}

// readColor reads back the color of a light.
func readColor(d drivers.Device, want drivers.Color) readback {
	return readbackWith(d, (*policy.Pass).Color, func(is drivers.Color) (bool, string) { return is == want, is.String() })
}

// readColorTemperature reads back the color temperature of a light, in kelvin.
func readColorTemperature(d drivers.Device, want float64) readback {
	return readbackWith(d, (*policy.Pass).ColorTemperature, func(is float64) (bool, string) { return sameWarmth(is, want), wording.Number(math.Round(is)) + " K" })
}

// readAngle reads back the angle of a servo, in degrees.
func readAngle(d drivers.Device, want float64) readback {
	return readbackWith(d, (*policy.Pass).Angle, func(is float64) (bool, string) {
		return math.Abs(is-want) <= angleWithin, wording.Rounded(is) + " degrees"
	})
}

// effectOf returns the effect of an act that ended with err: none if the device did not receive
// the command or rejected it, else unknown.
func effectOf(err error) mess.Effect {
	_, refused := errors.AsType[*policy.Rejection](err)
	switch {
	case err == nil:
		return ""
	case refused, errors.Is(err, drivers.ErrBusy), errors.Is(err, drivers.ErrNothingDone):
		return mess.EffectNone
	case errors.Is(err, drivers.ErrHalted):
		return mess.EffectUnknown
	case errors.Is(err, drivers.ErrNotStarted):
		return mess.EffectNone
	}
	return mess.EffectUnknown
}

// MayAct reports whether a device may still carry out its command, even if its state does not
// show that now.
func MayAct(err error) bool {
	late, timed := errors.AsType[*policy.TimeoutError](err)
	return timed && late.Quarantined || errors.Is(err, drivers.ErrMayAct)
}

// maxReadbacks is how often the agent reads a device after an acknowledged command before it
// reports a different state; readbackInterval is the pause between. Many devices answer
// first and switch later.
const (
	maxReadbacks     = 4
	readbackInterval = 600 * time.Millisecond
)

// readUntil reads a device after a command until so accepts its state, or until the last
// attempt. Without an acknowledgement it reads once.
func readUntil[T any](ctx context.Context, r *Result, so func(T) bool, look func() (T, error)) (T, error) {
	v, err := look()
	for n := 1; n < maxReadbacks && r.Err == nil && err == nil && !so(v); n++ {
		if !wait.For(ctx, readbackInterval) {
			return v, nil
		}
		again, err := look()
		if err != nil {
			return v, nil // the old state is known
		}
		v = again
	}
	return v, err
}

// readBack corrects the result of an act by a readback; nil if the device cannot report its state.
func (run Run) readBack(ctx context.Context, r *Result, read readback) {
	if read != nil {
		seen, err := run.readUntilSo(ctx, r, read)
		r.applyReadback(run.Device.Name, seen.So, seen.Now, err)
	}
}

// readUntilSo reads a device after a command until its state is as planned, as readUntil.
func (run Run) readUntilSo(ctx context.Context, r *Result, read readback) (Sight, error) {
	return readUntil(ctx, r, func(s Sight) bool { return s.So }, func() (s Sight, err error) {
		s.So, s.Now, err = read(ctx, run.Pass)
		return s, err
	})
}

// applyReadback corrects the result of an act by a readback. so says whether the state is as
// commanded, now describes the state, and err says why it is unknown. Without an
// acknowledgement, another state proves nothing: the device may receive the command late and
// act then. Only a command that never reached it has no effect (effectOf).
func (r *Result) applyReadback(name string, so bool, now string, err error) {
	r.Sight = Sight{Known: err == nil, So: so, Now: now}
	switch {
	case err != nil:
		r.noteUnread(err)
	case so:
		if r.Err != nil {
			r.Note("the driver reported: %v", r.Err)
		}
		r.Err, r.Effect, r.Evidence = nil, "", mess.ReadBack
	case r.Err == nil:
		r.Err, r.Effect = fmt.Errorf("%s got the command, but reads back as %s", name, now), mess.EffectUnknown
	default:
		r.Err, r.Effect = fmt.Errorf("%w; it read back as %s just now, and may still act", r.Err, now), mess.EffectUnknown
	}
}

// noteUnread notes that the state of a device is unknown, and why. For a halted device this says
// nothing about the act.
func (r *Result) noteUnread(err error) {
	if errors.Is(err, drivers.ErrNotStarted) {
		r.Note("the agent did not read it back: it has halted")
		return
	}
	r.Note("the agent could not read it back: %v", err)
}
