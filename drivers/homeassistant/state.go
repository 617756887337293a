package homeassistant

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net/url"
	"strings"
	"time"

	"github.com/messkit/messkit/drivers/httpclient"
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
