package agentmail_test

import (
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/messkit/messkit/exchange"
	"github.com/messkit/messkit/exchange/channel/agentmail"
	"github.com/messkit/messkit/exchange/store/memory"
)

// FuzzState writes any content into the state file: the adapter opens and works, or its error
// names the file and the remedy, and the file stays unchanged.
func FuzzState(f *testing.F) {
	for _, text := range []string{
		`{}`, `null`, `{"tasks":{"x":null}}`, `{"given":{"x":null}}`, `{"out":[null]}`, `{"seen":[1],"seq":7`,
		`{"name":"Home-1","token":"t","tasks":{"2026-11-22-001":{"peer":"boss","actor":"boss","http":true,"id":"bd-1","told":-1,"asked":[{"ref":"x"}]}},"given":{"2026-11-22-002":{"agent":"arm_01","epoch":1}},
"out":[{"seq":1,"id":"m","to":"Orchestrator-1","http":true,"ref":"2026-11-22-001","index":-1,"kind":"progress"},{"seq":2,"http":true,"to":"Orchestrator-1","body":{}}],"zones":[{"devices":["lamp"],"until":"2099-01-01T00:00:00Z"}]}`,
	} {
		f.Add(text)
	}
	x, err := exchange.Open(f.Context(), exchange.DefaultConfig(), memory.New(), time.Now, slog.New(slog.DiscardHandler))
	if err != nil {
		f.Fatal(err)
	}
	cfg := agentmail.Config{On: true, Poll: time.Second, MaxZone: time.Hour, Zones: map[string][]string{"kitchen": {"lamp"}}}
	f.Fuzz(func(t *testing.T, text string) {
		dir := t.TempDir()
		name := filepath.Join(dir, "agentmail.json")
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		d, err := agentmail.Open(t.Context(), x, cfg, nil, dir, time.Now, slog.New(slog.DiscardHandler))
		if err != nil {
			is, err2 := os.ReadFile(name)
			if !strings.Contains(err.Error(), "restore it from a copy") || err2 != nil || string(is) != text {
				t.Errorf("%v; %v", err, err2)
			}
			return
		}
		d.Status()
		d.Reserved("lamp", "bert")
		for _, one := range [][2]string{{http.MethodGet, ""}, {http.MethodPost, reservation(boss, "r", "shared_read", "zone/kitchen", 1, "")}, {http.MethodPost, "yes"}, {http.MethodGet, ""}} {
			w := httptest.NewRecorder()
			d.Serve(orchestrator, w, httptest.NewRequestWithContext(t.Context(), one[0], agentmail.Path+"?after=0", strings.NewReader(one[1])))
			if w.Code == http.StatusInternalServerError {
				t.Errorf("%s: %s", one[0], w.Body)
			}
		}
	})
}
