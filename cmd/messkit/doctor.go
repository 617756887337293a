package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/sys/unix"

	"github.com/messkit/messkit/exchange/remote"
	"github.com/messkit/messkit/internal/broker"
)

// finding is what the doctor says about one thing.
type finding struct {
	What string `json:"what"`
	OK   bool   `json:"ok"`
	Says string `json:"says"` // what was found; what to do
}

func (a *app) doctorCommand() *cobra.Command {
	var k client
	var file string
	var asJSON bool
	c := &cobra.Command{
		Use:     "doctor",
		Short:   "Look what is wrong on this machine",
		Example: "  messkit doctor --config messkit.yaml",
		Args:    cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			return a.diagnose(c.Context(), &k, file, asJSON)
		},
	}
	k.flags(c)
	c.Flags().StringVarP(&file, "config", "c", "", "configuration file")
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return c
}

func (a *app) diagnose(ctx context.Context, k *client, file string, asJSON bool) error {
	c, err := load(file, quiet)
	if err == nil && c.Connect != nil { // then this board's key and exchange are what counts
		k.keyFile, k.url, k.exchange, k.pin = c.Connect.KeyFile, c.Connect.URL, c.Connect.Exchange, c.Connect.Pin
	}
	found := []finding{checkConfig(c, err), checkData(dataDir()), checkSpace(dataDir())}
	if err == nil && c.Connect != nil && broker.Is(c.Connect.URL) {
		h, err := c.Connect.reach(ctx, c.Agent.ID)
		found = append(found, verdict("exchange", err, "%s at the broker %s", h.Exchange, k.url))
	} else {
		found = append(found, checkKey(k.keyFile), k.checkExchange(ctx))
	}
	found = append(found, checkClock(time.Now()))
	found = append(found, checkHardware()...)
	if asJSON {
		if err := a.json(found); err != nil {
			return err
		}
	}
	sick := false
	for _, f := range found {
		sick = sick || !f.OK
		if !asJSON {
			fmt.Fprintf(a.out, "%s  %-10s %s\n", map[bool]string{true: "ok ", false: "BAD"}[f.OK], f.What, f.Says)
		}
	}
	if sick {
		return errQuiet
	}
	return nil
}

// verdict words a check that gave err.
func verdict(what string, err error, fine string, args ...any) finding {
	if err != nil {
		return finding{what, false, err.Error()}
	}
	return finding{what, true, fmt.Sprintf(fine, args...)}
}

func checkConfig(c *config, err error) finding {
	if err != nil {
		return verdict("config", err, "")
	}
	return verdict("config", nil, "%s", count(len(c.home.devices), "device"))
}

func checkData(dir string) finding {
	info, err := os.Stat(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return finding{"data", true, dir + " is not there yet; messkit run makes it"}
	case err == nil && !info.IsDir():
		err = fmt.Errorf("%s is not a folder; move it away", dir)
	case err == nil && info.Mode().Perm()&0o077 != 0:
		err = fmt.Errorf("%s can be read by others; run chmod 700 %[1]s", dir)
	case err == nil:
		err = unix.Access(dir, unix.W_OK)
		if err != nil {
			err = fmt.Errorf("%s cannot be written: %w", dir, err)
		}
	}
	return verdict("data", err, "%s", dir)
}

// minFree is what journals and pictures need to go on for a while, in bytes.
const minFree = 64 << 20

func checkSpace(dir string) finding {
	var s unix.Statfs_t
	for unix.Statfs(dir, &s) != nil && dir != filepath.Dir(dir) {
		dir = filepath.Dir(dir)
	}
	free := uint64(s.Bsize) * s.Bavail
	if free < minFree {
		return finding{"space", false, fmt.Sprintf("%d MB are left for %s; make room", free>>20, dir)}
	}
	return finding{"space", true, fmt.Sprintf("%d MB free", free>>20)}
}

func checkKey(name string) finding {
	info, err := os.Stat(name)
	if err == nil && info.Mode().Perm()&0o077 != 0 {
		err = fmt.Errorf("%s can be read by others; run chmod 600 %[1]s", name)
	}
	if errors.Is(err, fs.ErrNotExist) {
		err = fmt.Errorf("%s is not there; messkit run makes it where it starts an exchange", name)
	}
	return verdict("key", err, "%s", name)
}

func (k *client) checkExchange(ctx context.Context) finding {
	ctx, cancel := context.WithTimeout(ctx, reachTime)
	defer cancel()
	x, err := remote.New(k.config(""), quiet) // that it is there needs no key
	if err != nil {
		return verdict("exchange", err, "")
	}
	h, err := x.Health(ctx)
	return verdict("exchange", err, "%s at %s, version %s", h.Exchange, k.url, h.Version)
}

// built is a time that no right clock is before.
var built = time.Date(2026, 11, 1, 0, 0, 0, 0, time.UTC)

func checkClock(now time.Time) finding {
	if now.Before(built) {
		return finding{"clock", false, fmt.Sprintf("it says %s; set it, or wait for the network's time", now.Format(time.DateTime))}
	}
	return finding{"clock", true, now.Format(time.DateTime)}
}

// checkHardware lists device files that this program may not open.
func checkHardware() []finding {
	var found []finding
	for _, pattern := range []string{"/dev/gpiochip*", "/dev/video*", "/dev/i2c-*", "/dev/ttyUSB*", "/dev/ttyACM*"} {
		names, _ := filepath.Glob(pattern) // the patterns are well formed
		for _, name := range names {
			var err error
			if unix.Access(name, unix.R_OK|unix.W_OK) != nil {
				err = fmt.Errorf("%s may not be opened; add yourself to its group: ls -l %[1]s", name)
			}
			found = append(found, verdict("hardware", err, "%s", name))
		}
	}
	return found
}
