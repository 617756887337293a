package mcp_test

import (
	"bytes"
	"encoding/json"
	"image/jpeg"
	"regexp"
	"strings"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/messkit/messkit/exchange/channel/mcp"
	"github.com/messkit/messkit/mess"
)

// dataPattern finds data in a result by another rule than the server's.
var dataPattern = regexp.MustCompile(`(?i)data:[a-z]*/?[a-z]*[;,]`)

func TestToolsDescribeTheirUse(t *testing.T) {
	g := newHarness(t).overStdio(model)
	list, err := g.ListTools(t.Context(), nil)
	if err != nil || len(list.Tools) > 8 || len(list.Tools) != len(mcp.Tools()) {
		t.Fatalf("%d tools, %v", len(list.Tools), err)
	}
	for _, tool := range list.Tools {
		if !strings.HasPrefix(tool.Description, "Use this") || !regexp.MustCompile(`done|executor`).MatchString(tool.Description) {
			t.Errorf("%s: %s", tool.Name, tool.Description)
		}
	}
	if i := g.InitializeResult(); i == nil || !strings.Contains(i.Instructions, "only a status of the executor reports success") {
		t.Errorf("instructions: %+v", i)
	}
}

func TestResultHasImage(t *testing.T) {
	h := newHarness(t)
	for _, g := range map[string]*mcpClient{"stdio": h.overStdio(model), "http": h.overHTTP(anyHTTP, mcp.DefaultConfig()).withKey(model)} {
		ref := g.request("photo")
		plain := g.waitForEnd(ref, mess.Completed)
		if plain.v["next"] != "the executor reports success; evidence: photographed" || !strings.Contains(plain.text, "content://"+ref+"/att-") {
			t.Errorf("%s", plain.text)
		}
		link, shown := parts(t, plain)
		if link == nil || shown != nil || link.MIMEType != "image/jpeg" || *link.Size == 0 || link.Description != "taken at 2026-11-21T09:44:50Z" {
			t.Errorf("link %+v, picture %v", link, shown)
		}
		small := g.mustCall("mess_status", map[string]any{"ref": ref, "image_max_bytes": 4000, "image_max_px": 100})
		_, shown = parts(t, small)
		if shown == nil || len(shown.Data) > 4000 {
			t.Fatalf("no picture: %s", small.text)
		}
		if img, err := jpeg.Decode(bytes.NewReader(shown.Data)); err != nil || img.Bounds().Dx() > 100 {
			t.Errorf("%v, %v", img, err)
		}
		read, err := g.ReadResource(t.Context(), &sdk.ReadResourceParams{URI: link.URI})
		if err != nil || !bytes.Equal(read.Contents[0].Blob, picture(640, 480)) || read.Contents[0].MIMEType != "image/jpeg" {
			t.Errorf("%v", err)
		}
	}
}

func parts(t *testing.T, o outcome) (link *sdk.ResourceLink, shown *sdk.ImageContent) {
	t.Helper()
	for _, c := range o.Content {
		switch c := c.(type) {
		case *sdk.ResourceLink:
			link = c
		case *sdk.ImageContent:
			shown = c
		}
	}
	return link, shown
}

// Data inside messages become resources, wherever they stand.
func TestInlineDataBecomeResources(t *testing.T) {
	g := newHarness(t).overStdio(model)
	ref := g.mustCall("mess_request", map[string]any{"intent": "inline", "context": []any{map[string]any{"image": mess.DataURI("image/png", []byte("\x89 not a picture\x00"))}}}).field("ref")
	o := g.mustCall("mess_wait", map[string]any{"ref": ref, "image_max_px": 32})
	link, shown := parts(t, o)
	if link == nil || shown == nil {
		t.Fatalf("%s", o.text)
	}
	uris := regexp.MustCompile(`content://[^"\s)\\]+`).FindAllString(o.text, -1)
	if len(uris) != 3 || !strings.Contains(uris[0], "/response-") {
		t.Fatalf("%v in %s", uris, o.text)
	}
	for i, want := range [][]byte{picture(64, 48), []byte("hi"), []byte("x")} {
		read, err := g.ReadResource(t.Context(), &sdk.ReadResourceParams{URI: uris[i]})
		if err != nil || !bytes.Equal(read.Contents[0].Blob, want) {
			t.Errorf("%s: %v", uris[i], err)
		}
	}
	whole, err := g.ReadResource(t.Context(), &sdk.ReadResourceParams{URI: "thread://" + ref})
	if err != nil || dataPattern.MatchString(whole.Contents[0].Text) || !strings.Contains(whole.Contents[0].Text, "content://"+ref+"/request/att-000-image-") {
		t.Errorf("%v %s", err, whole.Contents[0].Text)
	}
}

