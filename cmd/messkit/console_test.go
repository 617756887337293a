package main

import (
	"encoding/json"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
)

// A new user asks, answers, confirms, stops and resets the stop, on a desktop and on a phone.
func TestConsoleScenario(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("this test needs a browser and the built program")
	}
	h := startMesskit(t)
	for _, size := range []struct {
		name          string
		width, height int
	}{{"desktop", 1280, 800}, {"phone", 360, 740}} {
		t.Run(size.name, func(t *testing.T) {
			h.t = t
			p := h.openConsole(size.width, size.height)
			shows := func(name string) {
				h.saveScreenshot(p, name+"-"+size.name)
				if name == "preview" || name == "progress" { // these change without a user action
					return
				}
				h.checkAccessibility(p, name+"-"+size.name)
				if size.name == "phone" {
					h.checkWidths(p, name, size.width, size.height)
				}
			}

			p.Fill("#intent", "what's in the fridge?")
			p.Until(`document.getElementById("preview").textContent.includes("observe")`)
			shows("preview")
			p.Press("Enter")
			p.Until(`document.querySelector("#detail .picture")?.naturalWidth > 300`)
			p.Text("milk")
			shows("picture")

			p.Click("a", map[string]string{"phone": "All tasks", "desktop": "Tasks"}[size.name])
			p.Fill("#intent", "turn on the light")
			p.Click("#ask button", "Ask")
			p.Click("#detail label", "porch light")
			shows("question")
			p.Click("#detail button", "Answer")
			p.Text("The porch light is on.")

			// The page shows a plan that needed an answer like a plan that was complete at once.
			p.Click("a", map[string]string{"phone": "All tasks", "desktop": "Tasks"}[size.name])
			p.Fill("#intent", "vacuum the kitchen")
			p.Click("#ask button", "Ask")
			p.Click("#detail label", "both")
			p.Click("#detail button", "Answer")
			p.Until(`/^Plan:.*risk: motion/s.test(document.querySelector("#detail .preview")?.textContent)`)
			p.Click("#detail .answers button", "Reject")
			p.Until(`/refused|cancelled|failed/.test(document.querySelector("#detail .chip").textContent)`)

			// The page reports unrecognized words before the user submits the request.
			p.Click("a", map[string]string{"phone": "All tasks", "desktop": "Tasks"}[size.name])
			p.Fill("#intent", "frobnicate the lamp")
			p.Until(`document.getElementById("preview").textContent.includes("not understood")`)
			shows("not-understood")

			p.Fill("#intent", "vacuum the living room")
			p.Until(`document.getElementById("preview").textContent.includes("must confirm")`)
			p.Click("#ask button", "Ask")
			p.Until(`[...document.querySelectorAll("#detail .answers button")].length > 1`)
			shows("confirm")
			p.Click("#detail .answers button", "Confirm")
			p.Until(`document.querySelector("#detail progress")`)
			p.Until(`/\d s left/.test(document.getElementById("detail").textContent)`)
			shows("progress")

			h.pressStop(p)
			p.Until(`document.getElementById("stopped").textContent.includes("devices safe")`)
			shows("stopped")
			p.Until(`/failed|partly done|cancelled/.test(document.querySelector("#detail .chip").textContent)`)
			p.Click("#stopped button", "Reset the stop")
			p.Until(`document.getElementById("stopped").textContent === ""`)

			p.Click("nav a", "Executors")
			h.run("arm", "--data", filepath.Join(h.home, "data")) // the stop interrupted a task
			p.Until(`document.getElementById("arming").textContent.includes("All risk classes and devices are armed.")`)
			p.Until(`document.querySelector("#local-devices .picture")?.naturalWidth > 300`)
			p.Until(`[...document.querySelectorAll("#local-devices li")].every((d) => !/not started|since the stop/.test(d.textContent))`)
			shows("things")
			p.Click("nav a", "People")
			p.Fill("#name", "Ben")
			p.Fill("#at", "https://192.0.2.7:8420")
			p.Click("#invite button", "Create invitation")
			p.Until(`document.querySelector("#invitation .dots")`)
			shows("people")
			if code, _, err := newAPIClient(h.url+"/api/v1/exchanges/home", "", "").call("wrong", http.MethodGet, "/requests", ""); err != nil || code != http.StatusUnauthorized {
				t.Errorf("a wrong key: %d %v", code, err)
			}
			for range 2 { // equal entries share one line
				if code, _, err := newAPIClient(h.url+"/api/v1/exchanges/home", "", "").call("wrong", http.MethodGet, "/executors", ""); err != nil || code != http.StatusUnauthorized {
					t.Errorf("a wrong key: %d %v", code, err)
				}
			}
			h.showLog(p)
			p.Text("written since the start")
			p.Until(`document.getElementById("refused").textContent.includes("401")`)
			p.Text("the exchange does not know the key")
			p.Until(`/ times .*and others/.test([...document.querySelectorAll("#refused > li")].find((l) => l.textContent.includes("the exchange does not know the key")).textContent)`)
			shows("log")
			p.Dark(true)
			p.Click("nav a", "Tasks")
			p.Until(`document.querySelector("#recent a")`)
			shows("dark")
			if faults := p.Faults(); len(faults) > 0 {
				t.Errorf("in the page: %q", faults)
			}
		})
	}
}

