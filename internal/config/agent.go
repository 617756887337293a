package config

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"github.com/messkit/messkit/agent/clock"
	"github.com/messkit/messkit/agent/policy/settings"
	"github.com/messkit/messkit/agent/runtime"
	"github.com/messkit/messkit/agent/stop"
	"github.com/messkit/messkit/capabilities"
	"github.com/messkit/messkit/capabilities/catalog"
	"github.com/messkit/messkit/exchange"
	"github.com/messkit/messkit/exchange/keys"
	"github.com/messkit/messkit/exchange/routing"
	"github.com/messkit/messkit/internal/otlp"
	"github.com/messkit/messkit/mess"
)

// Agent has the identity and the rights of the executor.
type Agent struct {
	ID            string                                 `yaml:"id"`
	Name          string                                 `yaml:"name"`
	Availability  mess.Availability                      `yaml:"availability"`
	Schedule      string                                 `yaml:"schedule"`
	Data          string                                 `yaml:"data"`           // folder of the journal
	Confirm       map[capabilities.Risk]settings.Confirm `yaml:"confirm"`        // required confirmation, by risk class
	ConfirmWithin time.Duration                          `yaml:"confirm_within"` // the time to confirm; the executor does nothing after it
	MaxActs       settings.MaxActs                       `yaml:"max_acts"`
	Disarm        []capabilities.Risk                    `yaml:"disarm"` // risk classes that a person must arm after a crash
	Clock         string                                 `yaml:"clock"`  // auto, or trusted: the executor takes the clock as set
	DryRun        bool                                   `yaml:"dry_run"`
	Words         string                                 `yaml:"words"`     // folder with the user's own words and capabilities
	Facts         []string                               `yaml:"facts"`     // capabilities that describe the place
	MaxSteps      int                                    `yaml:"max_steps"` // steps of one request that need no question
	Watch         runtime.Watches                        `yaml:"watch"`     // limits of tasks that wait for a condition
	Position      *position                              `yaml:"position"`  // where the home is, for daylight
	StopLine      stop.InputConfig                       `yaml:"stop_line"` // an input that stops everything
	OTLP          string                                 `yaml:"otlp"`      // address of a collector of traces; "": that of the environment
	Limits        settings.Limits                        `yaml:"limits"`    // defaults for each device
}

// DefaultAgent returns the settings of an executor without a configuration.
func DefaultAgent() Agent {
	return Agent{
		ID: hostID(), Data: DataDir(), Limits: settings.DefaultConfig().Defaults, ConfirmWithin: runtime.DefaultConfig().ConfirmWithin,
		MaxActs: settings.MaxActs{Requester: settings.Rate{N: 120, Per: time.Hour}, All: settings.Rate{N: 600, Per: time.Hour}},
		Disarm:  []capabilities.Risk{capabilities.RiskAccess, capabilities.RiskMotion, capabilities.RiskIrreversible}, Clock: clockAuto, MaxSteps: 12, Watch: runtime.DefaultWatches(),
		StopLine: stop.DefaultInputConfig(),
	}
}

var notInID = regexp.MustCompile(`[^A-Za-z0-9-]+`)

// hostID returns an executor id made from the host name.
func hostID() string {
	name, err := os.Hostname()
	if name = strings.Trim(notInID.ReplaceAllString(name, "-"), "-"); err != nil || name == "" || taken(name) {
		return "messkit"
	}
	return strings.ToLower(name)
}

// taken reports whether the exchange itself uses an id.
func taken(id string) bool {
	return strings.EqualFold(id, exchange.Self) || strings.EqualFold(id, keys.OperatorID)
}

