package action

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/messkit/messkit/agent/runtime"
	"github.com/messkit/messkit/agent/wording"
	"github.com/messkit/messkit/capabilities"
	"github.com/messkit/messkit/drivers"
	"github.com/messkit/messkit/internal/unit"
	"github.com/messkit/messkit/mess"
)

// ErrNotHappened ends a wait condition that did not become true in its default time.
var ErrNotHappened = errors.New("it has not happened")

// minReadInterval is the shortest interval of two readings, for any number of change events;
// maxSilence limits the time without an answer.
const (
	minReadInterval = 250 * time.Millisecond
	maxSilence      = 10 * time.Minute
)

// conditionWait is a running wait for a condition.
type conditionWait struct {
	run      Run
	until    string  // kind of the condition: open, above, reaches, change, done, ...
	value    float64 // for above, below and reaches, in the unit of plans
	quantity string  // quantity to read; "" or on: whether the device is on
	began    time.Time
	end      time.Time
	resumed  bool // an earlier run has begun it

	first        *drivers.Reading // the first reading
	now          drivers.Reading
	lastAnswer   time.Time // time of the last answer
	lastReport   string    // the last progress report
	lastReportAt time.Time // its time

	wasWorking bool      // the device was seen working
	maxPower   float64   // its highest power in W
	lowSince   time.Time // since when its power has been low; zero while it works
}

// waitForCondition waits until a condition is true and only reads. It reports a condition
// that is true at the beginning at once.
func (run Run) waitForCondition(ctx context.Context) Result {
	w := run.newConditionWait()
	for {
		changed := w.changes(ctx)
		so, err := w.isFulfilled(ctx)
		now := run.Now()
		switch {
		case ctx.Err() != nil:
			return w.interrupted(ctx)
		case so:
			return w.fulfilled(ctx)
		case err != nil && (w.lastAnswer.IsZero() || now.Sub(w.lastAnswer) > maxSilence):
			return Result{Err: fmt.Errorf("%s cannot be watched: %w", run.Device.Label, err), Effect: mess.EffectNone}
		case !now.Before(w.end):
			return w.timedOut()
		}
		w.progress(now)
		if !w.pause(ctx, now, changed) {
			return w.interrupted(ctx)
		}
	}
}

func (run Run) newConditionWait() *conditionWait {
	w := &conditionWait{run: run, began: run.Began, resumed: !run.Began.IsZero()}
	text := func(key string) string { value, _ := run.Plan.Args.Get(key); s, _ := value.(string); return s }
	w.until, w.quantity = text("until"), text("quantity")
	value, _ := run.Plan.Args.Get("value")
	w.value = numberValue(value)
	if !w.resumed {
		w.began = run.Now()
	}
	w.end = w.began.Add(run.Plan.For)
	return w
}

// numberValue returns a parameter of a plan, which may come from JSON in the journal.
func numberValue(v any) float64 {
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
	gap := time.NewTimer(minReadInterval)
	defer gap.Stop()
	select {
	case <-gap.C:
	case <-ctx.Done():
		return false
	}
	next := min(w.run.Every, w.end.Sub(now))
	if !w.lowSince.IsZero() {
		next = min(next, w.lowSince.Add(w.run.Done.For).Sub(now))
	}
	t := time.NewTimer(next - minReadInterval)
	defer t.Stop()
	select {
	case <-t.C:
	case <-changed:
	case <-ctx.Done():
		return false
	}
	return true
}

