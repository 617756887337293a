package homeassistant

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/messkit/messkit/drivers"
	"github.com/messkit/messkit/drivers/web"
)

// presses are the services that set an entity off, by its domain
// (home-assistant.io/integrations/scene, .../script, .../button, .../input_button).
var presses = map[string]string{"scene": "turn_on", "script": "turn_on", "button": "press", "input_button": "press"}

// stateless reports whether the state of an entity is the time at which it was set off
// last, and "unknown" where it never was.
func stateless(id string) bool {
	domain, _, _ := strings.Cut(id, ".")
	return presses[domain] != "" && domain != "script"
}

// script are the attributes of a script (home-assistant.io/integrations/script).
type script struct {
	Triggered string `json:"last_triggered"` // "" for never
	Mode      string `json:"mode"`           // what it does when it is called while it runs: single, restart, queued or parallel
	Current   int    `json:"current"`        // how often it runs just now
	Max       int    `json:"max"`            // and may at most; 0 for a mode without
}

// parseScript reads those of a state.
func parseScript(data []byte) (*script, error) {
	var s struct {
		Attributes script `json:"attributes"`
	}
	if err := json.Unmarshal(data, &s); err != nil {
		return nil, errors.New("its attributes are not those of a script")
	}
	return &s.Attributes, nil
}

// full is why a script that is called now would do nothing.
func (s state) full(id string) error {
	switch c := s.script; {
	case c == nil || !s.is(true):
		return nil
	case c.Mode == "single":
		return fmt.Errorf("%s runs, and does not begin again before it has ended", id)
	case c.Max > 0 && c.Current >= c.Max:
		return fmt.Errorf("%s runs %d times, and may not more often", id, c.Current)
	}
	return nil
}

// press calls the service once. What a scene or script has called in turn may have
// refused, and some was done then: such a refusal leaves open what was.
func (e *entity) press(ctx context.Context) error {
	s, err := e.state(ctx)
	if err == nil {
		err = s.full(e.cfg.Entity)
	}
	if err != nil {
		return drivers.NotDone(err)
	}
	service := presses[e.cfg.domain()]
	err = e.order(ctx, service, nil)
	no, said := errors.AsType[*refusal](err)
	status, answered := errors.AsType[*web.StatusError](err)
	if said && !unknownService[no.code] || answered && status.Status == http.StatusBadRequest {
		return fmt.Errorf("%s was called, and what it has done is not known: %v", service, err) // not wrapped: something may be done
	}
	return err
}

// unknownService are the codes of commands that have reached no service.
var unknownService = map[string]bool{"not_found": true, "unauthorized": true, "unknown_command": true}

// pressed is when it was set off last.
func (e *entity) pressed(ctx context.Context) (drivers.Pressed, error) {
	s, err := e.state(ctx)
	if err != nil {
		return drivers.Pressed{}, err
	}
	return s.pressed(e.cfg.Entity)
}

func (s state) pressed(id string) (drivers.Pressed, error) {
	text := s.State
	if s.script != nil {
		text = s.script.Triggered
	}
	p := drivers.Pressed{Runs: s.script != nil && s.is(true)}
	if text == "" || text == "unknown" {
		return p, nil
	}
	var err error
	if p.At, err = time.Parse(time.RFC3339, text); err != nil {
		return drivers.Pressed{}, fmt.Errorf("%s says %.40q, where the time should be at which it was called last", id, text)
	}
	return p, nil
}
