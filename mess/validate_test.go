package mess_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/messkit/messkit/mess"
)

// invalid contains messages with one error, and its path. Required fields and ranges come
// from the sections of the specification; ? in MESS 1.0 section 4.2 marks optional fields.
var invalid = []struct{ item, path, word string }{
	// Requests: MESS 1.0 section 3.2, 1.1 sections 1 and 4.
	{"request: {id: a}", "[0].request", "intent is missing"},
	{"request:", "[0].request", "intent is missing"},
	{"request: {intent: ''}", "[0].request", "intent is missing"},
	{"request: {intent: '  '}", "[0].request", "intent is missing"},
	{"request: {intent: x, precision: roughly}", "[0].request.precision", "loose, guided, exact"},
	{"request: {intent: x, priority: high}", "[0].request.priority", "background, normal, elevated, urgent"},
	{"request: {intent: x, needed_by: tomorrow}", "[0].request.needed_by", "is not a time"},
	{"request: {intent: x, needed_by: 2h}", "[0].request.needed_by", "is not a time"},
	{"request: {intent: x, needed_by: 2026-02-30T10:00:00Z}", "[0].request.needed_by", "is not a time"},
	{"request: {intent: x, requires: [a, '']}", "[0].request.requires[1]", "capability"},
	{"request: {intent: x, requires: [{'': b}]}", "[0].request.requires[0]", "capability"},
	{"request: {intent: x, constraints: {timing: {urgency: very}}}", "[0].request.constraints.timing.urgency", "whenever, soon, now"},
	{"request: {intent: x, constraints: {timing: {expires: later}}}", "[0].request.constraints.timing.expires", "neither a time nor a duration"},
	{"request: {intent: x, constraints: {timing: {expires: '17:30'}}}", "[0].request.constraints.timing.expires", "day"},
	{"request: {intent: x, constraints: {timing: {not_before: 2h}}}", "[0].request.constraints.timing.not_before", "is not a time"},
	{"request: {intent: x, constraints: {location: {lat: 91, lng: 0}}}", "[0].request.constraints.location.lat", "-90 to 90"},
	{"request: {intent: x, constraints: {location: {lat: -90.1, lng: 0}}}", "[0].request.constraints.location.lat", "-90 to 90"},
	{"request: {intent: x, constraints: {location: {lat: 0, lng: 180.5}}}", "[0].request.constraints.location.lng", "-180 to 180"},
	{"request: {intent: x, constraints: {location: {lat: 0, lng: 0, radius_km: -1}}}", "[0].request.constraints.location.radius_km", "0 to"},
	{"request: {intent: x, constraints: {location: {lat: 1}}}", "[0].request.constraints.location", "missing"},
	{"request: {intent: x, response_hint: [text, '']}", "[0].request.response_hint[1]", "missing"},
	{"request: {intent: x, compensation: {shells: -1}}", "[0].request.compensation.shells", "negative"},
	{`request: {intent: x, id: "a\nb"}`, "[0].request.id", "id"},

	// Entries: sections 2.1 and 2.2, 1.1 section 3.
	{"request: {intent: x, context: [a, {image: 5}]}", "[0].request.context[1].image", "URI"},
	{"request: {intent: x, context: [{file: {name: a}}]}", "[0].request.context[0].file", "uri"},
	{"request: {intent: x, context: [{image: ''}]}", "[0].request.context[0].image", "empty"},
	{"request: {intent: x, context: [{url: {a: b}}]}", "[0].request.context[0].url", "text"},
	{"request: {intent: x, context: [{ref: [a]}]}", "[0].request.context[0].ref", "text"},
	{"request: {intent: x, context: [{embedding: [1, a]}]}", "[0].request.context[0].embedding", "numbers"},
	{"request: {intent: x, context: [{embedding: 1}]}", "[0].request.context[0].embedding", "numbers"},
	{"request: {intent: x, context: [null]}", "[0].request.context[0]", "empty"},
	{"request: {intent: x, context: [{}]}", "[0].request.context[0]", "type"},
	{"request: {intent: x, context: [[a]]}", "[0].request.context[0]", "type"},
	{"response: {re: a, content: [{confirmation: 'yes'}]}", "[0].response.content[0].confirmation", "true"},
	{"response: {re: a, content: [{confirmation: {details: x}}]}", "[0].response.content[0].confirmation", "true"},
	{"response: {re: a, content: [{confirmation: {confirmed: 1}}]}", "[0].response.content[0].confirmation", "true"},
	{"response: {re: a, content: [{error: {detail: x}}]}", "[0].response.content[0].error", "code"},
	{"response: {re: a, content: [{error: x}]}", "[0].response.content[0].error", "code"},
	{"response: {re: a, content: [{text: [a]}]}", "[0].response.content[0].text", "text"},
	{"response: {re: a, content: [{location: Kitchen}]}", "[0].response.content[0].location", "place"},
	{"response: {re: a, content: [{location: {lat: 95, lng: 1}}]}", "[0].response.content[0].location.lat", "-90 to 90"},
	{"response: {re: a, content: [{location: {lat: 5, lng: -181}}]}", "[0].response.content[0].location.lng", "-180 to 180"},
	{"response: {re: a, content: [{location: {lat: 5}}]}", "[0].response.content[0].location", "both"},
	{"response: {re: a, content: [{location: {name: x, accuracy: -1}}]}", "[0].response.content[0].location.accuracy", "out of range"},
	{"reply: {re: a, confirm: true, context: [{audio: 1}]}", "[0].reply.context[0].audio", "URI"},

	// A known field at a wrong position limits nothing.
	{"request: {intent: x, not_before: 2026-02-08T23:00:00Z}", "[0].request.not_before", "constraints.timing"},
	{"request: {intent: x, expires: 2h}", "[0].request.expires", "constraints.timing"},
	{"request: {intent: x, depends_on: [a]}", "[0].request.depends_on", "belongs in constraints;"},
	{"request: {intent: x, timing: {}}", "[0].request.timing", "constraints"},
	{"request: {intent: x, confirm_by: operator}", "[0].request.confirm_by", "confirm_before"},
	{"request: {intent: x, confirmation: true}", "[0].request.confirmation", "confirm_before"},
	{"request: {intent: x, constraints: {not_before: rubbish}}", "[0].request.constraints.not_before", "constraints.timing"},
	{"request: {intent: x, constraints: {confirm_before: true}}", "[0].request.constraints.confirm_before", "the request itself"},
	{"request: {intent: x, constraints: {timing: {depends_on: [a]}}}", "[0].request.constraints.timing.depends_on", "constraints"},
	{"request: {intent: x, constraints: {timing: {needed_by: 2026-02-08T23:00:00Z}}}", "[0].request.constraints.timing.needed_by", "the request itself"},
	{"request: {intent: x, context: [image: {uri: [a]}]}", "[0].request.context[0].image.uri", "is a list"},
	{"request: {intent: x, context: [image: {uri: a, size: large}]}", "[0].request.context[0].image.size", "number of bytes"},

	// Status: section 4.2, each code's required fields.
	{"status: {code: claimed}", "[0].status", "re is missing"},
	{"status: {re: a}", "[0].status", "code is missing"},
	{"status: {re: a, code: done}", "[0].status.code", "needs_input"},
	{"status: {re: a, code: waiting}", "[0].status.waiting_for", "missing"},
	{"status: {re: a, code: waiting, waiting_for: {condition: rain}}", "[0].status.waiting_for", "type is missing"},
	{"status: {re: a, code: waiting, waiting_for: {type: rain}}", "[0].status.waiting_for.type", "dependency, condition, resource, access, schedule"},
	{"status: {re: a, code: waiting, waiting_for: {type: condition, eta: soon}}", "[0].status.waiting_for.eta", "duration"},
	{"status: {re: a, code: waiting, waiting_for: {type: schedule, available_at: soon}}", "[0].status.waiting_for.available_at", "time"},
	{"status: {re: a, code: retrying, max_attempts: 3}", "[0].status", "attempt is missing"},
	{"status: {re: a, code: retrying, attempt: 4, max_attempts: 3}", "[0].status.attempt", "4 of 3"},
	{"status: {re: a, code: retrying, attempt: 1, max_attempts: 3, next_attempt: soon}", "[0].status.next_attempt", "time"},
	{"status: {re: a, code: needs_input}", "[0].status.questions", "question is missing"},
	{"status: {re: a, code: needs_input, questions: []}", "[0].status.questions", "question is missing"},
	{"status: {re: a, code: needs_input, questions: [{question: Which}]}", "[0].status.questions[0]", "field"},
	{"status: {re: a, code: needs_input, questions: [{field: a, question: b}, {field: c}]}", "[0].status.questions[1]", "question is missing"},
	{"status: {re: a, code: needs_confirmation, consequences: c}", "[0].status", "action"},
	{"status: {re: a, code: partial}", "[0].status", "completed or remaining"},
	{"status: {re: a, code: failed}", "[0].status", "reason is missing"},
	{"status: {re: a, code: declined}", "[0].status", "reason is missing"},
	{"status: {re: a, code: superseded, reason: merge}", "[0].status", "superseded_by is missing"},
	{"status: {re: a, code: in_progress, progress_pct: 100.1}", "[0].status.progress_pct", "0 to 100"},
	{"status: {re: a, code: in_progress, progress_pct: -1}", "[0].status.progress_pct", "0 to 100"},
	{"status: {re: a, code: claimed, eta: soon}", "[0].status.eta", "neither"},
	{"status: {re: a, code: claimed, estimate: soon}", "[0].status.estimate", "duration"},
	{"status: {re: a, code: claimed, estimate: 2026-01-31T10:00:00Z}", "[0].status.estimate", "duration"},
	{"status: {re: a, code: held, resume_eta: soon}", "[0].status.resume_eta", "neither"},
	{"status: {re: a, code: expired, expired_at: 5m}", "[0].status.expired_at", "time"},
	{"status: {re: a, code: completed, evidence: trust}", "[0].status.evidence", "read_back"},
	{"status: {re: a, code: failed, reason: {type: x, effect: some}}", "[0].status.reason.effect", "none, partial, unknown"},

	// The others: sections 5 to 8.
	{"response: {content: [a]}", "[0].response", "re is missing"},
	{"response: {re: a, completed_at: today}", "[0].response.completed_at", "time"},
	{"reply: {confirm: true}", "[0].reply", "re is missing"},
	{"reply: {re: a}", "[0].reply", "answers, confirm or accept"},
	{"reply: {re: a, reason: x}", "[0].reply", "answers, confirm or accept"},
	{"answer: {value: x}", "[0].answer", "re is missing"},
	{"answer: {re: a}", "[0].answer", "value is missing"},
	{"cancel: {reason: x}", "[0].cancel", "re is missing"},
	{"cancel: {re: []}", "[0].cancel", "re is missing"},
	{`cancel: {re: "a\nb"}`, "[0].cancel.re", "reference"},
	{"query: {filter: {re: a}}", "[0].query", "type is missing"},
	{"query: {type: status, filter: {re: ''}}", "[0].query.filter.re", "reference"},
	{"query: {type: weather}", "[0].query.type", "status, capabilities, executors"},
	{"query: {type: status, filter: {status: [claimed, done]}}", "[0].query.filter.status[1]", "not a status"},
	{"query: {type: status, filter: {since: today}}", "[0].query.filter.since", "time"},
	{"config: {}", "[0].config", "executor, routing, stop, hold or resume"},
	{"config: {hold: true, resume: true}", "[0].config.resume", "excludes hold"},
	{"config: {hold: {executors: [a, 'b c']}}", "[0].config.hold.executors[1]", "cannot name"},
	{"config: {resume: {executors: ['']}}", "[0].config.resume.executors[0]", "cannot name"},
	{"config: {stop: {executors: [pi, a b]}}", "[0].config.stop.executors[1]", "cannot name an executor"},
	{"config: {executor: {name: x}}", "[0].config.executor.id", "executor"},
	{"config: {executor: {id: a/b}}", "[0].config.executor.id", "executor"},
	{"config: {executor: {id: a, availability: often}}", "[0].config.executor.availability", "always, schedule, on_demand"},
	{"config: {executor: {id: a, capabilities: [x, '']}}", "[0].config.executor.capabilities[1]", "capability"},
	{"config: {routing: {rules: [{match: {}}]}}", "[0].config.routing.rules[0]", "prefer is missing"},
	{"config: {routing: {rules: [{match: {urgency: x}, prefer: [a]}]}}", "[0].config.routing.rules[0].match.urgency", "soon"},
	{"config: {routing: {rules: [{match: {precision: x}, prefer: [a]}]}}", "[0].config.routing.rules[0].match.precision", "guided"},
	{"ack: {re: a, ref: b, received_at: today}", "[0].ack.received_at", "time"},
	{"ack: {requests: [{id: a}], received_at: 2026-01-31T17:00:00Z}", "[0].ack.requests[0]", "ref is missing"},
	{"suggestion: {re: [a, b]}", "[0].suggestion", "type is missing"},
	{"suggestion: {type: marry}", "[0].suggestion.type", "merge, split, delegate, alternative, defer"},
}

