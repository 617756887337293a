package messeaf_test

import (
	"strings"
	"testing"
	"testing/fstest"

	"github.com/messkit/messkit/mess/messeaf"
)

const good = `ref: T
requestor: agent
status: completed
created: "2026-11-21T10:00:00Z"
updated: "2026-11-21T10:00:00Z"
intent: look
history:
  - action: created
    at: "2026-11-21T10:00:00Z"
    by: agent
---
from: agent
received: "2026-11-21T10:00:00Z"
MESS:
  - request: {intent: look}
---
from: phone
received: "2026-11-21T10:00:00Z"
re: T
MESS:
  - response: {content: [{image: {file: att-001-image-a.jpg, mime: image/jpeg, size: 5}}]}
`

// Each violation has a file and a line.
func TestCheck(t *testing.T) {
	for _, tt := range []struct{ name, old, new, want string }{
		{"good", "", "", ""},
		{"another ref", "ref: T", "ref: U", `state=finished/T/000-T.messe-af.yaml:1: ref: is "U", and the name says "T"; they must be the same`},
		{"the wrong folder", "status: completed", "status: pending", `state=finished/T/000-T.messe-af.yaml:1: status: is pending, which belongs in state=received; this is state=finished`},
		{"no intent", "intent: look\nhistory", "history", `state=finished/T/000-T.messe-af.yaml:1: intent: is missing`},
		{"no time", `created: "2026-11-21T10:00:00Z"`, "created: soon", `state=finished/T/000-T.messe-af.yaml:1: created: "soon" is not a time; write it like "2026-02-01T17:00:00-08:00"`},
		{"without a sender", "from: phone", "to: phone", `state=finished/T/000-T.messe-af.yaml:16: from: is missing; the message has no sender`},
		{"another size", "size: 5", "size: 6", `state=finished/T/att-001-image-a.jpg: has 5 bytes, and T/response-001 says 6`},
		{"no such file", "att-001-image-a.jpg", "att-001-image-b.jpg", `state=finished/T/att-001-image-b.jpg: is not there, and T/response-001 names it`},
		{"cut off", "MESS:\n  - response: {content: [{image: {file: att-001-image-a.jpg, mime: image/jpeg, size: 5}}]}", "MESS:\n  - response: {content: [{image: {fi", `state=finished/T/000-T.messe-af.yaml:20: not YAML: did not find expected ',' or '}'`},
		{"cut off between", "re: T\nMESS:\n  - response: {content: [{image: {file: att-001-image-a.jpg, mime: image/jpeg, size: 5}}]}", "re: T", `state=finished/T/000-T.messe-af.yaml:16: MESS: is missing; this is not a message`},
		{"no envelope", good, "---\nfrom: a\nMESS: [{request: {intent: x}}]\n", `state=finished/T/000-T.messe-af.yaml:1: ref: is missing; the first document must be the envelope`},
		{"empty", good, "# nothing\n", `state=finished/T/000-T.messe-af.yaml: is empty; the envelope is missing`},
		{"garbage", good, "\x00\x01\x02", `state=finished/T/000-T.messe-af.yaml:1: a NUL byte; this is not text`},
	} {
		fsys := fstest.MapFS{
			"state=finished/T/000-T.messe-af.yaml": {Data: []byte(strings.Replace(good, tt.old, tt.new, 1))},
			"state=finished/T/att-001-image-a.jpg": {Data: []byte("hello")},
		}
		wrong, _ := messeaf.Place{Ref: "T", Path: "state=finished/T", Folder: messeaf.Finished}.Check(fsys)
		if got := wrong.Error(); got != tt.want {
			t.Errorf("%s:\ngot  %s\nwant %s", tt.name, got, tt.want)
		}
	}
}

func TestResources(t *testing.T) {
	for uri, want := range map[string][3]string{
		"content://2026-02-01-003-fridge-check/att-002-image-fridge.jpg":                        {"2026-02-01-003-fridge-check", "", "att-002-image-fridge.jpg"},
		"content://2026-02-01-003-fridge-check/response-002-inventory/att-002-image-fridge.jpg": {"2026-02-01-003-fridge-check", "2026-02-01-003-fridge-check/response-002-inventory", "att-002-image-fridge.jpg"},
		"content://../att-002-image-fridge.jpg":                                                 {},
		"content://a/b/c/att-002-image-fridge.jpg":                                              {},
		"content://a/..%2fx": {},
		"file:///etc/passwd": {},
	} {
		thread, message, name, err := messeaf.ParseResource(uri)
		if got := [3]string{thread, message, name}; got != want || (err == nil) != (want[0] != "") {
			t.Errorf("%s: %v, %v", uri, got, err)
		}
	}
}