// A person opens an invitation on a phone, sets her abilities and does a task that no robot can
// do. She also works offline, and the exchange stores each answer once.
func TestPersonDoesTaskOnPhone(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("this test needs a browser and the built program")
	}
	h := startMesskit(t)
	link, _, _ := strings.Cut(h.run("invite", "Ana Maria"), "\n")
	p := h.b.Open(t, 360, 740)
	p.Go(h.url + "/me")
	p.Text("Not signed in")
	p.Eval(`void (location.href = "`+link+`")`, nil)
	p.Until(`document.getElementById("line").textContent === "live" && document.getElementById("abilities").children.length > 0`)
	p.Click("#abilities label", "take a photo")
	p.Click("#abilities label", "open")
	h.saveScreenshot(p, "me-setup")
	p.Click("#profile label", "certain hours")
	h.checkAccessibility(p, "me-setup")
	h.checkWidths(p, "me-setup", 360, 740)
	p.Click("#profile label", "certain hours")
	p.Click("#profile button", "Save")
	p.Text("Saved.")

	ref := h.request(`{"intent": "make me a sandwich", "response_hint": ["image", {"text": "one line"}, "confirmation", {"structured": {"slices": "number"}}]}`)
	p.Text("make me a sandwich")
	p.Text("offered to Ana Maria")
	h.saveScreenshot(p, "me-offer")
	h.checkAccessibility(p, "me-offer")
	h.checkWidths(p, "me-offer", 360, 740)
	p.Click("#offers button", "Accept")
	p.Click("#mine summary", "Ask a question")
	p.Fill("#ask-"+ref, "With cheese?")
	p.Click("#mine details button", "Ask a question")
	h.waitStatus(ref, "needs_input")
	h.api(http.MethodPatch, "/requests/"+ref, `{"mess": [{"reply": {"answers": {"answer": "yes"}}}]}`)
	p.Text("answer: yes")
	// The answer continues the task, although the person has not begun it.
	p.Until(`[...document.querySelectorAll("#mine summary")].some((s) => s.checkVisibility() && s.textContent === "Delegate") && [...document.querySelectorAll("#mine button")].some((b) => b.checkVisibility() && b.textContent === "Start")`)

	p.Fill("#text-"+ref, "Here it is.")
	p.Eval(`new Promise((done) => {
		const c = document.createElement("canvas"); c.width = 3000; c.height = 2000
		const to = c.getContext("2d"), all = to.createImageData(3000, 2000)
		for (let i = 0, n = 1; i < all.data.length; i++) { n = (n * 1103515245 + 12345) & 0x7fffffff; all.data[i] = i % 4 === 3 ? 255 : n >> 16 }
		to.putImageData(all, 0, 0)
		c.toBlob((b) => {
			const files = new DataTransfer(); files.items.add(new File([b], "x.png", {type: "image/png"}))
			const input = document.getElementById("photo-`+ref+`"); input.files = files.files
			input.dispatchEvent(new Event("change")); done()
		}, "image/png")
	})`, nil)
	p.Until(`[...document.querySelectorAll("#mine ul.meta li")].some((l) => l.textContent.startsWith("a photo, "))`)
	p.Click("#mine label", "yes")
	p.Fill("#field-slices-"+ref, "2")
	h.saveScreenshot(p, "me-compose")
	h.checkAccessibility(p, "me-compose")
	h.checkWidths(p, "me-compose", 360, 740)
	p.Click("#mine button[type=submit]", "Done")
	p.Until(`document.getElementById("mine").textContent.includes("No tasks.")`)
	thread := h.waitStatus(ref, "completed")
	var sent struct {
		Thread struct {
			Attachments []struct{ Size int }
		}
	}
	if err := json.Unmarshal([]byte(thread), &sent); err != nil || len(sent.Thread.Attachments) != 1 || sent.Thread.Attachments[0].Size > 500_000 || sent.Thread.Attachments[0].Size < 50_000 {
		t.Errorf("%v: %s", err, thread)
	}
	for _, want := range []string{"Here it is.", `"confirmation":true`, `"slices":2`} {
		if !strings.Contains(thread, want) {
			t.Errorf("%s is not in %s", want, thread)
		}
	}

	// A task that a person does at once produces two messages: in_progress and the result.
	ref = h.request(`{"intent": "bring the parcel in"}`)
	p.Click("#offers button", "Accept")
	p.Fill("#text-"+ref, "It is in the hall.")
	p.Click("#mine button[type=submit]", "Done")
	if thread := h.waitStatus(ref, "completed"); !strings.Contains(thread, "by Ana Maria’s word") {
		t.Errorf("how it is known is not in %s", thread)
	}
	p.Until(`document.getElementById("outbox").children.length === 0`)

	ref = h.request(`{"intent": "water the plants on the balcony"}`)
	p.Click("#offers button", "Accept")
	// The page notifies her of a stop during her task, and she reports that she has stopped.
	h.waitStatus(ref, "claimed")
	other := h.request(`{"intent": "sweep the terrace"}`)
	p.Until(`document.getElementById("offers").textContent.includes("sweep the terrace")`)
	h.pressStop(p)
	p.Text("STOP what you are doing.")
	p.Until(`/vm is stopped: stop button of a phone.*ana-maria.*Accept anyway/s.test(document.getElementById("offers").textContent)`)
	p.Text("stop button of a phone (by ana-maria")
	h.checkAccessibility(p, "me-stop")
	h.checkWidths(p, "me-stop", 360, 740)
	p.Click("#stopped button", "I have stopped")
	p.Until(`!document.getElementById("standing").textContent.includes("STOP what")`)
	h.run("cancel", other)
	if thread := h.waitStatus(ref, "claimed"); !strings.Contains(thread, "Ana Maria says: I have stopped") {
		t.Errorf("the report of her stop is not in %s", thread)
	}
	p.Until(`document.getElementById("text-` + ref + `")`)
	p.Until(`navigator.serviceWorker.controller || navigator.serviceWorker.ready`)
	p.Offline(true)
	p.Fill("#text-"+ref, "They were dry.")
	p.Click("#mine button[type=submit]", "Done")
	p.Text("Not sent yet")
	h.checkAccessibility(p, "me-offline")
	h.checkWidths(p, "me-offline", 360, 740)
	p.Reload()
	p.Until(`document.readyState === "complete" && document.getElementById("outbox").children.length === 2`)
	p.Text("water the plants")
	p.Offline(false)
	thread = h.waitStatus(ref, "completed")
	if n := strings.Count(thread, "They were dry."); n != 1 {
		t.Errorf("sent %d times: %s", n, thread)
	}
	p.Until(`document.getElementById("outbox").children.length === 0`)

	// A second invitation keeps the settings of the first one.
	link, _, _ = strings.Cut(h.run("invite", "Ana Maria"), "\n")
	second := h.b.Open(t, 360, 740)
	second.Go(link)
	second.Until(`document.querySelector("#abilities input[value=take-photo]")?.checked`)
	if faults := second.Faults(); len(faults) > 0 {
		t.Errorf("in the page: %q", faults)
	}
}

