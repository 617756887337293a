package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/messkit/messkit/internal/test/chromium"
)

// apiPath is the path of the exchange of a program with the simulated home.
const apiPath = "/api/v1/exchanges/home"

// roleActs are acts that a page could send without a control. may has the letters of the roles that may
// do each: o, r, v and g for operator, resident, viewer and guest. {ref} is a task of the operator that
// waits for a confirmation, {asked} its question and {hash} the digest of its plan.
var roleActs = []struct{ may, method, path, body string }{
	{"org", http.MethodPost, "/api/v1/devices/vm:hall-light/switch-on", `{}`},
	{"or", http.MethodPost, "/api/v1/devices/vm:office-light/switch-on", `{}`},
	{"or", http.MethodPost, "/api/v1/devices/vm:front-door-lock/unlock", `{}`},
	{"or", http.MethodPost, apiPath + "/requests", `{"intent": "turn on the office light"}`},
	{"or", http.MethodPost, apiPath + "/mess", `{"MESS": [{"request": {"intent": "turn on the office light"}}]}`},
	{"or", http.MethodPatch, apiPath + "/requests/{ref}", `{"status": "cancelled"}`},
	{"or", http.MethodPost, apiPath + "/mess", `{"re": ["{ref}"], "MESS": [{"cancel": {}}]}`},
	{"o", http.MethodPost, apiPath + "/mess", `{"re": ["{ref}"], "MESS": [{"reply": {"re": "{asked}", "confirm": true, "action_hash": "{hash}"}}]}`},
	{"or", http.MethodPost, apiPath + "/hold", `{"executors": ["vm"], "why": "a bypass"}`},
	{"o", http.MethodDelete, apiPath + "/executors/vm", ``},
	{"o", http.MethodPost, apiPath + "/keys", `{"actor": "a-thief", "roles": ["operator"]}`},
	{"o", http.MethodDelete, apiPath + "/keys/operator", ``},
	{"o", http.MethodPost, "/console/invite", `{"name": "A thief", "role": "resident"}`},
	{"o", http.MethodPost, "/console/people", `{"do": "change", "actor": "{me}", "role": "operator"}`},
	{"o", http.MethodPost, "/console/arm", `{"do": "lock", "what": "hall-light", "why": "a bypass"}`},
	{"o", http.MethodPost, "/console/quiet", `{"hours": "22:00-07:00"}`},
	{"o", http.MethodPost, "/console/device", `{"do": "remove", "device": "hall-light"}`},
	{"o", http.MethodPost, "/console/code", `{"ref": "{ref}"}`},
}

// roleView is the page of a person with a role.
type roleView struct {
	homeView
	actor string
	fill  *strings.Replacer // for the acts
}

// console calls a path of the console as the operator.
func (h *instance) console(method, path, body string) string {
	h.t.Helper()
	key, err := operatorKey(filepath.Join(h.home, "data"))
	if err != nil {
		h.t.Fatal(err)
	}
	code, data, err := newAPIClient(h.url, key, "").call(key, method, path, body)
	if err != nil || code/100 != 2 {
		h.t.Fatalf("%s %s: %d %s %v", method, path, code, data, err)
	}
	return string(data)
}

// enter invites a person and opens the page of the invitation.
func (h *instance) enter(p *chromium.Tab, name, access string) roleView {
	h.t.Helper()
	var made struct{ Path string }
	if err := json.Unmarshal([]byte(h.console(http.MethodPost, "/console/invite", fmt.Sprintf(`{"name": %q, %s}`, name, access))), &made); err != nil {
		h.t.Fatal(err)
	}
	p.Eval(`void (location.href = `+fmt.Sprintf("%q", h.url+made.Path)+`)`, nil)
	p.Until(fmt.Sprintf(`document.getElementById("line").textContent === "live" && document.getElementById("whoami")?.textContent.includes(%q) && document.querySelectorAll("#home .tile").length > 0`, strings.ToLower(name)))
	return roleView{homeView: homeView{h, p}, actor: strings.ToLower(name)}
}

