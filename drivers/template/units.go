package template

import (
	"fmt"
	"slices"
	"strings"

	"github.com/messkit/messkit/internal/unit"
)

// otherUnits lists the units of other quantities.
var otherUnits = []string{
	"lqi", "ppm", "ppb", "µg/m³", "mg/m³", "g/m³", "mm", "cm", "m", "km", "mm/s", "m/s", "km/h", "mm/h", "mL", "L", "m³", "L/min", "L/h", "m³/h",
	"g", "kg", "t", "ms", "s", "min", "h", "d", "°", "rpm", "1/min", "µS/cm", "mS/cm", "pH", "lm", "W/m²", "µSv/h", "Bq/m³", "N", "layers", "steps", "pieces",
}

// checkUnit returns an error for a missing, wrong or unknown unit.
func (r Reading) checkUnit(where string) error {
	of := unit.Of(r.Quantity)
	switch {
	case slices.Contains(of, r.Unit) || of == nil && (r.Unit == "" || knownUnit(r.Unit)):
		return nil
	case r.Unit == "":
		return fmt.Errorf("%s.unit: is missing; the units of %s are %s", where, r.Quantity, strings.Join(of, ", "))
	case of != nil:
		return fmt.Errorf("%s.unit: %q is not a unit of %s; write %s", where, r.Unit, r.Quantity, strings.Join(of, ", "))
	}
	return fmt.Errorf("%s.unit: %q is unknown; known: %s; omit the unit for a truth value or a count", where, r.Unit, strings.Join(allUnits(), ", "))
}

func knownUnit(unit string) bool { return slices.Contains(allUnits(), unit) }

func allUnits() []string {
	all := append(unit.All(), otherUnits...)
	slices.Sort(all)
	return slices.Compact(all)
}
