package main

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/messkit/messkit/internal/test/chromium"
)

// addPhoto adds a photo to the form of a task, as the camera of a phone does.
func addPhoto(p *chromium.Tab, ref string) {
	p.Eval(`new Promise((done) => {
		const c = document.createElement("canvas"); c.width = 600; c.height = 400
		c.getContext("2d").fillRect(100, 100, 200, 200)
		c.toBlob((b) => {
			const files = new DataTransfer(); files.items.add(new File([b], "x.png", {type: "image/png"}))
			const input = document.getElementById("photo-`+ref+`"); input.files = files.files
			input.dispatchEvent(new Event("change")); done()
		}, "image/png")
	})`, nil)
}

// draftOf returns JavaScript: a promise of the draft that the browser stores for a task.
func draftOf(ref string) string {
	return `new Promise((done) => {
		const open = indexedDB.open("messkit-drafts", 1)
		open.onerror = () => done(undefined)
		open.onsuccess = () => {
			const get = open.result.transaction("drafts").objectStore("drafts").get("` + ref + `")
			get.onsuccess = () => { open.result.close(); done(get.result) }
		}
	})`
}

// The page keeps the draft of an answer over an offline reload, and sends it once when the
// network returns.
func TestDraftSurvivesReload(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("this test needs a browser and the built program")
	}
	h := startMesskit(t, "--use-fake-device-for-media-stream", "--use-fake-ui-for-media-stream")
	p := h.openInvitation("Ana", "localhost", "look")
	p.Allow(strings.Replace(h.url, "127.0.0.1", "localhost", 1), "geolocation")
	p.Call("Emulation.setGeolocationOverride", map[string]any{"latitude": 52.5, "longitude": 13.4, "accuracy": 12}, nil)

	ref := h.request(`{"intent": "look after the leak in the cellar", "response_hint": ["image", "audio", "confirmation", {"structured": {"buckets": "number"}}]}`)
	p.Click("#offers button", "Accept")
	p.Until(`document.getElementById("text-` + ref + `")`)
	p.Fill("#text-"+ref, "It drips.")
	addPhoto(p, ref)
	addPhoto(p, ref)
	p.Until(`[...document.querySelectorAll("#mine .added li")].filter((l) => l.textContent.startsWith("a photo, ")).length === 2`)
	p.Click("#mine .added button", "Remove")
	p.Click("#mine button", "Record a voice note")
	p.Click("#mine button", "Stop recording")
	p.Until(`[...document.querySelectorAll("#mine .added li")].some((l) => l.textContent.startsWith("a voice note, "))`)
	p.Click("#mine button", "Add my position")
	p.Text("52.50000, 13.40000")
	p.Click("#mine label", "yes")
	p.Eval(`(() => { const i = document.getElementById("field-buckets-`+ref+`"); i.value = "3"; i.dispatchEvent(new Event("change", {bubbles: true})) })()`, nil)
	p.Until(draftOf(ref) + `.then((d) => d?.files.length === 2 && d.at && Object.keys(d.chosen).length === 2)`)
	p.Until(`navigator.serviceWorker.ready`)

	// The page never claims to be live while it is offline.
	p.Call("Page.addScriptToEvaluateOnNewDocument", map[string]any{"source": `
		window.said = []
		new MutationObserver(() => { const l = document.getElementById("line"); if (l) said.push(l.textContent) }).observe(document, {subtree: true, childList: true, characterData: true})`}, nil)
	p.Offline(true)
	p.Until(`document.getElementById("line").textContent !== "live"`)
	for range 2 {
		p.Reload()
		p.Until(`document.readyState === "complete" && document.getElementById("text-` + ref + `")?.value === "It drips."`)
		p.Until(`[...document.querySelectorAll("#mine .added li")].map((l) => l.textContent.split(",")[0]).join() === "a photo,a voice note" && document.querySelector("#mine .added img")?.naturalWidth === 600`)
		p.Text("52.50000, 13.40000")
		p.Until(`document.querySelector("#mine input[type=radio]:checked")?.value === "yes" && document.getElementById("field-buckets-` + ref + `").value === "3"`)
	}
	p.Until(`(() => { const l = document.getElementById("line"); return l.scrollWidth <= l.clientWidth })()`) // the line shows the whole reason why the page is not live
	h.checkAccessibility(p, "me-draft")
	h.checkWidths(p, "me-draft", 360, 740)
	var got []string
	if p.Eval(`said`, &got); len(got) == 0 || slices.Contains(got, "live") {
		t.Errorf("without a network the page shows %q, want not live", got)
	}

	p.Click("#mine button[type=submit]", "Done")
	p.Until(`document.getElementById("outbox").children.length === 2`)
	p.Reload()
	p.Until(`document.readyState === "complete" && document.getElementById("outbox").children.length === 2`)
	p.Offline(false)
	thread := h.waitStatus(ref, "completed")
	var sent struct {
		Thread struct {
			Attachments []struct{ Name string }
		}
	}
	if err := json.Unmarshal([]byte(thread), &sent); err != nil || len(sent.Thread.Attachments) != 2 {
		t.Errorf("%v: %+v", err, sent)
	}
	for _, want := range []string{"It drips.", `"confirmation":true`, `"buckets":3`, `"lat":52.5`} {
		if strings.Count(thread, want) != 1 {
			t.Errorf("%s is %d times in %s", want, strings.Count(thread, want), thread)
		}
	}
	p.Until(draftOf(ref) + `.then((d) => d === undefined)`)

	// The page reports a draft that exceeds the storage of the phone, and keeps the earlier
	// draft.
	ref = h.request(`{"intent": "look at the roof"}`)
	p.Click("#offers button", "Accept")
	p.Until(`document.getElementById("text-` + ref + `")`)
	addPhoto(p, ref)
	p.Until(draftOf(ref) + `.then((d) => d?.files.length === 1)`)
	p.Eval(`new Promise((done, fail) => {
		const open = indexedDB.open("messkit-drafts", 1)
		open.onerror = () => fail(open.error)
		open.onsuccess = () => {
			const put = open.result.transaction("drafts", "readwrite")
			put.objectStore("drafts").put({ref: "other", files: [{data: new Blob([new Uint8Array(48 << 20)])}], chosen: {}, kept: Date.now()})
			put.onabort = () => fail(put.error)
			put.oncomplete = () => {
				open.result.close()
				done()
			}
		}
	})`, nil)
	addPhoto(p, ref)
	p.Until(`document.body.textContent.includes("the drafts exceed 48 MB")`)
	p.Until(draftOf(ref) + `.then((d) => d?.files.length === 1)`)
	if faults := p.Faults("ERR_INTERNET_DISCONNECTED"); len(faults) > 0 {
		t.Errorf("in the page: %q", faults)
	}
}
