package main

import (
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/messkit/messkit/internal/test/chromium"
)

// manyWindows are more windows of one browser than it opens connections to a server: six.
const manyWindows = 8

// inStep is the limit for two windows to show the same. They take less than a second on an idle machine;
// this one runs other tests.
const inStep = 10 * time.Second

// All windows of one browser that are visible follow the home with one stream, and each of them can still
// act. When the window ends that reads the stream, another one reads it.
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
	for i := range manyWindows {
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
	oneStream := func(when string) {
		t.Helper()
		eventually(t, when+" the browser has one stream", func() bool { return streams.Load() == 1 })
	}
	oneStream("with all windows")
	windows[manyWindows-1].once("hall-light", func() { windows[manyWindows-1].press("hall-light", ".switch") })
	times := make([]int64, manyWindows)
	for i, v := range windows {
		v.p.Until(`globalThis.turned > 0`)
		v.p.Eval(`globalThis.turned`, &times[i])
	}
	if late := slices.Max(times) - slices.Min(times); late > inStep.Milliseconds() {
		t.Errorf("the windows show the change within %d ms: %v", late, times)
	}
	windows[0].p.Go("about:blank") // the first window has read the stream
	oneStream("without the first window")
	windows = windows[1:]
	v := windows[0]
	v.once("porch-light", func() { v.press("porch-light", ".switch") })
	for _, v := range windows {
		v.p.Until(tile("porch-light", ".switch") + `.getAttribute("aria-checked") === "true" && document.getElementById("line").textContent === "live"`)
	}
}

// Over plain HTTP from another machine, windows cannot share a stream. Six visible windows all get an
// answer then: four are live, and each of the others says why it is not. A click makes it live.
func TestWindowsOverPlainHTTP(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("this test needs a browser and the built program")
	}
	h := startMesskit(t)
	front := httptest.NewServer(h.proxy())
	t.Cleanup(func() {
		front.CloseClientConnections()
		front.Close()
	})
	address := strings.Replace(front.URL, "127.0.0.1", chromium.OtherHost, 1)
	const (
		live      = `document.getElementById("line").textContent === "live"`
		displaced = `document.getElementById("line").textContent.includes("four other windows")`
	)
	var windows []homeView
	for i := range 6 {
		size := windowSizes[i%len(windowSizes)]
		v := homeView{h, h.b.Open(t, size.width, size.height)}
		windows = append(windows, v)
		if i == 0 {
			v.p.Go(strings.Replace(h.run("console"), h.url, address, 1))
			v.p.Until(`!navigator.locks`)
		} else {
			v.p.Go(address)
		}
		v.p.Until(live + ` && document.querySelectorAll("#home .tile").length > 30`)
	}
	for i, v := range windows {
		v.p.Until([]string{displaced, live}[min(i/2, 1)])
	}
	windows[5].once("hall-light", func() { windows[5].press("hall-light", ".switch") })
	for _, v := range windows[2:] {
		v.p.Until(tile("hall-light", ".switch") + `.getAttribute("aria-checked") === "true"`)
	}
	windows[0].p.Eval(`document.body.dispatchEvent(new PointerEvent("pointerdown", {bubbles: true}))`, nil)
	windows[0].p.Until(live + ` && ` + tile("hall-light", ".switch") + `.getAttribute("aria-checked") === "true"`)
	windows[2].p.Until(displaced)
}
