package mqtt_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/messkit/messkit/exchange"
)

// askRequester makes an executor ask the requester of a thread.
func (p *client) askRequester(ref, epoch, questions string) {
	p.h.Helper()
	id := fmt.Sprintf("q%d", len(p.all()))
	p.publish(root+"e/pi/out", `{"id":"`+id+`","re":"`+ref+`","epoch":`+epoch+`,"MESS":[{"status":{"code":"needs_input","questions":[`+questions+`]}}]}`)
	if r := p.waitForText(`"re":"` + id + `"`); strings.Contains(r.text, "why") {
		p.h.Fatalf("the question is refused: %s", r.text)
	}
}

// Home Assistant answers a question of an executor with an option or in words. It does not run
// a template in the question.
func TestHomeAssistantAnswersQuestions(t *testing.T) {
	h := newHarness(t, func(c *exchange.Config) { c.States = true }).enableHomeAssistant()
	h.serve()
	a := h.connectHomeAssistant("")
	a.id = "pi"
	const at = root + "h/pi/"
	a.listen(root+"x/status", root+"e/pi/status", at+"task", at+"answer", at+"asks", at+"chooses", at+"writes")
	pi := h.newExecutor("pi")
	a.press("photo", "payload_press")
	ref := h.offeredRef(pi)
	epoch := h.claim(pi, ref)
	answerable := func(choose, write bool) {
		t.Helper()
		h.eventually(fmt.Sprintf("it can be chosen: %v, and written: %v", choose, write), func() bool {
			return a.available("choose") == choose && a.available("write") == write
		})
	}
	answerable(false, false)

	pi.askRequester(ref, epoch, `{"field":"{{ states('lock.x') }}{% if 1 %}","question":"which shelf?","options":["upper","{{ lower }}","upper"]}`)
	answerable(true, true)
	a.wantShown(at+"answer", `"question":"which shelf?"`)
	a.sendValue("choose", "{{ lower }}")
	pi.waitForText(`{"{{ states('lock.x') }}{% if 1 %}":"{{ lower }}"}`)
	answerable(false, false)
	a.wantShown(at+"answer", `{"question":null}`)

	pi.askRequester(ref, epoch, `{"field":"label","question":"what does it say?"}`)
	answerable(false, true)
	a.sendValue("write", "\"best\" before\n3/12")
	pi.waitForText(`{"label":"\"best\" before\n3/12"}`)
	answerable(false, false)

	// Home Assistant would show one of two, and no option that it cannot keep.
	pi.askRequester(ref, epoch, `{"field":"a","question":"one?"},{"field":"b","question":"two?"}`)
	a.wantShown(at+"task", `"question":"one? two?"`)
	answerable(false, false)
	h.send(exchange.Actor{ID: "homeassistant", Roles: exchange.Requester}, `reply: {re: `+ref+`, answers: {a: 1, b: 2}}`)
	pi.askRequester(ref, epoch, `{"field":"long","question":"three?","options":["short","`+strings.Repeat("long", 64)+`"]}`)
	answerable(false, true)

	// Home Assistant shows the question to another requester, but cannot answer it.
	h.send(exchange.Actor{ID: "anna", Roles: exchange.Operator}, `cancel: {re: `+ref+`}`)
	other := h.request(`request: {intent: look, requires: [take-photo]}`)
	pi.waitForText(other)
	epoch = h.claim(pi, other)
	pi.askRequester(other, epoch, `{"field":"x","question":"which of these?","options":["a","b"]}`)
	a.wantShown(at+"task", `"question":"which of these?"`)
	answerable(false, false)
}
