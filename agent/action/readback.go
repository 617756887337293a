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

// StateCheck is a reading of a device's state.
type StateCheck struct {
	Known     bool   `json:"known,omitempty"` // the reading succeeded
	AsPlanned bool   `json:"so,omitempty"`    // the state was as planned
	State     string `json:"now,omitempty"`   // description of the state
	Acts      uint64 `json:"-"`               // the number of its acts at that time (policy.Policy.ActCount)
}

// CheckState reads whether a device is in the planned state.
func CheckState(ctx context.Context, set *device.Set, plan capabilities.Plan) StateCheck {
	d := set.Get(plan.Device)
	acts := set.Gate.ActCount(plan.Device)
	read := readbackOf(d.Driver, plan)
	if read == nil {
		return StateCheck{}
	}
	var s StateCheck
	_, s.Known = device.ReadState(ctx, set, d, func(ctx context.Context, p *policy.Pass) (_ struct{}, err error) {
		s.AsPlanned, s.State, err = read(ctx, p)
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
		var details []string
		for _, step := range plan.Steps {
			if _, how := Verify(ctx, s, step); step.Actuates() {
				details = append(details, how)
			}
		}
		return FoundUnknown, strings.Join(details, "; ")
	}
	reached, state, err := ReadBack(ctx, s, plan)
	switch {
	case errors.Is(err, ErrNoReadback):
		return FoundUnknown, currentState(ctx, s, plan.Device)
	case err != nil:
		return FoundUnknown, fmt.Sprintf("%s: %v", plan.Device, err)
	case reached:
		return FoundDone, fmt.Sprintf("%s reads back as %s", plan.Device, state)
	}
	return FoundNotDone, fmt.Sprintf("%s now reads back as %s", plan.Device, state)
}

// ErrNoReadback reports an act that leaves no readable state.
var ErrNoReadback = errors.New("its state does not show whether the command took effect")

// currentState describes the current state of a device, without a conclusion about the plan.
func currentState(ctx context.Context, s *device.Set, name string) string {
	state := ""
	if d := s.Get(name); d != nil {
		state = s.State(ctx, d)
		rest, reads := d.Driver.(drivers.RestReader)
		if state == "" && reads {
			still, known := device.ReadState(ctx, s, d, func(ctx context.Context, p *policy.Pass) (bool, error) { return p.AtRest(ctx, rest) })
			state = device.WordFor(func(still bool) string { return map[bool]string{true: "standing still", false: "moving"}[still] })(still, known)
		}
	}
	if state == "" {
		return fmt.Sprintf("%s: %v", name, ErrNoReadback)
	}
	return fmt.Sprintf("%s is %s now, which does not show whether the command took effect", name, state)
}

// ReadBack reads whether a device is in the planned state, and describes the state.
func ReadBack(ctx context.Context, s *device.Set, plan capabilities.Plan) (reached bool, state string, err error) {
	d := s.Get(plan.Device)
	if d == nil {
		return false, "", ErrNoReadback
	}
	read := readbackOf(d.Driver, plan)
	if read == nil {
		return false, "", ErrNoReadback
	}
	query := plan
	query.Command, query.Effect = capabilities.ReadState, capabilities.Query
	pass, err := s.Gate.Admit(ctx, policy.Order{Plan: query}, nil)
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
type readback func(ctx context.Context, p *policy.Pass) (reached bool, state string, err error)

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
		if stopsPrint(d, plan) {
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
		reached, state := judge(v)
		return reached, state, nil
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
	return readbackWith(d, (*policy.Pass).ColorTemperature, func(is float64) (bool, string) {
		return sameColorTemperature(is, want), wording.Number(math.Round(is)) + " K"
	})
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

// readUntil reads a device after a command until reached accepts its state, or until the last
// attempt. Without an acknowledgement it reads once.
func readUntil[T any](ctx context.Context, r *Result, reached func(T) bool, read func() (T, error)) (T, error) {
	v, err := read()
	for n := 1; n < maxReadbacks && r.Err == nil && err == nil && !reached(v); n++ {
		if !wait.For(ctx, readbackInterval) {
			return v, nil
		}
		again, err := read()
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
		seen, err := run.readUntilPlanned(ctx, r, read)
		r.applyReadback(run.Device.Name, seen.AsPlanned, seen.State, err)
	}
}

// readUntilPlanned reads a device after a command until its state is as planned, as readUntil.
func (run Run) readUntilPlanned(ctx context.Context, r *Result, read readback) (StateCheck, error) {
	return readUntil(ctx, r, func(s StateCheck) bool { return s.AsPlanned }, func() (s StateCheck, err error) {
		s.AsPlanned, s.State, err = read(ctx, run.Pass)
		return s, err
	})
}

// applyReadback corrects the result of an act by a readback. reached reports whether the state is
// as commanded, state describes it, and err is the reason for which it is unknown. Without an
// acknowledgement, another state proves nothing: the device may receive the command late and
// act then. Only a command that never reached it has no effect (effectOf).
func (r *Result) applyReadback(name string, reached bool, state string, err error) {
	r.StateCheck = StateCheck{Known: err == nil, AsPlanned: reached, State: state}
	switch {
	case err != nil:
		r.noteUnread(err)
	case reached:
		if r.Err != nil {
			r.Note("the driver reported: %v", r.Err)
		}
		r.Err, r.Effect, r.Evidence = nil, "", mess.ReadBack
	case r.Err == nil:
		r.Err, r.Effect = fmt.Errorf("%s got the command, but reads back as %s", name, state), mess.EffectUnknown
	default:
		r.Err, r.Effect = fmt.Errorf("%w; it read back as %s just now, and may still act", r.Err, state), mess.EffectUnknown
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
