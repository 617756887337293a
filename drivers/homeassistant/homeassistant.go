// Package homeassistant drives entities of a Home Assistant through its WebSocket API, with
// live states and areas, or over REST if there is no WebSocket
// (developers.home-assistant.io/docs/api/websocket, .../rest): lights, switches, fans,
// humidifiers, sirens, media players and climates by service calls with their states as
// readback; scenes, scripts and buttons; sensors; cameras by camera_proxy; robot vacuums.
// The driver uses only the entities of the configuration, and stores nothing about others.
//
// Not supported: tilt of covers; content of media players; variables of scripts.
package homeassistant

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"strings"
	"time"

	"github.com/messkit/messkit/drivers"
	"github.com/messkit/messkit/drivers/discovery"
	"github.com/messkit/messkit/drivers/httpclient"
	"github.com/messkit/messkit/drivers/template"
)

// Kind returns the driver kind for drivers/all.
func Kind() drivers.Kind {
	return drivers.Kind{Name: "homeassistant", Class: "plug", About: "one entity of a Home Assistant: light, switch, fan, siren, climate, cover, lock, scene, script, button, sensor, camera, vacuum", ReportsArea: true, Open: drivers.NewFactory(DefaultConfig, New), Discover: Discover}
}

// entity gives access to one entity.
type entity struct {
	cfg  Config
	web  *httpclient.Client
	hub  *connection // nil: only REST
	now  func() time.Time
	code drivers.Secret // code of a lock
}

// haltTimes is the time limit of Start and Halt as a multiple of the timeout.
const haltTimes = 3

// New returns a device for a valid configuration. It reads the token file, and uses no
// network.
func New(env drivers.Env, cfg Config) (drivers.Device, error) {
	client, err := httpclient.New(cfg.Config, "Authorization")
	if err != nil {
		return nil, err
	}
	e := &entity{cfg: cfg, web: client, now: env.Now, code: cfg.Code}
	if err := httpclient.ReadSecret("code_file", cfg.CodeFile, &e.code); err != nil {
		return nil, err
	}
	if cfg.Live {
		if e.hub, err = connectionOf(env, cfg, client.Secrets().Token); err != nil {
			return nil, err
		}
	}
	switch cfg.domain() {
	case "camera":
		return &camera{newStatelessDevice(env.Name, e)}, nil
	case "vacuum":
		return newVacuum(env.Name, e, env.Log), nil
	}
	return template.New(env.Name, domains[cfg.domain()], cfg.levels(), haltTimes*cfg.Timeout, drivers.NewHubConnection(client.Host()), e.verbs()), nil
}

// connectionOf returns the connection that all entities of one Home Assistant share.
func connectionOf(env drivers.Env, cfg Config, token drivers.Secret) (*connection, error) {
	key := "homeassistant " + cfg.URL + " " + string(token) // only in memory
	h, err := env.Shared.Get(key, func() (any, error) { return newConnection(cfg.URL, token, cfg.Timeout, env.Log), nil })
	if err != nil {
		return nil, err
	}
	return h.(*connection), nil
}

func (e *entity) verbs() template.Verbs {
	v := template.Verbs{RunLast: e.web.RunLast}
	if e.hub != nil {
		v.Open = func(context.Context) error { e.hub.open(e.cfg.Entity); return nil }
		v.Close = func() { e.hub.close(e.cfg.Entity) }
		v.Changes = e.changes
		v.Area = func() string { return e.hub.area(e.cfg.Entity) }
	}
	switch e.cfg.domain() {
	case "sensor", "binary_sensor":
		v.Read = e.read
		return v
	}
	v.Resources = e.holds
	switch e.cfg.domain() {
	case "cover":
		v.Read, v.Cover = e.readCover, &template.Cover{Open: e.open, Close: e.shut, Opening: e.opening, Stop: e.stopCover, IsMoving: e.moves, IsAtRest: e.standsStill}
		if e.cfg.Positions {
			v.Cover.To = e.openTo
		}
		return v
	case "scene", "script", "button", "input_button":
		v.Press = &template.Press{Do: e.press, Last: e.pressed}
		return v
	case "lock":
		v.Read, v.Lock = e.readLock, &template.Lock{Lock: e.lock, Unlock: e.unlock, Locked: e.locked}
		return v
	}
	v.Switch, v.On = e.turn, e.on
	if e.cfg.domain() == "climate" {
		v.Switch, v.Read = e.mode, e.readClimate
		v.Thermostat = &template.Thermostat{Set: e.heat, Target: e.target, TargetRange: drivers.TargetRange{Min: e.cfg.Lowest, Max: e.cfg.Highest}}
		return v
	}
	if e.cfg.Dims {
		v.Light = &template.Light{Dim: e.dim, Level: e.level}
	}
	if e.cfg.Colors {
		v.Light.SetColor, v.Light.Color = e.tint, e.color
	}
	if e.cfg.Coldest > 0 {
		v.Light.ColorTemperature = &template.ColorTemperature{Set: e.warm, Read: e.warmth, Warmest: e.cfg.Warmest, Coldest: e.cfg.Coldest}
	}
	return v
}

