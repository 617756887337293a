package mqtt_test

import (
	"fmt"
	"log/slog"
	"sync/atomic"
	"testing"
	"time"

	"github.com/messkit/messkit/exchange"
	"github.com/messkit/messkit/exchange/keys"
	"github.com/messkit/messkit/exchange/store/memory"
	"github.com/messkit/messkit/mess"
)

// The adapter restarts after a pause, and the clock may go back during it: a requester gets the
// results of the pause, and no older results again.
func TestResultAfterClockSetBackArrives(t *testing.T) {
	var back atomic.Int64
	h := &harness{T: t, dir: t.TempDir(), log: &log{}}
	var err error
	if h.keys, err = keys.Open(h.dir, "home"); err != nil {
		t.Fatal(err)
	}
	now := func() time.Time { return time.Now().Add(-time.Duration(back.Load())).Round(0) }
	if h.x, err = exchange.Open(t.Context(), exchange.DefaultConfig(), memory.New(), now, slog.New(slog.DiscardHandler)); err != nil {
		t.Fatal(err)
	}
	runUntilStopped(t, h.x.Run)
	h.serve()
	key := h.key("me", exchange.Requester)
	me := h.connect(login{id: "me", user: "me", key: key}).listen(root + "a/me/in")
	post := func(text string) {
		t.Helper()
		m, err := mess.Parse([]byte(text))
		if err == nil {
			_, err = h.x.Post(t.Context(), exchange.Inbound{Actor: exchange.Actor{ID: "pi", Roles: exchange.ExecutorRole}, Channel: "test", Message: m})
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	post("config: {executor: {id: pi, capabilities: [take-photo]}}")
	ends := func(ref, text string) {
		t.Helper()
		post("status: {re: " + ref + ", code: claimed}")
		post("re: " + ref + "\nMESS: [{status: {code: in_progress}}]")
		post("re: " + ref + "\nMESS: [{status: {code: completed, message: " + text + "}}]")
	}
	request := func(id string) string {
		t.Helper()
		me.publish(root+"a/me/out", fmt.Sprintf(photo, id))
		me.waitForText(`"re":"` + id + `"`)
		ref, err := h.x.Thread(t.Context(), exchange.Actor{ID: "me", Roles: exchange.Requester}, id)
		if err != nil {
			t.Fatal(err)
		}
		return ref.Ref
	}
	first, second, third := request("first"), request("second"), request("third")
	ends(first, "one")
	me.waitForText("one")
	post("status: {re: " + third + ", code: claimed, message: soon}")
	me.waitForText("soon")

	h.close() // which stores the positions
	back.Store(int64(2 * time.Hour))
	post("re: " + third + "\nMESS: [{status: {code: in_progress}}]")
	post("re: " + third + "\nMESS: [{status: {code: completed, message: three}}]")
	ends(second, "two")
	h.serve()
	me = h.connect(login{id: "me", user: "me", key: key}).listen(root + "a/me/in")
	me.waitForText("two")
	me.waitForText("three")
	if me.count("one") > 0 || me.count("two") != 1 { // the last message may come again
		t.Errorf("messages are %v, want no repetition", me.all())
	}
}
