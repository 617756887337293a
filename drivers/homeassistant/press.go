package homeassistant

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/messkit/messkit/drivers"
	"github.com/messkit/messkit/drivers/httpclient"
)

// presses maps the domains of entities with an action to the service that triggers it
// (home-assistant.io/integrations/scene, .../script, .../button, .../input_button).
var presses = map[string]string{"scene": "turn_on", "script": "turn_on", "button": "press", "input_button": "press"}

// stateless reports whether the state of an entity is the time of its last press, or
// "unknown" before the first.
func stateless(id string) bool {
	domain, _, _ := strings.Cut(id, ".")
	return presses[domain] != "" && domain != "script"
}

// script contains the attributes of a script (home-assistant.io/integrations/script).
type script struct {
	Triggered string `json:"last_triggered"` // "" for never
	Mode      string `json:"mode"`           // reaction to a call while the script runs: single, restart, queued or parallel
	Current   int    `json:"current"`        // number of present runs
	Max       int    `json:"max"`            // limit for the runs; 0 for a mode without a limit
}

// parseScript parses the attributes of a state.
func parseScript(data []byte) (*script, error) {
	var s struct {
		Attributes script `json:"attributes"`
	}
	if err := json.Unmarshal(data, &s); err != nil {
		return nil, errors.New("the state does not have the attributes of a script")
	}
	return &s.Attributes, nil
}

// full returns an error if a script would ignore a call now.
func (s state) full(id string) error {
	switch c := s.script; {
	case c == nil || !s.is(true):
		return nil
	case c.Mode == "single":
		return fmt.Errorf("%s runs, and accepts no call before it has ended", id)
	case c.Max > 0 && c.Current >= c.Max:
		return fmt.Errorf("%s runs %d times, which is its limit", id, c.Current)
	}
	return nil
}

// press calls the service once. A rejection may come from a later step of a scene or
// script, after earlier steps have acted, so the outcome of a rejection is unknown.
func (e *entity) press(ctx context.Context) error {
	s, err := e.state(ctx)
	if err == nil {
		err = s.full(e.cfg.Entity)
	}
	if err != nil {
		return drivers.MarkNothingDone(err)
	}
	service := presses[e.cfg.domain()]
	err = e.order(ctx, service, nil)
	no, rejected := errors.AsType[*refusal](err)
	status, answered := errors.AsType[*httpclient.StatusError](err)
	if rejected && !unknownService[no.code] || answered && status.Status == http.StatusBadRequest {
		return fmt.Errorf("the driver called %s, and its outcome is unknown: %v", service, err) // no %w, because a step may have acted
	}
	return err
}

// unknownService lists the error codes of commands that reached no service.
var unknownService = map[string]bool{"not_found": true, "unauthorized": true, "unknown_command": true}

// pressed returns the time of the last press.
func (e *entity) pressed(ctx context.Context) (drivers.PressState, error) {
	s, err := e.state(ctx)
	if err != nil {
		return drivers.PressState{}, err
	}
	return s.pressed(e.cfg.Entity)
}

func (s state) pressed(id string) (drivers.PressState, error) {
	text := s.State
	if s.script != nil {
		text = s.script.Triggered
	}
	p := drivers.PressState{Running: s.script != nil && s.is(true)}
	if text == "" || text == "unknown" {
		return p, nil
	}
	var err error
	if p.At, err = time.Parse(time.RFC3339, text); err != nil {
		return drivers.PressState{}, fmt.Errorf("%s reports %.40q instead of the time of its last call", id, text)
	}
	return p, nil
}

// statelessDevice implements the common part of entities without a template.
type statelessDevice struct {
	drivers.Base
	entity *entity
	link   *drivers.Connection
	turn   sync.Mutex // serializes Start and Halt
	open   bool       // guarded by turn
}

func newStatelessDevice(name string, e *entity) statelessDevice {
	return statelessDevice{Base: drivers.NewBase(name), entity: e, link: drivers.NewHubConnection(e.web.Host())}
}

// Connection returns the host of the device.
func (p *statelessDevice) Connection() *drivers.Connection { return p.link }

// Start opens the device. It sends no request to Home Assistant.
func (p *statelessDevice) Start() error {
	p.turn.Lock()
	defer p.turn.Unlock()
	if h := p.entity.hub; h != nil && !p.open {
		h.open(p.entity.cfg.Entity)
		p.open = true
	}
	p.MarkStarted()
	return nil
}

// Halt terminates the verbs under way.
func (p *statelessDevice) Halt() error {
	p.StopVerbs()
	p.turn.Lock()
	defer p.turn.Unlock()
	if p.open {
		p.entity.hub.close(p.entity.cfg.Entity)
		p.open = false
	}
	return nil
}

// Area returns the area of the entity in Home Assistant.
func (p *statelessDevice) Area() string {
	if p.entity.hub == nil {
		return ""
	}
	return p.entity.hub.area(p.entity.cfg.Entity)
}
