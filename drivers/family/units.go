package family

import (
	"fmt"
	"slices"
	"strings"

	"github.com/messkit/messkit/internal/unit"
)

// Measure is a quantity with its unit, as a template writes them.
type Measure struct{ Quantity, Unit string }

// otherUnits lists the units of other quantities.
var otherUnits = []string{
	"lqi", "ppm", "ppb", "µg/m³", "mg/m³", "g/m³", "mm", "cm", "m", "km", "mm/s", "m/s", "km/h", "mm/h", "mL", "L", "m³", "L/min", "L/h", "m³/h",
	"g", "kg", "t", "ms", "s", "min", "h", "d", "°", "rpm", "1/min", "µS/cm", "mS/cm", "pH", "lm", "W/m²", "µSv/h", "Bq/m³", "N", "layers", "steps", "pieces",
}

// checkUnit returns an error for a missing, wrong or unknown unit.
func (m Measure) checkUnit(where string) error {
	of := unit.Of(m.Quantity)
	switch {
	case slices.Contains(of, m.Unit) || of == nil && (m.Unit == "" || knownUnit(m.Unit)):
		return nil
	case m.Unit == "":
		return fmt.Errorf("%s.unit: is missing; the units of %s are %s", where, m.Quantity, strings.Join(of, ", "))
	case of != nil:
		return fmt.Errorf("%s.unit: %q is not a unit of %s; write %s", where, m.Unit, m.Quantity, strings.Join(of, ", "))
	}
	return fmt.Errorf("%s.unit: %q is unknown; known: %s; omit the unit for a truth value or a count", where, m.Unit, strings.Join(allUnits(), ", "))
}

func knownUnit(unit string) bool { return slices.Contains(allUnits(), unit) }

func allUnits() []string {
	all := append(unit.All(), otherUnits...)
	slices.Sort(all)
	return slices.Compact(all)
}
