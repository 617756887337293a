package stop

import (
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"time"

	"github.com/messkit/messkit/internal/durable"
)

// Names in the folder. While the first is there, everything is stopped.
const (
	latchFile  = "latched.json"
	clearFile  = "cleared.json" // the last clear
	reportFile = "report.json"  // what the devices did in the last stop
)

// maxFile bounds what is read of them, in bytes: orders have bounds of their own,
// and a thousand devices are told in less.
const maxFile = 1 << 20

// ErrNotStopped says that there is nothing to clear.
var ErrNotStopped = errors.New("nothing is stopped here")

// unreadable is the order that a latch stands for which cannot be read.
const unreadable = "unreadable"

// Read tells the orders that hold by a folder; none: nothing is stopped there.
// A latch that cannot be read is an order of its own.
func Read(dir string) []Order {
	orders, _ := read(dir) // it is in the orders
	return orders
}

// read is Read, and why the latch cannot be read.
func read(dir string) ([]Order, error) {
	data, err := durable.Read(filepath.Join(dir, latchFile), maxFile)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) { // where a folder is none, no latch is
		if !gone(dir) {
			return nil, nil
		}
		err = errGone
	}
	var r record
	if err == nil {
		r, err = parse(data)
	}
	if err == nil && len(r.Orders) == 0 {
		err = errors.New("holds no order")
	}
	if err != nil {
		return []Order{{ID: unreadable, Why: fmt.Sprintf("the latch %s cannot be read, which counts as a stop: %v", filepath.Join(dir, latchFile), err)}}, err
	}
	return r.Orders, nil
}

// errGone: there was a folder, and nobody knows what was in it.
var errGone = errors.New("its folder has gone")

// gone reports whether there was a folder, and is none: it is made at every
// start.
func gone(dir string) bool {
	info, err := os.Stat(dir)
	return (err != nil || !info.IsDir()) && durable.Used(filepath.Dir(dir))
}

// begin makes a folder where there was none. One that has gone is made by the
// order that tells of it, and not before.
func begin(dir string) error {
	if gone(dir) {
		return errGone
	}
	return os.MkdirAll(dir, 0o700)
}

// Latch writes an order into a folder, beside those that are there. Whoever runs
// there stops as soon as the file has its name; when Latch returns, it is on the
// disk.
func Latch(dir string, o Order) error {
	orders := Read(dir)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	if !holds(orders, o.ID) {
		orders = append(orders, o.bounded())
	}
	return write(dir, latchFile, record{Orders: orders[max(0, len(orders)-maxOrders):]})
}

// Clear ends the stop of a folder, and returns the orders that held. Whoever
// runs there goes on as soon as the latch is gone.
func Clear(dir, by string, at time.Time) ([]Order, error) {
	orders := Read(dir)
	if len(orders) == 0 {
		return nil, ErrNotStopped
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	// First what was cleared, then the latch: between the two it is latched.
	if err := write(dir, clearFile, record{Orders: orders, Clear: rand.Text(), By: line(by), At: at}); err != nil {
		return nil, err
	}
	if err := os.Remove(filepath.Join(dir, latchFile)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	return orders, durable.SyncDir(dir)
}

// lastClear is the last clear of a folder; zero if there was none.
func lastClear(dir string) record {
	data, err := durable.Read(filepath.Join(dir, clearFile), maxFile)
	if err != nil {
		return record{}
	}
	r, err := parse(data)
	if err != nil {
		return record{}
	}
	return r
}

// Report is what the devices did in a stop.
type Report struct {
	Orders  []string `json:"orders"` // their ids
	Devices []Device `json:"devices"`
}

// Device is one device in a Report.
type Device struct {
	Device   string `json:"device"`
	State    string `json:"state"`              // safe, unsafe, or pending: its driver has not answered yet
	Evidence string `json:"evidence,omitempty"` // acknowledged or read_back, where it is safe
	TookMS   int64  `json:"took_ms"`            // from the call to the driver until this was known
	Err      string `json:"err,omitempty"`
}

// Answers reports whether the report is one to an order.
func (r Report) Answers(order string) bool { return slices.Contains(r.Orders, order) }

// Settled reports whether every driver has answered to an order.
func (r Report) Settled(order string) bool {
	return r.Answers(order) && !slices.ContainsFunc(r.Devices, func(d Device) bool { return d.State == "pending" })
}

// ReadReport reads the report of a folder; fs.ErrNotExist if nothing was stopped
// there yet.
func ReadReport(dir string) (Report, error) {
	var r Report
	data, err := durable.Read(filepath.Join(dir, reportFile), maxFile)
	if err == nil {
		err = json.Unmarshal(data, &r)
	}
	return r, err
}

func writeReport(dir string, r Report) error {
	data, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return err
	}
	return replace(dir, reportFile, data)
}

func write(dir, name string, r record) error {
	data, err := r.print()
	if err != nil {
		return err
	}
	return replace(dir, name, data)
}

// replace gives a file new content. The name comes before the sync: whoever
// watches sees it at once, and what a power cut leaves of it is either whole, or
// cannot be read, which is latched.
func replace(dir, name string, data []byte) error {
	f, err := os.CreateTemp(dir, "."+name+"-*")
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	if err == nil {
		err = os.Rename(f.Name(), filepath.Join(dir, name))
	}
	if err != nil {
		return errors.Join(err, f.Close(), os.Remove(f.Name()))
	}
	return errors.Join(f.Sync(), f.Close(), durable.SyncDir(dir))
}
