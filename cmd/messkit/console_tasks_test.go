package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
)

// The tasks view shows all ended tasks: the list grows at its end, the search finds a task that is older
// than the first page, and filters select by status and by device. A picture of a task stands in its row.
func TestTasksViewFindsEndedTasks(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("this test needs a browser and the built program")
	}
	const stones = 230 // more than the page reads at first
	lit := 1           // tasks of the hall light
	h := startMesskit(t)
	lamp := h.request(`{"intent": "turn on the hall light"}`) // its words name the device, and its executor says which it is
	h.waitStatus(lamp, "completed")
	h.api(http.MethodPatch, "/requests/"+h.request(`{"intent": "carry the pebble up the hill", "requires": ["walk"]}`), `{"mess": [{"cancel": {}}]}`)
	for i := range stones {
		ref := h.request(fmt.Sprintf(`{"intent": "carry stone %d up the hill", "requires": ["walk"]}`, i))
		h.api(http.MethodPatch, "/requests/"+ref, `{"mess": [{"cancel": {}}]}`)
	}
	h.waitStatus(h.request(`{"intent": "what's in the fridge?"}`), "completed")
	h.restart() // the store has all of them
	if list := h.run("ls", "--device", "hall-light", "--json"); strings.Count(list, `"ref"`) != 1 || !strings.Contains(list, lamp) {
		t.Errorf("the tasks of the hall light are %s", list)
	}
	const rows = `[...document.querySelectorAll("#recent > li > a:not(.thumb)")]`
	for _, size := range []struct{ width, height int }{{390, 844}, {1280, 800}} {
		t.Run(fmt.Sprint(size.width), func(t *testing.T) {
			h.t = t
			p := h.openConsole(size.width, size.height)
			p.Until(`document.querySelector("#recent > li .thumb img")?.naturalWidth > 30 && ` + rows + `.some((a) => a.textContent === "what's in the fridge?")`)
			p.Until(rows + `.length < 100`)
			h.checkAccessibility(p, "tasks-done")
			h.checkWidths(p, "tasks-done", size.width, size.height)
			p.Fill("#task-search", "pebble hill")
			p.Until(rows + `.length === 1 && ` + rows + `[0].textContent === "carry the pebble up the hill"`)
			p.Fill("#task-search", "no such task")
			p.Text("No task matches.")
			p.Eval(`{ const e = document.getElementById("task-search"); e.value = ""; e.dispatchEvent(new Event("input", {bubbles: true})) }`, nil)
			p.Until(`(() => { scrollTo(0, 1e6); return ` + rows + `.length === ` + fmt.Sprint(stones+lit+2) + ` && !document.getElementById("task-more") })()`)
			p.Eval(`{ const e = document.getElementById("task-status"); e.value = "done"; e.dispatchEvent(new Event("change", {bubbles: true})) }`, nil)
			p.Until(rows + `.length === ` + fmt.Sprint(lit+1))
			p.Eval(`{ const e = document.getElementById("task-device"); e.value = "vm:hall-light"; e.dispatchEvent(new Event("change", {bubbles: true})) }`, nil)
			only := rows + `.every((a) => a.textContent === "turn on the hall light") && !document.getElementById("task-more") && ` + rows + `.length === `
			p.Until(only + fmt.Sprint(lit))
			h.checkAccessibility(p, "tasks-device")
			h.checkWidths(p, "tasks-device", size.width, size.height)
			lit++
			h.waitStatus(h.request(`{"intent": "turn on the hall light"}`), "completed")
			p.Until(only + fmt.Sprint(lit)) // by itself
			if faults := p.Faults(); len(faults) > 0 {
				t.Errorf("in the page: %q", faults)
			}
		})
	}
}

