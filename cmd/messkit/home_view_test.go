package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/messkit/messkit/internal/test/chromium"
)

// homeView operates devices on the Home view, and looks at them through the HTTP API.
type homeView struct {
	*instance
	p *chromium.Tab
}

// tile returns an expression for the tile of a device, or for a part of the tile.
func tile(device string, part ...string) string {
	return fmt.Sprintf(`document.querySelector('[data-device$=":%s"] %s')`, device, strings.Join(part, " "))
}

// press presses a button of a tile.
func (v homeView) press(device, part string) {
	v.t.Helper()
	v.p.Until(tile(device, part))
	v.p.Eval(tile(device, part)+".click()", nil)
}

// homeDevice is a device in the document of the home.
type homeDevice struct {
	ID       string
	State    string
	Doing    string
	Task     struct{ Status string }
	Readings []struct {
		Quantity  string
		Value     float64
		Commanded bool
	}
}

// device reads a device from the HTTP API.
func (v homeView) device(name string) (d homeDevice) {
	v.t.Helper()
	key, err := operatorKey(filepath.Join(v.home, "data"))
	if err != nil {
		v.t.Fatal(err)
	}
	code, data, err := newAPIClient(v.url+"/api/v1", key, "").call(key, http.MethodGet, "/home", "")
	var doc struct{ Devices []homeDevice }
	if err != nil || code != http.StatusOK || json.Unmarshal(data, &doc) != nil {
		v.t.Fatalf("%d %s %v", code, data, err)
	}
	for _, d := range doc.Devices {
		if strings.HasSuffix(d.ID, ":"+name) {
			return d
		}
	}
	v.t.Fatalf("no device %s in %s", name, data)
	return d
}

// reading returns a value of a device, -1 if there is none.
func (d homeDevice) reading(quantity string) float64 {
	for _, r := range d.Readings {
		if r.Quantity == quantity && !r.Commanded {
			return r.Value
		}
	}
	return -1
}

// waitDevice waits until a device is as wanted.
func (v homeView) waitDevice(name string, is func(homeDevice) bool) {
	v.t.Helper()
	for end := time.Now().Add(patience); ; time.Sleep(50 * time.Millisecond) {
		d := v.device(name)
		if is(d) {
			return
		}
		if time.Now().After(end) {
			v.t.Fatalf("%s stays %+v", name, d)
		}
	}
}

// threads returns the refs of all threads.
func (v homeView) threads() (refs []string) {
	v.t.Helper()
	var list struct{ Threads []struct{ Ref string } }
	if err := json.Unmarshal([]byte(v.api(http.MethodGet, "/requests?limit=500", "")), &list); err != nil {
		v.t.Fatal(err)
	}
	for _, t := range list.Threads {
		refs = append(refs, t.Ref)
	}
	return refs
}

// once does something on the page, and checks that it makes one thread, which completes. It
// returns the thread.
func (v homeView) once(device string, do func()) string {
	v.t.Helper()
	before := len(v.threads())
	do()
	all := v.threads()
	for end := time.Now().Add(patience); len(all) == before && time.Now().Before(end); all = v.threads() {
		time.Sleep(20 * time.Millisecond)
	}
	if len(all) != before+1 {
		v.t.Fatalf("%s: %d new threads, want 1", device, len(all)-before)
	}
	thread := v.waitStatus(all[0], "completed")
	v.p.Until(tile(device, ".note.good"))
	if n := len(v.threads()); n != before+1 {
		v.t.Fatalf("%s: %d new threads at the end, want 1", device, n-before)
	}
	if n := strings.Count(thread, `"code":"completed"`); n != 1 {
		v.t.Errorf("%s: completed %d times: %s", device, n, thread)
	}
	return thread
}

// slide moves the slider of a tile.
func (v homeView) slide(device, verb string, to int) {
	v.t.Helper()
	v.p.Eval(fmt.Sprintf(`{ const e = %s; e.focus(); e.value = %d; e.dispatchEvent(new Event("input", {bubbles: true})); e.dispatchEvent(new Event("change", {bubbles: true})) }`,
		tile(device, fmt.Sprintf(`input[data-verb="%s"]`, verb)), to), nil)
}

