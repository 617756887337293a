#!/bin/sh
# Writes a new driver NAME with its test and page, and adds it to drivers/all. The driver
# switches a device on and off, and passes its conformance test as it is.
set -eu
name=${1:-}
case $name in
'' | [!a-z]* | *[!a-z0-9]*)
	echo "new-driver: NAME is \"$name\"; write lower-case letters and digits, like NAME=foo" >&2
	exit 2
	;;
esac
if [ -e "drivers/$name" ]; then
	echo "new-driver: drivers/$name exists; choose another NAME" >&2
	exit 1
fi
type=$(echo "$name" | cut -c1 | tr a-z A-Z)$(echo "$name" | cut -c2-)
mkdir "drivers/$name"
cat > "drivers/$name/$name.go" <<GO
// Package $name switches a $name through a file. Replace file by the protocol of your device.
package $name

import (
	"bytes"
	"context"
	"errors"
	"os"

	"github.com/messkit/messkit/drivers"
)

var (
	_ drivers.Switch       = (*$type)(nil)
	_ drivers.SwitchReader = (*$type)(nil)
	_ drivers.SafeReader   = (*$type)(nil)
)

// Config contains the keys of the configuration that only this driver has.
type Config struct {
	File string \`yaml:"file"\` // holds 1 while the device is on
}

// Validate returns all errors in the configuration.
func (c Config) Validate() error {
	if c.File == "" {
		return errors.New("file: is missing; write the file of the device")
	}
	return nil
}

// Kind returns the driver kind for drivers/all.
func Kind() drivers.Kind {
	return drivers.Kind{Name: "$name", Class: "switch", About: "a $name", Open: open}
}

func open(env drivers.Env, decode func(any) error) (drivers.Device, error) {
	var cfg Config
	if err := decode(&cfg); err != nil {
		return nil, err
	}
	return New(env.Name, file(cfg.File)), nil
}

// Port is the device as its protocol shows it.
type Port interface {
	Set(on bool) error
	Get() (on bool, err error) // reads the device, not the last Set
}

// $type is a switch that is off after Start and after Halt.
type $type struct {
	drivers.Base
	port Port
}

// New returns a device on a port. It opens nothing.
func New(name string, port Port) *$type { return &$type{Base: drivers.NewBase(name), port: port} }

// Start turns the device off and allows verbs.
func (d *$type) Start() error {
	if err := d.port.Set(false); err != nil {
		return d.WithName(err)
	}
	d.MarkStarted()
	return nil
}

// Halt ends verbs under way and turns the device off.
func (d *$type) Halt() error {
	d.StopVerbs()
	return d.WithName(d.port.Set(false))
}

// Switch turns the device on or off.
func (d *$type) Switch(ctx context.Context, on bool) error {
	return d.Do(ctx, func(context.Context) error { return d.port.Set(on) })
}

// On reads back from the device whether it is on.
func (d *$type) On(ctx context.Context) (bool, error) {
	return drivers.DoValue(ctx, &d.Base, func(context.Context) (bool, error) { return d.port.Get() })
}

// Safe reads back from the device whether it is off.
func (d *$type) Safe(context.Context) (bool, error) {
	on, err := d.port.Get()
	return err == nil && !on, d.WithName(err)
}

// file is a Port that is a file.
type file string

// Set writes the file.
func (f file) Set(on bool) error {
	level := "0\n"
	if on {
		level = "1\n"
	}
	return os.WriteFile(string(f), []byte(level), 0o600)
}

// Get reads the file.
func (f file) Get() (bool, error) {
	text, err := os.ReadFile(string(f))
	return err == nil && string(bytes.TrimSpace(text)) == "1", err
}
GO
cat > "drivers/$name/${name}_test.go" <<GO
package ${name}_test

import (
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/messkit/messkit/drivers"
	"github.com/messkit/messkit/drivers/$name"
	"github.com/messkit/messkit/drivers/drivertest"
)

// simulator is a device that counts the commands to it.
type simulator struct {
	mu   sync.Mutex
	on   bool
	acts int
}

func (s *simulator) Set(on bool) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.on, s.acts = on, s.acts+1
	return nil
}

func (s *simulator) Get() (bool, error) { return s.level(), nil }

func (s *simulator) level() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.on
}

func TestConformance(t *testing.T) {
	var last *simulator
	drivertest.Run(t, func(*testing.T) drivers.Device {
		last = &simulator{on: true}
		return $name.New("it", last)
	},
		drivertest.Safe(func() error {
			if last.level() {
				return errors.New("the device is on")
			}
			return nil
		}),
		drivertest.Level(func() bool { return last.level() }),
		drivertest.Acts(func() int {
			last.mu.Lock()
			defer last.mu.Unlock()
			return last.acts
		}),
		drivertest.Force(func(on bool) {
			last.mu.Lock()
			defer last.mu.Unlock()
			last.on = on
		}),
	)
}

func open(text string) (drivers.Device, error) {
	env := drivers.Env{Name: "it", Log: slog.New(slog.DiscardHandler), Now: time.Now, Shared: &drivers.Shared{}}
	return $name.Kind().Open(env, func(out any) error { return drivers.Decode("home.yaml", []byte(text), out) })
}

func TestSwitchWritesTheFile(t *testing.T) {
	name := filepath.Join(t.TempDir(), "device")
	d, err := open("file: " + name)
	if err != nil {
		t.Fatal(err)
	}
	if err := d.Start(); err != nil {
		t.Fatal(err)
	}
	for on, want := range map[bool]string{true: "1\n", false: "0\n"} {
		if err := d.(drivers.Switch).Switch(t.Context(), on); err != nil {
			t.Fatal(err)
		}
		if text, err := os.ReadFile(name); err != nil || string(text) != want {
			t.Errorf("Switch(%t) writes %q (%v); want %q", on, text, err, want)
		}
	}
}

func TestConfigErrorsNameTheKey(t *testing.T) {
	for text, want := range map[string]string{
		"{}":     "file: is missing",
		"fle: x": "fle: unknown key",
	} {
		if _, err := open(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v; want %q", text, err, want)
		}
	}
}
GO
cat > "docs/drivers/$name.md" <<MD
# $name: a switch in a file

Switches a $name on and off through a file that holds 1 while the device is on.

## Configuration
\`\`\`yaml
devices:
  my-$name: {driver: $name, file: /run/$name, area: kitchen}
\`\`\`

| key | default | |
|---|---|---|
| \`file\` | none | the file of the device |

The device is off after the start and after the end of messkit. messkit reads the file back after
each command.
MD
sed -i "s|^\t\"github.com/messkit/messkit/drivers\"\$|&\n\t\"github.com/messkit/messkit/drivers/$name\"|; s|^\t\t\[\]drivers.Kind{\$|&\n\t\t\t$name.Kind(),|" drivers/all/all.go
gofmt -w drivers/all/all.go "drivers/$name"
echo "drivers/$name is written and in drivers/all; next: go test ./drivers/$name"
