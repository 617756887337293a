package main

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
)

// gate is a proxy that keeps the lists of tasks back while it is closed.
type gate struct {
	http.Handler
	mu     sync.Mutex
	opened chan struct{} // nil while the gate is open
}

func (g *gate) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	g.mu.Lock()
	opened := g.opened
	g.mu.Unlock()
	if opened != nil && r.Method == http.MethodGet && strings.HasSuffix(r.URL.Path, "/requests") {
		select {
		case <-opened:
		case <-r.Context().Done():
		}
	}
	g.Handler.ServeHTTP(w, r)
}

// close keeps the next lists back. The returned function delivers them.
func (g *gate) close() (open func()) {
	opened := make(chan struct{})
	g.mu.Lock()
	g.opened = opened
	g.mu.Unlock()
	return func() {
		g.mu.Lock()
		g.opened = nil
		g.mu.Unlock()
		close(opened)
	}
}

// A confirmation that waits in a tile stands on top of Home at once, with one form in the page. After a
// load, the sign is neutral until the page has read the tasks. Nothing opens before the confirmation.
func TestSignWaitsForTasks(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("this test needs a browser and the built program")
	}
	h := startMesskit(t)
	g := &gate{Handler: h.proxy()}
	front := httptest.NewServer(g)
	t.Cleanup(func() {
		front.CloseClientConnections()
		front.Close()
	})
	p := h.b.Open(t, 390, 844)
	p.Go(strings.Replace(h.run("console"), h.url, front.URL, 1))
	const sign = `document.getElementById("sign")`
	p.Until(sign + `.className === "sign well"`)
	v := homeView{h, p}

	v.press("garage-door", `[data-verb="open"]`)
	p.Until(tile("garage-door", ".answers button"))
	p.Until(sign + `.textContent.includes("1 needs you") && document.querySelector(".homegrid > div").firstElementChild.id === "home-needs"`)
	p.Until(`document.querySelectorAll("#home .answers").length === 1`)
	h.checkAccessibility(p, "needs-in-tile")
	h.saveScreenshot(p, "needs-in-tile")
	p.Click("#home-needs button", "Answer")
	p.Until(tile("garage-door") + `.contains(document.activeElement)`)

	open := g.close()
	p.Reload()
	p.Until(`document.querySelectorAll("#home .tile").length > 30`)
	p.Until(sign + `.className === "sign reading" && ` + sign + `.textContent === "Reading …"`)
	h.checkAccessibility(p, "sign-reading")
	open()
	p.Until(sign + `.textContent.includes("1 needs you") && document.querySelector("#home-needs .answers")`)
	if d := v.device("garage-door"); d.State != "closed" {
		t.Errorf("before the confirmation the garage door is %s", d.State)
	}
	if faults := p.Faults(); len(faults) > 0 {
		t.Errorf("in the page: %q", faults)
	}
}
