package sim

import (
	"strings"
	"testing"

	"github.com/messkit/messkit/drivers/sim/scene"
)

func TestLastLevel(t *testing.T) {
	for notes, want := range map[string]bool{
		"":                                  false,
		"2026 on 1 \"a\"\n":                 true,
		"2026 on 1 \"a\"\n2026 off 2 b\n":   false,
		"2026 off 1 \"a\"\n2026 on 2 \"b":   false, // incomplete: the power failed during the write
		"2026 on 1 \"a\"\n\n":               true,
		"ut off 1 a\n2026 on 2 a\n garbage": true,
	} {
		if got := lastLevel(notes); got != want {
			t.Errorf("lastLevel(%q) = %t", notes, got)
		}
	}
}

func FuzzLastLevel(f *testing.F) {
	f.Add("2026 on 1 \"a\"\n", true)
	f.Fuzz(func(t *testing.T, notes string, on bool) {
		// After any content, the next entry counts.
		if i := strings.LastIndexByte(notes, '\n'); lastLevel(notes[:i+1]+"2026 "+scene.OnOff(on)+" 1 \"a\"\n") != on {
			t.Errorf("%q", notes)
		}
	})
}
