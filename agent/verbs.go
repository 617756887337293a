package agent

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/messkit/messkit/agent/imaging"
	"github.com/messkit/messkit/agent/policy"
	"github.com/messkit/messkit/capabilities"
	"github.com/messkit/messkit/drivers"
	"github.com/messkit/messkit/internal/picture"
	"github.com/messkit/messkit/mess"
)

// result is the result of carrying out a plan.
type result struct {
	err      error
	effect   mess.Effect // effect of a failed plan; "" for unknown
	evidence mess.Evidence
	text     string        // a sentence for the requester
	facts    mess.Object   // the same as data
	images   []shot        // captured images
	earlier  []mess.Entry  // images of an earlier thread
	unseen   mess.Evidence // evidence without the images, if weaker
	done     []string      // completed parts
	left     []string      // remaining parts
	goesOn   bool          // the program ends and the device continues on its own: the next run follows it
	rests    bool          // it was interrupted, and the device reports that it stands still
	roams    bool          // it was interrupted, and the device may still move
	late     bool          // the device has not answered the command, which may still arrive
	sight    sight         // the last reading of the device
	notes    string        // additional facts for the requester
	yes      *bool         // the answer to a yes-or-no question
}

// note adds a fact for the requester.
func (r *result) note(format string, args ...any) {
	if r.notes != "" {
		r.notes += "; "
	}
	r.notes += fmt.Sprintf(format, args...)
}

// pictured adds an image with its evidence. An image on which nothing is visible is no
// evidence.
func (r *result) pictured(e mess.Evidence, s shot) {
	r.images = append(r.images, s)
	if r.dark(s.Image) {
		return
	}
	r.unseen = cmp.Or(r.unseen, r.evidence)
	r.evidence = e
}

// dark notes that nothing is visible on an image. It reports whether that is so.
func (r *result) dark(s imaging.Image) bool {
	if s.NothingVisible != "" {
		r.note("nothing can be seen on the picture: %s", s.NothingVisible)
	}
	return s.NothingVisible != ""
}

// shot is an image and its subject.
type shot struct {
	imaging.Image
	name string // file name without extension
}

// able reports whether a driver supports a command.
func able(d drivers.Device, c capabilities.Command) bool {
	_, photographer := d.(drivers.Photographer)
	_, observer := d.(drivers.Observer)
	_, reader := d.(drivers.SwitchReader)
	_, sensor := d.(drivers.Sensor)
	_, cleaner := d.(drivers.Cleaner)
	_, sw := d.(drivers.Switch)
	_, lamp := d.(policy.DimmableLight)
	_, painted := d.(policy.ColorLight)
	_, mover := d.(drivers.Mover)
	_, pauser := d.(drivers.Pauser)
	_, stopper := d.(drivers.Stopper)
	_, spotter := d.(drivers.Spotter)
	_, printer := d.(drivers.Printer)
	_, warmer := d.(policy.ColorTemperatureLight)
	_, turner := d.(drivers.Turner)
	_, positioner := d.(drivers.Positioner)
	_, thermostat := d.(drivers.Thermostat)
	_, opener := d.(drivers.Opener)
	_, presser := d.(drivers.Presser)
	_, locker := d.(drivers.Locker)
	return map[capabilities.Command]bool{
		capabilities.TakePhoto:      photographer,
		capabilities.Observe:        observer || photographer,
		capabilities.SetSwitch:      sw,
		capabilities.Toggle:         sw && reader,
		capabilities.Dim:            lamp,
		capabilities.Tint:           painted,
		capabilities.Warm:           warmer,
		capabilities.TurnTo:         turner,
		capabilities.OpenTo:         positioner,
		capabilities.SetTemperature: thermostat,
		capabilities.Press:          presser,
		capabilities.ReadState:      reader || sensor,
		capabilities.Clean:          cleaner,
		capabilities.Dock:           cleaner,
		capabilities.Move:           mover,
		capabilities.CleanSpot:      spotter,
		capabilities.Pause:          pauser,
		capabilities.Resume:         pauser,
		capabilities.Stop:           stopper,
		capabilities.Print:          printer,
		capabilities.Open:           opener,
		capabilities.Shut:           opener,
		capabilities.Lock:           locker,
		capabilities.Unlock:         locker,
		capabilities.Earlier:        true,
		capabilities.Watch:          watchable(d),
		capabilities.Await:          tellsEnd(d),
	}[c]
}

// verbs carries out one plan on one device.
type verbs struct {
	pass     *policy.Pass
	dev      *device
	plan     capabilities.Plan
	progress func(drivers.Progress)
	now      func() time.Time
	limits   picture.Limits // limits for images
	cameras  *imaging.Cameras
	see      func(ctx context.Context, camera string) (p imaging.Image, by string, err error)
	clock    string                                       // mark for this machine's times
	ask      func(q mess.Question) (answer <-chan string) // asks the requester during a task; reports of progress pause until the answer or unasked
	unask    func()
	done     Done // how the power shows the end of an activity
	every    time.Duration
	began    time.Time    // when an earlier run began it, if one did
	acted    func(result) // called after the act and before the readback
}

