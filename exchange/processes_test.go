package exchange_test

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/messkit/messkit/exchange"
	"github.com/messkit/messkit/mess"
)

// The exchange rejects a message from another sender with its own name.
func TestExchangeNameIsReserved(t *testing.T) {
	withHarness(t, func(h *harness) {
		ref := h.send(agent, "request: {intent: look}").Ref
		h.wantError(exchange.Actor{ID: exchange.Self}, "status: {re: "+ref+", code: completed}", mess.Forbidden, "only the exchange itself")
	})
}

// A subscriber loses its connection between several pending offers: it gets all of them again.
func TestPendingOffersAreResent(t *testing.T) {
	withHarness(t, func(h *harness) {
		h.send(kitchen, "config: {executor: {id: kitchen-pi, capabilities: [x]}}")
		for range 3 {
			h.send(agent, "request: {intent: look, requires: [x]}")
		}
		cut := errors.New("cut")
		after := ""
		err := h.x.Follow(h.t.Context(), kitchen, "", func(e exchange.Event) error {
			after = e.ID
			return cut
		})
		if !errors.Is(err, cut) {
			t.Fatal(err)
		}
		if got := h.subscribe(kitchen, after).events(); len(got) != 3 {
			t.Errorf("resumed with %q, want the three offers", got)
		}
		all := h.subscribe(kitchen, "")
		if got := h.subscribe(kitchen, all.list[2].ID).events(); len(got) != 0 {
			t.Errorf("after the last: %q, want nothing", got)
		}
	})
}

// A local executor receives its events as messages.
func TestLocalExecutorReceivesMessages(t *testing.T) {
	withHarness(t, func(h *harness) {
		h.send(kitchen, "config: {executor: {id: kitchen-pi, capabilities: [x]}}")
		ctx, stop := context.WithCancel(h.t.Context())
		var got []mess.Message
		done := make(chan error, 1)
		go func() {
			done <- h.x.As(kitchen, "local").Receive(ctx, func(m mess.Message) { got = append(got, m) })
		}()
		synctest.Wait() // from here on, an offer comes once
		ref := h.send(agent, "request: {intent: look, requires: [x]}").Ref
		h.send(kitchen, "status: {re: "+ref+", code: claimed}")
		h.send(kitchen, "status: {re: "+ref+", code: needs_input, questions: [{field: where, question: where}]}")
		// The item's re is the question, the message's the thread.
		h.send(agent, "{re: "+ref+", MESS: [{answer: {re: where, value: left}}]}")
		h.send(agent, "cancel: {re: "+ref+"}")
		synctest.Wait()
		stop()
		if err := <-done; err != nil {
			t.Error(err)
		}
		if len(got) != 3 {
			t.Fatalf("%d messages: %+v", len(got), got)
		}
		a, ok := got[1].Items[0].(*mess.Answer)
		if !ok || a.Value != "left" || len(a.Re) != 1 || a.Re[0] != "where" || got[1].Re[0] != ref {
			t.Errorf("answer: %+v", got[1])
		}
		if _, ok := got[2].Items[0].(*mess.Cancel); !ok {
			t.Errorf("cancel: %+v", got[2])
		}
	})
}

// brokenReader is a body that ends in the middle.
type brokenReader struct{}

func (brokenReader) Read([]byte) (int, error) { return 0, io.ErrUnexpectedEOF }

