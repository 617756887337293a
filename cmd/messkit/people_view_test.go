package main

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/messkit/messkit/internal/test/chromium"
)

// choose selects an option of a list.
func choose(p *chromium.Tab, selector, value string) {
	p.Until(fmt.Sprintf(`document.querySelector(%q)`, selector))
	p.Eval(fmt.Sprintf(`{ const e = document.querySelector(%q); e.value = %q; e.dispatchEvent(new Event("change", {bubbles: true})) }`, selector, value), nil)
}

// card returns an expression for a part of the card of a person.
func card(person, part string) string {
	return fmt.Sprintf(`document.querySelector('[data-person="%s"] %s')`, person, part)
}

// inviteGuest fills the form of the People view, and returns the link of the invitation for a host name.
func (h *instance) inviteGuest(p *chromium.Tab, name, host string) string {
	h.t.Helper()
	p.Click("nav a", "People")
	p.Fill("#name", name)
	choose(p, "#invite-role", "guest")
	p.Until(`document.getElementById("invite-until").value !== ""`)
	p.Click("#invite .areas-choice input", "") // not all areas
	p.Until(`document.querySelectorAll("#invite .areas-choice input").length > 3`)
	p.Eval(`for (const l of document.querySelectorAll("#invite .areas-choice .check")) { const i = l.querySelector("input"); if (i.checked && l.textContent !== "hall") i.click() }`, nil)
	p.Until(`[...document.querySelectorAll("#invite .areas-choice input")].filter((i) => i.checked).length === 1`)
	p.Click("#invite button", "Create invitation")
	p.Until(`document.querySelector("#invitation a")`)
	p.Until(`document.querySelector(".invitations")`)
	var link string
	p.Eval(`new URL(document.querySelector("#invitation a").href).hash`, &link)
	return strings.Replace(h.url, "127.0.0.1", host, 1) + "/" + link
}

// An operator invites a guest for one area. The browser of the guest opens the home, shows that area
// alone, operates its lamp and not its lock. The operator signs that browser out, and removes the guest.
func TestPeopleView(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("this test needs a browser and the built program")
	}
	h := startMesskit(t)
	for _, size := range windowSizes {
		t.Run(size.name, func(t *testing.T) {
			h.t = t
			op := h.openHome(size.width, size.height)
			op.Until(`document.querySelectorAll("#home .tile").length > 30`)
			name, id := "Gus "+size.name, "gus-"+size.name
			link := h.inviteGuest(op, name, "localhost")
			h.checkAccessibility(op, "people-"+size.name)
			h.saveScreenshot(op, "people-"+size.name)

			guest := h.b.Open(t, size.width, size.height)
			guest.Go(link)
			v := homeView{h, guest}
			guest.Until(`document.getElementById("line").textContent === "live" && document.querySelectorAll("#home .tile").length > 0`)
			var areas, views []string
			guest.Eval(`[...document.querySelectorAll("#home .area")].map((a) => a.getAttribute("aria-label"))`, &areas)
			guest.Eval(`[...document.querySelectorAll("nav a")].map((a) => a.textContent)`, &views)
			if strings.Join(areas, " ") != "hall" || strings.Join(views, " ") != "Home Tasks Settings" {
				t.Errorf("the guest sees the areas %q and the views %q", areas, views)
			}
			was := v.device("hall-light").State
			v.once("hall-light", func() { v.press("hall-light", ".switch") })
			v.waitDevice("hall-light", func(d homeDevice) bool { return d.State != was && d.State != "unknown" })
			guest.Eval(`void (location.hash = "#people")`, nil)
			guest.Until(`!document.getElementById("home").hidden`)
			h.checkAccessibility(guest, "guest-"+size.name)
			h.saveScreenshot(guest, "guest-"+size.name)
			var code int
			guest.Eval(`fetch("/api/v1/devices/front-door-lock/unlock", {method: "POST", headers: {"Content-Type": "application/json"}, body: "{}"}).then((r) => r.status)`, &code)
			if code != http.StatusForbidden {
				t.Errorf("the guest unlocks the front door: %d", code)
			}

			op.Click("nav a", "Home")
			op.Click("nav a", "People")
			op.Until(card(id, ".browsers li"))
			op.Eval(card(id, "details")+".open = true", nil)
			op.Eval(card(id, ".browsers button")+".click()", nil)
			guest.Until(`!document.getElementById("signin").hidden`)
			op.Until(`!` + card(id, ".browsers li"))

			op.Eval(card(id, "p:last-child button:last-child")+".click()", nil)
			op.Until(card(id, ".twostep"))
			h.saveScreenshot(op, "people-remove-"+size.name)
			op.Eval(card(id, ".twostep button:last-child")+".click()", nil)
			op.Until(`!` + card(id, "h2"))
			if faults := op.Faults(); len(faults) > 0 {
				t.Errorf("in the page: %q", faults)
			}
		})
	}
}

