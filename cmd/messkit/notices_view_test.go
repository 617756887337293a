package main

import (
	"fmt"
	"testing"

	"github.com/messkit/messkit/internal/test/chromium"
)

// bellShows waits until the bell shows a number of unread notices, 0 for none.
func bellShows(p *chromium.Tab, unread int) {
	text := ""
	if unread > 0 {
		text = fmt.Sprint(unread)
	}
	p.Until(fmt.Sprintf(`document.getElementById("bell").textContent === %q`, text))
}

// The bell counts what needs somebody, in every browser of a person. Its list survives a restart of
// the exchange, names the kind and the end of each notice, and a tap opens the task.
func TestBellView(t *testing.T) {
	if testing.Short() {
		t.Skip("this test needs a browser and the built program")
	}
	h := startMesskit(t)
	other := h.browserAt("localhost")
	for n, size := range windowSizes {
		t.Run(size.name, func(t *testing.T) {
			h.t = t
			p := h.openHome(size.width, size.height)
			bellShows(p, 0)
			ref := h.request(`{"intent":"unlock the front door lock","requires":[{"unlock":{"devices":["front-door-lock"]}}]}`)
			h.waitStatus(ref, "needs_confirmation")
			bellShows(p, 1)
			other.Front() // a hidden page follows nothing
			bellShows(other, 1)
			p.Front()
			p.Eval(`document.getElementById("bell").click()`, nil)
			first := func(part string) string {
				return fmt.Sprintf(`document.querySelector(".notification:first-child %s")`, part)
			}
			p.Until(first("a") + `?.textContent.includes("front door lock")`)
			p.Until(first("") + `.textContent.includes("Confirmation") && ` + first("") + `.textContent.includes("still needs somebody") && ` + first(".chip") + `.textContent === "new"`)
			h.checkAccessibility(p, "bell-"+size.name)
			h.checkWidths(p, "bell-"+size.name, size.width, size.height)
			h.saveScreenshot(p, "bell-"+size.name)
			p.Eval(first("a")+".click()", nil)
			p.Until(fmt.Sprintf(`location.hash === "#task/%s" && !document.getElementById("detail").hidden`, ref))
			bellShows(p, 0)
			other.Front()
			bellShows(other, 0)
			p.Front()
			h.api("PATCH", "/requests/"+ref, `{"status":"cancelled"}`)
			p.Eval(`document.getElementById("bell").click()`, nil)
			p.Until(first("") + `.textContent.includes("settled at") && !` + first(".chip"))
			var count int
			p.Eval(`document.querySelectorAll(".notification").length`, &count)
			if count != n+1 {
				t.Errorf("%d notices, want %d", count, n+1)
			}
			if n == len(windowSizes)-1 { // after a kill the executor acts only when a person has looked
				h.restart()
				p.Until(`document.getElementById("line").textContent === "live"`)
				p.Reload()
				p.Until(fmt.Sprintf(`document.querySelectorAll(".notification").length === %d`, n+1))
				bellShows(p, 0)
			}
			if faults := p.Faults("ERR_CONNECTION_REFUSED", "ERR_INCOMPLETE_CHUNKED_ENCODING", "Failed to load resource"); len(faults) > 0 {
				t.Errorf("in the page: %q", faults)
			}
		})
	}
}