func TestInvalid(t *testing.T) {
	for _, c := range invalid {
		m, err := mess.Parse([]byte("- " + c.item))
		if err != nil {
			t.Errorf("%s: cannot be parsed: %v", c.item, err)
			continue
		}
		ps, ok := errors.AsType[mess.Problems](m.Validate())
		if !ok || len(ps) != 1 {
			t.Errorf("%s: %v, want one problem", c.item, m.Validate())
			continue
		}
		if ps[0].Path != c.path || !strings.Contains(ps[0].Text, c.word) {
			t.Errorf("%s: %q at %s, want %q at %s", c.item, ps[0].Text, ps[0].Path, c.word, c.path)
		}
	}
}

// Validate accepts everything that the specification allows.
func TestValid(t *testing.T) {
	for _, item := range []string{
		"request: {intent: x}",
		"request: {intent: x, needed_by: '2026-02-08T23:00:00.5-08:00', requires: [x: {level: 5}], response_hint: [hologram]}",
		"request: {intent: x, constraints: {location: {lat: -90, lng: 180}, timing: {expires: P1DT2H}}}",
		"request: {intent: x, constraints: {location: {lat: 90, lng: -180, radius_km: 0}, timing: {expires: 2026-02-08T23:00:00Z}}}",
		"request: {intent: x, context: [5, true, {hologram: null}, {location: {}}]}",
		"status: {re: a, code: received}",
		"status: {re: a, code: claimed}", // the sender identifies the executor
		"status: {re: a, code: claimed, eta: 45m}",
		"status: {re: a, code: claimed, eta: 17:30:00, estimate: PT2H}",
		"status: {re: a, code: in_progress}",
		"status: {re: a, code: in_progress, progress_pct: 0}",
		"status: {re: a, code: in_progress, progress_pct: 100}",
		"status: {re: a, code: held}",
		"status: {re: a, code: completed}",
		"status: {re: a, code: cancelled}",
		"status: {re: a, code: partial, completed: []}",
		"status: {re: a, code: failed, reason: door}",
		"status: {re: a, code: superseded, superseded_by: b, reason: merge}",
		"status: {re: a, code: waiting, waiting_for: {type: access}}",
		"status: {re: a, code: needs_input, questions: [{field: a, question: Which}]}",
		"status: {re: a, code: needs_confirmation, action: open it}",
		"reply: {re: a, answers: {}}",
		"reply: {re: a, accept: false}",
		"reply: {re: last, confirm: false, reason: no}",
		"cancel: {re: shop:2026-01-31:042}",
		"cancel: {re: [a, 2026-02-01-001-fridge-check/claim-001]}",
		"ack: {re: last, received_at: 2026-01-31T17:00:00-08:00}",
		"suggestion: {type: defer, proposed: tomorrow}",
		"config: {executor: {id: household:teague-phone, capabilities: []}}",
		"review: {stars: 50}",
		"answer: {re: a, value: false}",
	} {
		m := parse(t, []byte("- "+item))
		if err := m.Validate(); err != nil {
			t.Errorf("%s: %v", item, err)
		}
	}
	// A message-level re is the reference of all items.
	m := parse(t, []byte("re: a\nMESS: [status: {code: claimed}, cancel: {}, answer: {value: 1}, response: {content: [x]}]"))
	if err := m.Validate(); err != nil {
		t.Error(err)
	}
}

