package main

import (
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// An event of the stream during the read of the lists is newer than the lists, and the page keeps
// it.
func TestPageKeepsNewerEvents(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("this test needs a browser and the built program")
	}
	h := startMesskit(t)
	ref := h.request(`{"intent": "turn on the light"}`)
	h.waitStatus(ref, "needs_input")
	p := h.openConsole(1280, 900)
	p.Until(`document.querySelector("#needs a")?.textContent === "turn on the light"`)
	p.Eval(`{
		const real = window.fetch
		window.held = []
		window.fetch = async (path, ...more) => {
			const answer = await real(path, ...more)
			if (!path.includes("requests?")) return answer
			const text = await answer.text()
			await new Promise((go) => window.held.push(go))
			return new Response(text, {status: answer.status})
		}
	}`, nil)
	p.Eval(`void dispatchEvent(new Event("offline"))`, nil) // reconnect
	p.Until(`window.held.length === 3`)
	h.run("cancel", ref)
	p.Until(`document.querySelector("#recent .chip")?.textContent === "cancelled"`)
	p.Eval(`for (const go of window.held) go()`, nil)
	p.Until(`document.getElementById("line").textContent === "live"`)
	var chips []string // after the page has drawn the lists
	p.Eval(`new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))).then(() => [...document.querySelectorAll("#tasks .cards .chip")].map((c) => c.textContent))`, &chips)
	if len(chips) != 1 || chips[0] != "cancelled" {
		t.Errorf("after it was read: %q", chips)
	}

	// A card shows the time of the request, and its age grows without a user action.
	var v struct {
		Thread struct {
			Created time.Time `json:"created_at"`
		}
	}
	if err := json.Unmarshal([]byte(h.api(http.MethodGet, "/requests/"+ref, "")), &v); err != nil {
		t.Fatal(err)
	}
	var at time.Time
	p.Eval(`document.querySelector("#recent time").getAttribute("datetime")`, &at)
	if !at.Truncate(time.Millisecond).Equal(v.Thread.Created.Truncate(time.Millisecond)) {
		t.Errorf("the thread is from %v, and the card shows %v", v.Thread.Created, at)
	}
	p.Eval(`{ const now = Date.now; Date.now = () => now() + 5 * 60 * 1000 }; document.dispatchEvent(new Event("visibilitychange"))`, nil)
	p.Until(`/^[56] min ago$/.test(document.querySelector("#recent time").textContent)`)
	if faults := p.Faults(); len(faults) > 0 {
		t.Errorf("in the page: %q", faults)
	}
}

