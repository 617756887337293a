package drivertest

import (
	"context"
	"errors"
	"fmt"
	"math"
	"net/http"
	"strings"
	"time"

	"github.com/messkit/messkit/drivers"
)

// ifHas runs check on a started device with the verb V.
func ifHas[V any](b *bench, check func(drivers.Device, V) error) error {
	v, ok := b.open().(V)
	if !ok {
		return notApplicable(fmt.Sprintf("the device is not a %T", &v))
	}
	return b.with(func(d drivers.Device) error { return check(d, d.(V)) })
}

func photoIsNew(ctx context.Context, b *bench) error {
	return ifHas(b, func(_ drivers.Device, p drivers.Photographer) error {
		return b.picture(ctx, "Photo", p.Photo)
	})
}

func mapIsNew(ctx context.Context, b *bench) error {
	return ifHas(b, func(_ drivers.Device, m drivers.Mapper) error {
		return b.picture(ctx, "Map", m.Map)
	})
}

// picture takes two images and checks both.
func (b *bench) picture(ctx context.Context, name string, take func(context.Context) (drivers.Photo, error)) error {
	for range 2 {
		from := time.Now()
		var p drivers.Photo
		err := b.must(name, func() (err error) { p, err = take(ctx); return err })
		if err != nil {
			return err
		}
		if err := b.checkPhoto(p, from); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	return nil
}

func (b *bench) checkPhoto(p drivers.Photo, from time.Time) error {
	switch is := http.DetectContentType(p.Data); {
	case len(p.Data) == 0:
		return errors.New("no bytes")
	case p.MIME != is:
		return fmt.Errorf("the MIME type is %q, but the bytes are %q", p.MIME, is)
	default:
		return b.checkTime(p.CapturedAt, from)
	}
}

// checkTime returns an error for a time that is not between from and now.
func (b *bench) checkTime(at, from time.Time) error {
	if at.Before(from) {
		return fmt.Errorf("the time %v is before the call at %v", at, from)
	}
	if now := time.Now(); at.After(now) {
		return fmt.Errorf("the time %v is after the end of the call at %v", at, now)
	}
	return nil
}

func readingsAreWhole(ctx context.Context, b *bench) error {
	return ifHas(b, func(d drivers.Device, s drivers.Sensor) error {
		if o, ok := d.(drivers.Opener); ok { // some devices know their position only after that
			if err := b.must("Close", func() error { return o.Close(ctx) }); err != nil {
				return err
			}
		}
		var readings []drivers.Reading
		err := b.must("Read", func() (err error) { readings, err = s.Read(ctx); return err })
		if err != nil {
			return err
		}
		if len(readings) == 0 {
			return errors.New("the verb Read returns neither readings nor an error")
		}
		for _, r := range readings {
			if r.Quantity == "" || r.At.IsZero() || math.IsNaN(r.Value) || math.IsInf(r.Value, 0) {
				return fmt.Errorf("a reading is incomplete: %+v", r)
			}
		}
		return nil
	})
}

func observationReports(ctx context.Context, b *bench) error {
	return ifHas(b, func(_ drivers.Device, o drivers.Observer) error {
		from := time.Now()
		var seen drivers.Observation
		err := b.must("Observe", func() (err error) { seen, err = o.Observe(ctx); return err })
		if err != nil {
			return err
		}
		if strings.TrimSpace(seen.Text) == "" {
			return errors.New("the observation has no text")
		}
		for _, f := range seen.Facts {
			if err := checkFact(f); err != nil {
				return err
			}
		}
		return b.checkTime(seen.At, from)
	})
}

func checkFact(f drivers.Fact) error {
	if f.Name == "" {
		return fmt.Errorf("a fact has no name: %+v", f)
	}
	switch v := f.Value.(type) {
	case string, bool, float64:
		return nil
	case []drivers.Fact:
		for _, part := range v {
			if err := checkFact(part); err != nil {
				return fmt.Errorf("%s: %w", f.Name, err)
			}
		}
		return nil
	default:
		return fmt.Errorf("fact %q has the unsupported type %T", f.Name, f.Value)
	}
}
