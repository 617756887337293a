package main

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// The operator drains an executor on the page. The page shows by whom, when and why, and the
// operator resumes the executor there.
func TestPageDrainsAndResumesExecutor(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("this test needs a browser and the built program")
	}
	h := startMesskit(t)
	p := h.openConsole(360, 740)
	p.Click("nav a", "Executors")
	p.Until(`document.getElementById("hold-who").options.length > 1`)
	p.Fill("#hold-why", "the floor is wet <b>")
	p.Click("#hold button", "Drain")
	p.Until(`/drained by operator since \d+:\d\d.*: the floor is wet <b>/.test(document.getElementById("onhold").textContent)`)
	p.Until(`/drained/.test(document.querySelector("#executors .chip.warn")?.textContent)`)
	h.checkAccessibility(p, "hold")
	h.checkWidths(p, "hold", 360, 740)

	ref := h.request(`{"intent": "turn on the porch light"}`)
	p.Click("nav a", "Tasks")
	p.Until(`document.querySelector("#open a")?.textContent === "turn on the porch light"`)
	if thread := h.api(http.MethodGet, "/requests/"+ref, ""); !strings.Contains(thread, `"status":"pending"`) {
		t.Errorf("the request is not pending during the drain: %s", thread)
	}
	p.Click("#onhold button", "Resume")
	p.Until(`document.getElementById("onhold").textContent === ""`)
	h.waitStatus(ref, "completed")
	if faults := p.Faults(); len(faults) > 0 {
		t.Errorf("in the page: %q", faults)
	}
}

// A hidden page says that it is not live, and since when. It reads the missed events when it is
// visible again.
func TestHiddenPageCatchesUp(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("this test needs a browser and the built program")
	}
	h := startMesskit(t, inWindows)
	p := h.openConsole(1280, 800)
	other := h.b.Open(t, 1280, 800)
	other.Front()
	p.Until(`document.hidden && /^as of \d.*: paused while the page is hidden$/.test(document.getElementById("line").textContent)`)
	if !h.hasClass(p, "line", "off") {
		t.Error("the hidden page shows a live connection")
	}
	ref := h.request(`{"intent": "turn on the porch light"}`)
	h.waitStatus(ref, "completed")
	p.Front()
	p.Until(`document.getElementById("line").textContent === "live"`)
	p.Until(`document.querySelector("#recent a")?.textContent === "turn on the porch light"`)
}

// A second press deregisters an executor on the page, and the banner of its stop disappears. Both
// return when the executor connects again.
func TestPageDeregistersExecutor(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("this test needs a browser and the built program")
	}
	config := filepath.Join(t.TempDir(), "messkit.yaml")
	if err := os.WriteFile(config, []byte("exchange: {unreachable: 1s, quiet_lease: 1s}\ndevices:\n  porch-light: {driver: sim-lamp}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	h := startMesskitWith(t, []string{"--config", config})
	h.api(http.MethodPost, "/register", `{"executor_id": "old-pi", "display_name": "The old Pi", "capabilities": ["look"]}`)
	h.api(http.MethodPost, "/stop", `{"why": "smoke", "executors": ["old-pi"]}`)
	p := h.openConsole(390, 844)
	p.Text("The old Pi: has not confirmed the stop, last heartbeat")
	p.Click("#stopped button", "Remove")
	p.Text("its devices may still be on, so check them first")
	h.checkAccessibility(p, "forget")
	h.checkWidths(p, "forget", 390, 844)
	p.Click("#stopped button", "Keep")
	p.Until(`document.querySelector("#stopped .forget").textContent === "Remove"`)
	p.Click("#stopped button", "Remove")
	p.Click("#stopped button", "Remove from all lists")
	p.Until(`document.getElementById("stopped").textContent === ""`)
	p.Click("#nav a", "Executors")
	p.Until(`document.getElementById("executors").childElementCount === 1`)
	if list := h.api(http.MethodGet, "/executors", ""); strings.Contains(list, "old-pi") {
		t.Errorf("on the list still: %s", list)
	}
	h.api(http.MethodPost, "/register", `{"executor_id": "old-pi", "display_name": "The old Pi", "capabilities": ["look"]}`)
	p.Text("The old Pi: has not confirmed the stop")
	p.Until(`[...document.querySelectorAll("#executors .forget")].length === 1`)
	if faults := p.Faults(); len(faults) > 0 {
		t.Errorf("the browser: %q", faults)
	}
}