// asks makes a task of the operator that waits for a confirmation, and returns its ref.
func (v *roleView) asks() string {
	v.t.Helper()
	ref := v.request(`{"intent": "unlock the front door lock", "requires": [{"unlock": {"devices": ["front-door-lock"]}}]}`)
	var doc struct {
		Thread struct {
			Messages []struct {
				Ref  string
				Mess []struct {
					Status *struct {
						Code string
						Hash string `json:"action_hash"`
					}
				}
			}
		}
	}
	if err := json.Unmarshal([]byte(v.waitStatus(ref, "needs_confirmation")), &doc); err != nil {
		v.t.Fatal(err)
	}
	for _, m := range doc.Thread.Messages {
		for _, item := range m.Mess {
			if item.Status != nil && item.Status.Code == "needs_confirmation" {
				v.fill = strings.NewReplacer("{ref}", ref, "{asked}", m.Ref, "{hash}", item.Status.Hash, "{me}", v.actor)
			}
		}
	}
	if v.fill == nil {
		v.t.Fatalf("%s has no question", ref)
	}
	return ref
}

// whole is what the acts could change, as the operator reads it: the tasks, the devices, the drains, the
// people, the keys and the configuration.
func (v *roleView) whole() string {
	v.t.Helper()
	var b strings.Builder
	for _, ref := range v.threads() {
		var doc struct{ Thread struct{ Status string } }
		if err := json.Unmarshal([]byte(v.api(http.MethodGet, "/requests/"+ref, "")), &doc); err != nil {
			v.t.Fatal(err)
		}
		fmt.Fprintln(&b, ref, doc.Thread.Status)
	}
	for _, name := range []string{"hall-light", "office-light", "front-door-lock"} {
		fmt.Fprintln(&b, name, v.device(name).State)
	}
	var executors struct {
		Executors []struct {
			ID    string `json:"executor_id"`
			Drain any    `json:"hold"`
		}
	}
	var people struct {
		People []struct{ Actor, Role string }
		Open   []struct{ Name string } `json:"invitations"`
	}
	var keys struct {
		Keys []struct {
			Actor string
			Roles []string
		}
	}
	for _, one := range []struct {
		text string
		into any
	}{
		{v.api(http.MethodGet, "/executors", ""), &executors},
		{v.console(http.MethodGet, "/console/people", ""), &people},
		{v.api(http.MethodGet, "/keys", ""), &keys},
	} {
		if err := json.Unmarshal([]byte(one.text), one.into); err != nil {
			v.t.Fatal(err)
		}
		fmt.Fprintf(&b, "%+v\n", one.into)
	}
	fmt.Fprintln(&b, v.console(http.MethodGet, "/console/quiet", ""))
	return b.String()
}

// bypass sends every act that a role may not do from the page, past its controls. The server refuses
// each of them with one of the codes, and nothing changes.
func (v *roleView) bypass(letter string, codes ...int) {
	v.t.Helper()
	type call struct{ Method, Path, Body string }
	var calls []call
	for _, a := range roleActs {
		if letter == "" || !strings.Contains(a.may, letter) {
			calls = append(calls, call{a.method, v.fill.Replace(a.path), v.fill.Replace(a.body)})
		}
	}
	before := v.whole()
	list, err := json.Marshal(calls)
	if err != nil {
		v.t.Fatal(err)
	}
	var got []int
	v.p.Eval(`(async () => {
		const codes = []
		for (const c of `+string(list)+`) codes.push((await fetch(c.Path, {method: c.Method, headers: {"Content-Type": "application/json"}, body: c.Body || undefined})).status)
		return codes
	})()`, &got)
	if len(got) != len(calls) {
		v.t.Fatalf("%d answers to %d acts", len(got), len(calls))
	}
	for i, c := range calls {
		if !slices.Contains(codes, got[i]) {
			v.t.Errorf("%s: %s %s %s: %d, want one of %d", v.actor, c.Method, c.Path, c.Body, got[i], codes)
		}
	}
	if after := v.whole(); after != before {
		v.t.Errorf("refused acts of %s have changed something:\n%s\nbefore:\n%s", v.actor, after, before)
	}
}

// sees checks the tabs of the page, and the names of the visible buttons and fields of its open view.
func (v *roleView) sees(view, tabs string, controls ...string) {
	v.t.Helper()
	v.p.Eval(fmt.Sprintf(`void (location.hash = %q)`, view), nil)
	v.p.Until(`[...document.querySelectorAll("nav a")].map((a) => a.textContent).join(" ") === "` + tabs + `"`)
	want, err := json.Marshal(append([]string{}, controls...))
	if err != nil {
		v.t.Fatal(err)
	}
	const shown = `[...document.querySelectorAll("main button, main textarea, main input:not([type=search]), .tile input")].filter((e) => e.checkVisibility()).map((e) => e.getAttribute("aria-label") || e.textContent || e.id)`
	v.p.Until(`location.hash === "` + view + `" && JSON.stringify(` + shown + `) === ` + fmt.Sprintf("%q", want))
	v.p.Until(`document.querySelector("#stop button").checkVisibility()`) // for everybody
}