func TestVersions(t *testing.T) {
	for v, ok := range map[string]bool{"1.0.0": true, "1.1.0": true, "1.7.2": true, "2.0.0": false, "one": false, "1.0.0 ": false, "v1": false, "10.0.0": false} {
		m := parse(t, fmt.Appendf(nil, "- v: '%s'\n- cancel: {re: a}\n", v))
		if err := m.Validate(); (err == nil) != ok {
			t.Errorf("v: %q: %v", v, err)
		}
	}
}

func TestEmptyMessageIsRejected(t *testing.T) {
	for _, m := range []mess.Message{{}, {Re: mess.Refs{"a"}}, parse(t, []byte("MESS: []")), parse(t, []byte("- v: 1.0.0"))} {
		if err := m.Validate(); err == nil {
			t.Errorf("%v is valid", m)
		}
	}
}

const sick = `# everything is wrong here
re: ["bad\tref"]
MESS:
  - request:
      priority: high
      constraints:
        timing:
          urgency: very
          expires: later
        location: {lat: 100, lng: 1}
      requires:
        - take-photo
        - ""
  - status:
      code: needs_input
      progress_pct: 101
      questions:
        - field: a
          question: b
        - question: c
  - response:
      content:
        - text
        - confirmation:
            details: no
`

// Validate reports all errors at once, with paths, and with lines for text.
func TestAllProblemsAtOnce(t *testing.T) {
	want := []string{
		"2 re", "4 [0].request", "5 [0].request.priority", "8 [0].request.constraints.timing.urgency", "9 [0].request.constraints.timing.expires",
		"10 [0].request.constraints.location.lat", "13 [0].request.requires[1]", "16 [1].status.progress_pct", "20 [1].status.questions[1]",
		"24 [2].response.content[1].confirmation",
	}
	_, err := mess.ParseValid([]byte(sick))
	if diff := cmp.Diff(want, places(t, err)); diff != "" {
		t.Errorf("-want +got\n%s\n%v", diff, err)
	}
	lines := strings.Split(err.Error(), "\n")
	if len(lines) != len(want) || !strings.HasPrefix(lines[2], `line 5: [0].request.priority: "high" is unknown; write one of: `) {
		t.Errorf("the error reads:\n%v", err)
	}
	ps, _ := errors.AsType[mess.Problems](parse(t, []byte(sick)).Validate())
	if len(ps) != len(want) {
		t.Errorf("Validate = %d problems, want %d: %v", len(ps), len(want), ps)
	}
}

