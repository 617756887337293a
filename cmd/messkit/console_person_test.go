package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/messkit/messkit/internal/test/chromium"
)

// openInvitation opens the page of an invited person. Each person needs a different host name, because a
// browser has one session per host.
func (h *instance) openInvitation(name, host, ability string) *chromium.Tab {
	h.t.Helper()
	return h.openInvitationAt(strings.Replace(h.url, "127.0.0.1", host, 1), name, ability)
}

// openInvitationAt is openInvitation at an address of the exchange.
func (h *instance) openInvitationAt(address, name, ability string) *chromium.Tab {
	h.t.Helper()
	p := h.b.Open(h.t, 360, 740)
	p.Go(h.invitationLink(name, address))
	p.Until(`document.getElementById("line").textContent === "live" && document.getElementById("abilities").children.length > 0`)
	p.Click(`#abilities input[value="`+ability+`"]`, "")
	p.Click("#profile button", "Save")
	p.Text("Saved.")
	return p
}

// invitationLink returns an invitation link for an address of the exchange.
func (h *instance) invitationLink(name, address string) string {
	h.t.Helper()
	link, _, _ := strings.Cut(h.run("invite", name), "\n")
	return strings.Replace(link, h.url, address, 1)
}

// An answer contains the person's recording and position, even after an offline reload of the
// page.
func TestOfflineAnswerKeepsRecordingAndPosition(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("this test needs a browser and the built program")
	}
	h := startMesskit(t, "--use-fake-device-for-media-stream", "--use-fake-ui-for-media-stream")
	p := h.openInvitation("Ana", "localhost", "look")
	p.Allow(strings.Replace(h.url, "127.0.0.1", "localhost", 1), "geolocation")
	p.Call("Emulation.setGeolocationOverride", map[string]any{"latitude": 52.5, "longitude": 13.4, "accuracy": 12}, nil)

	ref := h.request(`{"intent": "tell me about the noise in the cellar", "response_hint": ["audio", "location"]}`)
	p.Click("#offers button", "Accept")
	p.Text("Requested: a voice note, your position")
	p.Click("#mine button", "Record a voice note")
	p.Until(`[...document.querySelectorAll("#mine button")].some((b) => b.textContent === "Stop recording")`)
	p.Click("#mine button[type=submit]", "Done")
	p.Text("Stop the recording first.") // the page does not send an answer without the recording
	p.Click("#mine button", "Stop recording")
	p.Until(`[...document.querySelectorAll("#mine ul.meta li")].some((l) => l.textContent.startsWith("a voice note, "))`)
	p.Click("#mine button", "Add my position")
	p.Text("52.50000, 13.40000")
	p.Until(`navigator.serviceWorker.ready`)
	p.Offline(true)
	p.Click("#mine button[type=submit]", "Done")
	p.Until(`document.getElementById("outbox").children.length === 2`)
	p.Until(`scrollY === 0 && document.activeElement.id === "main"`) // the top of the page shows the result
	p.Reload()
	p.Until(`document.readyState === "complete" && document.getElementById("outbox").children.length === 2`)
	p.Offline(false)
	var sent struct {
		Thread struct {
			Attachments []struct {
				Name string
				Size int
			}
			Messages []struct {
				Mess []struct {
					Response *struct {
						Content []struct {
							Location *struct{ Lat, Lng, Accuracy float64 }
						}
					}
				}
			}
		}
	}
	thread := h.waitStatus(ref, "completed")
	if err := json.Unmarshal([]byte(thread), &sent); err != nil {
		t.Fatal(err)
	}
	if a := sent.Thread.Attachments; len(a) != 1 || !strings.Contains(a[0].Name, "voice") || a[0].Size == 0 {
		t.Errorf("the voice note: %+v", a)
	}
	places := 0
	for _, m := range sent.Thread.Messages {
		for _, item := range m.Mess {
			if item.Response == nil {
				continue
			}
			for _, c := range item.Response.Content {
				if at := c.Location; at != nil && at.Lat == 52.5 && at.Lng == 13.4 && at.Accuracy == 12 {
					places++
				}
			}
		}
	}
	if places != 1 {
		t.Errorf("the thread contains the place %d times, want once: %s", places, thread)
	}

	// The requester can play the recording.
	op := h.openConsole(1280, 800)
	op.Go(h.url + "/#task/" + ref)
	op.Until(`document.querySelector("#detail audio")`)
	op.Text("52.50000, 13.40000 · ± 12 m")
	h.checkAccessibility(op, "voice")
}

