package httpdevice

import (
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"

	"github.com/messkit/messkit/drivers/template"
)

// Template is the content of a template file. docs/drivers/httpdevice.md explains every
// key.
type Template struct {
	template.Head
	Token    string    `yaml:"token"` // header for token:; Authorization for a bearer token
	Fault    string    `yaml:"fault"` // path in the JSON answer to a command that exists only if the device has rejected it; "": any answer is a success
	Switch   *Switch   `yaml:"switch"`
	Cover    *Cover    `yaml:"cover"`
	Readings []Reading `yaml:"readings"`
}

// Switch describes the calls of a switch.
type Switch struct {
	On    []Call   `yaml:"on"`
	Off   []Call   `yaml:"off"`
	OnFor *Timed   `yaml:"on_for"` // on with the timer of the device; {for} is its value
	State *OnState `yaml:"state"`
	Dim   *Dim     `yaml:"dim"`   // {level} is the brightness
	White *White   `yaml:"white"` // {kelvin}, and {mireds}
	Tint  *Tint    `yaml:"tint"`  // {red}, {green} and {blue}, 0 to 255
}

// Dim describes how to set the brightness of a lamp, which also turns it on.
type Dim struct {
	Calls []Call  `yaml:"calls"`
	Get   string  `yaml:"get"`   // path of the brightness while the lamp is on
	Value string  `yaml:"value"` // path in the answer
	Full  float64 `yaml:"full"`  // value of {level} and of the answer for 100 %
}

// Tint describes how to set the color of a lamp, which also turns it on.
type Tint struct {
	Calls []Call `yaml:"calls"`
	Get   string `yaml:"get"`   // path of the color
	Value string `yaml:"value"` // path in the answer of a list that begins with red, green and blue
}

// White describes how to set the color temperature of a lamp, which also turns it on.
type White struct {
	Calls []Call `yaml:"calls"`
	Get   string `yaml:"get"`   // path of the color temperature
	Value string `yaml:"value"` // path in the answer
	template.Warmth
}

// Timed describes the calls that set a timer.
type Timed struct {
	template.Timer
	Calls []Call `yaml:"calls"`
	Undo  []Call `yaml:"undo"` // removes the timer if its setting stays in the device; none: it does not stay
}

// OnState describes the state of a switch.
type OnState struct {
	Call
	template.Level
}

// Reading describes one measurement of a device.
type Reading struct {
	Call
	template.Reading
}

// Call is one request to a device: exactly one method, with a path below the address of the
// device.
type Call struct {
	Get    string            `yaml:"get"`
	Post   string            `yaml:"post"`
	Put    string            `yaml:"put"`
	Delete string            `yaml:"delete"`
	JSON   any               `yaml:"json"`   // the body
	Expect map[string]string `yaml:"expect"` // required values in the answer: path to word
}

// method returns the method and the path of the call.
func (c Call) method() (method, path string) {
	for _, m := range [][2]string{{"GET", c.Get}, {"POST", c.Post}, {"PUT", c.Put}, {"DELETE", c.Delete}} {
		if m[1] != "" {
			return m[0], m[1]
		}
	}
	return "", ""
}

//go:embed families/*.yaml
var files embed.FS

var templates template.Templates[Template]

// Families returns the templates of the program.
func Families() fs.FS { return template.BuiltIn(files) }

// Validate returns all errors in the template. Each begins with its key.
func (t *Template) Validate() error {
	errs := []error{template.CheckAbout(t.Docs)}
	if t.Switch == nil && t.Cover == nil && len(t.Readings) == 0 {
		errs = append(errs, errors.New("switch: is missing, and so are cover and readings; write at least one of them"))
	}
	errs = append(errs, template.CheckPlace("fault", t.Fault, t.With))
	if t.Switch != nil {
		errs = append(errs, t.checkSwitch()...)
	}
	if t.Cover != nil {
		errs = append(errs, t.checkCover()...)
	}
	errs = append(errs, template.CheckNames(t.With, "username", "password", "for", "level", "kelvin", "mireds", "red", "green", "blue", "position")...)
	readings := make([]template.Reading, len(t.Readings))
	for i, r := range t.Readings {
		where := fmt.Sprintf("readings[%d]", i)
		readings[i] = r.Reading
		errs = append(errs, t.checkCalls(where, []Call{r.Call})...)
		errs = append(errs, template.CheckPlace(where+".value", r.Value, t.With))
		if r.Quantity == "" || r.Value == "" {
			errs = append(errs, fmt.Errorf("%s.value: is missing, or the quantity is; write the measured quantity, and its path in the answer", where))
		}
	}
	return errors.Join(append(errs, template.CheckReadings(readings)...)...)
}

