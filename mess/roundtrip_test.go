package mess_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/messkit/messkit/mess"
)

func TestExamplesRoundTrip(t *testing.T) {
	for _, v := range vectors(t) {
		t.Run(v.name, func(t *testing.T) { roundTrip(t, v.text) })
	}
}

// roundTrip converts a text to JSON and back to YAML, and compares each result with the
// original by the reference decoder.
func roundTrip(t *testing.T, text string) {
	t.Helper()
	want := judgeYAML(t, []byte(text))
	all := parseAll(t, text)
	if len(all) != len(want) {
		t.Fatalf("%d messages of %d documents", len(all), len(want))
	}
	for i, m := range all {
		want := settled(want[i])
		js, err := m.JSON()
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(withVersionFirst(want), judgeJSON(t, js)); diff != "" {
			t.Errorf("JSON differs (-text +JSON):\n%s", diff)
		}
		fromJSON := parse(t, js)
		y, err := fromJSON.YAML()
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff([]any{withVersionFirst(want)}, judgeYAML(t, y)); diff != "" {
			t.Errorf("YAML differs (-text +YAML):\n%s", diff)
		}
		for _, again := range []mess.Message{fromJSON, parse(t, y)} {
			if diff := cmp.Diff(m, again, cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("the message differs (-first +again):\n%s", diff)
			}
		}
	}
}

func parse(t *testing.T, data []byte) mess.Message {
	t.Helper()
	m, err := mess.Parse(data)
	if err != nil {
		t.Fatalf("%v\n%s", err, data)
	}
	return m
}

// withVersionFirst moves the list's v: entry to the front, as the printer does.
func withVersionFirst(doc any) any {
	list, _ := asMap(doc)["MESS"].([]any)
	var version, rest []any
	for _, item := range list {
		if _, ok := asMap(item)["v"]; ok {
			version = append(version, item)
		} else {
			rest = append(rest, item)
		}
	}
	if version != nil {
		asMap(doc)["MESS"] = append(version, rest...)
	}
	return doc
}
