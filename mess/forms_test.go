package mess_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/messkit/messkit/mess"
)

// All forms of a message are equivalent (MESS 1.0 section 1).
func TestFormsOfMessageAreEquivalent(t *testing.T) {
	want := mess.Message{Items: []mess.Item{&mess.Request{Intent: "look"}}}
	versioned := want
	versioned.Version = "1.0.0"
	for _, c := range []struct {
		name, text string
		want       mess.Message
	}{
		{"list in MESS", "MESS:\n  - request:\n      intent: look\n", want},
		{"bare list", "- request:\n    intent: look\n", want},
		{"single item", "request:\n  intent: look\n", want},
		{"mapping in MESS", "MESS:\n  request:\n    intent: look\n", want},
		{"flow", "{MESS: [{request: {intent: look}}]}", want},
		{"JSON object", `{"MESS": [{"request": {"intent": "look"}}]}`, want},
		{"JSON list", `[{"request": {"intent": "look"}}]`, want},
		{"JSON item", ` {"request": {"intent": "look"}} `, want},
		{"version first", "- v: 1.0.0\n- request: {intent: look}\n", versioned},
		{"version last", "- request: {intent: look}\n- v: 1.0.0\n", versioned},
		{"version in JSON", `[{"v": "1.0.0"}, {"request": {"intent": "look"}}]`, versioned},
		{"document marks", "%YAML 1.1\n---\nMESS:\n  - request: {intent: look}\n...\n", want},
		{"comments", "# a\n\nMESS: # b\n  # c\n  - request: # d\n      intent: look # e\n", want},
		{"byte order mark", "\ufeffMESS:\n  - request:\n      intent: look\n", want},
		{"byte order mark in JSON", "\ufeff" + `[{"request": {"intent": "look"}}]`, want},
		{"CRLF", "MESS:\r\n  - request:\r\n      intent: look\r\n", want},
		{"quoted", "\"MESS\":\n  - 'request':\n      \"intent\": 'look'\n", want},
	} {
		t.Run(c.name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, parse(t, []byte(c.text)), cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("-want +got\n%s", diff)
			}
		})
	}
}

func TestFieldsBesideTheList(t *testing.T) {
	got := parse(t, []byte("id: m1\nref: a/claim-001\nfrom: roomba\nreceived: 2026-02-01T17:00:00-08:00\nchannel: mqtt\nre: [a, b]\n"+
		"expires_in: PT45M\nepoch: 7\nMESS:\n  - v: 1.1.0\n  - cancel: {reason: over}\nlater: {x: [1]}\n"))
	want := mess.Message{
		ID: "m1", Ref: "a/claim-001", From: "roomba", Received: "2026-02-01T17:00:00-08:00", Channel: "mqtt", Re: mess.Refs{"a", "b"},
		ExpiresIn: "PT45M", Epoch: 7, Version: "1.1.0", Items: []mess.Item{&mess.Cancel{Reason: "over"}},
		Extra: mess.Object{{Key: "later", Value: mess.Object{{Key: "x", Value: []any{mess.Number("1")}}}}},
	}
	if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
	roundTrip(t, "re: [a, b]\nepoch: 18446744073709551615\nexpires_in: 45m\nMESS:\n  - cancel: {reason: over}\nlater: {x: [1]}\n")
}

// Several items of one type remain separate and in order.
func TestItemsKeepTheirOrder(t *testing.T) {
	m := parse(t, []byte("- cancel: {re: a}\n- request: {intent: one}\n- review: {stars: 5}\n- request: {intent: two}\n- cancel: {re: b}\n"))
	var got []string
	for _, item := range m.Items {
		got = append(got, string(item.Kind()))
	}
	if want := "cancel request review request cancel"; strings.Join(got, " ") != want {
		t.Errorf("got %v, want %s", got, want)
	}
}

func TestParseAll(t *testing.T) {
	all := parseAll(t, "# a thread\nMESS:\n  - request: {intent: one}\n---\n# nothing here\n---\n- cancel: {re: last}\n...\n---\nquery: {type: status}\n")
	var kinds []string
	for _, m := range all {
		kinds = append(kinds, fmt.Sprintf("%d %s", len(m.Items), m.Items[0].Kind()))
	}
	if diff := cmp.Diff([]string{"1 request", "1 cancel", "1 query"}, kinds); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
	if m, err := mess.Parse([]byte("- cancel: {re: a}\n---\n- cancel: {re: b}\n")); err == nil || !cmp.Equal(m, mess.Message{}) {
		t.Errorf("Parse takes two messages for one: %v, %v", m, err)
	}
}

// A problem in one document is an error for all, because a thread is complete or invalid.
func TestParseAllIsWholeOrNothing(t *testing.T) {
	all, err := mess.ParseAll([]byte("- cancel: {re: a}\n---\n- cancel: {re: {}}\n"))
	if err == nil || all != nil {
		t.Errorf("got %v, %v", all, err)
	} else if !strings.HasPrefix(err.Error(), "line 3: [0].cancel.re") {
		t.Errorf("the error does not name the place: %v", err)
	}
}

