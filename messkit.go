// Package messkit embeds a safe executor in a Go program of your own. Run serves the devices of
// the program; Main is the whole command messkit with drivers of your own.
//
// Both go through the same safety policy, journal, stop and watchdog as the command messkit.
package messkit

import (
	"cmp"
	"context"
	"errors"
	"io"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"github.com/messkit/messkit/drivers"
	"github.com/messkit/messkit/drivers/all"
	"github.com/messkit/messkit/internal/cli"
	"github.com/messkit/messkit/internal/cli/output"
	"github.com/messkit/messkit/internal/daemon"
	"github.com/messkit/messkit/internal/daemon/watchdog"
	"github.com/messkit/messkit/internal/strictyaml"
)

// Options configure an executor.
type Options struct {
	ID  string // id of the executor at the exchange; "" means the name of the host
	URL string // the exchange: http://192.168.1.20:8420, https://..., or its broker mqtt://...
	Pin string // SHA-256 fingerprint of a certificate that the exchange made itself; "" for none
	// Key is the key of the executor, or its password at a broker. Run keeps it in the file
	// executor.key in Dir. Without a key, Run uses the key in that file, or enrolls with the
	// code in Enroll and writes the file. An exchange on this host needs no code.
	Key    Secret
	Enroll Secret
	// Dir is the folder of the journal, the stop and the lockouts. One program at a time may
	// use it. The commands messkit stop, clear, lock and arm work on it with --data.
	Dir     string
	Devices []Device
	Agent   string       // YAML: further keys below agent: of a configuration file, such as "confirm: {motion: operator}"
	Log     *slog.Logger // nil means slog.Default
}

// Secret is a key or a code. It prints as ***.
type Secret = drivers.Secret

// Device is one device of an executor.
type Device struct {
	Name  string // unique; "" means the name of Driver
	Class string // what the device is: light, fan, camera, ...; "" means the class of Kind
	Area  string // where it is: kitchen
	// Driver is the device itself, before Start. A driver that another process can switch off
	// (drivers.WatchdogTarget) needs Kind.RunWatchdogCommand as well.
	Driver drivers.Device
	Kind   drivers.Kind // opens the device from Config if Driver is nil, such as gpiorelay.Kind()
	Config string       // YAML: the keys of Kind and of all devices, such as "limits: {max_on: 1h}"
}

// Run runs an executor until ctx ends. Then it takes every device to its safe state and returns
// nil. If o has errors, Run returns all of them together and starts no device.
//
// For its watchdog, Run starts this program a second time, with other arguments. In that process
// Run is the watchdog. Therefore call Run first in main, before the program uses a device, its
// standard input or its standard output. The watchdog runs only for devices that it can switch off.
func Run(ctx context.Context, o Options) error {
	kinds := make([]drivers.Kind, len(o.Devices))
	for i, d := range o.Devices {
		kinds[i] = d.kind()
	}
	registry, err := newRegistry(kinds)
	if err != nil {
		return err
	}
	if will, ok := watchdog.Called(os.Args); ok {
		return watchdog.Serve(os.Stdin, os.Stdout, os.Stderr, will, registry)
	}
	doc, err := o.document()
	if err != nil {
		return err
	}
	log := cmp.Or(o.Log, slog.Default())
	cfg, err := daemon.LoadDocument(doc, registry, log)
	if err != nil {
		return withoutLines(err)
	}
	cfg.Connect.Secret = o.Key
	return daemon.Run(ctx, output.NewEnv(os.Stdin, io.Discard, io.Discard), cfg, log)
}

// Main is the command messkit with further kinds of drivers. It returns the exit code:
//
//	func main() { os.Exit(messkit.Main(fan.Kind())) }
//
// It panics if a kind has no name or no Open, or has the name of another kind. The watchdog is
// this program, started a second time, so call Main first in main.
func Main(kinds ...drivers.Kind) int {
	all.Add(kinds...)
	return cli.Main(os.Args[1:], os.Stdin, os.Stdout, os.Stderr)
}

