package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/messkit/messkit/internal/test/chromium"
)

// instance is a whole system with the simulated home and a browser.
type instance struct {
	t    *testing.T
	url  string
	home string
	bin  string
	b    *chromium.Browser

	process *process
	line    []string // its command
}

// inWindows is the flag for a browser of its own, in which a tab hides the others.
const inWindows = "--headless=new"

// startMesskit starts messkit run as the README describes, with its own data folder.
func startMesskit(t *testing.T, flags ...string) *instance {
	t.Helper()
	return startMesskitWith(t, nil, flags...)
}

// startMesskitWith starts messkit run with more arguments, and a browser with flags.
func startMesskitWith(t *testing.T, args []string, flags ...string) *instance {
	t.Helper()
	return startCommand(t, nil, "run", args, flags...)
}

// startCommand starts another command that serves the pages, for example exchange, which has no
// devices. The program before, if any, executes it.
func startCommand(t *testing.T, before []string, command string, args []string, flags ...string) *instance {
	t.Helper()
	if raced {
		t.Skip("it drives a browser, and its program is built without the race detector")
	}
	var b *chromium.Browser
	if len(flags) > 0 {
		b = chromium.Start(t, flags...)
	} else {
		b = chromium.Share(t)
	}
	home := t.TempDir()
	bin := buildMesskit(t)
	line := []string{bin, command, "--listen", "127.0.0.1:0", "--mqtt", "off", "--data", filepath.Join(home, "data")}
	if command == "run" {
		line = append(line, "--confirm", "script")
	}
	h := &instance{t: t, home: home, bin: bin, b: b, line: slices.Concat(before, line, args)}
	h.start()
	t.Cleanup(func() {
		if err := h.process.stop(); err != nil {
			t.Errorf("%v\n%s", err, &h.process.stderr)
		}
		if t.Failed() {
			t.Log(h.process.stderr.String())
		}
	})
	return h
}

func (h *instance) start() {
	h.t.Helper()
	p, err := start(h.home, h.line...)
	if err != nil || p.url == "" {
		h.t.Fatalf("%v\n%s", err, &p.stderr)
	}
	h.process, h.url = p, strings.TrimSuffix(p.url, "/api/v1/exchanges/home")
}

// restart ends the program with a kill, and starts it again at the same address.
func (h *instance) restart() {
	h.t.Helper()
	if err := h.process.kill(); err != nil {
		h.t.Fatal(err)
	}
	h.line[slices.Index(h.line, "--listen")+1] = strings.TrimPrefix(h.url, "http://")
	h.start()
}

// run runs a command against the system and returns its standard output.
func (h *instance) run(args ...string) string {
	h.t.Helper()
	c := exec.CommandContext(h.t.Context(), h.bin, args...)
	c.Env = append(os.Environ(), "HOME="+h.home, "MESSKIT_URL="+h.url, "MESSKIT_KEY_FILE="+filepath.Join(h.home, "data", "operator.key"))
	out, err := c.Output()
	if err != nil {
		h.t.Fatalf("%v: %v", args, err)
	}
	return strings.TrimSpace(string(out))
}

// windowSizes are the windows in which the views are tested.
var windowSizes = []struct {
	name          string
	width, height int
}{{"desktop", 1280, 800}, {"phone", 390, 844}}

// openConsole opens a signed-in console with its tasks.
func (h *instance) openConsole(width, height int) *chromium.Tab {
	h.t.Helper()
	p := h.openHome(width, height)
	h.showTasks(p)
	return p
}

// openHome opens a signed-in console, which begins with the home.
func (h *instance) openHome(width, height int) *chromium.Tab {
	h.t.Helper()
	p := h.b.Open(h.t, width, height)
	p.Go(h.run("console"))
	p.Until(`document.getElementById("line").textContent === "live"`)
	return p
}

// showTasks goes to the tasks of a console.
func (h *instance) showTasks(p *chromium.Tab) {
	h.t.Helper()
	p.Eval(`void (location.hash = "#tasks")`, nil)
	p.Until(`!document.getElementById("tasks").hidden`)
}

// showLog goes to the log, which the settings link to.
func (h *instance) showLog(p *chromium.Tab) {
	h.t.Helper()
	p.Click("nav a", "Settings")
	p.Click("#settings a", "Log")
	p.Until(`!document.getElementById("log").hidden`)
}

