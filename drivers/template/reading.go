package template

import (
	"errors"
	"fmt"
	"time"

	"github.com/messkit/messkit/drivers"
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
