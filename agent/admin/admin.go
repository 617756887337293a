// Package admin keeps what people at the place have decided about an executor:
// which devices are locked, and what is disarmed. It is a small file in the
// executor's data folder, written whole or not at all. Whoever may write there
// is at the place; the network has no way to it.
//
// It also knows whether the executor has ended in order the last time. Where it
// has not, the risky classes are disarmed until somebody has looked.
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

	"github.com/messkit/messkit/agent/gate"
	"github.com/messkit/messkit/capabilities"
	"github.com/messkit/messkit/internal/durable"
)

// Folder is the folder of one executor's decisions. Its methods may be called
// by several processes at once.
type Folder struct{ dir string }

// In is the folder in an executor's data folder.
func In(data string) Folder { return Folder{filepath.Join(data, "admin")} }

// maxFile bounds what is read, in bytes: some thousand devices and reasons.
const maxFile = 1 << 20

func (f Folder) file() string { return filepath.Join(f.dir, "decisions") }

// Local is what holds now. What cannot be read is not known, and then nothing
// acts: nobody can say what was locked.
func (f Folder) Local() gate.Local {
	d, err := f.read()
	if err != nil {
		return gate.Local{Unknown: err.Error()}
	}
	return d.local()
}

// errGone: there was a file.
var errGone = errors.New("it has gone, and with it what was locked and disarmed")

// read reads the file; where there never was one nothing was decided yet.
func (f Folder) read() (decisions, error) {
	data, err := durable.Read(f.file(), maxFile)
	if errors.Is(err, fs.ErrNotExist) {
		if durable.Used(filepath.Dir(f.dir)) {
			return decisions{}, fmt.Errorf("%s: %w", f.file(), errGone)
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

// edit changes the file, which is on the disk when edit returns nil.
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

// Reset forgets all decisions, and what is left of a file that is damaged.
func (f Folder) Reset() error {
	if err := os.MkdirAll(f.dir, 0o700); err != nil {
		return err
	}
	d, _ := f.read() // if it cannot be read, its devices are known after the next start
	return durable.Replace(f.file(), decisions{Devices: d.Devices}.print())
}

// Devices are the names of the devices at the executor's last start.
func (f Folder) Devices() ([]string, error) {
	d, err := f.read()
	return d.Devices, err
}

// Note names something that a run notes about itself in the folder.
type Note string

// Notes of a run.
const (
	Confirm  Note = "confirm"  // how a person proves to be one before she lets something act again
	Exchange Note = "exchange" // the data folder of the exchange that is in the same program
)

// Noted returns what the last run has noted, or "" if it cannot read that.
func (f Folder) Noted(n Note) string {
	data, err := durable.Read(filepath.Join(f.dir, string(n)), maxFile)
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(data))
}

// Note notes something for the commands of people at the place, and for the next run.
func (f Folder) Note(n Note, is string) error {
	if f.Noted(n) == is {
		return nil
	}
	if err := os.MkdirAll(f.dir, 0o700); err != nil {
		return err
	}
	return durable.Replace(filepath.Join(f.dir, string(n)), []byte(is+"\n"))
}

// Lock keeps a device from acting until it is unlocked, over restarts too.
func (f Folder) Lock(device, why string, now time.Time) error {
	return f.edit(func(d *decisions) error {
		d.Locked = set(d.Locked, device, decision{why, now})
		return nil
	})
}

// ErrNot is an end to what was not: a lock that there is none of.
var ErrNot = errors.New("not so")

// Unlock ends a lock; the error is ErrNot where there is none.
func (f Folder) Unlock(device string) error {
	return f.edit(func(d *decisions) error {
		if _, locked := d.Locked[device]; !locked {
			return ErrNot
		}
		delete(d.Locked, device)
		return nil
	})
}

// Disarm keeps what is of some risk classes from acting.
func (f Folder) Disarm(why string, now time.Time, classes ...capabilities.Risk) error {
	return f.edit(func(d *decisions) error {
		d.disarm(decision{why, now}, classes)
		return nil
	})
}

// Arm lets what is of these classes act again; none are all, and all devices.
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

// DisarmDevice keeps one device from acting, and ArmDevice lets it act, though
// its class is disarmed.
func (f Folder) DisarmDevice(device, why string, now time.Time) error {
	return f.edit(func(d *decisions) error {
		d.Armed = slices.DeleteFunc(d.Armed, func(name string) bool { return name == device })
		d.Unarmed = set(d.Unarmed, device, decision{why, now})
		return nil
	})
}

// ArmDevice is the opposite of DisarmDevice.
func (f Folder) ArmDevice(device string) error {
	return f.edit(func(d *decisions) error {
		delete(d.Unarmed, device)
		if len(d.Classes) > 0 && !slices.Contains(d.Armed, device) {
			d.Armed = append(d.Armed, device)
		}
		return nil
	})
}
