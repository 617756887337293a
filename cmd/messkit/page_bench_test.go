package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/cookiejar"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/messkit/messkit/internal/test/chromium"
)

// pageGoals are the goals of the figures of TestBenchPage.
const (
	goalLoad        = 120.0 // KB
	goalInteractive = 1000  // ms with the processor six times slower
	goalPixels      = 100   // ms
	goalCPU         = 0.1   // % of one processor
	goalMemory      = 4.0   // MB

	smallestLoad = 30.0 // KB; less has not been counted
)

const (
	slowness        = 6  // of the processor for goalInteractive
	loads           = 5  // measured loads of the page
	measuredChanges = 20 // measured changes of a state
	openPages       = 20 // for goalMemory
	idleWindow      = time.Minute
	drawWindow      = 20 * time.Second
)

// pageBench measures the console of a running messkit. Its figures are rows of a table in Markdown.
type pageBench struct {
	*instance
	rows []string
}

// add adds a figure. It fails the test if the figure misses its goal.
func (b *pageBench) add(name, figure string, reached bool, goal string) {
	b.rows = append(b.rows, fmt.Sprintf("| %s | %s | %s |", name, figure, goal))
	if !reached {
		b.t.Errorf("%s: %s, want %s", name, figure, goal)
	}
}

// isReady is an expression for a page whose tiles can be used.
const isReady = `document.getElementById("line")?.textContent === "live" && document.querySelector("#home .tile .switch")`

// TestBenchPage measures the first load, the time to the first use, the time from a change to its
// picture, and what open pages cost the server. It runs with MESSKIT_BENCH_PAGE=1: make bench-page.
func TestBenchPage(t *testing.T) {
	if os.Getenv("MESSKIT_BENCH_PAGE") == "" {
		t.Skip("make bench-page runs it: it needs four minutes and an idle machine")
	}
	b := &pageBench{instance: startMesskit(t)}
	b.memory()
	without := b.cpu()
	p := b.openHome(390, 844)
	p.Until(isReady)
	b.load(p)
	b.interactive(p)
	b.pixels(p)
	b.idle(p)
	cost := b.cpu() - without
	b.add("processor time of the server for one idle page, of one processor", fmt.Sprintf("%.2f %% (%.2f %% without a page)", cost, without), cost < goalCPU, fmt.Sprintf("under %.1f %%", goalCPU))
	load, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		t.Fatal(err)
	}
	fmt.Printf("load average at the end: %s\n| figure | measured | goal |\n|---|---|---|\n%s\n", strings.Join(strings.Fields(string(load))[:3], " "), strings.Join(b.rows, "\n"))
}

// load adds the bytes of the first load, with the headers.
func (b *pageBench) load(p *chromium.Tab) {
	p.Call("Network.setCacheDisabled", map[string]bool{"cacheDisabled": true}, nil)
	p.Call("Network.setBypassServiceWorker", map[string]bool{"bypass": true}, nil) // a browser counts no bytes of its answers
	p.Reload()
	p.Until(isReady)
	var files, data float64
	p.Eval(`[...performance.getEntriesByType("navigation"), ...performance.getEntriesByType("resource")].filter((e) => !/\/api\/|console\/(who|events|pictures|bell)/.test(e.name)).reduce((n, e) => n + e.transferSize, 0)`, &files)
	p.Eval(`performance.getEntriesByType("resource").filter((e) => /\/api\/|console\/(who|events|pictures|bell)/.test(e.name)).reduce((n, e) => n + e.transferSize, 0)`, &data)
	b.add("first load: pages, scripts, styles and icons", fmt.Sprintf("%.0f KB, and %.0f KB of answers about the home and its tasks", files/1024, data/1024), files/1024 <= goalLoad && files/1024 > smallestLoad, fmt.Sprintf("at most %.0f KB", goalLoad))
	p.Call("Network.setBypassServiceWorker", map[string]bool{"bypass": false}, nil)
}

