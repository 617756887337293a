package main

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/messkit/messkit/internal/test/chromium"
)

// waitInWindow waits until the first element with that selector and text is completely in the window,
// below the header.
func waitInWindow(p *chromium.Tab, selector, text string) {
	p.Until(`[...document.querySelectorAll(` + strconv.Quote(selector) + `)].filter((e) => e.checkVisibility() && e.textContent.includes(` + strconv.Quote(text) + `)).slice(0, 1).some((e) => {
		const at = e.getBoundingClientRect()
		return at.top >= document.querySelector("header").getBoundingClientRect().bottom - 1 && at.bottom <= innerHeight
	})`)
}

// A small phone shows a question above the plan, with its buttons in the window. Each page starts
// at its top, even after a scrolled one.
func TestPhoneShowsQuestionFirst(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("this test needs a browser and the built program")
	}
	h := startMesskit(t)
	p := h.openConsole(360, 640)
	scrolled := func() { // to the bottom
		t.Helper()
		p.Eval(`scrollTo(0, 1e6)`, nil)
		p.Until(`scrollY > 60`)
	}
	p.Fill("#intent", "vacuum the living room")
	p.Until(`document.getElementById("preview").textContent.includes("must confirm")`)
	scrolled()
	p.Click("#ask button", "Ask")
	p.Until(`document.querySelector("#detail .answers") && document.querySelector("#detail .preview").textContent.includes("risk: motion")`)
	waitInWindow(p, "#nav", "Tasks")
	waitInWindow(p, "#detail h1", "vacuum the living room")
	waitInWindow(p, "#detail .answers button", "Confirm")
	waitInWindow(p, "#detail .answers button", "Reject")
	p.Until(`document.querySelector("#detail .answers").compareDocumentPosition(document.querySelector("#detail .preview")) & Node.DOCUMENT_POSITION_FOLLOWING`)
	for _, once := range []string{"Plan:", "will move about", "must confirm it"} { // above the messages
		p.Until(`[...document.querySelectorAll("#detail > :not(ol)")].map((e) => e.innerText).join().split(` + strconv.Quote(once) + `).length === 2`)
	}
	h.saveScreenshot(p, "asked-360x640")
	scrolled()
	p.Click("#detail a", "All tasks")
	waitInWindow(p, "#nav", "Tasks")
	waitInWindow(p, "#tasks-title", "Tasks")
	p.Click("#needs button", "Reject")
	p.Until(`document.querySelector("#recent a")`)
	p.Click("nav a", "Executors")
	p.Until(`document.querySelector("#local-devices li")`)
	scrolled()
	h.showLog(p)
	waitInWindow(p, "#nav", "Settings")
	waitInWindow(p, "#log-title", "Log")
	if faults := p.Faults(); len(faults) > 0 {
		t.Errorf("in the page: %q", faults)
	}
}

// The text input survives a reload, a long list shows its newest entries, and all texts use the
// font size of the browser.
func TestPageIsReadable(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("this test needs a browser and the built program")
	}
	h := startMesskit(t)
	for i := range 23 {
		h.request(fmt.Sprintf(`{"intent": "carry stone %d up the hill", "requires": ["walk"]}`, i))
	}
	p := h.openConsole(360, 640)
	p.Until(`document.querySelectorAll("#open > li").length === 21 && document.querySelector("#open summary").textContent === "3 more"`)
	p.Click("#open summary", "3 more")
	p.Until(`[...document.querySelectorAll("#open a")].filter((a) => a.checkVisibility()).length === 23`)
	p.Fill("#intent", "vacuum the living")
	p.Reload()
	p.Until(`document.getElementById("line").textContent === "live" && document.getElementById("intent").value === "vacuum the living"`)
	p.Call("Page.setFontSizes", map[string]any{"fontSizes": map[string]any{"standard": 32}}, nil)
	p.Until(`["nav", "intent", "preview"].every((id) => getComputedStyle(document.getElementById(id)).fontSize === "32px")`)
	h.checkWidths(p, "large", 360, 640)
	p.Fill("#intent", "turn on the porch light")
	p.Click("#ask button", "Ask")
	p.Until(`document.querySelector("#detail .chip")?.textContent === "done"`)
	h.checkWidths(p, "large-task", 360, 640)
	p.Reload()
	p.Until(`document.getElementById("line").textContent === "live" && document.getElementById("intent").value === ""`)
	if faults := p.Faults(); len(faults) > 0 {
		t.Errorf("in the page: %q", faults)
	}
}

