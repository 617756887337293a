package resources

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// memory returns the memory of the machine, or of a control group of the process that has less.
// It returns 0 if the system does not report it.
func memory() int64 {
	var s unix.Sysinfo_t
	if unix.Sysinfo(&s) != nil {
		return 0
	}
	least := int64(s.Totalram) * int64(s.Unit)
	for dir := ofGroup(); dir != "" && dir != "."; dir = filepath.Dir(dir) {
		text, err := os.ReadFile(filepath.Join("/sys/fs/cgroup", dir, "memory.max"))
		if n, wrong := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64); err == nil && wrong == nil {
			least = min(least, n)
		}
		if dir == "/" {
			break
		}
	}
	return least
}

// ofGroup returns the control group (version 2) of this process, such as
// /system.slice/x.service, or "".
func ofGroup() string {
	text, _ := os.ReadFile("/proc/self/cgroup") // without it there is no group
	for line := range strings.Lines(string(text)) {
		if name, ok := strings.CutPrefix(line, "0::"); ok {
			return strings.TrimSpace(name)
		}
	}
	return ""
}