func TestQuestionsAndConfirmations(t *testing.T) {
	g := newHarness(t).overStdio(model)
	ask := func(intent string, status mess.Code) (ref string, needs map[string]any) {
		t.Helper()
		ref = g.request(intent)
		needs, _ = g.waitForEnd(ref, status).v["needs"].(map[string]any)
		return ref, needs
	}
	ref, needs := ask("ask", mess.NeedsInput)
	g.wantToolError("mess_answer", map[string]any{"ref": ref, "confirm": true}, "no confirmation is open")
	g.wantToolError("mess_answer", map[string]any{"ref": ref}, "exactly one of")
	g.wantToolError("mess_answer", map[string]any{"ref": ref, "answers": map[string]any{"area": "sink"}, "confirm": true}, "exactly one of")
	g.mustCall("mess_answer", map[string]any{"ref": needs["ref"], "answers": map[string]any{"area": "sink"}})
	g.waitForEnd(ref, mess.Completed)

	ref, _ = ask("ask", mess.NeedsInput)
	g.mustCall("mess_answer", map[string]any{"ref": ref, "answer": "stove"})
	g.waitForEnd(ref, mess.Completed)

	ref, needs = ask("confirm", mess.NeedsConfirmation)
	if needs["action"] != "open the valve" || needs["action_hash"] != "abc" || needs["reversible"] != true {
		t.Errorf("%v", needs)
	}
	g.wantToolError("mess_answer", map[string]any{"ref": ref, "confirm": "true"}, "neither true nor false")
	g.wantToolError("mess_answer", json.RawMessage(`{"ref":"`+ref+`","confirm":false,"confirm":true}`), "confirm")
	g.wantToolError("mess_answer", map[string]any{"ref": "last", "confirm": true}, "must name its thread")
	g.wantToolError("mess_answer", map[string]any{"ref": ref, "answer": "yes"}, "it needs a confirmation, not an answer")
	g.mustCall("mess_answer", map[string]any{"ref": needs["ref"], "confirm": true, "action_hash": "abc"})
	g.waitForEnd(ref, mess.Completed)

	ref, needs = ask("confirm", mess.NeedsConfirmation)
	g.mustCall("mess_answer", map[string]any{"ref": needs["ref"], "confirm": false, "reason": "not now"})
	g.waitForEnd(ref, mess.Cancelled)

	ref, needs = ask("operator", mess.NeedsConfirmation)
	g.wantToolError("mess_answer", map[string]any{"ref": needs["ref"], "confirm": true}, "role operator")
	if next := g.mustCall("mess_status", map[string]any{"ref": ref}).field("next"); !strings.Contains(next, "not you") || strings.Contains(next, "messkit") || strings.Contains(next, "--") {
		t.Errorf("next step is %s, want the role that confirms, and no command", next)
	}
	g.wantToolError("mess_answer", map[string]any{"ref": ref, "accept": false, "reason": "no"}, "no such suggestion is open")
	g.mustCall("mess_cancel", map[string]any{"ref": ref})
	if next := g.waitForEnd(g.request("unknown"), mess.Failed).field("next"); !strings.Contains(next, "its effect is unknown") {
		t.Errorf("%s", next)
	}
}

