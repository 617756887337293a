// Package history keeps the readings of devices for charts: a value for each minute of the last
// 24 hours, and for each hour of the last 30 days. Each device has one file of bounded size, and
// the number of devices has a limit.
//
// Readings are no promise: the package writes them in portions and without a sync, so that they
// cost an SD card little. A power cut may lose the last ten minutes.
package history

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"maps"
	"math"
	"net/url"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/messkit/messkit/mess"
)

const (
	writeEvery  = 10 * time.Minute // between two portions
	removeEvery = 24 * time.Hour   // between two searches for old files
	maxDevices  = 1000
	maxName     = 200 // bytes of a file name
	clockError  = 10 * time.Minute
)

// Quantities that the package adds to the readings of a device.
const (
	Working = "working" // 1 while the device does something that lasts, like cleaning; else 0
	Reached = "reached" // 0 while the device fails; else 1
)

// Store keeps the readings of the devices of one exchange. It is safe for concurrent use.
type Store struct {
	dir *os.Root
	now func() time.Time
	log *slog.Logger

	files sync.Mutex // held while a file is read or written

	mu      sync.Mutex
	devices map[deviceName]*readings
	full    bool // it has logged that there are too many devices
}

// deviceName names a device of an executor.
type deviceName struct{ executor, device string }

// readings are the buckets of a device that are not in its file yet.
type readings struct {
	newest  map[seriesName]time.Time
	pending seriesBuckets
}

// Open opens the history in a folder, and makes the folder.
func Open(dir string, now func() time.Time, log *slog.Logger) (*Store, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	return &Store{dir: root, now: now, log: log, devices: map[deviceName]*readings{}}, nil
}

// Record takes a report of an executor. It reads and writes no file. It ignores a reading that it
// has already, that an act has only commanded, or whose time cannot be true.
func (s *Store) Record(executor string, states []mess.DeviceState) {
	now := s.now()
	s.mu.Lock()
	defer s.mu.Unlock()
	for i := range states {
		state := &states[i]
		d := s.device(deviceName{executor, state.Device})
		if d == nil {
			continue
		}
		for _, r := range state.Readings {
			if r.Commanded == nil || !*r.Commanded {
				at, err := r.AsOf.Time()
				if err == nil {
					d.add(seriesName{r.Quantity, r.Unit}, r.Value, at, now)
				}
			}
		}
		if len(state.Readings) > 0 {
			d.add(seriesName{Quantity: Reached}, truth(state.Failing == nil), now, now)
		}
		if state.State != mess.StateUnknown || state.Doing != "" {
			d.add(seriesName{Quantity: Working}, truth(state.Doing != "" && state.Doing != "paused"), now, now)
		}
	}
}

func truth(is bool) float64 {
	if is {
		return 1
	}
	return 0
}

// device returns the readings of a device, nil if there are too many devices. The caller holds
// Store.mu.
func (s *Store) device(name deviceName) *readings {
	d := s.devices[name]
	switch {
	case d != nil:
		return d
	case len(s.devices) >= maxDevices:
		if !s.full {
			s.log.Warn("history: the exchange keeps no readings of more devices", "limit", maxDevices, "device", name.device, "executor", name.executor)
			s.full = true
		}
		return nil
	case !name.hasFile():
		return nil
	}
	d = &readings{newest: map[seriesName]time.Time{}, pending: seriesBuckets{}}
	s.devices[name] = d
	return d
}

// add takes one value. The caller holds Store.mu.
func (d *readings) add(name seriesName, value float64, at, now time.Time) {
	newest, known := d.newest[name]
	switch {
	case math.IsNaN(value) || math.Abs(value) > math.MaxFloat32 || name.Quantity == "":
		return
	case at.After(now.Add(clockError)) || now.Sub(at) > tiers[0].span() || known && !at.After(newest):
		return
	case !known && len(d.newest) >= maxSeries:
		return
	}
	d.newest[name] = at
	all := d.pending.of(name)
	for i, t := range tiers {
		all[i].put(t.numberOf(at), bucketOf(value))
	}
}

// fileOf returns the name of a device's file. It has no separator of a path.
func fileOf(name deviceName) string {
	return strings.ReplaceAll(url.QueryEscape(name.executor), ".", "%2E") + "~" + strings.ReplaceAll(url.QueryEscape(name.device), ".", "%2E") + ".ring"
}

// hasFile reports whether the history keeps a file for the device.
func (n deviceName) hasFile() bool {
	return n.executor != "" && n.device != "" && len(fileOf(n)) <= maxName
}

// Run writes the readings in portions until ctx ends, and the rest then. It logs errors: readings
// are no reason to end an exchange.
func (s *Store) Run(ctx context.Context) error {
	write, remove := time.NewTicker(writeEvery), time.NewTicker(removeEvery)
	defer write.Stop()
	defer remove.Stop()
	for {
		var err error
		select {
		case <-ctx.Done():
			if err := s.Write(); err != nil {
				s.log.Warn("history: the last readings are lost; check the disk", "err", err)
			}
			return s.dir.Close()
		case <-write.C:
			err = s.Write()
		case <-remove.C:
			err = s.removeOld()
		}
		if err != nil {
			s.log.Warn("history: some readings are lost; check the disk", "err", err)
		}
	}
}

