// Package mqttdevice drives what can be told things over MQTT, by templates: one
// YAML file for each family of devices (Tasmota, zigbee2mqtt, Shelly, Homie,
// ESPHome), which says what to send and where the device tells how it is. A user
// adds a family with a file of his own.
//
// It speaks MQTT 3.1.1. What it sends is never retained, and it sends nothing to
// a device that is known to be offline: neither may act later by itself.
package mqttdevice

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"github.com/messkit/messkit/drivers"
	"github.com/messkit/messkit/drivers/family"
	"github.com/messkit/messkit/drivers/mqttclient"
	"github.com/messkit/messkit/drivers/web"
)

// Kind is the kind of driver for drivers/all.
func Kind() drivers.Kind {
	return drivers.Kind{Name: "mqttdevice", Class: "plug", About: "plugs, lamps and sensors over MQTT, by template: Tasmota, zigbee2mqtt, Shelly, Homie, ESPHome, or your own", Open: Open}
}

// Open is the drivers.Factory of this package. It reads the family's template
// and the password file; no network is touched.
func Open(env drivers.Env, decode func(any) error) (drivers.Device, error) {
	cfg := DefaultConfig()
	if err := decode(&cfg); err != nil {
		return nil, cfg.Besides(err, Families(), new(Template))
	}
	return New(env.Name, cfg, env)
}

// device is how one device is told things.
type device struct {
	link
	template *Template
	values   family.Values
	timed    atomic.Bool // its own timer was set, and stays so until it is undone
}

// haltTimes is how many timeouts Start and Halt may take.
const haltTimes = 3

// New makes a device of a valid configuration.
func New(name string, cfg Config, env drivers.Env) (drivers.Device, error) {
	t, err := templates.Load(Families(), cfg.Families, cfg.Family)
	if err != nil {
		return nil, err
	}
	d := &device{link: link{broker: cfg.Broker, address: cfg.address(), timeout: cfg.Timeout, log: env.Log, now: env.Now}, template: t}
	values, errs := family.Resolve(d.template.With, cfg.With)
	password := cfg.Password
	if err := errors.Join(append(errs, web.ReadSecret("password_file", cfg.PasswordFile, &password))...); err != nil {
		return nil, err
	}
	d.values = values
	if s := d.template.Switch; s != nil && s.White != nil {
		if _, _, err := s.White.Limits(values); err != nil {
			return nil, err
		}
	}
	client, err := mqttclient.Shared(env, cfg.options(password))
	if err != nil {
		return nil, err
	}
	d.client, d.member = client, mqttclient.NewMember(d.topics())
	return family.New(name, d.template.Class, cfg.Levels, haltTimes*cfg.Timeout, drivers.NewHub(d.address), d.verbs()), nil
}

// topics are those on which the device tells something, each once.
func (d *device) topics() []string {
	var all []string
	add := func(topic string) {
		if topic = d.values.Text(topic); !slices.Contains(all, topic) {
			all = append(all, topic)
		}
	}
	t := d.template
	for _, a := range []*State{t.Availability, t.Through} {
		if a != nil {
			add(a.Topic)
		}
	}
	if s := t.Switch; s != nil {
		add(s.State.Topic)
		if s.Dim != nil {
			add(s.Dim.State.Topic)
		}
		if s.White != nil {
			add(s.White.State.Topic)
		}
		if s.Tint != nil {
			add(s.Tint.State.Topic)
		}
	}
	if c := t.Cover; c != nil {
		if c.Position != nil {
			add(c.Position.Topic)
		}
		if c.State != nil {
			add(c.State.Topic)
		}
	}
	for _, r := range t.Readings {
		add(r.Topic)
	}
	return all
}

// verbs are those of the template.
func (d *device) verbs() family.Verbs {
	v := family.Verbs{Open: d.open, Close: d.close, Holds: d.holds}
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
	if d.listens() {
		v.Changes = d.member.Changes
	}
	return v
}

// listens reports whether to look at the device asks it nothing: else each look would
// be a change itself.
func (d *device) listens() bool {
	asked := slices.ContainsFunc(d.template.Readings, func(r Reading) bool { return r.Ask != nil })
	return d.template.Switch == nil && len(d.template.Readings) > 0 && !asked
}

