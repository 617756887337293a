package setup

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/messkit/messkit/internal/config"
	"github.com/messkit/messkit/internal/config/edit"
	"github.com/messkit/messkit/internal/strictyaml"
)

// Field is a key of a device that the console can change: a text, a number or a truth value.
type Field struct {
	Key    string `json:"key"`
	Value  string `json:"value"` // "" for a secret
	Kind   string `json:"kind"`  // text, number or truth
	Secret bool   `json:"secret,omitempty"`
}

// Look is what an operator sees before a change of a device.
type Look struct {
	Driver string  `json:"driver"`
	About  string  `json:"about"` // what the driver is for
	Fields []Field `json:"fields"`
	// More are the other keys, which only the text of the configuration can change.
	More []string `json:"more"`
	// Refers are the parts of the configuration that name the device. They prevent the removal.
	Refers []Problem `json:"refers"`
	// LastOf is the area that has no other device; "" if there is none.
	LastOf string `json:"last_of,omitempty"`
	// Restart is why a change needs a restart; "" if it does not.
	Restart string `json:"restart,omitempty"`
	// InUse is why the device cannot be changed now; "" if it can.
	InUse string `json:"in_use,omitempty"`
}

// described are the keys of a device that Describe changes, and the driver, which stays.
var described = append([]string{"driver"}, describes...)

// Look returns the fields of a device, and what refers to it.
func (s *Setup) Look(ctx context.Context, device string) (any, error) {
	s.changing.Lock()
	defer s.changing.Unlock()
	text, _, err := s.read()
	if err != nil {
		return nil, err
	}
	block, err := blockOf(text, device)
	if err != nil {
		return nil, err
	}
	l := Look{Fields: []Field{}, More: []string{}, Refers: s.refers(text, device)}
	for _, p := range block.Pairs {
		switch kind := kindOf(p.Value); {
		case slices.Contains(described, p.Key):
		case kind == "":
			l.More = append(l.More, p.Key)
		case config.IsSecretKey(p.Key):
			l.Fields = append(l.Fields, Field{Key: p.Key, Kind: kind, Secret: true})
		default:
			l.Fields = append(l.Fields, Field{Key: p.Key, Kind: kind, Value: p.Value.Text})
		}
	}
	c := s.program.Config()
	if d := c.Opened.Device(device); d != nil {
		l.Driver, l.About, l.Restart = d.Kind.Name, d.Kind.About, s.program.NeedsRestart(*d)
		area := d.EffectiveArea()
		if !slices.ContainsFunc(c.Opened.Devices, func(o config.Device) bool { return o.Name != device && o.EffectiveArea() == area }) {
			l.LastOf = area
		}
	}
	if err := s.program.InUse(ctx, device); err != nil {
		l.InUse = err.Error()
	}
	return l, nil
}

// blockOf returns the keys of a device in a text.
func blockOf(text []byte, device string) (*strictyaml.Value, error) {
	docs, err := strictyaml.Parse(text, strictyaml.Config)
	if err != nil {
		return nil, err
	}
	if len(docs) == 1 {
		if there := docs[0].Get("devices"); there != nil && there.Get(device) != nil {
			return there.Get(device), nil
		}
	}
	return nil, fmt.Errorf("devices.%s: the configuration has no such device; reload the page", device)
}

// kindOf returns the kind of a value on one line, "" for another one.
func kindOf(v *strictyaml.Value) string {
	switch {
	case v == nil || strings.Contains(v.Text, "\n"):
		return ""
	case v.Kind == strictyaml.String:
		return "text"
	case v.Kind == strictyaml.Number:
		return "number"
	case v.Kind == strictyaml.Bool:
		return "truth"
	}
	return ""
}

// refers returns the problems of a text without a device: what refers to it.
func (s *Setup) refers(text []byte, device string) []Problem {
	after, err := edit.RemoveDevice(text, device)
	if err != nil {
		return []Problem{{Path: "devices." + device, Text: err.Error()}}
	}
	_, problems := s.check(after)
	for i := range problems {
		problems[i].Line = 0 // of a text that nobody has
	}
	return problems
}

// Remove removes a device from the configuration, takes it to its safe state, and ends it. If
// something refers to it, if a task uses it, or if it may stay on, nothing changes.
func (s *Setup) Remove(ctx context.Context, device string) (any, error) {
	s.changing.Lock()
	defer s.changing.Unlock()
	if err := s.program.InUse(ctx, device); err != nil {
		return nil, err
	}
	text, revision, err := s.read()
	if err != nil {
		return nil, err
	}
	after, err := edit.RemoveDevice(text, device)
	if err != nil {
		return nil, err
	}
	r, err := s.save(ctx, after, revision)
	r.Device = device
	return r, err
}

// Change gives fields of Look other values: the device goes to its safe state, and starts again with
// them. An empty text removes a field; an empty secret leaves it as it is. If the device does not
// start, it runs as before.
func (s *Setup) Change(ctx context.Context, device string, fields map[string]string) (any, error) {
	s.changing.Lock()
	defer s.changing.Unlock()
	if err := s.program.InUse(ctx, device); err != nil {
		return nil, err
	}
	text, revision, err := s.read()
	if err != nil {
		return nil, err
	}
	block, err := blockOf(text, device)
	if err != nil {
		return nil, err
	}
	known := slices.DeleteFunc(slices.Clone(block.Pairs), func(p strictyaml.Pair) bool {
		return slices.Contains(described, p.Key) || kindOf(p.Value) == ""
	})
	for key := range fields {
		if !slices.ContainsFunc(known, func(p strictyaml.Pair) bool { return p.Key == key }) {
			return nil, fmt.Errorf("devices.%s.%.40s: the console cannot change this key; edit the configuration", device, key)
		}
	}
	for _, p := range known {
		wish, given := fields[p.Key]
		wish = strings.TrimSpace(wish)
		if !given || wish == p.Value.Text || wish == "" && config.IsSecretKey(p.Key) {
			continue
		}
		value, err := valueLike(p.Value, wish)
		if err != nil {
			return nil, fmt.Errorf("devices.%s.%s: %w", device, p.Key, err)
		}
		if text, err = edit.SetField(text, device, p.Key, value); err != nil {
			return nil, err
		}
	}
	r, err := s.save(ctx, text, revision)
	r.Device = device
	return r, err
}

// valueLike returns a text as a value of the kind of another one; nil for an empty text.
func valueLike(old *strictyaml.Value, text string) (*strictyaml.Value, error) {
	switch {
	case text == "":
		return nil, nil
	case old.Kind == strictyaml.Number:
		if _, err := strconv.ParseFloat(text, 64); err != nil {
			return nil, fmt.Errorf("%.40q is not a number; write one like 4 or 0.5", text)
		}
		return &strictyaml.Value{Kind: strictyaml.Number, Text: text}, nil
	case old.Kind == strictyaml.Bool:
		if text != "true" && text != "false" {
			return nil, fmt.Errorf("%.40q is neither true nor false", text)
		}
		return strictyaml.Truth(text == "true"), nil
	}
	return strictyaml.Str(text), nil
}
