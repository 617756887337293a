package mqttdevice

import (
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"slices"
	"strings"

	"github.com/messkit/messkit/drivers/family"
)

// Template is what a family's file says. docs/drivers/mqttdevice.md explains
// every key.
type Template struct {
	About        string                  `yaml:"about"`
	Docs         string                  `yaml:"docs"`  // where the maker describes the messages
	Class        string                  `yaml:"class"` // light, plug, ...
	With         map[string]family.Param `yaml:"with"`
	Availability *State                  `yaml:"availability"` // on is online
	Through      *State                  `yaml:"through"`      // that of what it speaks through: off is offline too
	Switch       *Switch                 `yaml:"switch"`
	Cover        *Cover                  `yaml:"cover"`
	Readings     []Reading               `yaml:"readings"`
}

// Message is one that is sent. It is never retained.
type Message struct {
	Topic   string `yaml:"topic"`
	Payload string `yaml:"payload"`
	JSON    any    `yaml:"json"` // instead of payload
}

// State is a topic on which the device tells a level.
type State struct {
	Topic string `yaml:"topic"`
	family.Level
	Ask *Message `yaml:"ask"` // what has the device tell it; none: the broker keeps what it told last
}

// Switch is how a device is switched and read back.
type Switch struct {
	On    []Message `yaml:"on"`
	Off   []Message `yaml:"off"`
	OnFor *Timed    `yaml:"on_for"` // on, with the device's own timer; {for} is its value
	State *State    `yaml:"state"`
	Dim   *Dim      `yaml:"dim"`   // {level} is how bright
	White *White    `yaml:"white"` // {kelvin}, and {mireds}
	Tint  *Tint     `yaml:"tint"`  // {red}, {green} and {blue}, 0 to 255; {hex}, of all three
}

// Dim is how a lamp shines more or less; it comes on with it.
type Dim struct {
	Messages []Message `yaml:"messages"`
	State    *Value    `yaml:"state"` // where it tells how bright it is while it is on
	Full     float64   `yaml:"full"`  // {level}, and what it tells, of 100 %
}

// Tint is how a lamp gets a colour; it comes on with it.
type Tint struct {
	Messages []Message `yaml:"messages"`
	State    *Value    `yaml:"state"` // where it tells its colour: a list or an object of r, g and b, or a text
}

// White is how a lamp gets a warm or a cold white; it comes on with it.
type White struct {
	Messages []Message `yaml:"messages"`
	State    *Value    `yaml:"state"`
	family.Warmth
}

// Value is a topic on which the device tells something.
type Value struct {
	Topic string   `yaml:"topic"`
	Value string   `yaml:"value"` // where it is in the payload; "": it is the payload
	Ask   *Message `yaml:"ask"`   // what has the device tell it; none: the broker keeps what it told last
}

// Timed are messages for a time.
type Timed struct {
	family.Timer
	Messages []Message `yaml:"messages"`
	Undo     []Message `yaml:"undo"` // takes the timer away, where it stays set for what is switched later; none: it does not
}

// Reading is one thing that a device measures.
type Reading struct {
	Topic    string   `yaml:"topic"`
	Ask      *Message `yaml:"ask"`      // what has the device tell it
	Retained bool     `yaml:"retained"` // what the broker keeps is how it is: the device tells every change
	Quantity string   `yaml:"quantity"`
	Unit     string   `yaml:"unit"`
	Value    string   `yaml:"value"` // where it is in the payload; "": the payload is the number
	Times    float64  `yaml:"times"` // what it is multiplied by; 0 is 1
	Optional bool     `yaml:"optional"`
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
	if t.Availability != nil {
		errs = append(errs, t.checkState("availability", *t.Availability)...)
	}
	if t.Through != nil {
		errs = append(errs, t.checkState("through", *t.Through)...)
	}
	if t.Switch != nil {
		errs = append(errs, t.checkSwitch()...)
	}
	if t.Cover != nil {
		errs = append(errs, t.checkCover()...)
	}
	errs = append(errs, family.CheckNames(t.With, "for", "level", "kelvin", "mireds", "red", "green", "blue", "hex", "position")...)
	measures := make([]family.Measure, len(t.Readings))
	for i, r := range t.Readings {
		where := fmt.Sprintf("readings[%d]", i)
		measures[i] = family.Measure{Quantity: r.Quantity, Unit: r.Unit}
		errs = append(errs, family.CheckPlace(where+".value", r.Value, t.With))
		errs = append(errs, t.checkTopic(where+".topic", r.Topic), t.checkAsk(where+".ask", r.Ask))
		if r.Quantity == "" {
			errs = append(errs, fmt.Errorf("%s.quantity: is missing; write what is measured", where))
		}
	}
	return errors.Join(append(errs, family.CheckReadings(measures)...)...)
}

