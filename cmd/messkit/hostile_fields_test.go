package main

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/messkit/messkit/internal/test/chromium"
)

// Scripts, direction marks and invisible characters in every field that an executor, a requester
// or an operator can fill have no effect on any page. Both the operator and a person with a phone
// see them as text.
func TestHostileFieldsHaveNoEffect(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("this test needs a browser and the built program")
	}
	h := startMesskit(t)
	const script = `<img src=x onerror="document.title='run'"><script>document.title='run'</script>` + "\u202eon\u2066 \u200b\U000e0041\ufeff\u3164\u00ad"
	quoted, err := json.Marshal(script)
	if err != nil {
		t.Fatal(err)
	}
	fill := func(text string) string { return strings.ReplaceAll(text, "$", string(quoted)) }
	key := strings.TrimSpace(h.run("keys", "issue", "mallory", "executor", "requester"))
	client := newAPIClient(h.url+"/api/v1/exchanges/home", key, key)
	send := func(ref, items string) {
		t.Helper()
		re := ""
		if ref != "" {
			re = `"re": ["` + ref + `"], `
		}
		code, data, err := client.call(key, http.MethodPost, "/mess", fill(`{`+re+`"MESS": [`+items+`]}`))
		if err != nil || code/100 != 2 {
			t.Fatalf("%s: %d %s %v", items, code, data, err)
		}
	}
	send("", `{"config": {"executor": {"id": "mallory", "name": $, "capabilities": [{"swim": {"areas": [$], "description": $, $: $}}], "disarmed": $,
		"stopped": {"orders": [], "why": $, "devices": [{"device": $, "state": $}]}, "held": {"orders": [], "why": $}}}}`)
	clean := func(p *chromium.Tab, title, where string) {
		t.Helper()
		var bad []string
		p.Eval(`[document.title].concat([...document.querySelectorAll("[onerror], [onclick], [onload], script:not([src]), img[src=x], [href^=javascript]")].map((e) => e.outerHTML.slice(0, 100)))`, &bad)
		if len(bad) != 1 || bad[0] != title {
			t.Errorf("%s: the page has run or holds %q", where, bad)
		}
		var turned bool
		if p.Eval(`/[\u202a-\u202e\u2066-\u2069\x7f-\x9f\u00ad\u200b\u3164\ufeff\u{e0000}-\u{e0fff}]/u.test(document.body.textContent + [...document.querySelectorAll("[aria-label], [title], [alt]")].map((e) => e.outerHTML).join())`, &turned); turned {
			t.Errorf("%s: letters are turned round, or something is hidden", where)
		}
		if faults := p.Faults(); len(faults) > 0 {
			t.Errorf("%s: %q", where, faults)
		}
	}
	p := h.openConsole(1280, 800)
	p.Until(`document.getElementById("stopped").textContent.includes("onerror") && document.getElementById("onhold").textContent.includes("onerror")`)
	p.Click("nav a", "Executors")
	p.Until(`document.getElementById("executors").textContent.includes("onerror") && document.getElementById("hold-who").textContent.includes("onerror") && document.getElementById("capabilities").textContent.includes("onerror")`)
	clean(p, "Executors · messkit", "things")
	send("", `{"config": {"executor": {"id": "mallory", "stopped": {"orders": [], "why": ""}, "held": {"orders": [], "why": ""}}}}`)
	p.Until(`document.getElementById("stopped").textContent === "" && document.getElementById("onhold").textContent === ""`)

	// Questions and progress.
	plan := "sha256:" + strings.Repeat("0", 64)
	ref := h.request(fill(`{"intent": "swim a length", "requires": ["swim"], "constraints": {"note": $}}`))
	p.Go(h.url + "/#task/" + ref)
	send(ref, `{"status": {"code": "claimed", "estimate": "PT1H"}}`)
	send(ref, `{"status": {"code": "needs_input", "message": $, "questions": [{"field": $, "question": $, "options": [$, "no"]}]}}`)
	p.Until(`document.querySelector("#detail .answers")?.textContent.includes("onerror")`)
	clean(p, "Tasks · messkit", "a question")
	p.Click("#detail .answers label", "onerror")
	p.Click("#detail .answers button", "Answer")
	p.Until(`[...document.querySelectorAll("#detail .timeline li.mine")].length === 2`) // the request, and the answer
	send(ref, `{"status": {"code": "needs_confirmation", "action": $, "consequences": $, "action_hash": "`+plan+`"}}`)
	p.Until(`[...document.querySelectorAll("#detail .answers p")].some((e) => e.textContent.includes("onerror"))`)
	clean(p, "Tasks · messkit", "a confirmation")
	p.Click("#detail .answers button", "Confirm")
	p.Until(`[...document.querySelectorAll("#detail .timeline li.mine")].length === 3`)
	send(ref, `{"status": {"code": "in_progress", "message": $, "progress_pct": 40, "action_hash": "`+plan+`"}}`)
	p.Until(`document.querySelector("#detail progress") && document.querySelector("#detail").textContent.includes("40%")`)
	send(ref, `{"status": {"code": "completed", "message": $}}, {"response": {"notes": $, "content": [$, {"text": $}, {"url": "javascript:document.title='run'"},
		{"url": $}, {"image": {"uri": "javascript:document.title='run'", "alt": $}}, {"image": $}, {"file": {"name": $, "uri": $}}, {"location": {"name": $, "lat": 1, "lng": 2}}, {"structured": {$: {$: $}}}, {$: $}]}}`)
	p.Until(`document.querySelector("#detail .result")?.textContent.includes("onerror")`)
	clean(p, "Tasks · messkit", "an answer")

	failed := h.request(`{"intent": "swim another length", "requires": ["swim"]}`)
	send(failed, `{"status": {"code": "claimed"}}`)
	send(failed, `{"status": {"code": "failed", "reason": {"type": "other", "detail": $, "effect": "none"}, "suggestion": $}}`)
	p.Go(h.url + "/#task/" + failed)
	p.Until(`document.querySelector("#detail .timeline")?.textContent.split("onerror").length > 2`)
	clean(p, "Tasks · messkit", "a failure")

	// Orders, and errors of the HTTP API.
	h.api(http.MethodPost, "/hold", fill(`{"why": $, "executors": ["mallory"]}`))
	p.Until(`document.getElementById("onhold").textContent.includes("onerror")`)
	h.api(http.MethodPost, "/resume", `{"executors": ["mallory"]}`)
	if code, _, err := client.call(key, http.MethodPost, "/mess", fill(`{"MESS": [{"config": {"executor": {"id": $}}}]}`)); err != nil || code/100 == 2 {
		t.Errorf("an executor of that name: %d %v", code, err)
	}
	h.api(http.MethodPost, "/stop", fill(`{"why": $}`))
	p.Until(`document.getElementById("stopped").textContent.includes("onerror")`)
	h.showLog(p)
	p.Until(`document.querySelector("#declined a")`)
	clean(p, "Log · messkit", "orders")
	h.run("clear", "--data", h.home+"/data")

	// The exchange offers a task with all these fields to a person.
	ana := h.openInvitation("Ana", "localhost", "look")
	ana.Until(`document.getElementById("onhold").textContent === ""`)
	h.request(fill(`{"intent": $, "requires": ["look"], "constraints": {"prefer": ["ana"]}, "context": [$, {"url": "javascript:document.title='run'"}, {"structured": {$: $}}], "response_hint": [{"text": $}, {"structured": {$: $}}, "confirmation"]}`))
	ana.Until(`document.getElementById("offers").textContent.includes("onerror")`)
	ana.Click("#offers button", "Accept")
	ana.Until(`document.querySelector("#mine textarea") && document.getElementById("mine").textContent.split("onerror").length > 3`)
	clean(ana, "Tasks for Ana · messkit", "a person's task")
}