// confirm confirms the task of a tile in the tile.
func (v homeView) confirm(device string) {
	v.t.Helper()
	v.p.Until(tile(device, ".answers button"))
	v.p.Eval(tile(device, ".answers button")+".click()", nil)
}

// Each control of the Home view acts once, on a desktop and on a phone. A lock and a vacuum
// need a confirmation in the tile before they act.
func TestHomeOperatesDevices(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("this test needs a browser and the built program")
	}
	h := startMesskit(t)
	for _, size := range windowSizes {
		t.Run(size.name, func(t *testing.T) {
			h.t = t
			v := homeView{h, h.openHome(size.width, size.height)}
			v.p.Until(`document.getElementById("sign").classList.contains("well") && document.querySelectorAll("#home .tile").length > 30`)
			h.checkAccessibility(v.p, "home-"+size.name)
			h.saveScreenshot(v.p, "home-"+size.name)

			// A switch shows the state that was read.
			was := v.device("hall-light").State
			v.once("hall-light", func() { v.press("hall-light", ".switch") })
			v.waitDevice("hall-light", func(d homeDevice) bool { return d.State != was && d.State != "unknown" })
			v.p.Until(tile("hall-light", ".switch") + fmt.Sprintf(`.getAttribute("aria-checked") === "%t"`, was == "off"))

			level := 40 + size.width%7
			v.once("office-light", func() { v.slide("office-light", "set-brightness", level) })
			v.waitDevice("office-light", func(d homeDevice) bool { return d.reading("level") == float64(level) })
			v.p.Until(tile("office-light", ".state") + fmt.Sprintf(`.textContent.includes("%d%%")`, level))

			// Two steps of a thermostat are one command.
			target := v.device("hall-heating").reading("target")
			v.once("hall-heating", func() {
				v.press("hall-heating", ".stepper button:last-child")
				v.press("hall-heating", ".stepper button:last-child")
			})
			v.waitDevice("hall-heating", func(d homeDevice) bool { return d.reading("target") == target+1 })

			v.once("bedroom-blind", func() { v.slide("bedroom-blind", "set-opening", 30) })
			v.waitDevice("bedroom-blind", func(d homeDevice) bool { return d.reading("opening") == 30 })
			v.once("bedroom-blind", func() { v.press("bedroom-blind", `[data-verb="open"]`) })
			v.waitDevice("bedroom-blind", func(d homeDevice) bool { return d.State == "open" && d.reading("opening") == 100 })

			// The lock stays as it is until the person confirms in the tile.
			v.waitDevice("front-door-lock", func(d homeDevice) bool { return d.State == "locked" })
			v.once("front-door-lock", func() {
				v.press("front-door-lock", `[data-verb="unlock"]`)
				v.p.Until(tile("front-door-lock", ".answers button"))
				v.p.Until(`document.getElementById("sign").classList.contains("calls")`)
				if d := v.device("front-door-lock"); d.State != "locked" {
					t.Errorf("before the confirmation the lock is %s", d.State)
				}
				h.checkAccessibility(v.p, "home-confirm-"+size.name)
				h.saveScreenshot(v.p, "home-confirm-"+size.name)
				v.confirm("front-door-lock")
			})
			v.waitDevice("front-door-lock", func(d homeDevice) bool { return d.State == "unlocked" })
			v.once("front-door-lock", func() {
				v.press("front-door-lock", `[data-verb="lock"]`)
				v.confirm("front-door-lock")
			})
			v.waitDevice("front-door-lock", func(d homeDevice) bool { return d.State == "locked" })

			thread := v.once("fridge-camera", func() { v.press("fridge-camera", `[data-verb="take-photo"]`) })
			if !strings.Contains(thread, "image/") {
				t.Errorf("no picture in %s", thread)
			}
			v.p.Until(tile("fridge-camera", "img") + `?.naturalWidth > 300`)

			v.once("vacuum", func() {
				v.press("vacuum", ".chipbutton")
				v.press("vacuum", `[data-verb="vacuum-floor"]`)
				v.confirm("vacuum")
				v.p.Until(tile("vacuum", ".state") + `.textContent.includes("Cleaning")`)
			})
			h.saveScreenshot(v.p, "home-vacuum-"+size.name)
			if faults := v.p.Faults(); len(faults) > 0 {
				t.Errorf("in the page: %q", faults)
			}
		})
	}
}

