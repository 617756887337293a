package httpapi_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/messkit/messkit/exchange"
	"github.com/messkit/messkit/exchange/channel/httpapi"
)

// The kinds of JSON values.
const (
	text = 1 << iota
	number
	truth
	list
	mapping
	excess   // of any kind, and more than a message may have
	anything = text | number | truth | list | mapping
)

// values has the test values for each field, with their kinds. Null means that the field is
// missing.
var values = []struct {
	json string
	kind int
}{
	{`null`, anything},
	{`true`, truth},
	{`false`, truth},
	{`5`, number},
	{`-1.5e300`, number},
	{`0`, number},
	{`"x"`, text},
	{`""`, text},
	{`" "`, text},
	{`"\u0000"`, 0},
	{`"\ud800"`, 0},
	{"\"\xff\"", 0},
	{`"` + strings.Repeat("long ", 4000) + `"`, text},
	{`"` + strings.Repeat("x", 70_000) + `"`, excess},
	{`[]`, list},
	{`[5]`, list},
	{`[[]]`, list},
	{`[null]`, list},
	{`["x"]`, list},
	{`{}`, mapping},
	{`{"a":1}`, mapping},
	{`{"a":{"b":[1,{}]}}`, mapping},
	{`[{"a":{"b":[1,{}]}}]`, list},
	{strings.Repeat("[", 40) + strings.Repeat("]", 40), excess},
}

// bodyCase is the body of a request: VALUE stands for the value of the field.
type bodyCase struct {
	method, path string
	by           string // the actor with the key
	fields       []field
}

type field struct {
	name  string
	kinds int
	in    string // the body; "": {REST, "name": VALUE}
}

