package messkit_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/messkit/messkit"
	"github.com/messkit/messkit/drivers"
)

// part is a device that does nothing.
type part struct{ drivers.Base }

func (p *part) Start() error { p.MarkStarted(); return nil }
func (p *part) Halt() error  { p.StopVerbs(); return nil }

func TestRunReportsErrorsInOptions(t *testing.T) {
	lamp := messkit.Device{Class: "light", Driver: &part{drivers.NewBase("lamp")}}
	config := func(text string) []messkit.Device { d := lamp; d.Config = text; return []messkit.Device{d} }
	const url = "http://127.0.0.1:1"
	for _, c := range []struct {
		name    string
		options messkit.Options
		want    string
	}{
		{"no_folder", messkit.Options{URL: url}, "Options.Dir is empty"},
		{"no_url", messkit.Options{Dir: "d"}, "connect.url: is missing"},
		{"no_name", messkit.Options{URL: url, Dir: "d", Devices: []messkit.Device{{Kind: drivers.Kind{}}}}, "a device has no name"},
		{"no_driver", messkit.Options{URL: url, Dir: "d", Devices: []messkit.Device{{Name: "lamp"}}}, "devices.lamp: there is no driver"},
		{"same_name", messkit.Options{URL: url, Dir: "d", Devices: []messkit.Device{lamp, lamp}}, "devices.lamp: two devices have this name"},
		{"unknown_key", messkit.Options{URL: url, Dir: "d", Devices: config("limit: {max_on: 1h}")}, "devices.lamp.limit: unknown key (did you mean limits?)"},
		{"no_mapping", messkit.Options{URL: url, Dir: "d", Devices: config("light")}, "devices.lamp: want keys with values"},
		{"bad_YAML", messkit.Options{URL: url, Dir: "d", Devices: config("{")}, "devices.lamp: line 1: "},
		{"key_twice", messkit.Options{URL: url, Dir: "d", Devices: config("class: fan")}, "devices.lamp.class: is in the text and in a field"},
		{"unknown_class", messkit.Options{URL: url, Dir: "d", Devices: []messkit.Device{{Class: "lihgt", Driver: lamp.Driver}}}, `devices.lamp.class: "lihgt" is unknown`},
		{"unknown_agent_key", messkit.Options{URL: url, Dir: "d", Agent: "confrim: {}"}, "agent.confrim: unknown key"},
		{"bad_id", messkit.Options{URL: url, Dir: "d", ID: "a b"}, `agent.id: "a b" cannot name an executor`},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Chdir(t.TempDir())
			err := messkit.Run(t.Context(), c.options)
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("Run = %v; want %q", err, c.want)
			}
		})
	}
}

func TestOptionsHideSecrets(t *testing.T) {
	text := fmt.Sprintf("%v %+v %#v", messkit.Options{Key: "sesame"}, messkit.Options{Enroll: "sesame"}, messkit.Options{Key: "sesame"})
	if strings.Contains(text, "sesame") {
		t.Errorf("the options print as %s", text)
	}
}
