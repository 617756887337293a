package exchange_test

import (
	"bytes"
	"io"
	"strings"
	"testing"

	"github.com/messkit/messkit/exchange"
	"github.com/messkit/messkit/mess"
)

// A request names another request in its context: the executor gets the intent of that request too.
// The exchange rejects a name of no request.
func TestMentionedRequestIsShared(t *testing.T) {
	inHouse(t, func(h *house) {
		h.registers(kitchen, "take-photo")
		ear := h.listens(kitchen, "")
		first := h.says(agent, "request: {id: dinner, intent: vacuum the kitchen}").Ref
		again := h.says(agent, "request: {id: more, intent: the same again, context: [{ref: dinner}, Making stir fry]}").Ref
		for _, name := range []string{"context: [{ref: nothing}]", "context: [{ref: 2020-01-01-001}]", "ref: nothing"} {
			h.refuses(agent, "request: {id: mine, intent: look, "+name+"}", mess.MissingReference, "ref: there is no request")
		}
		h.refuses(agent, "request: {id: mine, intent: look, context: [{ref: mine}]}", mess.Invalid, "itself")
		h.refuses(other, "request: {intent: look, context: [{ref: "+first+"}]}", mess.MissingReference, "ref: there is no request") // it may not see it
		entry := h.thread(again).Request().Context[0]
		if ref, _ := entry.Extra.Get("thread"); entry.Value != "dinner" || ref != first {
			t.Errorf("the thread has %+v, want the ref %s", entry, first)
		}
		if intent, _ := entry.Extra.Get("intent"); intent != "vacuum the kitchen" {
			t.Errorf("the thread has %+v, want what was asked for", entry)
		}
		if len(ear.heard()) < 2 {
			t.Errorf("the executor has heard %d messages", len(ear.heard()))
		}

		// In one message the order does not matter.
		both := []byte("MESS: [{request: {id: b, intent: look there, context: [{ref: a}]}}, {request: {id: a, intent: look at the fridge}}]")
		m, err := mess.Parse(both)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := h.x.Post(t.Context(), exchange.Inbound{Actor: agent, Channel: "test", Message: m}); err != nil {
			t.Error(err)
		}

		// The same message again is the same request, also where "last" is another now.
		one := "request: {id: l, intent: look, context: [{ref: last}]}"
		ref := h.says(agent, one).Ref
		if twice := h.says(agent, one).Ref; twice != ref {
			t.Errorf("the same message again is %s, want %s", twice, ref)
		}
		h.refuses(agent, "request: {id: l, intent: look, context: [{ref: dinner}]}", mess.Conflict)
	})
}

// An executor may claim a thread by the client id of the requester (MESS 1.0 section 4.4), if only
// one pending request that it can do has this id.
func TestClaimByClientID(t *testing.T) {
	inHouse(t, func(h *house) {
		h.registers(kitchen, "take-photo")
		first := h.says(agent, "request: {id: get-onions, intent: buy onions}").Ref
		h.says(kitchen, "status: {re: get-onions, code: claimed}")
		h.is(first, mess.Claimed)
		h.says(agent, "request: {id: dice, intent: dice onions}")
		h.says(other, "request: {id: dice, intent: dice garlic}")
		h.refuses(kitchen, "status: {re: dice, code: claimed}", mess.NotFound)
		h.says(agent, "request: {id: print, intent: print clips, requires: [3d-print]}")
		h.refuses(kitchen, "status: {re: print, code: claimed}", mess.NotFound)
	})
}

// A request that mentions another one carries the images of that thread. The executor may return
// such an image with its own time and the ref of its thread. The exchange rejects any other image
// with a field "earlier".
func TestEarlierImageIsReused(t *testing.T) {
	inHouse(t, func(h *house) {
		h.registers(kitchen, "x")
		first := h.says(agent, "request: {id: look, intent: look}").Ref
		h.says(kitchen, replaceRef("status: {re: {ref}, code: claimed}", first))
		data := bytes.Repeat([]byte{0xff, 0xd8}, 1000)
		m, err := h.x.Attach(h.t.Context(), kitchen, first, "fridge.jpg", "image/jpeg", bytes.NewReader(data))
		if err != nil {
			t.Fatal(err)
		}
		picture := "file: " + m.File + ", mime: image/jpeg, size: 2000, sha256: " + m.SHA256 + ", captured_at: '2026-11-21T09:44:50Z'"
		h.says(kitchen, "re: "+first+"\nMESS: [{status: {code: completed}}, {response: {content: [{image: {"+picture+"}}]}}]")

		again := h.says(agent, "request: {intent: send me that picture again, context: [{ref: look}]}").Ref
		extra := h.thread(again).Request().Context[0].Extra
		list, _ := extra.Get("pictures")
		pictures, _ := list.([]any)
		if len(pictures) != 1 {
			t.Fatalf("the request carries %v", list)
		}
		given, _ := mess.Entry{Type: "image", Value: pictures[0]}.Media()
		if earlier, _ := given.Extra.Get("earlier"); earlier != first || given.CapturedAt != "2026-11-21T09:44:50Z" || given.SHA256 != m.SHA256 {
			t.Errorf("it carries %+v", given)
		}
		unmentioned := h.says(agent, "request: {intent: send me a picture}").Ref
		for _, ref := range []string{again, unmentioned} {
			h.says(kitchen, replaceRef("status: {re: {ref}, code: claimed}", ref))
		}
		says := func(ref, entry string) string {
			return "re: " + ref + "\nMESS: [{status: {code: completed}}, {response: {content: [{image: {" + entry + ", earlier: " + first + "}}]}}]"
		}
		h.refuses(kitchen, says(unmentioned, picture), mess.MissingReference, "does not mention it")
		h.refuses(kitchen, says(again, strings.Replace(picture, "09:44:50", "10:44:50", 1)), mess.MissingReference, "has no such picture")
		h.refuses(kitchen, says(again, strings.Replace(picture, m.SHA256, strings.Repeat("a", 64), 1)), mess.MissingReference, "has no such picture")
		h.says(kitchen, says(again, picture))
		all := h.thread(again).Attachments()
		if len(all) != 1 {
			t.Fatalf("%+v", all)
		}
		r, a, err := h.x.Attachment(h.t.Context(), agent, again, all[0].Name)
		if err != nil {
			t.Fatal(err)
		}
		defer r.Close()
		if got, err := io.ReadAll(r); err != nil || !bytes.Equal(got, data) || a.MIME != "image/jpeg" {
			t.Errorf("%+v, %d bytes, %v", a, len(got), err)
		}
	})
}
