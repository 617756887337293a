package action

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/messkit/messkit/agent/wording"
	"github.com/messkit/messkit/drivers"
	"github.com/messkit/messkit/mess"
)

// measured returns a sentence such as "The fridge thermometer: temperature 4.5 °C, humidity 60
// %."
func (run Run) measured(readings []drivers.Reading) string {
	if len(readings) == 0 {
		return fmt.Sprintf("The %s measures nothing now.", run.Device.Label)
	}
	var parts []string
	for _, r := range readings {
		part := wording.Reading(r)
		if r.Estimated {
			part += " (estimated)"
		}
		if age := run.Now().Sub(r.At); !r.At.IsZero() && age >= wording.Stale {
			part += fmt.Sprintf(" (measured %v ago)", age.Round(time.Second))
		}
		if slices.Contains(parts, part) {
			continue // a contact and an opening both say that it is closed
		}
		parts = append(parts, part)
	}
	return fmt.Sprintf("The %s: %s.", run.Device.Label, strings.Join(parts, ", "))
}

// quantities lists the measured quantities.
func quantities(readings []drivers.Reading) string {
	names := make([]string, len(readings))
	for i, r := range readings {
		names[i] = r.Quantity
	}
	return wording.List(names)
}

// measurements returns the measurements as data, each with its time.
func (run Run) measurements(readings []drivers.Reading) mess.Object {
	var o mess.Object
	for _, r := range readings {
		m := mess.Object{{Key: "value", Value: mess.Number(wording.Number(r.Value))}}
		if r.Unit == "" {
			m = mess.Object{{Key: "value", Value: r.Value != 0}}
		} else {
			m = m.Set("unit", r.Unit)
		}
		if r.Estimated {
			m = m.Set("estimated", true)
		}
		o = o.Set(r.Quantity, append(m, wording.Aged(r.At, run.Now(), run.ClockMark)...))
	}
	return o
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
		return mess.Number(wording.Number(v))
	}
	return v
}
