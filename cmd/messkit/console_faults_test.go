package main

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
)

// proxy returns a handler that forwards to the exchange. A test puts its faults before it.
func (h *instance) proxy() http.Handler {
	h.t.Helper()
	to, err := url.Parse(h.url)
	if err != nil {
		h.t.Fatal(err)
	}
	proxy := httputil.NewSingleHostReverseProxy(to)
	proxy.FlushInterval = -1 // streams pass at once
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		defer func() { _ = recover() }() // the proxy ends a stream with a panic
		proxy.ServeHTTP(w, r)
	})
}

// startProxy returns the address of a proxy for the exchange, which answers 502 while away is true.
func (h *instance) startProxy() (address string, away *atomic.Bool) {
	h.t.Helper()
	proxy := h.proxy()
	away = new(atomic.Bool)
	front := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if away.Load() {
			w.Header().Set("Content-Type", "text/html")
			w.WriteHeader(http.StatusBadGateway)
			_, _ = w.Write([]byte("<h1>Bad Gateway</h1>"))
			return
		}
		proxy.ServeHTTP(w, r)
	}))
	h.t.Cleanup(func() {
		front.CloseClientConnections()
		front.Close()
	})
	return front.URL, away
}

// The page sends a person's answer exactly once, despite errors of the proxy, a full phone, a
// revoked key, and another person's session on the same phone.
func TestPhoneSendsAnswerOnceDespiteErrors(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("this test needs a browser and the built program")
	}
	h := startMesskit(t, inWindows)
	address, away := h.startProxy()
	p := h.openInvitationAt(address, "Ana", "look")
	ben := h.openInvitation("Ben", "localhost", "look")
	holds := func(intent string) (ref string) {
		t.Helper()
		ref = h.request(`{"intent": "` + intent + `"}`)
		p.Until(`[...document.querySelectorAll("#offers h3")].some((e) => e.textContent === "` + intent + `")`)
		p.Click("#offers button", "Accept")
		p.Until(`document.getElementById("text-` + ref + `")`)
		return ref
	}
	once := func(ref, text string) {
		t.Helper()
		if thread := h.waitStatus(ref, "completed"); strings.Count(thread, text) != 1 {
			t.Errorf("%q is %d times in %s", text, strings.Count(thread, text), thread)
		}
	}

	// Her reason to decline stays in its field while another person answers.
	ref := h.request(`{"intent": "look in the cellar"}`)
	ben.Text("look in the cellar")
	p.Front()
	p.Click("#offers summary", "Decline")
	p.Fill("#not-"+ref, "I am in the bath")
	p.Eval(`void (document.getElementById("long-`+ref+`").value = "PT4H")`, nil)
	ben.Front()
	ben.Click("#offers summary", "Decline")
	ben.Fill("#not-"+ref, "I am away")
	ben.Press("Enter")
	ben.Until(`document.getElementById("offers").textContent.includes("No offers.")`)
	p.Front()
	p.Until(`document.querySelector("#offers button") && document.getElementById("line").textContent === "live"`)
	p.Until(`document.getElementById("not-` + ref + `").value === "I am in the bath" && document.getElementById("long-` + ref + `").value === "PT4H" && document.querySelector("#offers details").open`)
	p.Until(`document.activeElement.id === "not-` + ref + `"`)

	// The second person who takes a task sees that another has claimed it.
	first := h.request(`{"intent": "feed the cat"}`)
	p.Text("feed the cat")
	ben.Front()
	p.Until(`document.hidden`) // a hidden page receives no events
	ben.Text("feed the cat")
	ben.Click("#offers button", "Accept")
	h.waitStatus(first, "claimed")
	p.Click("#offers li[data-ref='"+first+"'] button", "Accept")
	p.Until(`document.querySelector("#failed p")?.textContent === "You cannot accept “feed the cat”: ben has claimed it"`)
	p.Front()
	p.Until(`document.getElementById("line").textContent === "live" && !document.getElementById("offers").textContent.includes("feed the cat") && document.getElementById("failed").textContent`)
	p.Click("#failed button", "Dismiss")

	// If the browser cannot read one of several images, the page adds the others.
	p.Click("#offers button", "Accept")
	p.Until(`document.getElementById("text-` + ref + `")`)
	p.Eval(`new Promise((done) => document.createElement("canvas").toBlob((b) => {
		const files = new DataTransfer()
		files.items.add(new File(["ftypheic"], "IMG_1.HEIC", {type: "image/heic"}))
		files.items.add(new File([b], "x.png", {type: "image/png"}))
		const input = document.getElementById("photo-`+ref+`"); input.files = files.files
		input.dispatchEvent(new Event("change")); done()
	}, "image/png"))`, nil)
	p.Until(`/^IMG_1.HEIC: this browser cannot decode the image.*JPEG/.test(document.querySelector("#mine .error").textContent) && document.querySelectorAll("#mine .added li").length === 1`)

	// The page keeps the answer while the proxy returns 502, and it loads offline.
	p.Until(`navigator.serviceWorker.ready`)
	away.Store(true)
	p.Fill("#text-"+ref, "It is dark.")
	p.Click("#mine button[type=submit]", "Done")
	p.Until(`document.getElementById("outbox").children.length === 2`)
	p.Reload()
	p.Until(`[...document.querySelectorAll("#outbox .meta")].filter((e) => e.textContent === "Stored on this phone; not sent yet.").length === 2`)
	p.Until(`document.querySelectorAll("#outbox .error").length === 0`)
	away.Store(false)
	once(ref, "It is dark.")
	p.Until(`document.getElementById("line").textContent === "live" && document.getElementById("outbox").children.length === 0`)

	// She can delegate a task whose form the page has built offline as soon as it is online
	// again.
	ref = holds("look in the attic")
	away.Store(true)
	p.Reload()
	p.Until(`document.getElementById("text-` + ref + `")`)
	away.Store(false)
	p.Until(`document.getElementById("line").textContent === "live"`)
	p.Until(`[...document.querySelectorAll("#mine summary")].some((e) => e.checkVisibility() && e.textContent === "Delegate") && [...document.getElementById("hand-` + ref + `").options].some((o) => o.value === "ben")`)

	// On a full phone the page sends an answer directly, and shows a warning.
	p.Eval(`void (() => {
		const add = IDBObjectStore.prototype.add
		window.room = () => { IDBObjectStore.prototype.add = add }
		IDBObjectStore.prototype.add = function (v) { add.call(this, v); this.transaction.abort() } // what a full disk does
	})()`, nil)
	p.Offline(true)
	p.Fill("#text-"+ref, "It is dusty.")
	p.Click("#mine button[type=submit]", "Done")
	p.Until(`[...document.querySelectorAll("#outbox li")].filter((e) => e.textContent.includes("This phone has no free storage: keep this page open")).length === 2`)
	h.checkAccessibility(p, "me-full")
	p.Offline(false)
	once(ref, "It is dusty.")
	p.Until(`document.getElementById("outbox").children.length === 0`)
	p.Eval(`room()`, nil)
	full := `void (() => { for (let n = 1 << 20; n > 0; n >>= 1) { try { for (let i = 0; ; i++) localStorage.setItem("fill" + n + "-" + i, "x".repeat(n)) } catch {} } })()`
	p.Eval(full, nil)
	ref = holds("look under the bed")
	p.Eval(full, nil)
	p.Fill("#text-"+ref, "Nothing.")
	p.Text("The page could not save your draft: this phone has no free storage. You lose it if you close this page before you press Done.")
	p.Eval(`void (() => { for (const k of Object.keys(localStorage)) if (k.startsWith("fill")) localStorage.removeItem(k) })()`, nil)

	// An answer that arrives too late shows that, and has no button to send it again.
	late := holds("water the fern")
	p.Offline(true)
	p.Fill("#text-"+late, "It is wet.")
	p.Click("#mine li:has(#text-"+late+") button[type=submit]", "Done")
	p.Until(`document.getElementById("outbox").children.length === 2`)
	if got := h.run("cancel", late); !strings.HasSuffix(strings.TrimSpace(got), "cancelled; Ana had taken it, and may have begun; the outcome is unknown") {
		t.Error(got)
	}
	p.Offline(false)
	p.Until(`(() => { const e = document.querySelector("#outbox li"); return e?.textContent.includes("Start · water the fern") && e.querySelector(".error")?.textContent === "Too late: the task has ended (cancelled)." &&
		document.getElementById("outbox").children.length === 1 && [...e.querySelectorAll("button")].map((b) => b.textContent).join() === "Discard" })()`)
	h.saveScreenshot(p, "me-too-late")
	p.Click("#outbox button", "Discard")
	p.Until(`document.getElementById("outbox").children.length === 0`)

	// If an operator revokes her key, her waiting answer stays on the phone during another
	// person's session. The page sends it when she signs in again.
	p.Offline(true)
	p.Fill("#text-"+ref, "There is dust.")
	p.Click("#mine button[type=submit]", "Done")
	p.Until(`document.getElementById("outbox").children.length === 2`)
	h.run("keys", "revoke", "ana")
	p.Offline(false)
	p.Until(`document.getElementById("line").textContent === "not signed in" && document.getElementById("unsent").textContent.includes("holds 2 unsent messages")`)
	h.checkAccessibility(p, "me-signed-out")
	h.saveScreenshot(p, "me-signed-out")
	p.Eval(`void (location.href = "`+h.invitationLink("Cleo", address)+`")`, nil)
	p.Until(`document.getElementById("line").textContent === "live" && [...document.querySelectorAll("#outbox .meta")].filter((e) => e.textContent === "The phone sends this message when ana signs in here again.").length === 2`)
	h.saveScreenshot(p, "me-left-by-ana")
	p.Eval(`void (location.href = "`+h.invitationLink("Ana", address)+`")`, nil)
	once(ref, "There is dust.")
	p.Until(`document.getElementById("outbox").children.length === 0`)

	// The page keeps an answer that the exchange rejects: the person can save its file and send
	// it again.
	p.Eval(`new Promise((done, fail) => {
		const open = indexedDB.open("messkit", 1)
		open.onerror = () => fail(open.error)
		open.onsuccess = () => {
			const put = open.result.transaction("outbox", "readwrite")
			put.objectStore("outbox").add({id: "late", by: "ana", ref: "2026-01-01-001", intent: "", title: "Result", error: "", items: [{status: {code: "completed"}}, {response: {content: ["It is late."]}}],
				files: [{name: "photo-1.jpg", type: "image/jpeg", data: new Blob(["a photo"])}]})
			put.onabort = () => fail(put.error)
			put.oncomplete = () => {
				open.result.close()
				dispatchEvent(new Event("online")) // the page then sends what waits
				done()
			}
		}
	})`, nil)
	p.Until(`(() => { const e = document.querySelector("#outbox li"); return e?.querySelector(".error")?.textContent.includes("no thread") && e.textContent.includes("It is late.") &&
		[...e.querySelectorAll("button")].map((b) => b.textContent).join() === "Save photo-1.jpg,Send again,Discard" })()`)
	h.checkAccessibility(p, "me-refused")
	h.checkWidths(p, "me-refused", 360, 740)
	p.Click("#outbox button", "Send again")
	p.Until(`document.querySelector("#outbox .error")?.textContent.includes("no thread")`)
	p.Click("#outbox button", "Discard")
	p.Until(`document.getElementById("outbox").children.length === 0`)
	if faults := p.Faults("ERR_INTERNET_DISCONNECTED", "502", "401", "404", "409"); len(faults) > 0 {
		t.Errorf("in the page: %q", faults)
	}
}

