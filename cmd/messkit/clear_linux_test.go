package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/messkit/messkit/agent/stop"
)

// `messkit clear` at a terminal asks before it resets a stop whose devices are not known to be
// safe. Only a yes resets it.
func TestClearAsksAtTerminal(t *testing.T) {
	home := t.TempDir()
	dir := filepath.Join(home, "data", "stop")
	order := stop.Order{ID: "1", Reason: "smoke", At: time.Now()}
	if err := stop.WriteOrder(dir, order); err != nil {
		t.Fatal(err)
	}
	report := `{"orders": ["1"], "devices": [{"device": "lamp", "state": "safe", "took_ms": 1}, {"device": "pump", "state": "unsafe", "took_ms": 1, "err": "no route"}]}`
	if err := os.WriteFile(filepath.Join(dir, "report.json"), []byte(report), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ answer, wantText string }{{"\n", "nothing was changed"}, {"\x04", "nothing was changed"}, {"n\n", "nothing was changed"}, {"y\n", "cleared: smoke"}} {
		out, err := runAtTerminal(t, home, "", map[string]string{"clear all the same? [y/N] ": c.answer}, "clear", "--data", "data")
		if !strings.Contains(out, "not known to be safe: pump (no route)") || strings.Contains(out, "lamp") || !strings.Contains(out, c.wantText) {
			t.Errorf("after %q: %q, %v", c.answer, out, err)
		}
		if cleared := len(stop.ReadOrders(dir)) == 0; cleared != (c.answer == "y\n") || cleared != (err == nil) {
			t.Errorf("after %q: cleared=%t, %v", c.answer, cleared, err)
		}
	}
}
