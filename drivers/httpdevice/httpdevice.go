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
	"time"

	"github.com/messkit/messkit/drivers"
	"github.com/messkit/messkit/drivers/httpclient"
	"github.com/messkit/messkit/drivers/template"
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
		return nil, cfg.JoinTemplateErrors(err, Families(), new(Template))
	}
	return New(env.Name, cfg, env.Log, env.Now)
}

// device connects the verbs of one device to its requests.
type device struct {
	template *Template
	values   template.Values
	web      *httpclient.Client
	url      string
	log      *slog.Logger
	now      func() time.Time
	timer    *template.TimedOn // nil: the device has no timer
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
	values, errs := template.Resolve(d.template.With, cfg.With)
	if (cfg.Token != "" || cfg.TokenFile != "") && d.template.Token == "" {
		key := "token"
		if cfg.TokenFile != "" {
			key = "token_file"
		}
		errs = append(errs, fmt.Errorf("%s: the family %s needs no token; remove the key, or write username and password_file if the device requires a login", key, cfg.Family))
	}
	client, err := httpclient.New(cfg.Config, d.template.Token)
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
	d.values = values.With(template.Values{"username": s.User, "password": string(s.Password)})
	return template.New(name, d.template.Class, cfg.SwitchLevels, haltCalls*cfg.Timeout, drivers.NewConnection(client.Host()), d.verbs()), nil
}

// verbs returns the verbs of the template.
func (d *device) verbs() template.Verbs {
	v := template.Verbs{RunLast: d.web.RunLast, Resources: d.holds}
	if s := d.template.Switch; s != nil {
		v.Switch, v.On, v.Light = d.turn, d.on, d.light()
		if t := s.OnFor; t != nil {
			d.timer = &template.TimedOn{Timer: t.Timer, Stays: len(t.Undo) > 0, Switch: d.turn, Log: d.log, Set: func(ctx context.Context, values template.Values) error {
				return d.act(ctx, t.Calls, d.values.With(values))
			}}
			v.SwitchFor, v.TimerMayBeSet, v.RoundTimer = d.timer.SwitchFor, d.timer.MarkSet, t.Lasts
		}
	}
	if v.Cover = d.cover(); v.Cover != nil {
		v.Read = v.Cover.Readings(d.now)
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
	if !d.timer.IsSet() {
		return nil
	}
	err := d.do(ctx, d.template.Switch.OnFor.Undo, d.values)
	if err == nil {
		d.timer.MarkRemoved()
	}
	return err
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
	answers := map[string][]byte{}
	var list []drivers.Reading
	for _, r := range d.template.Readings {
		_, path := r.method()
		answer, asked := answers[path]
		if !asked {
			var err error
			answer, err = d.ask(ctx, r.Call, d.values)
			status, ok := errors.AsType[*httpclient.StatusError](err)
			if missing := ok && r.Optional && status.Status == http.StatusNotFound; err != nil && !missing {
				return nil, err
			}
			answers[path] = answer
		}
		if answer == nil && r.Optional { // this device of the family does not have it
			continue
		}
		one, err := r.In(d.values, answer, d.now())
		if err != nil {
			return nil, err
		}
		if one != nil {
			list = append(list, *one)
		}
	}
	if len(list) == 0 {
		return nil, drivers.ErrNoReading
	}
	return list, nil
}
