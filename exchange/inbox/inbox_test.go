package inbox_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/messkit/messkit/exchange"
	"github.com/messkit/messkit/exchange/inbox"
	"github.com/messkit/messkit/exchange/thread"
	"github.com/messkit/messkit/mess"
)

func TestRequestersGetMessagesOfOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHarness(t)
		b, end := h.open()
		mine, yours := h.requestThroughChannel(b, "me"), h.requestThroughChannel(b, "you")
		h.claim(mine)
		h.reportProgress(mine, "one")
		h.want("at once", "me claimed", "me in_progress one")
		h.setRejecting("you", true)
		h.claim(yours)
		h.reportProgress(mine, "two")
		h.want("while another does not listen", "me in_progress two")
		time.Sleep(time.Minute)
		h.want("later")
		h.setRejecting("you", false)
		time.Sleep(time.Minute)
		h.want("when it listens again", "you claimed")
		end()
		h.reportProgress(mine, "three")
		h.reportProgress(yours, "four")
		_, end = h.open()
		if got := h.sentMessages(); len(got) != 2 || !slices.Contains(got, "me in_progress three") || !slices.Contains(got, "you in_progress four") {
			t.Errorf("after a restart: %q", got)
		}
		end()
	})
}

// A requester that asks through another channel gets the messages after its first message on this
// channel.
func TestThreadOfOtherChannel(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHarness(t)
		b, _ := h.open()
		ref := h.post("me", exchange.Requester, "request: {intent: look, requires: [look]}").Items[0].(*mess.Ack).Ref
		other := h.post("me", exchange.Requester, "request: {intent: look, requires: [look]}").Items[0].(*mess.Ack).Ref
		h.claim(ref)
		h.claim(other)
		h.want("before it speaks here")
		before := b.Position()
		ack := h.post("me", exchange.Requester, "cancel: {re: "+ref+"}").Items[0].(*mess.Ack)
		if err := b.Add(t.Context(), "me", before, []string{ack.Ref}); err != nil {
			t.Fatal(err)
		}
		h.reportProgress(other, "on")
		for _, one := range h.sentMessages() {
			if strings.HasSuffix(one, "claimed") {
				t.Errorf("%q is older", one)
			}
		}
	})
}

// One requester accepts nothing: after a restart, the others get no message again, and that one
// gets only its missing messages. A step back of the clock changes nothing.
func TestDelayedRequesterGetsMissingMessages(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHarness(t)
		b, end := h.open()
		yours := h.requestThroughChannel(b, "you")
		h.claim(yours)
		h.want("first", "you claimed")
		h.setRejecting("you", true)
		h.reportProgress(yours, "missed")
		var refs []string
		for i := range 3 {
			refs = append(refs, h.requestThroughChannel(b, fmt.Sprint("me", i)))
			h.claim(refs[i])
			h.reportProgress(refs[i], "on")
			h.complete(refs[i], "done")
			time.Sleep(time.Minute) // it is stored
		}
		if got := h.sentMessages(); len(got) != 9 {
			t.Errorf("sent: %q", got)
		}
		for range 2 {
			end()
			h.back.Add(int64(time.Hour))
			_, end = h.open()
			time.Sleep(time.Minute)
			h.want("after a restart")
		}
		h.setRejecting("you", false)
		time.Sleep(time.Minute)
		h.want("when it listens", "you in_progress missed")
		end()
		_, end = h.open()
		time.Sleep(time.Minute)
		h.want("after all")
		end()
	})
}

// The program ends at each write: the inbox sends every message at least once.
func TestKillAtEachWriteLosesNothing(t *testing.T) {
	for left := range int64(100) {
		over := false
		synctest.Test(t, func(t *testing.T) {
			h := newHarness(t)
			h.disk.left.Store(left)
			b, end := h.open()
			var got []string
			refs := map[string]string{}
			for i := range 3 {
				id := fmt.Sprint("r", i)
				refs[id] = h.requestThroughChannel(b, id)
				h.claim(refs[id])
				time.Sleep(6 * time.Second)
				h.setRejecting("r1", true)
			}
			for id, ref := range refs {
				h.reportProgress(ref, "for "+id)
			}
			time.Sleep(6 * time.Second)
			got = append(got, h.sentMessages()...)
			over = h.disk.left.Load() > 0
			end()
			h.disk.left.Store(-1)
			for id, ref := range refs {
				h.complete(ref, "of "+id)
			}
			h.setRejecting("r1", false)
			b, end = h.open()
			for id := range refs { // a requester without an ack repeats its request
				if err := b.Add(t.Context(), id, "", []string{refs[id]}); err != nil {
					t.Fatal(err)
				}
			}
			time.Sleep(time.Minute)
			got = append(got, h.sentMessages()...)
			for id := range refs {
				for _, want := range []string{"claimed", "in_progress for " + id, "completed of " + id} {
					if !slices.Contains(got, id+" "+want) {
						t.Errorf("killed after %d writes: %q was not sent; sent %q", left, id+" "+want, got)
					}
				}
			}
			end()
		})
		if over || t.Failed() {
			if left < 5 {
				t.Errorf("only %d writes", left)
			}
			return
		}
	}
	t.Error("the writes do not end")
}

