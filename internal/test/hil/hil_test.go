// Package hil boots Debian's own kernels under qemu and runs test programs in them. It needs no
// installation and no hardware virtualization. So drivers can use real kernel interfaces (GPIO
// lines, I2C buses, cameras) on machines that have none. The tests here start the machines,
// and those of package inside run within them. make hil does both.
package hil_test

import (
	"bytes"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// target is a machine that make hil boots.
type target struct {
	name, arch string // target's name, and Debian's architecture of its kernel
	machine    Machine
	dtb        string // in the kernel's package
	modules    []Module
	tests      string // pattern for the tests of package inside
	least      int    // least number of passed tests: a machine that runs none must fail
}

var bridge = []Module{{Name: "uhid"}, {Name: "usbhid"}, {Name: "hid-cp2112"}, {Name: "i2c-dev"}, {Name: "bmp280-i2c"}, {Name: "ds2482"}, {Name: "w1-therm"}}

var targets = []target{
	{
		name: "x86_64", arch: "amd64",
		machine: Machine{
			Qemu: "qemu-system-x86_64", How: "apt-get install qemu-system-x86", Console: "ttyS0",
			Options: []string{"-accel", "tcg", "-icount", "shift=3,sleep=off", "-cpu", "max", "-m", "768", "-nodefaults", "-serial", "stdio"},
		},
		modules: append(bridge, Module{Name: "vivid", Parameters: "n_devs=1 node_types=0x1"}), tests: "^Test[^P]", least: 28,
	},
	{
		name: "raspi3b", arch: "arm64",
		machine: Machine{
			Qemu: "qemu-system-aarch64", How: "apt-get install qemu-system-arm", Console: "ttyS1,115200",
			Options: []string{"-M", "raspi3b", "-serial", "null", "-serial", "stdio"},
		},
		dtb: "usr/lib/linux-image-*/broadcom/bcm2837-rpi-3-b.dtb", tests: "^TestPi", least: 1,
	},
	{
		name: "arm64", arch: "arm64",
		machine: Machine{
			Qemu: "qemu-system-aarch64", How: "apt-get install qemu-system-arm", Console: "ttyAMA0",
			Options: []string{"-M", "virt", "-cpu", "cortex-a53", "-m", "768", "-nodefaults", "-serial", "stdio"},
		},
		modules: bridge, tests: "^TestBridge", least: 23,
	},
}

// TestMachines boots the machines in HIL, and runs package inside in each.
func TestMachines(t *testing.T) {
	names := strings.FieldsFunc(os.Getenv("HIL"), func(r rune) bool { return r == ',' || r == ' ' })
	if len(names) == 0 {
		t.Skip("make hil runs it")
	}
	for _, name := range names {
		i := slices.IndexFunc(targets, func(x target) bool { return x.name == name })
		if i < 0 {
			t.Fatalf("HIL: there is no machine %q", name)
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			targets[i].run(t)
		})
	}
}

func (x target) run(t *testing.T) {
	if err := x.machine.Missing(); err != nil {
		skip(t, err)
	}
	kernel, err := Debian(x.arch)
	if err != nil {
		skip(t, err)
	}
	dir := t.TempDir()
	image := filepath.Join(dir, "image")
	if err := kernel.Image(image, x.modules, programs(t, x.arch, dir)); err != nil {
		t.Fatal(err)
	}
	if some := os.Getenv("HIL_RUN"); some != "" { // for debugging
		x.tests, x.least = some, 1
	}
	m := x.machine
	m.Append += " hil=-test.run=" + x.tests
	if x.dtb != "" {
		list, _ := filepath.Glob(filepath.Join(kernel.Folder, x.dtb))
		if len(list) != 1 {
			t.Fatalf("%s: %d device trees", x.dtb, len(list))
		}
		m.Options = append(slices.Clone(m.Options), "-dtb", list[0])
	}
	cache, err := Cache()
	if err != nil {
		t.Fatal(err)
	}
	log, err := os.Create(filepath.Join(cache, x.name+".log")) // for watching a run
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = log.Close() }() // it is only a copy
	var console bytes.Buffer
	code, err := m.Boot(t.Context(), dir, kernel.File, image, io.MultiWriter(log, &console))
	if err != nil || code != 0 {
		t.Log("\n" + report(console.String()))
	} else {
		t.Log("\n" + strings.Join(shown.FindAllString(report(console.String()), -1), "\n"))
	}
	if err != nil {
		skip(t, err)
	}
	if passed := len(passes.FindAllString(console.String(), -1)); code != 0 || passed < x.least {
		t.Errorf("exit code %d, %d tests have passed, want %d or more", code, passed, x.least)
	}
}

// skip skips the test for a MissingError, and fails for other errors or with HIL_REQUIRE=1.
func skip(t *testing.T, err error) {
	t.Helper()
	missing, ok := errors.AsType[*MissingError](err)
	if !ok || os.Getenv("HIL_REQUIRE") == "1" {
		t.Fatal(err)
	}
	t.Skipf("HIL-SKIP: %v", missing)
}

// programs builds the static programs for a machine.
func programs(t *testing.T, arch, dir string) []File {
	t.Helper()
	build := func(name string, args ...string) File {
		file := File{Name: name, From: filepath.Join(dir, filepath.Base(name)+"-"+arch)}
		c := exec.Command("go", slices.Insert(args, 1, "-o", file.From)...)
		c.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS=linux", "GOARCH="+arch, "GOFLAGS="+os.Getenv("GOFLAGS")+" -buildvcs=false")
		if out, err := c.CombinedOutput(); err != nil {
			t.Fatalf("go %s: %v\n%s", strings.Join(args, " "), err, out)
		}
		return file
	}
	const module = "github.com/messkit/messkit/"
	return []File{
		build("init", "build", "-trimpath", "-ldflags=-s -w", module+"internal/test/hil/guest"),
		build("hil.test", "test", "-c", "-trimpath", "-ldflags=-s -w", module+"internal/test/hil/inside"),
		build("messkit", "build", "-trimpath", "-ldflags=-s -w", module+"cmd/messkit"),
	}
}

var (
	passes = regexp.MustCompile(`(?m)^--- PASS: `)
	// shown matches the lines of the console to show after success.
	shown  = regexp.MustCompile(`(?m)^(--- .*|.*GPLEV0 = .*|.*\$ messkit ask .*|.*ours .*, the kernel's .*)$`)
	noise  = regexp.MustCompile(`(?m)^(=== .*|\s*)\n`)
	escape = regexp.MustCompile(`\x1b\[[0-9;?]*[A-Za-z]`)
)

// report returns a console's text without escape sequences and empty lines.
func report(console string) string {
	return noise.ReplaceAllString(escape.ReplaceAllString(strings.ReplaceAll(console, "\r", ""), ""), "")
}
