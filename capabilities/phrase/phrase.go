// Package phrase gives the words of a plan in a form that a page translates: codes with values. It
// reads them from the words themselves, so that no translation lacks a part of them.
package phrase

import (
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/messkit/messkit/capabilities"
	"github.com/messkit/messkit/mess"
)

// Phrase is what one step of a plan does.
type Phrase struct {
	Code   string      // id of a built-in capability, or Press
	Device string      // the name of the device for people
	Values mess.Object // by slot: a number, a text, or a list of places; temperatures in °C, angles in degrees
	For    float64     // seconds that the state lasts; 0 for until another order
	After  float64     // seconds of the wait before the step
	With   string      // Photo or Map, or ""
}

// Press is the code of a step that presses a button instead of switching it on.
const Press = "press"

// Values of Phrase.With: what the result shows in addition.
const (
	Photo = "photo"
	Map   = "map"
)

// withTexts are the endings of a summary for Phrase.With.
var withTexts = map[string]string{Photo: ", and take a photo of it", Map: ", and show its map"}

// Codes returns the codes, sorted, and those with consequences.
func Codes() (all, withConsequences []string) {
	for code, w := range templates {
		all = append(all, code)
		if w[1] != "" {
			withConsequences = append(withConsequences, code)
		}
	}
	slices.Sort(all)
	slices.Sort(withConsequences)
	return all, withConsequences
}

// Of returns the phrases of a plan, one for each step. It returns nil if they would not say all that the
// summary and the consequences of the plan say. label returns the name of a device for people.
func Of(p capabilities.Plan, label func(device string) string) []Phrase {
	var list []Phrase
	var summaries, consequences []string
	for _, step := range p.Each() {
		one, ok := ofStep(step, label(step.Device))
		if !ok {
			return nil
		}
		list, summaries = append(list, one), append(summaries, step.Summary)
		if step.Consequences != "" {
			consequences = append(consequences, step.Consequences)
		}
	}
	if p.Summary != strings.Join(summaries, ", ") || p.Consequences != strings.Join(consequences, "; ") {
		return nil
	}
	return list
}

// ofStep returns the phrase of a step, if it says all that the words of the step say.
func ofStep(p capabilities.Plan, label string) (one Phrase, ok bool) {
	one = Phrase{Device: label, For: p.For.Seconds(), After: p.After.Seconds()}
	text := p.Summary
	if p.After > 0 {
		if text, ok = strings.CutPrefix(text, "wait for "+capabilities.DurationText(p.After)+" and "); !ok {
			return one, false
		}
	}
	for with, ending := range withTexts {
		if rest, has := strings.CutSuffix(text, ending); has {
			text, one.With = rest, with
		}
	}
	if p.For > 0 {
		if text, ok = strings.CutSuffix(text, " for "+capabilities.DurationText(p.For)); !ok {
			return one, false
		}
	}
	one.Code = p.Capability
	if p.Command == capabilities.Press && !one.fits(text, p.Consequences) {
		one.Code = Press
	}
	return one, one.fits(text, p.Consequences)
}

// fits reads the values from a summary and its consequences. It returns false if they are not the words
// of the code.
func (one *Phrase) fits(summary, consequences string) bool {
	one.Values = nil
	words, ok := templates[one.Code]
	return ok && one.read(words[0], summary) && one.read(words[1], consequences)
}

// slot is a slot of a template, with the article before it.
var slot = regexp.MustCompile(`(the )?\{([a-z]+)\}`)

// forms has the form of the text of a slot. Others take any text.
var forms = map[string]string{"number": `([0-9.]+)`, "angle": `(-?[0-9.]+) degrees`}

// kinds has the slots that are not text.
var kinds = map[string]string{
	"level": "number", "change": "number", "kelvin": "number", "opening": "number", "temperature": "number", "angle": "angle",
	"areas": "places", "rooms": "places",
}

// read reads the values of a template from its filled text.
func (one *Phrase) read(template, text string) bool {
	var form strings.Builder
	var names []string
	at := 0
	for _, m := range slot.FindAllStringSubmatchIndex(template, -1) {
		form.WriteString(regexp.QuoteMeta(template[at:m[0]]))
		at = m[1]
		name := template[m[4]:m[5]]
		if m[2] >= 0 {
			form.WriteString("(?:the )?") // a name can have its own article
		}
		if name == "device" {
			form.WriteString(regexp.QuoteMeta(one.Device))
			continue
		}
		names = append(names, name)
		if f := forms[kinds[name]]; f != "" {
			form.WriteString(f)
		} else {
			form.WriteString("(.+?)")
		}
	}
	form.WriteString(regexp.QuoteMeta(template[at:]))
	re, err := regexp.Compile("^(?s:" + form.String() + ")$")
	if err != nil {
		return false // the name of the device is no valid text
	}
	found := re.FindStringSubmatch(text)
	if found == nil {
		return false
	}
	for i, name := range names {
		v, ok := valueOf(name, found[i+1])
		if old, has := one.Values.Get(name); !ok || has && old != v {
			return false
		}
		one.Values = one.Values.Set(name, v)
	}
	return true
}

// valueOf returns the value of a slot from its text.
func valueOf(name, text string) (any, bool) {
	switch kinds[name] {
	case "number", "angle":
		n, err := strconv.ParseFloat(text, 64)
		return n, err == nil
	case "places":
		return places(text)
	}
	return text, true
}

// places returns the names of places: none for all floors.
func places(text string) (any, bool) {
	list := []any{}
	if text == "a file" {
		return nil, false // the interpreter asks for it
	}
	if text == "all floors" {
		return list, true
	}
	for name := range strings.SplitSeq(text, " and ") {
		list = append(list, strings.TrimPrefix(name, "the "))
	}
	return list, true
}

// JSON returns phrases in the form of a message and of a page: [{code, device, values, for, after,
// with}], times in seconds. Fields without a value are absent.
func JSON(list []Phrase) []any {
	all := make([]any, len(list))
	for i, one := range list {
		o := mess.Object{{Key: "code", Value: one.Code}, {Key: "device", Value: one.Device}}
		if one.Values != nil {
			o = append(o, mess.Field{Key: "values", Value: one.Values})
		}
		if one.For > 0 {
			o = o.Set("for", one.For)
		}
		if one.After > 0 {
			o = o.Set("after", one.After)
		}
		if one.With != "" {
			o = o.Set("with", one.With)
		}
		all[i] = o
	}
	return all
}
