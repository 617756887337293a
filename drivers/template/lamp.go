package template

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/messkit/messkit/drivers"
)

// Lamp describes the lamp of a template. Its functions set and read the values in the
// notation of the device.
type Lamp struct {
	Values Values
	On     func(context.Context) (bool, error)
	Dim    *Setting // {level} is the brightness; nil: the lamp has a fixed brightness
	Full   float64  // value of {level} and of the answer for 100 %
	White  *Setting // {kelvin} and {mireds}; nil: the color temperature is fixed
	Warmth Warmth   // with valid limits if ColorTemperature is not nil
	Tint   *Setting // {red}, {green} and {blue}, 0 to 255, and {hex}; nil: the lamp has no colors
}

// Light returns the verbs of the lamp, or nil for a lamp with a fixed brightness.
func (l Lamp) Light() *Light {
	if l.Dim == nil {
		return nil
	}
	v := &Light{Dim: l.dim, Level: l.level}
	if l.Tint != nil {
		v.SetColor, v.Color = l.tint, l.color
	}
	if l.White != nil {
		v.ColorTemperature = &ColorTemperature{Set: l.warm, Read: l.warmth}
		v.ColorTemperature.Warmest, v.ColorTemperature.Coldest, _ = l.Warmth.Limits(l.Values) // the caller has checked the limits
	}
	return v
}

// dim sets a level above 0, and at least the lowest level of the device, because 0 would
// turn it off.
func (l Lamp) dim(ctx context.Context, percent float64) error {
	level := max(1, math.Round(percent*l.Full/100))
	word := strconv.FormatFloat(level, 'f', -1, 64)
	return l.Dim.Set(ctx, l.Values.With(Values{"level": word}), Want{"level " + word, func(answer []byte) (bool, string, error) {
		is, err := l.levelIn(answer)
		return math.Abs(is-level) <= l.Full/100, "level " + strconv.FormatFloat(is, 'f', -1, 64), err // many devices round
	}})
}

// level returns 0 for a lamp that is off, no matter which level it reports.
func (l Lamp) level(ctx context.Context) (float64, error) {
	on, err := l.On(ctx)
	if err != nil || !on {
		return 0, err
	}
	answer, err := l.Dim.Read(ctx)
	if err != nil {
		return 0, err
	}
	is, err := l.levelIn(answer)
	return math.Round(100 * is / l.Full), err
}

// levelIn returns the level in an answer, 0 to Full.
func (l Lamp) levelIn(answer []byte) (float64, error) {
	found, err := l.Values.Find(l.Dim.Path, answer)
	if err != nil {
		return 0, err
	}
	f, number := Number(found)
	if !number || f < 0 || f > l.Full {
		return 0, fmt.Errorf("the device reports no level from 0 to %g", l.Full)
	}
	return f, nil
}

func (l Lamp) warm(ctx context.Context, kelvin float64) error {
	words := l.Warmth.Words(kelvin)
	return l.White.Set(ctx, l.Values.With(words), Want{words["kelvin"] + " K", func(answer []byte) (bool, string, error) {
		is, err := l.warmthIn(answer)
		return err == nil && IsNearKelvin(is, kelvin), fmt.Sprintf("%.0f K", is), err
	}})
}

func (l Lamp) warmth(ctx context.Context) (float64, error) {
	answer, err := l.White.Read(ctx)
	if err != nil {
		return 0, err
	}
	return l.warmthIn(answer)
}

// warmthIn returns the color temperature in an answer, in kelvin.
func (l Lamp) warmthIn(answer []byte) (float64, error) {
	found, err := l.Values.Find(l.White.Path, answer)
	if l.Warmth.Mode == "" {
		if err != nil {
			return 0, err
		}
		return l.Warmth.Kelvin(l.Values, nil, found)
	}
	parsed, err := Parse(answer)
	if err != nil {
		return 0, err
	}
	return l.Warmth.Kelvin(l.Values, parsed, found) // a lamp that shows a color may report no color temperature
}

func (l Lamp) tint(ctx context.Context, c drivers.Color) error {
	word := func(part uint8) string { return strconv.Itoa(int(part)) }
	values := l.Values.With(Values{"red": word(c.R), "green": word(c.G), "blue": word(c.B), "hex": strings.TrimPrefix(c.String(), "#")})
	return l.Tint.Set(ctx, values, Want{c.String(), func(answer []byte) (bool, string, error) {
		is, err := l.colorIn(answer)
		return is == c, is.String(), err
	}})
}

