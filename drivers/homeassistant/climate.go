package homeassistant

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/messkit/messkit/drivers"
	"github.com/messkit/messkit/drivers/web"
)

// climate are the attributes of a climate (developers.home-assistant.io/docs/core/
// entity/climate). Temperatures are in the unit of the Home Assistant.
type climate struct {
	Target   *float64 `json:"temperature"`
	Low      *float64 `json:"target_temp_low"` // of one that keeps between two
	High     *float64 `json:"target_temp_high"`
	Is       *float64 `json:"current_temperature"`
	Humidity *float64 `json:"current_humidity"`
	Min      *float64 `json:"min_temp"`
	Max      *float64 `json:"max_temp"`
	Modes    []string `json:"hvac_modes"`
}

// climateTarget says in its supported_features that it keeps one temperature
// (ClimateEntityFeature).
const climateTarget = 1

// parseClimate reads those of a state.
func parseClimate(data []byte) (*climate, error) {
	var s struct {
		Attributes climate `json:"attributes"`
	}
	if err := json.Unmarshal(data, &s); err != nil {
		return nil, errors.New("its attributes are not those of a climate")
	}
	return &s.Attributes, nil
}

// scale turns temperatures of the Home Assistant into °C.
type scale struct{ fahrenheit bool }

func (s scale) celsius(n float64) float64 {
	if s.fahrenheit {
		return drivers.Celsius(n)
	}
	return n
}

func (s scale) own(celsius float64) float64 {
	if s.fahrenheit {
		return drivers.Fahrenheit(celsius)
	}
	return celsius
}

// scaleOf asks in which unit the Home Assistant has its temperatures.
func (e *entity) scaleOf(ctx context.Context) (scale, error) {
	data, err := e.settings(ctx)
	if err != nil {
		return scale{}, fmt.Errorf("whether it counts in °C or °F is not known: %w", err)
	}
	var is struct {
		Units struct {
			Temperature string `json:"temperature"`
		} `json:"unit_system"`
	}
	if err := json.Unmarshal(data, &is); err != nil || is.Units.Temperature != "°C" && is.Units.Temperature != "°F" {
		return scale{}, fmt.Errorf("it does not say whether it counts in °C or °F; it says %.20q", is.Units.Temperature)
	}
	return scale{is.Units.Temperature == "°F"}, nil
}

// settings are those of the Home Assistant, by the connection or over REST.
func (e *entity) settings(ctx context.Context) ([]byte, error) {
	if e.hub != nil {
		if c := e.hub.socket(); c != nil {
			if data, err := c.ask(ctx, "get_config", nil); err == nil || ctx.Err() != nil {
				return data, err
			}
		}
	}
	a, err := e.web.Do(ctx, web.Call{Path: "/api/config"})
	return a.Body, err
}

// climate is the state of one, and in which unit its temperatures are.
func (e *entity) climate(ctx context.Context) (state, scale, error) {
	s, err := e.state(ctx)
	if err != nil {
		return s, scale{}, err
	}
	unit, err := e.scaleOf(ctx)
	return s, unit, err
}

// mode switches a climate: off, or on in the mode that is configured.
func (e *entity) mode(ctx context.Context, on bool) error {
	want := map[bool]string{true: e.cfg.Mode, false: "off"}[on]
	s, err := e.state(ctx)
	if err == nil && !slices.Contains(s.climate.Modes, want) {
		err = fmt.Errorf("%s has no mode %s; it has: %.100s", e.cfg.Entity, want, strings.Join(s.climate.Modes, ", "))
	}
	if err != nil {
		return drivers.NotDone(err)
	}
	return e.call(ctx, "set_hvac_mode", map[string]any{"hvac_mode": want}, func(s state) bool { return s.State == want })
}

// heat sets the temperature that a climate keeps. Its mode stays as it is.
func (e *entity) heat(ctx context.Context, celsius float64) error {
	s, unit, err := e.climate(ctx)
	if err == nil {
		err = s.takes(e.cfg.Entity, celsius, unit)
	}
	if err != nil {
		return drivers.NotDone(err)
	}
	return e.call(ctx, "set_temperature", map[string]any{"temperature": unit.own(celsius)}, func(s state) bool {
		t := s.climate.Target
		return t != nil && math.Abs(unit.celsius(*t)-celsius) <= drivers.TargetWithin
	})
}

// takes is why a climate cannot be set to a temperature now.
func (s state) takes(id string, celsius float64, unit scale) error {
	switch c := s.climate; {
	case s.Attributes.Features&climateTarget == 0:
		return fmt.Errorf("%s cannot be set to a temperature, says Home Assistant (supported_features %d)", id, s.Attributes.Features)
	case c.Target == nil && c.Low != nil && c.High != nil:
		return fmt.Errorf("%s keeps between %g and %g °C, and no one temperature; set another mode", id, unit.celsius(*c.Low), unit.celsius(*c.High))
	case c.Target == nil && s.State == "off":
		return fmt.Errorf("%s is off, and has no temperature then; turn it on first", id)
	case c.Min != nil && celsius < unit.celsius(*c.Min), c.Max != nil && celsius > unit.celsius(*c.Max):
		return fmt.Errorf("%s cannot be set to %g °C: it goes from %s, says Home Assistant; write lowest and highest so", id, celsius, ends(c, unit))
	}
	return nil
}

func ends(c *climate, unit scale) string {
	text := func(n *float64) string {
		if n == nil {
			return "anything"
		}
		return fmt.Sprintf("%g °C", unit.celsius(*n))
	}
	return text(c.Min) + " to " + text(c.Max)
}

// target is what a climate is set to, in °C.
func (e *entity) target(ctx context.Context) (float64, error) {
	s, unit, err := e.climate(ctx)
	switch {
	case err != nil:
		return 0, err
	case s.climate.Target == nil:
		return 0, fmt.Errorf("it is %.40s, and does not tell to which temperature it is set", s.State)
	}
	return unit.celsius(*s.climate.Target), nil
}

// readClimate gives how warm it is, and how warm it is to be, as far as it tells.
func (e *entity) readClimate(ctx context.Context) ([]drivers.Reading, error) {
	s, unit, err := e.climate(ctx)
	if err != nil {
		return nil, err
	}
	var list []drivers.Reading
	c := s.climate
	if c.Is != nil {
		list = append(list, drivers.Reading{Quantity: "temperature", Value: unit.celsius(*c.Is), Unit: "°C", At: s.at()})
	}
	if c.Target != nil {
		list = append(list, drivers.Reading{Quantity: "target temperature", Value: unit.celsius(*c.Target), Unit: "°C", At: s.at()})
	}
	if c.Humidity != nil {
		list = append(list, drivers.Reading{Quantity: "humidity", Value: *c.Humidity, Unit: "%", At: s.at()})
	}
	if len(list) == 0 {
		return nil, fmt.Errorf("%s tells no temperature in Home Assistant", e.cfg.Entity)
	}
	return list, nil
}