// A stop takes two lines that stay visible, for any number of silent executors, and leaves room
// for the page below. After the reset the page names the executors that have not confirmed the
// stop.
func TestStopBannerLeavesRoomOnPhone(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("this test needs a browser and the built program")
	}
	config := filepath.Join(t.TempDir(), "messkit.yaml")
	if err := os.WriteFile(config, []byte("exchange: {unreachable: 1s, quiet_lease: 1s}\ndevices:\n  porch-light: {driver: sim-lamp}\n  hall-light: {driver: sim-lamp}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	h := startMesskitWith(t, []string{"--config", config})
	ana := h.openInvitation("Ana", "localhost", "look")
	ref := h.request(`{"intent": "count the chairs of the house, and say of each whether it can be sat on"}`)
	ana.Click("#offers button", "Accept")
	h.waitStatus(ref, "claimed")
	for _, where := range []string{"attic", "cellar", "pond"} {
		h.api(http.MethodPost, "/register", `{"executor_id": "`+where+`", "display_name": "The pi of the `+where+`", "capabilities": ["swim"]}`)
	}
	ana.Click("#mine summary", "Ask a question")
	ana.Fill("#ask-"+ref, "Which floor?")
	ana.Click("#mine details button", "Ask a question")
	h.waitStatus(ref, "needs_input")
	op := h.openConsole(360, 740)
	op.Fill("#needs input", "all")
	op.Click("#needs button", "Answer")
	h.waitStatus(ref, "in_progress")
	op.Click("#open a", "count the chairs")
	op.Until(`/· claimed by ana$/.test(document.querySelector("#detail .meta")?.textContent)`) // her question and its answer do not mean that she has begun
	op.Click("#detail a", "All tasks")
	h.request(`{"intent": "turn on the porch light and the hall light"}`)
	h.api(http.MethodPost, "/stop", `{"why": "second water"}`)
	narrow := func(what string, most int) {
		t.Helper()
		op.Eval(`scrollTo(0, document.body.scrollHeight)`, nil)
		op.Until(`scrollY > 0`)
		var bottom int
		op.Eval(`Math.round(document.querySelector(".top").getBoundingClientRect().bottom)`, &bottom)
		if bottom > most {
			t.Errorf("%s: %d of 740 pixels are covered", what, bottom)
		}
		h.saveScreenshot(op, "stop-scrolled-"+what)
		op.Eval(`scrollTo(0, 0)`, nil)
		h.saveScreenshot(op, "stop-"+what)
	}
	op.Until(`document.getElementById("standing").textContent.startsWith("STOPPED. second water") && /2 of 2 devices safe · 4 have not confirmed/.test(document.getElementById("stopped").innerText)`)
	narrow("stopped", 150)
	h.checkAccessibility(op, "stop-room")
	h.checkWidths(op, "stop-room", 360, 740)
	op.Click("#stopped summary", "")
	op.Until(`document.querySelectorAll("#stopped .forget").length >= 3`)
	h.saveScreenshot(op, "stop-each")

	op.Click("#stopped button", "Reset the stop")
	op.Until(`/^Stop reset at \d+:\d\d.*\. .*People continue their tasks\. These have not confirmed the stop: .*Ana/.test(document.getElementById("released").textContent)`)
	narrow("released", 150)
	ana.Front()
	ana.Until(`document.getElementById("standing").textContent.startsWith("You have an order to stop.")`)
	ana.Text("The order was: second water (by operator, ")
	ana.Text("No other stop is active.")
	h.saveScreenshot(ana, "stop-ana")
	ana.Click("#stopped button", "I have stopped")
	ana.Until(`document.getElementById("standing").textContent.startsWith("Stop: The pi")`)
	h.checkAccessibility(ana, "stop-ana")
	h.checkWidths(ana, "stop-ana", 360, 740)
}

// The page shows structured data as sentences and tables, never as JSON.
func TestPageShowsDataAsSentences(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("this test needs a browser and the built program")
	}
	h := startMesskit(t)
	p := h.openConsole(1280, 900)
	ref := h.request(`{"intent": "turn on the porch light and the hall light"}`)
	h.waitStatus(ref, "completed")
	p.Go(h.url + "/#task/" + ref)
	p.Until(`/^device\s+state\s+hall-light\s+On\s+porch-light\s+On$/.test(document.querySelector("#detail .result table")?.innerText.trim())`)
	p.Until(`!document.querySelector(".back").checkVisibility()`) // the list is next to it
	h.saveScreenshot(p, "told-steps")
	h.checkAccessibility(p, "told-steps")
	ref = h.request(`{"intent": "watch the garage door until it is closed"}`)
	h.waitStatus(ref, "completed")
	p.Go(h.url + "/#task/" + ref)
	p.Until(`document.querySelector("#detail .result dl")`)
	h.saveScreenshot(p, "told-watch")
	h.checkAccessibility(p, "told-watch")
	var raw string
	if p.Eval("document.getElementById(\"detail\").innerText.match(/.*([{]\"|\":).*/)?.[0] || \"\"", &raw); raw != "" {
		t.Errorf("as programs write it: %s", raw)
	}
	h.checkWidths(p, "told-watch", 1280, 900)
}
