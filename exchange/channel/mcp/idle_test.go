package mcp_test

import (
	"context"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/messkit/messkit/exchange/channel/mcp"
)

// An idle session ends, and a session with calls does not.
func TestIdleSessionsEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHarnessWithoutExecutor(t)
		d := mcp.NewHTTPServer(h.x, mcp.Config{Enabled: true, Sessions: 1, Idle: time.Hour}, "1.2.3", slog.New(slog.DiscardHandler))
		ctx, cancel := context.WithCancel(context.Background())
		done := make(chan error, 1)
		go func() { done <- d.Run(ctx) }()
		do := func(body, session string) *httptest.ResponseRecorder {
			req := httptest.NewRequest(http.MethodPost, "/mcp", strings.NewReader(body)).WithContext(ctx)
			req.Header.Set("Content-Type", "application/json")
			req.Header.Set("Accept", "application/json, text/event-stream")
			if session != "" {
				req.Header.Set("Mcp-Session-Id", session)
			}
			w := httptest.NewRecorder()
			d.Serve(model, w, req)
			return w
		}
		const ping = `{"jsonrpc":"2.0","id":2,"method":"ping"}`
		id := do(initialize, "").Header().Get("Mcp-Session-Id")
		for range 5 {
			time.Sleep(50 * time.Minute) // fake time
			if w := do(ping, id); w.Code != http.StatusOK {
				t.Fatalf("a session that is used: %d %s", w.Code, w.Body)
			}
		}
		if w := do(initialize, ""); w.Code != http.StatusTooManyRequests {
			t.Errorf("a second session: %d", w.Code)
		}
		time.Sleep(2 * time.Minute)
		second := do(initialize, "")
		if w := do(ping, id); w.Code != http.StatusNotFound || second.Code != http.StatusOK {
			t.Errorf("codes of the idle and the new session are %d, %d, want 404, 200", w.Code, second.Code)
		}
		time.Sleep(3 * time.Hour)
		if w := do(ping, second.Header().Get("Mcp-Session-Id")); w.Code != http.StatusNotFound {
			t.Errorf("a session that was idle for long: %d %s", w.Code, w.Body)
		}
		if w := do(initialize, ""); w.Code != http.StatusOK {
			t.Errorf("after it another: %d %s", w.Code, w.Body)
		}
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
		if w := do(initialize, ""); w.Code != http.StatusServiceUnavailable {
			t.Errorf("a closed door: %d", w.Code)
		}
	})
}