func (d *device) turn(ctx context.Context, on bool) error {
	s := d.template.Switch
	if !d.timed.Load() {
		return d.tell(ctx, map[bool][]Message{true: s.On, false: s.Off}[on], d.values, on)
	}
	list := slices.Concat(s.OnFor.Undo, s.On)
	if !on {
		list = slices.Concat(s.Off, s.OnFor.Undo)
	}
	err := d.tell(ctx, list, d.values, on)
	if err == nil {
		d.timed.Store(false)
	}
	return err
}

func (d *device) turnFor(ctx context.Context, limit time.Duration) error {
	timed := d.template.Switch.OnFor
	value, ok := timed.For(limit)
	if !ok {
		d.log.Debug("longer than the device's own timer can be", "limit", limit)
		return d.turn(ctx, true)
	}
	err := d.tell(ctx, timed.Messages, d.values.With(family.Values{"for": value}), true)
	if !errors.Is(err, drivers.ErrNothingDone) {
		d.isTimed()
	}
	return err
}

// isTimed notes that its own timer is set, where that stays so for what is switched later.
func (d *device) isTimed() {
	if len(d.template.Switch.OnFor.Undo) > 0 {
		d.timed.Store(true)
	}
}

// unchanged is how long a device that is as it should be already may take to say
// so again; many say nothing.
const unchanged = 300 * time.Millisecond

// tell sends a command, and waits until the device says that it has obeyed.
func (d *device) tell(ctx context.Context, list []Message, values family.Values, want bool) error {
	s := d.template.Switch.State
	return d.order(ctx, list, values, Value{Topic: s.Topic, Ask: s.Ask}, func(payload []byte) (bool, string, error) {
		is, err := s.Read(d.values, payload)
		return is == want, fmt.Sprintf("on=%t", is), err
	}, fmt.Sprintf("on=%t", want))
}

// order sends messages, and waits until the device tells on v what it should; so
// reads whether it does, and what it tells.
func (d *device) order(ctx context.Context, list []Message, values family.Values, v Value, so func([]byte) (bool, string, error), want string) error {
	if err := d.online(ctx); err != nil {
		return err
	}
	limit, doubt := d.timeout, error(nil)
	if v.Ask == nil {
		if doubt = d.unseen.doubt(d.now()); doubt == nil && d.tells(ctx, v, so) {
			limit = unchanged
		}
	}
	from := d.member.Now()
	if err := d.command(ctx, list, values); err != nil {
		return err
	}
	err := d.obeys(ctx, from, limit, v, so, want)
	switch {
	case errors.Is(err, errUntold): // what the broker keeps says so
		return doubt
	case err != nil:
		d.unseen.add(d.now())
		return drivers.Unanswered(err)
	}
	return d.unseen.none(d.now())
}

// tells reports whether the device tells already what it should.
func (d *device) tells(ctx context.Context, v Value, so func([]byte) (bool, string, error)) bool {
	h, err := d.told(ctx, v)
	if err != nil {
		return false
	}
	is, _, err := so(h.Payload)
	return err == nil && is
}

// errUntold is a device that is as it should be, and has not said so since it was told.
var errUntold = errors.New("it is as it was told, and has not said so since")

// obeys waits until the device says so, of what was sent when from messages were heard.
func (d *device) obeys(ctx context.Context, from int, limit time.Duration, v Value, so func([]byte) (bool, string, error), want string) error {
	within, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	for pause := askFirst; ; pause = askEvery {
		turn, cancel := context.WithTimeout(within, pause)
		_, obeyed := d.member.Await(turn, d.values.Text(v.Topic), func(h mqttclient.Heard) bool {
			is, _, err := so(h.Payload)
			return h.Number > from && !h.Retained && err == nil && is
		})
		cancel()
		switch {
		case obeyed:
			return nil
		case ctx.Err() != nil:
			return ctx.Err()
		case within.Err() != nil:
			if err := d.judge(ctx, v, so, want); err != nil {
				return err
			}
			return errUntold
		case v.Ask != nil: // one that is as it should be already may say nothing by itself
			_ = d.ask(ctx, v.Ask, d.values) // judge says what is wrong
		}
	}
}

