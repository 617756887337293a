package httpapi_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
	"time"
)

// openAPI is the document, as JSON has it.
type openAPI struct{ doc map[string]any }

func readOpenAPI(t testing.TB) *openAPI {
	t.Helper()
	data, err := os.ReadFile("openapi.json")
	if err != nil {
		t.Fatal(err)
	}
	a := &openAPI{}
	if err := json.Unmarshal(data, &a.doc); err != nil {
		t.Fatal(err)
	}
	return a
}

// at follows keys into the document, and references where it finds them.
func (a *openAPI) at(from any, keys ...string) any {
	from = a.resolve(from)
	for _, k := range keys {
		m, _ := from.(map[string]any)
		from = a.resolve(m[k])
	}
	return from
}

func (a *openAPI) resolve(v any) any {
	m, _ := v.(map[string]any)
	to, ok := m["$ref"].(string)
	if !ok {
		return v
	}
	path, ok := strings.CutPrefix(to, "#/")
	if !ok {
		return nil
	}
	return a.at(a.doc, strings.Split(path, "/")...)
}

// keywords are those of JSON Schema that check knows; another one would be a
// check that never fails.
var keywords = []string{"type", "properties", "required", "items", "enum", "additionalProperties", "anyOf", "format", "minimum", "maximum", "description"}

// check validates a value against a schema, and returns the errors.
func (a *openAPI) check(schema, v any, where string) (wrong []string) {
	s, ok := a.resolve(schema).(map[string]any)
	if !ok {
		return []string{where + ": there is no schema"}
	}
	for k := range s {
		if !slices.Contains(keywords, k) {
			wrong = append(wrong, where+": the test does not know "+k)
		}
	}
	if choice, ok := s["anyOf"].([]any); ok {
		if !slices.ContainsFunc(choice, func(one any) bool { return len(a.check(one, v, where)) == 0 }) {
			wrong = append(wrong, fmt.Sprintf("%s: %v is none of those", where, v))
		}
		return wrong
	}
	if kinds := listOf(s["type"]); len(kinds) > 0 && !slices.Contains(kinds, kindOf(v)) && !(kindOf(v) == "integer" && slices.Contains(kinds, "number")) {
		return append(wrong, fmt.Sprintf("%s: is %s, not %v", where, kindOf(v), kinds))
	}
	if enum := listOf(s["enum"]); len(enum) > 0 && !slices.Contains(enum, fmt.Sprint(v)) {
		wrong = append(wrong, fmt.Sprintf("%s: %v is not one of %v", where, v, enum))
	}
	if text, ok := v.(string); ok && s["format"] == "date-time" {
		if _, err := time.Parse(time.RFC3339, text); err != nil {
			wrong = append(wrong, fmt.Sprintf("%s: %v", where, err))
		}
	}
	switch v := v.(type) {
	case []any:
		for i, one := range v {
			wrong = append(wrong, a.check(s["items"], one, fmt.Sprintf("%s[%d]", where, i))...)
		}
	case map[string]any:
		wrong = append(wrong, a.checkFields(s, v, where)...)
	}
	return wrong
}

func (a *openAPI) checkFields(s, v map[string]any, where string) (wrong []string) {
	for _, name := range listOf(s["required"]) {
		if _, ok := v[name]; !ok {
			wrong = append(wrong, where+"."+name+": is missing")
		}
	}
	known, _ := s["properties"].(map[string]any)
	for _, name := range slices.Sorted(maps.Keys(v)) {
		if one, ok := known[name]; ok {
			wrong = append(wrong, a.check(one, v[name], where+"."+name)...)
		} else if other, ok := s["additionalProperties"].(map[string]any); ok {
			wrong = append(wrong, a.check(other, v[name], where+"."+name)...)
		} else if s["additionalProperties"] != true {
			wrong = append(wrong, where+"."+name+": is not documented")
		}
	}
	return wrong
}

// listOf is one text, or a list of them.
func listOf(v any) (list []string) {
	if one, ok := v.(string); ok {
		return []string{one}
	}
	all, _ := v.([]any)
	for _, one := range all {
		list = append(list, fmt.Sprint(one))
	}
	return list
}

func kindOf(v any) string {
	switch v := v.(type) {
	case nil:
		return "null"
	case string:
		return "string"
	case bool:
		return "boolean"
	case float64:
		if v == float64(int64(v)) {
			return "integer"
		}
		return "number"
	case []any:
		return "array"
	}
	return "object"
}

// The checker finds each kind of difference.
func TestSchemas(t *testing.T) {
	a := &openAPI{map[string]any{"x": map[string]any{"type": "string"}}}
	for _, c := range []struct {
		schema, value string
		wrong         int
	}{
		{`{"type":"string"}`, `"a"`, 0},
		{`{"type":"string"}`, `1`, 1},
		{`{"type":["string","null"]}`, `null`, 0},
		{`{"type":"integer"}`, `1.5`, 1},
		{`{"$ref":"#/x"}`, `1`, 1},
		{`{"$ref":"#/y"}`, `1`, 1},
		{`{"type":"object","required":["a"],"properties":{"a":{"type":"string"}}}`, `{}`, 1},
		{`{"type":"object","properties":{"a":{"type":"string"}}}`, `{"a":1,"b":2}`, 2},
		{`{"type":"object","additionalProperties":true}`, `{"b":2}`, 0},
		{`{"type":"object","additionalProperties":{"type":"string"}}`, `{"a":"x","b":2}`, 1},
		{`{"type":"array","items":{"type":"string"}}`, `["a",1,2]`, 2},
		{`{"enum":["a"]}`, `"b"`, 1},
		{`{"anyOf":[{"type":"string"},{"type":"array","items":{"type":"string"}}]}`, `["a"]`, 0},
		{`{"anyOf":[{"type":"string"},{"type":"array","items":{"type":"string"}}]}`, `[1]`, 1},
		{`{"type":"string","format":"date-time"}`, `"yesterday"`, 1},
		{`{"pattern":"x"}`, `"y"`, 1},
	} {
		var s, v any
		if json.Unmarshal([]byte(c.schema), &s) != nil || json.Unmarshal([]byte(c.value), &v) != nil {
			t.Fatal(c)
		}
		if wrong := a.check(s, v, ""); len(wrong) != c.wrong {
			t.Errorf("%s against %s: %q, want %d", c.value, c.schema, wrong, c.wrong)
		}
	}
}
