// Package mqttdevice drives MQTT devices by templates: one YAML file for each family of
// devices (Tasmota, zigbee2mqtt, Shelly, Homie, ESPHome). A template describes the messages
// to the device and the topics of its state. Users can add templates of their own.
//
// The driver uses MQTT 3.1.1. It never sends retained messages, and sends nothing to a
// device that is known to be offline, because such a message could act later.
package mqttdevice

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/messkit/messkit/drivers"
	"github.com/messkit/messkit/drivers/httpclient"
	"github.com/messkit/messkit/drivers/mqttclient"
	"github.com/messkit/messkit/drivers/template"
)

// Kind returns the driver kind for drivers/all.
func Kind() drivers.Kind {
	return drivers.Kind{Name: "mqttdevice", Class: "plug", About: "plugs, lamps and sensors over MQTT, by template: Tasmota, zigbee2mqtt, Shelly, Homie, ESPHome, or your own", Open: Open}
}

// Open is the drivers.Factory of this package. It reads the template and the password file,
// and uses no network.
func Open(env drivers.Env, decode func(any) error) (drivers.Device, error) {
	cfg := DefaultConfig()
	if err := decode(&cfg); err != nil {
		return nil, cfg.JoinTemplateErrors(err, Families(), new(Template))
	}
	return New(env.Name, cfg, env)
}

// device connects the verbs of one device to its messages.
type device struct {
	link
	template *Template
	values   template.Values
	timer    *template.TimedOn // nil: the device has no timer
}

// haltTimes is the time limit of Start and Halt as a multiple of the timeout.
const haltTimes = 3

