package family

import (
	"fmt"
	"slices"
	"strings"
)

// Measure is a quantity and its unit, as a template writes them.
type Measure struct{ Quantity, Unit string }

// unitsOf are the units of what has always one, by the last word of its name: "bed
// temperature" is a temperature.
func unitsOf(quantity string) []string {
	switch quantity[strings.LastIndex(quantity, " ")+1:] {
	case "temperature":
		return []string{"°C", "°F", "K"}
	case "humidity", "moisture", "battery", "opening", "progress":
		return []string{"%"}
	case "power":
		return []string{"W", "kW", "VA", "var"}
	case "energy":
		return []string{"kWh", "Wh", "MWh", "J", "kJ", "MJ"}
	case "voltage":
		return []string{"V", "mV"}
	case "current":
		return []string{"A", "mA"}
	case "frequency":
		return []string{"Hz", "kHz", "MHz"}
	case "illuminance":
		return []string{"lx"}
	case "pressure":
		return []string{"hPa", "Pa", "kPa", "bar", "mbar", "psi"}
	case "signal":
		return []string{"dBm", "dB", "%"}
	}
	return nil
}

// otherUnits are those of what else devices measure.
var otherUnits = []string{
	"lqi", "ppm", "ppb", "µg/m³", "mg/m³", "g/m³", "mm", "cm", "m", "km", "mm/s", "m/s", "km/h", "mm/h", "mL", "L", "m³", "L/min", "L/h", "m³/h",
	"g", "kg", "t", "ms", "s", "min", "h", "d", "°", "rpm", "1/min", "µS/cm", "mS/cm", "pH", "lm", "W/m²", "µSv/h", "Bq/m³", "N", "layers", "steps", "pieces",
}

// checkUnit tells a unit that is missing, is of something else, or that nobody knows.
func (m Measure) checkUnit(where string) error {
	of := unitsOf(m.Quantity)
	switch {
	case slices.Contains(of, m.Unit) || of == nil && (m.Unit == "" || knownUnit(m.Unit)):
		return nil
	case m.Unit == "":
		return fmt.Errorf("%s.unit: is missing; %s has %s", where, m.Quantity, strings.Join(of, ", "))
	case of != nil:
		return fmt.Errorf("%s.unit: %q is no unit of %s; write %s", where, m.Unit, m.Quantity, strings.Join(of, ", "))
	}
	return fmt.Errorf("%s.unit: %q is no unit that is known; known: %s; leave it out for what is so or not, and for a number of things", where, m.Unit, strings.Join(allUnits(), ", "))
}

func knownUnit(unit string) bool { return slices.Contains(allUnits(), unit) }

func allUnits() []string {
	var all []string
	for _, q := range []string{"temperature", "humidity", "power", "energy", "voltage", "current", "frequency", "illuminance", "pressure", "signal"} {
		all = append(all, unitsOf(q)...)
	}
	all = append(all, otherUnits...)
	slices.Sort(all)
	return slices.Compact(all)
}
