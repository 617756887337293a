package mess_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"regexp"
	"strings"
	"testing"

	"gopkg.in/yaml.v3"
)

// The reference decoder reads documents without the package under test: yaml.v3 and
// encoding/json into nil, bool, json.Number (as written), string, []any and map[string]any.
// Values that JSON cannot represent (dates, 0x1F, .inf) are text.

func judgeYAML(t *testing.T, data []byte) []any {
	t.Helper()
	var all []any
	for dec := yaml.NewDecoder(bytes.NewReader(data)); ; {
		var n yaml.Node
		if err := dec.Decode(&n); errors.Is(err, io.EOF) {
			return all
		} else if err != nil {
			t.Fatalf("the judge cannot read this YAML: %v\n%s", err, data)
		}
		if one := judged(n.Content[0]); one != nil {
			all = append(all, one)
		}
	}
}

var jsonNumber = regexp.MustCompile(`^-?(0|[1-9]\d*)(\.\d+)?([eE][+-]?\d+)?$`)

func judged(n *yaml.Node) any {
	switch n.Kind {
	case yaml.MappingNode:
		m := map[string]any{}
		for i := 0; i < len(n.Content); i += 2 {
			m[n.Content[i].Value] = judged(n.Content[i+1])
		}
		return m
	case yaml.SequenceNode:
		list := []any{}
		for _, c := range n.Content {
			list = append(list, judged(c))
		}
		return list
	}
	switch n.ShortTag() {
	case "!!null":
		return nil
	case "!!bool":
		return strings.EqualFold(n.Value, "true")
	case "!!int", "!!float":
		if jsonNumber.MatchString(n.Value) {
			return json.Number(n.Value)
		}
	}
	return n.Value
}

func judgeJSON(t *testing.T, data []byte) any {
	t.Helper()
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.UseNumber()
	var v any
	if err := dec.Decode(&v); err != nil {
		t.Fatalf("the judge cannot read this JSON: %v\n%s", err, data)
	}
	if dec.More() {
		t.Fatalf("more than one JSON text: %s", data)
	}
	return v
}

// settled returns a document as the package may print it, with the only allowed changes: a
// list with one reference at re: becomes that reference (MESS 1.0 section 1.3; a suggestion
// has a list, section 7.5), response_hints and codes with hyphens get the spelling of the
// documents, and the shorter forms of a message become a mapping with MESS:.
func settled(doc any) any {
	switch d := doc.(type) {
	case []any:
		return map[string]any{"MESS": settledItems(d)}
	case map[string]any:
		list, ok := d["MESS"].([]any)
		if !ok {
			return map[string]any{"MESS": settledItems([]any{d})}
		}
		m := map[string]any{}
		for k, v := range d {
			m[k] = v
		}
		m["MESS"] = settledItems(list)
		return m
	}
	return doc
}

func settledItems(list []any) []any {
	items := make([]any, len(list))
	for i, item := range list {
		items[i] = item
		for kind, payload := range asMap(item) {
			if p := asMap(payload); p != nil {
				items[i] = map[string]any{kind: settledPayload(kind, p)}
			}
		}
	}
	return items
}

func settledPayload(kind string, p map[string]any) map[string]any {
	m := map[string]any{}
	for k, v := range p {
		switch k {
		case "response_hints":
			k = "response_hint"
		case "code":
			v = strings.ReplaceAll(v.(string), "-", "_")
		case "re":
			if list, ok := v.([]any); ok && len(list) == 1 && kind != "suggestion" {
				v = list[0]
			}
		}
		m[k] = v
	}
	return m
}

func asMap(v any) map[string]any {
	m, _ := v.(map[string]any)
	return m
}
