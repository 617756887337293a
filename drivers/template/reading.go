package template

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/messkit/messkit/drivers"
	"github.com/messkit/messkit/internal/unit"
)

// Reading describes one measurement of a template.
type Reading struct {
	Quantity string  `yaml:"quantity"`
	Unit     string  `yaml:"unit"`
	Value    string  `yaml:"value"`    // path in the answer; "": the answer is the number
	Times    float64 `yaml:"times"`    // factor; 0 means 1
	Optional bool    `yaml:"optional"` // some devices of the family do not have it
}

// In returns the measurement in an answer, or nil if the device does not have it.
func (r Reading) In(v Values, answer []byte, at time.Time) (*drivers.Reading, error) {
	found, err := v.Find(r.Value, answer)
	_, missing := errors.AsType[*missingError](err)
	switch {
	case missing && r.Optional:
		return nil, nil
	case err != nil && !missing:
		return nil, err
	}
	f, number := Number(found)
	switch word, _ := ScalarText(found); {
	case number:
	case word != "":
		return nil, fmt.Errorf("the device reports %.40q, which is not a number", word)
	default:
		return nil, fmt.Errorf("the answer of the device has no number at %q", v.Text(r.Value))
	}
	if r.Times != 0 {
		f *= r.Times
	}
	return &drivers.Reading{Quantity: r.Quantity, Value: f, Unit: r.Unit, At: at}, nil
}

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
