// Package httpdevice drives HTTP devices by templates: one YAML file for each family of
// devices (Shelly, Tasmota, WLED, ...). A template describes the requests and the values in
// the answers. Users can add templates of their own.
//
// The driver does not act by itself: it does not poll, follows no redirect, and repeats no
// request.
package httpdevice

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/messkit/messkit/drivers"
	"github.com/messkit/messkit/drivers/family"
	"github.com/messkit/messkit/drivers/web"
)

// Kind returns the driver kind for drivers/all.
func Kind() drivers.Kind {
	return drivers.Kind{Name: "httpdevice", Class: "plug", About: "plugs, lamps and sensors over HTTP, by template: Shelly, Tasmota, WLED, or your own", Open: Open, Discover: Discover}
}

// Open is the drivers.Factory of this package. It reads the template and the files of
// secrets, and uses no network.
func Open(env drivers.Env, decode func(any) error) (drivers.Device, error) {
	cfg := DefaultConfig()
	if err := decode(&cfg); err != nil {
		return nil, cfg.Besides(err, Families(), new(Template))
	}
	return New(env.Name, cfg, env.Log, env.Now)
}

// device connects the verbs of one device to its requests.
type device struct {
	template *Template
	values   family.Values
	web      *web.Client
	url      string
	log      *slog.Logger
	now      func() time.Time
	timed    atomic.Bool // the timer of the device has a setting that stays until the driver removes it
}

// haltCalls is the time limit of Start and Halt as a multiple of the timeout.
const haltCalls = 3

// New returns a device for a valid configuration.
func New(name string, cfg Config, log *slog.Logger, now func() time.Time) (drivers.Device, error) {
	t, err := templates.Load(Families(), cfg.Families, cfg.Family)
	if err != nil {
		return nil, err
	}
	d := &device{template: t, url: cfg.URL, log: log, now: now}
	values, errs := family.Resolve(d.template.With, cfg.With)
	if (cfg.Token != "" || cfg.TokenFile != "") && d.template.Token == "" {
		key := "token"
		if cfg.TokenFile != "" {
			key = "token_file"
		}
		errs = append(errs, fmt.Errorf("%s: the family %s needs no token; remove the key, or write username and password_file if the device requires a login", key, cfg.Family))
	}
	client, err := web.New(cfg.Config, d.template.Token)
	if err := errors.Join(append(errs, err)...); err != nil {
		return nil, err
	}
	d.web = client
	s := client.Secrets()
	if s := d.template.Switch; s != nil && s.White != nil {
		if _, _, err := s.White.Limits(values); err != nil {
			return nil, err
		}
	}
	d.values = values.With(family.Values{"username": s.User, "password": string(s.Password)})
	return family.New(name, d.template.Class, cfg.Levels, haltCalls*cfg.Timeout, drivers.NewConnection(client.Host()), d.verbs()), nil
}

// verbs returns the verbs of the template.
func (d *device) verbs() family.Verbs {
	v := family.Verbs{Last: d.web.Last, Holds: d.holds}
	if s := d.template.Switch; s != nil {
		v.Switch, v.On = d.turn, d.on
		if s.OnFor != nil {
			v.SwitchFor, v.TimerLeft, v.TimerFor = d.turnFor, d.isTimed, s.OnFor.Lasts
		}
		v.Light = d.light()
	}
	if v.Cover = d.cover(); v.Cover != nil {
		v.Read = d.readCover
	}
	if len(d.template.Readings) > 0 {
		v.Read = d.read
	}
	return v
}

func (d *device) turn(ctx context.Context, on bool) error {
	calls := d.template.Switch.Off
	if on {
		calls = d.template.Switch.On
		if err := d.undo(ctx); err != nil {
			return err
		}
	}
	if err := d.do(ctx, calls, d.values); err != nil {
		return err
	}
	if err := d.undo(ctx); err != nil { // the device is off
		d.log.Warn("the timer of the device stays set until the device turns on without a time limit", "err", err)
	}
	return d.web.Unanswered(ctx)
}

// undo removes a timer setting, which would otherwise end the next switch-on without a time
// limit.
func (d *device) undo(ctx context.Context) error {
	if !d.timed.Load() {
		return nil
	}
	err := d.do(ctx, d.template.Switch.OnFor.Undo, d.values)
	if err == nil {
		d.timed.Store(false)
	}
	return err
}

func (d *device) turnFor(ctx context.Context, limit time.Duration) error {
	timed := d.template.Switch.OnFor
	value, ok := timed.For(limit)
	if !ok {
		d.log.Debug("limit exceeds the longest time of the device's timer", "limit", limit)
		return d.turn(ctx, true)
	}
	err := d.act(ctx, timed.Calls, d.values.With(family.Values{"for": value}))
	if !errors.Is(err, drivers.ErrNothingDone) {
		d.isTimed()
	}
	return err
}

// isTimed records that the timer is set, if its setting stays in the device.
func (d *device) isTimed() {
	if len(d.template.Switch.OnFor.Undo) > 0 {
		d.timed.Store(true)
	}
}

func (d *device) on(ctx context.Context) (bool, error) {
	s := d.template.Switch.State
	body, err := d.ask(ctx, s.Call, d.values)
	if err != nil {
		return false, err
	}
	return s.Read(d.values, body)
}

// read sends each request once, even if several readings use its answer.
func (d *device) read(ctx context.Context) ([]drivers.Reading, error) {
	answers := map[string]any{}
	var list []drivers.Reading
	for _, r := range d.template.Readings {
		_, path := r.method()
		answer, asked := answers[path]
		if !asked {
			body, err := d.ask(ctx, r.Call, d.values)
			if status, ok := errors.AsType[*web.StatusError](err); ok && r.Optional && status.Status == http.StatusNotFound {
				answers[path] = nil
				continue // this device of the family does not have it
			}
			if err != nil {
				return nil, err
			}
			if answer, err = family.Parse(body); err != nil {
				return nil, err
			}
			answers[path] = answer
		}
		one, err := r.in(answer, d.values)
		if err != nil {
			return nil, err
		}
		if one != nil {
			one.At = d.now()
			list = append(list, *one)
		}
	}
	if len(list) == 0 {
		return nil, drivers.ErrNoReading
	}
	return list, nil
}

// in returns the reading in an answer, or nil if the device does not have it.
func (r Reading) in(answer any, values family.Values) (*drivers.Reading, error) {
	where := values.Text(r.Value)
	found, ok := family.Pick(answer, where)
	if !ok && r.Optional {
		return nil, nil
	}
	f, number := family.Number(found)
	if !number {
		return nil, fmt.Errorf("the answer of the device has no number at %s", where)
	}
	if r.Times != 0 {
		f *= r.Times
	}
	return &drivers.Reading{Quantity: r.Quantity, Value: f, Unit: r.Unit}, nil
}
