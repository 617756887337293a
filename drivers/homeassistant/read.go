package homeassistant

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/messkit/messkit/drivers"
	"github.com/messkit/messkit/drivers/template"
)

// read returns the state of a sensor, with the time at which Home Assistant received it.
func (e *entity) read(ctx context.Context) ([]drivers.Reading, error) {
	s, err := e.state(ctx)
	if err != nil {
		return nil, err
	}
	r, err := s.reading(e.cfg.Entity)
	if err != nil {
		return nil, err
	}
	return []drivers.Reading{r}, nil
}

// openings lists the classes of binary sensors that are on when something is open; a
// contact is 1 when it is closed.
var openings = map[string]bool{"door": true, "garage_door": true, "opening": true, "window": true}

// quantities maps sensor classes of Home Assistant to the quantities of messkit.
var quantities = map[string]string{"moisture": "water leak", "carbon_dioxide": "co2", "signal_strength": "signal"}

// reading converts the state of a sensor to a reading.
func (s state) reading(id string) (drivers.Reading, error) {
	domain, object, _ := strings.Cut(id, ".")
	class := s.Attributes.Class
	quantity := cmp.Or(quantities[class], strings.ReplaceAll(cmp.Or(class, object), "_", " "))
	r := drivers.Reading{Quantity: quantity, Unit: s.Attributes.Unit, At: s.at()}
	if r.At.IsZero() {
		return r, fmt.Errorf("%s has no time in Home Assistant", id)
	}
	switch {
	case domain == "sensor":
		f, ok := template.Number(json.Number(s.State))
		if !ok {
			return r, fmt.Errorf("%s reports %.40q, which is not a number", id, s.State)
		}
		if r.Value = f; r.Unit == "" {
			r.Unit = unitless // a reading without a unit would be a truth value
		}
	case !s.is(true) && !s.is(false):
		return r, fmt.Errorf("%s reports %.40q, which is neither on nor off", id, s.State)
	case openings[class]:
		r.Quantity = "contact"
		r.Value = boolValue(s.is(false))
	default:
		r.Value = boolValue(s.is(true))
	}
	return r, nil
}

// unitless is the unit of a sensor without one: a counter, a ratio.
const unitless = "units"

func boolValue(yes bool) float64 {
	if yes {
		return 1
	}
	return 0
}

// at returns the time at which Home Assistant last received the state.
func (s state) at() time.Time {
	if s.Reported.After(s.Updated) {
		return s.Reported
	}
	return s.Updated
}
