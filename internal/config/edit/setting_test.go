package edit_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/messkit/messkit/internal/config/edit"
	"github.com/messkit/messkit/internal/strictyaml"
)

var quiet = []string{"agent", "limits", "quiet_hours"}

func TestSetSetting(t *testing.T) {
	night := strictyaml.Str("22:00-07:00")
	for name, c := range map[string]struct {
		before string
		value  *strictyaml.Value
		after  string
	}{
		"empty":             {"", night, "agent:\n  limits:\n    quiet_hours: \"22:00-07:00\"\n"},
		"another section":   {"devices:\n  a: {driver: x} # one\n", night, "devices:\n  a: {driver: x} # one\n\nagent:\n  limits:\n    quiet_hours: \"22:00-07:00\"\n"},
		"no line end":       {"exchange: {id: home}", night, "exchange: {id: home}\n\nagent:\n  limits:\n    quiet_hours: \"22:00-07:00\"\n"},
		"section":           {"agent: # this\n    id: pi # name\n\ndevices: {}\n", night, "agent: # this\n    limits:\n      quiet_hours: \"22:00-07:00\"\n    id: pi # name\n\ndevices: {}\n"},
		"section and limit": {"agent:\n  limits:\n      # how often\n      max_acts: 60/h\n", night, "agent:\n  limits:\n      quiet_hours: \"22:00-07:00\"\n      # how often\n      max_acts: 60/h\n"},
		"replace":           {"agent:\n  limits:\n    quiet_hours: \"20:00-05:00\" # sleep\n    busy: wait\n", night, "agent:\n  limits:\n    quiet_hours: \"22:00-07:00\" # sleep\n    busy: wait\n"},
		"replace in flow":   {"agent:\n  limits: {quiet_hours: 20:00-05:00, busy: wait}\n", night, "agent:\n  limits: {quiet_hours: \"22:00-07:00\", busy: wait}\n"},
		"remove":            {"agent:\n  limits:\n    quiet_hours: 20:00-05:00 # sleep\n    busy: wait\n", nil, "agent:\n  limits:\n    # sleep\n    busy: wait\n"},
		"remove the rest":   {"agent:\n  id: pi\n  limits: # all\n    quiet_hours: 20:00-05:00\ndevices: {}\n", nil, "agent:\n  id: pi\n  # all\ndevices: {}\n"},
		"remove everything": {"agent:\n  limits:\n    quiet_hours: 20:00-05:00\n", nil, ""},
		"nothing to remove": {"agent:\n  id: pi\n", nil, "agent:\n  id: pi\n"},
		"line ends":         {"agent:\r\n  id: pi\r\n", night, "agent:\r\n  limits:\r\n    quiet_hours: \"22:00-07:00\"\r\n  id: pi\r\n"},
	} {
		t.Run(name, func(t *testing.T) {
			after, err := edit.SetSetting([]byte(c.before), quiet, c.value)
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(c.after, string(after)); d != "" {
				t.Error(d)
			}
		})
	}
}

// A layout that would lose something stays.
func TestUnsuitableSettingStays(t *testing.T) {
	for name, text := range map[string]string{
		"flow": "agent: {id: pi}\n", "flow limits": "agent:\n  limits: {busy: wait}\n", "list": "agent: [a]\n", "text": "agent: pi\n", "list of limits": "agent:\n  limits: [a]\n",
		"mapping": "agent:\n  limits:\n    quiet_hours: {from: 1}\n", "tab": "agent:\n\tid: pi\n", "two documents": "a: 1\n---\nb: 2\n",
	} {
		if after, err := edit.SetSetting([]byte(text), quiet, strictyaml.Str("22:00-07:00")); err == nil {
			t.Errorf("%s: %q, want an error", name, after)
		}
	}
	if after, err := edit.SetSetting([]byte("a: 1\n"), quiet, &strictyaml.Value{Kind: strictyaml.Map}); err == nil {
		t.Errorf("a mapping: %q, want an error", after)
	}
}

// A change of a setting keeps every comment, and the same change again changes nothing.
func FuzzSetSetting(f *testing.F) {
	for _, text := range []string{"", "agent:\n  limits:\n    busy: wait # x\n", "agent:\n  id: pi\ndevices: {}\n", "# one\nagent: # two\n  # three\n  id: pi\n"} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		after, err := edit.SetSetting(text, quiet, strictyaml.Str("01:02-03:04"))
		if err != nil {
			return
		}
		for line := range strings.Lines(string(text)) {
			if is := strings.TrimSpace(line); strings.HasPrefix(is, "#") && !slices.ContainsFunc(strings.Split(string(after), "\n"), func(l string) bool { return strings.TrimSpace(l) == is }) {
				t.Errorf("%q loses %q: %q", text, is, after)
			}
		}
		again, err := edit.SetSetting(after, quiet, strictyaml.Str("01:02-03:04"))
		if err == nil && string(again) != string(after) {
			t.Errorf("%q: the second change gives %q", text, again)
		}
	})
}
