package main

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/messkit/messkit/agent"
	"github.com/messkit/messkit/agent/gate"
	"github.com/messkit/messkit/capabilities"
	"github.com/messkit/messkit/capabilities/catalog"
	"github.com/messkit/messkit/drivers"
	"github.com/messkit/messkit/drivers/all"
	"github.com/messkit/messkit/internal/picture"
	"github.com/messkit/messkit/internal/strictyaml"
	"github.com/messkit/messkit/mess"
)

// deviceConfig is what every device may have beside its driver's own keys.
type deviceConfig struct {
	Driver  string              `yaml:"driver"`
	Label   string              `yaml:"label"`        // what people call it; otherwise its name with spaces
	Aliases []string            `yaml:"aliases"`      // what else they call it
	Class   string              `yaml:"class"`        // otherwise the driver's
	Area    string              `yaml:"area"`         // where it is
	Sees    []string            `yaml:"sees"`         // what a camera looks at
	Gone    []string            `yaml:"placeholders"` // files of what a camera sends while there is no picture
	SeenBy  string              `yaml:"seen_by"`      // the camera that takes a picture of it after an act
	Rooms   []string            `yaml:"rooms"`        // where a vacuum can be sent, and what lies on a printer, while its driver cannot tell
	Risk    capabilities.Risk   `yaml:"risk"`         // otherwise the catalogue's
	Effect  capabilities.Effect `yaml:"effect"`       // once; otherwise the catalogue's
	Done    agent.Done          `yaml:"done"`         // how it is known that it is done, by the power that it takes
	Limits  gate.Device         `yaml:"limits"`
}

// Validate tells what cannot be.
func (c deviceConfig) Validate() error {
	var errs []error
	if c.Risk != "" && !c.Risk.Known() {
		errs = append(errs, fmt.Errorf("risk: %q is unknown; write observe, comfort, appliance, access, motion or irreversible", c.Risk))
	}
	if c.Effect != "" && c.Effect != capabilities.Once {
		errs = append(errs, fmt.Errorf("effect: %q is not for a device; write once, or nothing for what the catalogue says", c.Effect))
	}
	return errors.Join(errs...)
}

// device is one device of the configuration, opened and not started.
type device struct {
	deviceConfig
	name string
	kind drivers.Kind
	dev  drivers.Device
	gone []picture.Sketch // of deviceConfig.Gone
}

// home is all devices, by name.
type home struct {
	devices   []device
	catalogue *catalog.Catalog    // what can be asked for; nil: what comes with the program
	leftOut   []catalog.LeftOut   // files of words that cannot be used
	notes     strictyaml.Problems // what is no mistake and should be known
}

// openHome makes the devices of a configuration; it does not start them. All
// mistakes are told at once.
func openHome(nodes map[string]strictyaml.Node, log *slog.Logger) (*home, error) {
	h, shared, registry := &home{}, &drivers.Shared{}, drivers.NewRegistry(all.Kinds())
	var errs []error
	for _, name := range slices.Sorted(maps.Keys(nodes)) {
		d, err := openDevice(registry, shared, log, name, nodes[name])
		errs = append(errs, err)
		h.devices = append(h.devices, d)
	}
	errs = append(errs, h.depends(nodes))
	h.notes = slices.Concat(h.notes, h.forever(nodes), h.unsaid(nodes))
	return h, merge(errs...)
}

func openDevice(registry *drivers.Registry, shared *drivers.Shared, log *slog.Logger, name string, n strictyaml.Node) (device, error) {
	d := device{name: name}
	common, rest := n.Split(d.deviceConfig)
	rest = rest.Replace(func(file string) string { return beside(n.File(), file) }, deviceFiles...)
	mistakes := common.Decode(&d.deviceConfig)
	if !mess.ValidID(name) {
		mistakes = merge(mistakes, strictyaml.Problems{n.Problem("", "%q cannot name a device; use letters, digits and . _ : @ -", name)})
	}
	if mistakes != nil && len(n.Keys()) == 0 {
		return d, mistakes // it is no mapping
	}
	if d.Driver == "" {
		return d, merge(mistakes, strictyaml.Problems{n.Problem("", "driver is missing; write driver: NAME, messkit devices --drivers lists them")})
	}
	kind, err := registry.Lookup(d.Driver)
	if err != nil {
		return d, merge(mistakes, strictyaml.Problems{n.Problem("driver", "%v", err)})
	}
	d.kind = kind
	env := drivers.Env{Name: name, Log: log.With("device", name), Now: time.Now, Shared: shared}
	d.dev, err = kind.Open(env, rest.Decode)
	if err != nil {
		d.dev = nil // also where a driver returns a nil of its own type, which is asked what it holds otherwise
	}
	if wrong, ok := errors.AsType[strictyaml.Problems](err); ok {
		misplaced(wrong, "devices."+name+".")
	} else if err != nil {
		err = told(n, errors.New(strings.TrimPrefix(err.Error(), name+": ")))
	}
	gone := d.placeholders(n)
	return d, merge(mistakes, err, gone)
}

