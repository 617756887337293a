// Package settings has the settings of the safety policy: the limits of each device and the
// confirmation that a plan needs. It validates them, and compares single values and readings with
// them. Package policy enforces them.
package settings

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/messkit/messkit/capabilities"
)

// Config holds the settings of the safety policy.
type Config struct {
	// Confirm raises the confirmation that a risk class needs. Only a device may lower it, by
	// its name.
	Confirm map[capabilities.Risk]Confirm `yaml:"confirm"`
	// DryRun rejects every act.
	DryRun bool `yaml:"dry_run"`
	// MaxActs limits how often one requester, and all together, may act.
	MaxActs MaxActs `yaml:"max_acts"`
	// Defaults are the limits of devices without limits of their own.
	Defaults Limits `yaml:"defaults"`
	// Risks are the risk classes of devices with a class of their own: the policy rejects a
	// plan for such a device with a milder class.
	Risks map[string]capabilities.Risk
	// Devices are the limits of devices, by name. A zero field takes the value in Defaults.
	Devices map[string]Limits `yaml:"devices"`
}

// MaxActs limits how often devices may act, in addition to the max_acts of each device. The
// safety policy neither counts nor rejects switching off and docking.
type MaxActs struct {
	Requester Rate `yaml:"requester"` // one requester; all unknown requesters share one budget
	All       Rate `yaml:"all"`       // all requesters together
}

// Limits holds the limits of one device. A zero field means the default.
type Limits struct {
	MinInterval time.Duration `yaml:"min_interval"` // minimum time between two acts; switching off never waits
	MaxOn       time.Duration `yaml:"max_on"`       // longest time on; then the policy switches it off
	MaxActs     Rate          `yaml:"max_acts"`     // how often it may act; switching off does not count
	Range       Ranges        `yaml:"range"`        // allowed parameters; the policy rejects all others
	Requires    []Condition   `yaml:"requires"`     // conditions on other devices' readings
	Interlock   []string      `yaml:"interlock"`    // groups of which at most one device is on or acts
	QuietHours  Hours         `yaml:"quiet_hours"`  // when it may not act, except for switching off
	Busy        Busy          `yaml:"busy"`         // whether a second task waits
	Timeout     time.Duration `yaml:"timeout"`      // limit of one driver call
	LongTimeout time.Duration `yaml:"long_timeout"` // limit of a call that lasts as long as the task: cleaning, docking
	StopWithin  time.Duration `yaml:"stop_within"`  // time for the driver to stop after a cancel; then the device goes into quarantine
	Confirm     Confirm       `yaml:"confirm"`      // required confirmation, at any risk
	DryRun      bool          `yaml:"dry_run"`
	Locked      bool          `yaml:"locked"` // it may not act
}

// Confirm says who must confirm a plan.
type Confirm string

// Values of Confirm, weakest first. "" in a configuration means the default of the risk class.
const (
	ConfirmNever     Confirm = "never"
	ConfirmRequester Confirm = "requester"
	ConfirmOperator  Confirm = "operator" // a principal other than the requesting agent
)

// Busy says whether a task waits for a device that another task holds.
type Busy string

// Values of Busy; "" is Wait.
const (
	BusyWait   Busy = "wait"
	BusyReject Busy = "refuse"
)

var confirmStrength = map[Confirm]int{ConfirmNever: 0, ConfirmRequester: 1, ConfirmOperator: 2}

// defaultConfirm gives the default confirmation of each risk class.
var defaultConfirm = map[capabilities.Risk]Confirm{
	capabilities.RiskObserve:      ConfirmNever,
	capabilities.RiskComfort:      ConfirmNever,
	capabilities.RiskAppliance:    ConfirmNever,
	capabilities.RiskAccess:       ConfirmOperator,
	capabilities.RiskMotion:       ConfirmOperator,
	capabilities.RiskIrreversible: ConfirmOperator,
}

// DefaultConfig returns the default limits.
func DefaultConfig() Config {
	return Config{Defaults: Limits{
		Busy: BusyWait, Timeout: 30 * time.Second, LongTimeout: 4 * time.Hour, StopWithin: 10 * time.Second,
	}}
}

