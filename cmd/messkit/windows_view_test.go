package main

import (
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// maxWindows is the number of windows of one browser that are connected at the same time: the browser
// opens six connections to a server, each window keeps one, and one stays for requests.
const maxWindows = 5

// inStep is the limit for two windows to show the same. They take less than a second on an idle machine;
// this one runs other tests.
const inStep = 10 * time.Second

// All windows of one browser that are visible follow the home, and each of them can still act.
func TestWindowsAreInStep(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("this test needs a browser and the built program")
	}
	h := startMesskit(t)
	proxy := h.proxy()
	var streams atomic.Int64 // that are open
	front := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Accept") == "text/event-stream" {
			streams.Add(1)
			defer streams.Add(-1)
		}
		proxy.ServeHTTP(w, r)
	}))
	t.Cleanup(func() {
		front.CloseClientConnections()
		front.Close()
	})
	var windows []homeView
	for i := range maxWindows {
		size := windowSizes[i%len(windowSizes)]
		p := h.b.Open(t, size.width, size.height)
		if i == 0 {
			p.Go(strings.Replace(h.run("console"), h.url, front.URL, 1))
		} else {
			p.Go(front.URL)
		}
		windows = append(windows, homeView{h, p})
	}
	for _, v := range windows {
		v.p.Until(`document.getElementById("line").textContent === "live" && document.querySelectorAll("#home .tile").length > 30`)
		v.p.Eval(`globalThis.turned = 0; new MutationObserver(() => { globalThis.turned ||= `+tile("hall-light", ".switch")+`.getAttribute("aria-checked") === "true" ? Date.now() : 0 }).observe(document.getElementById("home"), {subtree: true, attributes: true, childList: true})`, nil)
	}
	if n := streams.Load(); n != maxWindows {
		t.Errorf("%d windows have %d streams", maxWindows, n)
	}
	windows[maxWindows-1].once("hall-light", func() { windows[maxWindows-1].press("hall-light", ".switch") })
	times := make([]int64, maxWindows)
	for i, v := range windows {
		v.p.Until(`globalThis.turned > 0`)
		v.p.Eval(`globalThis.turned`, &times[i])
	}
	if late := slices.Max(times) - slices.Min(times); late > inStep.Milliseconds() {
		t.Errorf("the windows show the change within %d ms: %v", late, times)
	}
	v := windows[0]
	v.once("porch-light", func() { v.press("porch-light", ".switch") })
}
