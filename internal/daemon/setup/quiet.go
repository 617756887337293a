package setup

import (
	"context"
	"fmt"

	"github.com/messkit/messkit/agent/policy/settings"
	"github.com/messkit/messkit/internal/config/edit"
	"github.com/messkit/messkit/internal/strictyaml"
)

// quietPath is the path of the quiet hours of devices that have none of their own.
var quietPath = []string{"agent", "limits", "quiet_hours"}

// Quiet is the quiet hours of the safety policy.
type Quiet struct {
	Hours   string            `json:"hours"`   // such as 22:00-07:00, of the file; "" for none
	InUse   string            `json:"in_use"`  // of the running program
	Devices map[string]string `json:"devices"` // those of devices that have their own, in use
}

// Quiet returns the quiet hours of the file and of the running program.
func (s *Setup) Quiet() (any, error) {
	text, _, err := s.read()
	if err != nil {
		return nil, err
	}
	c := s.program.Config()
	q := Quiet{InUse: hoursText(c.Agent.Limits.QuietHours), Devices: map[string]string{}}
	next, problems := s.check(text)
	if len(problems) > 0 {
		return nil, fmt.Errorf("%s has a problem: %s; mend the configuration first", s.file(), problems[0].Text)
	}
	q.Hours = hoursText(next.Agent.Limits.QuietHours)
	for _, d := range c.Opened.Devices {
		if d.Limits.QuietHours != (settings.Hours{}) {
			q.Devices[d.Name] = d.Limits.QuietHours.String()
		}
	}
	return q, nil
}

func hoursText(h settings.Hours) string {
	if h == (settings.Hours{}) {
		return ""
	}
	return h.String()
}

// SetQuiet writes the quiet hours of devices that have none of their own, such as 22:00-07:00; ""
// removes them. They need a restart: a running task keeps the rules with which it began.
func (s *Setup) SetQuiet(ctx context.Context, hours string) (any, error) {
	var value *strictyaml.Value
	if hours != "" {
		if _, err := settings.ParseHours(hours); err != nil {
			return nil, err
		}
		value = strictyaml.Str(hours)
	}
	s.changing.Lock()
	defer s.changing.Unlock()
	text, revision, err := s.read()
	if err != nil {
		return nil, err
	}
	if text, err = edit.SetSetting(text, quietPath, value); err != nil {
		return nil, err
	}
	return s.save(ctx, text, revision)
}