// Validate returns an error for each invalid setting.
func (c Config) Validate() error {
	var errs []error
	for _, risk := range slices.Sorted(maps.Keys(c.Confirm)) {
		by := c.Confirm[risk]
		least, known := defaultConfirm[risk]
		switch {
		case !known:
			errs = append(errs, fmt.Errorf("confirm.%s: unknown risk; known risks: %s", risk, names(defaultConfirm)))
		case !by.known():
			errs = append(errs, fmt.Errorf("confirm.%s: unknown value %q; use %s", risk, by, names(confirmStrength)))
		case confirmStrength[by] < confirmStrength[least]:
			errs = append(errs, fmt.Errorf("confirm.%s: %q is weaker than %q, which the risk demands; loosen it for a device by its name", risk, by, least))
		}
	}
	errs = append(errs, prefixErrors("defaults", c.Defaults.Validate()))
	for _, name := range slices.Sorted(maps.Keys(c.Devices)) {
		errs = append(errs, prefixErrors("devices."+name, c.Devices[name].Validate()))
	}
	return errors.Join(errs...)
}

// prefixErrors adds the location to each of some errors.
func prefixErrors(where string, err error) error {
	joined, ok := err.(interface{ Unwrap() []error })
	if !ok {
		return err // nil: Validate joins the errors
	}
	var errs []error
	for _, e := range joined.Unwrap() {
		errs = append(errs, fmt.Errorf("%s.%w", where, e))
	}
	return errors.Join(errs...)
}

// Validate returns an error for each invalid setting.
func (d Limits) Validate() error {
	var errs []error
	const day = 24 * time.Hour
	for _, l := range []struct {
		name        string
		value, most time.Duration
	}{
		{"min_interval", d.MinInterval, 7 * day},
		{"max_on", d.MaxOn, 366 * day},
		{"timeout", d.Timeout, time.Hour},
		{"long_timeout", d.LongTimeout, 7 * day},
		{"stop_within", d.StopWithin, 10 * time.Minute},
	} {
		switch {
		case l.value < 0:
			errs = append(errs, fmt.Errorf("%s: %v is negative; leave it out for the default", l.name, l.value))
		case l.value > l.most:
			errs = append(errs, fmt.Errorf("%s: %v is too long; write %v or less", l.name, l.value, l.most))
		}
	}
	if d.Busy != "" && d.Busy != BusyWait && d.Busy != BusyReject {
		errs = append(errs, fmt.Errorf("busy: unknown value %q; use wait or refuse", d.Busy))
	}
	if d.Confirm != "" && !d.Confirm.known() {
		errs = append(errs, fmt.Errorf("confirm: unknown value %q; use %s", d.Confirm, names(confirmStrength)))
	}
	for _, command := range sortedKeys(d.Range) {
		if !command.Known() {
			errs = append(errs, fmt.Errorf("range.%s: unknown command; use %s", command, capabilities.KnownCommands()))
		}
	}
	return errors.Join(errs...)
}

func (c Confirm) known() bool { _, ok := confirmStrength[c]; return ok }

func names[K ~string, V any](m map[K]V) string {
	var list []string
	for k := range m {
		list = append(list, string(k))
	}
	slices.Sort(list)
	return strings.Join(list, ", ")
}

func sortedKeys[K ~string, V any](m map[K]V) []K { return slices.Sorted(maps.Keys(m)) }

// Device returns the limits of a device with all defaults filled in.
func (c Config) Device(name string) Limits {
	d, def, last := c.Devices[name], c.Defaults, DefaultConfig().Defaults
	for _, from := range []Limits{def, last} {
		fill(&d.MinInterval, from.MinInterval)
		fill(&d.MaxOn, from.MaxOn)
		fill(&d.QuietHours, from.QuietHours)
		fill(&d.MaxActs, from.MaxActs)
		fill(&d.Busy, from.Busy)
		fill(&d.Timeout, from.Timeout)
		fill(&d.LongTimeout, from.LongTimeout)
		fill(&d.StopWithin, from.StopWithin)
	}
	d.Range = d.Range.withDefaults(def.Range)
	d.DryRun = d.DryRun || def.DryRun || c.DryRun
	d.Locked = d.Locked || def.Locked
	return d
}

// MaxOn returns the longest time that a device may be on; 0 for no limit.
func (c Config) MaxOn(device string) time.Duration { return c.Device(device).MaxOn }

func fill[T comparable](v *T, from T) {
	var zero T
	if *v == zero {
		*v = from
	}
}

// ConfirmFor returns who must confirm a plan with a risk class.
func (c Config) ConfirmFor(risk capabilities.Risk) Confirm {
	who, known := defaultConfirm[risk]
	if !known {
		who = ConfirmOperator // an unknown class counts as the most severe
	}
	if more := c.Confirm[risk]; confirmStrength[more] > confirmStrength[who] {
		who = more
	}
	return who
}
