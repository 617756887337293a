package localpolicy_test

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/messkit/messkit/agent/localpolicy"
	"github.com/messkit/messkit/capabilities"
)

var (
	risky = []capabilities.Risk{capabilities.RiskAccess, capabilities.RiskMotion}
	noon  = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
)

func now() time.Time { return noon }

func must(t *testing.T, errs ...error) {
	t.Helper()
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
}

func begin(t *testing.T, f localpolicy.Folder) *localpolicy.Run {
	t.Helper()
	r := f.Run(risky, []string{"lamp", "saw"}, now)
	must(t, r.Begin())
	return r
}

func TestLockoutsAndArming(t *testing.T) {
	f := localpolicy.In(t.TempDir())
	if l := f.Decisions(); l.Unknown != "" || len(l.LockedOut)+len(l.Disarmed)+len(l.DisarmedDevices) > 0 {
		t.Errorf("decisions of a new folder are %+v, want none", l)
	}
	must(t, f.LockOut("lamp", "wet paint", noon), f.Disarm("storm", noon, risky...), f.DisarmDevice("fan", "smells", noon))
	must(t, f.ArmDevice("saw"))
	l := f.Decisions()
	if l.LockedOut["lamp"] != "wet paint" || l.Disarmed[capabilities.RiskMotion] != "storm" || l.DisarmedDevices["fan"] != "smells" || !l.ArmedDevices["saw"] {
		t.Errorf("%+v", l)
	}
	must(t, f.Arm(capabilities.RiskMotion), f.ArmDevice("fan"), f.ReleaseLockout("lamp"))
	if err := f.ReleaseLockout("lamp"); !errors.Is(err, localpolicy.ErrNotSet) {
		t.Errorf("%v, want ErrNotSet", err)
	}
	l = f.Decisions()
	if len(l.LockedOut)+len(l.DisarmedDevices) > 0 || len(l.Disarmed) != 1 {
		t.Errorf("%+v", l)
	}
	must(t, f.Disarm("again", noon, risky...))
	if f.Decisions().ArmedDevices["saw"] {
		t.Error("a device that was armed by name stays armed after its class was disarmed")
	}
	must(t, f.Arm())
	if l = f.Decisions(); len(l.Disarmed)+len(l.DisarmedDevices)+len(l.ArmedDevices) > 0 {
		t.Errorf("%+v", l)
	}
}

func TestUncleanShutdownDisarms(t *testing.T) {
	f := localpolicy.In(t.TempDir())
	must(t, begin(t, f).End())
	begin(t, f)
	if l := f.Decisions(); len(l.Disarmed) > 0 {
		t.Errorf("after an end in order: %+v", l)
	}
	again := begin(t, f)
	if l := again.Decisions(); len(l.Disarmed) != 2 || l.Disarmed[capabilities.RiskMotion] != "messkit, started 2026-11-21T12:00:00Z, did not shut down gracefully" {
		t.Errorf("%+v", l)
	}
	must(t, again.End())
	begin(t, f)
	if l := f.Decisions(); len(l.Disarmed) != 2 {
		t.Errorf("after a graceful shutdown: %+v; want it disarmed until an operator arms it", l)
	}
	names, err := f.Devices()
	if must(t, err); strings.Join(names, " ") != "lamp saw" {
		t.Errorf("devices: %v", names)
	}
}

// The next run knows by name the devices that did not reach their safe state.
func TestUnsafeDevicesAreKnownToNextRun(t *testing.T) {
	f := localpolicy.In(t.TempDir())
	r := begin(t, f)
	must(t, r.End("heater", "pump"), r.End("heater", "pump"))
	next := begin(t, f)
	const want = "messkit, started 2026-11-21T12:00:00Z, did not shut down gracefully; devices without a confirmed safe state: heater, pump"
	if l := next.Decisions(); l.Disarmed[capabilities.RiskMotion] != want {
		t.Errorf("%+v, want %q", l, want)
	}
	must(t, next.End())
}

