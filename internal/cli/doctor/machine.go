package doctor

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/messkit/messkit/internal/cli/output"
	"github.com/messkit/messkit/internal/resources"
)

// checkData reads a data folder, and writes to it.
func checkData(dir string) output.CheckResult {
	info, err := os.Stat(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return output.CheckResult{What: "data", OK: true, Says: dir + " is not there yet; messkit run makes it"}
	case err == nil && !info.IsDir():
		err = fmt.Errorf("%s is not a folder; move it away", dir)
	case err == nil && info.Mode().Perm()&0o077 != 0:
		err = fmt.Errorf("%s is readable by other users; run chmod 700 %[1]s", dir)
	case err == nil:
		err = tryDisk(dir)
	}
	return newCheckResult("data", err, "%s", dir)
}

// tryDisk writes and syncs a file as the journal does.
func tryDisk(dir string) (err error) {
	f, err := os.CreateTemp(dir, ".doctor-*")
	if err != nil {
		return fmt.Errorf("%s is not writable: %w; give it to the user that runs messkit: chown", dir, err)
	}
	defer func() { err = errors.Join(err, f.Close(), os.Remove(f.Name())) }()
	if _, err = f.Write(make([]byte, 4096)); err == nil {
		err = f.Sync()
	}
	if err != nil {
		return fmt.Errorf("%s: %w; look for room, and with dmesg at the disk itself", dir, err)
	}
	return nil
}

// minFree is the space that journal and images need for a while, in bytes.
const minFree = 64 << 20

func checkSpace(dir string) output.CheckResult {
	free, dir, known := resources.FreeSpace(dir)
	switch {
	case !known:
		return output.CheckResult{What: "space", OK: true, Says: "the file system of " + dir + " does not report its free space"}
	case free < minFree:
		return output.CheckResult{What: "space", Says: fmt.Sprintf("%d MB free for %s; make room", free>>20, dir)}
	}
	return output.CheckResult{What: "space", OK: true, Says: fmt.Sprintf("%d MB free", free>>20)}
}

// built is the earliest time of a correct clock.
var built = time.Date(2026, 11, 1, 0, 0, 0, 0, time.UTC)

func checkClock(now time.Time) output.CheckResult {
	if now.Before(built) {
		return output.CheckResult{What: "clock", Says: fmt.Sprintf("it says %s; set it, or wait for the network's time", now.Format(time.DateTime))}
	}
	return output.CheckResult{What: "clock", OK: true, Says: now.Format(time.DateTime)}
}

// checkHardware lists device files that this user may not open. The checks of the devices
// report whether one needs them.
func checkHardware() []output.CheckResult {
	var found []output.CheckResult
	for _, pattern := range []string{"/dev/gpiochip*", "/dev/video*", "/dev/i2c-*", "/dev/ttyUSB*", "/dev/ttyACM*"} {
		names, _ := filepath.Glob(pattern) // the patterns are correct
		for _, name := range names {
			f := output.CheckResult{What: "hardware", OK: true, Says: name}
			if unix.Access(name, unix.R_OK|unix.W_OK) != nil {
				f.Note, f.Says = true, name+" does not open for "+userName()+"; "+entrance(name)
			}
			found = append(found, f)
		}
	}
	return found
}

func userName() string {
	if u, err := user.Current(); err == nil {
		return u.Username
	}
	return fmt.Sprintf("user %d", os.Getuid())
}

// entrance returns the command that lets a user open a device file: joining its group.
func entrance(name string) string {
	info, err := os.Stat(name)
	if err != nil {
		return err.Error()
	}
	owner, ok := info.Sys().(*syscall.Stat_t)
	if !ok || info.Mode().Perm()&0o060 != 0o060 || owner.Gid == 0 {
		return "only its owner may; a udev rule changes that"
	}
	gid := strconv.Itoa(int(owner.Gid))
	group := gid
	if g, err := user.LookupGroupId(gid); err == nil {
		group = g.Name
	}
	if u, err := user.Current(); err == nil {
		if ids, err := u.GroupIds(); err == nil && slices.Contains(ids, gid) {
			return "you have come into the group " + group + " since you logged in: log in again"
		}
	}
	return fmt.Sprintf("run sudo usermod -aG %s %s, and log in again", group, userName())
}
