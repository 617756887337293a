package drivertest

import (
	"context"
	"errors"

	"github.com/messkit/messkit/drivers"
)

func (d *device) OpenTo(ctx context.Context, percent float64) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := d.may(ctx); err != nil {
		return err
	}
	if !(percent >= 0 && percent <= 100) && d.fault != opensAnyhow {
		return errors.New("device: use 0 to 100")
	}
	d.ajar, d.opening, d.done = percent > 0, percent, d.done+1
	if d.fault == opensWholly {
		d.opening = 0
	}
	return nil
}

func (d *device) ColorTemperatureRange() (warmest, coldest float64) { return 2000, 6500 }

func (d *device) SetColorTemperature(ctx context.Context, kelvin float64) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := d.may(ctx); err != nil {
		return err
	}
	if !(kelvin >= 2000 && kelvin <= 6500) && d.fault != anyWhite {
		return errors.New("device: use 2000 to 6500")
	}
	d.kelvin, d.on, d.done = kelvin, d.fault != darkWhite, d.done+1
	if d.fault == wrongWhite {
		d.kelvin = 4711
	}
	return nil
}

func (d *device) ColorTemperature(ctx context.Context) (float64, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.kelvin, d.may(ctx)
}

func (d *device) AngleLimits() drivers.AngleLimits {
	return drivers.AngleLimits{Min: 10, Max: 170, NamedAngles: []drivers.NamedAngle{{Name: "left", Degrees: 30}}}
}

func (d *device) TurnTo(ctx context.Context, degrees float64) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := d.may(ctx); err != nil {
		return err
	}
	if err := d.AngleLimits().Check(degrees); err != nil && d.fault != turnsAnywhere {
		if d.fault == turnsSilently {
			return errors.New("device: no")
		}
		return errors.Join(errors.New("device"), err)
	}
	if d.fault == turnsNot {
		return nil
	}
	d.angle, d.done = degrees, d.done+1
	if d.fault == turnsElsewhere {
		d.angle += 5
	}
	return nil
}

func (d *device) Angle(ctx context.Context) (float64, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.angle, d.may(ctx)
}

func (d *device) TargetRange() drivers.TargetRange { return drivers.TargetRange{Min: 5, Max: 30} }

func (d *device) SetTarget(ctx context.Context, celsius float64) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := d.may(ctx); err != nil {
		return err
	}
	if err := d.TargetRange().Check(celsius); err != nil && d.fault != targetsAny {
		if d.fault == targetsSilently {
			return errors.New("device: no")
		}
		return errors.Join(errors.New("device"), err)
	}
	if d.fault == targetsNot {
		return nil
	}
	d.target, d.done = celsius, d.done+1
	switch d.fault {
	case targetsAnother:
		d.target++
	case targetsOn:
		d.on = true
	}
	return nil
}

func (d *device) Target(ctx context.Context) (float64, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.target, d.may(ctx)
}
