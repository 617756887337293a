package main

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
)

// lostServer is a proxy that drops every connection while the server is lost. It counts the acts that
// reach it.
type lostServer struct {
	http.Handler
	lost atomic.Bool
	acts atomic.Int64
}

func (l *lostServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodGet && strings.HasPrefix(r.URL.Path, "/api/") {
		l.acts.Add(1)
	}
	if l.lost.Load() {
		panic(http.ErrAbortHandler)
	}
	l.Handler.ServeHTTP(w, r)
}

// The page is installable. Without the server it opens with the last known home, says since when, and
// has no control. It sends nothing when the server is back.
func TestOfflineShellShowsLastHome(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("this test needs a browser and the built program")
	}
	h := startMesskit(t)
	l := &lostServer{Handler: h.proxy()}
	for _, size := range windowSizes {
		t.Run(size.name, func(t *testing.T) {
			h.t = t
			s := httptest.NewServer(l)
			defer s.Close()
			v := homeView{h, h.b.Open(t, size.width, size.height)}
			p := v.p
			p.Go(strings.Replace(h.run("console"), h.url, s.URL, 1))
			p.Until(`document.getElementById("line").textContent === "live" && document.querySelectorAll("#home .tile").length > 30`)
			p.Until(`fetch(document.querySelector('link[rel="manifest"]').href).then((r) => r.json()).then((m) => m.start_url === "/" && m.display === "standalone" && m.icons.some((i) => i.sizes === "512x512"))`)
			p.Until(`(async () => { const i = new Image(); i.src = "/console/icon-512.png"; await i.decode(); return i.naturalWidth === 512 })()`)
			p.Until(`caches.match("/console/files.json")`) // the service worker has stored all files
			p.Until(`localStorage.getItem("messkit-home")`)
			before, acts := len(v.threads()), l.acts.Load()

			l.lost.Store(true)
			s.CloseClientConnections()
			p.Reload()
			p.Until(`document.querySelector("#home .shell")?.textContent.startsWith("Offline since") && document.querySelectorAll("#home .tile").length > 30`)
			p.Until(`document.getElementById("sign").classList.contains("away")`)
			var controls int
			p.Eval(`document.querySelectorAll("#home .tile button, #home .tile input, #home form:not([hidden]) input").length`, &controls)
			if controls != 0 {
				t.Errorf("the stored home has %d controls", controls)
			}
			h.checkAccessibility(p, "offline-"+size.name)
			h.saveScreenshot(p, "offline-"+size.name)

			l.lost.Store(false)
			p.Until(`!document.querySelector("#home .shell") && document.getElementById("line")?.textContent === "live"`)
			p.Until(tile("hall-light", ".switch"))
			if n, a := len(v.threads()), l.acts.Load(); n != before || a != acts {
				t.Errorf("the page sent something: %d new threads, %d acts", n-before, a-acts)
			}
			p.Click("nav a", "Settings")
			p.Click("#signout", "Sign out")
			p.Until(`!document.getElementById("signin").hidden && !localStorage.getItem("messkit-home")`)
		})
	}
}
