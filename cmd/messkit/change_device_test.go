package main

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	mochi "github.com/mochi-mqtt/server/v2"

	"github.com/messkit/messkit/internal/test/chromium"
)

// connectionsTo counts the connections to a broker that are not of the test.
func connectionsTo(b *mochi.Server) (n int) {
	for id, c := range b.Clients.GetAll() {
		if !c.Closed() && !strings.HasPrefix(id, "plug") {
			n++
		}
	}
	return n
}

// waitConnections waits until the program has so many connections to a broker.
func waitConnections(t *testing.T, b *mochi.Server, want int) {
	t.Helper()
	eventually(t, fmt.Sprintf("%d connections to the broker", want), func() bool { return connectionsTo(b) == want })
}

// openDevice opens the page of a device, with its settings.
func openDevice(p *chromium.Tab, device string) {
	p.Eval(`void (location.hash = "#home")`, nil)
	p.Until(tile(device, "h3 a"))
	p.Eval(tile(device, "h3 a")+".click()", nil)
	p.Until(`[...document.querySelectorAll("#home h2")].some((h) => h.textContent === "Settings and removal") && document.querySelector("#home button[aria-label^=Remove]")`)
}

// An operator changes the settings of a device and removes it, in the page, without a restart. A plug that
// is on for a time goes off first. A test reads the device alone. The page names what refers to a device, and refuses while a task uses it.
// The last device of a broker ends the connection.
func TestDeviceIsChangedAndRemovedInPage(t *testing.T) {
	if testing.Short() {
		t.Skip("this test needs a browser and the built program")
	}
	t.Parallel() // it mostly waits
	server, broker := startBroker(t)
	plugs := map[string]*tasmotaPlug{}
	text := "devices:\n  camera: {driver: sim-camera, room: porch, area: porch}\n  lamp: {driver: sim-bulb, area: hall, seen_by: camera} # by the door\n  vacuum: {driver: sim-vacuum, rooms: [kitchen, living room]}\n"
	for _, name := range []string{"plug1", "plug2"} {
		plugs[name] = newTasmotaPlug(t, broker, name, name)
		text += fmt.Sprintf("  # about %s\n  %[1]s:\n    driver: mqttdevice\n    area: office\n    broker: mqtt://%s\n    family: tasmota\n    timeout: 5s # enough\n    safe: keep\n    with: {topic: %[1]s}\n", name, broker)
	}
	file := filepath.Join(t.TempDir(), "messkit.yaml")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	read := func() string {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	h := startMesskitWith(t, []string{"--config", file}, inWindows)
	for i, size := range windowSizes {
		device := fmt.Sprint("plug", i+1)
		v := homeView{h, h.openHome(size.width, size.height)}
		p, plug := v.p, plugs[device]

		// Another setting ends the device and starts it again.
		h.waitStatus(h.request(fmt.Sprintf(`{"intent": "turn on %s for 10 minutes"}`, device)), "completed")
		openDevice(p, device)
		h.checkAccessibility(p, "device-settings-"+size.name)
		p.Fill("#edit-timeout", "6s")
		submit(p)
		p.Until(`document.querySelector("#home form.manage [role=status] p")?.textContent.includes("The device runs with them")`)
		if got := fmt.Sprint(plug.switched()); got != "[ON OFF]" {
			t.Errorf("the plug got the commands %s, want it off before it starts again", got)
		}
		if want := strings.Replace(text, "timeout: 5s # enough\n    safe: keep\n    with: {topic: "+device, "timeout: 6s # enough\n    safe: keep\n    with: {topic: "+device, 1); read() != want {
			t.Errorf("the file is %q, want %q", read(), want)
		}
		text = read()

		// The test reads the plug. It sends no command, and makes no task. The trial is one task, and one command.
		tasks := len(v.threads())
		p.Until(`document.querySelector("#home .trial button")`)
		p.Eval(`document.querySelector("#home .trial button").click()`, nil)
		p.Until(`document.querySelector("#home [data-test=works]")?.textContent.includes("is off")`)
		if got := fmt.Sprint(plug.switched()); got != "[ON OFF]" || len(v.threads()) != tasks {
			t.Errorf("after a test the plug has the commands %s, and there are %d more tasks", got, len(v.threads())-tasks)
		}
		p.Eval(`document.querySelector("#home .trial [data-verb=switch-on]").click()`, nil)
		eventually(t, "the command of the trial", func() bool { return fmt.Sprint(plug.switched()) == "[ON OFF ON]" })
		p.Until(`document.querySelector("#home .trial .note.good")`)
		if n := len(v.threads()); n != tasks+1 {
			t.Errorf("a trial made %d tasks", n-tasks)
		}
		h.waitStatus(h.request(fmt.Sprintf(`{"intent": "turn off %s"}`, device)), "completed")

		// A hidden device has no tile, in another window, too. It works, and the search finds it.
		openDevice(p, "lamp")
		p.Until(`[...document.querySelectorAll("#home dd code")].some((e) => e.textContent === "sim-bulb")`)
		p.Eval(`document.querySelector("#home [data-hide=lamp]").click()`, nil)
		p.Until(`document.querySelector("#home [data-hide=lamp]").textContent === "Show on Home again"`)
		if !strings.Contains(read(), "lamp: {driver: sim-bulb, hidden: true, area: hall, seen_by: camera} # by the door") {
			t.Errorf("the file is %q", read())
		}
		second := h.openHome(size.width, size.height)
		second.Until(tile(device) + ` && !` + tile("lamp") + ` && document.querySelector("#show-hidden")?.textContent === "Show 1 hidden device"`)
		second.Fill("#search-intent", "lamp")
		second.Until(tile("lamp"))
		second.Fill("#search-intent", "")
		second.Until(`!` + tile("lamp"))
		second.Click("#show-hidden", "Show 1 hidden device")
		v2 := homeView{h, second}
		v2.once("lamp", func() { v2.press("lamp", ".switch") })
		v2.once("lamp", func() { v2.press("lamp", ".switch") })
		p.Front()
		p.Until(`document.getElementById("line").textContent === "live"`)
		p.Eval(`document.querySelector("#home [data-hide=lamp]").click()`, nil)
		p.Until(`document.querySelector("#home [data-hide=lamp]").textContent === "Hide from Home"`)
		second.Front()
		second.Until(`!document.querySelector("#show-hidden") && ` + tile("lamp"))
		p.Front()
		p.Until(`document.getElementById("line").textContent === "live"`)
		if read() != text {
			t.Errorf("the file is %q", read())
		}

		// A camera that another device names, and a vacuum with a task, stay.
		openDevice(p, "camera")
		p.Click("#home button", "Remove this device …")
		p.Until(`document.querySelector("#home .removal code")?.textContent === "devices.lamp.seen_by"`)
		// The map of the vacuum shows its rooms. A tap chooses one, and Clean asks for that one alone.
		p.Eval(`void (location.hash = "#home")`, nil)
		openDevice(p, "vacuum")
		p.Until(`document.querySelector("#home .floormap img")?.naturalWidth > 500 && document.querySelectorAll("#home .floormap [data-room]").length === 2`)
		p.Eval(`document.querySelector('#home .floormap [data-room="living room"]').click()`, nil)
		p.Until(`[...document.querySelectorAll("#home .chipbutton[aria-pressed=true]")].filter((e) => e.textContent === "living room").length === 2`) // on the map, and in the list
		h.checkAccessibility(p, "device-map-"+size.name)
		p.Eval(`document.querySelector("#home .floormap").scrollIntoView({block: "center"})`, nil)
		h.saveScreenshot(p, "device-map-"+size.name)
		p.Eval(`window.firstMap = document.querySelector("#home .floormap img").src`, nil)
		p.Eval(`document.querySelector('#home [data-verb="vacuum-floor"]').click()`, nil)
		v.waitDevice("vacuum", func(d homeDevice) bool { return d.Task.Status == "needs_confirmation" })
		cleaning := v.threads()[0] // the newest
		if thread := v.api(http.MethodGet, "/requests/"+cleaning, ""); !strings.Contains(thread, `"areas":["living room"]`) {
			t.Errorf("the request is %s", thread)
		}
		h.run("reply", cleaning, "--yes")
		p.Until(`document.querySelector("#home .floormap img").src !== window.firstMap`) // it follows the robot
		h.waitStatus(cleaning, "in_progress")
		openDevice(p, "vacuum")
		p.Click("#home button", "Remove this device …")
		p.Until(`document.querySelector("#home .removal")?.textContent.includes("` + cleaning + `") && !document.querySelector("#home [data-remove]")`)
		h.run("cancel", cleaning)
		h.waitStatus(cleaning, "cancelled")
		if read() != text {
			t.Errorf("the file is %q", read())
		}

		// The plug is removed, and goes off.
		h.waitStatus(h.request(fmt.Sprintf(`{"intent": "turn on %s for 10 minutes"}`, device)), "completed")
		openDevice(p, device)
		p.Click("#home button", "Remove this device …")
		p.Until(`document.querySelector("#home [data-remove]") === null ? false : document.activeElement.textContent === "Keep it"`)
		h.checkAccessibility(p, "device-removal-"+size.name)
		p.Eval(`document.querySelector("#home .removal").scrollIntoView({block: "center"})`, nil)
		h.saveScreenshot(p, "device-removal-"+size.name)
		p.Eval(`document.querySelector("#home [data-remove]").click()`, nil)
		p.Until(`location.hash === "#home" && !` + tile(device) + ` && ` + tile("lamp"))
		if got := fmt.Sprint(plug.switched()); got != "[ON OFF ON OFF ON OFF]" {
			t.Errorf("the plug got the commands %s", got)
		}
		at := strings.Index(text, "  # about "+device)
		end := at + strings.Index(text[at:], "with: {topic: "+device+"}\n") + len("with: {topic: "+device+"}\n")
		if text = text[:at] + text[end:]; read() != text {
			t.Errorf("the file is %q, want %q", read(), text)
		}
		h.waitStatus(h.request(fmt.Sprintf(`{"intent": "turn on %s"}`, device)), "declined")
		if faults := p.Faults(); len(faults) > 0 {
			t.Errorf("in the page: %q", faults)
		}
	}
	waitConnections(t, server, 0)
}
