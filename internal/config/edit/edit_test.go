package edit_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/messkit/messkit/internal/config"
	"github.com/messkit/messkit/internal/config/edit"
	"github.com/messkit/messkit/internal/strictyaml"
)

func plug() *strictyaml.Value {
	v := &strictyaml.Value{Kind: strictyaml.Map}
	v.Add("driver", strictyaml.Str("mqtt"))
	v.Add("area", strictyaml.Str("kids' room"))
	return v
}

func TestAddDevice(t *testing.T) {
	const block = "  desk-lamp:\n    driver: mqtt\n    area: kids' room\n"
	for name, c := range map[string]struct{ before, after string }{
		"no text":         {"", "devices:\n" + block},
		"comment alone":   {"# mine\n", "# mine\n\ndevices:\n" + block},
		"no devices":      {"agent: {id: a}", "agent: {id: a}\n\ndevices:\n" + block},
		"empty section":   {"devices: # all\nagent: {id: a}\n", "devices: # all\n" + block + "agent: {id: a}\n"},
		"last section":    {"devices:\n  a: {driver: sim-bulb} # one\n", "devices:\n  a: {driver: sim-bulb} # one\n" + block},
		"section between": {"devices:\n  a:\n    driver: sim-bulb\n    # about a\n\n# the executor\nagent: {id: a}\n", "devices:\n  a:\n    driver: sim-bulb\n    # about a\n" + block + "\n# the executor\nagent: {id: a}\n"},
		"line ends":       {"devices:\r\n  a: {driver: sim-bulb}\r\n", "devices:\r\n  a: {driver: sim-bulb}\r\n" + strings.ReplaceAll(block, "\n", "\r\n")},
		"indentation":     {"devices:\n    a: {driver: sim-bulb}\n", "devices:\n    a: {driver: sim-bulb}\n" + strings.ReplaceAll("  "+strings.TrimSuffix(strings.ReplaceAll(block, "\n", "\n  "), "  "), "\n\n", "\n")},
	} {
		t.Run(name, func(t *testing.T) {
			after, err := edit.AddDevice([]byte(c.before), "desk-lamp", plug(), "")
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(c.after, string(after)); d != "" {
				t.Error(d)
			}
		})
	}
}

func TestAddDeviceWithComment(t *testing.T) {
	after, err := edit.AddDevice(nil, "desk-lamp", plug(), "found at\n 10.0.0.7")
	if want := "devices:\n  # found at 10.0.0.7\n  desk-lamp:\n    driver: mqtt\n    area: kids' room\n"; err != nil || string(after) != want {
		t.Errorf("%q %v, want %q", after, err, want)
	}
}

func TestUnsuitableTextStays(t *testing.T) {
	for name, text := range map[string]string{
		"flow section": "devices: {a: {driver: sim-bulb}}\n", "flow file": "{devices: {}}\n", "two documents": "a: 1\n---\nb: 2\n",
		"not YAML": "devices: [\n", "list": "- a\n", "name is there": "devices:\n  desk-lamp: {driver: sim-bulb}\n", "empty flow": "devices: {}\n",
		"comment in text": "devices:\n  a:\n    driver: x\n    label: |\n      one\n\n      # two\n",
	} {
		if after, err := edit.AddDevice([]byte(text), "desk-lamp", plug(), ""); err == nil {
			t.Errorf("%s: %q, want an error", name, after)
		}
	}
}

