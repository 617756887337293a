package admin

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/messkit/messkit/capabilities"
)

// Run is one run of the executor, from Begin to End.
type Run struct {
	folder  Folder
	classes []capabilities.Risk
	now     func() time.Time
}

func (f Folder) marker() string { return filepath.Join(f.dir, "running") }

// Begin notes on the disk that the executor runs. Where an earlier run has not
// ended in order, the classes are disarmed first, and unclean says why. The
// caller sees to it that there is one run at a time.
func (f Folder) Begin(classes []capabilities.Risk, devices []string, now func() time.Time) (r *Run, unclean string, err error) {
	r = &Run{folder: f, classes: classes, now: now}
	since, err := os.ReadFile(f.marker())
	switch {
	case err == nil:
		unclean = fmt.Sprintf("messkit, started %s, did not end in order", started(since))
	case !errors.Is(err, fs.ErrNotExist):
		return nil, "", err
	}
	err = f.edit(func(d *decisions) error {
		if d.Devices = slices.Clone(devices); unclean != "" {
			d.disarm(decision{unclean, now()}, classes)
		}
		return nil
	})
	if err != nil && f.Local().Unknown == "" { // while it is damaged nothing acts
		return nil, "", err
	}
	return r, unclean, replace(f.marker(), []byte(now().UTC().Format(time.RFC3339)+"\n"))
}

// started is the time that a marker names.
func started(marker []byte) string {
	t, err := time.Parse(time.RFC3339, strings.TrimSpace(string(marker)))
	if err != nil {
		return "at a time that cannot be read"
	}
	return t.Format(time.RFC3339)
}

// Unknown disarms after something of a risky class has ended and nobody knows
// how: its class, or all where the class is not known either.
func (r *Run) Unknown(ref string, class capabilities.Risk) error {
	classes := []capabilities.Risk{class}
	switch {
	case class == "":
		classes = r.classes
	case !slices.Contains(r.classes, class):
		return nil
	}
	return r.folder.Disarm("nobody knows what came of "+ref, r.now(), classes...)
}

// End notes that all devices are in their safe state.
func (r *Run) End() error {
	return errors.Join(os.Remove(r.folder.marker()), syncDir(r.folder.dir))
}
