package main

import (
	"fmt"
	"strings"
	"testing"

	"github.com/messkit/messkit/internal/test/chromium"
)

// goTo presses Tab until an element with that selector and text has the focus.
func goTo(p *chromium.Tab, selector, text string) {
	const most = 150 // focus stops of a page with all its links
	at := fmt.Sprintf(`document.activeElement.matches(%q) && (document.activeElement.textContent + (document.activeElement.closest("label")?.textContent || "")).includes(%q)`, selector, text)
	for range most {
		var is bool
		if p.Eval(at, &is); is {
			return
		}
		p.Press("Tab")
	}
	p.Until(at + " && 'not by Tab'") // this fails and prints the page
}

// typeText enters text at the focus.
func typeText(p *chromium.Tab, text string) {
	p.Call("Input.insertText", map[string]any{"text": text}, nil)
}

// With the keyboard alone, a person requests the image of the fridge, answers a question,
// confirms a risky task, stops everything and resets the stop.
func TestKeyboardCompletesFiveTasks(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("this test needs a browser and the built program")
	}
	h := startMesskit(t)
	p := h.openConsole(1280, 800)
	ask := func(intent string) {
		goTo(p, "#intent", "")
		typeText(p, intent)
		goTo(p, "#ask button", "Ask")
		p.Press("Enter")
		p.Until(`document.getElementById("detail-title")?.textContent === ` + fmt.Sprintf("%q", intent))
	}

	ask("what's in the fridge?")
	p.Until(`document.querySelector("#detail .result .picture")?.naturalWidth > 300`)

	ask("turn on the light")
	p.Until(`document.querySelector("#detail .answers input")`)
	goTo(p, "#detail .answers input", "")
	p.Press("Space")
	goTo(p, "#detail .answers button", "Answer")
	p.Press("Enter")
	p.Until(`/ light is on\./.test(document.querySelector("#detail .result")?.textContent)`)

	ask("vacuum the living room")
	p.Until(`document.querySelector("#detail .answers button")`)
	goTo(p, "#detail .answers button", "Confirm")
	p.Press("Enter")
	p.Until(`/in progress|done/.test(document.querySelector("#detail .chip").textContent) && document.activeElement.id === "detail"`)

	goTo(p, "#stop button", "Stop everything")
	p.HoldKey("Space", notHeld)
	p.Until(`document.getElementById("stopped").textContent.includes("devices safe") && document.activeElement.closest("#stop")`)
	p.Until(`/failed|partly|cancelled|done/.test(document.querySelector("#detail .chip").textContent)`) // Tab may be slower than a vacuum
	goTo(p, "#stopped button", "Reset the stop")
	p.Press("Enter")
	p.Until(`document.getElementById("stopped").textContent === "" && document.activeElement.matches("#released button")`)
	if faults := p.Faults(); len(faults) > 0 {
		t.Errorf("in the page: %q", faults)
	}
}

// With the keyboard alone and on a small window, a human executor sets her abilities, takes a
// task, answers it, and declines another.
func TestKeyboardCompletesPersonsTask(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("this test needs a browser and the built program")
	}
	h := startMesskit(t)
	link, _, _ := strings.Cut(h.run("invite", "Ana"), "\n")
	p := h.b.Open(t, 390, 844)
	p.Go(link)
	p.Until(`document.getElementById("line").textContent === "live" && document.getElementById("abilities").children.length > 0`)
	goTo(p, "#abilities input", "look")
	p.Press("Space")
	goTo(p, "#profile button", "Save")
	p.Press("Enter")
	p.Text("Saved.")

	ref := h.request(`{"intent": "find the blue box in the cellar"}`)
	p.Text("find the blue box in the cellar")
	goTo(p, "#offers button", "Accept")
	p.Press("Enter")
	p.Until(`document.querySelector("#mine textarea")`)
	goTo(p, "#mine textarea", "")
	typeText(p, "It stands below the stairs.")
	goTo(p, "#mine button", "Done")
	p.Press("Enter")
	if thread := h.waitStatus(ref, "completed"); !strings.Contains(thread, "below the stairs") {
		t.Errorf("the answer: %s", thread)
	}

	ref = h.request(`{"intent": "carry the piano upstairs"}`)
	p.Text("carry the piano upstairs")
	goTo(p, "#offers summary", "Decline")
	p.Press("Enter")
	goTo(p, "#offers input", "")
	typeText(p, "it is too heavy")
	p.Press("Enter")
	p.Until(`!document.getElementById("offers").textContent.includes("piano")`)
	if thread := h.api("GET", "/requests/"+ref, ""); !strings.Contains(thread, "it is too heavy") {
		t.Errorf("why not: %s", thread)
	}
	h.saveScreenshot(p, "me-keyboard")
	if faults := p.Faults(); len(faults) > 0 {
		t.Errorf("in the page: %q", faults)
	}
}
