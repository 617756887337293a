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
	withHarness(t, func(h *harness) {
		h.register(kitchen, "take-photo")
		sub := h.subscribe(kitchen, "")
		first := h.send(agent, "request: {id: dinner, intent: vacuum the kitchen}").Ref
		again := h.send(agent, "request: {id: more, intent: the same again, context: [{ref: dinner}, Making stir fry]}").Ref
		for _, name := range []string{"context: [{ref: nothing}]", "context: [{ref: 2020-01-01-001}]", "ref: nothing"} {
			h.wantError(agent, "request: {id: mine, intent: look, "+name+"}", mess.MissingReference, "ref: there is no request")
		}
		h.wantError(agent, "request: {id: mine, intent: look, context: [{ref: mine}]}", mess.Invalid, "itself")
		h.wantError(other, "request: {intent: look, context: [{ref: "+first+"}]}", mess.MissingReference, "ref: there is no request") // it may not see it
		entry := h.thread(again).Request().Context[0]
		if ref, _ := entry.Extra.Get("thread"); entry.Value != "dinner" || ref != first {
			t.Errorf("the thread has %+v, want the ref %s", entry, first)
		}
		if intent, _ := entry.Extra.Get("intent"); intent != "vacuum the kitchen" {
			t.Errorf("the thread has %+v, want what was asked for", entry)
		}
		if len(sub.events()) < 2 {
			t.Errorf("the executor has %d events, want at least 2", len(sub.events()))
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
		ref := h.send(agent, one).Ref
		if twice := h.send(agent, one).Ref; twice != ref {
			t.Errorf("the same message again is %s, want %s", twice, ref)
		}
		h.wantError(agent, "request: {id: l, intent: look, context: [{ref: dinner}]}", mess.Conflict)
	})
}

// An executor may claim a thread by the client id of the requester (MESS 1.0 section 4.4), if only
// one pending request that it can do has this id.
func TestClaimByClientID(t *testing.T) {
	withHarness(t, func(h *harness) {
		h.register(kitchen, "take-photo")
		first := h.send(agent, "request: {id: get-onions, intent: buy onions}").Ref
		h.send(kitchen, "status: {re: get-onions, code: claimed}")
		h.wantStatus(first, mess.Claimed)
		h.send(agent, "request: {id: dice, intent: dice onions}")
		h.send(other, "request: {id: dice, intent: dice garlic}")
		h.wantError(kitchen, "status: {re: dice, code: claimed}", mess.NotFound)
		h.send(agent, "request: {id: print, intent: print clips, requires: [3d-print]}")
		h.wantError(kitchen, "status: {re: print, code: claimed}", mess.NotFound)
	})
}

// A request that mentions another one carries the images of that thread. The executor may return
// such an image with its own time and the ref of its thread. The exchange rejects any other image
// with a field "earlier".
func TestEarlierImageIsReused(t *testing.T) {
	withHarness(t, func(h *harness) {
		h.register(kitchen, "x")
		first := h.send(agent, "request: {id: look, intent: look}").Ref
		h.send(kitchen, replaceRef("status: {re: {ref}, code: claimed}", first))
		data := bytes.Repeat([]byte{0xff, 0xd8}, 1000)
		m, err := h.x.Attach(h.t.Context(), kitchen, first, "fridge.jpg", "image/jpeg", bytes.NewReader(data))
		if err != nil {
			t.Fatal(err)
		}
		picture := "file: " + m.File + ", mime: image/jpeg, size: 2000, sha256: " + m.SHA256 + ", captured_at: '2026-11-21T09:44:50Z'"
		h.send(kitchen, "re: "+first+"\nMESS: [{status: {code: completed}}, {response: {content: [{image: {"+picture+"}}]}}]")

		again := h.send(agent, "request: {intent: send me that picture again, context: [{ref: look}]}").Ref
		extra := h.thread(again).Request().Context[0].Extra
		list, _ := extra.Get("pictures")
		pictures, _ := list.([]any)
		if len(pictures) != 1 {
			t.Fatalf("the request carries %v", list)
		}
		given, _ := mess.Entry{Type: "image", Value: pictures[0]}.Media()
		if earlier, _ := given.Extra.Get("earlier"); earlier != first || given.CapturedAt != "2026-11-21T09:44:50Z" || given.SHA256 != m.SHA256 {
			t.Errorf("the image is %+v", given)
		}
		unmentioned := h.send(agent, "request: {intent: send me a picture}").Ref
		for _, ref := range []string{again, unmentioned} {
			h.send(kitchen, replaceRef("status: {re: {ref}, code: claimed}", ref))
		}
		responseText := func(ref, entry string) string {
			return "re: " + ref + "\nMESS: [{status: {code: completed}}, {response: {content: [{image: {" + entry + ", earlier: " + first + "}}]}}]"
		}
		h.wantError(kitchen, responseText(unmentioned, picture), mess.MissingReference, "does not mention it")
		h.wantError(kitchen, responseText(again, strings.Replace(picture, "09:44:50", "10:44:50", 1)), mess.MissingReference, "has no such picture")
		h.wantError(kitchen, responseText(again, strings.Replace(picture, m.SHA256, strings.Repeat("a", 64), 1)), mess.MissingReference, "has no such picture")
		h.send(kitchen, responseText(again, picture))
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
