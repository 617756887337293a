package home

import (
	"cmp"
	"slices"
	"strings"

	"github.com/messkit/messkit/mess"
)

// phrases has the words of a request for each verb of the catalog. An order takes the first phrase
// whose {arguments} are all given; the last one has those that the verb needs. A test checks that an
// executor understands each phrase as that verb, for every device of the simulated home.
var phrases = map[string][]string{
	"activate":        {"activate the {device}"},
	"brighten":        {"make the {device} {change} percent brighter", "make the {device} brighter"},
	"close":           {"close the {device}"},
	"cooler-white":    {"make the {device} cooler"},
	"dim":             {"make the {device} {change} percent darker", "make the {device} darker"},
	"dock-vacuum":     {"send the {device} to its dock"},
	"drive-back":      {"drive the {device} back for {for}"},
	"drive-forward":   {"drive the {device} forward for {for}"},
	"lock":            {"lock the {device}"},
	"look":            {"show me the {device}"},
	"move-servo":      {"turn the {device} to {angle} degrees"},
	"open":            {"open the {device}"},
	"pause-vacuum":    {"pause the {device}"},
	"print-cancel":    {"cancel the print on the {device}"},
	"print-pause":     {"pause the print on the {device}"},
	"print-resume":    {"resume the print on the {device}"},
	"print-start":     {"print {file} on the {device}"},
	"print-status":    {"check the {device}"},
	"pulse":           {"pulse the {device} for {for}"},
	"read-sensor":     {"read the {quantity} of the {device}", "check the {device}"},
	"read-switch":     {"check the {device}"},
	"resume-vacuum":   {"resume the {device}"},
	"set-brightness":  {"set the {device} to {level} percent"},
	"set-colour":      {"change the color of the {device}"}, // the interpreter knows no #rrggbb in a sentence
	"set-opening":     {"set the {device} to {opening} percent"},
	"set-temperature": {"set the {device} to {temperature} degrees"},
	"set-white":       {"set the {device} to {kelvin} kelvin"},
	"spot-vacuum":     {"have the {device} spot clean"},
	"start-appliance": {"start the {device}"},
	"stop-opening":    {"stop the {device}"},
	"stop-vacuum":     {"stop the {device}"},
	"switch-off":      {"turn off the {device}"},
	"switch-on":       {"turn on the {device} for {for}", "turn on the {device}"},
	"take-photo":      {"take a photo with the {device}"},
	"toggle":          {"toggle the {device}"},
	"turn-left":       {"turn the {device} left for {for}"},
	"turn-right":      {"turn the {device} right for {for}"},
	"unlock":          {"unlock the {device}"},
	"vacuum-floor":    {"vacuum the {areas} with the {device}", "start the {device}"},
	"vacuum-status":   {"check the {device}"},
	"warmer-white":    {"make the {device} warmer"},
	"watch-appliance": {"tell me when the {device} is done"},
}

// needsSentence has the capabilities that say nothing without a sentence: what to look for, or what
// to wait for. They are no verbs.
var needsSentence = map[string]bool{"check-visual": true, "watch-sensor": true, "wait": true, "repeat": true}

// alsoNeeded has the arguments that a verb needs, and that its words do not contain.
var alsoNeeded = map[string]string{"set-colour": "colour"}

// arguments returns the names of the {arguments} of a phrase, without the device.
func arguments(phrase string) (names []string) {
	for _, part := range strings.Split(phrase, "{")[1:] {
		if name, _, _ := strings.Cut(part, "}"); name != "device" {
			names = append(names, name)
		}
	}
	return names
}

// wording returns the words of a request. args has the words for its arguments.
func wording(verb, device string, args map[string]string) string {
	for _, phrase := range phrases[verb] {
		if slices.ContainsFunc(arguments(phrase), func(name string) bool { return args[name] == "" }) {
			continue
		}
		pairs := []string{"{device}", device}
		for name, text := range args {
			pairs = append(pairs, "{"+name+"}", text)
		}
		return strings.NewReplacer(pairs...).Replace(phrase)
	}
	return verb + " " + device
}

// The types of parameters.
const (
	numberType   = "number"
	textType     = "text"
	durationType = "duration"
	listType     = "list"
)

// verbOf returns a verb of a device, with the parameters of its registration and those that only
// its words have.
func verbOf(d *Device, id string, meta mess.Object) Verb {
	v := Verb{Verb: id, Effect: meta.Text("effect"), Parameters: map[string]Parameter{}}
	registered, _ := meta.Get("parameters")
	if list, _ := registered.(mess.Object); v.Effect != "query" {
		for _, f := range list {
			about, _ := f.Value.(mess.Object)
			v.Parameters[f.Key] = parameterOf(about)
		}
	}
	list := phrases[id]
	for i, phrase := range list {
		for _, name := range arguments(phrase) {
			p, known := v.Parameters[name]
			if !known {
				p = wordParameter(d, name, meta)
			}
			p.Needed = i == len(list)-1
			v.Parameters[name] = p
		}
	}
	if p, ok := v.Parameters[alsoNeeded[id]]; ok {
		p.Needed = true
		v.Parameters[alsoNeeded[id]] = p
	}
	return v
}

func parameterOf(about mess.Object) Parameter {
	p := Parameter{Type: about.Text("type"), Unit: about.Text("unit"), Min: number(about, "min"), Max: number(about, "max"), Values: about.Texts("values")}
	if p.Type == "" && (p.Min != nil || p.Max != nil) {
		p.Type = numberType
	}
	p.Type = cmp.Or(p.Type, textType)
	return p
}

// wordParameter describes an argument that the registration of a capability does not list.
func wordParameter(d *Device, name string, meta mess.Object) Parameter {
	switch name {
	case forKey:
		return Parameter{Type: durationType}
	case areasKey:
		if d.Places != nil {
			return Parameter{Type: listType, Values: d.Places}
		}
		return Parameter{Type: listType, Values: meta.Texts("areas")}
	case fileKey:
		return Parameter{Type: textType, Values: d.Places}
	case "quantity":
		return Parameter{Type: textType}
	}
	return Parameter{Type: numberType}
}