// The exchange offers a task to the persons who are available at that time. One of them delegates
// the task, and the other completes it.
func TestPersonDelegatesTask(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("this test needs a browser and the built program")
	}
	h := startMesskit(t)
	ana := h.openInvitation("Ana", "localhost", "look")
	ben := h.openInvitation("Ben", "127.0.0.1", "look")

	// Ben is available at night, on a weekday that is neither today nor tomorrow.
	ben.Click("#profile label", "certain hours")
	for day := range 7 {
		if day != int(time.Now().AddDate(0, 0, 3).Weekday()) {
			ben.Click("#days label", []string{"Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"}[day])
		}
	}
	ben.Fill("#from", "22")
	ben.Fill("#to", "6")
	ben.Click("#profile button", "Save")
	ben.Text("Saved.")
	hours := fmt.Sprintf("0 22-23,0-6 * * %d", int(time.Now().AddDate(0, 0, 3).Weekday()))
	if all := h.api(http.MethodGet, "/executors", ""); !strings.Contains(all, `"`+hours+`"`) {
		t.Errorf("%s is not in %s", hours, all)
	}
	ben.Reload()
	ben.Until(`document.getElementById("limited").checked && document.querySelectorAll("#days input:checked").length === 1 && document.getElementById("from").value === "22" && document.getElementById("to").value === "6"`)

	ref := h.request(`{"intent": "carry the box upstairs"}`)
	ana.Front()
	ana.Text("carry the box upstairs")
	ben.Front()
	var code int // a person may read a thread that the exchange offers to her
	if ben.Eval(`fetch("/api/v1/exchanges/home/requests/`+ref+`").then((r) => r.status)`, &code); code == http.StatusOK {
		t.Error("a person outside of her hours can read the thread, want an error")
	}
	ben.Click("summary", "Your abilities and hours")
	ben.Click("#profile label", "certain hours")
	ben.Click("#profile button", "Save")
	ben.Text("Saved.")
	ben.Text("carry the box upstairs") // the exchange now offers it to Ben, too
	ana.Front()
	ana.Click("#offers button", "Accept")
	ana.Click("#mine summary", "Delegate")
	ana.Until(`document.getElementById("hand-` + ref + `")`)
	ana.Eval(`document.getElementById("hand-`+ref+`").value = "ben"`, nil)
	h.checkAccessibility(ana, "me-hand-over")
	h.checkWidths(ana, "me-hand-over", 360, 740)
	ana.Click("#mine button", "Delegate: I have not started")
	ana.Until(`document.getElementById("mine").textContent.includes("No tasks.")`)
	ana.Text("carry the box upstairs: delegated to Ben")
	ben.Front()
	ben.Text("delegated by Ana")
	ben.Click("#offers button", "Accept")
	ben.Until(`[...document.querySelectorAll("#mine summary")].some((s) => s.checkVisibility() && s.textContent === "Delegate")`)
	ben.Click("#mine button", "Start")
	h.waitStatus(ref, "in_progress") // the page no longer offers to delegate it as untouched
	ben.Until(`document.querySelector("#mine textarea") && ![...document.querySelectorAll("#mine summary")].some((s) => s.checkVisibility() && s.textContent === "Delegate")`)
	ben.Fill("#text-"+ref, "It stands upstairs.")
	ben.Click("#mine button[type=submit]", "Done")
	if thread := h.waitStatus(ref, "completed"); !strings.Contains(thread, `"delegated_to":"ben"`) || !strings.Contains(thread, "It stands upstairs.") {
		t.Errorf("the delegated thread is %s", thread)
	}
}