// places returns the lines and paths of problems.
func places(t *testing.T, err error) []string {
	t.Helper()
	ps, ok := errors.AsType[mess.Problems](err)
	if !ok {
		t.Fatalf("the error is a %T: %v", err, err)
	}
	var all []string
	for _, p := range ps {
		all = append(all, fmt.Sprintf("%d %s", p.Line, p.Path))
	}
	return all
}

// Problems have the right lines in each form of a message.
func TestLinesOfProblems(t *testing.T) {
	for _, c := range []struct {
		name, text string
		line       int
	}{
		{"plain", "MESS:\n  - request:\n      intent: x\n      priority: high\n", 4},
		{"bare list", "- request:\n    intent: x\n    priority: high\n", 3},
		{"single item", "\nrequest:\n  intent: x\n  priority: high\n", 4},
		{"fields first", "re: a\nfrom: b\nMESS:\n  - request:\n      intent: x\n      priority: high\n", 6},
		{"second document", "- cancel: {re: a}\n---\n- request:\n    intent: x\n    priority: high\n", 5},
		{"JSON", "{\"MESS\": [\n{\"request\": {\"intent\": \"x\",\n\"priority\": \"high\"}}]}", 3},
		{"flow", "- request: {intent: x,\n    priority: high}\n", 2},
	} {
		_, err := mess.ParseValid([]byte(c.text))
		ps, ok := errors.AsType[mess.Problems](err)
		if !ok || len(ps) != 1 || ps[0].Line != c.line || !strings.HasSuffix(ps[0].Path, ".request.priority") {
			t.Errorf("%s: %v, want it on line %d", c.name, err, c.line)
		}
	}
}

