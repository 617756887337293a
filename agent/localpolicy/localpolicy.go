// Package localpolicy stores the decisions of the local operator about an executor: lockouts and
// disarmed risk classes. They are in a small file in the executor's data folder, and each write
// replaces all of it. Write access to that folder authorizes a local operator; the network has
// no access.
//
// It also records whether the last run of the executor ended with a graceful shutdown. If it
// did not, the risky classes are disarmed until a person has checked the devices.
package localpolicy

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/messkit/messkit/agent/policy"
	"github.com/messkit/messkit/capabilities"
	"github.com/messkit/messkit/internal/durable"
)

// Folder is the folder of one executor's decisions. Several processes may call its methods at
// the same time.
type Folder struct{ dir string }

// In returns the folder in an executor's data folder.
func In(data string) Folder { return Folder{filepath.Join(data, "admin")} }

// maxFile limits the file size, in bytes: some thousand devices and reasons.
const maxFile = 1 << 20

func (f Folder) file() string { return filepath.Join(f.dir, "decisions") }

// Decisions returns the current decisions. If the file is unreadable, they are unknown, and nothing
// may act, because any device may have a lockout.
func (f Folder) Decisions() policy.LocalDecisions {
	d, err := f.read()
	if err != nil {
		return policy.LocalDecisions{Unknown: err.Error()}
	}
	return d.policyForm()
}

// errFileLost reports that the file existed.
var errFileLost = errors.New("the file is missing, so the lockouts and disarmed classes are unknown")

// read reads the file; before the first decision it returns none.
func (f Folder) read() (decisions, error) {
	data, err := durable.Read(f.file(), maxFile)
	if errors.Is(err, fs.ErrNotExist) {
		if durable.Used(filepath.Dir(f.dir)) {
			return decisions{}, fmt.Errorf("%s: %w", f.file(), errFileLost)
		}
		return decisions{}, nil
	}
	if err != nil {
		return decisions{}, err
	}
	d, err := parse(data)
	if err != nil {
		return decisions{}, fmt.Errorf("%s: %w", f.file(), err)
	}
	return d, nil
}

// edit changes the file. The change is on the disk when edit returns nil.
func (f Folder) edit(change func(*decisions) error) error {
	if err := os.MkdirAll(f.dir, 0o700); err != nil {
		return err
	}
	unlock, err := lock(filepath.Join(f.dir, "lock"))
	if err != nil {
		return err
	}
	defer unlock()
	d, err := f.read()
	if err != nil {
		return err
	}
	if err := change(&d); err != nil {
		return err
	}
	return durable.Replace(f.file(), d.print())
}

// ResetDecisions removes all decisions, also from a damaged file.
func (f Folder) ResetDecisions() error {
	if err := os.MkdirAll(f.dir, 0o700); err != nil {
		return err
	}
	d, _ := f.read() // after an error, the next start adds the devices again
	return durable.Replace(f.file(), decisions{Devices: d.Devices}.print())
}

// Devices returns the names of the devices at the executor's last start.
func (f Folder) Devices() ([]string, error) {
	d, err := f.read()
	return d.Devices, err
}

// Fact names a fact that a run records about itself in the folder.
type Fact string

// The facts of a run.
const (
	FactConfirm  Fact = "confirm"  // how a person proves to be one before an act is enabled again
	FactExchange Fact = "exchange" // the data folder of the exchange in the same program
)

// Fact returns a fact of the last run, or "" if it cannot read it.
func (f Folder) Fact(n Fact) string {
	data, err := durable.Read(filepath.Join(f.dir, string(n)), maxFile)
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(data))
}

// RecordFact records a fact for the commands of the local operator and for the next run.
func (f Folder) RecordFact(n Fact, is string) error {
	if f.Fact(n) == is {
		return nil
	}
	if err := os.MkdirAll(f.dir, 0o700); err != nil {
		return err
	}
	return durable.Replace(filepath.Join(f.dir, string(n)), []byte(is+"\n"))
}

// LockOut sets a lockout on a device until Unlock. It survives restarts.
func (f Folder) LockOut(device, reason string, now time.Time) error {
	return f.edit(func(d *decisions) error {
		d.Locked = set(d.Locked, device, decision{reason, now})
		return nil
	})
}

// ErrNotSet reports that there is nothing to remove, such as a lockout.
var ErrNotSet = errors.New("not so")

// ReleaseLockout removes a lockout; the error is ErrNotSet if there is none.
func (f Folder) ReleaseLockout(device string) error {
	return f.edit(func(d *decisions) error {
		if _, locked := d.Locked[device]; !locked {
			return ErrNotSet
		}
		delete(d.Locked, device)
		return nil
	})
}

// Disarm disables acts of some risk classes.
func (f Folder) Disarm(reason string, now time.Time, classes ...capabilities.Risk) error {
	return f.edit(func(d *decisions) error {
		d.disarm(decision{reason, now}, classes)
		return nil
	})
}

// Arm enables acts of some risk classes again; without classes, of all classes and devices.
func (f Folder) Arm(classes ...capabilities.Risk) error {
	return f.edit(func(d *decisions) error {
		for _, c := range classes {
			delete(d.Classes, c)
		}
		if len(classes) == 0 {
			d.Classes, d.Unarmed, d.Armed = nil, nil, nil
		}
		return nil
	})
}

// DisarmDevice disables the acts of one device.
func (f Folder) DisarmDevice(device, reason string, now time.Time) error {
	return f.edit(func(d *decisions) error {
		d.Armed = slices.DeleteFunc(d.Armed, func(name string) bool { return name == device })
		d.Unarmed = set(d.Unarmed, device, decision{reason, now})
		return nil
	})
}

// ArmDevice enables the acts of one device, even if its class is disarmed.
func (f Folder) ArmDevice(device string) error {
	return f.edit(func(d *decisions) error {
		delete(d.Unarmed, device)
		if len(d.Classes) > 0 && !slices.Contains(d.Armed, device) {
			d.Armed = append(d.Armed, device)
		}
		return nil
	})
}