// The settings of a browser hold after a reload: language, units and theme. A signed-in browser ends
// another one of the same person.
func TestSettingsView(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("this test needs a browser and the built program")
	}
	h := startMesskit(t)
	other := h.browserAt("localhost")
	for _, size := range windowSizes {
		t.Run(size.name, func(t *testing.T) {
			h.t = t
			p := h.openHome(size.width, size.height)
			p.Click("nav a", "Settings")
			p.Until(`document.querySelectorAll("#settings .browsers li").length > 0`)
			p.Until(`/\d+\.\d+/.test(document.getElementById("version").textContent)`)
			h.checkAccessibility(p, "settings-"+size.name)
			h.saveScreenshot(p, "settings-"+size.name)

			ground := func() (color string) {
				p.Eval(`getComputedStyle(document.body).backgroundColor`, &color)
				return color
			}
			light := ground()
			choose(p, "#set-theme", "dark")
			if dark := ground(); dark == light {
				t.Errorf("the dark theme has the ground %s, too", dark)
			}
			p.Reload()
			p.Until(`document.querySelector("#set-theme")?.value === "dark"`)
			choose(p, "#set-theme", "auto")
			if ground() != light {
				t.Error("the theme of the device does not come back")
			}

			choose(p, "#set-units", "imperial")
			p.Until(`document.querySelector("#set-units")?.value === "imperial"`)
			p.Click("nav a", "Home")
			p.Until(tile("hall-heating", ".stepper output") + `.textContent.includes("°F")`)
			p.Click("nav a", "Settings")
			choose(p, "#set-units", "metric")
			p.Until(`document.querySelector("#set-units")?.value === "metric"`)

			choose(p, "#set-language", "de")
			p.Until(`document.getElementById("settings-title").textContent === "Optionen"`)
			choose(p, "#set-language", "en")
			p.Until(`document.getElementById("settings-title").textContent === "Settings"`)
			if faults := p.Faults(); len(faults) > 0 {
				t.Errorf("in the page: %q", faults)
			}
		})
	}
	h.t = t
	p := h.openHome(1280, 800)
	p.Click("nav a", "Settings")
	p.Click("#settings button", "Sign out all others")
	p.Until(`document.querySelectorAll("#settings .browsers li").length === 1`)
	var code int
	other.Eval(`fetch("/console/who").then((r) => r.status)`, &code)
	if code != http.StatusUnauthorized {
		t.Errorf("the other browser is still signed in: %d", code)
	}
}

// browserAt returns a page of the operator under another name of the host, which has a session of its own.
func (h *instance) browserAt(host string) *chromium.Tab {
	h.t.Helper()
	p := h.b.Open(h.t, 1280, 800)
	p.Go(strings.Replace(h.run("console"), "127.0.0.1", host, 1))
	p.Until(`document.getElementById("line").textContent === "live"`)
	return p
}