func TestSetField(t *testing.T) {
	for name, c := range map[string]struct {
		before, key string
		value       *strictyaml.Value
		after       string
	}{
		"replace":        {"devices:\n  a:\n    driver: x\n    area: hall # here\n", "area", strictyaml.Str("porch"), "devices:\n  a:\n    driver: x\n    area: porch # here\n"},
		"quoted":         {"devices:\n  a: {driver: x, area: \"h \\\" l\", b: 1}\n", "area", strictyaml.Str("a, b"), "devices:\n  a: {driver: x, area: \"a, b\", b: 1}\n"},
		"single quotes":  {"devices:\n  a: {driver: x, area: 'it''s', b: 1}\n", "area", strictyaml.Str("no"), "devices:\n  a: {driver: x, area: \"no\", b: 1}\n"},
		"add":            {"devices:\n  a:\n    driver: x # kind\n    b: 1\n", "label", strictyaml.Str("Größe: 3"), "devices:\n  a:\n    driver: x # kind\n    label: 'Größe: 3'\n    b: 1\n"},
		"add in flow":    {"devices:\n  a: {driver: x} # one\n", "hidden", strictyaml.Truth(true), "devices:\n  a: {driver: x, hidden: true} # one\n"},
		"remove":         {"devices:\n  a:\n    area: hall\n    driver: x\n", "area", nil, "devices:\n  a:\n    driver: x\n"},
		"remove comment": {"devices:\n  a:\n    driver: x\n    area: hall # why\n", "area", nil, "devices:\n  a:\n    driver: x\n    # why\n"},
		"remove in flow": {"devices:\n  a: {driver: x, area: hall, b: 1}\n", "area", nil, "devices:\n  a: {driver: x, b: 1}\n"},
		"remove first":   {"devices:\n  a: {area: hall, driver: x}\n", "area", nil, "devices:\n  a: {driver: x}\n"},
		"nothing":        {"devices:\n  a: {driver: x}\n", "area", nil, "devices:\n  a: {driver: x}\n"},
	} {
		t.Run(name, func(t *testing.T) {
			after, err := edit.SetField([]byte(c.before), "a", c.key, c.value)
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(c.after, string(after)); d != "" {
				t.Error(d)
			}
		})
	}
}

func TestUnsuitableFieldStays(t *testing.T) {
	for name, c := range map[string]struct {
		text  string
		value *strictyaml.Value
	}{
		"no device": {"devices:\n  b: {driver: x}\n", strictyaml.Str("y")}, "two lines": {"devices:\n  a: {driver: x}\n", strictyaml.Str("y\nz")},
		"block text": {"devices:\n  a:\n    driver: x\n    area: |\n      hall\n", strictyaml.Str("y")},
		"long text":  {"devices:\n  a:\n    driver: x\n    area: the\n      hall\n", strictyaml.Str("y")},
		"list":       {"devices:\n  a:\n    driver: x\n    area: [hall]\n", strictyaml.Str("y")}, "no driver": {"devices:\n  a:\n    b: x\n", strictyaml.Str("y")},
		"map": {"devices:\n  a: {driver: x}\n", plug()},
	} {
		if after, err := edit.SetField([]byte(c.text), "a", "area", c.value); err == nil {
			t.Errorf("%s: %q, want an error", name, after)
		}
	}
}

// Whatever the text is, an edit that succeeds changes the one value alone, and keeps every comment.
func FuzzEdit(f *testing.F) {
	f.Add("devices:\n  a:\n    driver: x # kind\n\n# end\n", "a", "area", "hall")
	f.Add("# mine\ndevices:\n  a: {driver: 'x', area: \"h\"} # one\nagent: {id: b}\n", "a", "area", "a: b # c")
	f.Add("devices: # all\n", "b", "label", "{}")
	f.Add("devices:\n", "\xaa", "0", "\x00")
	f.Add(string(config.SimulatedHome), "porch-light", "label", "no")
	f.Fuzz(func(t *testing.T, text, device, key, value string) {
		docs, err := strictyaml.Parse([]byte(text), strictyaml.Config)
		if err != nil || len(docs) > 1 {
			t.Skip()
		}
		check := func(after []byte, err error) {
			if err != nil {
				return
			}
			all, err := strictyaml.Parse(after, strictyaml.Config)
			if err != nil || len(all) != 1 || all[0].Get("devices") == nil {
				t.Fatalf("%q: %v", after, err)
			}
			got := all[0].Get("devices").Get(device)
			if got == nil {
				t.Fatalf("no device in %q", after)
			}
			if v := got.Get(key); v == nil || v.Text != value {
				t.Fatalf("%s is %+v in %q", key, v, after)
			}
			for line := range strings.Lines(text) { // every line that is only a comment stays
				if strings.HasPrefix(strings.TrimSpace(line), "#") && !strings.Contains(string(after), strings.TrimRight(line, "\r\n")) {
					t.Fatalf("%q is missing in %q", line, after)
				}
			}
		}
		check(edit.SetField([]byte(text), device, key, strictyaml.Str(value)))
		block := &strictyaml.Value{Kind: strictyaml.Map}
		block.Add(key, strictyaml.Str(value))
		check(edit.AddDevice([]byte(text), device, block, value))
	})
}