// A device with a failure shows the time and the reason. A read state replaces "not read yet".
func TestPageShowsDeviceFailure(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("this test needs a browser and the built program")
	}
	config := filepath.Join(t.TempDir(), "messkit.yaml")
	if err := os.WriteFile(config, []byte(`devices:
  porch-light: {driver: sim-lamp, area: porch}
  fan: {driver: httpdevice, family: shelly-gen2, class: fan, url: 'http://127.0.0.1:1'}
`), 0o600); err != nil {
		t.Fatal(err)
	}
	h := startMesskitWith(t, []string{"--config", config})
	p := h.openConsole(360, 640)
	p.Click("nav a", "Executors")
	p.Until(`/^porch light\s+off/.test([...document.querySelectorAll("#local-devices li")].find((d) => d.textContent.startsWith("porch light")).textContent)`) // the agent read it at the start
	p.Until(`[...document.querySelectorAll("#local-devices li")].filter((d) => d.textContent.includes("not read yet")).length === 1`)
	h.waitStatus(h.request(`{"intent": "turn on the fan"}`), "failed")
	p.Until(`/^fan.*last action failed.*failed .*\d:\d\d.*127\.0\.0\.1:1/s.test([...document.querySelectorAll("#local-devices li")].find((d) => d.textContent.startsWith("fan")).textContent)`)
	p.Until(`[...document.querySelectorAll("#local-devices li")].filter((d) => d.textContent.includes("last action failed")).length === 1`)
	h.waitStatus(h.request(`{"intent": "turn on the porch light"}`), "completed")
	p.Until(`/^porch light\s+on\s+porch · light · as of .*\d:\d\d.*Lock out$/s.test([...document.querySelectorAll("#local-devices li")].find((d) => d.textContent.startsWith("porch light")).textContent)`)
	h.checkAccessibility(p, "failed")
	h.checkWidths(p, "failed", 360, 640)
	if faults := p.Faults(); len(faults) > 0 {
		t.Errorf("in the page: %q", faults)
	}
}

// An exchange without devices shows the running executors of other programs.
func TestExchangeWithoutDevicesShowsExecutors(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("this test needs a browser and the built program")
	}
	h := startCommand(t, nil, "exchange", nil)
	p := h.openConsole(1280, 800)
	p.Click("nav a", "Executors")
	p.Until(`document.getElementById("local-devices").textContent.includes("no other executor has registered")`)
	key := strings.TrimSpace(h.run("keys", "issue", "kitchen-pi", "executor"))
	client := newAPIClient(h.url+"/api/v1/exchanges/home", key, key)
	if code, data, err := client.call(key, http.MethodPost, "/mess", `{"MESS": [{"config": {"executor": {"id": "kitchen-pi", "capabilities": ["swim"]}}}]}`); err != nil || code/100 != 2 {
		t.Fatalf("%d %s %v", code, data, err)
	}
	p.Until(`document.getElementById("executors").textContent.includes("kitchen-pi") && document.getElementById("local-devices").textContent.includes("The executors above have their own devices")`)
	if faults := p.Faults(); len(faults) > 0 {
		t.Errorf("in the page: %q", faults)
	}
}

// A browser's clock may be a day behind or ahead: the page is live, shows absolute times instead
// of "just now", and works as usual.
func TestWrongBrowserClockIsTolerated(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("this test needs a browser and the built program")
	}
	h := startMesskit(t)
	h.waitStatus(h.request(`{"intent": "turn on the porch light"}`), "completed")
	for name, ms := range map[string]int{"behind": -24 * 3600 * 1000, "ahead": 24 * 3600 * 1000} {
		p := h.b.Open(t, 360, 640)
		p.Call("Page.addScriptToEvaluateOnNewDocument", map[string]any{"source": fmt.Sprintf(`{
			const Real = Date
			globalThis.Date = class extends Real {
				constructor(...a) { a.length ? super(...a) : super(Real.now() + %[1]d) }
				static now() { return Real.now() + %[1]d }
			}
		}`, ms)}, nil)
		p.Go(h.run("console"))
		p.Until(`document.getElementById("line").textContent === "live"`)
		h.showTasks(p)
		p.Until(`document.querySelector("#recent .meta") && !document.querySelector("#recent").textContent.includes("just now")`)
		p.Fill("#intent", "turn on the hall light")
		p.Click("#ask button", "Ask")
		p.Until(`document.querySelector("#detail .chip")?.textContent === "done"`)
		h.saveScreenshot(p, "clock-"+name)
		if faults := p.Faults(); len(faults) > 0 {
			t.Errorf("in the page: %q", faults)
		}
	}
}