// dropper is a proxy that forwards an act and loses its answer, as a network does.
type dropper struct {
	http.Handler
	lose atomic.Bool // the next act loses its answer
	acts atomic.Int64
}

func (d *dropper) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method == http.MethodPost && strings.HasPrefix(r.URL.Path, "/api/v1/") {
		d.acts.Add(1)
		if d.lose.CompareAndSwap(true, false) {
			d.Handler.ServeHTTP(httptest.NewRecorder(), r)
			panic(http.ErrAbortHandler)
		}
	}
	d.Handler.ServeHTTP(w, r)
}

// openDropper opens a signed-in console whose requests go through a dropper.
func (h *instance) openDropper(width, height int) (*dropper, *chromium.Tab) {
	h.t.Helper()
	d := &dropper{Handler: h.proxy()}
	front := httptest.NewServer(d)
	h.t.Cleanup(func() {
		front.CloseClientConnections()
		front.Close()
	})
	p := h.b.Open(h.t, width, height)
	p.Go(strings.Replace(h.run("console"), h.url, front.URL, 1))
	return d, p
}

// A tap whose answer is lost acts once: the page sends it again with the same key. A tap that does
// not reach the server is reported as not sent, and does nothing later. Two pages are in step, and
// a page recovers from a restart of the server without repeating a tap.
func TestHomeLosesAndRepeatsNothing(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("this test needs a browser and the built program")
	}
	h := startMesskit(t)
	d, p := h.openDropper(390, 844)
	p.Until(`document.getElementById("sign").classList.contains("well") && document.querySelectorAll("#home .tile").length > 30`)
	v := homeView{h, p}

	d.lose.Store(true)
	v.once("hall-light", func() { v.press("hall-light", ".switch") })
	if n := d.acts.Load(); n != 2 {
		t.Errorf("the page sent the tap %d times, want 2", n)
	}
	v.waitDevice("hall-light", func(d homeDevice) bool { return d.State == "on" })

	// Without a network the page says so, and does not act later.
	before := len(v.threads())
	p.Offline(true)
	p.Until(`document.getElementById("sign").classList.contains("away") && /\d/.test(document.getElementById("sign").textContent)`)
	v.press("porch-light", ".switch")
	p.Until(tile("porch-light", "[data-phase=doubt]"))
	h.checkAccessibility(p, "home-away")
	h.saveScreenshot(p, "home-away")
	p.Eval(`{ const real = Date.now; Date.now = () => real() + 30000 }`, nil) // half a minute passes
	p.Offline(false)
	p.Until(tile("porch-light", "[data-phase=unsent]") + `.textContent.includes("Not sent")`)
	if n := len(v.threads()); n != before {
		t.Errorf("a tap without a network made %d threads", n-before)
	}
	p.Until(tile("porch-light", ".switch") + `.getAttribute("aria-checked") === "false"`)

	// A second page shows the acts of the first one, and both pages show those of the API.
	second := h.openHome(1280, 800)
	second.Until(tile("hall-light", ".switch") + `?.getAttribute("aria-checked") === "true"`)
	h.waitStatus(h.request(`{"intent": "turn on the garage light"}`), "completed")
	second.Until(tile("garage-light", ".switch") + `.getAttribute("aria-checked") === "true"`)
	p.Front()
	p.Until(tile("garage-light", ".switch") + `.getAttribute("aria-checked") === "true"`)

	before = len(v.threads())
	h.restart()
	p.Until(`document.getElementById("sign").classList.contains("well") && document.getElementById("line").textContent === "live"`)
	p.Until(tile("hall-light", ".switch") + `?.getAttribute("aria-checked") !== undefined`)
	if n := len(v.threads()); n != before {
		t.Errorf("after the restart there are %d new threads", n-before)
	}
	v.once("balcony-light", func() { v.press("balcony-light", ".switch") })
	if faults := p.Faults("ERR_", "502"); len(faults) > 0 {
		t.Errorf("in the page: %q", faults)
	}
}