func TestMessTakesAnyMessage(t *testing.T) {
	g := newHarness(t).overStdio(model)
	for _, m := range []any{
		"MESS:\n- request: {intent: hang}\n",
		"- request: {intent: hang}\n- request: {intent: hang}\n",
		"request: {intent: hang}",
		`{"MESS":[{"v":"1.1.0"},{"request":{"intent":"hang"}}]}`,
		`[{"request":{"intent":"hang"}}]`,
		"```yaml\nMESS:\n- request: {intent: hang}\n```",
		map[string]any{"MESS": []any{map[string]any{"request": map[string]any{"intent": "hang"}}}},
		[]any{map[string]any{"request": map[string]any{"intent": "hang"}}, map[string]any{"query": map[string]any{"type": "status"}}},
	} {
		if o := g.mustCall("mess", map[string]any{"message": m}); !strings.Contains(o.text, `"ref":"20`) {
			t.Errorf("%v: %s", m, o.text)
		}
	}
	two := g.mustCall("mess", map[string]any{"message": "- request: {id: a, intent: hang}\n- request: {id: b, intent: hang, constraints: {depends_on: [a]}}\n"})
	if !strings.Contains(two.text, `"requests":[{"id":"a"`) {
		t.Errorf("%s", two.text)
	}
	open := g.mustCall("mess_status", nil)
	if list, _ := open.v["requests"].([]any); len(list) < 10 {
		t.Errorf("%s", open.text)
	}
	for range 50 {
		g.request("hang")
	}
	if open := g.mustCall("mess_status", nil); len(open.v["requests"].([]any)) != 50 || open.v["more"] == nil {
		t.Errorf("%.300s", open.text)
	}
	if caps := g.mustCall("mess_capabilities", map[string]any{"tag": "visual"}); !strings.Contains(caps.text, `"take-photo"`) || !strings.Contains(caps.text, `"kitchen-pi"`) {
		t.Errorf("%s", caps.text)
	}
}

