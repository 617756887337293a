package exchange

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/messkit/messkit/exchange/store/memory"
	"github.com/messkit/messkit/mess"
)

// The state for open threads does not grow with the number of ended threads.
func TestEndedThreadsNeedNoState(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x, err := Open(t.Context(), DefaultConfig(), memory.New(), time.Now, slog.New(slog.DiscardHandler))
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- x.Run(ctx) }()
		requester, pi := Actor{ID: "asker", Roles: Requester}, Actor{ID: "pi", Roles: ExecutorRole}
		send := func(actor Actor, text string) string {
			t.Helper()
			m, err := mess.Parse([]byte(text))
			if err != nil {
				t.Fatal(err)
			}
			answer, err := x.Post(t.Context(), Inbound{Actor: actor, Message: m})
			if err != nil {
				t.Fatalf("%s: %v", text, err)
			}
			return answer.Items[0].(*mess.Ack).Ref
		}
		send(pi, "config: {executor: {id: pi, capabilities: [x]}}")
		open := send(requester, "request: {id: open, intent: wait, requires: [nothing]}")
		ended := send(requester, "request: {id: ended, intent: ring}")
		send(pi, "status: {re: "+ended+", code: claimed}")
		send(pi, "status: {re: "+ended+", code: completed}")
		for i := range 100 {
			id := fmt.Sprintf("n%d", i)
			ref := send(requester, "request: {id: "+id+", intent: ring, needed_by: \"2099-01-01T00:00:00Z\", constraints: {depends_on: [open, ended]}}")
			send(requester, "cancel: {re: "+ref+"}")
			if _, err := x.Attach(t.Context(), pi, ended, "late.txt", "", strings.NewReader(id)); err != nil {
				t.Fatal(err)
			}
		}
		time.Sleep(2 * time.Hour)
		synctest.Wait()
		x.open.mu.Lock()
		if n := x.open.due.Len(); n > 1 {
			t.Errorf("%d deadlines for one open thread", n)
		}
		if len(x.open.waiting) != 0 || len(x.uploads.byThread) != 0 || len(x.open.loading) != 0 || len(x.open.byRef) != 1 {
			t.Errorf("%d are waited for, %d have rooms, %d are coming, %d are open", len(x.open.waiting), len(x.uploads.byThread), len(x.open.loading), len(x.open.byRef))
		}
		x.open.mu.Unlock()
		send(requester, "cancel: {re: "+open+"}")
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
}
