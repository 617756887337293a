package onewire

import (
	"os"
	"path/filepath"
	"testing"
)

func TestFind(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"28-0000005a1b2c", "10-0000005a1b2c", "w1_bus_master1"} {
		if err := os.Mkdir(filepath.Join(dir, name), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	got := find(dir)
	if len(got) != 1 || got[0].Name != "thermometer-5a1b2c" || got[0].Config["id"] != "28-0000005a1b2c" {
		t.Errorf("%+v", got)
	}
	if got := find(filepath.Join(dir, "none")); got != nil {
		t.Errorf("%+v without a bus", got)
	}
}
