package action

import (
	"context"
	"fmt"
	"time"

	"github.com/messkit/messkit/agent/policy"
	"github.com/messkit/messkit/agent/wording"
	"github.com/messkit/messkit/drivers"
	"github.com/messkit/messkit/mess"
)

// setSwitch switches a device and reads it back if possible.
func (run Run) setSwitch(ctx context.Context) Result {
	want, _ := run.Plan.Args.Get("on")
	on, ok := want.(bool)
	if !ok {
		return Result{Err: fmt.Errorf("%s: the plan does not say whether on or off", run.Device.Name), Effect: mess.EffectNone}
	}
	return run.switchTo(ctx, on)
}

// toggle switches to the opposite of the reported state; without a reported state it does
// nothing.
func (run Run) toggle(ctx context.Context) Result {
	is, err := run.Pass.On(ctx, run.Device.Driver.(drivers.SwitchReader))
	if err != nil {
		return Result{Err: fmt.Errorf("%s does not say whether it is on: %w", run.Device.Name, err), Effect: mess.EffectNone}
	}
	return run.switchTo(ctx, !is)
}

// switchTo switches a device on or off and reads it back if possible.
func (run Run) switchTo(ctx context.Context, on bool) Result {
	err := run.Pass.Switch(ctx, run.Device.Driver.(drivers.Switch), on)
	r := run.resultOf(err, run.switchText(on), "on", on)
	return run.finishSwitch(ctx, r, on, readbackWith(run.Device.Driver, (*policy.Pass).On, func(is bool) (bool, string) { return is == on, wording.OnOff(is) }))
}

// finishSwitch completes the result of a command that switches a device or sets a light; on is
// the commanded state. It returns the device to its safe level if the task has ended.
func (run Run) finishSwitch(ctx context.Context, r Result, on bool, read readback) Result {
	return run.afterAct(ctx, r, func(after context.Context, since time.Time, r *Result) {
		if run.returnToSafeLevel(ctx, on, r) {
			return
		}
		if run.readBack(after, r, read); r.Err == nil {
			run.captureAfter(after, since, r)
		}
		if !run.returnToSafeLevel(ctx, on, r) && r.Err == nil {
			run.noteSwitchOff(r)
		}
	})
}

// noteSwitchOff notes when the device goes off again, and what switches it off.
func (run Run) noteSwitchOff(r *Result) {
	ends := run.Pass.SwitchOff()
	if ends.In == 0 {
		return
	}
	at := ""
	if run.ClockMark == "" {
		at = ", at " + run.Now().Add(ends.In).Format(time.TimeOnly) // a requester may read this late
	}
	r.Note("it is switched off again in %v%s, by %s", ends.In, at, DescribeSwitchOff(ends))
}

// DescribeSwitchOff describes what switches a device off, and what does so if this program stops.
func DescribeSwitchOff(e policy.SwitchOff) string {
	switch SwitchOffBy(e) {
	case OffByTimer:
		return "its own timer, even without this agent"
	case OffByAgentOrTimer:
		return fmt.Sprintf("this agent; if the agent stops, its own timer does in %v", e.DeviceTimer)
	case OffByAgentOrWatchdog:
		return "this agent; if the agent stops, the watchdog does at that time"
	case OffByAgentNotAtExit:
		return "this agent; if the agent stops, nothing does until it runs again"
	}
	return "this agent; if the agent dies or hangs, nothing does until it runs again"
}

// What switches a device off again.
const (
	OffByTimer           = "timer"          // its own timer, even without the agent
	OffByAgentOrTimer    = "agent_timer"    // the agent, or after DeviceTimer its own timer
	OffByAgentOrWatchdog = "agent_watchdog" // the agent, or the watchdog at the same time
	OffByAgentNotAtExit  = "agent_runs"     // the agent, but nothing once it has ended
	OffByAgent           = "agent"          // the agent, but nothing if it dies or hangs
)

// SwitchOffBy returns what switches a device off again, as a code for pages to translate.
func SwitchOffBy(e policy.SwitchOff) string {
	switch {
	case e.DeviceTimer > 0 && e.DeviceTimer <= e.In+time.Second:
		return OffByTimer
	case e.DeviceTimer > 0:
		return OffByAgentOrTimer
	case e.Watchdog:
		return OffByAgentOrWatchdog
	case e.StaysOnAtExit:
		return OffByAgentNotAtExit
	}
	return OffByAgent
}

// switchText returns a sentence such as "The porch light is on."
func (run Run) switchText(on bool) string {
	return fmt.Sprintf("The %s is %s.", run.Device.Label, wording.OnOff(on))
}

// press triggers a button, a scene or a script once. It reads back whether the device reports a
// later time than before. Without an acknowledgement the effect is unknown, for any reported
// time.
func (run Run) press(ctx context.Context) Result {
	reader, reads := run.Device.Driver.(drivers.PressReader)
	var before drivers.PressState
	if reads {
		var err error
		if before, err = run.Pass.PressState(ctx, reader); err != nil {
			return Result{Err: err, Effect: mess.EffectNone}
		}
	}
	err := run.Pass.Press(ctx, run.Device.Driver.(drivers.Presser))
	done := "activated"
	if _, line := run.Device.Driver.(drivers.Switch); line {
		done = "pressed and released"
	}
	r := Result{
		Err: err, Effect: effectOf(err), Evidence: mess.Acknowledged, Yes: new(true),
		Text:  fmt.Sprintf("The %s has been %s.", run.Device.Label, done),
		Facts: mess.Object{{Key: "device", Value: run.Device.Name}},
	}
	return run.afterAct(ctx, r, func(ctx context.Context, since time.Time, r *Result) {
		if reads {
			run.readTrigger(ctx, reader, before, r)
		}
		if r.Err == nil {
			run.captureAfter(ctx, since, r)
		}
	})
}

// readTrigger corrects the result by the reported time of the last trigger.
func (run Run) readTrigger(ctx context.Context, reader drivers.PressReader, before drivers.PressState, r *Result) {
	is, err := readUntil(ctx, r, func(is drivers.PressState) bool { return is.At.After(before.At) }, func() (drivers.PressState, error) { return run.Pass.PressState(ctx, reader) })
	switch newer := is.At.After(before.At); {
	case err != nil:
		r.noteUnread(err)
	case newer && r.Err != nil:
		r.Note("it reports a trigger at %s, and not how far it went", is.At.UTC().Format(time.RFC3339))
	case newer:
		r.Evidence = mess.ReadBack
		r.Facts = append(r.Facts, mess.Field{Key: "runs", Value: is.Running})
		if is.Running {
			r.Note("it still runs")
		}
	case r.Err == nil:
		r.Note("it does not report this trigger")
	}
}