// Each role sees and operates what it may, on a phone and on a desktop. The server refuses the rest when
// a page sends it without a control, and nothing happens. The access of a guest ends while the page is
// open.
func TestRolesView(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("this test needs a browser and the built program")
	}
	h := startMesskit(t)
	for _, size := range windowSizes {
		t.Run(size.name, func(t *testing.T) {
			h.t = t
			p := h.b.Open(t, size.width, size.height)
			p.Go(h.url)
			viewer := h.enter(p, "Vera-"+size.name, `"role": "viewer"`)
			waits := viewer.asks()
			viewer.checkViewer(size.name)
			viewer.bypass("v", http.StatusForbidden)

			resident := h.enter(p, "Rita-"+size.name, `"role": "resident"`)
			resident.fill = viewer.fill
			resident.checkResident(size.name, waits)
			resident.bypass("r", http.StatusForbidden)

			guest := h.enter(p, "Gero-"+size.name, fmt.Sprintf(`"role": "guest", "areas": ["hall", "porch"], "until": %q`, time.Now().Add(time.Hour).Format(time.RFC3339)))
			guest.fill = viewer.fill
			guest.checkGuest(size.name)
			guest.bypass("g", http.StatusForbidden, http.StatusNotFound) // it sees no task of others, and no other area
			guest.checkEnd()

			h.run("cancel", waits)
			if faults := p.Faults("401", "403", "404"); len(faults) > 0 {
				t.Errorf("in the page: %q", faults)
			}
		})
	}
}

const memberTabs = "Home Tasks Executors Settings"

// checkViewer checks that a viewer sees everything that a resident sees, and has nothing to operate.
func (v *roleView) checkViewer(size string) {
	v.t.Helper()
	v.p.Until(`document.querySelectorAll("#home .tile").length > 30`)
	v.sees("#home", memberTabs)
	v.checkAccessibility(v.p, "viewer-"+size)
	v.saveScreenshot(v.p, "viewer-"+size)
	v.sees("#device=vm%3Ahall-light", memberTabs, "24 hours", "30 days")
	v.p.Text("This browser may not operate devices.")
	v.sees("#tasks", memberTabs)
	v.p.Until(`document.querySelector("#others a")?.textContent === "unlock the front door lock"`)
	v.sees("#people", memberTabs)
	v.p.Until(`!document.getElementById("home").hidden`)
	v.p.Eval(`void (location.hash = "#executors")`, nil)
	v.p.Until(`document.querySelector("#executors a")?.textContent === "vm" && !document.querySelector("#hold, .do button")`)
}

// checkResident checks that a resident operates devices, answers a question of another person and
// cancels a task of another person, but gives no confirmation that needs an operator.
func (v *roleView) checkResident(size, waits string) {
	v.t.Helper()
	v.p.Until(`document.querySelectorAll("#home .tile").length > 30`)
	was := v.device("garage-light").State
	v.once("garage-light", func() { v.press("garage-light", ".switch") })
	v.waitDevice("garage-light", func(d homeDevice) bool { return d.State != was && d.State != "unknown" })

	v.press("garage-door", `[data-verb="open"]`)
	v.p.Until(tile("garage-door", ".note") + `.textContent.includes("needs a confirmation") && !` + tile("garage-door", ".note button"))
	own := v.threads()[0]
	v.waitStatus(own, "needs_confirmation")
	v.checkAccessibility(v.p, "resident-"+size)
	v.saveScreenshot(v.p, "resident-"+size)

	asked := v.request(`{"intent": "turn on the light"}`)
	v.waitStatus(asked, "needs_input")
	v.p.Eval(`void (location.hash = "#tasks")`, nil)
	v.p.Until(fmt.Sprintf(`document.querySelector('#needs li:has(a[href="#task/%s"]) .answers')`, asked))
	v.p.Click("#needs label", "balcony light")
	v.p.Click("#needs .answers button, #needs button[type=submit]", "Answer")
	v.waitStatus(asked, "completed")
	v.waitDevice("balcony-light", func(d homeDevice) bool { return d.State == "on" })
	for _, ref := range []string{waits, own} {
		v.p.Eval(fmt.Sprintf(`void (location.hash = "#task/%s")`, ref), nil)
		v.p.Until(fmt.Sprintf(`document.querySelector("#detail[data-ref='%s'] .answers") && !document.querySelector("#detail .answers button")`, ref))
		v.p.Text("Only an operator can confirm this action.")
	}
	v.p.Click("#detail button", "Cancel task")
	v.waitStatus(own, "cancelled")
	if d := v.device("garage-door"); d.State != "closed" {
		v.t.Errorf("without a confirmation the garage door is %s", d.State)
	}
	v.p.Eval(`void (location.hash = "#executors")`, nil)
	v.p.Until(`document.querySelector("#hold button") && !document.querySelector(".forget button") && !document.querySelector("#local-devices button")`)
	v.p.Eval(`void (location.hash = "#home")`, nil)
}