// The store fails to store a requester that is behind: it gets no common position that passes the
// requester, so after a crash the requester gets its messages.
func TestRequestersAreStoredFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHarness(t)
		b, end := h.open()
		yours, mine := h.requestThroughChannel(b, "you"), h.requestThroughChannel(b, "me")
		h.claim(mine)
		h.claim(yours)
		h.sentMessages()
		time.Sleep(time.Minute)
		h.setRejecting("you", true)
		h.disk.refuses.Store("asker.you")
		h.reportProgress(yours, "for you")
		h.reportProgress(mine, "for me")
		time.Sleep(time.Minute)
		h.want("while one does not listen", "me in_progress for me")
		end()
		h.disk.refuses.Store("")
		h.setRejecting("you", false)
		_, end = h.open()
		if got := h.sentMessages(); !slices.Contains(got, "you in_progress for you") {
			t.Errorf("after a crash: %q", got)
		}
		end()
	})
}

// An earlier version has stored times. Nothing older comes again.
func TestUpgrade(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHarness(t)
		request := func() string {
			return h.post("me", exchange.Requester, "request: {intent: look, requires: [look]}").Items[0].(*mess.Ack).Ref
		}
		old, known, open := request(), request(), request()
		h.claim(old)
		h.reportAndComplete(old)
		h.claim(known)
		h.claim(open)
		th, err := h.x.Thread(t.Context(), exchange.Actor{ID: "me", Roles: exchange.Requester}, known)
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute)
		doc := fmt.Sprintf(`{"at":%q,"told":[{"ref":%q,"serial":%d}]}`, h.now().Format(time.RFC3339Nano), known, th.Serial)
		if err := h.x.SaveChannelState(t.Context(), channel, "asker.me", []byte(doc)); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute)
		h.reportProgress(known, "one")
		h.reportProgress(open, "two")
		b, end := h.open()
		if n := b.Requesters(); n != 1 {
			t.Errorf("%d requesters", n)
		}
		h.want("after the upgrade", "me in_progress one", "me in_progress two")
		h.back.Store(int64(time.Hour))
		h.reportProgress(open, "three")
		h.want("and then", "me in_progress three")
		end()
		_, end = h.open()
		h.want("later")
		end()
	})
}

// The inbox removes a requester after seven silent days without an open thread, and not before.
func TestSilentRequesterIsRemoved(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHarness(t)
		b, end := h.open()
		h.requestThroughChannel(b, "waits")
		done := h.requestThroughChannel(b, "done")
		h.claim(done)
		h.reportAndComplete(done)
		time.Sleep(8 * 24 * time.Hour)
		h.sentMessages()
		if n := b.Requesters(); n != 1 {
			t.Errorf("%d requesters, want 1", n)
		}
		end()
		b, end = h.open()
		if n := b.Requesters(); n != 1 {
			t.Errorf("%d requesters after a restart, want 1", n)
		}
		end()
	})
}

// An inbox for which nothing comes writes nothing.
func TestIdleInboxWritesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHarness(t)
		b, _ := h.open()
		ref := h.requestThroughChannel(b, "me")
		time.Sleep(time.Minute)
		before := h.disk.writes.Load()
		ask := "request: {intent: look, requires: [look]}"
		h.post("other", exchange.Requester, ask)
		time.Sleep(time.Hour)
		if n := h.disk.writes.Load() - before; n != 0 {
			t.Errorf("%d writes without a requester, want 0", n)
		}
		time.Sleep(time.Second) // a save in the middle of the delivery would be two more
		h.claim(ref)
		time.Sleep(time.Minute)
		if n := h.disk.writes.Load() - before; n != 2 { // the requester and the position
			t.Errorf("%d writes, want 2", n)
		}
	})
}

// A channel that looks at its threads once it follows misses nothing.
func TestFollowMissesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHarness(t)
		ask := func() string {
			return h.post("me", exchange.Requester, "request: {intent: look, requires: [look]}").Items[0].(*mess.Ack).Ref
		}
		before := ask()
		synctest.Wait()
		var mu sync.Mutex
		changed := map[string]int{}
		during := ""
		h.runUntilStopped(func(ctx context.Context) error {
			inbox.Follow(ctx, h.x, quiet, func() { during = ask(); h.claim(during); time.Sleep(time.Second) }, func(e thread.Envelope) {
				mu.Lock()
				defer mu.Unlock()
				changed[e.Ref]++
			})
			return nil
		})
		time.Sleep(time.Minute)
		after := ask()
		synctest.Wait()
		mu.Lock()
		defer mu.Unlock()
		if changed[before] != 0 || changed[during] != 2 || changed[after] != 1 {
			t.Errorf("%v", changed)
		}
	})
}
