package discovery

import (
	"fmt"
	"io"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/messkit/messkit/agent/device"
	"github.com/messkit/messkit/capabilities"
	"github.com/messkit/messkit/drivers"
	"github.com/messkit/messkit/drivers/all"
	"github.com/messkit/messkit/internal/cli/output"
	"github.com/messkit/messkit/internal/config"
	"github.com/messkit/messkit/internal/strictyaml"
)

// Block returns the configuration of the device.
func (d Discovered) Block() *strictyaml.Value {
	block := &strictyaml.Value{Kind: strictyaml.Map}
	block.Add("driver", strictyaml.Str(d.Kind.Name))
	nested := map[string]*strictyaml.Value{}
	for _, key := range slices.Sorted(maps.Keys(d.Config)) {
		outer, inner, deep := strings.Cut(key, ".")
		if !deep {
			block.Add(key, strictyaml.Str(d.Config[key]))
			continue
		}
		if nested[outer] == nil {
			nested[outer] = &strictyaml.Value{Kind: strictyaml.Map}
			block.Add(outer, nested[outer])
		}
		nested[outer].Add(inner, strictyaml.Str(d.Config[key]))
	}
	return block
}

// Open makes the device from its configuration.
func (d Discovered) Open() (drivers.Device, error) {
	_, rest := strictyaml.From(d.Block(), d.Name).Split(config.DeviceConfig{})
	env := drivers.Env{Name: d.Name, Log: output.NoLog, Now: time.Now, Shared: &drivers.Shared{}}
	return d.Kind.Open(env, rest.Decode)
}

// acts reports whether a device can change anything.
func acts(dev drivers.Device) bool {
	for _, c := range device.Commands(dev) {
		if (capabilities.Plan{Command: c, Effect: capabilities.Query}).Actuates() {
			return true
		}
	}
	return false
}

// mostFound is the largest number of devices that PrintFound prints. More come from a
// program that announces devices that do not exist.
const mostFound = 500

// PrintFound prints the configuration of each device under a line with its kind and address, and
// the notes as comments. It returns the number of usable devices.
func PrintFound(out io.Writer, list []Discovered) (int, error) {
	if more := len(list) - mostFound; more > 0 {
		fmt.Fprintf(out, "# The list omits %d more announced devices. Check which program announces them.\n", more)
		list = list[:mostFound]
	}
	addLabels(list)
	taken := map[string]bool{}
	var held []foundHold
	var blocks strings.Builder
	n := 0
	for _, d := range list {
		if d.Config == nil {
			fmt.Fprintf(out, "# %s (driver: %s)\n", line(d.Where), d.Kind.Name)
			continue
		}
		d.Name = freeName(d.Name, taken)
		text, usable, err := d.print(&held)
		if err != nil {
			return 0, err
		}
		blocks.WriteString(text)
		if usable {
			n++
		}
	}
	switch {
	case n > 0:
		fmt.Fprintln(out, "devices:")
	case blocks.Len() == 0:
		_, err := fmt.Fprintln(out, "# No device found by its announcement.")
		return 0, err
	}
	_, err := io.WriteString(out, blocks.String())
	return n, err
}

// freeName returns a name that is not taken yet, and takes it.
func freeName(name string, taken map[string]bool) string {
	free := name
	for n := 2; taken[free]; n++ {
		free = fmt.Sprintf("%s-%d", name, n)
	}
	taken[free] = true
	return free
}

// foundHold is a resource that a found device holds.
type foundHold struct {
	drivers.Resource
	by string
}

// hold adds the resources of a device to those of earlier ones. It returns the name of the last
// earlier device that holds one of them, "" if none does.
func (d Discovered) hold(dev drivers.Device, all *[]foundHold) (by string) {
	for _, one := range config.HeldBy(config.Device{Dev: dev}) {
		if i := slices.IndexFunc(*all, func(h foundHold) bool { return h.SameAs(one) }); i >= 0 {
			by = (*all)[i].by
		}
		*all = append(*all, foundHold{one, d.Name})
	}
	return by
}

// needs returns why a device is not usable as its driver has found it.
func (d Discovered) needs(err error) string {
	return "it needs more: " + line(strings.TrimPrefix(err.Error(), d.Name+": "))
}