func TestParseValidAcceptsValid(t *testing.T) {
	for _, v := range vectors(t) {
		all, err := mess.ParseValid([]byte(v.text))
		if err != nil || !cmp.Equal(all, parseAll(t, v.text)) {
			t.Errorf("%s: %v", v.name, err)
		}
	}
}

func TestValidID(t *testing.T) {
	for _, s := range []string{"a", "roomba-kitchen", "household:teague-phone", "sug:merge", "A.b_c@d", "0", strings.Repeat("a", 128)} {
		if !mess.ValidID(s) {
			t.Errorf("%q is not valid", s)
		}
	}
	for _, s := range []string{
		"", " ", "a b", "a/b", "a\\b", "../a", "a..b", ".a", "-a", ":a", "a\n", "a\x00", "+", "#", "a*", "é", "a\u202eb", "$SYS", strings.Repeat("a", 129),
	} {
		if mess.ValidID(s) {
			t.Errorf("%q is valid", s)
		}
	}
}

func TestValidRef(t *testing.T) {
	for _, s := range []string{
		"last", "fridge-check", "shop:2026-01-31:042", "2026-02-01-001-fridge-check/claim-001", "moltbook:a3f8c2", "42", "a b", "éclair", strings.Repeat("a", 256),
	} {
		if !mess.ValidRef(s) {
			t.Errorf("%q is not valid", s)
		}
	}
	for _, s := range []string{"", " a", "a ", "a\nb", "a\tb", "a\x00", "\x7f", "a\u2028b", strings.Repeat("a", 257)} {
		if mess.ValidRef(s) {
			t.Errorf("%q is valid", s)
		}
	}
}

