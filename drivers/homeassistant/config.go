package homeassistant

import (
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/messkit/messkit/drivers"
	"github.com/messkit/messkit/drivers/httpclient"
)

// Config is the configuration of one entity.
type Config struct {
	httpclient.Config
	Entity    string            `yaml:"entity"`  // "light.hall"
	Dims      bool              `yaml:"dims"`    // a light with a brightness
	Colors    bool              `yaml:"colours"` // a light with colors
	Warmest   float64           `yaml:"warmest"` // a light with a color temperature: its limits in kelvin
	Coldest   float64           `yaml:"coldest"`
	Positions bool              `yaml:"positions"` // a cover with positions
	Mode      string            `yaml:"mode"`      // mode of a climate entity that means on: heat, cool, auto, ...
	Lowest    float64           `yaml:"lowest"`    // lowest target temperature of a climate entity in °C
	Highest   float64           `yaml:"highest"`
	Code      drivers.Secret    `yaml:"code"`      // only for a lock that needs one
	CodeFile  string            `yaml:"code_file"` // file instead of code: its first line
	Live      bool              `yaml:"live"`      // use WebSocket if available; false: only REST
	Segments  map[string]string `yaml:"segments"`  // rooms of a vacuum: area id of Home Assistant to the name that people use
	Map       string            `yaml:"map"`       // entity with the map of a vacuum: "image.robo_map", "camera.robo_map"
	Poll      time.Duration     `yaml:"poll"`      // longest poll interval for a vacuum
	drivers.SwitchLevels
}

// DefaultConfig returns the default values.
func DefaultConfig() Config {
	return Config{Config: httpclient.DefaultConfig(), Live: true, Mode: "heat", Poll: 2 * time.Second, Lowest: 7, Highest: 30, SwitchLevels: drivers.SwitchLevels{Initial: "keep"}}
}

// levels returns the configured levels. By default a climate entity keeps its state,
// because a restart of messkit must not turn off the heating.
func (c Config) levels() drivers.SwitchLevels {
	l := c.SwitchLevels
	if l.Safe == "stop" && c.domain() == "vacuum" { // as for other vacuums
		l.Safe = "off"
	}
	if l.Safe == "" {
		l.Safe = map[bool]string{true: "keep", false: "off"}[c.domain() == "climate"]
	}
	return l
}

// domains maps the supported entity domains to classes.
var domains = map[string]string{
	"light": "light", "switch": "plug", "input_boolean": "switch", "fan": "fan", "siren": "siren",
	"humidifier": "humidifier", "media_player": "tv", "climate": "heater",
	"sensor": "sensor", "binary_sensor": "sensor", "camera": "camera",
	"cover": "door", "lock": "lock", "vacuum": "vacuum",
	"scene": "scene", "script": "script", "button": "button", "input_button": "button",
}

// entityID matches an entity id of Home Assistant.
var entityID = regexp.MustCompile(`^([a-z_]+)\.[a-z0-9_]+$`)

// mapID matches the id of an entity that can have a map.
var mapID = regexp.MustCompile(`^(image|camera)\.[a-z0-9_]+$`)

// domain returns the domain of the entity.
func (c Config) domain() string {
	d, _, _ := strings.Cut(c.Entity, ".")
	return d
}

// Validate returns all errors in the configuration. Each begins with its key.
func (c Config) Validate() error {
	errs := []error{c.Config.Validate(), c.levels().Validate()}
	switch _, known := domains[c.domain()]; {
	case c.Entity == "":
		errs = append(errs, errors.New("entity: is missing; write the id that Home Assistant shows, like light.hall"))
	case !entityID.MatchString(c.Entity):
		errs = append(errs, fmt.Errorf("entity: %q is not an entity id; write it like light.hall", c.Entity))
	case !known:
		errs = append(errs, fmt.Errorf("entity: messkit does not support the domain %s; known: %s", c.domain(), strings.Join(slices.Sorted(maps.Keys(domains)), ", ")))
	}
	if (c.Dims || c.Colors) && c.domain() != "light" {
		errs = append(errs, errors.New("dims: only for a light, like colours"))
	}
	if c.Colors && !c.Dims {
		errs = append(errs, errors.New("colours: needs dims; write dims: true"))
	}
	if whites := c.Warmest != 0 || c.Coldest != 0; whites {
		switch {
		case c.domain() != "light" || !c.Dims:
			errs = append(errs, errors.New("warmest: only for a light with dims: true, like coldest"))
		case !(c.Warmest >= 1000 && c.Warmest < c.Coldest && c.Coldest <= 20000):
			errs = append(errs, fmt.Errorf("warmest: the range from %g to %g K is invalid; write kelvin, warmest and coldest", c.Warmest, c.Coldest))
		}
	}
	if c.Positions && c.domain() != "cover" {
		errs = append(errs, errors.New("positions: only for a cover"))
	}
	errs = append(errs, c.climate(), c.vacuum())
	if (c.Code != "" || c.CodeFile != "") && c.domain() != "lock" {
		errs = append(errs, errors.New("code: only for a lock"))
	}
	if c.Code != "" && c.CodeFile != "" {
		errs = append(errs, errors.New("code_file: excludes code; remove one of them"))
	}
	if c.Username != "" || c.Password != "" || c.PasswordFile != "" {
		errs = append(errs, errors.New("username: Home Assistant accepts only a token; write token_file, and remove username and password"))
	}
	if c.Token == "" && c.TokenFile == "" {
		errs = append(errs, errors.New("token_file: is missing; create a long-lived token on your profile page in Home Assistant, and write it into a file"))
	}
	return errors.Join(errs...)
}

// vacuum returns the errors in the keys of a vacuum.
func (c Config) vacuum() error {
	switch d := DefaultConfig(); {
	case c.Map != "" && c.domain() != "vacuum":
		return errors.New("map: only for a vacuum")
	case c.Map != "" && !mapID.MatchString(c.Map):
		return fmt.Errorf("map: %q is no image and no camera; write its id, like image.robo_map", c.Map)
	case c.domain() != "vacuum" && (len(c.Segments) > 0 || c.Poll != d.Poll):
		return errors.New("segments: only for a vacuum, like poll")
	case c.Poll < 50*time.Millisecond || c.Poll > time.Minute:
		return fmt.Errorf("poll: %v is not between 50ms and 1m", c.Poll)
	case c.domain() == "vacuum" && (c.Initial != "keep" || c.Safe == "on"):
		return errors.New("safe: a vacuum has no switch; write stop or keep, and omit initial")
	}
	return errors.Join(drivers.CheckSegments(c.Segments)...)
}

// modes lists the climate modes that can mean on (HVACMode).
var modes = []string{"heat", "cool", "heat_cool", "auto", "dry", "fan_only"}

// climate returns the first error in the keys of a climate entity.
func (c Config) climate() error {
	d := DefaultConfig()
	switch {
	case c.domain() != "climate" && (c.Mode != d.Mode || c.Lowest != d.Lowest || c.Highest != d.Highest):
		return errors.New("mode: only for a climate, like lowest and highest")
	case !slices.Contains(modes, c.Mode):
		return fmt.Errorf("mode: %q is unknown; write the mode that means on: %s", c.Mode, strings.Join(modes, ", "))
	case !(c.Lowest >= -30 && c.Lowest < c.Highest && c.Highest <= 100):
		return fmt.Errorf("lowest: the range from %g to %g °C is invalid; write lowest and highest in °C, from -30 to 100", c.Lowest, c.Highest)
	}
	return nil
}