// bodies are those of the contract's matrix and of our additions to it.
func bodies() []bodyCase {
	request := func(name string, kinds int) field {
		return field{name: name, kinds: kinds, in: `{"intent":"look",` + nest(name) + `}`}
	}
	said := func(name string, kinds int, more string) field {
		return field{name: name, kinds: kinds, in: `{"mess":[{` + nest(name) + more + `}]}`}
	}
	profile := func(rest string) (list []field) {
		for name, kinds := range profileFields {
			list = append(list, field{name: name, kinds: kinds, in: `{` + rest + nest(name) + `}`})
		}
		return list
	}
	rules := []field{
		{name: "intent", kinds: text, in: `{"intent":VALUE}`},
		{name: "x_own", kinds: anything, in: `{"intent":"look","x_own":VALUE}`},
		request("id", text), request("precision", text), request("priority", text), request("needed_by", text), request("confirm_before", truth),
		request("context", text|list|mapping|excess), request("requires", text|list|mapping), request("response_hint", text|list|mapping), request("response_hints", text|list|mapping),
		request("constraints", mapping), request("constraints.location", text|mapping), request("constraints.location.lat", number), request("constraints.location.radius_km", number),
		request("constraints.timing", mapping), request("constraints.timing.not_before", text), request("constraints.timing.expires", text), request("constraints.timing.urgency", text),
		request("constraints.environment", text|list), request("constraints.depends_on", text|list),
		request("compensation", mapping), request("compensation.shells", number), request("compensation.note", text),
		// fields that MESS knows elsewhere restrict nothing here
		request("not_before", 0), request("expires", 0), request("depends_on", 0), request("timing", 0), request("confirm_by", 0), request("confirm", 0),
		request("constraints.not_before", 0), request("constraints.expires", 0), request("constraints.confirm_before", 0), request("constraints.timing.depends_on", 0),
	}
	media := func(name string, kinds int) field {
		return field{name: name, kinds: kinds, in: `{"intent":"look","context":[{"image":{"` + name + `":VALUE,"uri":"https://example.com/a.png"}}]}`}
	}
	rules = append(rules, media("mime", text), media("name", text), media("size", number), media("sha256", text), media("file", text))
	return []bodyCase{
		{"POST", "/requests", "op", rules},
		{"PATCH", "/requests/REF", "phone", []field{
			{name: "status", kinds: text},
			{name: "message", kinds: text, in: `{"status":"claimed","message":VALUE}`},
			{name: "message", kinds: text, in: `{"message":VALUE}`},
			{name: "mess", kinds: list | mapping},
			said("status", mapping, ``), said("status.code", text, ``), said("status.code", text, `,"response":{"content":["x"]}`),
		}},
		{"PATCH", "/requests/MINE", "phone", []field{
			{name: "message", kinds: text, in: `{"status":"in_progress","message":VALUE}`},
			said("status.executor", text, ``), claimed("message", text), claimed("estimate", text), claimed("eta", text), claimed("progress_pct", number), claimed("epoch", number),
			claimed("instance", text), claimed("action_hash", text), claimed("evidence", text), claimed("re", text|list), claimed("partial", anything),
			questioned("questions", list|mapping), questioned("questions.field", text), questioned("questions.question", text), questioned("questions.options", text|list),
			wanted("action", text), wanted("consequences", text), wanted("reversible", truth), wanted("confirm_by", text),
			said("response", mapping, ``), said("response.content", text|list|mapping|excess, ``), said("response.notes", text, ``), said("response.completed_at", text, ``),
		}},
		{"PATCH", "/requests/MINE", "op", []field{
			said("cancel", mapping, ``), said("cancel.reason", text, ``), said("reply", mapping, ``), said("reply.confirm", truth, ``), said("reply.answers", mapping, ``), said("reply.context", text|list|mapping, ``),
		}},
		{"POST", "/mess", "op", []field{
			{name: "MESS", kinds: list | mapping, in: `{"MESS":VALUE}`},
			message("re", text|list), message("id", text), message("channel", text), message("from", text), message("epoch", number),
			message("received", text), message("expires_in", text),
			{name: "type", kinds: text, in: `[{"query":{"type":VALUE}}]`},
			{name: "filter", kinds: mapping, in: `[{"query":{"type":"status","filter":VALUE}}]`},
			{name: "since", kinds: text, in: `[{"query":{"type":"status","filter":{"since":VALUE}}}]`},
			{name: "status", kinds: text | list, in: `[{"query":{"type":"status","filter":{"status":VALUE}}}]`},
			{name: "rules", kinds: list | mapping, in: `[{"config":{"routing":{"rules":VALUE}}}]`},
			{name: "routing", kinds: mapping, in: `[{"config":{"routing":VALUE}}]`},
		}},
		{"POST", "/register", "", append(profile(`"executor_id":"pi","capabilities":["y"],`),
			field{name: "executor_id", kinds: text, in: `{"executor_id":VALUE,"capabilities":["y"]}`}, field{name: "enrol", kinds: text, in: `{"executor_id":"pi","enrol":VALUE}`})},
		{"PATCH", "/executors/phone", "phone", append(profile(``), field{name: "executor_id", kinds: text})},
		{"POST", "/stop", "op", []field{{name: "why", kinds: anything | excess}, {name: "at", kinds: anything | excess}, {name: "id", kinds: anything | excess}, {name: "executors", kinds: text | list}}},
		{"POST", "/hold", "op", []field{{name: "why", kinds: text}, {name: "executors", kinds: text | list}, {name: "executor", kinds: 0}}},
		{"POST", "/resume", "op", []field{{name: "why", kinds: text}, {name: "executors", kinds: text | list}, {name: "executor", kinds: 0}}},
		{"POST", "/keys", "op", []field{{name: "actor", kinds: text, in: `{"roles":["observer"],"actor":VALUE}`}, {name: "roles", kinds: list, in: `{"actor":"new","roles":VALUE}`}, {name: "role", kinds: 0, in: `{"actor":"new","roles":["observer"],"role":VALUE}`}}},
		{"PATCH", "/keys/dash", "op", []field{{name: "roles", kinds: list}, {name: "overlap", kinds: 0, in: `{"roles":["observer"],"overlap":VALUE}`}}},
		{"POST", "/keys/dash/rotate", "op", []field{{name: "overlap", kinds: text}, {name: "within", kinds: 0}}},
		{"POST", "/codes", "op", []field{{name: "actor", kinds: text}, {name: "within", kinds: text}, {name: "actr", kinds: 0}}},
		{"POST", "/import", "op", []field{
			{name: "content", kinds: text},
			{name: "files", kinds: list},
			{name: "files[0].name", kinds: text, in: `{"files":[{"name":VALUE,"content":"x"}]}`},
			{name: "files[0].content", kinds: text, in: `{"files":[{"name":"000-2026-01-31-001.messe-af.yaml","content":VALUE}]}`},
			{name: "files[0].encoding", kinds: text, in: `{"files":[{"name":"000-2026-01-31-001.messe-af.yaml","content":"x","encoding":VALUE}]}`},
		}},
	}
}