func TestRefs(t *testing.T) {
	for text, want := range map[string]mess.Refs{
		"re: last": {"last"}, "re: [a]": {"a"}, "re: [a, b]": {"a", "b"}, "re:\n- a\n- shop:2026-01-31:042": {"a", "shop:2026-01-31:042"},
		"re: 42": {"42"}, "re: [1, 2.50]": {"1", "2.50"}, "re: 2026-01-31": {"2026-01-31"}, "re: 007": {"007"}, "re: 'null'": {"null"}, "re: yes": {"yes"},
		"re: null": nil, "re: []": {},
	} {
		m := parse(t, []byte("cancel:\n  "+strings.ReplaceAll(text, "\n", "\n  ")))
		if diff := cmp.Diff(want, m.Items[0].(*mess.Cancel).Re); diff != "" {
			t.Errorf("%s: -want +got\n%s", text, diff)
		}
	}
	for _, text := range []string{"re: {a: b}", "re: [[a]]", "re: [{a: b}]", "re: true", "re: [a, false]"} {
		if m, err := mess.Parse([]byte("cancel:\n  " + text)); err == nil || !strings.Contains(err.Error(), "[0].cancel.re") {
			t.Errorf("%s: got %v, %v, want an error at [0].cancel.re", text, m, err)
		}
	}
}

// Short forms print as short forms, long forms as long forms.
func TestShortFormsStayShort(t *testing.T) {
	for _, item := range []string{
		`{"cancel":{"re":"last"}}`,
		`{"cancel":{"re":["a","b"]}}`,
		`{"request":{"intent":"x","requires":["take-photo",{"vacuum-floor":{"areas":["kitchen"]}},{"odd":[]},{"odd":"x"}]}}`,
		`{"request":{"intent":"x","constraints":{"location":"near home"}}}`,
		`{"request":{"intent":"x","constraints":{"location":{"lat":37.7749,"lng":-122.4194,"radius_km":2.5}}}}`,
		`{"request":{"intent":"x","constraints":{"timing":{"expires":"2h15m"},"depends_on":["a"]}}}`,
		`{"request":{"intent":"x","response_hint":["image",{"text":"list proteins"},{"image":{"min":2}}]}}`,
		`{"status":{"re":"a","code":"failed","reason":"no way"}}`,
		`{"status":{"re":"a","code":"failed","reason":{"type":"x","detail":"no way"}}}`,
		`{"status":{"re":"a","code":"waiting","waiting_for":{"type":"dependency","ref":["b"]}}}`,
		`{"response":{"re":"a","content":["text",{"text":"text"},{"confirmation":true},{"confirmation":{"confirmed":false,"details":"no"}},{"file":"file://a"},{"file":{"uri":"file://a"}}]}}`,
		`{"config":{"routing":{"rules":[{"match":{"urgency":"now"},"prefer":["roomba"]}]}}}`,
		`{"suggestion":{"type":"merge","re":["a"],"proposed":{"executor":"x"}}}`,
	} {
		text := `{"MESS":[` + item + `]}`
		js, err := parse(t, []byte(text)).JSON()
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(judgeJSON(t, []byte(text)), judgeJSON(t, js)); diff != "" {
			t.Errorf("%s: -want +got\n%s", item, diff)
		}
		roundTrip(t, text)
	}
}

// Keys of untyped values keep their order, and numbers their digits.
func TestOrderAndDigitsAreKept(t *testing.T) {
	const text = `{"MESS":[{"response":{"re":"a","content":[{"structured":{"z":1.50,"a":1e3,"m":{"y":-0,"b":123456789012345678901234567890,"x":0.10}}}]}}],"zz":1,"aa":2}`
	js, err := parse(t, []byte(text)).JSON()
	if err != nil || string(js) != text {
		t.Errorf("got  %s, %v\nwant %s", js, err, text)
	}
	y, err := parse(t, js).YAML()
	if err != nil {
		t.Fatal(err)
	}
	if js, err = parse(t, y).JSON(); err != nil || string(js) != text {
		t.Errorf("got  %s, %v\nwant %s", js, err, text)
	}
}

