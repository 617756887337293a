package setup

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"unicode"

	"github.com/messkit/messkit/internal/config"
	"github.com/messkit/messkit/internal/config/edit"
	"github.com/messkit/messkit/internal/strictyaml"
)

// description is what people call a device, and where it is.
type description struct {
	name string // "": the name in the configuration
	area string // "": unknown
}

// maxName is the longest name and the longest area of a device, in bytes.
const maxName = 100

// clean returns a description without outer spaces, or an error.
func (d description) clean() (description, error) {
	d.name, d.area = strings.TrimSpace(d.name), strings.TrimSpace(d.area)
	for key, text := range map[string]string{"name": d.name, "area": d.area} {
		if len(text) > maxName || strings.ContainsFunc(text, func(r rune) bool { return !unicode.IsPrint(r) }) {
			return d, fmt.Errorf("%s: write one line of at most %d bytes", key, maxName)
		}
	}
	return d, nil
}

// Add adds a found device under a name, writes the configuration, and starts the device. If the
// device does not start, nothing changes.
func (s *Setup) Add(ctx context.Context, id, called, area string) (any, error) {
	as, err := description{called, s.spelled(area)}.clean()
	if err != nil {
		return nil, err
	}
	if as.name == "" {
		return nil, errors.New("name: is missing; write what people call the device")
	}
	c := s.candidate(id)
	switch {
	case c == nil:
		return nil, errors.New("the last search has not found this device; search again")
	case c.Block == nil || c.Problem != "":
		return nil, fmt.Errorf("messkit cannot add this device: %s", c.Problem)
	case c.Same != "":
		return nil, fmt.Errorf("this device is here already, as %s", c.Same)
	}
	s.changing.Lock()
	defer s.changing.Unlock()
	text, revision, err := s.read()
	if err != nil {
		return nil, err
	}
	name := s.freeName(as.name, c.Name)
	after, err := edit.AddDevice(text, name, block(c.Block, name, as), "Added in the console: "+c.Where)
	if err != nil {
		return nil, err
	}
	r, err := s.save(ctx, after, revision)
	r.Device = name
	return r, err
}

// spelled returns an area as the other devices spell it: Office and office are one area.
func (s *Setup) spelled(area string) string {
	for _, other := range s.areas() {
		if config.Spoken(other) == config.Spoken(area) {
			return other
		}
	}
	return area
}

// block returns the configuration of a device with its description behind the driver.
func block(found *strictyaml.Value, name string, as description) *strictyaml.Value {
	b := &strictyaml.Value{Kind: strictyaml.Map}
	b.Add("driver", found.Get("driver"))
	if config.Spoken(as.name) != config.Spoken(name) {
		b.Add("label", strictyaml.Str(as.name))
	}
	if as.area != "" {
		b.Add("area", strictyaml.Str(as.area))
	}
	for _, p := range found.Pairs {
		if b.Get(p.Key) == nil && p.Key != "label" && p.Key != "area" {
			b.Add(p.Key, p.Value)
		}
	}
	return b
}

// freeName returns a name in the configuration for what people call a device: its letters and
// digits, or fallback if there are none. No other device has it.
func (s *Setup) freeName(called, fallback string) string {
	words := strings.FieldsFunc(strings.ToLower(called), func(r rune) bool { return !(r >= 'a' && r <= 'z' || r >= '0' && r <= '9') })
	name := strings.Join(words, "-")
	if name == "" {
		name = fallback
	}
	free := name
	for n := 2; ; n++ {
		if _, taken := s.program.Config().Devices[free]; !taken {
			return free
		}
		free = fmt.Sprintf("%s-%d", name, n)
	}
}

// Hide leaves a device out of the first view of pages, or brings it back, and writes the configuration.
// The device keeps running.
func (s *Setup) Hide(ctx context.Context, device string, hidden bool) (any, error) {
	s.changing.Lock()
	defer s.changing.Unlock()
	text, revision, err := s.read()
	if err != nil {
		return nil, err
	}
	value := strictyaml.Truth(true)
	if !hidden {
		value = nil
	}
	if text, err = edit.SetField(text, device, "hidden", value); err != nil {
		return nil, err
	}
	r, err := s.save(ctx, text, revision)
	r.Device = device
	return r, err
}

// Describe gives a device another name and another area, and writes the configuration. The device
// keeps running.
func (s *Setup) Describe(ctx context.Context, device, called, area string) (any, error) {
	as, err := description{called, s.spelled(area)}.clean()
	if err != nil {
		return nil, err
	}
	s.changing.Lock()
	defer s.changing.Unlock()
	text, revision, err := s.read()
	if err != nil {
		return nil, err
	}
	label := as.name
	if config.Spoken(label) == config.Spoken(device) {
		label = ""
	}
	for _, field := range []struct{ key, value string }{{"area", as.area}, {"label", label}} {
		value := strictyaml.Str(field.value)
		if field.value == "" {
			value = nil
		}
		if text, err = edit.SetField(text, device, field.key, value); err != nil {
			return nil, err
		}
	}
	r, err := s.save(ctx, text, revision)
	r.Device = device
	return r, err
}