func TestPathsOfReferences(t *testing.T) {
	for item, want := range map[string]string{
		"cancel: {re: [a, '']}": "[0].cancel.re[1]",
		"cancel: {re: ' '}":     "[0].cancel.re",
		"request: {intent: x, constraints: {depends_on: [a, '']}}": "[0].request.constraints.depends_on[1]",
	} {
		ps, _ := errors.AsType[mess.Problems](parse(t, []byte("- "+item)).Validate())
		if len(ps) != 1 || ps[0].Path != want {
			t.Errorf("%s: %v, want one problem at %s", item, ps, want)
		}
	}
}

// JSON must be UTF-8; otherwise two different references could become equal.
func TestReferencesAreUTF8(t *testing.T) {
	for _, s := range []string{"\xff", "a\xc3\x28", "\x89"} {
		if mess.ValidRef(s) {
			t.Errorf("%q is valid", s)
		}
	}
}

// Problems have the right lines with a v: entry and several items in one mapping.
func TestLinesOfItems(t *testing.T) {
	for _, c := range []struct {
		name, text string
		line       int
	}{
		{"version first", "MESS:\n  - v: 1.1.0\n  - request:\n      intent: x\n      priority: high\n", 5},
		{"version between", "MESS:\n  - cancel: {re: a}\n  - v: 1.1.0\n  - request:\n      intent: x\n      priority: high\n", 6},
		{"two in one", "MESS:\n  - cancel: {re: a}\n    request:\n      intent: x\n      priority: high\n", 5},
	} {
		_, err := mess.ParseValid([]byte(c.text))
		if diff := cmp.Diff([]int{c.line}, lines(t, err)); diff != "" {
			t.Errorf("%s: %v (-want +got)\n%s", c.name, err, diff)
		}
	}
}

func lines(t *testing.T, err error) []int {
	t.Helper()
	ps, ok := errors.AsType[mess.Problems](err)
	if !ok {
		t.Fatalf("the error is a %T: %v", err, err)
	}
	var all []int
	for _, p := range ps {
		all = append(all, p.Line)
	}
	return all
}
