package localpolicy

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode"

	"github.com/messkit/messkit/agent/policy"
	"github.com/messkit/messkit/capabilities"
	"github.com/messkit/messkit/internal/durable"
)

// Run is one run of the executor, from Begin to End. It survives a disk that accepts nothing:
// nothing may act then, and Decisions retries Begin.
type Run struct {
	folder  Folder
	classes []capabilities.Risk // the risky classes
	devices []string
	now     func() time.Time

	mu             sync.Mutex
	beginCalled    bool                         // Begin was called
	begun          bool                         // and its result is on the disk
	unsavedDisarms map[capabilities.Risk]string // disarmed classes that the disk has not accepted
}

// Run returns a run without reading the disk.
func (f Folder) Run(classes []capabilities.Risk, devices []string, now func() time.Time) *Run {
	return &Run{folder: f, classes: classes, devices: devices, now: now, unsavedDisarms: map[capabilities.Risk]string{}}
}

func (f Folder) marker() string { return filepath.Join(f.dir, "running") }

// Begin records on the disk that the executor runs. If an earlier run ended without a graceful
// shutdown, it disarms the classes first. The caller must allow only one run at a time.
func (r *Run) Begin() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.beginCalled = true
	return r.begin()
}

// begin implements Begin until it succeeds. The caller holds mu.
func (r *Run) begin() error {
	if r.begun {
		return nil
	}
	unclean := ""
	since, err := durable.Read(r.folder.marker(), maxFile)
	if err == nil {
		unclean = fmt.Sprintf("messkit, started %s, did not shut down gracefully", startTime(since)) + unsafeDevices(since)
	} else if !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	err = r.folder.edit(func(d *decisions) error {
		if d.Devices = slices.Clone(r.devices); unclean != "" {
			d.disarm(decision{unclean, r.now()}, r.classes)
		}
		return nil
	})
	if err != nil && r.folder.Decisions().Unknown == "" { // nothing may act while the file is damaged
		return err
	}
	if err := durable.Use(filepath.Dir(r.folder.dir), "admin/decisions", "journal", "stop"); err != nil {
		return err
	}
	if err := durable.Replace(r.folder.marker(), []byte(r.now().UTC().Format(time.RFC3339)+"\n")); err != nil {
		return err
	}
	r.begun = true
	return nil
}

// startTime returns the time in a marker.
func startTime(marker []byte) string {
	first, _, _ := strings.Cut(string(marker), "\n")
	t, err := time.Parse(time.RFC3339, strings.TrimSpace(first))
	if err != nil {
		return "at an unknown time"
	}
	return t.Format(time.RFC3339)
}

// unsafeDevices describes the devices in a marker; "" if it names none.
func unsafeDevices(marker []byte) string {
	_, names, _ := strings.Cut(string(marker), "\n")
	if names = strings.TrimSpace(names); names == "" || strings.ContainsFunc(names, unicode.IsControl) {
		return ""
	}
	return "; devices without a confirmed safe state: " + names
}

// Decisions returns the current decisions as Folder.Decisions does, together with those that the disk
// has not accepted.
func (r *Run) Decisions() policy.LocalDecisions {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.beginCalled {
		if err := r.begin(); err != nil {
			return policy.LocalDecisions{Blocked: fmt.Sprintf("messkit cannot record that it runs: %v", err)}
		}
	}
	l := r.folder.Decisions()
	if r.begun && l.Unknown == "" && !durable.There(r.folder.file()) { // the rest of the data folder has gone as well
		l.Unknown = fmt.Sprintf("%s: %v", r.folder.file(), errFileLost)
	}
	for class, reason := range r.unsavedDisarms {
		l.Disarmed = set(l.Disarmed, class, reason)
	}
	return l
}

// DisarmForUnknown disarms the class of an act with an unknown result, or all risky classes if the class
// is unknown too. After an error the decision stays in memory until the end of the run.
func (r *Run) DisarmForUnknown(ref string, class capabilities.Risk) error {
	classes := []capabilities.Risk{class}
	switch {
	case class == "":
		classes = r.classes
	case !slices.Contains(r.classes, class):
		return nil
	}
	return r.disarm("messkit does not know the outcome of "+ref, classes)
}

// DisarmForLoss disarms all risky classes after a loss of the program's records.
func (r *Run) DisarmForLoss(what string) error {
	return r.disarm(what+" is missing, so the begun acts are unknown", r.classes)
}

// disarm disarms classes. After an error the decision stays in memory until the end of the run.
func (r *Run) disarm(reason string, classes []capabilities.Risk) error {
	err := r.folder.Disarm(reason, r.now(), classes...)
	if err == nil {
		return nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, c := range classes {
		r.unsavedDisarms[c] = reason
	}
	return err
}

// End records a graceful shutdown. With names of unsafe devices, or with decisions that the
// disk has not accepted, the next run counts it as unclean.
func (r *Run) End(unsafe ...string) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.begun || len(r.unsavedDisarms) > 0 {
		return nil
	}
	if !durable.There(r.folder.marker()) {
		return nil // the folder has gone; the next run sees that
	}
	if len(unsafe) > 0 {
		since, err := durable.Read(r.folder.marker(), maxFile)
		if err != nil {
			return err
		}
		first, _, _ := strings.Cut(string(since), "\n")
		return durable.Replace(r.folder.marker(), []byte(first+"\n"+strings.Join(unsafe, ", ")+"\n"))
	}
	return errors.Join(os.Remove(r.folder.marker()), durable.SyncDir(r.folder.dir))
}
