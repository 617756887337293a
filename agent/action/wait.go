package action

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/messkit/messkit/agent/runtime"
	"github.com/messkit/messkit/agent/wording"
	"github.com/messkit/messkit/capabilities"
	"github.com/messkit/messkit/drivers"
	"github.com/messkit/messkit/mess"
)

// ErrNotHappened ends a wait condition that did not become true in its default time.
var ErrNotHappened = errors.New("it has not happened")

// watchGap is the shortest interval of two readings, for any number of change events;
// watchSilent limits the time without an answer.
const (
	watchGap    = 250 * time.Millisecond
	watchSilent = 10 * time.Minute
)

// conditionWait is a running wait for a condition.
type conditionWait struct {
	run      Run
	until    string
	value    float64
	quantity string
	began    time.Time
	end      time.Time
	again    bool // an earlier run has begun it

	first *drivers.Reading // the first reading
	now   drivers.Reading
	heard time.Time // time of the last answer
	told  string    // the last progress report
	at    time.Time // its time

	ran  bool      // the device was seen working
	most float64   // its highest power in W
	low  time.Time // since when its power has been low; zero while it works
}

// watch waits until a condition is true and only reads. If it is true at the beginning, watch
// reports that at once.
func (run Run) watch(ctx context.Context) Result {
	w := run.newConditionWait()
	for {
		changed := w.changes(ctx)
		so, err := w.look(ctx)
		now := run.Now()
		switch {
		case ctx.Err() != nil:
			return w.brokenOff(ctx)
		case so:
			return w.happened(ctx)
		case err != nil && (w.heard.IsZero() || now.Sub(w.heard) > watchSilent):
			return Result{Err: fmt.Errorf("%s cannot be watched: %w", run.Device.Label, err), Effect: mess.EffectNone}
		case !now.Before(w.end):
			return w.over()
		}
		w.progress(now)
		if !w.pause(ctx, now, changed) {
			return w.brokenOff(ctx)
		}
	}
}

func (run Run) newConditionWait() *conditionWait {
	w := &conditionWait{run: run, began: run.Began, again: !run.Began.IsZero()}
	text := func(key string) string { value, _ := run.Plan.Args.Get(key); s, _ := value.(string); return s }
	w.until, w.quantity = text("until"), text("quantity")
	value, _ := run.Plan.Args.Get("value")
	w.value = asNumber(value)
	if !w.again {
		w.began = run.Now()
	}
	w.end = w.began.Add(run.Plan.For)
	return w
}

// asNumber returns a parameter of a plan, which may come from JSON in the journal.
func asNumber(v any) float64 {
	switch v := v.(type) {
	case float64:
		return v
	case mess.Number:
		f, _ := v.Float64()
		return f
	case int:
		return float64(v)
	}
	return 0
}

// changes returns a channel that closes at the device's next change, nil if the device reports
// none.
func (w *conditionWait) changes(ctx context.Context) <-chan struct{} {
	n, ok := w.run.Device.Driver.(drivers.Notifier)
	if !ok {
		return nil
	}
	changed, err := w.run.Pass.Changes(ctx, n)
	if err != nil {
		return nil // the reading reports the error
	}
	return changed
}

// pause waits until the next reading; it returns false after ctx has ended.
func (w *conditionWait) pause(ctx context.Context, now time.Time, changed <-chan struct{}) bool {
	gap := time.NewTimer(watchGap)
	defer gap.Stop()
	select {
	case <-gap.C:
	case <-ctx.Done():
		return false
	}
	next := min(w.run.Every, w.end.Sub(now))
	if !w.low.IsZero() {
		next = min(next, w.low.Add(w.run.Done.For).Sub(now))
	}
	t := time.NewTimer(next - watchGap)
	defer t.Stop()
	select {
	case <-t.C:
	case <-changed:
	case <-ctx.Done():
		return false
	}
	return true
}

