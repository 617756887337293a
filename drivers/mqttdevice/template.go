package mqttdevice

import (
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"slices"
	"strings"

	"github.com/messkit/messkit/drivers/template"
)

// Template is the content of a template file. docs/drivers/mqttdevice.md explains every
// key.
type Template struct {
	template.Head
	Availability *State    `yaml:"availability"` // on means online
	Through      *State    `yaml:"through"`      // state of the bridge of the device; off means offline, too
	Switch       *Switch   `yaml:"switch"`
	Cover        *Cover    `yaml:"cover"`
	Readings     []Reading `yaml:"readings"`
}

// Message is a message to the device. The driver never sends it as retained.
type Message struct {
	Topic   string `yaml:"topic"`
	Payload string `yaml:"payload"`
	JSON    any    `yaml:"json"` // instead of payload
}

// State is a topic with a level.
type State struct {
	Topic string `yaml:"topic"`
	template.Level
	Ask *Message `yaml:"ask"` // question that requests the state; none: the broker retains the state
}

// Switch describes the messages of a switch.
type Switch struct {
	On    []Message `yaml:"on"`
	Off   []Message `yaml:"off"`
	OnFor *Timed    `yaml:"on_for"` // on with the timer of the device; {for} is its value
	State *State    `yaml:"state"`
	Dim   *Dim      `yaml:"dim"`   // {level} is the brightness
	White *White    `yaml:"white"` // {kelvin}, and {mireds}
	Tint  *Tint     `yaml:"tint"`  // {red}, {green} and {blue}, 0 to 255; {hex}, of all three
}

// Dim describes how to set the brightness of a lamp, which also turns it on.
type Dim struct {
	Messages []Message `yaml:"messages"`
	State    *Value    `yaml:"state"` // brightness while the lamp is on
	Full     float64   `yaml:"full"`  // value of {level} and of the state for 100 %
}

// Tint describes how to set the color of a lamp, which also turns it on.
type Tint struct {
	Messages []Message `yaml:"messages"`
	State    *Value    `yaml:"state"` // color as a list or an object of r, g and b, or as text
}

// White describes how to set the color temperature of a lamp, which also turns it on.
type White struct {
	Messages []Message `yaml:"messages"`
	State    *Value    `yaml:"state"`
	template.Warmth
}

// Value is a topic with a value.
type Value struct {
	Topic string   `yaml:"topic"`
	Value string   `yaml:"value"` // path in the payload; "": the whole payload
	Ask   *Message `yaml:"ask"`   // question that requests the value; none: the broker retains the value
}

// Timed describes the messages that set a timer.
type Timed struct {
	template.Timer
	Messages []Message `yaml:"messages"`
	Undo     []Message `yaml:"undo"` // removes the timer if its setting stays in the device; none: it does not stay
}

// Reading describes one measurement of a device.
type Reading struct {
	Topic    string   `yaml:"topic"`
	Ask      *Message `yaml:"ask"`      // question that requests the value
	Retained bool     `yaml:"retained"` // a retained message is valid, because the device publishes every change
	template.Reading
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
	errs = append(errs, template.CheckNames(t.With, "for", "level", "kelvin", "mireds", "red", "green", "blue", "hex", "position")...)
	readings := make([]template.Reading, len(t.Readings))
	for i, r := range t.Readings {
		where := fmt.Sprintf("readings[%d]", i)
		readings[i] = r.Reading
		errs = append(errs, template.CheckPlace(where+".value", r.Value, t.With))
		errs = append(errs, t.checkTopic(where+".topic", r.Topic), t.checkAsk(where+".ask", r.Ask))
		if r.Quantity == "" {
			errs = append(errs, fmt.Errorf("%s.quantity: is missing; write the measured quantity", where))
		}
	}
	return errors.Join(append(errs, template.CheckReadings(readings)...)...)
}

// checkState returns the errors in a State.
func (t *Template) checkState(where string, s State) []error {
	return append(template.CheckLevel(where, s.Level, t.With), t.checkTopic(where+".topic", s.Topic), t.checkAsk(where+".ask", s.Ask))
}

func (t *Template) checkSwitch() []error {
	s := t.Switch
	errs := slices.Concat(t.checkMessages("switch.on", s.On), t.checkMessages("switch.off", s.Off), []error{template.CheckOff(s.On, s.Off)})
	if s.OnFor != nil {
		errs = append(errs, t.checkMessages("switch.on_for.messages", s.OnFor.Messages, "for")...)
		if len(s.OnFor.Undo) > 0 {
			errs = append(errs, t.checkMessages("switch.on_for.undo", s.OnFor.Undo)...)
		}
	}
	if s.State == nil {
		return append(errs, errors.New("switch: state is missing; without readback the driver cannot know that the device is off"))
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
			errs = append(errs, errors.New("switch.white: needs warmest and coldest, in kelvin, and dim next to it"))
		}
		if w.Mode != "" && (w.State == nil || w.State.Value == "") {
			errs = append(errs, errors.New("switch.white.mode: needs a state in JSON"))
		}
	}
	if c := s.Tint; c != nil {
		errs = slices.Concat(errs, t.checkMessages("switch.tint.messages", c.Messages, "red", "green", "blue", "hex"), []error{t.checkValue("switch.tint.state", c.State)})
		if s.Dim == nil {
			errs = append(errs, errors.New("switch.tint: needs dim; write dim next to it"))
		}
	}
	return errs
}

func (t *Template) checkValue(where string, v *Value) error {
	if v == nil {
		return fmt.Errorf("%s: is missing; write the topic of the value", where)
	}
	return errors.Join(t.checkTopic(where+".topic", v.Topic), t.checkAsk(where+".ask", v.Ask), template.CheckPlace(where+".value", v.Value, t.With))
}

func (t *Template) checkAsk(where string, m *Message) error {
	if m == nil {
		return nil
	}
	return errors.Join(t.checkMessages(where, []Message{*m})...)
}

// checkMessages returns the errors in messages, which may contain the placeholders in more.
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
			errs = append(errs, fmt.Errorf("%s: has payload and json; remove one of them", where))
		}
		gaps := slices.Concat(template.Placeholders(m.Payload), template.PlaceholdersIn(m.JSON))
		filled = append(filled, gaps...)
		errs = append(errs, template.CheckPlaceholders(where, gaps, t.With, more...)...)
		errs = append(errs, t.checkTopic(where, m.Topic))
	}
	return append(errs, template.RequirePlaceholder(all, filled, more))
}

func (t *Template) checkTopic(where, topic string) error {
	if topic == "" || strings.ContainsAny(topic, "+#\x00") {
		return fmt.Errorf("%s: %q is not a topic; write one without + and #", where, topic)
	}
	return errors.Join(template.CheckPlaceholders(where, template.Placeholders(topic), t.With)...)
}
