package printer

import (
	"testing"
)

// The driver rejects impossible states of a server.
func FuzzParse(f *testing.F) {
	for _, s := range []string{
		`{"print_stats":{"state":"printing","filename":"a.gcode","total_duration":12.5,"info":{"total_layer":10,"current_layer":2}},"virtual_sdcard":{"progress":0.2},"extruder":{"temperature":210,"target":215}}`,
		`{"job":{"file":{"name":"a.gcode","path":"a.gcode"}},"progress":{"completion":22.5,"printTime":276,"printTimeLeft":912},"state":"Printing"}`,
		`{"job":{"id":420,"progress":50.0,"time_remaining":520,"time_printing":526},"printer":{"state":"PRINTING","temp_bed":59.9,"status_printer":{"ok":true,"message":"OK"}}}`,
		`{"print_stats":{"state":"printing","info":{"total_layer":1e300,"current_layer":-5}},"virtual_sdcard":{"progress":-1e300}}`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		for name, parse := range map[string]func([]byte) (state, error){"moonraker": parseMoonraker, "octoprint": parseOcto, "prusalink": parsePrusa} {
			s, err := parse(data)
			if err != nil {
				if s != (state{}) {
					t.Errorf("%s: an error with %+v", name, s)
				}
				continue
			}
			if !(s.Percent >= 0 && s.Percent <= 100) || s.Left < 0 || s.Elapsed < 0 || s.Layer < 0 || s.Layer > s.Layers || s.Phase == "" {
				t.Errorf("%s: %+v", name, s)
			}
			if text, _ := s.describe(); text == "" {
				t.Errorf("%s: no text for %+v", name, s)
			}
		}
	})
}

func FuzzByName(f *testing.F) {
	f.Add("benchy_0.2mm_PLA.gcode", "toys/benchy.gcode", "../x.gcode")
	f.Fuzz(func(t *testing.T, a, b, c string) {
		seen := map[string]bool{}
		for _, one := range byName([]listed{{a, a}, {b, b}, {c, c}}) {
			if one.name == "" || seen[one.name] || !inside(one.path) {
				t.Errorf("%+v", one)
			}
			seen[one.name] = true
		}
	})
}