// Validate returns an error for each setting that is wrong.
func (c Agent) Validate() error {
	var errs []error
	if !mess.ValidID(c.ID) {
		errs = append(errs, fmt.Errorf("id: %q cannot name an executor; use letters, digits and . _ : @ -", c.ID))
	}
	if taken(c.ID) {
		errs = append(errs, fmt.Errorf("id: %q belongs to the exchange itself; choose another", c.ID))
	}
	if c.OTLP != "" {
		errs = append(errs, otlp.Check("otlp", c.OTLP))
	}
	switch c.Availability {
	case "", mess.Always, mess.OnDemand:
	case mess.Schedule:
		if c.Schedule == "" {
			errs = append(errs, errors.New("schedule: is missing; write a cron expression such as 0 8-22 * * *"))
		} else if err := routing.CheckSchedule(c.Schedule); err != nil {
			errs = append(errs, fmt.Errorf("schedule: %w", err))
		}
	default:
		errs = append(errs, fmt.Errorf("availability: %q is unknown; write always, schedule or on_demand", c.Availability))
	}
	if c.Data == "" {
		errs = append(errs, errors.New("data: is empty; write the folder for the journal"))
	}
	for _, class := range c.Disarm {
		if !class.Known() {
			errs = append(errs, fmt.Errorf("disarm: %q is no risk class; write observe, comfort, appliance, access, motion or irreversible", class))
		}
	}
	if c.Clock != clockAuto && c.Clock != clockTrusted {
		errs = append(errs, fmt.Errorf("clock: %q is unknown; write %s or %s", c.Clock, clockAuto, clockTrusted))
	}
	for _, id := range c.Facts {
		if !mess.ValidID(id) {
			errs = append(errs, fmt.Errorf("facts: %q cannot name a capability; use letters, digits and . _ : @ -", id))
		}
	}
	switch {
	case c.MaxSteps < 1:
		errs = append(errs, fmt.Errorf("max_steps: %d is too few; write 1 or more", c.MaxSteps))
	case c.MaxSteps > 1000:
		errs = append(errs, fmt.Errorf("max_steps: %d is too many; write 1000 or less", c.MaxSteps))
	}
	switch {
	case c.ConfirmWithin < time.Second:
		errs = append(errs, fmt.Errorf("confirm_within: %v is too short for an answer; write 1s or more", c.ConfirmWithin))
	case c.ConfirmWithin > week:
		errs = append(errs, fmt.Errorf("confirm_within: %v is too long; write %v or less", c.ConfirmWithin, week))
	}
	for name, set := range map[string]bool{"requires": len(c.Limits.Requires) > 0, "interlock": len(c.Limits.Interlock) > 0} {
		if set {
			errs = append(errs, fmt.Errorf("limits: %s is for a device; write it there", name))
		}
	}
	return errors.Join(append(errs, settings.Config{Confirm: c.Confirm}.Validate())...)
}

// week is the longest wait of an executor.
const week = 7 * 24 * time.Hour

// position is a place on the earth.
type position struct {
	Lat float64 `yaml:"lat"` // degrees north
	Lng float64 `yaml:"lng"` // degrees east
}

// Validate returns an error for each coordinate out of range.
func (p position) Validate() error {
	if !(capabilities.LatLng{Lat: p.Lat, Lng: p.Lng}).Known() {
		return fmt.Errorf("lat: %v, %v is not on the earth; write degrees north (-90 to 90) and east (-180 to 180)", p.Lat, p.Lng)
	}
	return nil
}

// Catalog returns the built-in catalog together with the user's own words. The list has
// each file of the words folder that messkit cannot use, or the folder itself.
func (c Agent) Catalog() (*catalog.Catalog, []catalog.IgnoredWords) {
	if c.Words == "" {
		return catalog.Default(), nil
	}
	dir := c.Words
	entries, err := os.ReadDir(dir)
	if err == nil && len(entries) == 0 {
		err = errors.New("it is empty; put YAML files there, or take agent: words: away")
	}
	if err != nil { // a disk without a mount yet may contain the folder
		return catalog.BuiltInOnly(dir, err)
	}
	return catalog.LoadWords(catalog.WithPathInErrors(os.DirFS(dir), filepath.ToSlash(dir)))
}

// Values of clock.
const (
	clockAuto    = "auto"
	clockTrusted = "trusted"
)

// Unset returns nil if the clock is set, and otherwise an error with the reason for the doubt.
func (c Agent) Unset() error {
	if c.Clock == clockTrusted {
		return nil
	}
	return clock.Here().Unset()
}
