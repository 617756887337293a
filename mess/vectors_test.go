package mess_test

import (
	"fmt"
	"maps"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/messkit/messkit/mess"
)

// vector is an example of the specification, completed to messages.
type vector struct {
	name   string
	text   string
	schema bool
}

// vectors returns the examples of both documents. An example with several wraps gives one
// vector each; placeholders in schemas get values.
func vectors(t *testing.T) []vector {
	t.Helper()
	var all []vector
	for _, version := range []string{"1.0", "1.1"} {
		files := readAll(t, filepath.Join("testdata", "vectors", version))
		for _, name := range slices.Sorted(maps.Keys(files)) {
			if strings.HasSuffix(name, ".yaml") {
				all = append(all, wrapped(t, version+"/"+name, files[name])...)
			}
		}
	}
	if len(all) < 70 {
		t.Fatalf("only %d vectors found", len(all))
	}
	return all
}

var wrapMark = regexp.MustCompile(`(?m)^# wrap: (.*)$`)

func wrapped(t *testing.T, name, text string) []vector {
	t.Helper()
	v := vector{name: name, schema: strings.Contains(text, "\n# schema\n")}
	if v.schema {
		text = filled(t, name, text)
	}
	var mark string
	if m := wrapMark.FindStringSubmatch(text); m != nil {
		mark = m[1]
	}
	switch mark {
	case "":
		v.text = text
	case "request":
		v.text = inside("MESS:\n  - request:\n      intent: look\n", 6, text)
	case "response":
		v.text = inside("MESS:\n  - response:\n      re: last\n", 6, text)
	case "status":
		v.text = inside("MESS:\n  - status:\n      re: last\n      code: waiting\n", 6, text)
	case "executor":
		v.text = inside("MESS:\n  - config:\n      executor:\n        id: roomba\n", 8, text)
	case "entry":
		v.text = inside("MESS:\n  - response:\n      re: last\n      content:\n        -\n", 10, text)
	case "structured":
		v.text = inside("MESS:\n  - response:\n      re: last\n      content:\n        - structured:\n", 12, text)
	case "context and content":
		return append(wrapped(t, name+" in context", strings.Replace(text, "# wrap: "+mark, "# wrap: request", 1)),
			wrapped(t, name+" in content", strings.NewReplacer("# wrap: "+mark, "# wrap: response", "\ncontext:", "\ncontent:").Replace(text))...)
	default:
		t.Fatalf("%s: wrap %q is not known", name, mark)
	}
	return []vector{v}
}

// inside adds head before every non-empty document of text.
func inside(head string, indent int, text string) string {
	var docs []string
	for doc := range strings.SplitSeq(text, "\n---\n") {
		if !regexp.MustCompile(`(?m)^[^#\s]`).MatchString(doc) {
			continue
		}
		doc = strings.ReplaceAll(doc, "\n", "\n"+strings.Repeat(" ", indent))
		docs = append(docs, head+strings.Repeat(" ", indent)+doc)
	}
	return strings.Join(docs, "\n---\n")
}

// fillings maps the placeholders of schemas to values.
var fillings = map[string]string{
	"string": "some words", "integer": "3", "boolean": "true", "true | false": "false",
	"datetime": "2026-01-31T16:45:00-08:00", "duration": "2h15m", "datetime | duration": "PT2H", "cron": `"0 8-22 * * *"`,
	"[string]": "[daylight, indoor]", "[id]": "[other-request]", "[request-ids]": "[deliver-onions, dice-onions]",
	"[references]": "[get-onions, get-garlic]", "[codes]": "[claimed, in_progress]",
	"string | { lat, lng, radius_km }":                 "{ lat: 37.9, lng: -122.7, radius_km: 2.5 }",
	"{ level, variants?, constraint? }":                "{ level: expert, variants: [fdm], constraint: indoor }",
	"{ capability?, urgency?, precision? }":            "{ capability: take-photo, urgency: soon, precision: exact }",
	"[executor-id] | lower_latency | higher_precision": "[kitchen-robot, roomba]",
	"<reference>": "dinner-check", "<client-id or \"last\">": "last", "<status_code>": "claimed", "<details>": "{ executor: roomba }",
	"<value>": "both", "<spec>": "list the proteins", "<metadata>": "{ level: expert }",
	"<capability-id>": "take-photo", "<capability>": "take-photo", "<entry>": "some text", "<field>": "location",
	"<payload>": "intent: look",
}