// Write writes all readings that are not in their files. After an error the readings of that
// device are lost.
func (s *Store) Write() error {
	s.files.Lock()
	defer s.files.Unlock()
	s.mu.Lock()
	pending := map[deviceName]seriesBuckets{}
	for name, d := range s.devices {
		if len(d.pending) > 0 {
			pending[name], d.pending = d.pending, seriesBuckets{}
		}
	}
	s.mu.Unlock()
	var errs []error
	for name, all := range pending {
		if err := s.writeDevice(name, all); err != nil {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

// writeDevice writes the buckets of one device. It replaces a damaged file.
func (s *Store) writeDevice(name deviceName, all seriesBuckets) error {
	f, err := openFile(s.dir, fileOf(name), true)
	if errors.Is(err, errDamaged) {
		s.log.Warn("history: a file was damaged, and is new now", "err", err)
		if err = s.dir.Remove(fileOf(name)); err == nil {
			f, err = openFile(s.dir, fileOf(name), true)
		}
	}
	if err != nil {
		return err
	}
	for _, series := range all.names() {
		at, err := f.place(series)
		if err != nil {
			return errors.Join(err, f.Close())
		}
		if at < 0 {
			continue // the file is full
		}
		for i, some := range all[series] {
			for _, number := range slices.Sorted(maps.Keys(some)) {
				if err := f.write(at, i, number, some[number]); err != nil {
					return errors.Join(err, f.Close())
				}
			}
		}
	}
	return f.Close()
}

// removeOld removes files that nothing has written for longer than they keep readings.
func (s *Store) removeOld() error {
	s.files.Lock()
	defer s.files.Unlock()
	d, err := s.dir.Open(".")
	if err != nil {
		return err
	}
	list, err := d.ReadDir(-1)
	if err = errors.Join(err, d.Close()); err != nil {
		return err
	}
	for _, one := range list {
		info, err := one.Info()
		if err == nil && strings.HasSuffix(one.Name(), ".ring") && s.now().Sub(info.ModTime()) > tiers[1].span()+removeEvery {
			if err := s.dir.Remove(one.Name()); err != nil {
				return err
			}
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for name, one := range s.devices {
		newest := time.Time{}
		for _, at := range one.newest {
			if at.After(newest) {
				newest = at
			}
		}
		if len(one.pending) == 0 && s.now().Sub(newest) > removeEvery {
			delete(s.devices, name)
		}
	}
	s.full = false
	return nil
}

// Series is the values of one quantity of a device over time.
type Series struct {
	Quantity string
	Unit     string // "" for none
	Points   []Point
}

// Point is the values within one step.
type Point struct {
	At             time.Time // the begin of the step
	Last, Min, Max float64
}

// Query returns the readings of a device from a time until another one, both included. step is the
// time between two points: a minute if the last 24 hours contain from, otherwise an hour. A step
// without a reading has no point. The series are sorted by their names; there is none for an unknown
// device.
func (s *Store) Query(executor, device string, from, to time.Time) (step time.Duration, list []Series, err error) {
	i := 0
	if s.now().Sub(from) > tiers[0].span() {
		i = 1
	}
	t, name := tiers[i], deviceName{executor, device}
	first := max(t.numberOf(from), t.numberOf(s.now())-t.count+1)
	last := t.numberOf(to)
	all := seriesBuckets{}
	s.files.Lock()
	defer s.files.Unlock()
	if err := s.readFile(name, i, first, last, all); err != nil {
		return 0, nil, err
	}
	s.mu.Lock()
	if d := s.devices[name]; d != nil {
		for series, pending := range d.pending {
			for number, b := range pending[i] {
				if number >= first && number <= last {
					all.of(series)[i].put(number, b)
				}
			}
		}
	}
	s.mu.Unlock()
	for _, series := range all.names() {
		one := Series{Quantity: series.Quantity, Unit: series.Unit}
		for _, number := range slices.Sorted(maps.Keys(all[series][i])) {
			b := all[series][i][number]
			one.Points = append(one.Points, Point{t.begin(number), round(b.last), round(b.min), round(b.max)})
		}
		list = append(list, one)
	}
	return t.length, list, nil
}

// readFile adds the buckets of a device's file. A damaged file has none.
func (s *Store) readFile(name deviceName, tierIndex int, first, last int64, all seriesBuckets) error {
	if !name.hasFile() {
		return nil
	}
	f, err := openFile(s.dir, fileOf(name), false)
	switch {
	case errors.Is(err, fs.ErrNotExist) || errors.Is(err, errDamaged):
		return nil
	case err != nil:
		return fmt.Errorf("history of %s: %w", name.device, err)
	}
	defer func() { _ = f.Close() }() // it was only read
	for i, series := range f.header.Series {
		add := func(number int64, b bucket) { all.of(series)[tierIndex].put(number, b) }
		if err := f.read(i, tierIndex, first, last, add); err != nil {
			return err
		}
	}
	return nil
}

// round drops the digits that a float32 does not have: 21.5 and not 21.50000019.
func round(v float32) float64 {
	scale := math.Pow(10, 6-math.Ceil(math.Log10(math.Abs(float64(v))+1)))
	return math.Round(float64(v)*scale) / scale
}
