package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/messkit/messkit/internal/chromium"
)

// comesIn opens the page of a person who is invited, at a host of her own: a
// browser has one signed-in person for each.
func (h *householder) comesIn(name, host, ability string) *chromium.Tab {
	h.t.Helper()
	link, _, _ := strings.Cut(h.messkit("invite", name), "\n")
	p := h.b.Open(h.t, 360, 740)
	p.Go(strings.Replace(link, "127.0.0.1", host, 1))
	p.Until(`document.getElementById("line").textContent === "live" && document.getElementById("abilities").children.length > 0`)
	p.Click("#abilities label", ability)
	p.Click("#profile button", "Save")
	p.Text("Saved.")
	return p
}

// What a person records and where she is goes with the answer, also when she had
// no network and the page was loaded anew.
func TestAPersonSendsAVoiceNoteAndAPlaceLater(t *testing.T) {
	if testing.Short() {
		t.Skip("it needs a browser and the built program")
	}
	h := startHouse(t, "--use-fake-device-for-media-stream", "--use-fake-ui-for-media-stream")
	p := h.comesIn("Ana", "localhost", "look")
	p.Allow(strings.Replace(h.url, "127.0.0.1", "localhost", 1), "geolocation")
	p.Call("Emulation.setGeolocationOverride", map[string]any{"latitude": 52.5, "longitude": 13.4, "accuracy": 12}, nil)

	ref := h.asks(`{"intent": "tell me about the noise in the cellar", "response_hint": ["audio", "location"]}`)
	p.Click("#offers button", "I do it")
	p.Click("#mine button", "Record a voice note")
	p.Click("#mine button", "Stop recording")
	p.Until(`[...document.querySelectorAll("#mine ul.meta li")].some((l) => l.textContent.startsWith("a voice note, "))`)
	p.Click("#mine button", "Add where I am")
	p.Text("52.50000, 13.40000")
	p.Until(`navigator.serviceWorker.ready`)
	p.Offline(true)
	p.Click("#mine button[type=submit]", "Done")
	p.Until(`document.getElementById("outbox").children.length === 2`)
	p.Call("Page.reload", map[string]any{}, nil)
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
	thread := h.becomes(ref, "completed")
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
		t.Errorf("the place stands there %d times: %s", places, thread)
	}

	// Who has asked hears it.
	op := h.operator(1280, 800)
	op.Go(h.url + "/#task/" + ref)
	op.Until(`document.querySelector("#detail audio")`)
	op.Text("52.50000, 13.40000 · to 12 m")
	h.usable(op, "voice")
}

// A task is offered to whom it is the hour of; she hands it over, and the other
// one does it.
func TestAPersonHandsOver(t *testing.T) {
	if testing.Short() {
		t.Skip("it needs a browser and the built program")
	}
	h := startHouse(t)
	ana := h.comesIn("Ana", "localhost", "look")
	ben := h.comesIn("Ben", "127.0.0.1", "look")

	// Ben is to be had in the nights of a day that is neither today nor tomorrow.
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
	ben.Call("Page.reload", map[string]any{}, nil)
	ben.Until(`document.getElementById("limited").checked && document.querySelectorAll("#days input:checked").length === 1 && document.getElementById("from").value === "22" && document.getElementById("to").value === "6"`)

	ref := h.asks(`{"intent": "carry the box upstairs"}`)
	ana.Front()
	ana.Text("carry the box upstairs")
	ben.Front()
	var code int // who has an offer may read it
	if ben.Eval(`fetch("/api/v1/exchanges/home/requests/`+ref+`").then((r) => r.status)`, &code); code == http.StatusOK {
		t.Error("it is offered to somebody whose hours are others")
	}
	ben.Click("summary", "What you do, and when")
	ben.Click("#profile label", "certain hours")
	ben.Click("#profile button", "Save")
	ben.Text("Saved.")
	ben.Text("carry the box upstairs") // now it is his as well
	ana.Front()
	ana.Click("#offers button", "I do it")
	ana.Click("#mine summary", "Hand over")
	ana.Until(`document.getElementById("hand-` + ref + `")`)
	ana.Eval(`document.getElementById("hand-`+ref+`").value = "ben"`, nil)
	h.usable(ana, "me-hand-over")
	h.fits(ana, "me-hand-over", 360, 740)
	ana.Click("#mine button", "Hand over: I have done nothing yet")
	ana.Until(`document.getElementById("mine").textContent.includes("Nothing now")`)
	ben.Front()
	ben.Click("#offers button", "I do it")
	ben.Fill("#text-"+ref, "It stands upstairs.")
	ben.Click("#mine button[type=submit]", "Done")
	if thread := h.becomes(ref, "completed"); !strings.Contains(thread, `"delegated_to":"ben"`) || !strings.Contains(thread, "It stands upstairs.") {
		t.Errorf("handed over: %s", thread)
	}
}
