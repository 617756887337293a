package gate

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/messkit/messkit/capabilities"
)

// Config of a gate.
type Config struct {
	// Confirm asks for more confirmation than the risk classes do by
	// themselves. Less is for a device only, by its name.
	Confirm map[capabilities.Risk]Confirm `yaml:"confirm"`
	// DryRun lets nothing act.
	DryRun bool `yaml:"dry_run"`
	// MaxActs bounds how often requesters, and all together, may act.
	MaxActs MaxActs `yaml:"max_acts"`
	// Defaults are the limits of devices that have none of their own.
	Defaults Device `yaml:"defaults"`
	// Risks are the risk classes of devices that have one of their own: a plan
	// for such a device cannot say that it is milder.
	Risks map[string]capabilities.Risk
	// Devices are the limits of devices, by name. What is zero is as in
	// Defaults.
	Devices map[string]Device `yaml:"devices"`
}

// Device is the limits of one device. The zero value of each means the default.
type Device struct {
	MinInterval time.Duration `yaml:"min_interval"` // between two times it acts; switching off is never kept waiting
	MaxOn       time.Duration `yaml:"max_on"`       // longest time on; then it is switched off
	MaxActs     Rate          `yaml:"max_acts"`     // how often it may act; switching off does not count
	Range       Ranges        `yaml:"range"`        // of the parameters; what is outside is refused
	Requires    []Need        `yaml:"requires"`     // what other devices must read when it acts
	Interlock   []string      `yaml:"interlock"`    // groups of which no two devices are on or act at the same time
	QuietHours  Hours         `yaml:"quiet_hours"`  // when it may not act, but for switching off
	Busy        Busy          `yaml:"busy"`         // what happens to a second task
	Timeout     time.Duration `yaml:"timeout"`      // of one call of the driver
	LongTimeout time.Duration `yaml:"long_timeout"` // of a call that takes as long as the task: cleaning, docking
	StopWithin  time.Duration `yaml:"stop_within"`  // how long the driver may take to obey a cancel; then it is quarantined
	Confirm     Confirm       `yaml:"confirm"`      // who must say yes, whatever the risk
	DryRun      bool          `yaml:"dry_run"`
	Locked      bool          `yaml:"locked"` // may not act
}

// Confirm is who must say yes to a plan.
type Confirm string

// Values of Confirm, weakest first. In a configuration "" means: as the risk
// demands.
const (
	Nobody    Confirm = "never"
	Requester Confirm = "requester"
	Operator  Confirm = "operator" // a principal other than the requesting agent
)

// Busy is what becomes of a task for a device that another task holds.
type Busy string

// Values of Busy; "" is Wait.
const (
	Wait   Busy = "wait"
	Refuse Busy = "refuse"
)

var strength = map[Confirm]int{Nobody: 0, Requester: 1, Operator: 2}

// byRisk is who must confirm unless configured otherwise.
var byRisk = map[capabilities.Risk]Confirm{
	capabilities.RiskObserve:      Nobody,
	capabilities.RiskComfort:      Nobody,
	capabilities.RiskAppliance:    Nobody,
	capabilities.RiskAccess:       Operator,
	capabilities.RiskMotion:       Operator,
	capabilities.RiskIrreversible: Operator,
}

// DefaultConfig returns the limits that hold unless told otherwise.
func DefaultConfig() Config {
	return Config{Defaults: Device{
		Busy: Wait, Timeout: 30 * time.Second, LongTimeout: 4 * time.Hour, StopWithin: 10 * time.Second,
	}}
}

// Validate tells every setting that cannot be.
func (c Config) Validate() error {
	var errs []error
	for _, risk := range slices.Sorted(maps.Keys(c.Confirm)) {
		who := c.Confirm[risk]
		least, known := byRisk[risk]
		switch {
		case !known:
			errs = append(errs, fmt.Errorf("confirm.%s: unknown risk; known risks: %s", risk, names(byRisk)))
		case !who.known():
			errs = append(errs, fmt.Errorf("confirm.%s: unknown value %q; use %s", risk, who, names(strength)))
		case strength[who] < strength[least]:
			errs = append(errs, fmt.Errorf("confirm.%s: %q is weaker than %q, which the risk demands; loosen it for a device by its name", risk, who, least))
		}
	}
	errs = append(errs, within("defaults", c.Defaults.Validate()))
	for _, name := range slices.Sorted(maps.Keys(c.Devices)) {
		errs = append(errs, within("devices."+name, c.Devices[name].Validate()))
	}
	return errors.Join(errs...)
}

// within says where each of some errors is.
func within(where string, err error) error {
	joined, ok := err.(interface{ Unwrap() []error })
	if !ok {
		return err // nil: Validate joins what it finds
	}
	var errs []error
	for _, e := range joined.Unwrap() {
		errs = append(errs, fmt.Errorf("%s.%w", where, e))
	}
	return errors.Join(errs...)
}

// Validate tells every setting that cannot be.
func (d Device) Validate() error {
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
	if d.Busy != "" && d.Busy != Wait && d.Busy != Refuse {
		errs = append(errs, fmt.Errorf("busy: unknown value %q; use wait or refuse", d.Busy))
	}
	if d.Confirm != "" && !d.Confirm.known() {
		errs = append(errs, fmt.Errorf("confirm: unknown value %q; use %s", d.Confirm, names(strength)))
	}
	for _, command := range sortedKeys(d.Range) {
		if !command.Known() {
			errs = append(errs, fmt.Errorf("range.%s: unknown command; use %s", command, capabilities.KnownCommands()))
		}
	}
	return errors.Join(errs...)
}

func (c Confirm) known() bool { _, ok := strength[c]; return ok }

func names[K ~string, V any](m map[K]V) string {
	var list []string
	for k := range m {
		list = append(list, string(k))
	}
	slices.Sort(list)
	return strings.Join(list, ", ")
}

func sortedKeys[K ~string, V any](m map[K]V) []K { return slices.Sorted(maps.Keys(m)) }

// device is the limits of a device with all defaults filled in.
func (c Config) device(name string) Device {
	d, def, last := c.Devices[name], c.Defaults, DefaultConfig().Defaults
	for _, from := range []Device{def, last} {
		fill(&d.MinInterval, from.MinInterval)
		fill(&d.MaxOn, from.MaxOn)
		fill(&d.QuietHours, from.QuietHours)
		fill(&d.MaxActs, from.MaxActs)
		fill(&d.Busy, from.Busy)
		fill(&d.Timeout, from.Timeout)
		fill(&d.LongTimeout, from.LongTimeout)
		fill(&d.StopWithin, from.StopWithin)
	}
	d.Range = d.Range.over(def.Range)
	d.DryRun = d.DryRun || def.DryRun || c.DryRun
	d.Locked = d.Locked || def.Locked
	return d
}

// MaxOn is the longest time that a device may be on; 0 for any.
func (c Config) MaxOn(device string) time.Duration { return c.device(device).MaxOn }

func fill[T comparable](v *T, from T) {
	var zero T
	if *v == zero {
		*v = from
	}
}

// confirm is who must say yes to a plan.
func (c Config) confirm(d Device, p capabilities.Plan) Confirm {
	if !p.Actuates() {
		return Nobody
	}
	if d.Confirm != "" {
		return d.Confirm
	}
	if steers(p) && releases(p) {
		return Nobody // to stand still needs no yes
	}
	who, known := byRisk[p.Risk]
	if !known {
		who = Operator // a class that nobody has thought about is taken for the worst
	}
	if more := c.Confirm[p.Risk]; strength[more] > strength[who] {
		who = more
	}
	return who
}