func (t *Template) checkSwitch() []error {
	s := t.Switch
	errs := slices.Concat(t.checkCalls("switch.on", s.On), t.checkCalls("switch.off", s.Off), []error{template.CheckOff(s.On, s.Off)})
	if s.OnFor != nil {
		errs = append(errs, t.checkCalls("switch.on_for.calls", s.OnFor.Calls, "for")...)
		if len(s.OnFor.Undo) > 0 {
			errs = append(errs, t.checkCalls("switch.on_for.undo", s.OnFor.Undo)...)
		}
	}
	if s.State == nil {
		return append(errs, errors.New("switch: state is missing; without readback the driver cannot know that the device is off"))
	}
	return slices.Concat(errs, t.checkCalls("switch.state", []Call{s.State.Call}), template.CheckLevel("switch.state", s.State.Level, t.With), t.checkLight(s))
}

func (t *Template) checkLight(s *Switch) []error {
	var errs []error
	if d := s.Dim; d != nil {
		errs = slices.Concat(errs, t.checkCalls("switch.dim.calls", d.Calls, "level"), t.checkCalls("switch.dim.get", []Call{{Get: d.Get}}))
		errs = append(errs, template.CheckPlace("switch.dim.value", d.Value, t.With))
		if d.Value == "" || d.Full < 1 {
			errs = append(errs, errors.New("switch.dim: needs value and full: the path of the level in the answer, and the level of 100 %"))
		}
	}
	if w := s.White; w != nil {
		errs = slices.Concat(errs, t.checkCalls("switch.white.calls", w.Calls, "kelvin", "mireds"), t.checkCalls("switch.white.get", []Call{{Get: w.Get}}))
		errs = append(errs, template.CheckPlace("switch.white.value", w.Value, t.With))
		if w.Value == "" || w.Warmest == "" || w.Coldest == "" || s.Dim == nil {
			errs = append(errs, errors.New("switch.white: needs value, warmest and coldest, and dim next to it: the path of the color temperature in the answer, and its limits in kelvin"))
		}
	}
	if c := s.Tint; c != nil {
		errs = slices.Concat(errs, t.checkCalls("switch.tint.calls", c.Calls, "red", "green", "blue"), t.checkCalls("switch.tint.get", []Call{{Get: c.Get}}))
		errs = append(errs, template.CheckPlace("switch.tint.value", c.Value, t.With))
		if c.Value == "" || s.Dim == nil {
			errs = append(errs, errors.New("switch.tint: needs value, and dim next to it: the path of the color in the answer, and the brightness"))
		}
	}
	return errs
}

// checkCalls returns the errors in calls, which may contain the placeholders in more.
func (t *Template) checkCalls(where string, calls []Call, more ...string) []error {
	if len(calls) == 0 {
		return []error{fmt.Errorf("%s: is missing; write a list of calls", where)}
	}
	var errs []error
	var filled []string
	list := where
	for i, c := range calls {
		if len(calls) > 1 {
			where = fmt.Sprintf("%s[%d]", list, i)
		}
		method, path := c.method()
		n := 0
		for _, p := range []string{c.Get, c.Post, c.Put, c.Delete} {
			if p != "" {
				n++
			}
		}
		switch {
		case n != 1:
			errs = append(errs, fmt.Errorf("%s: has %d of get, post, put and delete; write one", where, n))
		case strings.Contains(strings.Split(path, "?")[0], "{password}"):
			errs = append(errs, fmt.Errorf("%s: errors show the path; write {password} after the ? or into json", where))
		case !strings.HasPrefix(path, "/"):
			errs = append(errs, fmt.Errorf("%s: %q does not begin with a /; write a path below the address of the device", where, path))
		case c.JSON != nil && (method == "GET" || method == "DELETE"):
			errs = append(errs, fmt.Errorf("%s: %s has no body; write json next to post or put", where, method))
		}
		for _, path := range slices.Sorted(maps.Keys(c.Expect)) {
			errs = append(errs, template.CheckPlace(where+".expect", path, t.With))
			errs = append(errs, template.CheckPlaceholders(where+".expect", template.Placeholders(c.Expect[path]), t.With, more...)...)
		}
		gaps := slices.Concat(template.Placeholders(path), template.PlaceholdersIn(c.JSON))
		filled = append(filled, gaps...)
		errs = append(errs, template.CheckPlaceholders(where, gaps, t.With, append(more, "username", "password")...)...)
	}
	return append(errs, template.RequirePlaceholder(list, filled, more))
}