// Text that resembles a number, a date or a truth value remains text, also for YAML 1.1
// readers.
func TestTextStaysText(t *testing.T) {
	for _, s := range []string{
		"no", "Yes", "on", "null", "~", "", " ", "true", "12:30", "0x1F", "007", "1_000", ".inf", ".NaN", "1e3", "2026-01-31", "2026-01-31T16:45:00-08:00",
		"- a", "a: b", "# a", "a #b", "*a", "&a", "!a", "%a", "@a", "`a", "[a", "{a", "'a", "\"a", "|", ">", "<<", "=", "---", "...", "a\tb", "\ta", "a\n", "\na",
		"a\n\nb\n\n", " a\n b", "a \nb", "é漢🤖", "\u2028", "\u0085", "\ufeff", "\u00a0", "\x7f", "\x1b[0m", "\r\n", "a\rb", "\\", "\\n", "</script>",
	} {
		m := mess.Message{Items: []mess.Item{&mess.Response{Re: mess.Refs{"a"}, Notes: s, Content: []mess.Entry{
			mess.TextEntry(s), mess.ObjectEntry("structured", mess.Object{{Key: s, Value: s}}),
		}}}}
		y, err := m.YAML()
		if err != nil {
			t.Errorf("%q: %v", s, err)
			continue
		}
		r := parse(t, y).Items[0].(*mess.Response)
		if diff := cmp.Diff(m.Items[0], mess.Item(r)); diff != "" {
			t.Errorf("%q: -want +got\n%s\n%s", s, diff, y)
		}
		content := asMap(asMap(asMap(judgeYAML(t, y)[0])["MESS"].([]any)[0])["response"])["content"].([]any)
		if diff := cmp.Diff([]any{s, map[string]any{"structured": map[string]any{s: s}}}, content); diff != "" {
			t.Errorf("%q: the judge reads: -want +got\n%s\n%s", s, diff, y)
		}
	}
}

// encoding/json supports all standalone types.
func TestEncodingJSON(t *testing.T) {
	for _, c := range []struct {
		into any
		text string
	}{
		{new(mess.Message), `{"MESS":[{"request":{"intent":"look"}}]}`},
		{new(mess.Request), `{"intent":"look","requires":["a"]}`},
		{new(mess.Reply), `{"re":"a","confirm":false}`},
		{new(mess.Answer), `{"re":"a","value":[1]}`},
		{new(mess.Cancel), `{"re":["a","b"]}`},
		{new(mess.Ack), `{"re":"a","ref":"b"}`},
		{new(mess.Query), `{"type":"status"}`},
		{new(mess.Config), `{"executor":{"id":"a"}}`},
		{new(mess.Status), `{"re":"a","code":"in_progress","progress_pct":35}`},
		{new(mess.Response), `{"re":"a","content":["x"]}`},
		{new(mess.Suggestion), `{"id":"a","type":"defer"}`},
		{new(mess.Executor), `{"id":"a","capabilities":["b",{"c":{"d":1}}],"odd":[]}`},
		{new(mess.Object), `{"b":1,"a":{"d":2,"c":null}}`},
		{new(mess.Entry), `{"image":"https://a"}`},
		{new(mess.Entry), `"text"`},
		{new(mess.Capability), `{"fabricator":{"variant":"fdm"}}`},
		{new(mess.Refs), `["a","b"]`},
		{new(mess.Refs), `"a"`},
		{new(mess.ResponseHint), `{"text":"list"}`},
		{new(mess.TargetArea), `"home"`},
		{new(mess.Reason), `"because"`},
		{new(mess.Media), `{"uri":"https://a","size":0}`},
		{new(mess.Location), `{"lat":0,"name":"x"}`},
		{new(mess.Constraints), `{"environment":["indoor"]}`},
		{new(mess.Routing), `{"rules":[{"match":{},"prefer":["a"]}]}`},
		{new(mess.Compensation), `{"shells":0}`},
	} {
		if err := json.Unmarshal([]byte(c.text), c.into); err != nil {
			t.Errorf("%T: %v", c.into, err)
			continue
		}
		if got, err := json.Marshal(c.into); string(got) != c.text || err != nil {
			t.Errorf("%T: got %s, %v, want %s", c.into, got, err, c.text)
		}
		if _, any := c.into.(*mess.Entry); any {
			continue // content of any structure remains
		}
		if err := json.Unmarshal([]byte(`[[]]`), c.into); err == nil {
			t.Errorf("%T takes a list of lists", c.into)
		}
	}
}

func TestJSONIsOneLine(t *testing.T) {
	for _, v := range vectors(t) {
		for _, m := range parseAll(t, v.text) {
			if js, err := m.JSON(); err != nil || strings.ContainsAny(string(js), "\n\r") {
				t.Errorf("%s: %q, %v", v.name, js, err)
			}
		}
	}
}

// A single word in prefer is lower_latency or higher_precision, a list contains executors
// (MESS 1.0 section 7.4).
func TestPreferIsTextOrList(t *testing.T) {
	const text = `{"MESS":[{"config":{"routing":{"rules":[{"match":{},"prefer":"lower_latency"},{"match":{},"prefer":["roomba"]}]}}}]}`
	if got := printed(t, parse(t, []byte(text))); got != text {
		t.Errorf("got %s, want %s", got, text)
	}
}

// A value that was stored as found reads back the same.
func TestStoredInvalidMessagesReadBack(t *testing.T) {
	for _, text := range []string{
		`{"from":"a","MESS":[{"status":[1]}]}`,
		`{"from":"a","MESS":[{"request":"int"},{"cancel":7},{"x":{"y":1}}]}`,
	} {
		var m mess.Message
		if err := json.Unmarshal([]byte(text), &m); err != nil {
			t.Errorf("%s: %v", text, err)
		}
		if again, err := json.Marshal(m); err != nil || string(again) != text {
			t.Errorf("%s becomes %s, %v", text, again, err)
		}
	}
}
