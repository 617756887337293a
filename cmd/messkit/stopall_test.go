package main

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/messkit/messkit/internal/cli"
	"github.com/messkit/messkit/internal/cli/safety"
)

// An executor confirms a stop before its drivers have answered; stop --all waits for them.
func TestStopAllWaitsForTheDevices(t *testing.T) {
	var looks atomic.Int32
	x := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		rw.Header().Set("Content-Type", "application/json")
		stopping, state := `[]`, "pending"
		switch {
		case r.Method == http.MethodPost:
			fmt.Fprint(rw, `{"MESS": [{"ack": {"received": "2026-03-01T12:00:00Z", "stops": [{"id": "s1", "executors": ["pi"]}]}}]}`)
			return
		case !strings.HasSuffix(r.URL.Path, "/executors"):
			fmt.Fprint(rw, `{"exchanges": [{"id": "home"}]}`)
			return
		}
		switch looks.Add(1) {
		case 1:
			stopping = `[{"id": "s1"}]`
		case 2:
		default:
			state = "safe"
		}
		fmt.Fprintf(rw, `{"executors": [{"id": "pi", "stopping": %s, "stopped": {"orders": ["s1"], "why": "smoke", "devices": [{"device": "lamp", "state": %q}]}}]}`, stopping, state)
	}))
	defer x.Close()
	key := filepath.Join(t.TempDir(), "key")
	if err := os.WriteFile(key, []byte("key"), 0o600); err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	args := []string{"stop", "--all", "--url", x.URL, "--exchange", "home", "--key-file", key}
	began := time.Now()
	code := cli.Main(args, strings.NewReader(""), &out, io.Discard)
	if time.Since(began) > safety.ReportWithin {
		t.Skip("this machine was blocked for longer than the wait for a stop")
	}
	if code != 0 || out.String() != "pi: stopped; 1 of 1 device safe\n" {
		t.Errorf("exit %d after %d looks: %s", code, looks.Load(), out.String())
	}
}
