package agent

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/messkit/messkit/drivers"
	"github.com/messkit/messkit/mess"
)

// state returns a sentence such as "The porch light is on."
func (v verbs) state(on bool) string { return fmt.Sprintf("The %s is %s.", v.dev.Label, onOff(on)) }

func onOff(on bool) string {
	if on {
		return "on"
	}
	return "off"
}

// measured returns a sentence such as "The fridge thermometer: temperature 4.5 °C, humidity 60
// %."
func (v verbs) measured(readings []drivers.Reading) string {
	if len(readings) == 0 {
		return fmt.Sprintf("The %s measures nothing now.", v.dev.Label)
	}
	var parts []string
	for _, r := range readings {
		part := inWords(r)
		if r.Estimated {
			part += " (estimated)"
		}
		if age := v.now().Sub(r.At); !r.At.IsZero() && age >= stale {
			part += fmt.Sprintf(" (measured %v ago)", age.Round(time.Second))
		}
		if slices.Contains(parts, part) {
			continue // a contact and an opening both say that it is closed
		}
		parts = append(parts, part)
	}
	return fmt.Sprintf("The %s: %s.", v.dev.Label, strings.Join(parts, ", "))
}

// inWords describes a measurement: "temperature 4.5 °C", "open".
func inWords(r drivers.Reading) string {
	if r.Quantity == "opening" { // of a cover, in percent
		return openness(r.Value)
	}
	if says, ok := truths[r.Quantity]; ok && r.Unit == "" {
		return says[min(1, int(math.Abs(r.Value)))]
	}
	return r.Quantity + " " + amount(r)
}

// truths holds the words for truth values 0 and 1 by quantity. An open contact reads as 0.
var truths = map[string][2]string{
	"contact": {"open", "closed"}, "lock": {"unlocked", "locked"}, "motion": {"nothing moves", "something moves"},
	"presence": {"nobody is there", "somebody is there"}, "occupancy": {"nobody is there", "somebody is there"},
}

// quantities lists the measured quantities.
func quantities(readings []drivers.Reading) string {
	names := make([]string, len(readings))
	for i, r := range readings {
		names[i] = r.Quantity
	}
	return list(names)
}

// amount returns a value with its unit; a value without a unit is a truth value.
func amount(r drivers.Reading) string {
	switch {
	case r.Unit != "":
		return rounded(r.Value) + " " + r.Unit
	case r.Value == 0:
		return "no"
	}
	return "yes"
}

// number formats a number for programs: exact, without the rounding errors behind the twelfth
// digit (31.200000000000003).
func number(f float64) string {
	if short, err := strconv.ParseFloat(strconv.FormatFloat(f, 'g', 12, 64), 64); err == nil {
		f = short
	}
	return strconv.FormatFloat(f, 'f', -1, 64)
}

// rounded formats a measurement for people: one decimal from 100 on, two from 1 on, and three
// digits below. No sensor of a home is more exact.
func rounded(f float64) string {
	digits := 2
	switch a := math.Abs(f); {
	case a >= 100:
		digits = 1
	case a > 0 && a < 1:
		digits = min(12, 2-int(math.Floor(math.Log10(a))))
	}
	if short, err := strconv.ParseFloat(strconv.FormatFloat(f, 'f', digits, 64), 64); err == nil {
		f = short
	}
	if f == 0 {
		f = 0 // avoids -0
	}
	return strconv.FormatFloat(f, 'f', -1, 64)
}

// stale is the age from which the answer states the age of a measurement in words. Battery
// sensors report once a minute at most.
const stale = time.Minute

// aged returns the time of a state, its age, and whether to trust the clock. It is empty
// without a time.
func aged(at, now time.Time, clock string) mess.Object {
	if at.IsZero() {
		return nil
	}
	o := mess.Object{{Key: "at", Value: string(utc(at))}, {Key: "age", Value: string(mess.DurationOf(now.Sub(at)))}}
	if clock != "" {
		o = append(o, mess.Field{Key: "clock", Value: clock})
	}
	return o
}

// measurements returns the measurements as data, each with its time.
func (v verbs) measurements(readings []drivers.Reading) mess.Object {
	var o mess.Object
	for _, r := range readings {
		m := mess.Object{{Key: "value", Value: mess.Number(number(r.Value))}}
		if r.Unit == "" {
			m = mess.Object{{Key: "value", Value: r.Value != 0}}
		} else {
			m = m.Set("unit", r.Unit)
		}
		if r.Estimated {
			m = m.Set("estimated", true)
		}
		o = o.Set(r.Quantity, append(m, aged(r.At, v.now(), v.clock)...))
	}
	return o
}

// cleaned returns a sentence such as "The vacuum has cleaned near sink and stove; left: hall."
func cleaned(label string, out drivers.Outcome) string {
	if len(out.Done)+len(out.Remaining) == 0 { // the plan names no areas
		return fmt.Sprintf("The %s has finished cleaning.", label)
	}
	s := fmt.Sprintf("The %s has cleaned %s", label, list(out.Done))
	if len(out.Remaining) > 0 {
		s += "; not done: " + list(out.Remaining)
	}
	return s + "."
}

// list returns "a, b and c".
func list(words []string) string {
	switch n := len(words); n {
	case 0:
		return "nothing"
	case 1:
		return words[0]
	default:
		return strings.Join(words[:n-1], ", ") + " and " + words[n-1]
	}
}

func sentences(s ...string) string {
	var said []string
	for _, one := range s {
		if one != "" {
			said = append(said, one)
		}
	}
	return strings.Join(said, " ")
}

// facts converts the facts of a device to data.
func facts(list []drivers.Fact) mess.Object {
	var o mess.Object
	for _, f := range list {
		value := plain(f.Value)
		if f.Unit != "" {
			value = mess.Object{{Key: "value", Value: value}, {Key: "unit", Value: f.Unit}}
		}
		o = o.Set(f.Name, value)
	}
	return o
}

// plain converts a fact's value to a value of package mess.
func plain(v any) any {
	switch v := v.(type) {
	case []drivers.Fact:
		return facts(v)
	case float64:
		return mess.Number(number(v))
	}
	return v
}

// names returns the areas of a plan. In a plan from the journal they are a list of any values.
func names(args mess.Object) []string {
	value, _ := args.Get("areas")
	switch areas := value.(type) {
	case []string:
		return areas
	case []any:
		var list []string
		for _, a := range areas {
			if s, ok := a.(string); ok {
				list = append(list, s)
			}
		}
		return list
	}
	return nil
}
