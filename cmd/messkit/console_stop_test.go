package main

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/messkit/messkit/internal/test/chromium"
)

// The stop button acts after a press of one second with the mouse, a finger, Space or Enter. A short
// press stops nothing and says how the button works. After the stop the page names the devices that are
// safe, and the executors that did not answer or did not confirm.
func TestStopNeedsPressOfOneSecond(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("this test needs a browser and the built program")
	}
	config := filepath.Join(t.TempDir(), "messkit.yaml")
	if err := os.WriteFile(config, []byte("exchange: {unreachable: 5s, quiet_lease: 5s}\ndevices:\n  hall-light: {driver: sim-lamp}\n  porch-light: {driver: sim-lamp}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	h := startMesskitWith(t, []string{"--config", config})
	isStopped := func() bool { return strings.Contains(h.api(http.MethodGet, "/executors", ""), `"stopped"`) }
	text := func(id string) string { return `document.getElementById("` + id + `").textContent` }
	const stopped = `document.getElementById("stopped").textContent.includes("2 of 2 devices safe")`
	for _, c := range []struct {
		name   string
		width  int
		height int
		brief  func(p *chromium.Tab)
		hold   func(p *chromium.Tab)
	}{
		{"mouse", 1280, 800, func(p *chromium.Tab) { p.Hold("#stop button", false, "true") }, func(p *chromium.Tab) {
			p.Hold("#stop button", false, `parseFloat(getComputedStyle(document.querySelector("#stop button")).backgroundSize) > 20`) // the filling is visible
			h.pressStop(p)
		}},
		{"finger", 390, 844, func(p *chromium.Tab) { p.Hold("#stop button", true, "true") }, func(p *chromium.Tab) { p.Hold("#stop button", true, notHeld) }},
		{"Space", 1280, 800, func(p *chromium.Tab) { p.HoldKey("Space", "true") }, func(p *chromium.Tab) { p.HoldKey("Space", notHeld) }},
		{"Enter", 390, 844, func(p *chromium.Tab) { p.HoldKey("Enter", "true") }, func(p *chromium.Tab) { p.HoldKey("Enter", notHeld) }},
	} {
		t.Run(c.name, func(t *testing.T) {
			h.t = t
			h.waitStatus(h.request(`{"intent": "turn on the hall light"}`), "completed")
			p := h.openHome(c.width, c.height)
			v := homeView{h, p}
			v.waitDevice("hall-light", func(d homeDevice) bool { return d.State == "on" })
			p.Eval(`document.querySelector("#stop button").focus()`, nil)
			c.brief(p)
			p.Until(text("stop-hint") + ` === "Hold the button for a second."`)
			if isStopped() {
				t.Fatal("a short press has stopped the executor")
			}
			h.checkAccessibility(p, "stop-hint-"+c.name)
			h.checkWidths(p, "stop-hint-"+c.name, c.width, c.height)
			c.hold(p)
			p.Until(stopped)
			p.Until(text("stop-hint") + ` === "" && ` + text("standing") + `.startsWith("STOPPED. ")`)
			h.run("clear", "--data", filepath.Join(h.home, "data"))
			p.Until(text("stopped") + ` === ""`)
			if thread := h.waitStatus(h.request(`{"intent": "is the hall light on?"}`), "completed"); !strings.Contains(thread, "hall light is off") {
				t.Errorf("the stop has not switched the lamp off: %s", thread)
			}
			if faults := p.Faults(); len(faults) > 0 {
				t.Errorf("in the page: %q", faults)
			}
		})
	}
	h.t = t

	// A screen reader clicks without a press: the second click stops.
	h.api(http.MethodPost, "/register", `{"executor_id": "old-pi", "display_name": "The old Pi", "capabilities": ["look"]}`)
	h.api(http.MethodPost, "/register", `{"executor_id": "new-pi", "display_name": "The new Pi", "capabilities": ["look"]}`)
	p := h.openHome(390, 844)
	p.Click("#stop button", "")
	p.Until(text("stop-hint") + `.startsWith("Press once more to stop everything")`)
	if isStopped() {
		t.Fatal("one click has stopped the executor")
	}
	p.Click("#stop button", "")
	p.Until(stopped)

	// Both executors miss the order. The page names them, with the time of the last contact.
	p.Until(`/Could not be reached: The (new|old) Pi \(last heartbeat .*The (new|old) Pi \(last heartbeat /.test(` + text("stopped") + `)`)
	p.Click("#stopped summary", "2 of 2 devices safe · 2 have not confirmed")
	p.Text("The old Pi: has not confirmed the stop, last heartbeat")
	p.Until(`((list) => list.length === 2 && list.some((e) => e.textContent.includes("is stopped")) && list.some((e) => e.textContent === "2 executors have not confirmed the stop"))([...document.querySelectorAll("#home-needs .need")].filter((e) => /stop/.test(e.textContent)))`)
	h.checkAccessibility(p, "stop-unreached")
	h.checkWidths(p, "stop-unreached", 390, 844)
	p.Eval(`localStorage.setItem("messkit-language", "de")`, nil)
	p.Reload()
	p.Until(text("standing") + `.startsWith("GESTOPPT. ") && /Nicht erreicht: The (new|old) Pi/.test(` + text("stopped") + `)`)
	h.checkAccessibility(p, "stop-german")
	h.saveScreenshot(p, "stop-german")
	p.Click("#stopped button", "Stopp aufheben")
	p.Until(text("released") + `.startsWith("Stopp aufgehoben um ") && ` + text("released") + `.includes("Diese haben den Stopp nicht bestätigt: ")`)
	if faults := p.Faults(); len(faults) > 0 {
		t.Errorf("in the page: %q", faults)
	}

	// Without scripts the button is a plain form, which acts at once.
	p.Call("Emulation.setScriptExecutionDisabled", map[string]any{"value": true}, nil)
	p.Reload()
	p.Until(`document.readyState === "complete"`)
	p.Hold("#stop button", false, "true")
	p.Until(`location.pathname === "/console/stop" && document.body.textContent.startsWith("Stopped. ")`)
	if !isStopped() {
		t.Error("the form without scripts has not stopped the executor")
	}
}