// judge is for a device that did not say that it has obeyed.
func (d *device) judge(ctx context.Context, v Value, so func([]byte) (bool, string, error), want string) error {
	h, err := d.told(ctx, v)
	is, says := false, ""
	if err == nil {
		is, says, err = so(h.Payload)
	}
	switch {
	case err != nil:
		return fmt.Errorf("it was told, and does not say whether it has obeyed; look at it: %v", err) // not wrapped: something may have been done
	case !is:
		return fmt.Errorf("it was told %s, and says %s", want, says)
	}
	return nil
}

// online refuses what a device would not hear now, and may hear later.
func (d *device) online(ctx context.Context) error {
	if err := d.reach(ctx); err != nil {
		return err
	}
	for _, a := range []*State{d.template.Availability, d.template.Through} {
		if a == nil {
			continue
		}
		if err := d.there(ctx, a); err != nil {
			return err
		}
	}
	return nil
}

// there refuses where a topic says offline, or says nothing.
func (d *device) there(ctx context.Context, a *State) error {
	topic := d.values.Text(a.Topic)
	within, cancel := context.WithTimeout(ctx, d.timeout)
	defer cancel()
	h, ok := d.member.Await(within, topic, func(mqttclient.Heard) bool { return true })
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case !ok:
		return drivers.NotDone(fmt.Errorf("%s", d.silent(topic, fmt.Sprintf("nobody has told on %s whether it is there; is it switched on, and its name right?", topic))))
	}
	is, err := a.Read(d.values, h.Payload)
	switch {
	case err != nil:
		return drivers.NotDone(fmt.Errorf("%s: %w", topic, err))
	case !is:
		return drivers.NotDone(fmt.Errorf("it is offline, says %s; look at its power and its network", topic))
	}
	return nil
}

// on reads back anew.
func (d *device) on(ctx context.Context) (bool, error) {
	s := d.template.Switch.State
	h, err := d.told(ctx, Value{Topic: s.Topic, Ask: s.Ask})
	if err != nil {
		return false, err
	}
	return s.Read(d.values, h.Payload)
}

// told is what the device tells anew: from itself where it can be asked, else what
// the broker keeps of what it has told.
func (d *device) told(ctx context.Context, v Value) (mqttclient.Heard, error) {
	if err := d.online(ctx); err != nil {
		return mqttclient.Heard{}, err
	}
	topic := d.values.Text(v.Topic)
	from := d.member.Now()
	within, cancel := context.WithTimeout(ctx, d.timeout)
	defer cancel()
	for {
		if err := d.askAgain(ctx, v, topic); err != nil {
			return mqttclient.Heard{}, err
		}
		turn, cancel := context.WithTimeout(within, askEvery)
		h, ok := d.member.Await(turn, topic, func(h mqttclient.Heard) bool { return h.Number > from && (v.Ask == nil || !h.Retained) })
		cancel()
		switch {
		case ctx.Err() != nil:
			return mqttclient.Heard{}, ctx.Err()
		case ok:
			return d.settled(ctx, topic, h), nil
		case within.Err() != nil:
			return mqttclient.Heard{}, errors.New(d.silent(topic, fmt.Sprintf("it says nothing on %s in %v; is its name right?", topic, d.timeout)))
		}
	}
}

// askEvery is how long one question is waited for: a question changes nothing,
// and may be lost.
const askEvery = time.Second

// askFirst is how long a device may take to tell by itself that it has obeyed.
const askFirst = 100 * time.Millisecond

// settle is how long more may come after an answer: messages bear no mark of the
// question, and a hand may have been at the device meanwhile.
const settle = 50 * time.Millisecond

// settled is the last message of a topic when no more come.
func (d *device) settled(ctx context.Context, topic string, h mqttclient.Heard) mqttclient.Heard {
	turn, cancel := context.WithTimeout(ctx, settle)
	defer cancel()
	for {
		next, newer := d.member.Await(turn, topic, func(n mqttclient.Heard) bool { return n.Number > h.Number })
		if !newer {
			return h
		}
		h = next
	}
}

// askAgain has the device tell how it is, or the broker what it keeps of that.
func (d *device) askAgain(ctx context.Context, v Value, topic string) error {
	if v.Ask != nil {
		return d.ask(ctx, v.Ask, d.values)
	}
	return d.again(ctx, topic)
}