var profileFields = map[string]int{
	"display_name": text, "capabilities": text | list | mapping, "availability": text, "schedule": text, "versions": text | list, "instance": text, "receipt_key": text, "disarmed": text, "kind": text,
	"holding": list | mapping, "stopped": mapping, "held": mapping, "states": list | mapping, "areas": list, "location": text | mapping, "location.lat": number, "latency": number, "precision": number,
	"notifications": list, "hooks": mapping, "hooks.on_request_created": list, "preferences": mapping, "preferences.min_priority": text, "preferences.language": text,
	"preferences.quiet_hours": mapping, "preferences.quiet_hours.enabled": truth, "preferences.quiet_hours.start": text, "preferences.quiet_hours.end": text, "x_own": anything,
}

// nest returns the field at a path, within its parents.
func nest(path string) string {
	key, rest, deeper := strings.Cut(path, ".")
	if !deeper {
		return `"` + key + `":VALUE`
	}
	return `"` + key + `":{` + nest(rest) + `}`
}

func claimed(name string, kinds int) field {
	return field{name: name, kinds: kinds, in: `{"mess":[{"status":{"code":"in_progress",` + nest(name) + `}}]}`}
}

func questioned(name string, kinds int) field {
	in := `"questions":VALUE`
	if _, key, deeper := strings.Cut(name, "."); deeper {
		in = `"questions":[{"id":"a","question":"b",` + nest(key) + `}]`
		if key == "question" {
			in = `"questions":[{"id":"a","question":VALUE}]`
		}
	}
	return field{name: name, kinds: kinds, in: `{"mess":[{"status":{"code":"needs_input",` + in + `}}]}`}
}

func wanted(name string, kinds int) field {
	in := `"action":"x",` + nest(name)
	if name == "action" {
		in = nest(name)
	}
	return field{name: name, kinds: kinds, in: `{"mess":[{"status":{"code":"needs_confirmation",` + in + `}}]}`}
}

func message(name string, kinds int) field {
	return field{name: name, kinds: kinds, in: `{"MESS":[{"query":{"type":"executors"}}],` + nest(name) + `}`}
}

