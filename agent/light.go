package agent

import (
	"context"
	"fmt"
	"math"

	"github.com/messkit/messkit/agent/policy"
	"github.com/messkit/messkit/drivers"
	"github.com/messkit/messkit/mess"
)

// dim sets the brightness of a light and reads it back if possible.
func (v verbs) dim(ctx context.Context) result {
	percent, err := v.level(ctx)
	if err != nil {
		return result{err: err, effect: mess.EffectNone}
	}
	err = v.pass.Dim(ctx, v.dev.Driver.(policy.DimmableLight), percent)
	r := result{
		err: err, effect: effectOf(err), evidence: mess.Acknowledged, yes: new(true),
		text:  fmt.Sprintf("The %s is at %s %%.", v.dev.Label, number(percent)),
		facts: mess.Object{{Key: "device", Value: v.dev.Name}, {Key: "level", Value: mess.Number(number(percent))}},
	}
	return v.lit(ctx, r, percent > 0, func(ctx context.Context) (string, bool, error) {
		reader, ok := v.dev.Driver.(drivers.LevelReader)
		if !ok {
			return "", false, nil
		}
		is, err := v.pass.Level(ctx, reader)
		if err == nil && math.Abs(is-percent) > levelWithin {
			return rounded(is) + " %", true, nil
		}
		return "", true, err
	})
}

// level returns the planned brightness in percent: a fixed level, or a change from the current
// one. A light that is on stays on.
func (v verbs) level(ctx context.Context) (float64, error) {
	if level, ok := percentOf(v.plan.Args, "level"); ok {
		return level, nil
	}
	change, ok := percentOf(v.plan.Args, "change")
	reader, reads := v.dev.Driver.(drivers.LevelReader)
	switch {
	case !ok:
		return 0, fmt.Errorf("%s: the plan does not say how bright", v.dev.Name)
	case !reads:
		return 0, fmt.Errorf("%s cannot tell how bright it is; ask for a level in percent", v.dev.Name)
	}
	is, err := v.pass.Level(ctx, reader)
	switch {
	case err != nil:
		return 0, err
	case is == 0 && change < 0:
		return 0, fmt.Errorf("%s is off, and cannot be made darker", v.dev.Name)
	}
	return min(100, max(1, is+change)), nil
}

// percentOf returns a number from the arguments of a plan, from Go or from the journal.
func percentOf(args mess.Object, key string) (float64, bool) {
	switch value, _ := args.Get(key); n := value.(type) {
	case float64:
		return n, true
	case mess.Number:
		f, err := n.Float64()
		return f, err == nil
	}
	return 0, false
}

// tint sets the color of a light and reads it back if possible.
func (v verbs) tint(ctx context.Context) result {
	value, _ := v.plan.Args.Get("colour")
	text, _ := value.(string)
	c, err := drivers.ParseColour(text)
	if err != nil {
		return result{err: fmt.Errorf("%s: %w", v.dev.Name, err), effect: mess.EffectNone}
	}
	err = v.pass.Tint(ctx, v.dev.Driver.(policy.ColorLight), c)
	r := result{
		err: err, effect: effectOf(err), evidence: mess.Acknowledged, yes: new(true),
		text:  fmt.Sprintf("The %s has the colour %s.", v.dev.Label, c),
		facts: mess.Object{{Key: "device", Value: v.dev.Name}, {Key: "colour", Value: c.String()}},
	}
	return v.lit(ctx, r, true, func(ctx context.Context) (string, bool, error) {
		reader, ok := v.dev.Driver.(drivers.ColourReader)
		if !ok {
			return "", false, nil
		}
		is, err := v.pass.Colour(ctx, reader)
		if err == nil && is != c {
			return is.String(), true, nil
		}
		return "", true, err
	})
}

// lit reads back a light after a command; on is its commanded state. read returns the shown
// value if it differs from the commanded one, else "", and whether the light can report it.
func (v verbs) lit(ctx context.Context, r result, on bool, read func(context.Context) (instead string, can bool, err error)) result {
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
	can := false
	instead, err := settled(after, &r, func(instead string) bool { return instead == "" }, func() (instead string, err error) {
		instead, can, err = read(after)
		return instead, err
	})
	if can {
		r.readsBack(v.dev.Name, instead == "", instead, err)
	}
	if r.err == nil {
		v.lookAgain(after, since, &r)
	}
	if !v.retreat(ctx, on, &r) && r.err == nil {
		v.noteOff(&r)
	}
	return r
}

// warm sets the color temperature of a light and reads it back if possible.
func (v verbs) warm(ctx context.Context) result {
	kelvin, err := v.kelvin(ctx)
	if err != nil {
		return result{err: err, effect: mess.EffectNone}
	}
	err = v.pass.Warm(ctx, v.dev.Driver.(policy.ColorTemperatureLight), kelvin)
	r := result{
		err: err, effect: effectOf(err), evidence: mess.Acknowledged, yes: new(true),
		text:  fmt.Sprintf("The %s is at %s K.", v.dev.Label, number(kelvin)),
		facts: mess.Object{{Key: "device", Value: v.dev.Name}, {Key: "kelvin", Value: mess.Number(number(kelvin))}},
	}
	return v.lit(ctx, r, true, func(ctx context.Context) (string, bool, error) {
		reader, ok := v.dev.Driver.(drivers.WarmthReader)
		if !ok {
			return "", false, nil
		}
		is, err := v.pass.Warmth(ctx, reader)
		if err == nil && !near(is, kelvin) {
			return number(math.Round(is)) + " K", true, nil
		}
		return "", true, err
	})
}

// near reports whether two color temperatures look the same: devices count in mireds and round.
func near(a, b float64) bool { return math.Abs(1e6/a-1e6/b) <= 5 }

// kelvin returns the planned color temperature: a fixed one, or a change from the current one
// within the range of the light.
func (v verbs) kelvin(ctx context.Context) (float64, error) {
	if kelvin, ok := percentOf(v.plan.Args, "kelvin"); ok {
		return kelvin, nil
	}
	change, ok := percentOf(v.plan.Args, "change")
	reader, reads := v.dev.Driver.(drivers.WarmthReader)
	switch {
	case !ok:
		return 0, fmt.Errorf("%s: the plan does not say which white", v.dev.Name)
	case !reads:
		return 0, fmt.Errorf("%s cannot tell how warm its light is; ask for a white in kelvin", v.dev.Name)
	}
	is, err := v.pass.Warmth(ctx, reader)
	if err != nil {
		return 0, err
	}
	warmest, coldest := v.dev.Driver.(drivers.Warmer).Whites()
	if change < 0 && is <= warmest || change > 0 && is >= coldest {
		return 0, fmt.Errorf("%s is at %s K already, and goes from %s to %s K", v.dev.Name, number(math.Round(is)), number(warmest), number(coldest))
	}
	return min(coldest, max(warmest, math.Round(is+change))), nil
}