// print returns the text of one device. A device that is not usable, or that holds a
// resource of an earlier one, becomes a comment with the reason. A device that acts gets a
// lockout.
func (d Discovered) print(all *[]foundHold) (text string, usable bool, err error) {
	if !plain(d.Config) {
		return fmt.Sprintf("  # %s; it announces a name that no person can read or write: look who does, and give it another\n", line(d.Where)), false, nil
	}
	note := ""
	dev, wrong := d.Open()
	locks := wrong != nil || acts(dev) // an unknown device may act
	if wrong == nil {
		note = d.cautious(dev)
		if by := d.hold(dev, all); by != "" {
			wrong = fmt.Errorf("another name than %s, which is the same thing; keep one of the two", by)
		}
	}
	block := d.Block()
	if locks {
		limits := &strictyaml.Value{Kind: strictyaml.Map}
		limits.Add("locked", strictyaml.Truth(true))
		block.Add("limits", limits)
	}
	switch {
	case wrong != nil:
		note = "; " + d.needs(wrong)
	case locks:
		note += "; it acts: check what it switches, then remove limits"
	}
	device := &strictyaml.Value{Kind: strictyaml.Map}
	device.Add(d.Name, block)
	data, err := strictyaml.YAML(device)
	if err != nil {
		return "", false, err
	}
	indent := "\n  "
	if wrong != nil {
		indent = "\n  # "
	}
	body := strings.ReplaceAll("\n"+strings.TrimSpace(string(data)), "\n", indent)
	return fmt.Sprintf("  # %s%s%s\n", line(d.about()), note, body), wrong == nil, nil
}

// about returns the address of a device and the maker's description.
func (d Discovered) about() string {
	if d.About == "" {
		return d.Where
	}
	return d.Where + " (" + d.About + ")"
}

// line makes a text from the network safe for one line of a comment.
func line(s string) string {
	s = strings.Join(strings.FieldsFunc(s, func(r rune) bool {
		return !unicode.IsGraphic(r) || unicode.IsSpace(r) || r == utf8.RuneError // terminal control and text direction
	}), " ")
	if runes := []rune(s); len(runes) > longestLine {
		return string(runes[:longestLine]) + " ..."
	}
	return s
}

// plain reports whether the announced values are readable text without terminal control.
func plain(config map[string]string) bool {
	for _, value := range config {
		if !utf8.ValidString(value) || len(value) > longestLine || strings.ContainsFunc(value, func(r rune) bool { return !unicode.IsGraphic(r) || r == utf8.RuneError }) {
			return false
		}
	}
	return true
}

// longestLine is the longest description that print keeps, in bytes.
const longestLine = 300

// interfaces are device files of this machine, the drivers that use them, and a note.
var interfaces = []struct{ pattern, drivers, note string }{
	{"/dev/i2c-*", "i2c-...", "; a servo on a PCA9685 there: servo: {driver: i2c-servo, bus: %q, channel: 0, limits: {locked: true}}"},
	{"/sys/class/pwm/pwmchip*", "", " is a PWM chip of the kernel, which no driver here uses: for a servo use a PCA9685 (driver: i2c-servo) without its kernel driver"},
	{"/dev/serial/by-id/*", "roombaoi", ""},
}

// PrintHardware lists the interfaces of this machine. It cannot know the devices behind
// them.
func PrintHardware(out io.Writer) {
	known := map[string]bool{}
	for _, k := range all.Kinds() {
		known[k.Name] = true
	}
	for _, i := range interfaces {
		names, _ := filepath.Glob(i.pattern) // the patterns are correct
		list := slices.DeleteFunc(strings.Split(i.drivers, ", "), func(d string) bool { return !known[d] && !strings.HasSuffix(d, "...") })
		for _, name := range names {
			driverNote := ""
			if len(list) > 0 {
				driverNote = " (driver: " + strings.Join(list, ", ") + ")"
			}
			note := i.note
			if strings.Contains(note, "%q") {
				note = fmt.Sprintf(note, strings.TrimPrefix(name, "/dev/i2c-"))
			}
			fmt.Fprintf(out, "# %s%s%s\n", name, driverNote, note)
		}
	}
}

// PrintBrokers lists brokers, each with the command that asks it for devices.
func PrintBrokers(out io.Writer, list []FoundBroker) {
	for _, b := range list {
		name := "an MQTT broker on this machine, which may be messkit's own"
		if b.Name != "" {
			name = "the MQTT broker " + line(b.Name)
		}
		fmt.Fprintf(out, "# %s: %s (messkit discover --mqtt %[2]s lists its devices)\n", name, b.URL)
	}
}
