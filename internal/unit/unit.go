// Package unit knows the units of the quantities that devices measure, and converts between them.
// The unit of plans and conditions is the first one of a quantity.
package unit

import (
	"math"
	"slices"
	"strings"
)

// scale turns a value into the first unit of its quantity: value*factor + offset.
type scale struct {
	unit           string
	factor, offset float64
}

// quantities are the quantities with fixed units. A unit that no factor turns into the first one,
// such as VA into W, has the factor 0. Plans know no unit of a quantity whose first factor is 0.
var quantities = []struct {
	names  []string
	scales []scale
}{
	{[]string{"temperature"}, []scale{{"°C", 1, 0}, {"°F", 1 / 1.8, -32 / 1.8}, {"K", 1, -273.15}}},
	{[]string{"humidity", "moisture", "battery", "opening", "progress"}, []scale{{"%", 1, 0}}},
	{[]string{"power"}, []scale{{"W", 1, 0}, {"kW", 1000, 0}, {"VA", 0, 0}, {"var", 0, 0}}},
	{[]string{"energy"}, []scale{{"kWh", 1, 0}, {"Wh", 1e-3, 0}, {"MWh", 1e3, 0}, {"J", 1 / 3.6e6, 0}, {"kJ", 1 / 3.6e3, 0}, {"MJ", 1 / 3.6, 0}}},
	{[]string{"voltage"}, []scale{{"V", 1, 0}, {"mV", 1e-3, 0}}},
	{[]string{"current"}, []scale{{"A", 0, 0}, {"mA", 0, 0}}},
	{[]string{"frequency"}, []scale{{"Hz", 0, 0}, {"kHz", 0, 0}, {"MHz", 0, 0}}},
	{[]string{"illuminance"}, []scale{{"lx", 1, 0}}},
	{[]string{"pressure"}, []scale{{"hPa", 1, 0}, {"Pa", 1e-2, 0}, {"kPa", 10, 0}, {"bar", 1e3, 0}, {"mbar", 1, 0}, {"psi", 68.94757293168, 0}}},
	{[]string{"signal"}, []scale{{"dBm", 0, 0}, {"dB", 0, 0}, {"%", 0, 0}}},
}

// scalesOf returns the scales of a quantity by the last word of its name: "bed temperature" is a
// temperature. It returns nil for a quantity without fixed units.
func scalesOf(quantity string) []scale {
	last := quantity[strings.LastIndex(quantity, " ")+1:]
	for _, q := range quantities {
		if slices.Contains(q.names, last) {
			return q.scales
		}
	}
	return nil
}

// OfPlan returns the unit of a quantity in plans and conditions, "" for a quantity without one.
func OfPlan(quantity string) string {
	if scales := scalesOf(quantity); scales != nil && scales[0].factor != 0 {
		return scales[0].unit
	}
	return ""
}

// Of returns the units of a quantity, the unit of plans first. It returns nil for a quantity
// without fixed units.
func Of(quantity string) (units []string) {
	for _, s := range scalesOf(quantity) {
		units = append(units, s.unit)
	}
	return units
}

// All returns the units of all quantities with fixed units. A unit may be in it twice.
func All() (units []string) {
	for _, q := range quantities {
		for _, s := range q.scales {
			units = append(units, s.unit)
		}
	}
	return units
}

// ForPlan returns a value in the unit of plans, and that unit. A value without a unit, and a value
// of a quantity that has no unit in plans, stay as they are. It is false for a unit that cannot be
// converted.
func ForPlan(quantity string, value float64, unit string) (float64, string, bool) {
	plan := OfPlan(quantity)
	if unit == "" || plan == "" || unit == plan {
		return value, unit, true
	}
	for _, s := range scalesOf(quantity) {
		if s.unit == unit && s.factor != 0 {
			return roundOff(value*s.factor + s.offset), plan, true
		}
	}
	return value, unit, false
}

// roundOff removes the last digits, which are errors of the calculation.
func roundOff(value float64) float64 { return math.Round(value*1e9) / 1e9 }
