package drivertest

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/messkit/messkit/drivers"
)

// verb is one method of a device that a rule can call without other information.
type verb struct {
	name   string
	call   func(context.Context) error
	midway bool // the verb needs a task, and fails without one
}

// verbs returns every verb that d has.
func verbs(d drivers.Device) []verb {
	var vs []verb
	add := func(name string, call func(context.Context) error) { vs = append(vs, verb{name: name, call: call}) }
	steers := func(name string, call func(context.Context) error) { vs = append(vs, verb{name, call, true}) }
	if p, ok := d.(drivers.Photographer); ok {
		add("Photo", func(ctx context.Context) error { _, err := p.Photo(ctx); return err })
	}
	if s, ok := d.(drivers.Switch); ok {
		add("Switch", func(ctx context.Context) error { return s.Switch(ctx, true) })
	}
	if r, ok := d.(drivers.SwitchReader); ok {
		add("On", func(ctx context.Context) error { _, err := r.On(ctx); return err })
	}
	if s, ok := d.(drivers.Dimmer); ok {
		add("Dim", func(ctx context.Context) error { return s.Dim(ctx, 50) })
	}
	if r, ok := d.(drivers.LevelReader); ok {
		add("Level", func(ctx context.Context) error { _, err := r.Level(ctx); return err })
	}
	if s, ok := d.(drivers.ColorSetter); ok {
		add("SetColor", func(ctx context.Context) error { return s.SetColor(ctx, drivers.Color{R: 255}) })
	}
	if r, ok := d.(drivers.ColorReader); ok {
		add("Color", func(ctx context.Context) error { _, err := r.Color(ctx); return err })
	}
	if w, ok := d.(drivers.ColorTemperatureSetter); ok {
		warmest, _ := w.ColorTemperatureRange()
		add("SetColorTemperature", func(ctx context.Context) error { return w.SetColorTemperature(ctx, warmest) })
	}
	if r, ok := d.(drivers.ColorTemperatureReader); ok {
		add("ColorTemperature", func(ctx context.Context) error { _, err := r.ColorTemperature(ctx); return err })
	}
	if t, ok := d.(drivers.Turner); ok {
		add("TurnTo", func(ctx context.Context) error { return t.TurnTo(ctx, t.AngleLimits().Max) })
	}
	if r, ok := d.(drivers.AngleReader); ok {
		add("Angle", func(ctx context.Context) error { _, err := r.Angle(ctx); return err })
	}
	if s, ok := d.(drivers.Thermostat); ok {
		add("SetTarget", func(ctx context.Context) error { return s.SetTarget(ctx, s.TargetRange().Min) })
	}
	if r, ok := d.(drivers.TargetReader); ok {
		add("Target", func(ctx context.Context) error { _, err := r.Target(ctx); return err })
	}
	if o, ok := d.(drivers.Observer); ok {
		add("Observe", func(ctx context.Context) error { _, err := o.Observe(ctx); return err })
	}
	if c, ok := d.(drivers.Cleaner); ok {
		add("Clean", func(ctx context.Context) error { _, err := c.Clean(ctx, nil, nil); return err })
		add("Dock", c.Dock)
	}
	if c, ok := d.(drivers.SpotCleaner); ok {
		add("CleanSpot", func(ctx context.Context) error { return c.CleanSpot(ctx, nil) })
	}
	if o, ok := d.(drivers.Opener); ok {
		add("Open", o.Open)
		add("Close", o.Close)
	}
	if p, ok := d.(drivers.Positioner); ok {
		add("OpenTo", func(ctx context.Context) error { return p.OpenTo(ctx, 50) })
	}
	if r, ok := d.(drivers.OpeningEstimator); ok {
		add("EstimatedOpening", func(ctx context.Context) error { _, err := r.EstimatedOpening(ctx); return err })
	}
	if r, ok := d.(drivers.OpeningReader); ok {
		add("Opening", func(ctx context.Context) error { _, err := r.Opening(ctx); return err })
	}
	if s, ok := d.(drivers.Sensor); ok {
		add("Read", func(ctx context.Context) error { _, err := s.Read(ctx); return err })
	}
	if l, ok := d.(drivers.Locker); ok {
		add("Lock", l.Lock)
		add("Unlock", l.Unlock)
	}
	if r, ok := d.(drivers.LockReader); ok {
		add("Locked", func(ctx context.Context) error { _, err := r.Locked(ctx); return err })
	}
	if p, ok := d.(drivers.Presser); ok {
		add("Press", p.Press)
	}
	if r, ok := d.(drivers.PressReader); ok {
		add("PressState", func(ctx context.Context) error { _, err := r.PressState(ctx); return err })
	}
	if p, ok := d.(drivers.Pauser); ok {
		steers("Pause", p.Pause)
		steers("Resume", p.Resume)
	}
	if s, ok := d.(drivers.Stopper); ok {
		add("Stop", func(ctx context.Context) error { _, err := s.Stop(ctx); return err })
	}
	if p, ok := d.(drivers.Printer); ok {
		steers("Print", func(ctx context.Context) error { _, err := p.Print(ctx, "no such file"); return err })
		add("PrintState", func(ctx context.Context) error {
			_, err := p.PrintState(ctx, drivers.Print{File: "benchy.gcode"})
			return err
		})
		steers("FindPrint", func(ctx context.Context) error {
			_, err := p.FindPrint(ctx, "no such file", time.Unix(0, 0))
			return err
		})
	}
	if r, ok := d.(drivers.DockReader); ok {
		add("Docked", func(ctx context.Context) error { _, err := r.Docked(ctx); return err })
	}
	if m, ok := d.(drivers.Mover); ok {
		add("Move", func(ctx context.Context) error { return m.Move(ctx, creep, drivers.MaxLease) })
		add("StopMoving", m.StopMoving)
	}
	if a, ok := d.(drivers.AreaLister); ok {
		add("Areas", func(ctx context.Context) error { _, err := a.Areas(ctx); return err })
	}
	if m, ok := d.(drivers.Mapper); ok {
		add("Map", func(ctx context.Context) error { _, err := m.Map(ctx); return err })
	}
	return vs
}