// checkState tells what is wrong with a topic on which a level is told.
func (t *Template) checkState(where string, s State) []error {
	return append(family.CheckLevel(where, s.Level, t.With), t.checkTopic(where+".topic", s.Topic), t.checkAsk(where+".ask", s.Ask))
}

func (t *Template) checkSwitch() []error {
	s := t.Switch
	errs := slices.Concat(t.checkMessages("switch.on", s.On), t.checkMessages("switch.off", s.Off), []error{family.CheckOff(s.On, s.Off)})
	if s.OnFor != nil {
		errs = append(errs, t.checkMessages("switch.on_for.messages", s.OnFor.Messages, "for")...)
		if len(s.OnFor.Undo) > 0 {
			errs = append(errs, t.checkMessages("switch.on_for.undo", s.OnFor.Undo)...)
		}
	}
	if s.State == nil {
		return append(errs, errors.New("switch: state is missing; what cannot be read back is not known to be off"))
	}
	return slices.Concat(errs, t.checkState("switch.state", *s.State), t.checkLight(s))
}

func (t *Template) checkLight(s *Switch) (errs []error) {
	if d := s.Dim; d != nil {
		errs = append(t.checkMessages("switch.dim.messages", d.Messages, "level"), t.checkValue("switch.dim.state", d.State))
		if !(d.Full >= 1) || math.IsInf(d.Full, 0) {
			errs = append(errs, errors.New("switch.dim.full: is missing; write the level of 100 %"))
		}
	}
	if w := s.White; w != nil {
		errs = slices.Concat(errs, t.checkMessages("switch.white.messages", w.Messages, "kelvin", "mireds"), []error{t.checkValue("switch.white.state", w.State)})
		if w.Warmest == "" || w.Coldest == "" || s.Dim == nil {
			errs = append(errs, errors.New("switch.white: needs warmest and coldest, in kelvin, and dim beside it"))
		}
		if w.Mode != "" && (w.State == nil || w.State.Value == "") {
			errs = append(errs, errors.New("switch.white.mode: is for a state in JSON"))
		}
	}
	if c := s.Tint; c != nil {
		errs = slices.Concat(errs, t.checkMessages("switch.tint.messages", c.Messages, "red", "green", "blue", "hex"), []error{t.checkValue("switch.tint.state", c.State)})
		if s.Dim == nil {
			errs = append(errs, errors.New("switch.tint: a lamp with colours dims as well; write dim"))
		}
	}
	return errs
}

func (t *Template) checkValue(where string, v *Value) error {
	if v == nil {
		return fmt.Errorf("%s: is missing; write where the device tells it", where)
	}
	return errors.Join(t.checkTopic(where+".topic", v.Topic), t.checkAsk(where+".ask", v.Ask), family.CheckPlace(where+".value", v.Value, t.With))
}

func (t *Template) checkAsk(where string, m *Message) error {
	if m == nil {
		return nil
	}
	return errors.Join(t.checkMessages(where, []Message{*m})...)
}

// checkMessages tells what is wrong with messages in which the more gaps may
// stand.
func (t *Template) checkMessages(where string, list []Message, more ...string) []error {
	if len(list) == 0 {
		return []error{fmt.Errorf("%s: is missing; write a list of messages", where)}
	}
	var errs []error
	var filled []string
	all := where
	for i, m := range list {
		if len(list) > 1 {
			where = fmt.Sprintf("%s[%d]", all, i)
		}
		if m.JSON != nil && m.Payload != "" {
			errs = append(errs, fmt.Errorf("%s: has payload and json; keep one of them", where))
		}
		gaps := slices.Concat(family.Gaps(m.Payload), family.GapsIn(m.JSON))
		filled = append(filled, gaps...)
		for _, g := range gaps {
			if _, known := t.With[g]; !known && !slices.Contains(more, g) {
				errs = append(errs, fmt.Errorf("%s: nobody fills {%s}; write it under with", where, g))
			}
		}
		errs = append(errs, t.checkTopic(where, m.Topic))
	}
	return append(errs, family.Needed(all, filled, more))
}

func (t *Template) checkTopic(where, topic string) error {
	if topic == "" || strings.ContainsAny(topic, "+#\x00") {
		return fmt.Errorf("%s: %q is no topic; write one without + and #", where, topic)
	}
	for _, g := range family.Gaps(topic) {
		if _, known := t.With[g]; !known {
			return fmt.Errorf("%s: nobody fills {%s}; write it under with", where, g)
		}
	}
	return nil
}
