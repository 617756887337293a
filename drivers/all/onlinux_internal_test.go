package all

import (
	"runtime"
	"strings"
	"testing"

	"github.com/messkit/messkit/drivers"
)

// On other systems than Linux the kinds have the same names, and Open reports that they
// need Linux.
func TestLinuxKindsElsewhere(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("this test compares with the drivers of Linux")
	}
	here, there := board(), onLinux()
	if len(here) != len(there) {
		t.Fatalf("%d kinds, and %d elsewhere", len(here), len(there))
	}
	for i, k := range there {
		if k.Name != here[i].Name || k.Class != here[i].Class {
			t.Errorf("%s (%s) is elsewhere %s (%s)", here[i].Name, here[i].Class, k.Name, k.Class)
		}
		if _, err := k.Open(drivers.Env{}, nil); err == nil || !strings.Contains(err.Error(), "needs Linux") {
			t.Errorf("%s opens elsewhere: %v", k.Name, err)
		}
	}
}
