package home

import (
	"slices"
	"strings"

	"github.com/messkit/messkit/exchange"
	"github.com/messkit/messkit/mess"
)

// Asked is what a request for a verb of a device asks for, in the form of the phrases of a plan: a
// code with values, from which a page makes words in its language.
type Asked struct {
	Code   string      `json:"code"`             // the verb
	Device string      `json:"device"`           // the name of the device, as the request has it
	Values mess.Object `json:"values,omitempty"` // the arguments
	For    float64     `json:"for,omitempty"`    // seconds; 0 for until another order
}

// AskedOf returns what a request asks for if it has the words and the requirements that Order makes,
// else nil: its words are then those of a person or of a program.
func AskedOf(e *exchange.Envelope) *Asked {
	if len(e.Needs.Requires) != 1 {
		return nil
	}
	c := e.Needs.Requires[0]
	meta, _ := c.Meta.(mess.Object)
	if len(meta.Texts("devices")) != 1 || meta.Text("executor") == "" {
		return nil
	}
	a := &Asked{Code: c.ID}
	words := map[string]string{}
	for _, f := range meta {
		switch f.Key {
		case "devices", "executor":
		case forKey:
			d, err := mess.Duration(meta.Text(forKey)).Duration()
			if err != nil {
				return nil
			}
			a.For = d.Seconds()
			_, words[forKey], _ = durationArgument(forKey, f.Value) // Order has made it of such a duration
		default:
			a.Values = append(a.Values, f)
			words[f.Key] = argumentWords(f.Value)
		}
	}
	for _, phrase := range phrases[c.ID] {
		if device, file, ok := splitWords(e.Intent, phrase, words); ok {
			if a.Device = device; file != "" {
				a.Values = a.Values.Set(fileKey, file)
			}
			return a
		}
	}
	return nil
}

// argumentWords returns the words that Order makes of an argument.
func argumentWords(value any) string {
	switch v := value.(type) {
	case string:
		return v
	case mess.Number:
		return v.String()
	case []any:
		list := make([]string, len(v))
		for i, one := range v {
			list[i], _ = one.(string)
		}
		return strings.Join(list, " and ")
	}
	return ""
}

// splitWords returns the name of the device and the file in the words of a request, if a phrase with
// these arguments has made them.
func splitWords(intent, phrase string, words map[string]string) (device, file string, ok bool) {
	names := arguments(phrase)
	if slices.ContainsFunc(names, func(name string) bool { return name != fileKey && words[name] == "" }) {
		return "", "", false
	}
	for _, name := range names {
		if name != fileKey {
			phrase = strings.ReplaceAll(phrase, "{"+name+"}", words[name])
		}
	}
	before, after, _ := strings.Cut(phrase, "{device}")
	rest, fits := strings.CutSuffix(intent, after)
	if prefix, between, has := strings.Cut(before, "{"+fileKey+"}"); has {
		if rest, ok = strings.CutPrefix(rest, prefix); !ok {
			return "", "", false
		}
		i := strings.LastIndex(rest, between)
		if !fits || i <= 0 {
			return "", "", false
		}
		return rest[i+len(between):], rest[:i], i+len(between) < len(rest)
	}
	device, ok = strings.CutPrefix(rest, before)
	return device, "", ok && fits && device != ""
}