func (v verbs) do(ctx context.Context) result {
	switch v.plan.Command {
	case capabilities.TakePhoto:
		return v.photo(ctx)
	case capabilities.Observe:
		return v.observe(ctx)
	case capabilities.SetSwitch:
		return v.turn(ctx)
	case capabilities.Toggle:
		return v.toggle(ctx)
	case capabilities.Dim:
		return v.dim(ctx)
	case capabilities.Tint:
		return v.tint(ctx)
	case capabilities.Warm:
		return v.warm(ctx)
	case capabilities.TurnTo:
		return v.turnToAngle(ctx)
	case capabilities.SetTemperature:
		return v.heatTo(ctx)
	case capabilities.Press:
		return v.press(ctx)
	case capabilities.ReadState:
		return v.readAndLook(ctx)
	case capabilities.Clean:
		return v.clean(ctx)
	case capabilities.Dock:
		return v.dock(ctx)
	case capabilities.Move:
		return v.move(ctx)
	case capabilities.CleanSpot:
		return v.spot(ctx)
	case capabilities.Open, capabilities.Shut, capabilities.OpenTo, capabilities.Lock, capabilities.Unlock:
		return v.secure(ctx)
	case capabilities.Pause, capabilities.Resume, capabilities.Stop:
		return v.steer(ctx)
	case capabilities.Print:
		return v.print(ctx)
	case capabilities.Watch, capabilities.Await:
		return v.watch(ctx)
	case capabilities.Earlier:
		return v.earlier()
	}
	return result{err: fmt.Errorf("%s: nobody knows how to do %q", v.dev.Name, v.plan.Command), effect: mess.EffectNone}
}

// turn switches a device and reads it back if possible.
func (v verbs) turn(ctx context.Context) result {
	want, _ := v.plan.Args.Get("on")
	on, ok := want.(bool)
	if !ok {
		return result{err: fmt.Errorf("%s: the plan does not say whether on or off", v.dev.Name), effect: mess.EffectNone}
	}
	return v.turnTo(ctx, on)
}

// toggle switches to the opposite of the reported state; without a reported state it does
// nothing.
func (v verbs) toggle(ctx context.Context) result {
	is, err := v.pass.On(ctx, v.dev.Driver.(drivers.SwitchReader))
	if err != nil {
		return result{err: fmt.Errorf("%s does not say whether it is on: %w", v.dev.Name, err), effect: mess.EffectNone}
	}
	return v.turnTo(ctx, !is)
}

func (v verbs) turnTo(ctx context.Context, on bool) result {
	err := v.pass.Switch(ctx, v.dev.Driver.(drivers.Switch), on)
	r := result{err: err, effect: effectOf(err), evidence: mess.Acknowledged, text: v.state(on), yes: new(true)}
	r.facts = mess.Object{{Key: "device", Value: v.dev.Name}, {Key: "on", Value: on}}
	if r.effect == mess.EffectNone {
		return r
	}
	since := v.now()
	v.acted(r)
	if v.retreat(ctx, on, &r) {
		return r
	}
	after, cancel := aftermath(ctx)
	defer cancel()
	v.readBack(after, on, &r)
	if r.err == nil {
		v.lookAgain(after, since, &r)
	}
	if !v.retreat(ctx, on, &r) && r.err == nil {
		v.noteOff(&r)
	}
	return r
}

// noteOff notes when the device goes off again, and what switches it off.
func (v verbs) noteOff(r *result) {
	ends := v.pass.SwitchOff()
	if ends.In == 0 {
		return
	}
	at := ""
	if v.clock == "" {
		at = ", at " + v.now().Add(ends.In).Format(time.TimeOnly) // a requester may read this late
	}
	r.note("it is switched off again in %v%s, by %s", ends.In, at, whoEnds(ends))
}

// whoEnds describes what switches a device off, also after this program stops.
func whoEnds(e policy.SwitchOff) string {
	switch {
	case e.DeviceTimer > 0 && e.DeviceTimer <= e.In+time.Second:
		return "its own timer, whatever becomes of this agent"
	case e.DeviceTimer > 0:
		return fmt.Sprintf("this agent; if the agent stops, its own timer does in %v", e.DeviceTimer)
	case e.Watchdog:
		return "this agent; if the agent stops, the watchdog does at that time"
	}
	if e.StaysOnAtExit {
		return "this agent; if the agent stops, nobody does until it runs again"
	}
	return "this agent; if the agent is killed or stands still, nobody does until it runs again"
}

