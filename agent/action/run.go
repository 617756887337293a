// Package action carries out one command on one device and finds out its effect: each command has a
// handler that acts, reads the device back, and returns a Result. It knows neither
// threads nor the exchange.
package action

import (
	"context"
	"fmt"
	"time"

	"github.com/messkit/messkit/agent/device"
	"github.com/messkit/messkit/agent/imaging"
	"github.com/messkit/messkit/agent/policy"
	"github.com/messkit/messkit/capabilities"
	"github.com/messkit/messkit/drivers"
	"github.com/messkit/messkit/internal/picture"
	"github.com/messkit/messkit/mess"
)

// Run carries out one plan on one device, by one call of Do. The caller sets all fields, except
// Began.
type Run struct {
	Pass      *policy.Pass
	Device    *device.Handle
	Plan      capabilities.Plan
	Done      device.Done   // how the power shows the end of an activity
	Every     time.Duration // interval of the readings of a wait condition
	Limits    picture.Limits
	Cameras   *imaging.Cameras
	Now       func() time.Time
	ClockMark string    // mark for this machine's times
	Began     time.Time // when an earlier run of the program began the plan; zero: none did

	Progress func(drivers.Progress)
	Acted    func(Result) // called after the act and before the readback
	// Capture captures an image with the camera of another device; by is its name for people.
	Capture func(ctx context.Context, camera string) (p imaging.Image, by string, err error)
	// Ask asks the requester during a task. Reports of progress pause until the answer, or until
	// WithdrawQuestion.
	Ask              func(q mess.Question) (answer <-chan string)
	WithdrawQuestion func()
}

// handler carries out a command.
type handler func(Run, context.Context) Result

// handlers has the handler of each command.
var handlers = map[capabilities.Command]handler{
	capabilities.TakePhoto:           Run.photo,
	capabilities.Observe:             Run.observe,
	capabilities.SetSwitch:           Run.setSwitch,
	capabilities.Toggle:              Run.toggle,
	capabilities.Dim:                 Run.dim,
	capabilities.SetColor:            Run.setColor,
	capabilities.SetColorTemperature: Run.setColorTemperature,
	capabilities.TurnTo:              Run.setAngle,
	capabilities.SetTemperature:      Run.setTemperature,
	capabilities.Press:               Run.press,
	capabilities.ReadState:           Run.readState,
	capabilities.Clean:               Run.clean,
	capabilities.Dock:                Run.dock,
	capabilities.Move:                Run.move,
	capabilities.CleanSpot:           Run.cleanSpot,
	capabilities.Open:                Run.moveOrLock,
	capabilities.Close:               Run.moveOrLock,
	capabilities.OpenTo:              Run.moveOrLock,
	capabilities.Lock:                Run.moveOrLock,
	capabilities.Unlock:              Run.moveOrLock,
	capabilities.Pause:               Run.pauseResumeStop,
	capabilities.Resume:              Run.pauseResumeStop,
	capabilities.Stop:                Run.pauseResumeStop,
	capabilities.Print:               Run.print,
	capabilities.WaitForCondition:    Run.waitForCondition,
	capabilities.WaitUntilDone:       Run.waitForCondition,
	capabilities.EarlierImages:       Run.sendEarlierImages,
}

// Do carries out the command of the plan. The driver supports it, as device.Able reports.
func (run Run) Do(ctx context.Context) Result {
	if do := handlers[run.Plan.Command]; do != nil {
		return do(run, ctx)
	}
	return Result{Err: fmt.Errorf("%s: the agent cannot execute %q", run.Device.Name, run.Plan.Command), Effect: mess.EffectNone}
}

// resultOf returns the result of an act that ended with err, before the readback: a sentence, and
// the new state as a fact.
func (run Run) resultOf(err error, text, key string, state any) Result {
	return Result{
		Err: err, Effect: effectOf(err), Evidence: mess.Acknowledged, Yes: new(true),
		Text: text, Facts: mess.Object{{Key: "device", Value: run.Device.Name}, {Key: key, Value: state}},
	}
}

// afterAct completes the result of an act. Unless the act had no effect, it reports the act, and
// then check reads the device, with a context that does not end with ctx. since is the
// time of the end of the act.
func (run Run) afterAct(ctx context.Context, r Result, check func(ctx context.Context, since time.Time, r *Result)) Result {
	if r.Effect == mess.EffectNone {
		return r
	}
	since := run.Now()
	run.Acted(r)
	ctx, cancel := readbackContext(ctx)
	defer cancel()
	check(ctx, since, &r)
	return r
}

// readbackTime limits the readback after an interrupted task.
const readbackTime = 10 * time.Second

// readbackContext returns a context for the readback, even if ctx has ended.
func readbackContext(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.WithoutCancel(ctx), readbackTime)
}