// Every field of every body gets values of every kind. A value of the wrong kind is a JSON
// error with the name of the field and changes nothing. No value is an internal error.
func TestWrongTypeOfEachFieldIsRejected(t *testing.T) {
	if testing.Short() {
		t.Skip("sends thousands of messages")
	}
	h := newHarness(t, httpapi.Config{Rate: unlimited, Import: func(string, map[string][]byte) error { return nil }})
	keys := map[string]string{"op": h.op, "phone": h.serve().register("phone", `"x"`)}
	if _, err := h.keys.Issue("dash", exchange.Observer); err != nil {
		t.Fatal(err)
	}
	at := h.threads(keys["phone"])
	before, refused, taken := h.visibleState(at), 0, 0
	for _, b := range bodies() {
		for _, f := range b.fields {
			if f.in == "" {
				f.in = `{` + nest(f.name) + `}`
			}
			for _, v := range values {
				sent := strings.Replace(f.in, "VALUE", v.json, 1)
				what := fmt.Sprintf("%s %s %.200s", b.method, b.path, sent)
				r := h.do(b.method, root+at.Replace(b.path), keys[b.by], sent)
				if r.code < 300 {
					if taken++; v.kind&f.kinds == 0 || v.json == "null" && f.kinds == 0 {
						t.Errorf("%s: %d %s: it is taken", what, r.code, r.body)
					}
					at = h.undo(b, at, keys["phone"])
					before = h.visibleState(at)
					continue
				}
				refused++
				h.wantReadableError(what, r, 400, 403, 404, 409, 413, 422)
				if r.code == http.StatusForbidden && v.kind&f.kinds == 0 {
					t.Errorf("%s: %s: it was read, though it cannot be", what, r.body)
				}
				if strings.Contains(r.body, "Go struct") || strings.Contains(r.body, "cannot unmarshal") {
					t.Errorf("%s: %s: that is for programmers", what, r.body)
				}
				name := f.name[strings.LastIndex(f.name, ".")+1:]
				if v.kind&f.kinds == 0 && v.kind != 0 && v.kind != excess && !strings.Contains(r.body, name) {
					t.Errorf("%s: %s: which field is it?", what, r.body)
				}
				if after := h.visibleState(at); after != before {
					t.Errorf("%s: refused, and something has changed:\n%s\n%s", what, before, after)
					before = after
				}
			}
		}
	}
	if refused < 2000 || taken < 300 {
		t.Errorf("%d were refused and %d taken", refused, taken)
	}
}

// visibleState returns everything that a client can see, except times of heartbeats.
func (h *harness) visibleState(at *strings.Replacer) string {
	h.Helper()
	var all strings.Builder
	for _, path := range []string{"/requests?limit=1", "/executors", "/keys", "/webhooks", "/requests/REF", "/requests/MINE"} {
		r := h.do("GET", root+at.Replace(path), h.op, "")
		if r.code != http.StatusOK && path != "/webhooks" {
			h.Fatalf("%s: %d %s", path, r.code, r.body)
		}
		var v map[string]any
		if err := json.Unmarshal([]byte(r.body), &v); err != nil {
			h.Fatal(err)
		}
		if list, ok := v["executors"].([]any); ok {
			for _, one := range list {
				delete(one.(map[string]any), "last_seen")
				delete(one.(map[string]any), "live") // it follows from that
			}
		}
		text, err := json.Marshal(v)
		if err != nil {
			h.Fatal(err)
		}
		all.Write(append(text, '\n'))
	}
	return all.String()
}

// threads makes one that waits, REF, and one that the phone has, MINE.
func (h *harness) threads(phone string) *strings.Replacer {
	h.Helper()
	ref, mine := h.create(h.op, `{"intent":"look","requires":["x"]}`), h.create(h.op, `{"intent":"look","requires":["x"]}`)
	if r := h.do("PATCH", root+"/requests/"+mine, phone, `{"status":"claimed"}`); r.code != http.StatusOK {
		h.Fatal(r.body)
	}
	return strings.NewReplacer("REF", ref, "MINE", mine)
}

// undo makes room for the next value, because the exchange has stored the last one.
func (h *harness) undo(b bodyCase, at *strings.Replacer, phone string) *strings.Replacer {
	h.Helper()
	switch b.path {
	case "/requests/REF", "/requests/MINE":
		return h.threads(phone)
	case "/register", "/keys":
		for _, id := range []string{"pi", "x", "new"} {
			if _, err := h.keys.Revoke(id); err != nil {
				h.Fatal(err)
			}
		}
	case "/executors/phone":
		h.do("PATCH", root+b.path, phone, `{"capabilities":["x"],"availability":"always"}`)
	case "/hold":
		h.do("POST", root+"/resume", h.op, "")
	}
	return at
}
