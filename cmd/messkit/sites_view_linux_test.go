package main

import (
	"strings"
	"testing"
	"time"

	"github.com/messkit/messkit/exchange/remote/httpclient"
	"github.com/messkit/messkit/internal/test/chromium"
)

// The page of the centre shows the site: its tasks with their messages, and the uplink. After a cut it says since
// when, and how old the copy is. It offers no act there.
func TestPageShowsSites(t *testing.T) {
	s := newSite(t)
	s.awaitUplink(true)
	s.dim(10)
	url := strings.TrimSuffix(s.centre.url, "/api/v1/exchanges/home")
	key, err := operatorKey(s.home + "/office")
	if err != nil {
		t.Fatal(err)
	}
	link, err := clientFor(t, url, httpclient.Secret(key)).ConsoleLink(t.Context(), httpclient.Secret(key), "")
	if err != nil {
		t.Fatal(err)
	}
	p := chromium.Share(t).Open(t, 390, 844)
	p.Go(url + link.Path)
	p.Until(`document.querySelector("#nav a[href='#tasks']")`)
	p.Eval(`location.hash = "#tasks"`, nil)
	const site = `document.querySelector("[data-site=cabin]")`
	p.Until(site + `?.querySelector("[role=status]").textContent.includes("connected")`)
	p.Until(site + `.querySelector("li .chip")?.textContent.toLowerCase() === "done"`)
	p.Eval(site+`.querySelector("li summary").click()`, nil)
	p.Until(site + `.querySelectorAll("ol.timeline li").length >= 3`)
	s.uplink.Sever()
	s.awaitUplink(false)
	p.Until(site + `.querySelector("[role=status]").textContent.includes("cut since")`)
	p.Until(site + `.querySelector("[role=status]").textContent.includes("as of")`)
	s.askSite(30, "")
	p.Until(site + `.querySelector("[role=status]").textContent.includes("1 request waits")`)
	p.Until(site + `.textContent.includes("30 percent") && ` + site + `.textContent.includes("waits for the site")`)
	var controls int
	p.Eval(site+`.querySelectorAll("button, input, textarea").length`, &controls)
	if controls > 0 {
		t.Errorf("the site has %d controls", controls)
	}
	page := &instance{t: t}
	page.checkAccessibility(p, "sites")
	page.checkWidths(p, "sites", 390, 844)
	if faults := p.Faults(); len(faults) > 0 {
		t.Errorf("the page has %q", faults)
	}
	if times := s.lamp.commandTimes(30, time.Time{}, time.Now()); len(times) != 0 {
		t.Error("the uplink is cut, and the lamp has got the level")
	}
}