// look reports whether the condition is true.
func (w *conditionWait) look(ctx context.Context) (bool, error) {
	if w.until == "done" {
		return w.done(ctx)
	}
	r, err := w.read(ctx)
	if err != nil {
		return false, err
	}
	w.heard, w.now = w.run.Now(), r
	first := w.first == nil
	if first {
		w.first = &r
	}
	switch w.until {
	case "open", "unlocked", "off":
		return r.Value == 0, nil
	case "closed", "locked", "on", "motion":
		return r.Value != 0, nil
	case "above":
		return r.Value > w.value, nil
	case "below":
		return r.Value < w.value, nil
	case "reaches": // relative to the first reading
		return first && r.Value == w.value || w.first.Value < w.value && r.Value >= w.value || w.first.Value > w.value && r.Value <= w.value, nil
	case "change":
		return r.Value != w.first.Value, nil
	}
	return false, fmt.Errorf("nobody knows how to wait until it is %q", w.until)
}

// read reads the quantity of the condition in the unit of the plan.
func (w *conditionWait) read(ctx context.Context) (drivers.Reading, error) {
	run, truth := w.run, func(quantity string, is bool) drivers.Reading {
		return drivers.Reading{Quantity: quantity, Value: map[bool]float64{true: 1}[is], At: w.run.Now()}
	}
	if w.quantity == "" || w.quantity == "on" {
		r, ok := run.Device.Driver.(drivers.SwitchReader)
		if !ok {
			return drivers.Reading{}, errors.New("it does not say whether it is on")
		}
		on, err := run.Pass.On(ctx, r)
		return truth("on", on), err
	}
	if s, ok := run.Device.Driver.(drivers.Sensor); ok {
		list, err := run.Pass.Read(ctx, s)
		if err != nil {
			return drivers.Reading{}, err
		}
		if i := slices.IndexFunc(list, func(r drivers.Reading) bool { return !r.Estimated && measuresIt(r.Quantity, w.quantity) }); i >= 0 {
			return common(list[i]), nil
		}
	}
	switch r := run.Device.Driver.(type) {
	case drivers.OpeningReader:
		if w.quantity == "contact" {
			percent, err := run.Pass.Opening(ctx, r)
			return truth("contact", percent == 0), err
		}
	case drivers.LockReader:
		if w.quantity == "lock" {
			locked, err := run.Pass.Locked(ctx, r)
			return truth("lock", locked), err
		}
	}
	return drivers.Reading{}, fmt.Errorf("it measures no %s now", w.quantity)
}

// measuresIt reports whether a measured quantity serves the condition: a presence sensor also
// detects motion.
func measuresIt(is, want string) bool {
	return is == want || want == "motion" && (is == "presence" || is == "occupancy")
}

// common converts a reading to the unit of plans.
func common(r drivers.Reading) drivers.Reading {
	switch r.Unit {
	case "°F":
		r.Value, r.Unit = math.Round((r.Value-32)/1.8*100)/100, "°C"
	case "kW":
		r.Value, r.Unit = r.Value*1000, "W"
	}
	return r
}

// done reports whether a device has finished its activity: the device reports it, or its power
// has been low for some time.
func (w *conditionWait) done(ctx context.Context) (bool, error) {
	run := w.run
	note := func(works bool) {
		w.heard, w.ran = run.Now(), w.ran || works
		w.now = drivers.Reading{Quantity: "at work", At: run.Now()}
		if works {
			w.now.Value = 1
		}
	}
	switch d := run.Device.Driver.(type) {
	case drivers.Worker:
		works, err := run.Pass.Working(ctx, d)
		if err == nil {
			note(works)
		}
		return err == nil && !works, err
	case drivers.RestReader:
		still, err := run.Pass.AtRest(ctx, d)
		if err == nil {
			note(!still)
		}
		return err == nil && still, err
	}
	w.quantity = "power"
	r, err := w.read(ctx)
	if err != nil {
		return false, fmt.Errorf("nobody can tell when it is done: %w", err)
	}
	w.heard, w.now = run.Now(), r
	if r.Value >= run.Done.Below {
		w.ran, w.most, w.low = true, max(w.most, r.Value), time.Time{}
		return false, nil
	}
	if w.low.IsZero() {
		w.low = run.Now()
	}
	return run.Now().Sub(w.low) >= run.Done.For, nil
}