// The page shows no controls that the exchange would reject. An observer has no request form and
// no answer buttons. A requester sees that an operator must confirm, without buttons. Every role
// has the stop button.
func TestPageShowsControlsOfRole(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("this test needs a browser and the built program")
	}
	h := startMesskit(t)
	h.waitStatus(h.request(`{"intent": "turn on the light"}`), "needs_input")
	p := h.b.Open(t, 360, 640)
	keyOf := func(role string) string {
		t.Helper()
		file := filepath.Join(h.home, role+".key")
		h.run("keys", "issue", "a-"+role, role, "--save", file)
		key, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		return strings.TrimSpace(string(key))
	}
	observer := keyOf("observer")
	signIn := func(key string) {
		t.Helper()
		p.Go(h.url + "/#tasks")
		p.Fill("#key", key)
		p.Press("Enter")
		p.Until(`document.getElementById("line").textContent === "live"`)
	}
	signOut := func() {
		t.Helper()
		p.Click("nav a", "Settings")
		p.Click("#signout", "Sign out")
		p.Until(`document.activeElement?.id === "key"`)
	}
	buttons := func(want string) { // visible buttons without the sign-out buttons
		t.Helper()
		p.Until(`[...document.querySelectorAll("button")].filter((b) => b.checkVisibility() && b.id !== "signout").map((b) => b.textContent).join(", ") === ` + strconv.Quote(want))
	}

	signIn(observer)
	p.Text("Waiting for others")
	p.Text("operator must answer.")
	buttons("Stop everything")
	p.Click("#others a", "turn on the light")
	p.Until(`document.getElementById("detail-title")`)
	buttons("Stop everything")
	p.Click("nav a", "Executors")
	buttons("Stop everything, All 1, Need help 0, By area")
	p.Until(`![...document.querySelectorAll("nav a")].some((e) => e.textContent.includes("People"))`) // for operators
	h.showLog(p)
	buttons("Stop everything")
	h.checkAccessibility(p, "observer")
	signOut()

	signIn(keyOf("executor"))
	p.Text("No tasks yet.")
	buttons("Stop everything")
	signOut()

	signIn(keyOf("requester"))
	p.Fill("#intent", "vacuum the living room")
	p.Click("#ask button", "Ask")
	p.Until(`document.querySelector("#detail .answers")`)
	p.Text("Only an operator can confirm this action.")
	buttons("Stop everything, Cancel task")
	h.checkAccessibility(p, "requester")
	h.saveScreenshot(p, "requester-waits")
	p.Click("#detail a", "All tasks")
	p.Until(`document.querySelector("#others").textContent.includes("An operator must confirm this action")`)
	p.Until(`document.querySelector("#needs-title").hidden`)
	p.Click("#others a", "vacuum the living room")
	p.Click("#detail button", "Cancel task")
	p.Until(`document.querySelector("#detail .chip").textContent === "cancelled"`)
	p.Click("nav a", "Executors")
	buttons("Stop everything, All 1, Need help 0, By area, Drain")
	signOut()

	// An observer stops everything, and sees who can reset the stop, and when it happened.
	h.pressStop(p)
	p.Until(`/^NOT STOPPED .* not signed in/.test(document.getElementById("failed").textContent)`)
	p.Click("#failed button", "Dismiss")
	p.Fill("#key", observer)
	p.Press("Enter")
	p.Until(`document.getElementById("line").textContent === "live"`)
	h.pressStop(p)
	p.Until(`/^STOPPED\. .*a-observer/.test(document.getElementById("standing").textContent) && /devices safe.*run on the host of the executor/s.test(document.getElementById("stopped").textContent)`)
	h.checkAccessibility(p, "observer-stopped")
	h.checkWidths(p, "observer-stopped", 360, 640)
	h.run("clear", "--data", filepath.Join(h.home, "data"))
	p.Until(`/^Stop reset at/.test(document.getElementById("released").textContent) && !document.getElementById("stopped").textContent && !document.getElementById("standing").textContent`)
	h.checkAccessibility(p, "released")
	p.Click("#released button", "Dismiss")
	buttons("Stop everything")
	if faults := p.Faults("401"); len(faults) > 0 { // requests without a session get 401
		t.Errorf("in the page: %q", faults)
	}
}

// While the exchange is unreachable, requests and stops report that and keep their input. When it
// is reachable again, the page removes the errors, but keeps the failed stop until the user
// confirms it.
func TestPageKeepsInputWhileExchangeIsUnreachable(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("this test needs a browser and the built program")
	}
	h := startMesskit(t)
	p := h.openConsole(360, 640)
	p.Offline(true)
	p.Until(`/^as of .*(no network|not connected)/.test(document.getElementById("line").textContent)`)
	p.Fill("#intent", "turn on the porch light")
	p.Click("#ask button", "Ask")
	p.Until(`document.querySelector("#ask .error").textContent === "the exchange is unreachable"`)
	h.pressStop(p)
	p.Until(`/^NOT STOPPED at \d.*is unreachable.*messkit stop/.test(document.getElementById("failed").textContent)`)
	h.checkAccessibility(p, "away")
	h.checkWidths(p, "away", 360, 640)
	p.Offline(false)
	p.Until(`document.getElementById("line").textContent === "live"`)
	p.Until(`document.querySelector("#ask .error").textContent === ""`)
	p.Text("NOT STOPPED at")
	p.Click("#failed button", "Dismiss")
	p.Until(`document.getElementById("failed").textContent === ""`)
	p.Click("#ask button", "Ask")
	p.Until(`document.querySelector("#detail .chip")?.textContent === "done"`)
	var asked int // once, despite two submissions
	p.Eval(`fetch("/api/v1/exchanges/home/requests").then((r) => r.json()).then((v) => v.threads.length)`, &asked)
	if asked != 1 {
		t.Errorf("asked %d times", asked)
	}
}