// The page shows the text of a request, a name or a file, and never runs it as code.
func TestPageRunsNoForeignText(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("this test needs a browser and the built program")
	}
	h := startMesskit(t)
	const script = `<img src=x onerror="document.title='run'"><script>document.title='run'</script>`
	quoted, err := json.Marshal(script)
	if err != nil {
		t.Fatal(err)
	}
	h.run("invite", script, "--id", "mallory")
	ref := h.request(`{"intent": ` + string(quoted) + `, "context": [` + string(quoted) + `, {"url": "javascript:document.title='run'"}, {` + string(quoted) + `: 1}, {"image": "data:image/svg+xml;base64,PHN2ZyBvbmxvYWQ9ImRvY3VtZW50LnRpdGxlPSdydW4nIi8+"}, {"structured": {` + string(quoted) + `: ` + string(quoted) + `}}]}`)
	p := h.openConsole(1280, 800)
	p.Go(h.url + "/#task/" + ref)
	p.Until(`document.querySelector("#detail .timeline")?.textContent.includes("onerror")`)
	p.Click("nav a", "People")
	h.showLog(p)
	p.Until(`document.querySelector("#declined a")`)
	var bad string
	p.Eval(`document.title + [...document.querySelectorAll("img, script:not([src]), a")].filter((e) => /x$|javascript/.test(e.getAttribute("src") || e.getAttribute("href") || "")).map((e) => e.outerHTML).join()`, &bad)
	if bad != "Log · messkit" {
		t.Errorf("the page has run or holds %q", bad)
	}
	// The browser blocks a script that an attacker injects into the page.
	p.Eval(`(() => { try { document.body.innerHTML = "<a onclick=\"document.title='run'\">x</a>"; document.querySelector("a").click() } catch { } })()`, nil)
	var title string
	if p.Eval("document.title", &title); title != "Log · messkit" {
		t.Error("a handler in an attribute has run")
	}
	if faults := p.Faults("Content Security Policy", "TrustedHTML"); len(faults) > 0 {
		t.Errorf("in the page: %q", faults)
	}
}