func TestUnknownOutcomeDisarms(t *testing.T) {
	for class, want := range map[capabilities.Risk]int{capabilities.RiskComfort: 0, capabilities.RiskMotion: 1, "": 2} {
		f := localpolicy.In(t.TempDir())
		must(t, begin(t, f).DisarmForUnknown("2026-11-21-001", class))
		if l := f.Decisions(); len(l.Disarmed) != want {
			t.Errorf("%q: %+v, want %d classes", class, l, want)
		}
	}
}

// While the disk does not accept the file, nothing may act.
func TestUnwritableDiskPreventsActs(t *testing.T) {
	dir := t.TempDir()
	f, folder := localpolicy.In(dir), filepath.Join(dir, "admin")
	must(t, os.WriteFile(folder, nil, 0o600)) // in place of the folder
	r := f.Run(risky, nil, now)
	if err := r.Begin(); err == nil {
		t.Fatal("a run that is written nowhere has begun")
	}
	if l := r.Decisions(); !strings.Contains(l.Blocked, "messkit cannot record that it runs") {
		t.Errorf("%+v", l)
	}
	must(t, os.Remove(folder))
	if l := r.Decisions(); l.Blocked != "" {
		t.Errorf("%+v", l)
	}

	// A decision that the disk has not accepted stays active, also after the next start.
	must(t, os.RemoveAll(folder), os.WriteFile(folder, nil, 0o600))
	if err := r.DisarmForUnknown("x", capabilities.RiskMotion); err == nil {
		t.Error("DisarmForUnknown on an unwritable disk succeeds, want an error")
	}
	must(t, os.Remove(folder), os.Mkdir(folder, 0o700), os.WriteFile(filepath.Join(folder, "running"), nil, 0o600))
	if l := r.Decisions(); l.Disarmed[capabilities.RiskMotion] == "" {
		t.Errorf("%+v", l)
	}
	must(t, r.End())
	if l := begin(t, f).Decisions(); len(l.Disarmed) != 2 {
		t.Errorf("%+v", l)
	}
}

// Decisions from a damaged file are unknown until a reset.
func TestDamagedDecisionsAreUnknown(t *testing.T) {
	dir := t.TempDir()
	f := localpolicy.In(dir)
	must(t, f.LockOut("lamp", "wet paint", noon))
	name := filepath.Join(dir, "admin", "decisions")
	whole, err := os.ReadFile(name)
	must(t, err)
	for i := range whole {
		for _, broken := range [][]byte{whole[:i], append(bytes.Clone(whole[:i]), append([]byte{whole[i] ^ 1}, whole[i+1:]...)...)} {
			must(t, os.WriteFile(name, broken, 0o600))
			if f.Decisions().Unknown == "" {
				t.Fatalf("%q is taken for whole", broken)
			}
		}
	}
	if err := f.LockOut("saw", "", noon); err == nil {
		t.Error("a damaged file was written over")
	}
	begin(t, f) // the program starts and may not act
	must(t, f.ResetDecisions())
	if l := f.Decisions(); l.Unknown != "" || len(l.LockedOut) > 0 {
		t.Errorf("%+v", l)
	}
	must(t, os.Remove(name), os.Mkdir(name, 0o700))
	if f.Decisions().Unknown == "" {
		t.Error("a folder in its place is taken for nothing")
	}
}

func TestConcurrentWritersLoseNothing(t *testing.T) {
	f := localpolicy.In(t.TempDir())
	var g sync.WaitGroup
	for i := range 20 {
		g.Go(func() {
			if err := f.LockOut("lamp-"+string(rune('a'+i)), "", noon); err != nil {
				t.Error(err)
			}
		})
	}
	g.Wait()
	if l := f.Decisions(); len(l.LockedOut) != 20 {
		t.Errorf("%d locks, want 20", len(l.LockedOut))
	}
}
