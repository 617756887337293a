package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/messkit/messkit/internal/test/chromium"
)

// tileStart is how the template of a tile begins in the script of the page. The function around it draws a
// tile.
const tileStart = `<li class="tile `

// draws counts the calls of the function that draws a tile since the last call of draws: the browser
// counts the calls of every function.
func draws(t *testing.T, p *chromium.Tab) (calls int) {
	t.Helper()
	var v struct {
		Result []struct {
			URL       string `json:"url"`
			Functions []struct {
				Ranges []struct {
					Start int `json:"startOffset"`
					End   int `json:"endOffset"`
					Count int `json:"count"`
				} `json:"ranges"`
			} `json:"functions"`
		} `json:"result"`
	}
	p.Call("Profiler.takePreciseCoverage", map[string]string{}, &v)
	var source string
	p.Eval(`fetch("/console/js/console.js").then((r) => r.text())`, &source)
	at := len([]rune(source[:strings.Index(source, tileStart)])) // the page has no characters beyond 16 bits before it
	for _, script := range v.Result {
		if !strings.HasSuffix(script.URL, "/console.js") {
			continue
		}
		smallest := len(source)
		for _, f := range script.Functions {
			if r := f.Ranges[0]; r.Start <= at && at < r.End && r.End-r.Start < smallest {
				smallest, calls = r.End-r.Start, r.Count
			}
		}
	}
	return calls
}

// lamps is an executor with lamps, of which the first can be dimmed.
type lamps struct {
	t   *testing.T
	api *apiClient
	key string
}

// lampCount is the number of lamps.
const lampCount = 12

// states returns the states of the lamps. The lamp with a number has the state changed, and the others
// are off.
func (lamps) states(number int, changed string) string {
	list := make([]string, lampCount)
	for i := range list {
		state := `"state":"off"`
		if i == number {
			state = changed
		}
		list[i] = fmt.Sprintf(`{"device":"lamp-%d","class":"light","area":"hall",%s}`, i, state)
	}
	return `{"states":[` + strings.Join(list, ",") + `]}`
}

// startLamps registers the executor.
func startLamps(h *instance) lamps {
	h.t.Helper()
	names := make([]string, lampCount)
	for i := range names {
		names[i] = fmt.Sprintf(`"lamp-%d"`, i)
	}
	all := strings.Join(names, ",")
	registration := fmt.Sprintf(`{"executor_id":"lamps","capabilities":[{"switch-on":{"devices":[%[1]s],"effect":"idempotent"}},{"switch-off":{"devices":[%[1]s],"effect":"idempotent"}},
		{"set-brightness":{"devices":["lamp-0"],"effect":"idempotent"}}],%[2]s`, all, lamps{}.states(0, `"state":"on"`)[1:])
	var made struct {
		Key string `json:"api_key"`
	}
	if err := json.Unmarshal([]byte(h.api(http.MethodPost, "/register", registration)), &made); err != nil {
		h.t.Fatal(err)
	}
	return lamps{h.t, newAPIClient(h.url+"/api/v1/exchanges/home", made.Key, ""), made.Key}
}

func (l lamps) report(number int, changed string) {
	l.t.Helper()
	if code, data, err := l.api.call(l.key, http.MethodPatch, "/executors/lamps", l.states(number, changed)); code != http.StatusOK {
		l.t.Fatal(code, string(data), err)
	}
}

// watchTiles makes the page note the tiles whose elements change: its variable changed has their devices.
const watchTiles = `void (globalThis.changed = new Set(), globalThis.watch?.disconnect(), (globalThis.watch = new MutationObserver((list) => {
	for (const one of list) changed.add((one.target.closest ? one.target : one.target.parentElement).closest(".tile")?.dataset.device)
})).observe(document.querySelector("#home .areas"), {subtree: true, childList: true, attributes: true, characterData: true}))`

// A report about one device draws one tile, not the whole home. A slider without a value says so.
func TestTilesFollowReports(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("this test needs a browser and the built program")
	}
	const reports = 5
	h := startCommand(t, nil, "exchange", nil)
	l := startLamps(h)
	p := h.openHome(390, 844)
	p.Until(fmt.Sprintf(`document.querySelectorAll("#home .tile .switch").length === %d`, lampCount))

	slider := tile("lamp-0", ".slider")
	p.Until(slider + `.classList.contains("unknown") && ` + slider + `.textContent.includes("not known") && ` + tile("lamp-0", ".slider input") + `.getAttribute("aria-valuetext") === "not known"`)
	h.checkAccessibility(p, "slider-unknown")
	h.saveScreenshot(p, "slider-unknown")
	l.report(0, `"state":"on","readings":[{"quantity":"level","value":40,"unit":"%"}]`)
	p.Until(`!` + slider + `.classList.contains("unknown") && ` + tile("lamp-0", ".slider input") + `.value === "40"`)

	p.Call("Profiler.enable", map[string]string{}, nil)
	p.Call("Profiler.startPreciseCoverage", map[string]bool{"callCount": true}, nil)
	l.report(0, `"state":"off"`)
	p.Until(tile("lamp-0", ".switch") + `.getAttribute("aria-checked") === "false"`)
	counts := make([]int, reports)
	for i := range reports {
		state, shown := `"state":"on"`, "true"
		if i%2 == 1 {
			state, shown = `"state":"off"`, "false"
		}
		p.Eval(watchTiles, nil)
		draws(t, p)
		l.report(3, state)
		p.Until(tile("lamp-3", ".switch") + `.getAttribute("aria-checked") === "` + shown + `"`)
		counts[i] = draws(t, p)
		var changed []string
		if p.Eval(`[...changed]`, &changed); !slices.Equal(changed, []string{"lamps:lamp-3"}) {
			t.Errorf("report %d changes the tiles %q, want that of lamp-3", i, changed)
		}
	}
	slices.Sort(counts)
	if counts[0] == 0 || counts[reports/2] != 1 { // once a minute all tiles are drawn, because ages grow
		t.Errorf("reports about one lamp draw %v tiles, want one each", counts)
	}
}
