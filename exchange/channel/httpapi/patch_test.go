package httpapi_test

import (
	"strings"
	"testing"

	"github.com/messkit/messkit/exchange/channel/httpapi"
)

// step is one PATCH and its answer.
type step struct {
	name, by, body string
	code           int
	want           string // part of the answer
}

// patches goes through steps on a fresh thread of agent's.
func patches(t *testing.T, request string, steps []step) (h *harness, one string, keys map[string]string) {
	t.Helper()
	h = startHarness(t, httpapi.Config{})
	keys = map[string]string{
		"phone": h.register("phone", `"x"`), "tablet": h.register("tablet", `"x"`), "agent": h.register("agent", ""), "other": h.register("other", ""), "op": h.op,
	}
	ref := h.create(keys["agent"], request)
	one = root + "/requests/" + ref
	for _, s := range steps {
		body := strings.ReplaceAll(s.body, "{ref}", ref)
		if r := h.do("PATCH", one, keys[s.by], body); r.code != s.code || !strings.Contains(r.body, s.want) {
			t.Errorf("%s: %s sends %s: got %d %s, want %d with %s", s.name, s.by, body, r.code, r.body, s.code, s.want)
		}
	}
	return h, one, keys
}

const looking = `{"id":"garage","intent":"look","requires":["x"]}`

func TestPatchOfReferenceClients(t *testing.T) {
	h, one, keys := patches(t, looking, []step{
		{"re: last is the thread of the path", "phone", `{"status":"claimed","mess":[{"status":{"re":"last","code":"claimed"}}]}`, 200, `"claimed"`},
		{"again", "phone", `{"status":"claimed"}`, 200, `"claimed"`},
		{"too late", "tablet", `{"status":"claimed"}`, 409, `"why":"taken"`},
		{"a hyphen in an item", "phone", `{"mess":[{"status":{"code":"in-progress"}}]}`, 200, `"in_progress"`},
		{"a question in a note", "phone", `{"status":"needs-input","message":"Which door?"}`, 200, `"needs_input"`},
		{"another's answer", "other", `{"mess":[{"answer":{"re":"last","value":"left"}}]}`, 404, `"why":"unknown"`},
		{"the answer, by the requester's id", "agent", `{"mess":[{"reply":{"re":"garage","answers":{"answer":"left"}}}]}`, 200, `"in_progress"`},
		{"an action in a note", "phone", `{"status":"needs-confirmation","message":"Open it"}`, 200, `"needs_confirmation"`},
		{"a yes", "agent", `{"mess":[{"reply":{"re":"{ref}","confirm":true}}]}`, 200, `"in_progress"`},
		{"a wait in a note", "phone", `{"status":"waiting","message":"rain"}`, 200, `"waiting"`},
		{"and on", "phone", `{"status":"in_progress","message":"dry again"}`, 200, `"in_progress"`},
		{"items as one mapping", "phone", `{"mess":{"response":{"content":["closed"]}}}`, 200, `"completed"`},
		{"after the end", "phone", `{"status":"in_progress"}`, 409, `"why":`},
		{"nothing", "agent", `{}`, 200, `"completed"`},
		{"nothing, in other words", "agent", `{"mess":null,"status":null}`, 200, `"completed"`},
	})
	body := h.do("GET", one, keys["agent"], "").body
	for _, want := range []string{`"question":"Which door?"`, `"action":"Open it"`, `"condition":"rain"`, `"message":"dry again"`} {
		if !strings.Contains(body, want) {
			t.Errorf("the thread has no %s: %s", want, body)
		}
	}
}

func TestInvalidPatchIsRejected(t *testing.T) {
	patches(t, looking, []step{
		{"another thread", "phone", `{"mess":[{"status":{"re":"2026-01-01-001","code":"claimed"}}]}`, 400, `leave re out`},
		{"a request inside", "agent", `{"mess":[{"request":{"intent":"more"}}]}`, 400, `request: does not belong`},
		{"a registration inside", "phone", `{"mess":[{"config":{"executor":{"id":"phone"}}}]}`, 400, `config: does not belong`},
		{"an ack inside", "phone", `{"mess":[{"ack":{"re":"last"}}]}`, 400, `ack: does not belong`},
		{"a note alone", "agent", `{"message":"hurry"}`, 400, `message: `},
		{"a status that is a list", "phone", `{"status":["claimed"]}`, 400, `status: is not text`},
		{"text for items", "phone", `{"mess":"claimed"}`, 400, `"why":"invalid"`},
		{"a list for a body", "phone", `[]`, 400, `"why":"invalid"`},
		{"the exchange's own word", "phone", `{"status":"expired"}`, 409, `"legal":["claimed"]`},
		{"a start without a claim", "phone", `{"status":"in_progress"}`, 409, `"why":"illegal"`},
	})
}

