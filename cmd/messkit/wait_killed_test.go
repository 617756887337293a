package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A kill during a wait for a condition does not repeat the completed step before it. The next run
// continues to wait, and reports both.
func TestKilledWaitContinues(t *testing.T) {
	dir := t.TempDir()
	hall, config := filepath.Join(dir, "hall.log"), filepath.Join(dir, "messkit.yaml")
	text := fmt.Sprintf(`exchange: {listen: '127.0.0.1:0', data: %[1]s}
agent: {id: pi, data: %[1]s, disarm: [], watch: {every: 1s}}
devices:
  hall: {driver: sim-lamp, line: hall, file: %[2]s, class: light, area: hall, initial: keep, safe: keep, effect: once}
  porch: {driver: sim-lamp, line: porch, file: %[1]s/porch.log, class: light, area: porch, initial: keep, safe: keep}
`, dir, hall)
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	run := func() (*process, *apiClient) {
		p, err := start(dir, "messkit", "run", "--config", config)
		if err != nil || p.url == "" {
			t.Fatalf("%v\n%s", err, &p.stderr)
		}
		key, err := operatorKey(dir)
		if err != nil {
			t.Fatal(err)
		}
		return p, newAPIClient(p.url, key, "")
	}
	request := func(d *apiClient, intent string) (ref string) {
		var v struct{ Ref string }
		code, data, err := d.call(d.operator, http.MethodPost, "/requests", fmt.Sprintf(`{"intent":%q}`, intent))
		if err != nil || code != http.StatusCreated {
			t.Fatalf("%d %s %v", code, data, err)
		}
		if err := json.Unmarshal(data, &v); err != nil {
			t.Fatal(err)
		}
		return v.Ref
	}
	thread := func(d *apiClient, ref string) string {
		_, data, err := d.call(d.operator, http.MethodGet, "/requests/"+ref, "")
		if err != nil {
			return err.Error()
		}
		return string(data)
	}
	p, d := run()
	ref := request(d, "turn on the hall light and tell me when the porch light goes on")
	eventually(t, "it watches", func() bool { return strings.Contains(thread(d, ref), "watching; now: off") })
	if err := p.kill(); err != nil {
		t.Fatal(err)
	}
	p, d = run()
	defer func() {
		if err := p.stop(); err != nil {
			t.Error(err)
		}
	}()
	request(d, "turn on the porch light")
	eventually(t, "the result is reported", func() bool { return strings.Contains(thread(d, ref), `"status":"completed"`) })
	for _, want := range []string{"The hall is on", "The porch: on, seen at", "the program restarted during this watch"} {
		if got := thread(d, ref); !strings.Contains(got, want) {
			t.Errorf("%q is not in %s", want, got)
		}
	}
	log, err := os.ReadFile(hall)
	if err != nil || strings.Count(strings.TrimSpace(string(log)), "\n") != 0 || !strings.Contains(string(log), "on") {
		t.Errorf("the hall light was switched as %q, %v; want it on, once", log, err)
	}
}