func TestSave(t *testing.T) {
	name := filepath.Join(t.TempDir(), "messkit.yaml")
	now := time.Date(2026, 11, 29, 4, 0, 0, 0, time.UTC)
	if text, revision, err := edit.Read(name); text != nil || revision != "" || err != nil {
		t.Fatal(text, revision, err)
	}
	if backup, err := edit.Save(name, []byte("a: 1\n"), "", now); backup != "" || err != nil {
		t.Fatal(backup, err)
	}
	if err := os.Chmod(name, 0o640); err != nil {
		t.Fatal(err)
	}
	for i := range 15 {
		_, revision, err := edit.Read(name)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := edit.Save(name, []byte("a: 1\nb: "+strings.Repeat("x", i)+"\n"), revision, now.Add(time.Duration(i)*time.Second)); err != nil {
			t.Fatal(err)
		}
	}
	info, err := os.Stat(name)
	if err != nil || info.Mode().Perm() != 0o640 {
		t.Errorf("%v %v, want mode 0640", info.Mode(), err)
	}
	list := edit.Backups(name)
	if len(list) != 10 || !slices.IsSortedFunc(list, func(a, b string) int { return strings.Compare(b, a) }) {
		t.Errorf("%d backups: %v, want the newest 10", len(list), list)
	}
	if text, err := edit.Backup(name, list[0]); err != nil || string(text) != "a: 1\nb: "+strings.Repeat("x", 13)+"\n" {
		t.Errorf("%q %v", text, err)
	}
	if _, err := edit.Backup(name, "../../etc/passwd"); err == nil {
		t.Error("a file that is no backup was read")
	}
}

func TestSaveKeepsChangeOfOthers(t *testing.T) {
	name := filepath.Join(t.TempDir(), "messkit.yaml")
	if err := os.WriteFile(name, []byte("mine\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, revision := range []string{"", edit.Revision([]byte("other\n"))} {
		if _, err := edit.Save(name, []byte("new\n"), revision, time.Now()); err == nil {
			t.Error("the change of another program is lost")
		}
	}
	if text, _, _ := edit.Read(name); string(text) != "mine\n" || len(edit.Backups(name)) != 0 {
		t.Errorf("%q, %v", text, edit.Backups(name))
	}
}

func TestSaveKeepsLink(t *testing.T) {
	dir := t.TempDir()
	file, link := filepath.Join(dir, "real.yaml"), filepath.Join(dir, "messkit.yaml")
	if err := os.WriteFile(file, []byte("a\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(file, link); err != nil {
		t.Fatal(err)
	}
	if _, err := edit.Save(link, []byte("b\n"), edit.Revision([]byte("a\n")), time.Now()); err != nil {
		t.Fatal(err)
	}
	if text, err := os.ReadFile(file); err != nil || string(text) != "b\n" || len(edit.Backups(link)) != 1 {
		t.Errorf("%q %v %v", text, err, edit.Backups(link))
	}
	if to, err := os.Readlink(link); err != nil || to != file {
		t.Errorf("%s %v", to, err)
	}
}