// progress reports the state after a change or after a long pause.
func (w *conditionWait) progress(now time.Time) {
	is := w.state()
	if is == w.told && now.Sub(w.at) < max(time.Minute, w.run.Plan.For/20) {
		return
	}
	w.told, w.at = is, now
	gone := float64(now.Sub(w.began)) / float64(w.run.Plan.For) * 100
	w.run.Progress(drivers.Progress{Percent: min(99, gone), Doing: "watching; now: " + is})
}

// state describes the last reading: "closed", "temperature 21.5 °C".
func (w *conditionWait) state() string {
	switch {
	case w.heard.IsZero():
		return "not known"
	case w.until == "done" && w.now.Quantity == "at work":
		return map[bool]string{true: "at work", false: "not at work"}[w.now.Value != 0]
	case w.now.Quantity == "on":
		return wording.OnOff(w.now.Value != 0)
	}
	return wording.Reading(w.now)
}

// happened returns the result of a fulfilled condition, with an image on request or from a
// camera that sees the device.
func (w *conditionWait) happened(ctx context.Context) Result {
	run := w.run
	r := w.known(true)
	already := w.first != nil && w.now == *w.first || w.until == "done" && !w.ran
	switch {
	case w.until == "done" && w.ran:
		r.Text = fmt.Sprintf("The %s is done: it is %s.", run.Device.Label, w.ends())
	case w.until == "done":
		r.Text = fmt.Sprintf("The %s is not at work: it is %s, and was not seen to work since the watch began.", run.Device.Label, w.ends())
	case already && !w.again:
		r.Text = fmt.Sprintf("The %s: %s. It was so already when the watch began.", run.Device.Label, w.state())
	default:
		r.Text = fmt.Sprintf("The %s: %s, seen at %s, %v after the watch began.", run.Device.Label, w.state(), run.Now().Format("15:04:05"), run.Now().Sub(w.began).Round(time.Second))
	}
	r.Facts = r.Facts.Set("already", already && !w.again)
	since := run.Now()
	if run.Device.SeenBy != "" || run.wanted() {
		run.Plan.Want = append(slices.Clone(run.Plan.Want), capabilities.Image)
		run.lookAgain(ctx, since, &r)
	}
	return r
}

// ends explains how the agent recognizes the end of an activity.
func (w *conditionWait) ends() string {
	if w.quantity != "power" {
		return "not at work"
	}
	s := fmt.Sprintf("at %s for %v", wording.Amount(w.now), w.run.Now().Sub(w.low).Round(time.Second))
	if w.most > 0 {
		s += fmt.Sprintf(", and took up to %s W", wording.Rounded(w.most))
	}
	return s
}

// over returns the result of a condition that did not become true. With a requested duration
// that is a completed watch; without one it failed.
func (w *conditionWait) over() Result {
	r := w.known(false)
	lasted := w.run.Plan.For
	r.Text = fmt.Sprintf("The %s was watched for %v, and it did not happen; now: %s.", w.run.Device.Label, lasted, w.state())
	if asked, _ := w.run.Plan.Args.Get("limit"); asked != "asked" {
		r.Err = fmt.Errorf("%w: the %s was watched for %v; now: %s; ask again, and say for how long", ErrNotHappened, w.run.Device.Label, lasted, w.state())
	}
	return r
}

// known returns the known facts at the end of a wait.
func (w *conditionWait) known(so bool) Result {
	run := w.run
	r := Result{Evidence: mess.ReadBack, Effect: mess.EffectNone, Yes: &so}
	r.Facts = mess.Object{{Key: "device", Value: run.Device.Name}, {Key: "happened", Value: so}, {Key: "watched", Value: string(mess.DurationOf(run.Now().Sub(w.began)))}}
	if !w.heard.IsZero() {
		r.Facts = append(r.Facts, run.measurements([]drivers.Reading{w.now})...)
	}
	if w.again {
		r.Note("the program was started anew while this was watched; what came and went meanwhile was not seen")
	}
	return r
}

// brokenOff returns the result of a cancelled wait. After the end of the program, the next run
// continues it.
func (w *conditionWait) brokenOff(ctx context.Context) Result {
	return Result{Err: fmt.Errorf("the watch was ended: %w", context.Cause(ctx)), Effect: mess.EffectNone, Continues: runtime.ProgramEnds(ctx)}
}
