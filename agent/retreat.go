package agent

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/messkit/messkit/agent/policy"
	"github.com/messkit/messkit/capabilities"
	"github.com/messkit/messkit/drivers"
	"github.com/messkit/messkit/mess"
)

// retreatTime limits the way back to the safe level with its readback: an earlier command must
// return first.
const retreatTime = 30 * time.Second

// retreat takes a switched device to its safe level if the requester cancelled the act midway,
// or if the program ends, and describes the state. It reports whether that is the result. After
// a stop it only describes the result of the stop.
func (v verbs) retreat(ctx context.Context, on bool, r *result) bool {
	safe, known := safeLevel(v.dev.Driver)
	cause := context.Cause(ctx)
	whole := r.err == nil && safe == on // its level is already safe
	switch {
	case !known || whole || cause == nil || r.effect == mess.EffectNone:
		return false
	case stopOf(ctx) != nil && r.err == nil:
		r.err = fmt.Errorf("%s had been switched %s before, and was taken to its safe state, %s", v.dev.Name, onOff(on), onOff(safe))
		r.effect = mess.EffectUnknown
		return true
	case !stopped(ctx) && (r.err == nil || !errors.Is(cause, errCancelled)):
		return false
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), retreatTime)
	defer cancel()
	s := v.dev.Driver.(drivers.Switch)
	err := v.pass.ReturnToSafeLevel(ctx, s, safe)
	v.retreated(ctx, on, safe, err, r)
	if r.effect == mess.EffectUnknown {
		v.pass.EnforceSafeLevel(s, safe)
	}
	return true
}

// safeLevel returns the safe level of a switch, if it has one.
func safeLevel(d drivers.Device) (on, known bool) {
	_, switches := d.(drivers.Switch)
	l, ok := d.(drivers.Levels)
	if !ok || !switches {
		return false, false
	}
	_, level := l.Levels()
	return level == "on", level == "on" || level == "off"
}

// endsAs describes how the end of the program changes the device of a completed step, "" if it
// does not.
func endsAs(s *deviceSet, step capabilities.Plan) string {
	d := s.get(step.Device)
	if d == nil {
		return ""
	}
	safe, known := safeLevel(d.Driver)
	if !known || safe || !policy.TurnsOn(step) {
		return ""
	}
	return fmt.Sprintf("the %s is switched off as the program ends", d.Label)
}

// retreated corrects the result by a readback after the command to the safe level, which ended
// with err.
func (v verbs) retreated(ctx context.Context, on, safe bool, err error, r *result) {
	told := result{err: err}
	reader, reads := v.dev.Driver.(drivers.SwitchReader)
	is, unread := safe, error(nil)
	if reads {
		is, unread = settled(ctx, &told, func(is bool) bool { return is == safe }, func() (bool, error) { return v.pass.On(ctx, reader) })
	}
	r.sight = sight{Known: reads && unread == nil, So: is == on, Now: onOff(is)}
	to := "switched " + onOff(safe)
	switch {
	case errors.Is(err, drivers.ErrMayAct) && reads && unread == nil && is == safe:
		r.err, r.effect = fmt.Errorf("%s was %s, and reads back as %s; it has never answered what it was told before, and may still act", v.dev.Name, to, onOff(is)), mess.EffectUnknown
	case err != nil && (!reads || unread != nil):
		r.err, r.effect = fmt.Errorf("%s could not be %s (%v), and may be %s", v.dev.Name, to, err, onOff(!safe)), mess.EffectUnknown
	case err != nil:
		r.err, r.effect = fmt.Errorf("%s could not be %s (%v); it read back as %s just now, and may still act", v.dev.Name, to, err, onOff(is)), mess.EffectUnknown
	case is != safe:
		r.err, r.effect = fmt.Errorf("%s was %s, but reads back as %s", v.dev.Name, to, onOff(is)), mess.EffectUnknown
	case !reads || unread != nil:
		r.err, r.effect, r.evidence = fmt.Errorf("%s was %s, and has taken that; it could not be read back", v.dev.Name, to), mess.EffectPartial, mess.Acknowledged
	case on == safe:
		r.err, r.effect, r.evidence = nil, "", mess.ReadBack
	default:
		r.err, r.effect, r.evidence = fmt.Errorf("%s was %s, and reads back as %s", v.dev.Name, to, onOff(is)), mess.EffectPartial, mess.ReadBack
	}
}
