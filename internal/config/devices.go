package config

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/messkit/messkit/agent/device"
	"github.com/messkit/messkit/agent/policy/settings"
	"github.com/messkit/messkit/agent/resolver"
	"github.com/messkit/messkit/capabilities"
	"github.com/messkit/messkit/capabilities/catalog"
	"github.com/messkit/messkit/drivers"
	"github.com/messkit/messkit/internal/picture"
	"github.com/messkit/messkit/internal/strictyaml"
	"github.com/messkit/messkit/mess"
)

// DeviceConfig has the keys of every device; each driver adds its own.
type DeviceConfig struct {
	Driver  string              `yaml:"driver"`
	Label   string              `yaml:"label"`        // name for people; "": the key with spaces
	Aliases []string            `yaml:"aliases"`      // other names for people
	Class   string              `yaml:"class"`        // "": that of the driver
	Area    string              `yaml:"area"`         // room or part of the home
	Hidden  bool                `yaml:"hidden"`       // pages leave it out of their first view
	Sees    []string            `yaml:"sees"`         // things that a camera shows
	Gone    []string            `yaml:"placeholders"` // files with images that a camera sends in place of a missing picture
	SeenBy  string              `yaml:"seen_by"`      // camera that takes a picture after an action
	Rooms   []string            `yaml:"rooms"`        // rooms of a vacuum or files of a printer, if the driver cannot list them
	Risk    capabilities.Risk   `yaml:"risk"`         // "": that of the catalog
	Effect  capabilities.Effect `yaml:"effect"`       // once, or "": that of the catalog
	Done    device.Done         `yaml:"done"`         // power below which the device has finished
	Limits  settings.Limits     `yaml:"limits"`
}

// Validate returns an error for each wrong value.
func (c DeviceConfig) Validate() error {
	var errs []error
	if c.Risk != "" && !c.Risk.Known() {
		errs = append(errs, fmt.Errorf("risk: %q is unknown; write observe, comfort, appliance, access, motion or irreversible", c.Risk))
	}
	if c.Effect != "" && c.Effect != capabilities.Once {
		errs = append(errs, fmt.Errorf("effect: %q does not fit a device; write once, or leave it out for the catalog's value", c.Effect))
	}
	return errors.Join(errs...)
}

// Device is one device of the configuration. It is open and not started.
type Device struct {
	DeviceConfig
	Name         string
	Kind         drivers.Kind
	Dev          drivers.Device
	Placeholders []picture.Sketch // of DeviceConfig.Gone
}

// DeviceSet has all devices, by name.
type DeviceSet struct {
	Devices []Device
	Catalog *catalog.Catalog       // capabilities and their words; nil: the built-in ones
	LeftOut []catalog.IgnoredWords // files with words that messkit cannot use
	Notes   strictyaml.Problems    // hints that are no errors

	open func(name string, n strictyaml.Node) (Device, error) // with the resources that these devices share
}

// OpenDevices makes the devices of a configuration, of the kinds in registry, and does not
// start them. It returns all errors together.
func OpenDevices(nodes map[string]strictyaml.Node, registry *drivers.Registry, log *slog.Logger) (*DeviceSet, error) {
	h, shared := &DeviceSet{}, &drivers.Shared{}
	h.open = func(name string, n strictyaml.Node) (Device, error) {
		return openDevice(registry, shared, log, name, n)
	}
	var errs []error
	for _, name := range slices.Sorted(maps.Keys(nodes)) {
		d, err := h.open(name, nodes[name])
		errs = append(errs, err)
		h.Devices = append(h.Devices, d)
	}
	errs = append(errs, h.depends(nodes))
	h.Notes = slices.Concat(h.Notes, h.missingLimitNotes(nodes), h.missingClassNotes(nodes))
	return h, MergeProblems(errs...)
}

// Reopen opens a device of the set anew from its configuration, so that it shares the resources of the
// other devices: the connection to a broker, or the simulated home. Nothing starts. The set of another
// text, from which the device may come, has resources of its own.
func (h *DeviceSet) Reopen(name string, n strictyaml.Node) error {
	d := h.Device(name)
	if d == nil {
		return fmt.Errorf("there is no device %q", name)
	}
	opened, err := h.open(name, n)
	if err == nil {
		opened.Risk = d.Risk // CheckClasses may have raised it
		*d = opened
	}
	return err
}

