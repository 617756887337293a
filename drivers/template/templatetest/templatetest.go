// Package templatetest contains test helpers for template drivers.
package templatetest

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/messkit/messkit/drivers"
)

// Do executes one step on a device, such as "on", "dim 40" or "read", and returns its
// result as text. It panics if the device lacks the verb.
func Do(ctx context.Context, d drivers.Device, what string) (string, error) {
	verb, arg, _ := strings.Cut(what, " ")
	amount, _ := strconv.ParseFloat(arg, 64)
	number := func(f float64, err error) (string, error) { return strconv.FormatFloat(f, 'f', 0, 64), err }
	switch verb {
	case "on", "off":
		return "", d.(drivers.Switch).Switch(ctx, verb == "on")
	case "on_for":
		limit, err := time.ParseDuration(arg)
		return "", errors.Join(err, d.(drivers.AutoOff).SwitchFor(ctx, true, limit))
	case "is":
		on, err := d.(drivers.SwitchReader).On(ctx)
		return strconv.FormatBool(on), err
	case "dim":
		return "", d.(drivers.Dimmer).Dim(ctx, amount)
	case "level":
		return number(d.(drivers.LevelReader).Level(ctx))
	case "tint":
		c, err := drivers.ParseColor("#" + arg)
		return "", errors.Join(err, d.(drivers.ColorSetter).SetColor(ctx, c))
	case "colour":
		c, err := d.(drivers.ColorReader).Color(ctx)
		return c.String(), err
	case "warm":
		return "", d.(drivers.ColorTemperatureSetter).SetColorTemperature(ctx, amount)
	case "warmth":
		return number(d.(drivers.ColorTemperatureReader).ColorTemperature(ctx))
	case "open":
		return "", d.(drivers.Opener).Open(ctx)
	case "close":
		return "", d.(drivers.Opener).Close(ctx)
	case "to":
		return "", d.(drivers.Positioner).OpenTo(ctx, amount)
	case "stop":
		_, err := d.(drivers.Stopper).Stop(ctx)
		return "", err
	case "opening":
		return number(d.(drivers.OpeningReader).Opening(ctx))
	case "read":
		list, err := d.(drivers.Sensor).Read(ctx)
		var words []string
		for _, r := range list {
			words = append(words, strings.TrimSpace(r.Quantity+" "+strconv.FormatFloat(r.Value, 'g', 8, 64)+" "+r.Unit))
		}
		return strings.Join(words, "; "), err
	}
	return "", fmt.Errorf("%q is not a step", what)
}
