package main

import (
	"strings"
	"testing"
	"time"

	"github.com/messkit/messkit/internal/cli/doctor"
	"github.com/messkit/messkit/internal/resources"
)

func TestDoctorReportsLimits(t *testing.T) {
	now := time.Now()
	for name, c := range map[string]struct {
		use  resources.Use
		ok   bool
		want string // "": no message
	}{
		"little is used":      {resources.Use{Now: 79, Limit: 100}, true, ""},
		"it is about to bind": {resources.Use{Now: 80, Limit: 100}, true, "connections: 80 of 100: the limit is about to bind; raise rate:"},
		"all is used":         {resources.Use{Now: 100, Limit: 100}, false, "connections: 100 of 100: the limit binds; raise rate:, or look"},
		"it has bound lately": {resources.Use{Now: 1, Limit: 100, Refused: 7, Last: now.Add(-time.Minute)}, false, "the exchange turned 7 away, the last at "},
		"it bound before":     {resources.Use{Now: 1, Limit: 100, Refused: 7, Last: now.Add(-time.Hour)}, true, "; raise rate: if that comes again"},
	} {
		c.use.What, c.use.Setting = "connections", "rate:"
		f, quiet := doctor.CheckLimit(c.use, now)
		if f.OK != c.ok || quiet != (c.want == "") || !strings.Contains(f.Says, c.want) || f.Note != f.OK {
			t.Errorf("%s: %+v, %t", name, f, quiet)
		}
	}
}