// A repeated task is a new request with the same words and capabilities. It needs its confirmation
// again, and acts once.
func TestTasksViewRepeatsTask(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("this test needs a browser and the built program")
	}
	h := startMesskit(t)
	p := h.openConsole(390, 844)
	v := homeView{h, p}
	repeat := func(ref string) string {
		t.Helper()
		before := len(v.threads())
		p.Go(h.url + "/#task/" + ref)
		p.Click("#detail[data-ref='"+ref+"'] button", "Repeat")
		p.Until(`location.hash.startsWith("#task/") && location.hash !== "#task/` + ref + `"`)
		all := v.threads()
		if len(all) != before+1 {
			t.Fatalf("%d new threads, want 1", len(all)-before)
		}
		return all[0]
	}
	requestOf := func(ref string) (intent, requires string) {
		t.Helper()
		var doc struct {
			Thread struct {
				Messages []struct {
					Mess []struct {
						Request *struct {
							Intent   string
							Requires json.RawMessage
						}
					}
				}
			}
		}
		if err := json.Unmarshal([]byte(h.api(http.MethodGet, "/requests/"+ref, "")), &doc); err != nil {
			t.Fatal(err)
		}
		r := doc.Thread.Messages[0].Mess[0].Request
		return r.Intent, string(r.Requires)
	}

	ref := h.request(`{"intent": "set the hall light to 40 percent", "requires": [{"set-brightness": {"devices": ["hall-light"], "level": 40}}]}`)
	h.waitStatus(ref, "completed")
	h.waitStatus(h.request(`{"intent": "turn off the hall light"}`), "completed")
	again := repeat(ref)
	h.waitStatus(again, "completed")
	v.waitDevice("hall-light", func(d homeDevice) bool { return d.State == "on" && d.reading("level") == 40 })
	intent, requires := requestOf(ref)
	if i, r := requestOf(again); i != intent || r != requires {
		t.Errorf("repeated: %q %s, want %q %s", i, r, intent, requires)
	}

	ref = h.request(`{"intent": "vacuum the living room"}`)
	h.waitStatus(ref, "needs_confirmation")
	h.run("cancel", ref)
	h.waitStatus(ref, "cancelled")
	again = repeat(ref)
	thread := h.waitStatus(again, "needs_confirmation")
	if strings.Contains(thread, `"code":"in_progress"`) {
		t.Errorf("the repeated task has started without a confirmation: %s", thread)
	}
	p.Until(`document.querySelector("#detail .answers button")`)
	h.checkAccessibility(p, "repeated")
	p.Click("#detail .answers button", "Reject")
	p.Until(`/refused|cancelled|failed/.test(document.querySelector("#detail .chip").textContent)`)
	if faults := p.Faults(); len(faults) > 0 {
		t.Errorf("in the page: %q", faults)
	}
}

// A task shows each step as it was planned beside what was done, with its evidence, and a step that
// was not done with the reason.
func TestTasksViewShowsCourse(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("this test needs a browser and the built program")
	}
	h := startMesskit(t)
	done := h.request(`{"intent": "turn on the hall light and dim the desk lamp to 40 %"}`)
	h.waitStatus(done, "completed")
	refused := h.request(`{"intent": "vacuum the living room"}`)
	h.waitStatus(refused, "needs_confirmation")
	h.run("reply", refused, "--no")
	p := h.openHome(1280, 800)
	v := homeView{h, p}
	v.waitDevice("office-light", func(d homeDevice) bool { return d.reading("level") == 40 })
	const steps = `[...document.querySelectorAll("#detail .course tbody tr")].map((e) => e.innerText.replaceAll(/\s+/g, " "))`
	for _, size := range windowSizes {
		p.Size(size.width, size.height)
		p.Go(h.url + "/#task/" + done)
		p.Until(`(([a, b]) => /hall light On.*done.*checked at the device.*state: On/.test(a) && /office light Brightness 40%.*done.*checked at the device.*brightness: 40/.test(b))(` + steps + `)`)
		h.checkAccessibility(p, "course-"+size.name)
		h.checkWidths(p, "course-"+size.name, size.width, size.height)
		p.Go(h.url + "/#task/" + refused)
		p.Until(`document.querySelector("#detail").dataset.ref === "` + refused + `" && document.querySelectorAll("#detail .course tbody tr").length === 1`)
		p.Until(`(([a]) => /vacuum Clean.*not done/.test(a))(` + steps + `)`)
	}
	if faults := p.Faults(); len(faults) > 0 {
		t.Errorf("in the page: %q", faults)
	}
}