// holds returns the entity itself.
func (e *entity) holds() []drivers.Resource {
	return []drivers.Resource{{Key: "entity", Label: "the entity " + e.cfg.Entity, Identity: e.cfg.Entity + " " + drivers.URLIdentity(e.cfg.URL)}}
}

func (e *entity) turn(ctx context.Context, on bool) error {
	service := map[bool]string{true: "turn_on", false: "turn_off"}[on]
	if e.cfg.domain() == "media_player" {
		s, err := e.state(ctx)
		if needs := map[bool]int{true: playerOn, false: playerOff}[on]; err == nil && s.Attributes.Features&needs == 0 {
			err = fmt.Errorf("%s does not support %s according to Home Assistant (supported_features %d)", e.cfg.Entity, strings.ReplaceAll(service, "_", " "), s.Attributes.Features)
		}
		if err != nil {
			return drivers.MarkNothingDone(err)
		}
	}
	return e.call(ctx, service, nil, func(s state) bool { return e.is(s, on) })
}

// Features of a media player (MediaPlayerEntityFeature).
const (
	playerOn  = 128
	playerOff = 256
)

// is reports whether a state means on, or off. Players and climates have several on states,
// such as playing and paused, or heat and cool.
func (e *entity) is(s state, on bool) bool {
	if d := e.cfg.domain(); d == "media_player" || d == "climate" {
		return on != (s.State == "off" || s.State == "standby")
	}
	return s.is(on)
}

func (e *entity) on(ctx context.Context) (bool, error) {
	s, err := e.state(ctx)
	if err != nil {
		return false, err
	}
	return e.is(s, true), nil
}

func (e *entity) dim(ctx context.Context, percent float64) error {
	full := max(1, int(math.Round(percent*maxBrightness/100))) // 1 is the lowest level that is not off
	return e.call(ctx, "turn_on", map[string]any{"brightness": full}, func(s state) bool { return s.is(true) })
}

// maxBrightness is 100 % in Home Assistant.
const maxBrightness = 255

func (e *entity) level(ctx context.Context) (float64, error) {
	s, err := e.state(ctx)
	switch {
	case err != nil || s.State == "off":
		return 0, err
	case s.Attributes.Brightness == nil:
		return 0, errors.New("the light is on, and reports no brightness; remove dims if it has none")
	}
	return math.Round(100 * *s.Attributes.Brightness / maxBrightness), nil
}

func (e *entity) tint(ctx context.Context, c drivers.Color) error {
	return e.call(ctx, "turn_on", map[string]any{"rgb_color": []int{int(c.R), int(c.G), int(c.B)}}, func(s state) bool { return s.is(true) })
}

func (e *entity) color(ctx context.Context) (drivers.Color, error) {
	s, err := e.state(ctx)
	if err != nil {
		return drivers.Color{}, err
	}
	rgb := s.Attributes.RGB
	if len(rgb) != 3 {
		return drivers.Color{}, errors.New("the light reports no color; remove colours if it has none")
	}
	return drivers.Color{R: rgb[0], G: rgb[1], B: rgb[2]}, nil
}

func (e *entity) warm(ctx context.Context, kelvin float64) error {
	return e.call(ctx, "turn_on", map[string]any{"color_temp_kelvin": int(math.Round(kelvin))}, func(s state) bool { return s.is(true) })
}

// warmth returns the color temperature of a light that is on.
func (e *entity) warmth(ctx context.Context) (float64, error) {
	s, err := e.state(ctx)
	switch a := s.Attributes; {
	case err != nil:
		return 0, err
	case a.Mode != "" && a.Mode != "color_temp":
		return 0, errors.New("the light shows a color")
	case a.Kelvin == nil || !(*a.Kelvin > 0):
		return 0, errors.New("the light reports no color temperature; remove warmest and coldest if it has none")
	}
	return *s.Attributes.Kelvin, nil
}

