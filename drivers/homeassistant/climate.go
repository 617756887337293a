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
	"github.com/messkit/messkit/drivers/httpclient"
)

// climate contains the attributes of a climate entity
// (developers.home-assistant.io/docs/core/ entity/climate). Temperatures are in the unit of
// Home Assistant.
type climate struct {
	Target   *float64 `json:"temperature"`
	Low      *float64 `json:"target_temp_low"` // only for an entity with a target range
	High     *float64 `json:"target_temp_high"`
	Is       *float64 `json:"current_temperature"`
	Humidity *float64 `json:"current_humidity"`
	Min      *float64 `json:"min_temp"`
	Max      *float64 `json:"max_temp"`
	Modes    []string `json:"hvac_modes"`
}

// climateTarget is the flag for a single target temperature (ClimateEntityFeature).
const climateTarget = 1

// parseClimate parses the attributes of a state.
func parseClimate(data []byte) (*climate, error) {
	var s struct {
		Attributes climate `json:"attributes"`
	}
	if err := json.Unmarshal(data, &s); err != nil {
		return nil, errors.New("the state does not have the attributes of a climate entity")
	}
	return &s.Attributes, nil
}

// scale converts the temperatures of Home Assistant to °C and back.
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

// scaleOf requests the temperature unit of Home Assistant.
func (e *entity) scaleOf(ctx context.Context) (scale, error) {
	data, err := e.settings(ctx)
	if err != nil {
		return scale{}, fmt.Errorf("the temperature unit of Home Assistant is unknown: %w", err)
	}
	var is struct {
		Units struct {
			Temperature string `json:"temperature"`
		} `json:"unit_system"`
	}
	if err := json.Unmarshal(data, &is); err != nil || is.Units.Temperature != "°C" && is.Units.Temperature != "°F" {
		return scale{}, fmt.Errorf("the temperature unit of Home Assistant is %.20q, neither °C nor °F", is.Units.Temperature)
	}
	return scale{is.Units.Temperature == "°F"}, nil
}

// settings requests the settings of Home Assistant, by WebSocket or over REST.
func (e *entity) settings(ctx context.Context) ([]byte, error) {
	if e.hub != nil {
		if c := e.hub.socket(); c != nil {
			if data, err := c.ask(ctx, "get_config", nil); err == nil || ctx.Err() != nil {
				return data, err
			}
		}
	}
	a, err := e.web.Do(ctx, httpclient.Call{Path: "/api/config"})
	return a.Body, err
}

// climate returns the state of the entity and the unit of its temperatures.
func (e *entity) climate(ctx context.Context) (state, scale, error) {
	s, err := e.state(ctx)
	if err != nil {
		return s, scale{}, err
	}
	unit, err := e.scaleOf(ctx)
	return s, unit, err
}

// mode switches the climate entity off, or on in the configured mode.
func (e *entity) mode(ctx context.Context, on bool) error {
	want := map[bool]string{true: e.cfg.Mode, false: "off"}[on]
	s, err := e.state(ctx)
	if err == nil && !slices.Contains(s.climate.Modes, want) {
		err = fmt.Errorf("%s has no mode %s; it has: %.100s", e.cfg.Entity, want, strings.Join(s.climate.Modes, ", "))
	}
	if err != nil {
		return drivers.MarkNothingDone(err)
	}
	return e.call(ctx, "set_hvac_mode", map[string]any{"hvac_mode": want}, func(s state) bool { return s.State == want })
}

// heat sets the target temperature. It does not change the mode.
func (e *entity) heat(ctx context.Context, celsius float64) error {
	s, unit, err := e.climate(ctx)
	if err == nil {
		err = s.takes(e.cfg.Entity, celsius, unit)
	}
	if err != nil {
		return drivers.MarkNothingDone(err)
	}
	return e.call(ctx, "set_temperature", map[string]any{"temperature": unit.own(celsius)}, func(s state) bool {
		t := s.climate.Target
		return t != nil && math.Abs(unit.celsius(*t)-celsius) <= drivers.TargetTolerance
	})
}

// takes returns an error if the climate entity cannot take a target temperature now.
func (s state) takes(id string, celsius float64, unit scale) error {
	switch c := s.climate; {
	case s.Attributes.Features&climateTarget == 0:
		return fmt.Errorf("%s has no target temperature according to Home Assistant (supported_features %d)", id, s.Attributes.Features)
	case c.Target == nil && c.Low != nil && c.High != nil:
		return fmt.Errorf("%s has a target range from %g to %g °C, not one temperature; set another mode", id, unit.celsius(*c.Low), unit.celsius(*c.High))
	case c.Target == nil && s.State == "off":
		return fmt.Errorf("%s is off and has no target temperature; turn it on first", id)
	case c.Min != nil && celsius < unit.celsius(*c.Min), c.Max != nil && celsius > unit.celsius(*c.Max):
		return fmt.Errorf("%s does not accept %g °C: its range in Home Assistant is %s; set lowest and highest to that range", id, celsius, ends(c, unit))
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

// target returns the target temperature in °C.
func (e *entity) target(ctx context.Context) (float64, error) {
	s, unit, err := e.climate(ctx)
	switch {
	case err != nil:
		return 0, err
	case s.climate.Target == nil:
		return 0, fmt.Errorf("the state is %.40s, without a target temperature", s.State)
	}
	return unit.celsius(*s.climate.Target), nil
}

// readClimate returns the temperature, the target temperature and the humidity that the
// entity reports.
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
		return nil, fmt.Errorf("%s reports no temperature in Home Assistant", e.cfg.Entity)
	}
	return list, nil
}
