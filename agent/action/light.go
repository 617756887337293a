package action

import (
	"context"
	"fmt"
	"math"

	"github.com/messkit/messkit/agent/policy"
	"github.com/messkit/messkit/agent/wording"
	"github.com/messkit/messkit/drivers"
	"github.com/messkit/messkit/mess"
)

// dim sets the brightness of a light and reads it back if possible.
func (run Run) dim(ctx context.Context) Result {
	percent, err := run.targetLevel(ctx)
	if err != nil {
		return Result{Err: err, Effect: mess.EffectNone}
	}
	err = run.Pass.Dim(ctx, run.Device.Driver.(policy.DimmableLight), percent)
	r := run.resultOf(err, fmt.Sprintf("The %s is at %s %%.", run.Device.Label, wording.Number(percent)), "level", mess.Number(wording.Number(percent)))
	return run.finishSwitch(ctx, r, percent > 0, readLevel(run.Device.Driver, percent))
}

// targetLevel returns the planned brightness in percent: a fixed level, or a change from the
// current one. A light that is on stays on.
func (run Run) targetLevel(ctx context.Context) (float64, error) {
	if level, ok := numberArg(run.Plan.Args, "level"); ok {
		return level, nil
	}
	change, ok := numberArg(run.Plan.Args, "change")
	reader, reads := run.Device.Driver.(drivers.LevelReader)
	switch {
	case !ok:
		return 0, fmt.Errorf("%s: the plan does not say how bright", run.Device.Name)
	case !reads:
		return 0, fmt.Errorf("%s does not report its brightness; ask for a level in percent", run.Device.Name)
	}
	is, err := run.Pass.Level(ctx, reader)
	switch {
	case err != nil:
		return 0, err
	case is == 0 && change < 0:
		return 0, fmt.Errorf("%s is off, and cannot get darker", run.Device.Name)
	}
	return min(100, max(1, is+change)), nil
}

// numberArg returns a number from the arguments of a plan, from Go or from the journal.
func numberArg(args mess.Object, key string) (float64, bool) {
	switch value, _ := args.Get(key); n := value.(type) {
	case float64:
		return n, true
	case mess.Number:
		f, err := n.Float64()
		return f, err == nil
	}
	return 0, false
}

// setColor sets the color of a light and reads it back if possible.
func (run Run) setColor(ctx context.Context) Result {
	value, _ := run.Plan.Args.Get("colour")
	text, _ := value.(string)
	c, err := drivers.ParseColor(text)
	if err != nil {
		return Result{Err: fmt.Errorf("%s: %w", run.Device.Name, err), Effect: mess.EffectNone}
	}
	err = run.Pass.SetColor(ctx, run.Device.Driver.(policy.ColorLight), c)
	r := run.resultOf(err, fmt.Sprintf("The %s has the color %s.", run.Device.Label, c), "colour", c.String())
	return run.finishSwitch(ctx, r, true, readColor(run.Device.Driver, c))
}

// setColorTemperature sets the color temperature of a light and reads it back if possible.
func (run Run) setColorTemperature(ctx context.Context) Result {
	kelvin, err := run.targetKelvin(ctx)
	if err != nil {
		return Result{Err: err, Effect: mess.EffectNone}
	}
	err = run.Pass.SetColorTemperature(ctx, run.Device.Driver.(policy.ColorTemperatureLight), kelvin)
	r := run.resultOf(err, fmt.Sprintf("The %s is at %s K.", run.Device.Label, wording.Number(kelvin)), "kelvin", mess.Number(wording.Number(kelvin)))
	return run.finishSwitch(ctx, r, true, readColorTemperature(run.Device.Driver, kelvin))
}

// sameColorTemperature reports whether two color temperatures look the same: devices count in
// mireds and round.
func sameColorTemperature(a, b float64) bool { return math.Abs(1e6/a-1e6/b) <= 5 }

// targetKelvin returns the planned color temperature: a fixed one, or a change from the
// current one within the range of the light.
func (run Run) targetKelvin(ctx context.Context) (float64, error) {
	if kelvin, ok := numberArg(run.Plan.Args, "kelvin"); ok {
		return kelvin, nil
	}
	change, ok := numberArg(run.Plan.Args, "change")
	reader, reads := run.Device.Driver.(drivers.ColorTemperatureReader)
	switch {
	case !ok:
		return 0, fmt.Errorf("%s: the plan does not say which white", run.Device.Name)
	case !reads:
		return 0, fmt.Errorf("%s does not report its color temperature; ask for a white in kelvin", run.Device.Name)
	}
	is, err := run.Pass.ColorTemperature(ctx, reader)
	if err != nil {
		return 0, err
	}
	warmest, coldest := run.Device.Driver.(drivers.ColorTemperatureSetter).ColorTemperatureRange()
	if change < 0 && is <= warmest || change > 0 && is >= coldest {
		return 0, fmt.Errorf("%s is at %s K already, and goes from %s to %s K", run.Device.Name, wording.Number(math.Round(is)), wording.Number(warmest), wording.Number(coldest))
	}
	return min(coldest, max(warmest, math.Round(is+change))), nil
}