func (l Lamp) color(ctx context.Context) (drivers.Color, error) {
	answer, err := l.Tint.Read(ctx)
	if err != nil {
		return drivers.Color{}, err
	}
	return l.colorIn(answer)
}

// colorIn returns the color in an answer.
func (l Lamp) colorIn(answer []byte) (drivers.Color, error) {
	found, err := l.Values.Find(l.Tint.Path, answer)
	if err != nil {
		return drivers.Color{}, err
	}
	c, ok := colorOf(found)
	if !ok {
		return drivers.Color{}, fmt.Errorf("the device reports no color: %.40q", fmt.Sprint(found))
	}
	return c, nil
}

// colorOf parses the color notations of devices: [255, 136, 0], {r: 255, g: 136, b: 0},
// "FF8800" with a suffix, or "rgb,255,136,0".
func colorOf(v any) (drivers.Color, bool) {
	var parts []any
	switch v := v.(type) {
	case []any:
		parts = v
	case map[string]any:
		parts = []any{v["r"], v["g"], v["b"]}
	case string:
		if rest, ok := strings.CutPrefix(v, "rgb,"); ok {
			for p := range strings.SplitSeq(rest, ",") {
				parts = append(parts, p)
			}
			break
		}
		hex := strings.TrimPrefix(v, "#")
		c, err := drivers.ParseColor("#" + strings.ToLower(hex[:min(len(hex), 6)]))
		return c, err == nil
	}
	if len(parts) < 3 {
		return drivers.Color{}, false
	}
	var rgb [3]uint8
	for i := range rgb {
		f, number := Number(parts[i])
		if !number || f < 0 || f > math.MaxUint8 || f != math.Trunc(f) {
			return drivers.Color{}, false
		}
		rgb[i] = uint8(f)
	}
	return drivers.Color{R: rgb[0], G: rgb[1], B: rgb[2]}, true
}

// Warmth describes the color temperature scale of a template.
type Warmth struct {
	Mired   bool     `yaml:"mired"`   // the device uses mireds, not kelvin
	Warmest string   `yaml:"warmest"` // kelvin; may contain {names}, like coldest
	Coldest string   `yaml:"coldest"`
	Mode    string   `yaml:"mode"`  // path of the word for the color mode in an answer; "": none
	Modes   []string `yaml:"modes"` // words for the white modes
}

// mired converts: kelvin = mired / mireds.
const mired = 1e6

// Limits returns the warmest and the coldest white in kelvin.
func (w Warmth) Limits(v Values) (warmest, coldest float64, err error) {
	warmest, errWarm := strconv.ParseFloat(v.Text(w.Warmest), 64)
	coldest, errCold := strconv.ParseFloat(v.Text(w.Coldest), 64)
	if errors.Join(errWarm, errCold) != nil || !(warmest >= 1000 && warmest < coldest && coldest <= 20000) {
		return 0, 0, fmt.Errorf("with: the range from %q to %q K is invalid; write kelvin, the warmest below the coldest", v.Text(w.Warmest), v.Text(w.Coldest))
	}
	return warmest, coldest, nil
}

// Words returns the values of {kelvin} and {mireds}.
func (w Warmth) Words(kelvin float64) Values {
	word := func(f float64) string { return strconv.FormatFloat(math.Round(f), 'f', -1, 64) }
	return Values{"kelvin": word(kelvin), "mireds": word(mired / kelvin)}
}

// Kelvin returns the color temperature of an answer. It returns an error if the color mode
// of the answer is not white.
func (w Warmth) Kelvin(v Values, answer, found any) (float64, error) {
	if mode, ok := Lookup(answer, v.Text(w.Mode)); ok && w.Mode != "" {
		if word, _ := ScalarText(mode); !slices.Contains(w.Modes, word) {
			return 0, errors.New("the lamp shows a color")
		}
	}
	n, number := Number(found)
	if !number || n <= 0 {
		return 0, errors.New("the lamp does not report a color temperature")
	}
	if w.Mired {
		n = mired / n
	}
	return n, nil
}

// IsNearKelvin reports whether two color temperatures are equal for a device that rounds to
// mireds.
func IsNearKelvin(a, b float64) bool { return math.Abs(mired/a-mired/b) <= 3 }
