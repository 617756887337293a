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

// A report about one device draws one tile, not the whole home.
func TestReportDrawsOneTile(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("this test needs a browser and the built program")
	}
	const lamps, reports = 12, 5
	h := startCommand(t, nil, "exchange", nil)
	names, states := make([]string, lamps), make([]string, lamps)
	report := func(changed int, state string) string {
		for i := range names {
			names[i], states[i] = fmt.Sprintf("%q", fmt.Sprintf("lamp-%d", i)), "off"
			if i == changed {
				states[i] = state
			}
			states[i] = fmt.Sprintf(`{"device":%s,"state":%q,"class":"light","area":"hall"}`, names[i], states[i])
		}
		return `"states":[` + strings.Join(states, ",") + `]`
	}
	first := report(0, "off")
	var made struct {
		Key string `json:"api_key"`
	}
	verb := `{"switch-%s":{"devices":[` + strings.Join(names, ",") + `],"effect":"idempotent"}}`
	registration := fmt.Sprintf(`{"executor_id":"lamps","capabilities":[%s,%s],%s}`, fmt.Sprintf(verb, "on"), fmt.Sprintf(verb, "off"), first)
	if err := json.Unmarshal([]byte(h.api(http.MethodPost, "/register", registration)), &made); err != nil {
		t.Fatal(err)
	}
	p := h.openHome(1280, 800)
	p.Until(fmt.Sprintf(`document.querySelectorAll("#home .tile .switch").length === %d`, lamps))
	p.Call("Profiler.enable", map[string]string{}, nil)
	p.Call("Profiler.startPreciseCoverage", map[string]bool{"callCount": true}, nil)
	executor := newAPIClient(h.url+"/api/v1/exchanges/home", made.Key, "")
	counts := make([]int, reports)
	for i := range reports {
		state, shown := "on", "true"
		if i%2 == 1 {
			state, shown = "off", "false"
		}
		p.Eval(`void (globalThis.drawn = new Set(), globalThis.look?.disconnect(), (globalThis.look = new MutationObserver((list) => { for (const one of list) drawn.add((one.target.closest ? one.target : one.target.parentElement).closest(".tile")?.dataset.device) })).observe(document.querySelector("#home .areas"), {subtree: true, childList: true, attributes: true, characterData: true}))`, nil)
		draws(t, p)
		if code, data, err := executor.call(made.Key, http.MethodPatch, "/executors/lamps", "{"+report(3, state)+"}"); code != http.StatusOK {
			t.Fatal(code, string(data), err)
		}
		p.Until(tile("lamp-3", ".switch") + `?.getAttribute("aria-checked") === "` + shown + `"`)
		counts[i] = draws(t, p)
		var changed []string
		if p.Eval(`[...drawn]`, &changed); !slices.Equal(changed, []string{"lamps:lamp-3"}) {
			t.Errorf("report %d changes the tiles %q, want that of lamp-3", i, changed)
		}
	}
	slices.Sort(counts)
	if counts[0] == 0 || counts[reports/2] != 1 { // once a minute all tiles are drawn, because ages grow
		t.Errorf("reports about one lamp draw %v tiles, want one each", counts)
	}
}
