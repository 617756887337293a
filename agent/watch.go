package agent

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/messkit/messkit/capabilities"
	"github.com/messkit/messkit/drivers"
	"github.com/messkit/messkit/mess"
)

// errNotSo ends a wait condition that did not become true in its default time.
var errNotSo = errors.New("it has not happened")

// watchGap is the shortest interval of two readings, for any number of change events;
// watchSilent limits the time without an answer.
const (
	watchGap    = 250 * time.Millisecond
	watchSilent = 10 * time.Minute
)

// vigil is a running wait for a condition.
type vigil struct {
	v        verbs
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
func (v verbs) watch(ctx context.Context) result {
	w := v.vigil()
	for {
		changed := w.changes(ctx)
		so, err := w.look(ctx)
		now := v.now()
		switch {
		case ctx.Err() != nil:
			return w.brokenOff(ctx)
		case so:
			return w.happened(ctx)
		case err != nil && (w.heard.IsZero() || now.Sub(w.heard) > watchSilent):
			return result{err: fmt.Errorf("%s cannot be watched: %w", v.dev.Label, err), effect: mess.EffectNone}
		case !now.Before(w.end):
			return w.over()
		}
		w.progress(now)
		if !w.pause(ctx, now, changed) {
			return w.brokenOff(ctx)
		}
	}
}

func (v verbs) vigil() *vigil {
	w := &vigil{v: v, began: v.began, again: !v.began.IsZero()}
	text := func(key string) string { value, _ := v.plan.Args.Get(key); s, _ := value.(string); return s }
	w.until, w.quantity = text("until"), text("quantity")
	value, _ := v.plan.Args.Get("value")
	w.value = asNumber(value)
	if !w.again {
		w.began = v.now()
	}
	w.end = w.began.Add(v.plan.For)
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
func (w *vigil) changes(ctx context.Context) <-chan struct{} {
	n, ok := w.v.dev.Driver.(drivers.Notifier)
	if !ok {
		return nil
	}
	changed, err := w.v.pass.Changes(ctx, n)
	if err != nil {
		return nil // the reading reports the error
	}
	return changed
}

// pause waits until the next reading; it returns false after ctx has ended.
func (w *vigil) pause(ctx context.Context, now time.Time, changed <-chan struct{}) bool {
	gap := time.NewTimer(watchGap)
	defer gap.Stop()
	select {
	case <-gap.C:
	case <-ctx.Done():
		return false
	}
	next := min(w.v.every, w.end.Sub(now))
	if !w.low.IsZero() {
		next = min(next, w.low.Add(w.v.done.For).Sub(now))
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
func (w *vigil) look(ctx context.Context) (bool, error) {
	if w.until == "done" {
		return w.done(ctx)
	}
	r, err := w.read(ctx)
	if err != nil {
		return false, err
	}
	w.heard, w.now = w.v.now(), r
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
func (w *vigil) read(ctx context.Context) (drivers.Reading, error) {
	v, truth := w.v, func(quantity string, is bool) drivers.Reading {
		return drivers.Reading{Quantity: quantity, Value: map[bool]float64{true: 1}[is], At: w.v.now()}
	}
	if w.quantity == "" || w.quantity == "on" {
		r, ok := v.dev.Driver.(drivers.SwitchReader)
		if !ok {
			return drivers.Reading{}, errors.New("it does not say whether it is on")
		}
		on, err := v.pass.On(ctx, r)
		return truth("on", on), err
	}
	if s, ok := v.dev.Driver.(drivers.Sensor); ok {
		list, err := v.pass.Read(ctx, s)
		if err != nil {
			return drivers.Reading{}, err
		}
		if i := slices.IndexFunc(list, func(r drivers.Reading) bool { return !r.Estimated && measuresIt(r.Quantity, w.quantity) }); i >= 0 {
			return common(list[i]), nil
		}
	}
	switch r := v.dev.Driver.(type) {
	case drivers.OpeningReader:
		if w.quantity == "contact" {
			percent, err := v.pass.Opening(ctx, r)
			return truth("contact", percent == 0), err
		}
	case drivers.LockReader:
		if w.quantity == "lock" {
			locked, err := v.pass.Locked(ctx, r)
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
func (w *vigil) done(ctx context.Context) (bool, error) {
	v := w.v
	note := func(works bool) {
		w.heard, w.ran = v.now(), w.ran || works
		w.now = drivers.Reading{Quantity: "at work", At: v.now()}
		if works {
			w.now.Value = 1
		}
	}
	switch d := v.dev.Driver.(type) {
	case drivers.Worker:
		works, err := v.pass.Working(ctx, d)
		if err == nil {
			note(works)
		}
		return err == nil && !works, err
	case drivers.RestReader:
		still, err := v.pass.AtRest(ctx, d)
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
	w.heard, w.now = v.now(), r
	if r.Value >= v.done.Below {
		w.ran, w.most, w.low = true, max(w.most, r.Value), time.Time{}
		return false, nil
	}
	if w.low.IsZero() {
		w.low = v.now()
	}
	return v.now().Sub(w.low) >= v.done.For, nil
}

// progress reports the state after a change or after a long pause.
func (w *vigil) progress(now time.Time) {
	is := w.state()
	if is == w.told && now.Sub(w.at) < max(time.Minute, w.v.plan.For/20) {
		return
	}
	w.told, w.at = is, now
	gone := float64(now.Sub(w.began)) / float64(w.v.plan.For) * 100
	w.v.progress(drivers.Progress{Percent: min(99, gone), Doing: "watching; now: " + is})
}

// state describes the last reading: "closed", "temperature 21.5 °C".
func (w *vigil) state() string {
	switch {
	case w.heard.IsZero():
		return "not known"
	case w.until == "done" && w.now.Quantity == "at work":
		return map[bool]string{true: "at work", false: "not at work"}[w.now.Value != 0]
	case w.now.Quantity == "on":
		return onOff(w.now.Value != 0)
	}
	return inWords(w.now)
}

// happened returns the result of a fulfilled condition, with an image on request or from a
// camera that sees the device.
func (w *vigil) happened(ctx context.Context) result {
	v := w.v
	r := w.known(true)
	already := w.first != nil && w.now == *w.first || w.until == "done" && !w.ran
	switch {
	case w.until == "done" && w.ran:
		r.text = fmt.Sprintf("The %s is done: it is %s.", v.dev.Label, w.ends())
	case w.until == "done":
		r.text = fmt.Sprintf("The %s is not at work: it is %s, and was not seen to work since the watch began.", v.dev.Label, w.ends())
	case already && !w.again:
		r.text = fmt.Sprintf("The %s: %s. It was so already when the watch began.", v.dev.Label, w.state())
	default:
		r.text = fmt.Sprintf("The %s: %s, seen at %s, %v after the watch began.", v.dev.Label, w.state(), v.now().Format("15:04:05"), v.now().Sub(w.began).Round(time.Second))
	}
	r.facts = r.facts.Set("already", already && !w.again)
	since := v.now()
	if v.dev.SeenBy != "" || v.wanted() {
		v.plan.Want = append(slices.Clone(v.plan.Want), capabilities.Image)
		v.lookAgain(ctx, since, &r)
	}
	return r
}

// ends explains how the agent recognizes the end of an activity.
func (w *vigil) ends() string {
	if w.quantity != "power" {
		return "not at work"
	}
	s := fmt.Sprintf("at %s for %v", amount(w.now), w.v.now().Sub(w.low).Round(time.Second))
	if w.most > 0 {
		s += fmt.Sprintf(", and took up to %s W", rounded(w.most))
	}
	return s
}

// over returns the result of a condition that did not become true. With a requested duration
// that is a completed watch; without one it failed.
func (w *vigil) over() result {
	r := w.known(false)
	lasted := w.v.plan.For
	r.text = fmt.Sprintf("The %s was watched for %v, and it did not happen; now: %s.", w.v.dev.Label, lasted, w.state())
	if asked, _ := w.v.plan.Args.Get("limit"); asked != "asked" {
		r.err = fmt.Errorf("%w: the %s was watched for %v; now: %s; ask again, and say for how long", errNotSo, w.v.dev.Label, lasted, w.state())
	}
	return r
}

// known returns the known facts at the end of a wait.
func (w *vigil) known(so bool) result {
	v := w.v
	r := result{evidence: mess.ReadBack, effect: mess.EffectNone, yes: &so}
	r.facts = mess.Object{{Key: "device", Value: v.dev.Name}, {Key: "happened", Value: so}, {Key: "watched", Value: string(mess.DurationOf(v.now().Sub(w.began)))}}
	if !w.heard.IsZero() {
		r.facts = append(r.facts, v.measurements([]drivers.Reading{w.now})...)
	}
	if w.again {
		r.note("the program was started anew while this was watched; what came and went meanwhile was not seen")
	}
	return r
}

// brokenOff returns the result of a cancelled wait. After the end of the program, the next run
// continues it.
func (w *vigil) brokenOff(ctx context.Context) result {
	return result{err: fmt.Errorf("the watch was ended: %w", context.Cause(ctx)), effect: mess.EffectNone, goesOn: stopped(ctx)}
}