// readBack corrects the result by a reading of the device.
func (v verbs) readBack(ctx context.Context, want bool, r *result) {
	reader, ok := v.dev.Driver.(drivers.SwitchReader)
	if !ok {
		return
	}
	is, err := settled(ctx, r, func(is bool) bool { return is == want }, func() (bool, error) { return v.pass.On(ctx, reader) })
	r.readsBack(v.dev.Name, is == want, onOff(is), err)
}

func (v verbs) clean(ctx context.Context) result {
	areas := names(v.plan.Args)
	out, err := attend(ctx, v, func(progress func(drivers.Progress)) (drivers.Outcome, error) {
		return v.pass.Clean(ctx, v.dev.Driver.(drivers.Cleaner), areas, progress)
	})
	r := result{err: err, effect: effectOf(err), evidence: mess.Acknowledged, done: out.Done, left: out.Remaining}
	if r.effect == mess.EffectNone && len(r.done) == 0 {
		return r
	}
	r.text = cleaned(v.dev.Label, out)
	since := v.now()
	v.acted(r)
	ctx, cancel := aftermath(ctx)
	defer cancel()
	v.comeToRest(ctx, &r)
	if m, ok := v.dev.Driver.(drivers.Mapper); ok {
		p, err := v.pass.Map(ctx, m)
		if err == nil {
			err = imaging.Fresh(p, since)
		}
		if err != nil {
			r.note("there is no map: %v", unseen(err))
		} else {
			r.pictured(mess.ReadBack, shot{v.cameras.ImageOf(p), v.dev.Name + "-map"})
		}
	}
	if r.err == nil && v.wanted() {
		v.lookAgain(ctx, since, &r)
	}
	return r
}

// comeToRest reads whether a device stands still after an interrupted act. If it does, the act
// is partly complete and nothing more will happen, for any cause.
func (v verbs) comeToRest(ctx context.Context, r *result) {
	reader, ok := v.dev.Driver.(drivers.RestReader)
	_, opens := v.dev.Driver.(drivers.Opener)
	switch {
	case !ok && !opens || r.err == nil || r.effect != mess.EffectUnknown:
		return
	case mayAct(r.err):
		r.roams = true
		return
	case !ok:
		return
	}
	switch still, err := v.pass.AtRest(ctx, reader); {
	case err != nil:
		r.roams = true
		r.note("it could not be read back whether it stands still: %v", err)
	case !still:
		r.roams = true
		r.note("it still moves")
	default:
		r.effect, r.evidence, r.rests = mess.EffectPartial, mess.ReadBack, true
	}
}

func (v verbs) dock(ctx context.Context) result {
	err := v.pass.Dock(ctx, v.dev.Driver.(drivers.Cleaner))
	r := result{
		err: err, effect: effectOf(err), evidence: mess.Acknowledged,
		text: fmt.Sprintf("The %s is in its dock.", v.dev.Label), yes: new(true),
	}
	if r.effect == mess.EffectNone {
		return r
	}
	since := v.now()
	v.acted(r)
	ctx, cancel := aftermath(ctx)
	defer cancel()
	if err != nil {
		v.comeToRest(ctx, &r)
		return r
	}
	if reader, ok := v.dev.Driver.(drivers.DockReader); ok {
		switch in, err := settled(ctx, &r, func(in bool) bool { return in }, func() (bool, error) { return v.pass.Docked(ctx, reader) }); {
		case err != nil:
			r.unread(err)
		case !in:
			r.err, r.effect = fmt.Errorf("%s was sent to its dock, but is not there", v.dev.Name), mess.EffectUnknown
			return r
		default:
			r.evidence = mess.ReadBack
		}
	}
	if v.wanted() {
		v.lookAgain(ctx, since, &r)
	}
	return r
}

// move drives for the plan's time. After an interruption the device has moved part of the way
// and stands still.
func (v verbs) move(ctx context.Context) result {
	moved, err := v.pass.Move(ctx, v.dev.Driver.(drivers.Mover), policy.MotionOf(v.plan))
	r := result{err: err, effect: effectOf(err), evidence: mess.Acknowledged, yes: new(true)}
	r.text = fmt.Sprintf("The %s has moved for %v, and stands still.", v.dev.Label, moved.Round(100*time.Millisecond))
	switch {
	case moved == 0:
		return r
	case errors.Is(err, policy.ErrStopUnacknowledged):
		r.effect = mess.EffectUnknown
		return r
	case err != nil:
		r.effect = mess.EffectPartial
		r.note("it moved for %v at most, and stands still", moved.Round(100*time.Millisecond))
		return r
	}
	since := v.now()
	v.acted(r)
	if v.wanted() {
		ctx, cancel := aftermath(ctx)
		defer cancel()
		v.lookAgain(ctx, since, &r)
	}
	return r
}

// lookTime limits the readback after an interrupted task.
const lookTime = 10 * time.Second

// aftermath returns a context for the readback, even if ctx has ended.
func aftermath(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.WithoutCancel(ctx), lookTime)
}
