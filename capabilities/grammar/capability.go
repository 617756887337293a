package grammar

import (
	"maps"
	"slices"

	"github.com/messkit/messkit/capabilities"
	"github.com/messkit/messkit/mess"
)

// MeasuresQuantity reports whether the capability reads what sensors measure.
func (c *Capability) MeasuresQuantity() bool {
	return c.Command == capabilities.ReadState && slices.ContainsFunc(c.Also, func(a Variant) bool { return a.Quantity != "" })
}

// AmountKinds are the kinds of slots that hold a number with its unit.
var AmountKinds = []string{"angle", "kelvin", "percent", "percentage", "temperature"}

// UnitOf returns the unit of a parameter, "" if it has none.
func UnitOf(c *Capability, key string) string {
	for _, p := range c.Parameters {
		if p.Name == key {
			return p.Unit
		}
	}
	return ""
}

// SlotKinds are the kinds of slots that a sentence may have.
var SlotKinds = []string{"amount", "angle", "area", "device", "duration", "kelvin", "percent", "percentage", "position", "quantity", "spot", "temperature", "thing", "view"}

// Capability is one entry of the catalog, as its file has it.
type Capability struct {
	ID           string                       `yaml:"id"`
	Description  string                       `yaml:"description"`
	Tags         []string                     `yaml:"tags"`
	Command      capabilities.Command         `yaml:"command"`
	Instead      capabilities.Command         `yaml:"instead"` // where a device lacks Command
	Covers       string                       `yaml:"covers"`  // the capability that it replaces for devices of its classes
	Args         map[string]any               `yaml:"args"`
	Risk         capabilities.Risk            `yaml:"risk"`
	Risks        map[string]capabilities.Risk `yaml:"risks"` // by class of device
	Effect       capabilities.Effect          `yaml:"effect"`
	Reversible   bool                         `yaml:"reversible"`
	Classes      []string                     `yaml:"classes"`     // none: every class
	NotClasses   []string                     `yaml:"not_classes"` // but these
	Answer       string                       `yaml:"answer"`      // query or command
	Evidence     mess.Evidence                `yaml:"evidence"`    // of its effect, where the device can report it
	Parameters   []capabilities.Parameter     `yaml:"parameters"`  // of a plan, in addition to args
	Summary      string                       `yaml:"summary"`
	Consequences string                       `yaml:"consequences"`
	Sentences    []string                     `yaml:"sentences"`
	Also         []Variant                    `yaml:"also"`
	Events       []Variant                    `yaml:"events"`  // events to wait for, where the command waits
	Objects      []Variant                    `yaml:"objects"` // objects to watch
}

// Variant is a list of sentences that fix a quantity, parameters or classes by their words,
// or have a doubt.
type Variant struct {
	Quantity  string         `yaml:"quantity"`
	Args      map[string]any `yaml:"args"`
	Classes   []string       `yaml:"classes"`
	Asked     bool           `yaml:"asked"` // only where the text is a question
	All       bool           `yaml:"all"`   // for all devices that fit
	Doubt     string         `yaml:"doubt"` // why it needs a confirmation
	Sentences []string       `yaml:"sentences"`
}

// Suits reports whether the capability is for devices of the class.
func (c *Capability) Suits(class string) bool {
	return !slices.Contains(c.NotClasses, class) && (len(c.Classes) == 0 || slices.Contains(c.Classes, class))
}

// CommandFor returns the command that device d would carry out, or "" if it cannot.
func (c *Capability) CommandFor(d *capabilities.Device) capabilities.Command {
	for _, one := range []capabilities.Command{c.Command, c.Instead} {
		if one != "" && slices.Contains(d.Commands, one) {
			return one
		}
	}
	return ""
}

// FixedArgs returns the fixed parameters in the order of their names.
func (c *Capability) FixedArgs() mess.Object { return SortedArgs(c.Args) }

// SortedArgs returns the parameters in the order of their names.
func SortedArgs(args map[string]any) mess.Object {
	var o mess.Object
	for _, name := range slices.Sorted(maps.Keys(args)) {
		o = append(o, mess.Field{Key: name, Value: args[name]})
	}
	return o
}

// SetsLight reports whether the capability changes a light that is on, or turns it on.
func (c *Capability) SetsLight() bool {
	switch c.Command {
	case capabilities.SetSwitch:
		return c.Args["on"] == true
	case capabilities.Dim, capabilities.SetColor, capabilities.SetColorTemperature:
		return true
	}
	return false
}

// FindParameter returns the name of the first parameter that has one of the names.
func (c *Capability) FindParameter(names ...string) (name string, is bool) {
	i := slices.IndexFunc(c.Parameters, func(p capabilities.Parameter) bool { return slices.Contains(names, p.Name) })
	if i < 0 || c.Effect == capabilities.Query {
		return "", false
	}
	return c.Parameters[i].Name, true
}
