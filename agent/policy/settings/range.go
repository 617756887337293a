package settings

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

// Ranges limit the parameters of a device's commands, by command and parameter. In addition to
// the plan's parameters there is "for", the duration of a state.
type Ranges map[capabilities.Command]map[string]Bounds

// Bounds limit one parameter: numbers in SI units (seconds, for durations), or the allowed
// words. The policy rejects other values and never adjusts them.
type Bounds struct {
	Min  *float64 `yaml:"min"`
	Max  *float64 `yaml:"max"`
	Only []string `yaml:"only"`
}

// Validate returns an error for invalid bounds.
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

// Outside returns why a value is outside the bounds, "" if it is inside.
func (b Bounds) Outside(value any, given bool) string {
	if !given || value == nil {
		return "is not given"
	}
	if len(b.Only) > 0 {
		return b.outsideList(value)
	}
	v, ok := Number(value)
	switch {
	case !ok:
		return fmt.Sprintf("is %v, which is no number", value)
	case b.Min != nil && !(v >= *b.Min), b.Max != nil && !(v <= *b.Max): // written so that NaN is outside
		return "is " + decimal(v)
	}
	return ""
}

func (b Bounds) outsideList(value any) string {
	list := Strings(value)
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

// Number returns a number of a plan, from Go or from JSON.
func Number(v any) (float64, bool) {
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

// Strings returns a value of a plan, a text or a list of texts, as a list. Any other value becomes a
// word that no bounds contain.
func Strings(v any) []string {
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

// withDefaults returns r, completed by def for commands that r does not name.
func (r Ranges) withDefaults(def Ranges) Ranges {
	all := maps.Clone(def)
	if all == nil {
		return r
	}
	maps.Copy(all, r)
	return all
}
