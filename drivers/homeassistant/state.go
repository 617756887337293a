package homeassistant

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net/url"
	"strings"
	"time"

	"github.com/messkit/messkit/drivers"
	"github.com/messkit/messkit/drivers/httpclient"
	"github.com/messkit/messkit/drivers/template"
)

// state is the state of an entity in Home Assistant.
type state struct {
	ID         string    `json:"entity_id"`
	State      string    `json:"state"`
	Updated    time.Time `json:"last_updated"`
	Reported   time.Time `json:"last_reported"`
	Attributes struct {
		Brightness *float64 `json:"brightness"`
		RGB        []uint8  `json:"-"`
		Color      []int    `json:"rgb_color"`
		Kelvin     *float64 `json:"color_temp_kelvin"`
		Mode       string   `json:"color_mode"` // color mode while the light is on
		Unit       string   `json:"unit_of_measurement"`
		Class      string   `json:"device_class"`
		Position   *float64 `json:"current_position"` // only for a cover: 100 is open
		Features   int      `json:"supported_features"`
		Battery    any      `json:"battery_level"` // only for a vacuum, in percent; newer ones have a separate sensor
		Error      any      `json:"error"`         // message of some vacuums
		Status     any      `json:"status"`
	} `json:"attributes"`
	climate *climate // only for a climate
	script  *script  // only for a script
	fault   error    // reason why there is no state; the other fields are empty then
}

func (s state) is(on bool) bool { return s.State == map[bool]string{true: "on", false: "off"}[on] }

// state returns the state of the entity. It returns an error for an unavailable or unknown
// state.
func (e *entity) state(ctx context.Context) (state, error) {
	if e.hub != nil {
		if s, live, err := e.hub.state(ctx, e.cfg.Entity); live {
			return s, err
		}
	}
	a, err := e.web.Do(ctx, httpclient.Call{Path: "/api/states/" + url.PathEscape(e.cfg.Entity)})
	if no, ok := errors.AsType[*httpclient.StatusError](err); ok && strings.Contains(no.Says, "Entity not found") {
		no.Advice = misspelt(e.cfg.Entity)
	}
	if err != nil {
		return state{}, err
	}
	return parseState(a.Body, e.cfg.Entity)
}

// misspelt returns the error text for an entity that does not exist.
func misspelt(id string) string {
	return fmt.Sprintf("Home Assistant has no entity %s; check its spelling in the settings of Home Assistant", id)
}

func parseState(data []byte, id string) (state, error) {
	var s state
	if err := json.Unmarshal(data, &s); err != nil || s.ID != id {
		return state{}, errors.New("the answer is not a state of the entity; check that url is a Home Assistant")
	}
	if s.State == "unknown" && (strings.HasPrefix(id, "sensor.") || strings.HasPrefix(id, "binary_sensor.")) {
		return state{}, notSentError(id)
	}
	if s.State == "unavailable" || s.State == "unknown" && !stateless(id) || s.State == "" {
		return state{}, fmt.Errorf("%s is %q in Home Assistant; check it there", id, s.State)
	}
	if strings.HasPrefix(id, "climate.") {
		var err error
		if s.climate, err = parseClimate(data); err != nil {
			return state{}, err
		}
	}
	if strings.HasPrefix(id, "script.") {
		var err error
		if s.script, err = parseScript(data); err != nil {
			return state{}, err
		}
	}
	for _, part := range s.Attributes.Color {
		if part < 0 || part > math.MaxUint8 {
			return state{}, fmt.Errorf("%s reports an invalid color", id)
		}
		s.Attributes.RGB = append(s.Attributes.RGB, uint8(part))
	}
	return s, nil
}

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
