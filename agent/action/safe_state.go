package action

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/messkit/messkit/agent/device"
	"github.com/messkit/messkit/agent/policy"
	"github.com/messkit/messkit/agent/runtime"
	"github.com/messkit/messkit/agent/wording"
	"github.com/messkit/messkit/capabilities"
	"github.com/messkit/messkit/drivers"
	"github.com/messkit/messkit/mess"
)

// safeLevelTime limits the way back to the safe level with its readback: an earlier command must
// return first.
const safeLevelTime = 30 * time.Second

// returnToSafeLevel takes a switched device to its safe level if the requester cancelled the
// act midway, or if the program ends, and describes the state. It reports whether that is
// the result. After a stop it only describes the result of the stop.
func (run Run) returnToSafeLevel(ctx context.Context, on bool, r *Result) bool {
	safe, known := safeLevel(run.Device.Driver)
	cause := context.Cause(ctx)
	whole := r.Err == nil && safe == on // its level is already safe
	switch {
	case !known || whole || cause == nil || r.Effect == mess.EffectNone:
		return false
	case runtime.StopOf(ctx) != nil && r.Err == nil:
		r.Err = fmt.Errorf("the agent had switched %s %s before, and the stop took it to its safe state, %s", run.Device.Name, wording.OnOff(on), wording.OnOff(safe))
		r.Effect = mess.EffectUnknown
		return true
	case !runtime.ProgramEnds(ctx) && (r.Err == nil || !errors.Is(cause, runtime.ErrCancelled)):
		return false
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), safeLevelTime)
	defer cancel()
	s := run.Device.Driver.(drivers.Switch)
	err := run.Pass.ReturnToSafeLevel(ctx, s, safe)
	run.readSafeLevel(ctx, on, safe, err, r)
	if r.Effect == mess.EffectUnknown {
		run.Pass.EnforceSafeLevel(s, safe)
	}
	return true
}

// safeLevel returns the safe level of a switch, if it has one.
func safeLevel(d drivers.Device) (on, known bool) {
	_, switches := d.(drivers.Switch)
	l, ok := d.(drivers.StartHaltStates)
	if !ok || !switches {
		return false, false
	}
	_, level := l.StartHaltStates()
	return level == "on", level == "on" || level == "off"
}

// AtProgramEnd describes how the end of the program changes the device of a completed step,
// "" if it does not.
func AtProgramEnd(s *device.Set, step capabilities.Plan) string {
	d := s.Get(step.Device)
	if d == nil {
		return ""
	}
	safe, known := safeLevel(d.Driver)
	if !known || safe || !policy.TurnsOn(step) {
		return ""
	}
	return fmt.Sprintf("the agent switches the %s off as the program ends", d.Label)
}

// readSafeLevel corrects the result by a readback after the command to the safe level, which
// ended with err.
func (run Run) readSafeLevel(ctx context.Context, on, safe bool, err error, r *Result) {
	readback := Result{Err: err}
	reader, reads := run.Device.Driver.(drivers.SwitchReader)
	is, readErr := safe, error(nil)
	if reads {
		is, readErr = readUntil(ctx, &readback, func(is bool) bool { return is == safe }, func() (bool, error) { return run.Pass.On(ctx, reader) })
	}
	r.StateCheck = StateCheck{Known: reads && readErr == nil, AsPlanned: is == on, State: wording.OnOff(is)}
	to := "switched " + wording.OnOff(safe)
	switch {
	case errors.Is(err, drivers.ErrMayAct) && reads && readErr == nil && is == safe:
		r.Err, r.Effect = fmt.Errorf("%s was %s, and reads back as %s; it has never answered the earlier command, and may still act", run.Device.Name, to, wording.OnOff(is)), mess.EffectUnknown
	case err != nil && (!reads || readErr != nil):
		r.Err, r.Effect = fmt.Errorf("%s could not be %s (%v), and may be %s", run.Device.Name, to, err, wording.OnOff(!safe)), mess.EffectUnknown
	case err != nil:
		r.Err, r.Effect = fmt.Errorf("%s could not be %s (%v); it read back as %s just now, and may still act", run.Device.Name, to, err, wording.OnOff(is)), mess.EffectUnknown
	case is != safe:
		r.Err, r.Effect = fmt.Errorf("%s was %s, but reads back as %s", run.Device.Name, to, wording.OnOff(is)), mess.EffectUnknown
	case !reads || readErr != nil:
		r.Err, r.Effect, r.Evidence = fmt.Errorf("%s was %s, and acknowledged that; the agent could not read it back", run.Device.Name, to), mess.EffectPartial, mess.Acknowledged
	case on == safe:
		r.Err, r.Effect, r.Evidence = nil, "", mess.ReadBack
	default:
		r.Err, r.Effect, r.Evidence = fmt.Errorf("%s was %s, and reads back as %s", run.Device.Name, to, wording.OnOff(is)), mess.EffectPartial, mess.ReadBack
	}
}
