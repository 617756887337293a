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
	"github.com/messkit/messkit/drivers/family"
	"github.com/messkit/messkit/drivers/web"
)

// Config of one entity.
type Config struct {
	web.Config
	Entity    string            `yaml:"entity"`  // "light.hall"
	Dims      bool              `yaml:"dims"`    // a light that can be more or less bright
	Colours   bool              `yaml:"colours"` // a light with colours
	Warmest   float64           `yaml:"warmest"` // a light whose white may be warm or cold: its limits in kelvin
	Coldest   float64           `yaml:"coldest"`
	Positions bool              `yaml:"positions"` // a cover that goes part of the way
	Mode      string            `yaml:"mode"`      // what on is for a climate: heat, cool, auto, ...
	Lowest    float64           `yaml:"lowest"`    // °C that a climate may be set to
	Highest   float64           `yaml:"highest"`
	Code      drivers.Secret    `yaml:"code"`      // of a lock that wants one
	CodeFile  string            `yaml:"code_file"` // instead of code: its first line
	Live      bool              `yaml:"live"`      // by WebSocket, where Home Assistant lets it; false: REST alone
	Segments  map[string]string `yaml:"segments"`  // of a vacuum: Home Assistant's ids of areas, and what people call them
	Poll      time.Duration     `yaml:"poll"`      // of a vacuum: the longest pause between two looks at what it does
	family.Levels
}

// DefaultConfig is what holds where the configuration says nothing.
func DefaultConfig() Config {
	return Config{Config: web.DefaultConfig(), Live: true, Mode: "heat", Poll: 2 * time.Second, Lowest: 7, Highest: 30, Levels: family.Levels{Initial: "keep"}}
}

// levels are those of the configuration. A climate stays as it is where it says
// nothing: nobody wants a cold house because messkit starts anew.
func (c Config) levels() family.Levels {
	l := c.Levels
	if l.Safe == "stop" && c.domain() == "vacuum" { // as other vacuums have it
		l.Safe = "off"
	}
	if l.Safe == "" {
		l.Safe = map[bool]string{true: "keep", false: family.DefaultLevels().Safe}[c.domain() == "climate"]
	}
	return l
}

// domains are the kinds of entities that are driven, and what each is to a
// person.
var domains = map[string]string{
	"light": "light", "switch": "plug", "input_boolean": "switch", "fan": "fan", "siren": "siren",
	"humidifier": "humidifier", "media_player": "tv", "climate": "heater",
	"sensor": "sensor", "binary_sensor": "sensor", "camera": "camera",
	"cover": "door", "lock": "lock", "vacuum": "vacuum",
	"scene": "scene", "script": "script", "button": "button", "input_button": "button",
}

// entityID is how Home Assistant writes one.
var entityID = regexp.MustCompile(`^([a-z_]+)\.[a-z0-9_]+$`)

// domain is what an entity is.
func (c Config) domain() string {
	d, _, _ := strings.Cut(c.Entity, ".")
	return d
}

// Validate tells all that cannot be, each mistake beginning with its key.
func (c Config) Validate() error {
	errs := []error{c.Config.Validate(), c.levels().Validate()}
	switch _, known := domains[c.domain()]; {
	case c.Entity == "":
		errs = append(errs, errors.New("entity: is missing; write the id that Home Assistant shows, like light.hall"))
	case !entityID.MatchString(c.Entity):
		errs = append(errs, fmt.Errorf("entity: %q is no entity id; write it like light.hall", c.Entity))
	case !known:
		errs = append(errs, fmt.Errorf("entity: a %s is not driven; known: %s", c.domain(), strings.Join(slices.Sorted(maps.Keys(domains)), ", ")))
	}
	if (c.Dims || c.Colours) && c.domain() != "light" {
		errs = append(errs, errors.New("dims: is for a light, as colours is"))
	}
	if c.Colours && !c.Dims {
		errs = append(errs, errors.New("colours: a light with colours dims as well; write dims: true"))
	}
	if whites := c.Warmest != 0 || c.Coldest != 0; whites {
		switch {
		case c.domain() != "light" || !c.Dims:
			errs = append(errs, errors.New("warmest: is for a light with dims: true, as coldest is"))
		case !(c.Warmest >= 1000 && c.Warmest < c.Coldest && c.Coldest <= 20000):
			errs = append(errs, fmt.Errorf("warmest: whites from %g to %g K cannot be; write kelvin, warmest and coldest", c.Warmest, c.Coldest))
		}
	}
	if c.Positions && c.domain() != "cover" {
		errs = append(errs, errors.New("positions: is for a cover"))
	}
	errs = append(errs, c.climate(), c.vacuum())
	if (c.Code != "" || c.CodeFile != "") && c.domain() != "lock" {
		errs = append(errs, errors.New("code: is for a lock"))
	}
	if c.Code != "" && c.CodeFile != "" {
		errs = append(errs, errors.New("code_file: stands beside code; keep one of them"))
	}
	if c.Username != "" || c.Password != "" || c.PasswordFile != "" {
		errs = append(errs, errors.New("username: Home Assistant takes a token alone; write token_file, and neither username nor password"))
	}
	if c.Token == "" && c.TokenFile == "" {
		errs = append(errs, errors.New("token_file: is missing; make a long-lived token on your profile's page in Home Assistant, and write it into a file"))
	}
	return errors.Join(errs...)
}

// vacuum tells what cannot be of one.
func (c Config) vacuum() error {
	switch d := DefaultConfig(); {
	case c.domain() != "vacuum" && (len(c.Segments) > 0 || c.Poll != d.Poll):
		return errors.New("segments: is for a vacuum, as poll is")
	case c.Poll < 50*time.Millisecond || c.Poll > time.Minute:
		return fmt.Errorf("poll: %v is not between 50ms and 1m", c.Poll)
	case c.domain() == "vacuum" && (c.Initial != "keep" || c.Safe == "on"):
		return errors.New("safe: a vacuum is not switched; write stop or keep, and leave out initial")
	}
	return errors.Join(drivers.CheckSegments(c.Segments)...)
}

// modes are what on can be for a climate (HVACMode).
var modes = []string{"heat", "cool", "heat_cool", "auto", "dry", "fan_only"}

// climate tells what cannot be of one.
func (c Config) climate() error {
	d := DefaultConfig()
	switch {
	case c.domain() != "climate" && (c.Mode != d.Mode || c.Lowest != d.Lowest || c.Highest != d.Highest):
		return errors.New("mode: is for a climate, as lowest and highest are")
	case !slices.Contains(modes, c.Mode):
		return fmt.Errorf("mode: %q is unknown; write what on is: %s", c.Mode, strings.Join(modes, ", "))
	case !(c.Lowest >= -30 && c.Lowest < c.Highest && c.Highest <= 100):
		return fmt.Errorf("lowest: %g to %g °C cannot be; write lowest and highest in °C, from -30 to 100", c.Lowest, c.Highest)
	}
	return nil
}
