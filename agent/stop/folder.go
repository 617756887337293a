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

// Files in the folder. While the first exists, everything is stopped.
const (
	latchFile  = "latched.json"
	clearFile  = "cleared.json" // the last reset
	reportFile = "report.json"  // results of the last stop
)

// maxFile limits the size of these files, in bytes. Orders have limits of their own, and a
// report on a thousand devices is shorter.
const maxFile = 1 << 20

// ErrNotStopped reports that there is no stop to reset.
var ErrNotStopped = errors.New("no stop is active here")

// unreadable is the order that represents an unreadable latch.
const unreadable = "unreadable"

// ReadOrders returns the active orders of a folder; none means that there is no stop. An unreadable
// latch counts as an order.
func ReadOrders(dir string) []Order {
	orders, _ := read(dir) // the orders contain the error
	return orders
}

// read does the same as ReadOrders, and returns why the latch is unreadable.
func read(dir string) ([]Order, error) {
	data, err := durable.Read(filepath.Join(dir, latchFile), maxFile)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) { // a path that is not a folder has no latch
		if !isFolderLost(dir) {
			return nil, nil
		}
		err = errFolderLost
	}
	var r record
	if err == nil {
		r, err = parse(data)
	}
	if err == nil && len(r.Orders) == 0 {
		err = errors.New("holds no order")
	}
	if err != nil {
		return []Order{{ID: unreadable, Reason: fmt.Sprintf("the latch %s is unreadable, which counts as a stop: %v", filepath.Join(dir, latchFile), err)}}, err
	}
	return r.Orders, nil
}

// errFolderLost reports that the folder existed and its content is unknown.
var errFolderLost = errors.New("its folder is missing")

// isFolderLost reports whether a folder that every start creates does not exist any more.
func isFolderLost(dir string) bool {
	info, err := os.Stat(dir)
	return (err != nil || !info.IsDir()) && durable.Used(filepath.Dir(dir))
}

// createFolder creates the folder before the first use. A lost folder stays away until an order
// records the loss.
func createFolder(dir string) error {
	if isFolderLost(dir) {
		return errFolderLost
	}
	return os.MkdirAll(dir, 0o700)
}

// WriteOrder adds an order to a folder. A running program stops as soon as the file has its name;
// the order is on the disk when WriteOrder returns.
func WriteOrder(dir string, o Order) error {
	orders := ReadOrders(dir)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	if !hasOrder(orders, o.ID) {
		orders = append(orders, o.bounded())
	}
	return write(dir, latchFile, record{Orders: orders[max(0, len(orders)-maxOrders):]})
}

// Reset resets the stop of a folder and returns the orders that were active. A running program
// continues as soon as the latch is gone.
func Reset(dir, by string, at time.Time) ([]Order, error) {
	orders := ReadOrders(dir)
	if len(orders) == 0 {
		return nil, ErrNotStopped
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	// The cleared orders come first: between the two writes the stop stays active.
	if err := write(dir, clearFile, record{Orders: orders, Clear: rand.Text(), By: oneLine(by), At: at}); err != nil {
		return nil, err
	}
	if err := os.Remove(filepath.Join(dir, latchFile)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	return orders, durable.SyncDir(dir)
}

// lastClear returns the last reset of a folder; zero if there was none.
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

// Report holds the results of a stop.
type Report struct {
	Orders  []string `json:"orders"` // ids of the orders
	Devices []Device `json:"devices"`
}

// Device is the result of one device in a Report.
type Device struct {
	Device   string `json:"device"`
	State    string `json:"state"`              // safe, unsafe, or pending while its driver has not answered
	Evidence string `json:"evidence,omitempty"` // acknowledged or read_back, for a safe device
	TookMS   int64  `json:"took_ms"`            // from the call to the driver until the result
	Err      string `json:"err,omitempty"`
}

// Covers reports whether the report covers an order.
func (r Report) Covers(order string) bool { return slices.Contains(r.Orders, order) }

// Settled reports whether every driver has answered an order.
func (r Report) Settled(order string) bool {
	return r.Covers(order) && !slices.ContainsFunc(r.Devices, func(d Device) bool { return d.State == "pending" })
}

// ReadReport reads the report of a folder; the error is fs.ErrNotExist before the first stop.
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

// replace gives a file new content. It renames before the sync, so that a watching program sees
// the content at once. After a power cut the file is either complete or unreadable, and an
// unreadable latch counts as a stop.
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
