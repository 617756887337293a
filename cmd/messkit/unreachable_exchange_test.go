package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/messkit/messkit/internal/cli/client"
	"github.com/messkit/messkit/internal/cli/output"
)

// screenText collects the output of the follower. The test reads it concurrently.
type screenText struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (s *screenText) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.Write(p)
}

func (s *screenText) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.String()
}

// A waiting client reports that the exchange is unreachable and that it is reachable again. If
// the exchange does not return, the client stops waiting.
func TestWaitingClientReportsUnreachableExchange(t *testing.T) {
	var gone, streams atomic.Bool
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case gone.Load():
			w.WriteHeader(http.StatusBadGateway)
		case strings.HasSuffix(r.URL.Path, "/events"):
			w.Header().Set("Content-Type", "text/event-stream")
			fmt.Fprint(w, ": here\n\n")
			_ = http.NewResponseController(w).Flush()
			streams.Store(true)
			<-r.Context().Done()
		default:
			fmt.Fprint(w, `{"thread": {"ref": "2026-11-22-001", "status": "pending", "messages": []}}`)
		}
	}))
	defer server.Close()
	defer server.CloseClientConnections()
	key := filepath.Join(t.TempDir(), "key")
	if err := os.WriteFile(key, []byte("mess_home_secret"), 0o600); err != nil {
		t.Fatal(err)
	}
	x, err := (&client.Client{URL: server.URL, Exchange: "home", KeyFile: key}).Open()
	if err != nil {
		t.Fatal(err)
	}
	var out screenText
	a, ended := output.NewEnv(strings.NewReader(""), &out, &out), make(chan error, 1)
	w := &client.FollowOptions{Look: time.Millisecond, Absent: time.Hour}
	until := func(what string, is func() bool) {
		t.Helper()
		for end := time.Now().Add(patience); !is(); time.Sleep(time.Millisecond) {
			if time.Now().After(end) {
				t.Fatalf("%s: not yet: %q", what, out.String())
			}
		}
	}
	waitForText := func(what string) {
		t.Helper()
		until(what, func() bool { return strings.Contains(out.String(), what) })
	}
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	go func() { ended <- client.Follow(ctx, a, x, "2026-11-22-001", w) }()
	until("it follows", streams.Load)
	gone.Store(true)
	waitForText("the exchange does not answer: ")
	gone.Store(false)
	waitForText("the exchange is there again")
	if n := strings.Count(out.String(), "\n"); n != 2 {
		t.Errorf("%d lines: %q", n, out.String())
	}
	stop()
	if err := <-ended; err == nil || !strings.Contains(err.Error(), "it continues without you") {
		t.Error(err)
	}

	gone.Store(true)
	f := client.NewFollower(a, x, "2026-11-22-001", &client.FollowOptions{Absent: time.Nanosecond})
	f.Away = time.Now().Add(-time.Hour)
	err = f.Look(t.Context())
	if h, ok := errors.AsType[*output.HintError](err); !ok || !strings.Contains(err.Error(), "did not answer for") || !strings.Contains(h.Hint, "messkit show 2026-11-22-001") {
		t.Error(err)
	}
}
