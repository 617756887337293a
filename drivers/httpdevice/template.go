package httpdevice

import (
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"

	"github.com/messkit/messkit/drivers/family"
)

// Template is what a family's file says. docs/drivers/httpdevice.md explains
// every key.
type Template struct {
	About    string                  `yaml:"about"`
	Docs     string                  `yaml:"docs"`  // where the maker describes the messages
	Class    string                  `yaml:"class"` // light, plug, ...
	Token    string                  `yaml:"token"` // the header that carries token:, Authorization for a bearer token
	With     map[string]family.Param `yaml:"with"`
	Fault    string                  `yaml:"fault"` // where the answer to an act, which is JSON then, has something if it was refused; "" for any answer
	Switch   *Switch                 `yaml:"switch"`
	Cover    *Cover                  `yaml:"cover"`
	Readings []Reading               `yaml:"readings"`
}

// Switch is how a device is switched and read back.
type Switch struct {
	On    []Call   `yaml:"on"`
	Off   []Call   `yaml:"off"`
	OnFor *Timed   `yaml:"on_for"` // on, with the device's own timer; {for} is its value
	State *OnState `yaml:"state"`
	Dim   *Dim     `yaml:"dim"`   // {level} is how bright
	White *White   `yaml:"white"` // {kelvin}, and {mireds}
	Tint  *Tint    `yaml:"tint"`  // {red}, {green} and {blue}, 0 to 255
}

// Dim is how a lamp shines more or less; it comes on with it.
type Dim struct {
	Calls []Call  `yaml:"calls"`
	Get   string  `yaml:"get"`   // what tells how bright it is while it is on
	Value string  `yaml:"value"` // where in the answer
	Full  float64 `yaml:"full"`  // {level}, and the value, of 100 %
}

// Tint is how a lamp gets a colour; it comes on with it.
type Tint struct {
	Calls []Call `yaml:"calls"`
	Get   string `yaml:"get"`   // what tells its colour
	Value string `yaml:"value"` // where a list that begins with red, green and blue is in the answer
}

// White is how a lamp gets a warm or a cold white; it comes on with it.
type White struct {
	Calls []Call `yaml:"calls"`
	Get   string `yaml:"get"`   // what tells its white
	Value string `yaml:"value"` // where in the answer
	family.Warmth
}

// Timed are calls for a time.
type Timed struct {
	family.Timer
	Calls []Call `yaml:"calls"`
	Undo  []Call `yaml:"undo"` // takes the timer away, where it stays set for what is switched later; none: it does not
}

// OnState is where the device tells whether it is on.
type OnState struct {
	Call
	family.Level
}

// Reading is one thing that a device measures.
type Reading struct {
	Call
	Quantity string  `yaml:"quantity"`
	Unit     string  `yaml:"unit"`
	Value    string  `yaml:"value"`    // where it is in the answer
	Times    float64 `yaml:"times"`    // what it is multiplied by; 0 is 1
	Optional bool    `yaml:"optional"` // some of the family do not have it
}

// Call is one question to a device: exactly one method, with a path below the
// device's address.
type Call struct {
	Get    string            `yaml:"get"`
	Post   string            `yaml:"post"`
	Put    string            `yaml:"put"`
	Delete string            `yaml:"delete"`
	JSON   any               `yaml:"json"`   // the body
	Expect map[string]string `yaml:"expect"` // what the answer must hold: place to word
}

// method is the call's method and path.
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

var templates family.Templates[Template]

// Families are the templates that come with the program.
func Families() fs.FS { return family.Own(files) }

// Validate tells all that cannot be, each mistake beginning with its key.
func (t *Template) Validate() error {
	errs := []error{family.CheckAbout(t.Docs)}
	if t.Switch == nil && t.Cover == nil && len(t.Readings) == 0 {
		errs = append(errs, errors.New("switch: is missing, and so are cover and readings; write what the device can do"))
	}
	errs = append(errs, family.CheckPlace("fault", t.Fault, t.With))
	if t.Switch != nil {
		errs = append(errs, t.checkSwitch()...)
	}
	if t.Cover != nil {
		errs = append(errs, t.checkCover()...)
	}
	errs = append(errs, family.CheckNames(t.With, "username", "password", "for", "level", "kelvin", "mireds", "red", "green", "blue", "position")...)
	measures := make([]family.Measure, len(t.Readings))
	for i, r := range t.Readings {
		where := fmt.Sprintf("readings[%d]", i)
		measures[i] = family.Measure{Quantity: r.Quantity, Unit: r.Unit}
		errs = append(errs, t.checkCalls(where, []Call{r.Call})...)
		errs = append(errs, family.CheckPlace(where+".value", r.Value, t.With))
		if r.Quantity == "" || r.Value == "" {
			errs = append(errs, fmt.Errorf("%s.value: is missing, or the quantity is; write what is measured, and where the answer has it", where))
		}
	}
	return errors.Join(append(errs, family.CheckReadings(measures)...)...)
}