func TestCancelByRequesterAndHolder(t *testing.T) {
	patches(t, looking, []step{
		{"somebody", "other", `{"status":"cancelled"}`, 404, `"why":"unknown"`},
		{"the requester", "agent", `{"status":"cancelled","message":"never mind"}`, 200, `"cancelled"`},
		{"again", "agent", `{"status":"cancelled"}`, 200, `"cancelled"`},
	})
	patches(t, looking, []step{
		{"a claim", "phone", `{"status":"claimed"}`, 200, ""},
		{"the holder, whom nobody asked to", "phone", `{"status":"cancelled"}`, 409, `"why":"illegal"`},
		{"a status that means a cancel", "agent", `{"status":"cancelled","mess":[{"status":{"code":"cancelled"}}]}`, 200, `"cancelled"`},
	})
	patches(t, looking, []step{
		{"a claim", "phone", `{"status":"claimed"}`, 200, ""},
		{"a start", "phone", `{"status":"in_progress"}`, 200, ""},
		{"the operator", "op", `{"status":"canceled","mess":[{"cancel":{"re":"{ref}","reason":"fire"}}]}`, 200, `"in_progress"`},
		{"the holder stops", "phone", `{"status":"cancelled","message":"stopped half way"}`, 200, `"cancelled"`},
	})
}

// A requester that holds the claim itself can still cancel.
func TestRequesterWithClaimCancels(t *testing.T) {
	h := startHarness(t, httpapi.Config{})
	phone := h.register("phone", `"x"`)
	one := root + "/requests/" + h.create(phone, looking)
	h.want(h.do("PATCH", one, phone, `{"status":"claimed"}`), 200, "")
	if r := h.do("PATCH", one, phone, `{"status":"cancelled"}`); r.code != 200 || r.field("status") != "cancelled" {
		t.Errorf("%d %s", r.code, r.body)
	}
}

// MESS 1.1 section 1.2. The name last confirms nothing (1.0 section 1.3).
func TestConfirmations(t *testing.T) {
	h, one, keys := patches(t, `{"intent":"open","requires":["x"],"confirm_before":true}`, []step{
		{"one who does not know of confirmations", "phone", `{"status":"claimed"}`, 404, `"why":"unknown"`},
	})
	h.want(h.do("PATCH", root+"/executors/phone", keys["phone"], `{"versions":["1.0.0","1.1.0"]}`), 200, "")
	say := func(path, by, body string, code int, want string) {
		t.Helper()
		if r := h.do("PATCH", path, keys[by], body); r.code != code || !strings.Contains(r.body, want) {
			t.Errorf("%s sends %s: got %d %s, want %d with %s", by, body, r.code, r.body, code, want)
		}
	}
	say(one, "phone", `{"status":"claimed"}`, 200, "")
	say(one, "phone", `{"status":"in_progress"}`, 409, `"why":"unconfirmed"`)
	say(one, "phone", `{"status":"completed"}`, 409, `"why":`)
	say(one, "phone", `{"status":"needs_confirmation","message":"Open the door"}`, 200, `"needs_confirmation"`)
	say(root+"/requests/last", "agent", `{"mess":[{"reply":{"confirm":true}}]}`, 400, `must name its thread`)
	say(one, "agent", `{"mess":[{"reply":{"confirm":true}}]}`, 200, `"claimed"`)
	say(one, "phone", `{"status":"in_progress"}`, 200, `"in_progress"`)
	say(one, "phone", `{"status":"completed"}`, 200, `"completed"`)
}

// An invisible thread gets the same response as a missing one.
func TestPatchOfInvisibleThreadIs404(t *testing.T) {
	h := startHarness(t, httpapi.Config{})
	agent, other := h.register("agent", ""), h.register("other", "")
	ref := h.create(agent, looking)
	const none = "2000-01-01-999-garage"
	for _, body := range []string{
		`{}`, `{"status":"cancelled"}`, `{"status":"completed"}`, `{"mess":[{"reply":{"confirm":true}}]}`, `{"mess":[{"cancel":{"re":"garage"}}]}`,
		`{"mess":[{"status":{"code":"declined","reason":"no"}}]}`, `{"status":"claimed"}`,
	} {
		got := h.do("PATCH", root+"/requests/"+ref, other, body)
		want := h.do("PATCH", root+"/requests/"+none, other, body)
		if got.code != want.code || got.body != strings.ReplaceAll(want.body, none, ref) {
			t.Errorf("%s: got %d %s, want %d %s", body, got.code, got.body, want.code, want.body)
		}
	}
}

// A PATCH reports unknown fields, and is an error without known ones.
func TestUnknownPatchFieldsAreListed(t *testing.T) {
	h := startHarness(t, httpapi.Config{})
	phone := h.register("phone", `"x"`)
	ref := h.create(h.op, `{"intent":"look","requires":["x"]}`)
	r := h.do("PATCH", root+"/requests/"+ref, phone, `{"staus":"claimed"}`)
	h.wantReadableError("a slip", r, 400)
	if !strings.Contains(r.body, "staus: unknown key; known keys: status, message, mess") {
		t.Error(r.body)
	}
	h.want(h.do("PATCH", root+"/requests/"+ref, phone, `{"status":"claimed","executor":"phone","eta":"1m"}`), 200, `{"ref":"`+anyRef.ReplaceAllString(ref, "DAY-$1")+`","status":"claimed","unknown":["executor","eta"]}`)
	h.want(h.do("PATCH", root+"/requests/"+ref, phone, `{}`), 200, `{"ref":"`+anyRef.ReplaceAllString(ref, "DAY-$1")+`","status":"claimed"}`)
}