// The search field filters the tiles and sends the words as a request, a device has its own page
// with all its verbs, and the view speaks German.
func TestHomeFindsDevices(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("this test needs a browser and the built program")
	}
	h := startMesskit(t)
	p := h.openHome(390, 844)
	v := homeView{h, p}
	p.Until(`document.querySelectorAll("#home .tile").length > 30`)
	p.Fill("#search-intent", "bedroom blind")
	p.Until(`document.querySelectorAll("#home .tile").length === 1`)
	p.Click("#home .tile a", "")
	p.Until(`document.querySelector(".device h1")?.textContent === "bedroom blind" && location.hash.startsWith("#device=")`)
	p.Until(`[...document.querySelectorAll(".device .chart")].some((c) => c.textContent.startsWith("opening") && c.querySelector("path").getAttribute("d").startsWith("M"))`)
	p.Text("bedroom-blind")
	h.checkAccessibility(p, "device")
	h.checkWidths(p, "device", 390, 844)
	v.once("bedroom-blind", func() { v.press("bedroom-blind", `[data-verb="close"]`) })
	p.Until(`document.querySelector(".device .tasklist a")`)
	p.Eval(`window.before = true; location.reload()`, nil)
	p.Until(`!window.before && document.querySelector(".device .tasklist a")?.textContent === "close the bedroom blind"`)
	p.Click(".backhome a", "")
	p.Until(`document.querySelectorAll("#home .tile").length > 30`)
	// The server shows one verb and one reading for each meaning, and the files of a printer.
	p.Until(tile("printer", `[data-verb="print-start"]`) + `?.textContent.includes("benchy")`)
	p.Fill("#search-intent", "hall heating")
	p.Until(`document.querySelectorAll("#home .tile").length === 1`)
	p.Click("#home .tile a", "")
	p.Until(`[...document.querySelectorAll(".device dt")].filter((e) => e.textContent.includes("wanted temperature")).length === 1`)
	p.Until(`!document.querySelector(".device").textContent.includes("target temperature") && document.querySelectorAll('.device [data-verb^="read-s"]').length === 1`)
	p.Click(".backhome a", "")
	h.api("POST", "/devices/vm:kitchen-light/set-colour", `{"colour": "#3366cc"}`)
	p.Eval(`void (location.hash = "#device=vm:kitchen-light")`, nil)
	p.Until(`document.querySelector('.device input[type="color"]')?.value === "#3366cc"`) // as the light reports
	p.Click(".backhome a", "")
	p.Fill("#search-intent", "turn on the porch light")
	p.Until(`document.querySelector("#search .preview").textContent.includes("turn the porch light on") || document.querySelector("#search .preview").textContent.includes("porch-light")`)
	p.Press("Enter")
	p.Until(`document.querySelector("#detail .chip")?.textContent === "done"`)
	p.Click("nav a", "Home")
	p.Until(`document.querySelectorAll("#home .tile").length > 30 && ` + tile("porch-light", ".switch") + `.getAttribute("aria-checked") === "true"`)
	h.checkWidths(p, "home", 390, 844)
	p.Size(320, 844)
	p.Until(`(() => { const r = document.querySelector(".adddevice").getBoundingClientRect()
		return innerWidth === 320 && r.top < 200 && r.right <= 320 && r.width >= 44 && r.height >= 44 })()`)
	p.Click(".adddevice", "")
	p.Until(`location.hash === "#add" && !document.getElementById("add").hidden`)
	p.Size(1280, 800)
	p.Click("nav a", "Home")
	p.Until(`document.querySelectorAll("#home .tile").length > 30 && !document.querySelector(".adddevice").checkVisibility()`) // on a wide window, a link beside the tiles does the same

	p.Eval(`{ const e = document.querySelector(".language select"); e.value = "de"; e.dispatchEvent(new Event("change", {bubbles: true})) }`, nil)
	p.Until(`document.documentElement.lang === "de" && document.getElementById("sign").textContent === "Alles gut"`)
	if faults := p.Faults(); len(faults) > 0 {
		t.Errorf("in the page: %q", faults)
	}
}