// checkGuest checks that a guest operates the lamps of its areas, and sees no control of a lock, no task
// of others and no live picture.
func (v *roleView) checkGuest(size string) {
	v.t.Helper()
	v.p.Until(`[...document.querySelectorAll("#home .area")].map((a) => a.getAttribute("aria-label")).join() === "hall,porch"`)
	v.p.Until(tile("front-door-lock") + ` && !` + tile("front-door-lock", "button"))
	was := v.device("hall-light").State
	v.once("hall-light", func() { v.press("hall-light", ".switch") })
	v.waitDevice("hall-light", func(d homeDevice) bool { return d.State != was && d.State != "unknown" })
	v.checkAccessibility(v.p, "guest-operates-"+size)
	v.saveScreenshot(v.p, "guest-operates-"+size)
	v.p.Eval(`void (location.hash = "#device=vm%3Aporch-camera")`, nil)
	v.p.Until(`document.querySelector(".device h1")?.textContent === "porch camera" && !document.querySelector(".device [data-live]")`)
	v.sees("#tasks", "Home Tasks Settings")
	v.p.Until(`[...document.querySelectorAll("#tasks li > a")].length === 1`) // the own one
	v.p.Eval(`void (location.hash = "#executors")`, nil)
	v.p.Until(`!document.getElementById("home").hidden && document.getElementById("devices").hidden`)
}

// checkEnd ends the access of a guest at a date while the page is open: from that moment the server
// refuses everything. Then the page forgets the home. A later date opens it again.
func (v *roleView) checkEnd() {
	v.t.Helper()
	change := func(until time.Time, more string) {
		v.t.Helper()
		v.console(http.MethodPost, "/console/people", fmt.Sprintf(`{"do": "change", "actor": %q, "role": "guest", %s "until": %q}`, v.actor, more, until.Format(time.RFC3339Nano)))
	}
	v.p.Until(tile("hall-light", ".switch"))
	end := time.Now().Add(1500 * time.Millisecond)
	change(end, `"areas": ["hall", "porch"],`)
	v.p.Until(`fetch("/console/who").then((r) => r.status === 401)`)
	if early := time.Until(end); early > 0 {
		v.t.Errorf("the access has ended %v too early", early)
	}
	if late := time.Since(end); late > time.Second {
		v.t.Errorf("the access has ended %v too late", late)
	}
	v.bypass("", http.StatusUnauthorized)
	v.p.Until(`!document.getElementById("signin").hidden && !document.querySelector("#home .tile") && !localStorage.getItem("messkit-home")`)
	change(time.Now().Add(time.Hour), "") // in all areas
	v.p.Reload()
	v.p.Until(`document.getElementById("line").textContent === "live"`)
	v.p.Until(tile("hall-light", ".switch"))
	v.p.Eval(`void (location.hash = "#device=vm%3Avacuum")`, nil)
	v.p.Until(`document.querySelector(".device [data-verb=vacuum-floor]")`)
	var seen []int // the answer to the test, and the number of maps and errors
	v.p.Eval(`(async () => {
		await new Promise(requestAnimationFrame)
		const answer = await fetch("/api/v1/devices/vm:vacuum/map") // after that of the page, if there is one
		await new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))
		return [answer.status, document.querySelectorAll(".device .floormap, .device .error").length]
	})()`, &seen)
	if !slices.Equal(seen, []int{http.StatusForbidden, 0}) {
		v.t.Errorf("the map of the vacuum for a guest: %v, want a refusal, and neither a map nor an error on the page", seen)
	}
}