// isFulfilled reports whether the condition is true.
func (w *conditionWait) isFulfilled(ctx context.Context) (bool, error) {
	if w.until == "done" {
		return w.isDone(ctx)
	}
	r, err := w.read(ctx)
	if err != nil {
		return false, err
	}
	w.lastAnswer, w.now = w.run.Now(), r
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
	return false, fmt.Errorf("the agent cannot wait until it is %q", w.until)
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
		if i := slices.IndexFunc(list, func(r drivers.Reading) bool { return !r.Estimated && servesQuantity(r.Quantity, w.quantity) }); i >= 0 {
			return planUnit(list[i])
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

// servesQuantity reports whether a measured quantity serves the condition: a presence sensor
// also detects motion.
func servesQuantity(is, want string) bool {
	return is == want || want == "motion" && (is == "presence" || is == "occupancy")
}

// planUnit converts a reading to the unit of plans.
func planUnit(r drivers.Reading) (drivers.Reading, error) {
	value, in, ok := unit.ForPlan(r.Quantity, r.Value, r.Unit)
	if !ok {
		return drivers.Reading{}, fmt.Errorf("it measures %s in %s, and messkit cannot convert that to %s", r.Quantity, r.Unit, unit.OfPlan(r.Quantity))
	}
	r.Value, r.Unit = value, in
	return r, nil
}

// isDone reports whether a device has finished its activity: the device reports it, or its power
// has been low for some time.
func (w *conditionWait) isDone(ctx context.Context) (bool, error) {
	run := w.run
	note := func(works bool) {
		w.lastAnswer, w.wasWorking = run.Now(), w.wasWorking || works
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
		return false, fmt.Errorf("the agent cannot tell when it has finished: %w", err)
	}
	w.lastAnswer, w.now = run.Now(), r
	if r.Value >= run.Done.Below {
		w.wasWorking, w.maxPower, w.lowSince = true, max(w.maxPower, r.Value), time.Time{}
		return false, nil
	}
	if w.lowSince.IsZero() {
		w.lowSince = run.Now()
	}
	return run.Now().Sub(w.lowSince) >= run.Done.For, nil
}

// progress reports the state after a change or after a long pause.
func (w *conditionWait) progress(now time.Time) {
	is := w.stateText()
	if is == w.lastReport && now.Sub(w.lastReportAt) < max(time.Minute, w.run.Plan.For/20) {
		return
	}
	w.lastReport, w.lastReportAt = is, now
	gone := float64(now.Sub(w.began)) / float64(w.run.Plan.For) * 100
	w.run.Progress(drivers.Progress{Percent: min(99, gone), Activity: "watching; now: " + is})
}

// stateText describes the last reading: "closed", "temperature 21.5 °C".
func (w *conditionWait) stateText() string {
	switch {
	case w.lastAnswer.IsZero():
		return "not known"
	case w.until == "done" && w.now.Quantity == "at work":
		return map[bool]string{true: "at work", false: "not at work"}[w.now.Value != 0]
	case w.now.Quantity == "on":
		return wording.OnOff(w.now.Value != 0)
	}
	return wording.Reading(w.now)
}

// fulfilled returns the result of a fulfilled condition, with an image on request or from a
// camera that sees the device.
func (w *conditionWait) fulfilled(ctx context.Context) Result {
	run := w.run
	r := w.facts(true)
	already := w.first != nil && w.now == *w.first || w.until == "done" && !w.wasWorking
	switch {
	case w.until == "done" && w.wasWorking:
		r.Text = fmt.Sprintf("The %s has finished: it is %s.", run.Device.Label, w.endText())
	case w.until == "done":
		r.Text = fmt.Sprintf("The %s is not at work: it is %s, and the agent has not seen it work since the watch began.", run.Device.Label, w.endText())
	case already && !w.resumed:
		r.Text = fmt.Sprintf("The %s: %s. It was so already when the watch began.", run.Device.Label, w.stateText())
	default:
		r.Text = fmt.Sprintf("The %s: %s, seen at %s, %v after the watch began.", run.Device.Label, w.stateText(), run.Now().Format("15:04:05"), run.Now().Sub(w.began).Round(time.Second))
	}
	r.Facts = r.Facts.Set("already", already && !w.resumed)
	since := run.Now()
	if run.Device.SeenBy != "" || run.wantsImage() {
		run.Plan.Want = append(slices.Clone(run.Plan.Want), capabilities.Image)
		run.captureAfter(ctx, since, &r)
	}
	return r
}

// endText explains how the agent recognizes the end of an activity.
func (w *conditionWait) endText() string {
	if w.quantity != "power" {
		return "not at work"
	}
	s := fmt.Sprintf("at %s for %v", wording.Amount(w.now), w.run.Now().Sub(w.lowSince).Round(time.Second))
	if w.maxPower > 0 {
		s += fmt.Sprintf(", and took up to %s W", wording.Rounded(w.maxPower))
	}
	return s
}

// timedOut returns the result of a condition that did not become true. With a requested duration
// that is a completed watch; without one it failed.
func (w *conditionWait) timedOut() Result {
	r := w.facts(false)
	lasted := w.run.Plan.For
	r.Text = fmt.Sprintf("The agent watched the %s for %v, and it did not happen; now: %s.", w.run.Device.Label, lasted, w.stateText())
	if asked, _ := w.run.Plan.Args.Get("limit"); asked != "asked" {
		r.Err = fmt.Errorf("%w: the agent watched the %s for %v; now: %s; ask again, and say for how long", ErrNotHappened, w.run.Device.Label, lasted, w.stateText())
	}
	return r
}

// facts returns the known facts at the end of a wait.
func (w *conditionWait) facts(so bool) Result {
	run := w.run
	r := Result{Evidence: mess.ReadBack, Effect: mess.EffectNone, Yes: &so}
	r.Facts = mess.Object{{Key: "device", Value: run.Device.Name}, {Key: "happened", Value: so}, {Key: "watched", Value: string(mess.DurationOf(run.Now().Sub(w.began)))}}
	if !w.lastAnswer.IsZero() {
		r.Facts = append(r.Facts, run.measurements([]drivers.Reading{w.now})...)
	}
	if w.resumed {
		r.Note("the program restarted during this watch; the agent did not see changes in between")
	}
	return r
}

// interrupted returns the result of a cancelled wait. After the end of the program, the next run
// continues it.
func (w *conditionWait) interrupted(ctx context.Context) Result {
	return Result{Err: fmt.Errorf("the wait has ended: %w", context.Cause(ctx)), Effect: mess.EffectNone, Continues: runtime.ProgramEnds(ctx)}
}
