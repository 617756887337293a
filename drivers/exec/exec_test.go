package exec_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/messkit/messkit/drivers"
	"github.com/messkit/messkit/drivers/drivertest"
	"github.com/messkit/messkit/drivers/exec"
)

// home is a folder with test programs. The lamp program writes its own log.
type home struct{ dir string }

func newHome(t *testing.T) *home {
	t.Helper()
	h := &home{t.TempDir()}
	h.write(t, "lamp", `
case "$1" in
on) echo on >> DIR/log ;;
off) echo off >> DIR/log ;;
state) [ "$(tail -1 DIR/log 2>/dev/null)" = on ] ;;
esac`)
	return h
}

// write writes a program.
func (h *home) write(t *testing.T, name, text string) string {
	t.Helper()
	file := filepath.Join(h.dir, name)
	if err := os.WriteFile(file, []byte("#!/bin/sh\n"+strings.ReplaceAll(text, "DIR", h.dir)+"\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	return file
}

func (h *home) log() []string {
	text, _ := os.ReadFile(filepath.Join(h.dir, "log"))
	return strings.Fields(string(text))
}

func (h *home) on() bool {
	log := h.log()
	return len(log) > 0 && log[len(log)-1] == "on"
}

func (h *home) force(t *testing.T, on bool) {
	t.Helper()
	f, err := os.OpenFile(filepath.Join(h.dir, "log"), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	fmt.Fprintln(f, map[bool]string{true: "on", false: "off"}[on])
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
}

func lamp(h *home, change func(*exec.SwitchConfig)) drivers.Device {
	cfg := exec.DefaultSwitchConfig()
	program := filepath.Join(h.dir, "lamp")
	cfg.On, cfg.Off, cfg.State = []string{program, "on"}, []string{program, "off"}, []string{program, "state"}
	if change != nil {
		change(&cfg)
	}
	return exec.NewSwitch("lamp", cfg)
}

func TestSuiteOfSwitches(t *testing.T) {
	for name, change := range map[string]func(*exec.SwitchConfig){
		"readable":                nil,
		"cannot report its state": func(c *exec.SwitchConfig) { c.State = nil },
	} {
		t.Run(name, func(t *testing.T) {
			var h *home
			drivertest.Run(t, func(t *testing.T) drivers.Device { h = newHome(t); return lamp(h, change) },
				drivertest.Safe(func() error {
					if h.on() {
						return errors.New("it is on")
					}
					return nil
				}),
				drivertest.Acts(func() int { return len(h.log()) }),
				drivertest.Level(func() bool { return h.on() }),
				drivertest.Force(func(on bool) { h.force(t, on) }),
			)
		})
	}
}

func TestSuiteOfSensorAndCamera(t *testing.T) {
	t.Run("sensor", func(t *testing.T) {
		drivertest.Run(t, func(t *testing.T) drivers.Device { return sensor(t, "echo 21.5", nil) })
	})
	t.Run("camera", func(t *testing.T) {
		drivertest.Run(t, func(t *testing.T) drivers.Device { return camera(t, `printf '\377\330\377\340pic'`, nil) })
	})
}

func sensor(t *testing.T, text string, change func(*exec.SensorConfig)) *exec.Sensor {
	t.Helper()
	cfg := exec.DefaultSensorConfig()
	cfg.Read, cfg.Quantity, cfg.Unit = []string{newHome(t).write(t, "read", text)}, "temperature", "°C"
	if change != nil {
		change(&cfg)
	}
	return exec.NewSensor("tank", cfg, time.Now)
}

func camera(t *testing.T, text string, change func(*exec.CameraConfig)) *exec.Camera {
	t.Helper()
	cfg := exec.DefaultCameraConfig()
	cfg.Photo = []string{newHome(t).write(t, "shoot", text)}
	if change != nil {
		change(&cfg)
	}
	return exec.NewCamera("door-cam", cfg, time.Now)
}

func TestSensor(t *testing.T) {
	for _, tt := range []struct{ text, want string }{
		{"echo ' -3.5 '", "-3.5"},
		{"echo 21 C", "tank: %s prints \"21 C\\n\", which is not a number; change it so that it prints one number and nothing else"},
		{"echo NaN", "tank: %s prints \"NaN\\n\", which is not a number; change it so that it prints one number and nothing else"},
		{"echo 1; echo broken >&2; exit 2", "tank: read exited with code 2, saying \"broken\""},
		{"sleep 100", "tank: read was killed after 300ms"},
		{"yes", "tank: read writes more than 4096 bytes; messkit has killed it"},
	} {
		var program string
		s := sensor(t, tt.text, func(c *exec.SensorConfig) {
			program = c.Read[0]
			if tt.text == "sleep 100" {
				c.Timeout = 300 * time.Millisecond
			}
		})
		if err := s.Start(); err != nil {
			t.Fatal(err)
		}
		list, err := s.Read(t.Context())
		got := ""
		if err != nil {
			got = err.Error()
		} else {
			got = fmt.Sprint(list[0].Value)
		}
		want := tt.want
		if strings.Contains(want, "%s") {
			want = fmt.Sprintf(want, program)
		}
		if got != want {
			t.Errorf("%s: %s, want %s", tt.text, got, want)
		}
	}
}

func TestCamera(t *testing.T) {
	for text, want := range map[string]string{
		"echo '<html>'": "door-cam: %s writes text/html; charset=utf-8 of 7 bytes, neither JPEG nor PNG",
		"yes":           "door-cam: shoot writes more than 16777216 bytes; messkit has killed it",
		"true":          "door-cam: %s writes text/plain; charset=utf-8 of 0 bytes, neither JPEG nor PNG",
	} {
		var program string
		c := camera(t, text, func(c *exec.CameraConfig) { program = c.Photo[0] })
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
		if _, err := c.Photo(t.Context()); err == nil || !strings.HasPrefix(err.Error(), strings.ReplaceAll(want, "%s", program)) {
			t.Errorf("%s: %v", text, err)
		}
	}
}

// A driver does not run a program that another user could have changed since Start.
func TestChangedProgram(t *testing.T) {
	h := newHome(t)
	d := lamp(h, nil)
	if err := d.Start(); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(filepath.Join(h.dir, "lamp"), 0o777); err != nil {
		t.Fatal(err)
	}
	if err := d.(drivers.Switch).Switch(t.Context(), true); err == nil || !strings.Contains(err.Error(), "other users can replace") || !errors.Is(err, drivers.ErrNothingDone) || h.on() {
		t.Errorf("%v; it is on: %t", err, h.on())
	}
}

func TestStateOfUnknownCode(t *testing.T) {
	h := newHome(t)
	d := lamp(h, func(c *exec.SwitchConfig) { c.State = []string{h.write(t, "ask", "exit 7")} })
	if err := d.Start(); err != nil {
		t.Fatal(err)
	}
	if _, err := d.(drivers.SwitchReader).On(t.Context()); err == nil || err.Error() != "lamp: ask exited with code 7; 0 is on, 1 is off" {
		t.Error(err)
	}
}

func TestValidate(t *testing.T) {
	h := newHome(t)
	good := exec.DefaultSwitchConfig()
	good.On, good.Off = []string{filepath.Join(h.dir, "lamp"), "on"}, []string{filepath.Join(h.dir, "lamp"), "off"}
	if err := good.Validate(); err != nil {
		t.Fatal(err)
	}
	for want, change := range map[string]func(*exec.SwitchConfig){
		"on: is empty":                              func(c *exec.SwitchConfig) { c.On = nil },
		"off: \"lamp\" is not a full path":          func(c *exec.SwitchConfig) { c.Off = []string{"lamp"} },
		"state: \"/bin/sh\" executes its arguments": func(c *exec.SwitchConfig) { c.State = []string{"/bin/sh", "-c", "true"} },
		"safe: \"yes\" is unknown":                  func(c *exec.SwitchConfig) { c.Safe = "yes" },
		"timeout: 1h0m0s is not":                    func(c *exec.SwitchConfig) { c.Timeout = time.Hour },
	} {
		c := good
		change(&c)
		if err := c.Validate(); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("Validate = %v, want %s", err, want)
		}
	}
	if err := exec.DefaultSensorConfig().Validate(); err == nil || !strings.Contains(err.Error(), "quantity: is missing") {
		t.Error(err)
	}
	if err := exec.DefaultCameraConfig().Validate(); err == nil || !strings.Contains(err.Error(), "photo: is empty") {
		t.Error(err)
	}
}
