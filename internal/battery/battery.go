// Package battery reads the charge of the batteries that supply this machine.
package battery

import (
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/messkit/messkit/mess"
)

// Folder has the power supplies of a Linux machine (Documentation/ABI/testing/sysfs-class-power).
const Folder = "/sys/class/power_supply"

// Read returns the charge of the batteries in a folder of power supplies: the mean of several ones,
// weighted by their size if all report it. ok is false if the machine has no battery, and on other
// systems than Linux. The battery of a mouse or of another device does not supply the machine, so
// Read leaves it out.
func Read(folder string) (b mess.Battery, ok bool) {
	names, _ := filepath.Glob(filepath.Join(folder, "*")) // the only error is that of a bad pattern
	var percents, sizes []float64
	for _, dir := range names {
		if text(dir, "type") != "Battery" || text(dir, "scope") == "Device" || text(dir, "present") == "0" {
			continue
		}
		percent, err := strconv.ParseFloat(text(dir, "capacity"), 64)
		if err != nil || !(percent >= 0) {
			continue
		}
		percents, sizes = append(percents, min(percent, 100)), append(sizes, size(dir))
		b.Charging = b.Charging || text(dir, "status") == "Charging"
	}
	if len(percents) == 0 {
		return mess.Battery{}, false
	}
	weight := func(i int) float64 { return sizes[i] }
	for _, s := range sizes {
		if s <= 0 {
			weight = func(int) float64 { return 1 }
		}
	}
	sum, all := 0.0, 0.0
	for i, p := range percents {
		sum, all = sum+p*weight(i), all+weight(i)
	}
	b.Percent = float64(int(sum/all + 0.5))
	return b, true
}

// size returns the energy of a full battery in µWh, 0 if it does not report that.
func size(dir string) float64 {
	full, err := strconv.ParseFloat(text(dir, "energy_full"), 64)
	if err != nil || !(full > 0) || math.IsInf(full, 0) {
		return 0
	}
	return full
}

// text returns the content of a file without the end of its line, "" if it cannot be read.
func text(dir, name string) string {
	data, err := os.ReadFile(filepath.Join(dir, name))
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(data))
}