func openDevice(registry *drivers.Registry, shared *drivers.Shared, log *slog.Logger, name string, n strictyaml.Node) (Device, error) {
	d := Device{Name: name}
	common, rest := n.Split(d.DeviceConfig)
	rest = rest.Replace(func(file string) string { return pathBeside(n.File(), file) }, deviceFiles...)
	mistakes := common.Decode(&d.DeviceConfig)
	if !mess.ValidID(name) {
		mistakes = MergeProblems(mistakes, strictyaml.Problems{n.Problem("", "%q cannot name a device; use letters, digits and . _ : @ -", name)})
	}
	if mistakes != nil && len(n.Keys()) == 0 {
		return d, mistakes // the entry is no mapping
	}
	if d.Driver == "" {
		return d, MergeProblems(mistakes, strictyaml.Problems{n.Problem("", "driver is missing; write driver: NAME, messkit devices --drivers lists them")})
	}
	kind, err := registry.Lookup(d.Driver)
	if err != nil {
		return d, MergeProblems(mistakes, strictyaml.Problems{n.Problem("driver", "%v", err)})
	}
	d.Kind = kind
	env := drivers.Env{Name: name, Log: log.With("device", name), Now: time.Now, Shared: shared}
	d.Dev, err = kind.Open(env, rest.Decode)
	if err != nil {
		d.Dev = nil // a driver may return a typed nil, on which Holds would panic
	}
	if wrong, ok := errors.AsType[strictyaml.Problems](err); ok {
		explainMisplacedKeys(wrong, "devices."+name+".")
	} else if err != nil {
		err = withLines(n, errors.New(strings.TrimPrefix(err.Error(), name+": ")))
	}
	gone := d.placeholders(n)
	return d, MergeProblems(mistakes, err, gone)
}

// explainMisplacedKeys adds to each unknown key of a driver the section where the key belongs, or
// the similar key of every device.
func explainMisplacedKeys(wrong strictyaml.Problems, in string) {
	for i, p := range wrong {
		key, here := strings.CutPrefix(p.Path, in)
		known, unknown := strings.CutPrefix(p.Text, "unknown key")
		switch {
		case !here || !unknown:
		case slices.Contains(strictyaml.Keys(settings.Limits{}), key):
			wrong[i].Text = fmt.Sprintf("belongs under limits; write limits: {%s: ...}", key)
		case strings.HasPrefix(known, "; "):
			wrong[i].Text = "unknown key" + strictyaml.Meant(key, DeviceConfig{}) + known + "; and those of all devices: " + strings.Join(slices.Sorted(slices.Values(strictyaml.Keys(DeviceConfig{}))), ", ")
		}
	}
}