// call calls a service for this entity, and waits until its state is as requested, because
// Home Assistant may answer before the device.
func (e *entity) call(ctx context.Context, service string, data map[string]any, is func(state) bool) error {
	s, err := e.state(ctx)
	if err != nil {
		return drivers.MarkNothingDone(err)
	}
	if err := e.orderOf(ctx, s, service, data); err != nil {
		return err
	}
	if err := e.awaitState(ctx, e.cfg.Timeout, service, is); err != nil {
		return drivers.MarkMayAct(err)
	}
	return e.web.Unanswered(ctx)
}

// orderOf calls order for an entity that was in this state. A rejection may come from a
// later step of the service, such as a template. If the state has changed, the outcome is
// not ErrNothingDone.
func (e *entity) orderOf(ctx context.Context, was state, service string, data map[string]any) error {
	err := e.order(ctx, service, data)
	if !errors.Is(err, drivers.ErrNothingDone) {
		return err
	}
	if s, serr := e.state(ctx); serr == nil && s.State != was.State {
		return fmt.Errorf("the call of %s failed in Home Assistant, but the state is %.40q now: %v", service, s.State, err) // no %w, because the state has changed
	}
	return err
}

// order calls a service once: by WebSocket if there is a connection, or over REST if the
// WebSocket has not received it.
func (e *entity) order(ctx context.Context, service string, data map[string]any) error {
	if e.hub != nil {
		if c := e.hub.socket(); c != nil {
			if err := e.web.WaitTurn(ctx); err != nil {
				return drivers.MarkNothingDone(err)
			}
			err := c.order(ctx, "call_service", map[string]any{
				"domain": e.cfg.domain(), "service": service, "service_data": data, "target": map[string]any{"entity_id": e.cfg.Entity},
			}, e.web.Outlive)
			if errors.Is(err, errSilent) {
				e.web.Unsure() // Home Assistant may have received it
			}
			if !errors.Is(err, errGone) || !errors.Is(err, drivers.ErrNothingDone) {
				return e.discreet(err)
			}
		}
	}
	body := map[string]any{"entity_id": e.cfg.Entity}
	maps.Copy(body, data)
	encoded, err := json.Marshal(body)
	if err != nil {
		return err
	}
	path := "/api/services/" + e.cfg.domain() + "/" + service
	_, err = e.web.Do(ctx, httpclient.Call{Method: "POST", Path: path, Type: "application/json", Body: encoded, Acts: true})
	return e.discreet(err)
}

// discreet removes the code of a lock from an error.
func (e *entity) discreet(err error) error {
	switch {
	case err == nil || e.code == "" || !strings.Contains(err.Error(), string(e.code)):
		return err
	case errors.Is(err, drivers.ErrNothingDone):
		return drivers.MarkNothingDone(errors.New("the call failed: Home Assistant rejects the command; messkit hides its message, which contains the code"))
	case errors.Is(err, drivers.ErrMayAct):
		return drivers.MarkMayAct(errors.New("no answer from Home Assistant to the command; messkit hides the error, which contains the code"))
	}
	return errors.New("fault in Home Assistant; messkit hides its message, which contains the code")
}

// lookEvery is the poll interval for a state.
const lookEvery = 200 * time.Millisecond

func (e *entity) awaitState(ctx context.Context, limit time.Duration, service string, is func(state) bool) error {
	within, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	pause := time.NewTicker(lookEvery)
	defer pause.Stop()
	for {
		changed := e.changes()
		s, err := e.state(ctx)
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case err == nil && is(s):
			return nil
		case within.Err() != nil && err != nil:
			return fmt.Errorf("the driver called %s, and the state is unknown: %v", service, err) // no %w, because the service may have acted
		case within.Err() != nil:
			return fmt.Errorf("the driver called %s, and the state is %.40q after %v", service, s.State, limit)
		}
		select {
		case <-within.Done():
		case <-changed:
		case <-pause.C:
		}
	}
}

// changes returns a channel that closes at the next state change; without a connection it
// is nil.
func (e *entity) changes() <-chan struct{} {
	if e.hub == nil {
		return nil
	}
	return e.hub.changes()
}

// Discover finds Home Assistant in the network. It returns no entities, because a person
// must select them.
func Discover(ctx context.Context) []drivers.FoundDevice {
	list, err := discovery.Browse(ctx, discovery.Group, "_home-assistant._tcp")
	if err != nil {
		return nil
	}
	return discovery.Describe(list, func(i discovery.Instance) (drivers.FoundDevice, bool) {
		return drivers.FoundDevice{Name: discovery.ID(i.Name), Where: "Home Assistant at " + i.URL() + ": create a token there, and configure each entity that you need"}, true
	})
}