func TestMissingAttachmentsAreRejected(t *testing.T) {
	withHarness(t, func(h *harness) {
		h.send(kitchen, "config: {executor: {id: kitchen-pi, capabilities: [x]}}")
		ref := h.send(agent, "request: {intent: look, requires: [x]}").Ref
		h.send(kitchen, "status: {re: "+ref+", code: claimed}")
		if _, err := h.x.Attach(h.t.Context(), kitchen, ref, "a.jpg", "", brokenReader{}); !errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, mess.Unavailable) {
			t.Errorf("a body that breaks off: %v", err)
		}
		h.send(kitchen, "{re: "+ref+", MESS: [{status: {code: completed}}, {response: {content: [{image: {file: att-001-image-x.jpg}}]}}]}")
		th, err := h.x.Thread(h.t.Context(), agent, ref)
		if err != nil || len(th.Attachments()) != 0 {
			t.Errorf("%+v, %v", th.Attachments(), err)
		}
		_, _, err = h.x.Attachment(h.t.Context(), agent, ref, "att-001-image-x.jpg")
		if !errors.Is(err, mess.NotFound) || !strings.Contains(err.Error(), "has no attachment") {
			t.Errorf("got %v", err)
		}
	})
}

// Two processes may have the same id and key, as those of a copied card have.
// The claim is one's, and so is the start.
func TestClaimBelongsToOneProcess(t *testing.T) {
	statusMessage := func(ref, status string) string { return "re: " + ref + "\nMESS: [{status: {" + status + "}}]" }
	withHarness(t, func(h *harness) {
		h.register(kitchen, "x")
		ref := h.send(agent, "request: {intent: ring}").Ref
		h.send(kitchen, statusMessage(ref, "code: claimed, instance: one"))
		if again := h.send(kitchen, statusMessage(ref, "code: claimed, instance: one")); again.Epoch != 1 {
			t.Errorf("the claim again: %+v", again)
		}
		for _, late := range []string{"code: claimed, instance: two", "code: claimed", "code: in_progress, instance: two", "code: in_progress"} {
			h.wantError(kitchen, statusMessage(ref, late), mess.Conflict, "another process of the same executor")
		}
		h.wantStatus(ref, mess.Claimed)
		h.send(kitchen, statusMessage(ref, "code: in_progress, instance: one"))
		h.send(kitchen, statusMessage(ref, "code: in_progress, instance: one")) // it may ask for the start permission again
		h.send(kitchen, statusMessage(ref, "code: in_progress, progress_pct: 5"))
		h.wantError(kitchen, statusMessage(ref, "code: in_progress, instance: two"), mess.Conflict)
	})
	withHarness(t, func(h *harness) { // an executor without an instance can repeat its messages
		h.register(kitchen, "x")
		ref := h.send(agent, "request: {intent: ring}").Ref
		h.send(kitchen, statusMessage(ref, "code: claimed"))
		h.send(kitchen, statusMessage(ref, "code: claimed"))
		h.send(kitchen, statusMessage(ref, "code: in_progress"))
		h.send(kitchen, statusMessage(ref, "code: in_progress"))
	})
}

// An executor restarts: the exchange takes back a claim without a start, and reports a started
// thread to the new process.
func TestRestartedExecutorLosesClaims(t *testing.T) {
	withHarness(t, func(h *harness) {
		const pi = "config: {executor: {id: kitchen-pi, capabilities: [x], versions: [1.1.0], holding: [], instance: "
		h.send(kitchen, pi+"one}}")
		claim := func() string {
			ref := h.send(agent, "request: {intent: ring}").Ref
			h.send(kitchen, "re: "+ref+"\nMESS: [{status: {code: claimed, instance: one}}]")
			return ref
		}
		asked, started := claim(), claim()
		h.send(kitchen, "status: {re: "+asked+", code: needs_confirmation, action: ring it}")
		h.send(kitchen, "status: {re: "+started+", code: in_progress, instance: one}")
		h.send(kitchen, pi+"one}}") // it has reconnected: it is the same process
		h.wantStatus(asked, mess.NeedsConfirmation)

		sub := h.subscribe(kitchen, "")
		// The first process is still connected: this may be a copy of it.
		if ack := h.send(kitchen, pi+"two}}"); len(ack.Threads) != 0 {
			t.Errorf("threads of the copy are %+v, want none", ack.Threads)
		}
		h.wantStatus(asked, mess.NeedsConfirmation)
		sub.stop()
		ack := h.send(kitchen, pi+"three}}")
		h.wantStatus(asked, mess.Pending)
		h.wantStatus(started, mess.InProgress)
		if len(ack.Threads) != 1 || ack.Threads[0].Ref != started {
			t.Errorf("threads of the new process are %+v, want the started one", ack.Threads)
		}
		h.wantError(agent, "reply: {re: "+asked+", confirm: true}", mess.IllegalTransition, "no confirmation is open")
		if s := h.lastStatus(asked); !strings.Contains(s.Message, "restarted before it began") {
			t.Errorf("message of the thread is %q", s.Message)
		}
	})
}