// The page shows hours and abilities from other sources that it cannot edit. Saving other
// settings does not overwrite them.
func TestPageKeepsForeignHoursAndAbilities(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("this test needs a browser and the built program")
	}
	h := startMesskit(t)
	p := h.openInvitation("Ana", "localhost", "look")
	const hours, ability = "*/30 8-12 * * 1-5", `{"lift":{"max_kg":20}}`
	set := func(profile string) {
		t.Helper()
		h.api(http.MethodPost, "/mess", `{"MESS": [{"config": {"executor": {"id": "ana", `+profile+`}}}]}`)
	}
	is := func(want ...string) {
		t.Helper()
		all := h.api(http.MethodGet, "/executors", "")
		for _, w := range want {
			if !strings.Contains(all, w) {
				t.Errorf("%s is not in %s", w, all)
			}
		}
	}
	for _, one := range []struct{ profile, shown, kept string }{
		{`"availability": "schedule", "schedule": "` + hours + `"`, hours, `"` + hours + `"`},
		{`"availability": "schedule", "schedule": "0 8-12,0-3 * * *"`, "0 8-12,0-3 * * *", `"0 8-12,0-3 * * *"`},
		{`"availability": "on_demand"`, "on demand", `"on_demand"`},
	} {
		set(one.profile + `, "capabilities": ["look", ` + ability + `]`)
		p.Reload()
		p.Until(`document.readyState === "complete" && !document.getElementById("foreign").hidden`)
		p.Eval(`void (document.getElementById("setup").open = true)`, nil)
		p.Text(one.shown)
		p.Click("#abilities label", "fetch")
		p.Click("#profile button", "Save")
		p.Text("Saved.")
		is(one.kept, `"lift":{"max_kg":20}`, `"fetch"`)
	}
	h.checkAccessibility(p, "me-foreign")
	h.checkWidths(p, "me-foreign", 360, 740)
	p.Click("#profile label", "Replace these hours")
	p.Click("#profile label", "certain hours")
	p.Click("#profile button", "Save")
	p.Until(`document.getElementById("foreign").hidden && document.getElementById("limited").checked`)
	is(`"0 8-21 * * *"`)
}

// A person adds her notification address, tests the delivery with a test notification, and
// removes the address.
func TestPersonTestsNotificationAddress(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("this test needs a browser and the built program")
	}
	var mu sync.Mutex
	var got []string
	answers := http.StatusOK
	phone := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		mu.Lock()
		defer mu.Unlock()
		got = append(got, r.URL.Path+" "+r.Header.Get("Title")+": "+string(body))
		w.WriteHeader(answers)
	}))
	defer phone.Close()
	config := filepath.Join(t.TempDir(), "messkit.yaml")
	if err := os.WriteFile(config, []byte("exchange:\n  webhooks:\n    allow: [127.0.0.1/32]\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	h := startMesskitWith(t, []string{"--config", config})
	p := h.openInvitation("Ana", "localhost", "look")
	p.Text("No address")
	p.Fill("#hook", phone.URL+"/topic<b>")
	p.Click("#notice button", "Add address")
	p.Until(`document.querySelector("#hooks li").textContent.includes("an ntfy topic") && document.querySelector("#hooks li").textContent.includes("/topic<b>")`)
	p.Click("#notice-try", "Send a test notice")
	p.Until(`document.getElementById("notification-results").textContent.includes("delivered")`)
	h.checkAccessibility(p, "me-notices")
	h.checkWidths(p, "me-notices", 360, 740)
	mu.Lock()
	if len(got) != 1 || !strings.Contains(got[0], "messkit: a test: This is a test") {
		t.Errorf("arrived: %q", got)
	}
	answers = http.StatusNotFound
	mu.Unlock()
	h.request(`{"intent": "look for the blue box", "requires": ["look"], "constraints": {"prefer": ["ana"]}}`)
	p.Text("look for the blue box")
	for end := time.Now().Add(patience); !strings.Contains(h.run("webhooks"), "  refused  "); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("the notice is never refused: %s", h.run("webhooks"))
		}
	}
	p.Reload()
	p.Until(`document.getElementById("notification-results").textContent.includes("the receiver answers 404")`)

	p.Eval(`void (document.getElementById("setup").open = true)`, nil)
	p.Click("#hooks button", "Remove")
	p.Until(`document.getElementById("hooks")?.textContent.includes("No address")`)
	p.Reload()
	p.Until(`document.readyState === "complete" && document.getElementById("hooks")?.textContent.includes("No address")`)
}