// misplaced tells of keys that a driver does not know where they belong, or which of
// those of all devices they may have been.
func misplaced(wrong strictyaml.Problems, in string) {
	for i, p := range wrong {
		key, here := strings.CutPrefix(p.Path, in)
		known, unknown := strings.CutPrefix(p.Text, "unknown key")
		switch {
		case !here || !unknown:
		case slices.Contains(strictyaml.Keys(gate.Device{}), key):
			wrong[i].Text = fmt.Sprintf("stands under limits; write limits: {%s: ...}", key)
		case strings.HasPrefix(known, "; "):
			wrong[i].Text = "unknown key" + strictyaml.Meant(key, deviceConfig{}) + known + "; and those of all devices: " + strings.Join(slices.Sorted(slices.Values(strictyaml.Keys(deviceConfig{}))), ", ")
		}
	}
}

// told has what was found wrong at the lines of the keys that it names.
func told(n strictyaml.Node, err error) error {
	var problems strictyaml.Problems
	for _, text := range strings.Split(err.Error(), "\n") {
		at, key, below := n, "", n
		for {
			next, rest, ok := strings.Cut(text, ": ")
			if !ok || !slices.Contains(below.Keys(), next) {
				break
			}
			at, key, below, text = below, next, below.Under(next), rest
		}
		problems = append(problems, at.Problem(key, "%s", text))
	}
	return problems
}

// class is what the device is to a person.
func (d device) class() string {
	if c, ok := d.dev.(drivers.Classed); ok {
		return cmp.Or(d.Class, c.Class(), d.kind.Class)
	}
	return cmp.Or(d.Class, d.kind.Class)
}

// area is where it is, as its configuration or it itself says.
func (d device) area() string {
	if p, ok := d.dev.(drivers.Placed); ok && d.Area == "" {
		return p.Area()
	}
	return d.Area
}

// effect is that of the configuration, or of the device's own nature.
func (d device) effect() capabilities.Effect {
	if _, once := d.dev.(drivers.Unrepeatable); once {
		return capabilities.Once
	}
	return d.Effect
}

// resolver turns requests into plans for these devices.
func (h *home) resolver() *agent.Home {
	things := make([]agent.Thing, len(h.devices))
	for i, d := range h.devices {
		things[i] = agent.Thing{Driver: d.dev, Device: capabilities.Device{
			Name: d.name, Label: d.label(), Aliases: d.Aliases, Class: d.class(), Area: d.Area, Sees: d.Sees, SeenBy: d.SeenBy, Risk: d.Risk, Effect: d.effect(),
			Spots: d.rooms(),
		}}
	}
	return agent.NewHome(cmp.Or(h.catalogue, catalog.Default()), things)
}

// classes refuses devices of a class that nobody has words for, whether they or their
// template say it: what could be asked of them, and how risky it is, would be a guess. Where
// a file of words is left out that may define the class, the device is there, and each plan
// for it needs a confirmation.
func (h *home) classes(nodes map[string]strictyaml.Node) error {
	c := cmp.Or(h.catalogue, catalog.Default())
	var problems strictyaml.Problems
	for i, d := range h.devices {
		key, says, whose := "class", d.Class, ""
		if t, ok := d.dev.(drivers.Classed); ok && says == "" && !nodes[d.name].Under("family").IsZero() {
			key, says, whose = "family", t.Class(), "its template's class "
		}
		switch {
		case says == "" || c.HasClass(says):
		case len(h.leftOut) > 0:
			h.devices[i].Risk = capabilities.RiskIrreversible
			h.notes = append(h.notes, nodes[d.name].Problem(key, "%s%q is unknown, because words are left out; until you mend them, each plan for it needs a confirmation", whose, says))
		default:
			problems = append(problems, nodes[d.name].Problem(key, "%s%q is unknown; write one of %s, or define it under classes in agent: words", whose, says, strings.Join(c.Classes(), ", ")))
		}
	}
	return merge(problems)
}

func (h *home) forAgent() []agent.Device {
	list := make([]agent.Device, len(h.devices))
	for i, d := range h.devices {
		list[i] = agent.Device{Name: d.name, Label: d.label(), SeenBy: d.SeenBy, Done: d.Done, Driver: d.dev, Placeholders: d.gone}
	}
	return list
}

func (h *home) names() []string {
	names := make([]string, len(h.devices))
	for i, d := range h.devices {
		names[i] = d.name
	}
	return names
}

// risks are the classes of devices that have one of their own.
func (h *home) risks() map[string]capabilities.Risk {
	risks := map[string]capabilities.Risk{}
	for _, d := range h.devices {
		if d.Risk != "" {
			risks[d.name] = d.Risk
		}
	}
	return risks
}

func (h *home) limits() map[string]gate.Device {
	limits := make(map[string]gate.Device, len(h.devices))
	for _, d := range h.devices {
		limits[d.name] = d.Limits
	}
	return limits
}

func (d device) rooms() []capabilities.Spot {
	_, prints := d.dev.(drivers.Printer)
	rooms := d.Rooms
	if m, ok := d.dev.(drivers.Mapped); ok && len(rooms) == 0 {
		rooms = m.Rooms()
	}
	spots := make([]capabilities.Spot, len(rooms))
	for i, r := range rooms {
		spots[i] = capabilities.Spot{Name: r, Room: r}
		if prints {
			spots[i].Room = "" // it is a file
		}
	}
	return spots
}

// label is what people call the device.
func (d device) label() string {
	if d.Label != "" {
		return d.Label
	}
	return strings.ReplaceAll(d.name, "-", " ")
}

// verbs lists what can be done with a device.
func (d device) verbs() []string {
	var list []string
	for _, c := range agent.Commands(d.dev) {
		list = append(list, string(c))
	}
	return list
}
