package settings

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/messkit/messkit/drivers"
)

// Condition is a condition on another device's reading, without which a device does not act: a
// closed door, an empty room, a temperature.
type Condition struct {
	Device   string        `yaml:"device"`   // the sensor
	Is       string        `yaml:"is"`       // on, off, open, closed, somebody or nobody
	Quantity string        `yaml:"quantity"` // the measured quantity, instead of is
	Min      *float64      `yaml:"min"`
	Max      *float64      `yaml:"max"`
	MaxAge   time.Duration `yaml:"max_age"` // maximum age of the reading; 0 means a minute
}

// maxAge is the default maximum age of a reading.
const maxAge = time.Minute

// truthQuantity relates a word to a truth value of sensors.
type truthQuantity struct {
	quantities []string // any of these quantities counts
	value      float64
}

// presenceQuantities lists the quantities that report presence. An open contact reads as 0
// (drivers.Reading; zigbee2mqtt, "contact").
var presenceQuantities = []string{"presence", "occupancy", "motion"}

var truthWords = map[string]truthQuantity{
	"closed": {[]string{"contact"}, 1}, "open": {[]string{"contact"}, 0},
	"somebody": {presenceQuantities, 1}, "nobody": {presenceQuantities, 0},
}

// UsesSwitchState reports whether the condition is about a switch, and not about a reading.
func (n Condition) UsesSwitchState() bool { return n.Is == "on" || n.Is == "off" }

// Validate returns an error for an invalid condition.
func (n Condition) Validate() error {
	_, known := truthWords[n.Is]
	switch {
	case n.Device == "":
		return errors.New("device: is missing; write whose reading counts")
	case n.Is == "" && n.Quantity == "":
		return errors.New("is: is missing; write on, off, open, closed, somebody or nobody, or a quantity with min or max")
	case n.Is != "" && (n.Quantity != "" || n.Min != nil || n.Max != nil):
		return errors.New("quantity: there is is: as well; keep one of the two")
	case n.Is != "" && !known && !n.UsesSwitchState():
		return fmt.Errorf("is: unknown value %q; use on, off, open, closed, somebody or nobody", n.Is)
	case n.Is == "" && n.Min == nil && n.Max == nil:
		return errors.New("min: neither min nor max; write what the quantity may be")
	case n.MaxAge < 0:
		return fmt.Errorf("max_age: %v is negative; leave it out for %v", n.MaxAge, maxAge)
	}
	return nil
}

// SupportedBy returns nil if a device can provide the reading that n needs.
func (n Condition) SupportedBy(d drivers.Device) error {
	_, reader := d.(drivers.SwitchReader)
	_, sensor := d.(drivers.Sensor)
	switch {
	case n.UsesSwitchState() && !reader:
		return fmt.Errorf("%s cannot report whether it is on", n.Device)
	case !n.UsesSwitchState() && !sensor:
		return fmt.Errorf("%s measures nothing", n.Device)
	}
	return nil
}

// String returns a sentence such as "the door-sensor must be closed".
func (n Condition) String() string {
	switch {
	case n.Is == "somebody" || n.Is == "nobody":
		return fmt.Sprintf("%s must see %s", n.Device, n.Is)
	case n.Is != "":
		return fmt.Sprintf("%s must be %s", n.Device, n.Is)
	}
	return fmt.Sprintf("%s of %s must be %s", n.Quantity, n.Device, Bounds{Min: n.Min, Max: n.Max})
}

// CompareSwitch compares a switch with the condition. It returns "" if the condition holds, else the
// actual state.
func (n Condition) CompareSwitch(on bool) string {
	is := map[bool]string{true: "on", false: "off"}[on]
	if is == n.Is {
		return ""
	}
	return "it is " + is
}

// CompareReadings compares readings with the condition. It returns "" if the condition holds, else the
// actual state. The error says why the state is unknown.
func (n Condition) CompareReadings(list []drivers.Reading, now time.Time) (string, error) {
	s := truthWords[n.Is]
	names := s.quantities
	if n.Quantity != "" {
		names = []string{n.Quantity}
	}
	found, met := false, n.Is != "somebody"
	for _, r := range list {
		if !slices.Contains(names, r.Quantity) {
			continue
		}
		if err := n.validateReading(r, now); err != nil {
			return "", err
		}
		found = true
		switch {
		case n.Quantity != "":
			if reason := (Bounds{Min: n.Min, Max: n.Max}).Outside(r.Value, true); reason != "" {
				return "it " + reason, nil
			}
		case n.Is == "somebody":
			met = met || r.Value == 1
		case r.Value != s.value:
			met = false
		}
	}
	switch {
	case !found:
		return "", fmt.Errorf("it measures no %s now", strings.Join(names, ", "))
	case !met:
		return "it reports " + opposite[n.Is], nil
	}
	return "", nil
}

var opposite = map[string]string{"open": "closed", "closed": "open", "somebody": "nobody", "nobody": "somebody"}

// validateReading returns nil for a valid and recent reading.
func (n Condition) validateReading(r drivers.Reading, now time.Time) error {
	limit := n.MaxAge
	if limit == 0 {
		limit = maxAge
	}
	age := now.Sub(r.At)
	switch {
	case r.Estimated:
		return fmt.Errorf("its %s is an estimate; the condition needs a measured value", r.Quantity)
	case math.IsNaN(r.Value) || n.Quantity == "" && r.Value != 0 && r.Value != 1:
		return fmt.Errorf("its %s reads %v, and the condition needs 0 or 1", r.Quantity, r.Value)
	case r.At.IsZero(): // counts as read now: the sensor keeps no time
	case age > limit:
		return fmt.Errorf("its %s is %v old, but max_age is %v", r.Quantity, age.Round(time.Second), limit)
	case age < -limit:
		return fmt.Errorf("the time of its %s is %v in the future", r.Quantity, (-age).Round(time.Second))
	}
	return nil
}