// The keyboard reaches everything: sign in, ask, go to the stop.
func TestKeyboardReachesEverything(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("this test needs a browser and the built program")
	}
	h := startMesskit(t)
	key, err := operatorKey(filepath.Join(h.home, "data"))
	if err != nil {
		t.Fatal(err)
	}
	p := h.b.Open(t, 1280, 800)
	p.Go(h.url + "/")
	p.Until(`document.activeElement.id === "key"`)
	h.checkAccessibility(p, "signin")
	p.Fill("#key", key)
	p.Press("Enter")
	p.Until(`document.getElementById("line").textContent === "live"`)
	reached := map[string]bool{}
	p.Go(h.url + "/#tasks") // a reload puts the focus at the beginning
	p.Reload()
	p.Until(`document.readyState === "complete" && document.getElementById("line").textContent === "live"`)
	for range 40 {
		p.Press("Tab")
		var at string
		p.Eval(`document.activeElement.id || document.activeElement.textContent.trim()`, &at)
		reached[at] = true
		if at == "intent" {
			break
		}
		var seen bool
		if p.Eval(`(() => { const s = getComputedStyle(document.activeElement); return document.activeElement === document.body || s.outlineStyle !== "none" || document.activeElement.className === "skip" })()`, &seen); !seen {
			t.Errorf("the focus on %q is not visible", at)
		}
	}
	for _, want := range []string{"Skip to content", "Stop everything", "Home", "Tasks", "Executors", "People", "Settings", "intent"} {
		if !reached[want] {
			t.Errorf("Tab does not reach %q: %v", want, reached)
		}
	}
	p.Call("Input.insertText", map[string]any{"text": "turn on the light"}, nil)
	p.Press("Enter")
	p.Until(`document.querySelector("#detail .answers input")`)
	p.Eval(`document.querySelector("#detail .answers input").focus()`, nil)
	p.Press("Space")
	p.Press("Enter")
	p.Text("The balcony light is on.")

	// A link to the current page changes only the fragment of the address.
	p.Click("nav a", "Settings")
	p.Click("#signout", "Sign out")
	p.Until(`document.activeElement.id === "key"`)
	p.Eval(`void (location.href = "`+h.run("console")+`")`, nil)
	p.Until(`document.getElementById("line")?.textContent === "live"`)
}