// Updates of the page keep the user's input, focus and position, and the shown plan always
// belongs to the current text.
func TestPageUpdatesKeepInput(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("this test needs a browser and the built program")
	}
	h := startMesskit(t, inWindows)
	old := h.request(`{"intent": "vacuum the living room"}`)
	h.waitStatus(old, "needs_confirmation")
	p := h.openConsole(1280, 800)

	// An answer in work survives changes of other tasks. If the focused element disappears, the focus
	// moves next to it.
	asked := h.request(`{"intent": "turn on the light"}`)
	h.waitStatus(asked, "needs_input")
	p.Go(h.url + "/#task/" + asked)
	p.Click("#detail label", "porch light")
	p.Eval(`document.querySelector("#detail input:checked").focus()`, nil)
	h.waitStatus(h.request(`{"intent": "turn on the hall light"}`), "completed")
	p.Until(`document.querySelectorAll("#recent a").length === 1 && document.activeElement === document.querySelector("#detail input:checked")`)
	h.run("cancel", asked)
	p.Until(`document.querySelector("#detail .chip").textContent === "cancelled" && !document.querySelector("#detail .answers") && document.activeElement.id === "detail"`)

	h.waitStatus(h.request(`{"intent": "turn on the porch light"}`), "completed")
	p.Until(`document.querySelectorAll("#recent a").length === 3`)
	p.Eval(`document.querySelector("#recent a").focus()`, nil)
	h.waitStatus(h.request(`{"intent": "turn off the porch light"}`), "completed")
	p.Until(`document.querySelectorAll("#recent a").length === 4`)
	p.Until(`document.activeElement.textContent === "turn on the porch light"`)

	// The page shows the plan for the text above it, or a message that there is none.
	p.Fill("#intent", "turn on the porch light")
	p.Until(`document.querySelector("#preview strong")?.textContent === "turn on the porch light"`)
	p.Offline(true)
	p.Fill("#intent", "take a photo of the fridge")
	p.Text("No plan: the exchange does not answer.")
	p.Until(`!document.querySelector("#preview strong")`)
	p.Offline(false)
	p.Until(`document.querySelector("#preview strong")`)
	p.Until(`document.getElementById("preview").textContent.includes("fridge")`)
	p.Eval(`(() => { const i = document.getElementById("intent"); i.value = "turn on the porch light"; i.dispatchEvent(new Event("input")) })()`, nil)
	p.Until(`document.getElementById("preview").classList.contains("old") || document.querySelector("#preview strong")?.textContent === "turn on the porch light"`)
	p.Until(`!document.getElementById("preview").classList.contains("old") && document.querySelector("#preview strong")?.textContent === "turn on the porch light"`)

	// A task whose cancel fails stays visible, with the reason.
	p.Click("#needs a", "vacuum the living room")
	p.Until(`document.querySelector("#detail .answers")`)
	p.Offline(true)
	p.Click("#detail button", "Cancel task")
	p.Until(`document.querySelector("#detail .refused")?.textContent === "the exchange is unreachable" && document.getElementById("detail-title").textContent === "vacuum the living room"`)
	p.Offline(false)
	p.Until(`document.getElementById("line").textContent === "live"`)

	// If another operator has already confirmed, a rejection has no effect. The page shows that
	// until the user confirms it.
	other := h.openConsole(360, 640)
	other.Go(h.url + "/#task/" + old)
	other.Until(`document.querySelector("#detail .answers button")`)
	p.Front()
	other.Until(`document.hidden`) // a hidden page receives no events
	p.Click("#detail .answers button", "Confirm")
	h.waitStatus(old, "in_progress")
	other.Click("#detail .answers button", "Reject")
	other.Until(`/^YOUR REJECTION OF “vacuum the living room” CAME TOO LATE and has no effect.*Cancel task/.test(document.getElementById("failed").textContent)`)
	other.Front()
	other.Until(`document.querySelector("#detail .chip").textContent === "in progress" && document.getElementById("failed").textContent`)
	h.checkAccessibility(other, "too-late")
	h.checkWidths(other, "too-late", 360, 640)
	other.Click("#failed button", "Dismiss")

	// The page rejects the cancel of a task that has just ended, and shows its terminal status.
	ended := func(by func(ref string), status, button, message string) {
		t.Helper()
		other.Front()
		ref := h.request(`{"intent": "turn on the porch light", "confirm_before": true}`)
		h.waitStatus(ref, "needs_confirmation")
		other.Go(h.url + "/#task/" + ref)
		other.Until(`document.querySelector("#detail[data-ref='` + ref + `'] .answers button")`)
		p.Front()
		other.Until(`document.hidden`)
		by(ref)
		h.waitStatus(ref, status)
		other.Click("#detail button", button)
		other.Until(`document.querySelector("#failed p")?.textContent === "` + message + `"`)
	}
	confirm := func(ref string) { h.run("reply", ref, "--yes") }
	ended(func(ref string) { h.run("cancel", ref) }, "cancelled", "Reject", "Your rejection of “turn on the porch light” came too late and has no effect: the task has ended (cancelled).")
	ended(confirm, "completed", "Reject", "YOUR REJECTION OF “turn on the porch light” CAME TOO LATE and has no effect: the task has ended (done).")
	ended(confirm, "completed", "Cancel task", "The exchange did not cancel “turn on the porch light”: the task has ended (done). Its effects remain.")
	p.Front()
	old = h.request(`{"intent": "vacuum the kitchen"}`)
	h.waitStatus(old, "needs_input")
	p.Eval(`void (location.hash = "")`, nil)

	// The list shows a question regardless of the number of newer tasks, and cuts long texts.
	for i := range 202 {
		h.request(fmt.Sprintf(`{"intent": "%d %s", "requires": ["swim"]}`, i, strings.Repeat("far ", 500)))
	}
	p.Eval(`void (location.hash = "#task/%E0%A4%A")`, nil) // an incomplete link does not break the page
	p.Reload()
	p.Until(`document.getElementById("line").textContent === "live"`)
	p.Until(`document.querySelector("#needs a")?.textContent === "vacuum the kitchen" && document.querySelector("#needs .answers")`)
	p.Text("This list is not complete")
	// The page has the 200 tasks that changed last, and the question, which can be one of them.
	p.Until(`document.querySelectorAll("#open a, #needs a").length >= 200 && [...document.querySelectorAll("#open a")].every((a) => a.textContent.length < 220)`)
	h.checkAccessibility(p, "many")
	h.checkWidths(p, "many", 360, 640)

	// The page shows the end of a session.
	key := h.run("keys", "issue", "visitor", "observer")
	p.Click("nav a", "Settings")
	p.Click("#signout", "")
	p.Until(`document.getElementById("key").checkVisibility()`)
	p.Fill("#key", key)
	p.Press("Enter")
	p.Until(`document.getElementById("line").textContent === "live"`)
	h.run("keys", "revoke", "visitor")
	p.Until(`document.getElementById("line").textContent === "not signed in" && document.getElementById("key").checkVisibility() && document.getElementById("nav").hidden`)
	if faults := p.Faults("ERR_INTERNET_DISCONNECTED", "401"); len(faults) > 0 {
		t.Errorf("in the page: %q", faults)
	}
}