// Every bad input gives a result with the error, and the session continues.
func TestInvalidInputIsAResult(t *testing.T) {
	g := newHarness(t).overStdio(model)
	for _, c := range []struct {
		tool, arguments, want string
	}{
		{"mess_request", `{}`, "intent"},
		{"mess_request", `{"intent":""}`, "intent"},
		{"mess_request", `{"intent":42}`, "intent"},
		{"mess_request", `{"intent":"look","priority":"huge"}`, `\"huge\"`},
		{"mess_request", `{"intent":"look","confirm_before":"yes"}`, "confirm_before"},
		{"mess_request", `{"intent":"look","needed_by":"noon"}`, "needed_by"},
		{"mess_request", `{"intent":"look","id":"last"}`, "last"},
		{"mess_request", `{"intent":"look","intent":"act"}`, "intent"},
		{"mess_request", `{"intent":"look","context":[{"ref":{"a":1}}],"constraints":{"depends_on":["nowhere"]}}`, ""},
		{"mess_request", `[]`, "not an object"},
		{"mess_request", `"intent"`, "not an object"},
		{"mess_request", `{"intent":"` + strings.Repeat("x", 70<<10) + `"}`, "65536"},
		{"mess_wait", `{}`, "ref: is missing"},
		{"mess_wait", `{"ref":""}`, "ref: is missing"},
		{"mess_wait", `{"ref":7}`, "ref: is not text"},
		{"mess_wait", `{"ref":"nowhere"}`, "there is no thread"},
		{"mess_wait", `{"ref":"../../etc/passwd"}`, "there is no thread"},
		{"mess_wait", `{"ref":"data:image/png;base64,AAAA"}`, "there is no thread"},
		{"mess_wait", `{"ref":"last","timeout_seconds":0}`, "from 1 to 600"},
		{"mess_wait", `{"ref":"last","timeout_seconds":1e3}`, "from 1 to 600"},
		{"mess_wait", `{"ref":"last","timeout_seconds":"long"}`, "from 1 to 600"},
		{"mess_wait", `{"ref":"last","image_max_bytes":10}`, "from 1024 to 512000"},
		{"mess_wait", `{"ref":"last","image_max_px":-1}`, "from 16"},
		{"mess_wait", `{"ref":"last","until":"done"}`, "until: is not an argument"},
		{"mess_status", `{"reff":"last"}`, "reff: is not an argument"},
		{"mess_status", `{"ref":"last"}`, "made no request"},
		{"mess_cancel", `{"ref":"nowhere"}`, "there is no thread"},
		{"mess_cancel", `{"ref":["a"]}`, "not text"},
		{"mess_answer", `{"ref":"nowhere","confirm":true}`, "there is no thread"},
		{"mess_answer", `{"ref":"nowhere","answer":"yes"}`, "there is no thread"},
		{"mess_answer", `{"ref":"nowhere","answers":"yes"}`, "answers: is not an object"},
		{"mess_capabilities", `{"tag":["visual"]}`, "not text"},
		{"mess", `{}`, "message: is missing"},
		{"mess", `{"message":null}`, "message: is missing"},
		{"mess", `{"message":""}`, "empty"},
		{"mess", `{"message":42}`, "a number"},
		{"mess", `{"message":[{"request":{"intent":"a","id":5}}]}`, "is a number; write text"},
		{"mess", `{"message":[{"request":{"intent":"a","not_before":"2030-01-01T00:00:00Z"}}]}`, "belongs in constraints.timing"},
		{"mess", `{"message":[{"config":{"executor":{"id":"a","hooks":5}}}]}`, ""},
		{"mess_request", `{"intent":"a","context":5}`, "context: is a number; write a list"},
		{"mess", `{"message":"MESS: {"}`, ""},
		{"mess", `{"message":"MESS: []"}`, ""},
		{"mess", `{"message":"hello"}`, ""},
		{"mess", `{"message":"request: {intent: a}","really":true}`, "alone"},
		{"mess", `{"message":"request: {intent: a}\n---\nrequest: {intent: b}"}`, "2 documents"},
		{"mess", `{"message":"request: &a {intent: *a}"}`, ""},
		{"mess", `{"message":{"status":{"re":"nowhere","code":"completed"}}}`, "there is no thread"},
		{"mess", `{"message":[{"ack":{"ref":"x"}}]}`, "ack"},
	} {
		g.wantToolError(c.tool, json.RawMessage(c.arguments), c.want)
	}
	if _, err := g.CallTool(t.Context(), &sdk.CallToolParams{Name: "mess_explode"}); err == nil || !strings.Contains(err.Error(), "mess_explode") {
		t.Errorf("an unknown tool: %v", err)
	}
	g.mustCall("mess_capabilities", nil)
}

// An observer may look, and not ask.
func TestRoles(t *testing.T) {
	h := newHarness(t)
	asker, sees := h.overStdio(model), h.overStdio(watcher)
	ref := asker.request("hang")
	sees.wantToolError("mess_request", map[string]any{"intent": "photo"}, "role requester is missing")
	sees.wantToolError("mess", map[string]any{"message": "request: {intent: photo}"}, "role requester is missing")
	sees.wantToolError("mess_cancel", map[string]any{"ref": ref}, "only claude")
	sees.mustCall("mess_status", map[string]any{"ref": ref})
	stranger := h.overStdio(kitchenless)
	stranger.wantToolError("mess_status", map[string]any{"ref": ref}, "there is no thread")
	if _, err := stranger.ReadResource(t.Context(), &sdk.ReadResourceParams{URI: "thread://" + ref}); err == nil {
		t.Error("a stranger reads the thread")
	}
	if err := stranger.Subscribe(t.Context(), &sdk.SubscribeParams{URI: "thread://" + ref}); err == nil && stranger.InitializeResult().ProtocolVersion < "2026" {
		t.Error("a stranger may subscribe to the thread, want an error")
	}
}
