package battery_test

import (
	"math"
	"os"
	"path/filepath"
	"testing"

	"github.com/messkit/messkit/internal/battery"
	"github.com/messkit/messkit/mess"
)

// supplies makes a folder of power supplies, each with its files.
func supplies(t testing.TB, all map[string]map[string]string) string {
	t.Helper()
	folder := t.TempDir()
	for name, files := range all {
		if err := os.Mkdir(filepath.Join(folder, name), 0o700); err != nil {
			t.Fatal(err)
		}
		for file, content := range files {
			if err := os.WriteFile(filepath.Join(folder, name, file), []byte(content+"\n"), 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	return folder
}

func TestRead(t *testing.T) {
	mains := map[string]string{"type": "Mains", "online": "1"}
	for name, c := range map[string]struct {
		all  map[string]map[string]string
		want mess.Battery
		ok   bool
	}{
		"a laptop": {map[string]map[string]string{"AC": mains, "BAT0": {"type": "Battery", "capacity": "73", "status": "Discharging", "present": "1"}}, mess.Battery{Percent: 73}, true},
		"charging": {map[string]map[string]string{"AC": mains, "BAT0": {"type": "Battery", "capacity": "8", "status": "Charging"}}, mess.Battery{Percent: 8, Charging: true}, true},
		"full":     {map[string]map[string]string{"BAT0": {"type": "Battery", "capacity": "100", "status": "Full"}}, mess.Battery{Percent: 100}, true},
		"two of different sizes": {map[string]map[string]string{
			"BAT0": {"type": "Battery", "capacity": "100", "energy_full": "10000000"}, "BAT1": {"type": "Battery", "capacity": "20", "energy_full": "30000000", "status": "Charging"},
		}, mess.Battery{Percent: 40, Charging: true}, true},
		"two without sizes":    {map[string]map[string]string{"BAT0": {"type": "Battery", "capacity": "100", "energy_full": "1"}, "BAT1": {"type": "Battery", "capacity": "20"}}, mess.Battery{Percent: 60}, true},
		"more than full":       {map[string]map[string]string{"BAT0": {"type": "Battery", "capacity": "104"}}, mess.Battery{Percent: 100}, true},
		"only mains":           {map[string]map[string]string{"AC": mains}, mess.Battery{}, false},
		"only a mouse":         {map[string]map[string]string{"hid-1": {"type": "Battery", "scope": "Device", "capacity": "5"}}, mess.Battery{}, false},
		"an empty bay":         {map[string]map[string]string{"BAT0": {"type": "Battery", "present": "0", "capacity": "0"}}, mess.Battery{}, false},
		"one without a charge": {map[string]map[string]string{"BAT0": {"type": "Battery", "status": "Unknown"}}, mess.Battery{}, false},
		"nonsense":             {map[string]map[string]string{"BAT0": {"type": "Battery", "capacity": "NaN"}, "BAT1": {"type": "Battery", "capacity": "-3"}}, mess.Battery{}, false},
		"nothing":              {nil, mess.Battery{}, false},
	} {
		if got, ok := battery.Read(supplies(t, c.all)); got != c.want || ok != c.ok {
			t.Errorf("%s: %+v %t, want %+v %t", name, got, ok, c.want, c.ok)
		}
	}
	if got, ok := battery.Read(filepath.Join(t.TempDir(), "none")); ok {
		t.Errorf("without the folder: %+v", got)
	}
}

// A battery reports a percentage for any content of its files, or nothing.
func FuzzRead(f *testing.F) {
	f.Add("73", "Charging", "50000")
	f.Add("1e999", "", "-1")
	f.Add("0x1p-2", "Full", "NaN")
	f.Fuzz(func(t *testing.T, capacity, status, full string) {
		folder := supplies(t, map[string]map[string]string{
			"BAT0": {"type": "Battery", "capacity": capacity, "status": status, "energy_full": full}, "BAT1": {"type": "Battery", "capacity": "50", "energy_full": "Inf"},
		})
		b, ok := battery.Read(folder)
		if !ok || math.IsNaN(b.Percent) || b.Percent < 0 || b.Percent > 100 {
			t.Errorf("%+v %t", b, ok)
		}
	})
}