// interactive adds the median time from the start of a load until a tile can be used.
func (b *pageBench) interactive(p *chromium.Tab) {
	p.Call("Page.addScriptToEvaluateOnNewDocument", map[string]string{"source": `{
		const look = new MutationObserver(() => {
			if (!(` + isReady + `)) return
			look.disconnect()
			requestAnimationFrame(() => setTimeout(() => { globalThis.usable = performance.now() }))
		})
		look.observe(document, {subtree: true, childList: true, characterData: true})
	}`}, nil)
	p.Call("Emulation.setCPUThrottlingRate", map[string]int{"rate": slowness}, nil)
	times := make([]float64, loads)
	for i := range times {
		p.Reload()
		p.Until(`globalThis.usable`)
		p.Eval(`globalThis.usable`, &times[i])
	}
	p.Call("Emulation.setCPUThrottlingRate", map[string]int{"rate": 1}, nil)
	slices.Sort(times)
	b.add(fmt.Sprintf("interactive, with the processor %d times slower, median of %d loads without a cache", slowness, loads), fmt.Sprintf("%.0f ms (%.0f to %.0f)", times[loads/2], times[0], times[loads-1]), times[loads/2] < goalInteractive, fmt.Sprintf("under %d ms", goalInteractive))
}

// pixels adds the time from the report of an executor until the frame that shows it.
func (b *pageBench) pixels(p *chromium.Tab) {
	report := func(state string) string {
		return fmt.Sprintf(`"states":[{"device":"probe","state":%q,"class":"light","area":"hall"}]`, state)
	}
	var made struct {
		Key string `json:"api_key"`
	}
	if err := json.Unmarshal([]byte(b.api(http.MethodPost, "/register", `{"executor_id":"probe","capabilities":[{"switch-on":{"devices":["probe"],"effect":"idempotent"}},{"switch-off":{"devices":["probe"],"effect":"idempotent"}}],`+report("off")+`}`)), &made); err != nil {
		b.t.Fatal(err)
	}
	p.Until(tile("probe", ".switch") + `?.getAttribute("aria-checked") === "false"`)
	p.Eval(`new MutationObserver(() => requestAnimationFrame(() => setTimeout(() => { globalThis.drawn = [`+tile("probe", ".switch")+`.getAttribute("aria-checked"), Date.now()] }))).observe(document.getElementById("home"), {subtree: true, attributes: true, attributeFilter: ["aria-checked"]})`, nil)
	executor := newAPIClient(b.url+"/api/v1/exchanges/home", made.Key, "")
	times := make([]float64, measuredChanges)
	for i := range times {
		state, shown := "on", "true"
		if i%2 == 1 {
			state, shown = "off", "false"
		}
		began := time.Now()
		if code, data, err := executor.call(made.Key, http.MethodPatch, "/executors/probe", "{"+report(state)+"}"); code != http.StatusOK {
			b.t.Fatal(code, string(data), err)
		}
		p.Until(`globalThis.drawn?.[0] === "` + shown + `"`)
		var at float64
		p.Eval(`globalThis.drawn[1]`, &at)
		times[i] = at - float64(began.UnixMicro())/1000
	}
	slices.Sort(times)
	b.add(fmt.Sprintf("from the report of an executor to the frame that shows it, median of %d", measuredChanges), fmt.Sprintf("%.0f ms (at most %.0f)", times[measuredChanges/2], times[measuredChanges-1]), times[measuredChanges/2] <= goalPixels, fmt.Sprintf("at most %d ms", goalPixels))
}

// idle adds what an idle page costs the browser.
func (b *pageBench) idle(p *chromium.Tab) {
	p.Call("Performance.enable", map[string]string{}, nil)
	read := func() map[string]float64 {
		var v struct {
			Metrics []struct {
				Name  string  `json:"name"`
				Value float64 `json:"value"`
			} `json:"metrics"`
		}
		p.Call("Performance.getMetrics", map[string]string{}, &v)
		all := map[string]float64{}
		for _, m := range v.Metrics {
			all[m.Name] = m.Value
		}
		if _, counts := all["RecalcStyleCount"]; !counts || all["Timestamp"] == 0 {
			b.t.Fatalf("the browser counts no calculations of styles: %v", v)
		}
		return all
	}
	time.Sleep(drawWindow) // results leave the tiles
	was := read()
	time.Sleep(drawWindow)
	now := read()
	styles := now["RecalcStyleCount"] - was["RecalcStyleCount"]
	b.add(fmt.Sprintf("processor time of the browser for an idle page in %v", drawWindow), fmt.Sprintf("%.0f ms, %.0f calculations of styles", 1000*(now["TaskDuration"]-was["TaskDuration"]), styles), styles <= 5, "at most 5 calculations of styles")
}