// New returns a device for a valid configuration.
func New(name string, cfg Config, env drivers.Env) (drivers.Device, error) {
	t, err := templates.Load(Families(), cfg.Families, cfg.Family)
	if err != nil {
		return nil, err
	}
	d := &device{link: link{broker: cfg.Broker, address: cfg.address(), timeout: cfg.Timeout, log: env.Log, now: env.Now}, template: t}
	values, errs := template.Resolve(d.template.With, cfg.With)
	password := cfg.Password
	if err := errors.Join(append(errs, httpclient.ReadSecret("password_file", cfg.PasswordFile, &password))...); err != nil {
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
	return template.New(name, d.template.Class, cfg.SwitchLevels, haltTimes*cfg.Timeout, drivers.NewHubConnection(d.address), d.verbs()), nil
}

// topics returns the topics of the device's state, without duplicates.
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

// verbs returns the verbs of the template.
func (d *device) verbs() template.Verbs {
	v := template.Verbs{Open: d.open, Close: d.close, Resources: d.holds}
	if s := d.template.Switch; s != nil {
		v.Switch, v.On, v.Light = d.turn, d.on, d.light()
		if t := s.OnFor; t != nil {
			d.timer = &template.TimedOn{Timer: t.Timer, Stays: len(t.Undo) > 0, Switch: d.turn, Log: d.log, Set: func(ctx context.Context, values template.Values) error {
				return d.commandLevel(ctx, t.Messages, d.values.With(values), true)
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
	if d.listens() {
		v.Changes = d.member.Changes
	}
	return v
}

// listens reports whether a read sends no question to the device. With questions, each read
// would cause a change event.
func (d *device) listens() bool {
	asked := slices.ContainsFunc(d.template.Readings, func(r Reading) bool { return r.Ask != nil })
	return d.template.Switch == nil && len(d.template.Readings) > 0 && !asked
}

func (d *device) turn(ctx context.Context, on bool) error {
	s := d.template.Switch
	if !d.timer.IsSet() {
		return d.commandLevel(ctx, map[bool][]Message{true: s.On, false: s.Off}[on], d.values, on)
	}
	list := slices.Concat(s.OnFor.Undo, s.On)
	if !on {
		list = slices.Concat(s.Off, s.OnFor.Undo)
	}
	err := d.commandLevel(ctx, list, d.values, on)
	if err == nil {
		d.timer.MarkRemoved()
	}
	return err
}

// unchanged is how long the driver waits for a confirmation if the device already has the
// requested state; many devices send none.
const unchanged = 300 * time.Millisecond

// commandLevel sends a command and waits until the device reports the requested level.
func (d *device) commandLevel(ctx context.Context, list []Message, values template.Values, want bool) error {
	s := d.template.Switch.State
	return d.order(ctx, list, values, Value{Topic: s.Topic, Ask: s.Ask}, template.Want{Text: fmt.Sprintf("on=%t", want), Is: func(payload []byte) (bool, string, error) {
		is, err := s.Read(d.values, payload)
		return is == want, fmt.Sprintf("on=%t", is), err
	}})
}

// order sends messages and waits until the device reports the requested value on v.
func (d *device) order(ctx context.Context, list []Message, values template.Values, v Value, want template.Want) error {
	if err := d.online(ctx); err != nil {
		return err
	}
	limit, doubt := d.timeout, error(nil)
	if v.Ask == nil {
		if doubt = d.unseen.doubt(d.now()); doubt == nil && d.hasValue(ctx, v, want) {
			limit = unchanged
		}
	}
	from := d.member.Now()
	if err := d.command(ctx, list, values); err != nil {
		return err
	}
	err := d.awaitState(ctx, from, limit, v, want)
	switch {
	case errors.Is(err, errUnconfirmed): // the retained message shows the requested value
		return doubt
	case err != nil:
		d.unseen.add(d.now())
		return drivers.MarkMayAct(err)
	}
	return d.unseen.confirmed(d.now())
}

// hasValue reports whether the device already has the requested value.
func (d *device) hasValue(ctx context.Context, v Value, want template.Want) bool {
	h, err := d.readValue(ctx, v)
	if err != nil {
		return false
	}
	is, _, err := want.Is(h.Payload)
	return err == nil && is
}

// errUnconfirmed reports that the device has the requested value and has not confirmed the
// command.
var errUnconfirmed = errors.New("the device has the requested state, and has not confirmed the command")

// awaitState waits until the device reports the requested value, in a message after the first
// from messages.
func (d *device) awaitState(ctx context.Context, from int, limit time.Duration, v Value, want template.Want) error {
	within, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	for pause := askFirst; ; pause = askEvery {
		turn, cancel := context.WithTimeout(within, pause)
		_, obeyed := d.member.Await(turn, d.values.Text(v.Topic), func(h mqttclient.Received) bool {
			is, _, err := want.Is(h.Payload)
			return h.Number > from && !h.Retained && err == nil && is
		})
		cancel()
		switch {
		case obeyed:
			return nil
		case ctx.Err() != nil:
			return ctx.Err()
		case within.Err() != nil:
			if err := d.judge(ctx, v, want); err != nil {
				return err
			}
			return errUnconfirmed
		case v.Ask != nil: // a device that already has the value may send no message by itself
			_ = d.ask(ctx, v.Ask, d.values) // judge reports the problem
		}
	}
}

// judge returns an error if the device without a confirmation has another value.
func (d *device) judge(ctx context.Context, v Value, want template.Want) error {
	h, err := d.readValue(ctx, v)
	is, says := false, ""
	if err == nil {
		is, says, err = want.Is(h.Payload)
	}
	switch {
	case err != nil:
		return fmt.Errorf("the device does not report whether it has executed the command; inspect it: %v", err) // no %w, because the device may have executed the command
	case !is:
		return fmt.Errorf("the command was %s, but the device reports %s", want.Text, says)
	}
	return nil
}

// online returns an error if the device is offline, because it could receive the command
// later.
func (d *device) online(ctx context.Context) error {
	if err := d.reach(ctx); err != nil {
		return err
	}
	for _, a := range []*State{d.template.Availability, d.template.Through} {
		if a == nil {
			continue
		}
		if err := d.checkPresence(ctx, a); err != nil {
			return err
		}
	}
	return nil
}

// checkPresence returns an error if a topic says offline or has no message.
func (d *device) checkPresence(ctx context.Context, a *State) error {
	topic := d.values.Text(a.Topic)
	within, cancel := context.WithTimeout(ctx, d.timeout)
	defer cancel()
	h, ok := d.member.Await(within, topic, func(mqttclient.Received) bool { return true })
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case !ok:
		return drivers.MarkNothingDone(fmt.Errorf("%s", d.silent(topic, fmt.Sprintf("no message on %s reports whether the device is online; check that it is on, and its name", topic))))
	}
	is, err := a.Read(d.values, h.Payload)
	switch {
	case err != nil:
		return drivers.MarkNothingDone(fmt.Errorf("%s: %w", topic, err))
	case !is:
		return drivers.MarkNothingDone(fmt.Errorf("the device is offline according to %s; check its power and its network", topic))
	}
	return nil
}

// on reads the level back.
func (d *device) on(ctx context.Context) (bool, error) {
	s := d.template.Switch.State
	h, err := d.readValue(ctx, Value{Topic: s.Topic, Ask: s.Ask})
	if err != nil {
		return false, err
	}
	return s.Read(d.values, h.Payload)
}

// readValue reads the present value: from the device if it answers questions, else from the
// retained message.
func (d *device) readValue(ctx context.Context, v Value) (mqttclient.Received, error) {
	if err := d.online(ctx); err != nil {
		return mqttclient.Received{}, err
	}
	topic := d.values.Text(v.Topic)
	from := d.member.Now()
	within, cancel := context.WithTimeout(ctx, d.timeout)
	defer cancel()
	for {
		if err := d.askAgain(ctx, v, topic); err != nil {
			return mqttclient.Received{}, err
		}
		turn, cancel := context.WithTimeout(within, askEvery)
		h, ok := d.member.Await(turn, topic, func(h mqttclient.Received) bool { return h.Number > from && (v.Ask == nil || !h.Retained) })
		cancel()
		switch {
		case ctx.Err() != nil:
			return mqttclient.Received{}, ctx.Err()
		case ok:
			return d.lastMessage(ctx, topic, h), nil
		case within.Err() != nil:
			return mqttclient.Received{}, errors.New(d.silent(topic, fmt.Sprintf("no message on %s in %v; check the name of the device", topic, d.timeout)))
		}
	}
}

// askEvery is the interval of repeated questions. A question changes nothing and may get
// lost.
const askEvery = time.Second

// askFirst is how long the driver waits for an unsolicited confirmation.
const askFirst = 100 * time.Millisecond

// quiet is how long the driver waits for further messages after an answer. Messages do not
// refer to a question, and a person may have operated the device in between.
const quiet = 50 * time.Millisecond

// lastMessage returns the last message of a topic: it waits until there is no further one for the
// time quiet.
func (d *device) lastMessage(ctx context.Context, topic string, h mqttclient.Received) mqttclient.Received {
	turn, cancel := context.WithTimeout(ctx, quiet)
	defer cancel()
	for {
		next, newer := d.member.Await(turn, topic, func(n mqttclient.Received) bool { return n.Number > h.Number })
		if !newer {
			return h
		}
		h = next
	}
}

// askAgain requests the state from the device, or the retained message from the broker.
func (d *device) askAgain(ctx context.Context, v Value, topic string) error {
	if v.Ask != nil {
		return d.ask(ctx, v.Ask, d.values)
	}
	return d.requestRetained(ctx, topic)
}
