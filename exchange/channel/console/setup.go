package console

import (
	"context"
	"net/http"

	"github.com/messkit/messkit/mess"
)

// Setup changes the configuration of the program. Values of type any are values for JSON. Its errors
// are for people: a change that returns one has changed nothing.
type Setup interface {
	// Executor returns the id of the executor whose devices the configuration has.
	Executor() string
	// Document returns the configuration file with its text, its revision and its backups. The
	// text may contain passwords.
	Document() (any, error)
	// Backup returns the text of a backup.
	Backup(name string) (string, error)
	// Check returns the problems of a text with their lines.
	Check(text string) any
	// Save writes and applies a text without problems, if the file still has the revision.
	Save(ctx context.Context, text, revision string) (any, error)
	// Quiet returns the quiet hours of the safety policy.
	Quiet() (any, error)
	// SetQuiet writes the quiet hours of devices that have none of their own; "" removes them.
	SetQuiet(ctx context.Context, hours string) (any, error)
	// Find begins to look for devices, at an MQTT broker too if broker is not empty.
	Find(broker, user, password string) error
	// Found returns the progress and the result of the last search.
	Found() any
	// Add adds a device that the last search has found, with the name and the area for people.
	Add(ctx context.Context, id, name, area string) (any, error)
	// Describe gives a device of the local executor another name and another area.
	Describe(ctx context.Context, device, name, area string) (any, error)
	// Hide leaves a device of the local executor out of Home, or brings it back.
	Hide(ctx context.Context, device string, hidden bool) (any, error)
	// Look returns the fields of a device that Change can set, and what refers to the device. It has
	// no secrets.
	Look(ctx context.Context, device string) (any, error)
	// Test uses a device without an effect, and returns what it says.
	Test(ctx context.Context, device string) (any, error)
	// Change gives fields of a device other values. The device ends, and starts with them.
	Change(ctx context.Context, device string, fields map[string]string) (any, error)
	// Remove removes a device that nothing uses.
	Remove(ctx context.Context, device string) (any, error)
}

var errNoSetup = mess.Errorf(mess.NotYet, "no executor runs in this program, so that it has no devices of its own; use the console of an executor")

// configuration answers with the configuration file, or takes {do: check, save or backup, text,
// revision, backup, code}. To save needs proof of a person.
func (g *request) configuration() error {
	if g.cfg.Setup == nil {
		return errNoSetup
	}
	if g.r.Method == http.MethodGet {
		return g.answer(g.cfg.Setup.Document())
	}
	var in struct{ Do, Text, Revision, Backup, Code string }
	if err := g.readBody(&in); err != nil {
		return err
	}
	switch in.Do {
	case "check":
		return g.answer(g.cfg.Setup.Check(in.Text), nil)
	case "backup":
		text, err := g.cfg.Setup.Backup(in.Backup)
		return g.answer(map[string]string{"text": text}, err)
	case "save":
		return g.change(in.Code, func(ctx context.Context) (any, error) { return g.cfg.Setup.Save(ctx, in.Text, in.Revision) })
	}
	return mess.Errorf(mess.Invalid, "do: %.20q is unknown; write check, save or backup", in.Do)
}

// policyQuiet answers with the quiet hours of the safety policy, or takes {hours: "22:00-07:00", code},
// where "" is none. To change them needs proof of a person.
func (g *request) policyQuiet() error {
	if g.cfg.Setup == nil {
		return errNoSetup
	}
	if g.r.Method == http.MethodGet {
		return g.answer(g.cfg.Setup.Quiet())
	}
	var in struct{ Hours, Code string }
	if err := g.readBody(&in); err != nil {
		return err
	}
	return g.change(in.Code, func(ctx context.Context) (any, error) { return g.cfg.Setup.SetQuiet(ctx, in.Hours) })
}

// search answers with the progress of the search for devices, or begins one: {broker, user,
// password}.
func (g *request) search() error {
	if g.cfg.Setup == nil {
		return errNoSetup
	}
	if g.r.Method != http.MethodGet {
		var in struct{ Broker, User, Password string }
		if err := g.readBody(&in); err != nil {
			return err
		}
		if err := asConflict(g.cfg.Setup.Find(in.Broker, in.User, in.Password)); err != nil {
			return err
		}
	}
	return g.answer(g.cfg.Setup.Found(), nil)
}

// device adds, describes, reads, tests, changes, hides or removes a device. It takes {found, name, area,
// code} to add a found one, {device, name, area, code} to give one another name and another area, {do:
// look, device}, {do: test, device}, {do: change, device, fields, code}, {do: hide, device, hidden,
// code} and {do: remove, device, code}. All but look and test need proof of a person.
func (g *request) device() error {
	if g.cfg.Setup == nil {
		return errNoSetup
	}
	var in struct {
		Do, Found, Device, Name, Area, Code string
		Fields                              map[string]string
		Hidden                              bool
	}
	if err := g.readBody(&in); err != nil {
		return err
	}
	s := g.cfg.Setup
	switch in.Do {
	case "":
		if in.Found != "" {
			return g.change(in.Code, func(ctx context.Context) (any, error) { return s.Add(ctx, in.Found, in.Name, in.Area) })
		}
		return g.change(in.Code, func(ctx context.Context) (any, error) { return s.Describe(ctx, in.Device, in.Name, in.Area) })
	case "look":
		return g.answer(s.Look(g.r.Context(), in.Device))
	case "test":
		return g.answer(s.Test(g.r.Context(), in.Device))
	case "change":
		return g.change(in.Code, func(ctx context.Context) (any, error) { return s.Change(ctx, in.Device, in.Fields) })
	case "hide":
		return g.change(in.Code, func(ctx context.Context) (any, error) { return s.Hide(ctx, in.Device, in.Hidden) })
	case "remove":
		return g.change(in.Code, func(ctx context.Context) (any, error) { return s.Remove(ctx, in.Device) })
	}
	return mess.Errorf(mess.Invalid, "do: %.20q is unknown; write look, test, change, hide or remove", in.Do)
}

// change answers with the result of a change that a person has asked for, which may be problems
// that prevent it. The change ends also if the browser goes away.
func (g *request) change(code string, do func(context.Context) (any, error)) error {
	var result any
	err := g.permitActing(code, func() (err error) {
		result, err = do(context.WithoutCancel(g.r.Context()))
		return err
	})
	if err != nil {
		return err
	}
	g.log.Info("a person has asked for a change of the configuration", "actor", g.actor.ID)
	return g.answer(result, nil)
}

// answer writes a value, or returns an error for people.
func (g *request) answer(v any, err error) error {
	if err != nil {
		return asConflict(err)
	}
	writeJSON(g.w, http.StatusOK, v)
	return nil
}