// cpu returns the processor time of the server in a minute, in percent of one processor.
func (b *pageBench) cpu() float64 {
	read := func() float64 {
		text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", b.process.cmd.Process.Pid))
		if err != nil {
			b.t.Fatal(err)
		}
		fields := strings.Fields(string(text[bytes.LastIndexByte(text, ')')+1:]))
		var ticks float64 // of 10 ms
		for _, field := range fields[11:13] {
			n, err := strconv.ParseFloat(field, 64)
			if err != nil {
				b.t.Fatal(err)
			}
			ticks += n
		}
		return ticks / 100
	}
	was, began := read(), time.Now()
	time.Sleep(idleWindow)
	return 100 * (read() - was) / time.Since(began).Seconds()
}

// rss returns the resident memory of the server, in MB.
func (b *pageBench) rss() float64 {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", b.process.cmd.Process.Pid))
	if err != nil {
		b.t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(text), "\nVmRSS:")
	n, err := strconv.ParseFloat(strings.Fields(rest)[0], 64)
	if err != nil {
		b.t.Fatal(err)
	}
	return n / 1024
}

// memory adds the memory of open pages. Each has a session of its own, the files and answers of a
// page, and its stream.
func (b *pageBench) memory() {
	visit := func() {
		jar, err := cookiejar.New(nil)
		if err != nil {
			b.t.Fatal(err)
		}
		c := &http.Client{Jar: jar}
		do := func(method, path, body, accept string) *http.Response {
			r, err := http.NewRequestWithContext(b.t.Context(), method, b.url+path, strings.NewReader(body))
			if err != nil {
				b.t.Fatal(err)
			}
			r.Header.Set("Origin", b.url)
			r.Header.Set("Sec-Fetch-Site", "same-origin")
			r.Header.Set("Accept", accept)
			res, err := c.Do(r)
			if err != nil || res.StatusCode != http.StatusOK {
				b.t.Fatal(path, res, err)
			}
			return res
		}
		key, err := operatorKey(filepath.Join(b.home, "data"))
		if err != nil {
			b.t.Fatal(err)
		}
		body, _ := json.Marshal(map[string]string{"key": key})
		for _, path := range []string{"/console/session", "/", "/console/app.css", "/console/js/console.js", "/console/who", "/console/pictures", "/api/v1/exchanges/home/requests?limit=200"} {
			method, text := http.MethodGet, ""
			if path == "/console/session" {
				method, text = http.MethodPost, string(body)
			}
			res := do(method, path, text, "*/*")
			_, _ = io.Copy(io.Discard, res.Body)
			_ = res.Body.Close()
		}
		res := do(http.MethodGet, "/console/events?home=true", "", "text/event-stream")
		b.t.Cleanup(func() { _ = res.Body.Close() })
		seen := make([]byte, 0, 1<<20)
		for part := make([]byte, 32<<10); !bytes.Contains(seen, []byte("event: home")); {
			n, err := res.Body.Read(part)
			if err != nil {
				b.t.Fatal(err)
			}
			seen = append(seen, part[:n]...)
		}
		go func() { _, _ = io.Copy(io.Discard, res.Body) }()
	}
	visit() // the first one has the pages compressed and the home built
	time.Sleep(drawWindow)
	was := b.rss()
	for range openPages {
		visit()
	}
	time.Sleep(drawWindow)
	more := b.rss() - was
	b.add(fmt.Sprintf("more memory of the server with %d more open pages", openPages), fmt.Sprintf("%.1f MB (%.1f MB with one)", more, was), more <= goalMemory, fmt.Sprintf("at most %.0f MB", goalMemory))
	b.restart()
}
