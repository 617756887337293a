package edit_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/messkit/messkit/internal/config"
	"github.com/messkit/messkit/internal/config/edit"
	"github.com/messkit/messkit/internal/strictyaml"
)

func TestRemoveDevice(t *testing.T) {
	for name, c := range map[string]struct{ before, after string }{
		"first":        {"devices:\n  a: {driver: x} # one\n  b: {driver: y} # two\n", "devices:\n  b: {driver: y} # two\n"},
		"last":         {"devices:\n  b: {driver: y}\n  a:\n    driver: x\n    # inside\n", "devices:\n  b: {driver: y}\n"},
		"between":      {"devices:\n  b: {driver: y} # two\n  a:\n    driver: x\n\n  # about c\n  c: {driver: z}\n", "devices:\n  b: {driver: y} # two\n\n  # about c\n  c: {driver: z}\n"},
		"its comment":  {"devices:\n  b: {driver: y}\n\n  # about a,\n  # in two lines\n  a: {driver: x}\nagent: {id: i}\n", "devices:\n  b: {driver: y}\n\nagent: {id: i}\n"},
		"other part":   {"devices:\n  b: {driver: y}\n  a: {driver: x}\n\n# the executor\nagent: {id: i}\n", "devices:\n  b: {driver: y}\n\n# the executor\nagent: {id: i}\n"},
		"the only one": {"# mine\ndevices: # all\n  a: {driver: x}\nagent: {id: i}\n", "# mine\ndevices: # all\nagent: {id: i}\n"},
		"line ends":    {"devices:\r\n  a: {driver: x}\r\n  b: {driver: y}\r\n", "devices:\r\n  b: {driver: y}\r\n"},
		"same comment": {"devices:\n  a: {driver: x} # here\n  b: {driver: y} # here\n", "devices:\n  b: {driver: y} # here\n"},
	} {
		t.Run(name, func(t *testing.T) {
			after, err := edit.RemoveDevice([]byte(c.before), "a")
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(c.after, string(after)); d != "" {
				t.Error(d)
			}
		})
	}
}

func TestUnsuitableRemovalChangesNothing(t *testing.T) {
	for name, text := range map[string]string{
		"no text": "", "no devices": "agent: {id: a}\n", "no such device": "devices:\n  b: {driver: x}\n", "flow section": "devices: {a: {driver: x}}\n",
		"not YAML": "devices: [\n", "two documents": "devices:\n  a: {driver: x}\n---\nb: 2\n",
	} {
		if after, err := edit.RemoveDevice([]byte(text), "a"); err == nil {
			t.Errorf("%s: %q, want an error", name, after)
		}
	}
}

// Each device of the simulated home can be removed, and nothing else changes.
func TestEachDeviceIsRemovable(t *testing.T) {
	docs, err := strictyaml.Parse(config.SimulatedHome, strictyaml.Config)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range docs[0].Get("devices").Pairs {
		after, err := edit.RemoveDevice(config.SimulatedHome, p.Key)
		if err != nil || strings.Contains(string(after), "\n  "+p.Key+":") {
			t.Errorf("%s: %v", p.Key, err)
		}
	}
}

// A removal never panics, and the result is a text that has all but the device.
func FuzzRemoveDevice(f *testing.F) {
	f.Add([]byte("devices:\n  a: {driver: x} # one\n  # two\n  b:\n    driver: y\n"), "a")
	f.Add(config.SimulatedHome, "lamp")
	f.Fuzz(func(t *testing.T, text []byte, name string) {
		after, err := edit.RemoveDevice(text, name)
		if err != nil {
			return
		}
		docs, err := strictyaml.Parse(after, strictyaml.Config)
		if err != nil || len(docs) > 0 && docs[0].Get("devices") != nil && docs[0].Get("devices").Get(name) != nil {
			t.Errorf("%q without %q is %q: %v", text, name, after, err)
		}
	})
}