func (t *Template) checkSwitch() []error {
	s := t.Switch
	errs := slices.Concat(t.checkCalls("switch.on", s.On), t.checkCalls("switch.off", s.Off), []error{family.CheckOff(s.On, s.Off)})
	if s.OnFor != nil {
		errs = append(errs, t.checkCalls("switch.on_for.calls", s.OnFor.Calls, "for")...)
		if len(s.OnFor.Undo) > 0 {
			errs = append(errs, t.checkCalls("switch.on_for.undo", s.OnFor.Undo)...)
		}
	}
	if s.State == nil {
		return append(errs, errors.New("switch: state is missing; what cannot be read back is not known to be off"))
	}
	return slices.Concat(errs, t.checkCalls("switch.state", []Call{s.State.Call}), family.CheckLevel("switch.state", s.State.Level, t.With), t.checkLight(s))
}

func (t *Template) checkLight(s *Switch) []error {
	var errs []error
	if d := s.Dim; d != nil {
		errs = slices.Concat(errs, t.checkCalls("switch.dim.calls", d.Calls, "level"), t.checkCalls("switch.dim.get", []Call{{Get: d.Get}}))
		errs = append(errs, family.CheckPlace("switch.dim.value", d.Value, t.With))
		if d.Value == "" || d.Full < 1 {
			errs = append(errs, errors.New("switch.dim: needs value and full: where the answer has the level, and that of 100 %"))
		}
	}
	if w := s.White; w != nil {
		errs = slices.Concat(errs, t.checkCalls("switch.white.calls", w.Calls, "kelvin", "mireds"), t.checkCalls("switch.white.get", []Call{{Get: w.Get}}))
		errs = append(errs, family.CheckPlace("switch.white.value", w.Value, t.With))
		if w.Value == "" || w.Warmest == "" || w.Coldest == "" || s.Dim == nil {
			errs = append(errs, errors.New("switch.white: needs value, warmest and coldest, and dim beside it: where the answer has the white, and its limits in kelvin"))
		}
	}
	if c := s.Tint; c != nil {
		errs = slices.Concat(errs, t.checkCalls("switch.tint.calls", c.Calls, "red", "green", "blue"), t.checkCalls("switch.tint.get", []Call{{Get: c.Get}}))
		errs = append(errs, family.CheckPlace("switch.tint.value", c.Value, t.With))
		if c.Value == "" || s.Dim == nil {
			errs = append(errs, errors.New("switch.tint: needs value, and dim beside it: where the answer has the colour, and how bright it is"))
		}
	}
	return errs
}

// checkFilled tells a gap in a text that no configuration fills.
func (t *Template) checkFilled(where, text string, more ...string) error {
	for _, g := range family.Gaps(text) {
		if _, known := t.With[g]; !known && !slices.Contains(more, g) {
			return fmt.Errorf("%s: nobody fills {%s}; write it under with", where, g)
		}
	}
	return nil
}

// checkCalls tells what is wrong with calls in which the more gaps may stand.
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
			errs = append(errs, fmt.Errorf("%s: a path is told in errors; write {password} behind the ? or into json", where))
		case !strings.HasPrefix(path, "/"):
			errs = append(errs, fmt.Errorf("%s: %q does not begin with a /; write a path below the device's address", where, path))
		case c.JSON != nil && (method == "GET" || method == "DELETE"):
			errs = append(errs, fmt.Errorf("%s: %s has no body; write json beside post or put", where, method))
		}
		for _, place := range slices.Sorted(maps.Keys(c.Expect)) {
			errs = append(errs, family.CheckPlace(where+".expect", place, t.With), t.checkFilled(where+".expect", c.Expect[place], more...))
		}
		gaps := slices.Concat(family.Gaps(path), family.GapsIn(c.JSON))
		filled = append(filled, gaps...)
		for _, g := range gaps {
			if _, known := t.With[g]; !known && !slices.Contains(more, g) && g != "username" && g != "password" {
				errs = append(errs, fmt.Errorf("%s: nobody fills {%s}; write it under with", where, g))
			}
		}
	}
	return append(errs, family.Needed(list, filled, more))
}