// call runs f; name is its name in errors. err is the result of f. fault reports a panic or
// a hang of f.
func (b *bench) call(name string, f func() error) (err, fault error) {
	return b.await(name, begin(name, f))
}

// ended is the result of a call.
type ended struct{ err, fault error }

// begin runs f concurrently. A hanging call remains, because nothing can end it, and its
// rule has failed.
func begin(name string, f func() error) <-chan ended {
	done := make(chan ended, 1)
	go func() {
		defer func() {
			if p := recover(); p != nil {
				done <- ended{fault: fmt.Errorf("%s panics: %v", name, p)}
			}
		}()
		done <- ended{err: f()}
	}()
	return done
}

func (b *bench) await(name string, done <-chan ended) (err, fault error) {
	timer := time.NewTimer(b.limit)
	defer timer.Stop()
	select {
	case e := <-done:
		return e.err, e.fault
	case <-timer.C:
		return nil, fmt.Errorf("%s has not returned after %v", name, b.limit)
	}
}

// must calls f, which must succeed.
func (b *bench) must(name string, f func() error) error {
	err, fault := b.call(name, f)
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return fault
}

// mustFail calls f, which must return an error that names the device.
func (b *bench) mustFail(d drivers.Device, name string, f func() error) (err, fault error) {
	err, fault = b.call(name, f)
	switch {
	case fault != nil:
		return nil, fault
	case err == nil:
		return nil, fmt.Errorf("%s returns no error", name)
	case !strings.Contains(err.Error(), d.Name()):
		return nil, fmt.Errorf("%s returns an error without the name %q: %w", name, d.Name(), err)
	}
	return err, nil
}

// started opens a device and starts it.
func (b *bench) started() (drivers.Device, error) {
	d := b.open()
	if err := b.probed(d); err != nil {
		return nil, err
	}
	return d, b.must("Start", d.Start)
}

// with runs check on a started device and halts it afterwards.
func (b *bench) with(check func(drivers.Device) error) error {
	d, err := b.started()
	if err != nil {
		return err
	}
	err = check(d)
	return errors.Join(err, b.must("Halt", d.Halt))
}
