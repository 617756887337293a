package gate

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/messkit/messkit/capabilities"
	"github.com/messkit/messkit/mess"
)

// Ranges bound the parameters of a device's commands, by command and parameter.
// Beside a plan's own parameters there is "for", how long a state is to last.
type Ranges map[capabilities.Command]map[string]Bounds

// Bounds of one parameter: numbers in SI units (seconds, for durations), or the
// words that it may be. What is outside is refused, and never made to fit.
type Bounds struct {
	Min  *float64 `yaml:"min"`
	Max  *float64 `yaml:"max"`
	Only []string `yaml:"only"`
}

// Validate tells what cannot be.
func (b Bounds) Validate() error {
	switch {
	case len(b.Only) > 0 && (b.Min != nil || b.Max != nil):
		return errors.New("only: there is min or max as well; keep words or numbers")
	case len(b.Only) == 0 && b.Min == nil && b.Max == nil:
		return errors.New("min: neither min, max nor only; write what the parameter may be")
	case b.Min != nil && b.Max != nil && *b.Min > *b.Max:
		return fmt.Errorf("min: %s is more than max, %s", decimal(*b.Min), decimal(*b.Max))
	}
	return nil
}

func (b Bounds) String() string {
	switch {
	case len(b.Only) > 0:
		return "one of " + strings.Join(b.Only, ", ")
	case b.Min == nil:
		return "at most " + decimal(*b.Max)
	case b.Max == nil:
		return "at least " + decimal(*b.Min)
	}
	return decimal(*b.Min) + " to " + decimal(*b.Max)
}

func decimal(f float64) string { return strconv.FormatFloat(f, 'f', -1, 64) }

// withinRange refuses a parameter outside its bounds, and one that is not there:
// the device would then take a value that nobody has looked at. Switching off
// needs no parameter.
func (g *Gate) withinRange(d *device, p capabilities.Plan) error {
	if !p.Actuates() {
		return nil
	}
	for _, name := range sortedKeys(d.limits.Range[p.Command]) {
		b := d.limits.Range[p.Command][name]
		value, given := parameter(*d.limits, p, name)
		if !given && turnsOff(p) {
			continue
		}
		if why := b.outside(value, given); why != "" {
			return &Refusal{Device: d.name, Rule: "range", Text: fmt.Sprintf("%s %s, and may be %s; ask for that", name, why, b)}
		}
	}
	return nil
}

// parameter is a value of a plan; "for" is how long it will last in seconds.
func parameter(l Device, p capabilities.Plan, name string) (any, bool) {
	if name != "for" {
		return p.Args.Get(name)
	}
	last := p.For
	if TurnsOn(p) {
		last = offIn(l, p)
	}
	return last.Seconds(), last > 0
}

// outside is why a value is not within the bounds, "" if it is.
func (b Bounds) outside(value any, given bool) string {
	if !given || value == nil {
		return "is not given"
	}
	if len(b.Only) > 0 {
		return b.noneOf(value)
	}
	v, ok := amount(value)
	switch {
	case !ok:
		return fmt.Sprintf("is %v, which is no number", value)
	case b.Min != nil && !(v >= *b.Min), b.Max != nil && !(v <= *b.Max): // so that NaN is outside
		return "is " + decimal(v)
	}
	return ""
}

func (b Bounds) noneOf(value any) string {
	list := words(value)
	if len(list) == 0 {
		return "names nothing"
	}
	for _, w := range list {
		if !slices.Contains(b.Only, w) {
			return fmt.Sprintf("is %q", w)
		}
	}
	return ""
}

// amount is a number of a plan, whether it was made here or read from JSON.
func amount(v any) (float64, bool) {
	switch v := v.(type) {
	case float64:
		return v, true
	case int:
		return float64(v), true
	case int64:
		return float64(v), true
	case mess.Number:
		f, err := strconv.ParseFloat(string(v), 64)
		return f, err == nil
	}
	return 0, false
}

// words is a text of a plan, or a list of them; anything else is a word that no
// bounds know.
func words(v any) []string {
	switch v := v.(type) {
	case []string:
		return v
	case []any:
		list := make([]string, len(v))
		for i, one := range v {
			list[i] = fmt.Sprint(one)
		}
		return list
	}
	return []string{fmt.Sprint(v)}
}

// over are r, and those of def for the commands that r does not name.
func (r Ranges) over(def Ranges) Ranges {
	all := maps.Clone(def)
	if all == nil {
		return r
	}
	maps.Copy(all, r)
	return all
}
