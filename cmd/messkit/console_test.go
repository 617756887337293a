package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/messkit/messkit/internal/chromium"
)

// householder is a whole system with the simulated home, and a browser.
type householder struct {
	t    *testing.T
	url  string
	home string
	bin  string
	b    *chromium.Browser
}

// startHouse starts messkit run as the README says, in a data folder of its own.
func startHouse(t *testing.T) *householder {
	t.Helper()
	b := chromium.Start(t)
	home := t.TempDir()
	bin := buildMesskit(t)
	p, err := start(home, bin, "run", "--listen", "127.0.0.1:0", "--mqtt", "off", "--data", filepath.Join(home, "data"))
	if err != nil || p.url == "" {
		t.Fatalf("%v\n%s", err, &p.stderr)
	}
	t.Cleanup(func() {
		if err := p.stop(); err != nil {
			t.Errorf("%v\n%s", err, &p.stderr)
		}
		if t.Failed() {
			t.Log(p.stderr.String())
		}
	})
	return &householder{t: t, url: strings.TrimSuffix(p.url, "/api/v1/exchanges/home"), home: home, bin: bin, b: b}
}

// messkit runs a command against the house and returns what it prints.
func (h *householder) messkit(args ...string) string {
	h.t.Helper()
	c := exec.CommandContext(h.t.Context(), h.bin, args...)
	c.Env = append(os.Environ(), "HOME="+h.home, "MESSKIT_URL="+h.url, "MESSKIT_KEY_FILE="+filepath.Join(h.home, "data", "operator.key"))
	out, err := c.Output()
	if err != nil {
		h.t.Fatalf("%v: %v", args, err)
	}
	return strings.TrimSpace(string(out))
}

// operator opens a signed-in console.
func (h *householder) operator(width, height int) *chromium.Tab {
	h.t.Helper()
	p := h.b.Open(h.t, width, height)
	p.Go(h.messkit("console"))
	p.Until(`document.getElementById("line").textContent === "live"`)
	return p
}

// shows keeps a picture for whoever looks, if MESSKIT_PICTURES names a folder.
func (h *householder) shows(p *chromium.Tab, name string) {
	h.t.Helper()
	var wide bool
	p.Eval(`document.documentElement.scrollWidth > document.documentElement.clientWidth`, &wide)
	if wide {
		h.t.Errorf("%s: the page scrolls sideways", name)
	}
	if dir := os.Getenv("MESSKIT_PICTURES"); dir != "" {
		if err := os.WriteFile(filepath.Join(dir, name+".png"), p.Picture(), 0o600); err != nil {
			h.t.Error(err)
		}
	}
}

// A person who has never seen the page asks, answers, confirms, stops and
// releases, on a desktop and on a phone.
func TestTheConsole(t *testing.T) {
	if testing.Short() {
		t.Skip("it needs a browser and the built program")
	}
	h := startHouse(t)
	for _, size := range []struct {
		name          string
		width, height int
	}{{"desktop", 1280, 800}, {"phone", 360, 740}} {
		t.Run(size.name, func(t *testing.T) {
			h.t = t
			p := h.operator(size.width, size.height)
			shows := func(name string) { h.shows(p, name+"-"+size.name) }

			p.Fill("#intent", "what's in the fridge?")
			p.Until(`document.getElementById("preview").textContent.includes("observe")`)
			shows("preview")
			p.Press("Enter")
			p.Until(`document.querySelector("#detail .picture")?.naturalWidth > 300`)
			p.Text("milk")
			shows("picture")

			p.Click("a", "All tasks")
			p.Fill("#intent", "turn on the light")
			p.Click("#ask button", "Ask")
			p.Click("#detail label", "porch light")
			shows("question")
			p.Click("#detail button", "Answer")
			p.Text("The porch light is on.")

			p.Click("a", "All tasks")
			p.Fill("#intent", "vacuum the living room")
			p.Until(`document.getElementById("preview").textContent.includes("must confirm")`)
			p.Click("#ask button", "Ask")
			p.Until(`[...document.querySelectorAll("#detail .answers button")].length > 1`)
			shows("confirm")
			p.Click("#detail .answers button", "Yes, do it")
			p.Until(`document.querySelector("#detail progress")`)
			shows("progress")

			p.Click("#stop button", "Stop everything")
			p.Until(`document.getElementById("stopped").textContent.includes("devices safe")`)
			shows("stopped")
			p.Click("#stopped button", "Release the stop")
			p.Until(`document.getElementById("stopped").textContent === ""`)

			p.Click("nav a", "Things")
			p.Click("#arming button", "Arm motion") // the stop came in the midst of it
			p.Until(`document.getElementById("arming").textContent.includes("Everything may act")`)
			p.Until(`document.querySelector("#devices .picture")?.naturalWidth > 300`)
			p.Until(`[...document.querySelectorAll("#devices li")].every((d) => d.textContent.includes("ready"))`)
			shows("things")
			p.Click("nav a", "People")
			shows("people")
			p.Click("nav a", "Log")
			p.Text("written today")
			shows("log")
			p.Dark(true)
			p.Click("nav a", "Tasks")
			p.Until(`document.querySelector("#lately a")`)
			shows("dark")
			if faults := p.Faults(); len(faults) > 0 {
				t.Errorf("in the page: %q", faults)
			}
		})
	}
}