// kind returns a kind of driver for d alone. Its name is the name of the device.
func (d Device) kind() drivers.Kind {
	k := d.Kind
	k.Name, k.Class = d.name(), cmp.Or(d.Class, k.Class)
	if d.Driver != nil {
		k.Open = func(_ drivers.Env, decode func(any) error) (drivers.Device, error) {
			return d.Driver, decode(&struct{}{})
		}
	}
	return k
}

func (d Device) name() string {
	if d.Name == "" && d.Driver != nil {
		return d.Driver.Name()
	}
	return d.Name
}

// newRegistry is drivers.NewRegistry with an error in place of a panic.
func newRegistry(kinds []drivers.Kind) (*drivers.Registry, error) {
	seen := map[string]bool{}
	for i, k := range kinds {
		switch {
		case k.Name == "":
			return nil, strictyaml.Problem{Path: "Devices", Text: "a device has no name; set Name"}
		case k.Open == nil:
			return nil, strictyaml.Problem{Path: "devices." + k.Name, Text: "there is no driver; set Driver, or Kind"}
		case seen[k.Name]:
			return nil, strictyaml.Problem{Path: "devices." + kinds[i].Name, Text: "two devices have this name; choose another for one of them"}
		}
		seen[k.Name] = true
	}
	return drivers.NewRegistry(kinds), nil
}

// document returns o as a configuration file, without the key.
func (o Options) document() ([]byte, error) {
	if o.Dir == "" {
		return nil, errors.New("messkit: Options.Dir is empty; set the folder of the journal")
	}
	agent, err := mapping("agent", o.Agent, map[string]string{"id": o.ID, "data": o.Dir})
	errs := []error{err}
	connect, err := mapping("connect", "", map[string]string{
		"url": o.URL, "pin": o.Pin, "enrol": string(o.Enroll), "key_file": filepath.Join(o.Dir, "executor.key"),
	})
	errs = append(errs, err)
	devices := &strictyaml.Value{Kind: strictyaml.Map}
	for _, d := range o.Devices {
		one, err := mapping("devices."+d.name(), d.Config, map[string]string{"driver": d.name(), "class": d.Class, "area": d.Area})
		errs = append(errs, err)
		devices.Add(d.name(), one)
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	doc := &strictyaml.Value{Kind: strictyaml.Map}
	doc.Add("connect", connect)
	doc.Add("agent", agent)
	doc.Add("devices", devices)
	return strictyaml.YAML(doc)
}

// mapping parses the text of a field, which may be empty, and adds the fields that are not
// empty. Errors begin with path.
func mapping(path, text string, fields map[string]string) (*strictyaml.Value, error) {
	docs, err := strictyaml.Parse([]byte(text), strictyaml.Config)
	switch {
	case err != nil:
		return nil, strictyaml.Problem{Path: path, Text: err.Error()}
	case len(docs) == 0:
		docs = []*strictyaml.Value{{Kind: strictyaml.Map}}
	case len(docs) > 1 || docs[0].Kind != strictyaml.Map:
		return nil, strictyaml.Problem{Path: path, Text: "want keys with values; write them like \"label: desk lamp\""}
	}
	for _, key := range slices.Sorted(maps.Keys(fields)) {
		switch {
		case fields[key] == "":
		case docs[0].Get(key) != nil:
			return nil, strictyaml.Problem{Path: path + "." + key, Text: "is in the text and in a field of its own; keep one"}
		default:
			docs[0].Add(key, strictyaml.Str(fields[key]))
		}
	}
	return docs[0], nil
}

// withoutLines removes the line numbers from an error. They are those of a document that the caller
// never sees.
func withoutLines(err error) error {
	problems, ok := errors.AsType[strictyaml.Problems](err)
	if !ok {
		return err
	}
	for i := range problems {
		problems[i].File, problems[i].Line = "", 0
	}
	return problems
}