// An executor that shuts down delegates a thread that it has not started. It has not declined the
// thread, and gets the offer again when it is back.
func TestShutdownDelegatesUnstartedThread(t *testing.T) {
	withHarness(t, func(h *harness) {
		h.register(kitchen, "x")
		ref := h.send(agent, "request: {intent: ring}").Ref
		h.send(kitchen, "status: {re: "+ref+", code: claimed}")
		h.send(kitchen, "status: {re: "+ref+", code: needs_confirmation, action: ring it}")
		h.send(agent, "reply: {re: "+ref+", confirm: true}")
		h.send(kitchen, "status: {re: "+ref+", code: delegated, reason: {type: shutdown, detail: it ends}}")
		h.wantStatus(ref, mess.Pending)
		h.wantError(agent, "reply: {re: "+ref+", confirm: true}", mess.IllegalTransition)
		if got := h.subscribe(kitchen, "").events(); len(got) != 1 || got[0] != "offer "+ref+" request" {
			t.Errorf("events after its return are %q, want the offer", got)
		}
		h.send(kitchen, "status: {re: "+ref+", code: claimed}")
	})
}

// The exchange rejects a confirmation while the executor is disconnected and silent, because it may
// be dead.
func TestConfirmationNeedsLiveExecutor(t *testing.T) {
	withHarness(t, func(h *harness) {
		ref := h.openConfirmation(valve, "")
		confirmation := "reply: {re: " + ref + ", confirm: true}"
		h.advance(20 * time.Second)
		h.wantError(agent, confirmation, mess.NotYet, "kitchen-pi", "unreachable")
		h.wantStatus(ref, mess.NeedsConfirmation)
		h.send(kitchen, "config: {executor: {id: kitchen-pi, holding: [{ref: "+ref+", epoch: 1}]}}")
		h.send(agent, confirmation)
		h.wantStatus(ref, mess.Claimed)

		ref = h.openConfirmation("request: {intent: close it again, confirm_before: true}", "")
		h.subscribe(kitchen, "") // it is connected
		h.advance(20 * time.Second)
		h.send(agent, "reply: {re: "+ref+", confirm: true}")
		h.wantStatus(ref, mess.Claimed)
	})
}

// A candidate claims a thread just after its end: the error names the status. Later, and for other
// executors, the error is the one for an unknown thread.
func TestLateClaimNamesStatus(t *testing.T) {
	withHarness(t, func(h *harness) {
		h.register(kitchen, "look")
		h.register(garage, "dig")
		ref := h.send(agent, "request: {intent: look, requires: [look]}").Ref
		h.send(agent, "cancel: {re: "+ref+"}")
		if r := h.wantError(kitchen, "status: {re: "+ref+", code: claimed}", mess.IllegalTransition); r.Status != mess.Cancelled {
			t.Errorf("%+v", r)
		}
		h.wantError(kitchen, "status: {re: "+ref+", code: completed}", mess.NotFound)
		h.wantError(garage, "status: {re: "+ref+", code: claimed}", mess.NotFound)
		h.advance(2 * time.Minute)
		h.wantError(kitchen, "status: {re: "+ref+", code: claimed}", mess.NotFound)
	})
}