// notHeld is true when the stop button is not pressed, or has been pressed for long enough.
const notHeld = `!document.querySelector("#stop button").classList.contains("held")`

// pressStop presses the stop button until it acts.
func (h *instance) pressStop(p *chromium.Tab) {
	h.t.Helper()
	p.Hold("#stop button", false, notHeld)
}

// api calls the HTTP API as the operator and returns the response body.
func (h *instance) api(method, path, body string) string {
	h.t.Helper()
	key, err := operatorKey(filepath.Join(h.home, "data"))
	if err != nil {
		h.t.Fatal(err)
	}
	code, data, err := newAPIClient(h.url+"/api/v1/exchanges/home", key, "").call(key, method, path, body)
	if err != nil || code/100 != 2 {
		h.t.Fatalf("%s %s: %d %s %v", method, path, code, data, err)
	}
	return string(data)
}

// request makes a request and returns its ref.
func (h *instance) request(request string) string {
	h.t.Helper()
	var v struct{ Ref string }
	if err := json.Unmarshal([]byte(h.api(http.MethodPost, "/requests", request)), &v); err != nil {
		h.t.Fatal(err)
	}
	return v.Ref
}

// waitStatus waits until a thread has a status, and returns the thread.
func (h *instance) waitStatus(ref, status string) string {
	h.t.Helper()
	for end := time.Now().Add(patience); ; time.Sleep(20 * time.Millisecond) {
		thread := h.api(http.MethodGet, "/requests/"+ref, "")
		if strings.Contains(thread, `"status":"`+status+`","intent"`) {
			return thread
		}
		if time.Now().After(end) {
			h.t.Fatalf("%s is never %s:\n%s", ref, status, thread)
		}
	}
}

// checkAccessibility runs the accessibility checks of axe on the current page.
func (h *instance) checkAccessibility(p *chromium.Tab, name string) {
	h.t.Helper()
	script, err := os.ReadFile("testdata/axe/node_modules/axe-core/axe.min.js")
	if err != nil {
		h.t.Log("SKIP: axe is not there; scripts/npm.sh cmd/messkit/testdata/axe installs it")
		return
	}
	p.Eval("if (!window.axe) (()=>{"+string(script)+"\n})()", nil)
	look := func(name, rules string) {
		var found []string
		p.Eval(`axe.run({resultTypes: ["violations"], runOnly: [`+rules+`]}).then((r) => r.violations.map((v) => v.id + ": " + v.nodes.map((n) => n.html.slice(0, 160)).join(" | ")))`, &found)
		for _, f := range found {
			h.t.Errorf("%s: %s", name, f)
		}
	}
	look(name, `"wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "best-practice"`)
	p.Dark(true)
	look(name+" in the dark", `"color-contrast"`) // the other rules do not depend on colors
	p.Dark(false)
}

// checkWidths checks that a page needs no horizontal scrolling at any width from 360 pixels on.
func (h *instance) checkWidths(p *chromium.Tab, name string, width, height int) {
	h.t.Helper()
	for _, w := range []int{360, 414, 480, 600, 768, 959, 960, 1024, 1280} {
		p.Size(w, height)
		var out []string
		p.Eval(`[...document.querySelectorAll("body *")].filter((e) => e.checkVisibility() && !e.closest(".scroll, .skip") && e.getBoundingClientRect().right > document.documentElement.clientWidth + 1).map((e) => e.outerHTML.slice(0, 120)).concat(document.documentElement.scrollWidth > document.documentElement.clientWidth ? ["it scrolls sideways"] : [])`, &out)
		if len(out) > 0 {
			h.t.Errorf("%s at %d pixels: %q", name, w, out)
		}
		h.saveScreenshot(p, fmt.Sprintf("%s-%d", name, w))
	}
	p.Size(width, height)
}

// saveScreenshot saves a screenshot in the folder that MESSKIT_PICTURES names, if any.
func (h *instance) saveScreenshot(p *chromium.Tab, name string) {
	h.t.Helper()
	if dir := os.Getenv("MESSKIT_PICTURES"); dir != "" {
		if err := os.WriteFile(filepath.Join(dir, name+".png"), p.Picture(), 0o600); err != nil {
			h.t.Error(err)
		}
	}
}

func (h *instance) hasClass(p *chromium.Tab, id, class string) (has bool) {
	h.t.Helper()
	p.Eval(fmt.Sprintf(`document.getElementById(%q).classList.contains(%q)`, id, class), &has)
	return has
}