var (
	schemaLine = regexp.MustCompile(`^( *(?:- )?)(?:([A-Za-z_<>-]+):)?( *)([^#]*?)( +#.*)?$`)
	choice     = regexp.MustCompile(`^(\w+)(?: \| \w+)+$`)
)

// filled replaces the placeholders of a schema.
func filled(t *testing.T, name, text string) string {
	t.Helper()
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		m := schemaLine.FindStringSubmatch(line)
		if m == nil || strings.HasPrefix(strings.TrimSpace(line), "#") {
			continue
		}
		lead, key, value := m[1], m[2], m[4]
		switch {
		case value == "", key == "id", key == "ref" && jsonlike(value), key == "v":
		case line == "        - <type>":
			value = "image"
		case fillings[value] != "":
			value = fillings[value]
		case choice.MatchString(value):
			value = choice.FindStringSubmatch(value)[1]
		default:
			t.Errorf("%s: nothing to fill in for %q", name, line)
		}
		if value == "string" {
			value = "some-id"
		}
		if key == "note" && slices.Contains(lines[:i], lead+"note: "+value) {
			lines[i] = "# an alternative: " + line // 1.0 section 4.3 has a note for each type
			continue
		}
		if key == "<type>" {
			if key = "request"; strings.HasPrefix(value, "list") {
				key = "text"
			}
		} else if strings.HasPrefix(key, "<") {
			key = fillings[key]
		}
		if key != "" {
			key += ":"
		}
		lines[i] = lead + key + m[3] + value + m[5]
	}
	return strings.Join(lines, "\n")
}

// jsonlike reports whether an example already has a value.
func jsonlike(value string) bool { return strings.HasPrefix(value, "2026-") }

func parseAll(t *testing.T, text string) []mess.Message {
	t.Helper()
	all, err := mess.ParseAll([]byte(text))
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	return all
}

func TestEveryExampleIsValid(t *testing.T) {
	for _, v := range vectors(t) {
		t.Run(v.name, func(t *testing.T) {
			for _, m := range parseAll(t, v.text) {
				if err := m.Validate(); err != nil {
					t.Errorf("%v\n%s", err, v.text)
				}
			}
		})
	}
}

// The package knows all fields of the specification: none of them is in Extra.
func TestEveryFieldOfSpecificationIsKnown(t *testing.T) {
	for _, v := range vectors(t) {
		t.Run(v.name, func(t *testing.T) {
			for i, m := range parseAll(t, v.text) {
				unknown(t, fmt.Sprintf("document %d", i), reflect.ValueOf(m))
			}
		})
	}
}

// unknown reports every field in an Extra, and every Other item.
func unknown(t *testing.T, path string, v reflect.Value) {
	t.Helper()
	if o, ok := v.Interface().(*mess.Other); ok {
		t.Errorf("%s: an item of the type %q", path, o.Type)
	}
	switch v.Kind() {
	case reflect.Pointer, reflect.Interface:
		if !v.IsNil() {
			unknown(t, path, v.Elem())
		}
	case reflect.Slice:
		for i := range v.Len() {
			unknown(t, fmt.Sprintf("%s[%d]", path, i), v.Index(i))
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if name := v.Type().Field(i).Name; name == "Extra" && v.Field(i).Len() > 0 {
				t.Errorf("%s has unknown fields: %v", path, v.Field(i))
			} else if name != "Extra" {
				unknown(t, path+"."+name, v.Field(i))
			}
		}
	}
}