// withLines adds the line of the configuration to each problem that begins with keys.
func withLines(n strictyaml.Node, err error) error {
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

// EffectiveClass returns the class of the configuration, or that of the driver.
func (d Device) EffectiveClass() string {
	if c, ok := d.Dev.(drivers.ClassReporter); ok {
		return cmp.Or(d.Class, c.Class(), d.Kind.Class)
	}
	return cmp.Or(d.Class, d.Kind.Class)
}

// EffectiveArea returns the area of the configuration, or the one that the device reports.
func (d Device) EffectiveArea() string {
	if p, ok := d.Dev.(drivers.AreaReporter); ok && d.Area == "" {
		return p.Area()
	}
	return d.Area
}

// effect returns the effect of the configuration, or that of the device.
func (d Device) effect() capabilities.Effect {
	if _, once := d.Dev.(drivers.Unrepeatable); once {
		return capabilities.Once
	}
	return d.Effect
}

// Resolver turns requests into plans for these devices.
func (h *DeviceSet) Resolver() *resolver.Resolver {
	things := make([]resolver.Device, len(h.Devices))
	for i, d := range h.Devices {
		things[i] = resolver.Device{Driver: d.Dev, Device: capabilities.Device{
			Name: d.Name, Label: d.PersonLabel(), Aliases: d.Aliases, Class: d.EffectiveClass(), Area: d.Area, FieldOfView: d.Sees, VerificationCamera: d.SeenBy, Risk: d.Risk, Effect: d.effect(),
			WorkAreas: d.rooms(),
		}}
	}
	return resolver.New(cmp.Or(h.Catalog, catalog.Default()), things)
}

// CheckClasses returns an error for each device whose class has no words, also where a
// template sets it: its commands and its risk would be a guess. If a file of words that may
// define the class is unusable, the device stays, and each plan for it needs a confirmation.
func (h *DeviceSet) CheckClasses(nodes map[string]strictyaml.Node) error {
	c := cmp.Or(h.Catalog, catalog.Default())
	var problems strictyaml.Problems
	for i, d := range h.Devices {
		key, says, whose := "class", d.Class, ""
		if t, ok := d.Dev.(drivers.ClassReporter); ok && says == "" && !nodes[d.Name].Under("family").IsZero() {
			key, says, whose = "family", t.Class(), "its template's class "
		}
		switch {
		case says == "" || c.HasClass(says):
		case len(h.LeftOut) > 0:
			h.Devices[i].Risk = capabilities.RiskIrreversible
			h.Notes = append(h.Notes, nodes[d.Name].Problem(key, "%s%q is unknown, because a file of words is unusable; until you mend it, each plan for the device needs a confirmation", whose, says))
		default:
			problems = append(problems, nodes[d.Name].Problem(key, "%s%q is unknown; write one of %s, or define it under classes in agent: words", whose, says, strings.Join(c.Classes(), ", ")))
		}
	}
	return MergeProblems(problems)
}

// AgentDevices returns the devices for the agent.
func (h *DeviceSet) AgentDevices() []device.Device {
	list := make([]device.Device, len(h.Devices))
	for i, d := range h.Devices {
		list[i] = d.AgentDevice()
	}
	return list
}

// AgentDevice returns the device for the agent.
func (d Device) AgentDevice() device.Device {
	return device.Device{
		Name: d.Name, Label: d.PersonLabel(), Area: d.EffectiveArea(), Class: d.EffectiveClass(), Hidden: d.Hidden, SeenBy: d.SeenBy, Done: d.Done, Driver: d.Dev,
		Placeholders: d.Placeholders,
	}
}

// Names returns the names of all devices.
func (h *DeviceSet) Names() []string {
	names := make([]string, len(h.Devices))
	for i, d := range h.Devices {
		names[i] = d.Name
	}
	return names
}

// Risks returns the risk class of each device that sets one.
func (h *DeviceSet) Risks() map[string]capabilities.Risk {
	risks := map[string]capabilities.Risk{}
	for _, d := range h.Devices {
		if d.Risk != "" {
			risks[d.Name] = d.Risk
		}
	}
	return risks
}

// Limits returns the limits of each device, by its name.
func (h *DeviceSet) Limits() map[string]settings.Limits {
	limits := make(map[string]settings.Limits, len(h.Devices))
	for _, d := range h.Devices {
		limits[d.Name] = d.Limits
	}
	return limits
}

func (d Device) rooms() []capabilities.WorkArea {
	_, prints := d.Dev.(drivers.Printer)
	rooms := d.Rooms
	if m, ok := d.Dev.(drivers.RoomLister); ok && len(rooms) == 0 {
		rooms = m.Rooms()
	}
	spots := make([]capabilities.WorkArea, len(rooms))
	for i, r := range rooms {
		spots[i] = capabilities.WorkArea{Name: r, Room: r}
		if prints {
			spots[i].Room = "" // on a printer it is a file
		}
	}
	return spots
}

// PersonLabel returns the name for people.
func (d Device) PersonLabel() string {
	if d.Label != "" {
		return d.Label
	}
	return strings.ReplaceAll(d.Name, "-", " ")
}

// Verbs lists the commands of a device.
func (d Device) Verbs() []string {
	var list []string
	for _, c := range device.Commands(d.Dev) {
		list = append(list, string(c))
	}
	return list
}
