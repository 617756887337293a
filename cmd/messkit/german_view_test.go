package main

import (
	"encoding/json"
	"strconv"
	"strings"
	"testing"

	"github.com/messkit/messkit/internal/test/chromium"
)

// englishTexts is an expression: the shown texts that are in the English file of texts and not in the
// German one. Words of the server are marked as English; the name of a device can be an English word.
const englishTexts = `Promise.all(["en", "de"].map((l) => import("/console/js/text/" + l + ".js"))).then(([en, de]) => {
	const german = new Set(Object.values(de.default))
	const english = new Set(Object.entries(en.default).filter(([key, text]) => !key.startsWith("class.") && !german.has(text)).map(([, text]) => text))
	const found = []
	const walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT)
	while (walk.nextNode()) {
		const e = walk.currentNode.parentElement
		if (e.checkVisibility() && !e.closest('[lang="en"], noscript, option, .tile h3') && english.has(walk.currentNode.data.trim())) found.push(walk.currentNode.data.trim())
	}
	for (const e of document.querySelectorAll("[aria-label], [placeholder], [alt]")) for (const name of ["aria-label", "placeholder", "alt"]) if (english.has(e.getAttribute(name))) found.push(e.getAttribute(name))
	return found
})`

// checkGerman checks that a page has no English texts of its own.
func checkGerman(t *testing.T, p *chromium.Tab, view string) {
	t.Helper()
	var found []string
	if p.Eval(englishTexts, &found); len(found) > 0 {
		t.Errorf("%s: in English: %q", view, found)
	}
	var lang string
	if p.Eval(`document.documentElement.lang`, &lang); lang != "de" {
		t.Errorf("%s: the language of the document is %q", view, lang)
	}
}

// checkGermanAnswers types requests, and checks that the answers of the server appear in German: questions
// with their options, rejections, and the plan of a watch. The words of the requester stay as they are.
func checkGermanAnswers(t *testing.T, p *chromium.Tab) {
	t.Helper()
	p.Eval(`void (location.hash = "#tasks")`, nil)
	for intent, want := range map[string]string{
		"turn on the light":                 `Frage: Welches\?.*hall light`,
		"turn on the sauna":                 `Nicht verstanden: „sauna“\. Frage zum Beispiel: „`,
		"tell me when the front door opens": `front door sensor beobachten, höchstens .*, bis: es ist offen`,
		"turn on the hall light at 7":       `Frage: „7“: um 07:00 oder 19:00\?`,
	} {
		p.Fill("#intent", intent)
		p.Until(`/` + want + `/s.test(document.getElementById("preview").textContent)`)
		var english []string
		if p.Eval(`[...document.querySelectorAll('#preview [lang="en"]')].map((e) => e.textContent)`, &english); len(english) > 0 {
			t.Errorf("%s: in English: %q", intent, english)
		}
	}
	p.Fill("#intent", "")
}

// checkGermanDevices checks that readings, kinds of devices and capabilities have German names, and that
// no row of the executors is cut off at the widths of phones.
func checkGermanDevices(t *testing.T, p *chromium.Tab) {
	t.Helper()
	p.Eval(`void (location.hash = "#executors")`, nil)
	p.Until(`document.querySelectorAll("#local-devices li").length > 20 && document.querySelectorAll("#capabilities tbody tr").length > 20`)
	p.Until(`/Temperatur \d+(,\d)?\s°C/.test(document.getElementById("local-devices").textContent)`)
	p.Until(`document.getElementById("capabilities").textContent.includes("ein Licht heller machen")`)
	var english []string
	p.Eval(`[...document.querySelectorAll("#local-devices .chip, #local-devices .meta, #capabilities th")].map((e) => e.textContent)
		.filter((text) => /\b(level|temperature|humidity|moisture|power|battery|angle|moves|light|heater|sensor|blind|make|turn|take|something)\b/.test(text.replaceAll(/^[^·]* · /g, "")))`, &english)
	if len(english) > 0 {
		t.Errorf("the executors: in English: %q", english)
	}
	for _, width := range []int{320, 390} {
		p.Size(width, 844)
		p.Until(`(() => { const row = document.querySelector("#executors .vrow"), r = row.getBoundingClientRect()
			return innerWidth === ` + strconv.Itoa(width) + ` && [...row.querySelectorAll(".what > *")].every((e) => { const b = e.getBoundingClientRect(); return b.top >= r.top && b.bottom <= r.bottom && e.scrollWidth <= e.clientWidth }) })()`)
	}
	p.Eval(`void (location.hash = "#home")`, nil)
	p.Until(tile("hall-light") + ` && ` + tile("printer", ".acts") + `?.textContent.includes("benchy drucken…") && /Betttemperatur/.test(` + tile("printer", ".state") + `.textContent)`)
	p.Eval(tile("hall-light", "h3 a")+`.click()`, nil)
	p.Until(`((text) => /Art\s*Licht/.test(text) && /Zustand\s*Aus/.test(text))(document.getElementById("home").textContent)`)
	p.Until(`[...document.querySelectorAll("#home .chart")].some((e) => /Zustand\s*immer Aus/.test(e.textContent))`)
	p.Eval(`void (location.hash = "#home")`, nil)
	p.Until(tile("fridge-camera"))
	p.Eval(tile("fridge-camera", "h3 a")+`.click()`, nil)
	p.Until(`(() => { const live = document.querySelector("#home [data-live]"), picture = document.querySelector("#home .nopicture, #home .photo")
		return live && live.getBoundingClientRect().top - picture.getBoundingClientRect().bottom >= 8 && ![...document.querySelectorAll("#home h3")].some((e) => e.textContent === "Mehr") })()`)
}

// checkGermanTasks taps verbs, and checks that the titles and the results of their tasks are German, also
// after the page has loaded again. The words of a person stay as they are. The lamp is on then.
func checkGermanTasks(t *testing.T, h *instance, p *chromium.Tab, typed string) {
	t.Helper()
	tapped := func(path, body string) string {
		var v struct{ Ref string }
		if err := json.Unmarshal([]byte(h.api("POST", "/devices/"+path, body)), &v); err != nil {
			t.Fatal(err)
		}
		return v.Ref
	}
	tasks := map[string]string{ // expressions by the task
		tapped("vm:hall-light/switch-on", `{"for": "10m"}`):       `hall light einschalten für 10 min.*hall light ist an\..*Es wird in 10 min wieder ausgeschaltet`,
		tapped("vm:bedroom-blind/set-opening", `{"opening": 30}`): `bedroom blind auf 30 % öffnen.*bedroom blind ist zu 30 % offen\.`,
		tapped("vm:living-room-climate/read-sensor", `{}`):        `living room climate ablesen.*living room climate: Temperatur [\d,]+ °C, Luftfeuchte \d+ %\..*Temperatur[\d,]+\s°C \(`,
	}
	for ref := range tasks {
		h.waitStatus(ref, "completed")
	}
	p.Eval(`window.before = true; location.hash = "#tasks"; location.reload()`, nil)
	p.Until(`!window.before && document.querySelectorAll("#recent li").length > 3`)
	for ref, want := range tasks {
		title, _, _ := strings.Cut(want, ".*")
		p.Until(`new RegExp("^` + title + `$").test(document.querySelector('#recent a[href="#task/` + ref + `"]:not(.thumb)').textContent)`)
		p.Eval(`void (location.hash = "#task/`+ref+`")`, nil)
		p.Until(`/^` + want + `/s.test(document.getElementById("detail-title").textContent + document.querySelector("#detail .result")?.textContent)`)
	}
	p.Until(`document.querySelector('#recent a[href="#task/` + typed + `"]').textContent === "turn on the sauna"`)
	if state := h.api("GET", "/home", ""); !strings.Contains(state, `"device":"hall-light","name":"hall light","area":"hall","class":"light","state":"on"`) {
		t.Errorf("the lamp is not on: %s", state)
	}
}

// In German all views of the console and the page of a person are German: the sign-in, plans,
// confirmations, tasks and the log. A confirmation that was rejected has not acted.
func TestPagesSpeakGerman(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("this test needs a browser and the built program")
	}
	h := startMesskit(t)
	link, _, _ := strings.Cut(h.run("invite", "Ana"), "\n")
	p := h.b.Open(t, 390, 844)
	p.Go(h.url + "/")
	p.Until(`document.getElementById("key")`)
	p.Eval(`localStorage.setItem("messkit-language", "de"); window.before = true; location.reload()`, nil)
	p.Until(`!window.before && document.getElementById("key") && document.getElementById("line").textContent === "nicht angemeldet"`)
	checkGerman(t, p, "the sign-in")

	p.Go(h.run("console"))
	p.Until(`document.getElementById("line").textContent === "live"`)
	for _, size := range windowSizes {
		p.Size(size.width, size.height)
		p.Eval(`void (location.hash = "#tasks")`, nil)
		p.Fill("#intent", "vacuum the living room")
		p.Until(`/^Plan:.*Risiko: Bewegung.*muss es bestätigen/s.test(document.getElementById("preview").textContent)`)
		checkGerman(t, p, "a preview")
		p.Press("Enter")
		p.Until(`document.title === "Aufgaben · messkit" && document.querySelector("#detail .preview")`)
		checkGerman(t, p, "a confirmation")
		h.checkAccessibility(p, "german-"+size.name)
		h.saveScreenshot(p, "german-"+size.name)
		ref := ""
		p.Eval(`document.getElementById("detail").dataset.ref`, &ref)
		p.Click("#detail .answers button", "Ablehnen")
		p.Until(`/abgelehnt|abgebrochen|gescheitert/.test(document.querySelector("#detail .chip").textContent)`)
		checkGerman(t, p, "a rejected task")
		if thread := h.api("GET", "/requests/"+ref, ""); strings.Contains(thread, `"code":"in_progress"`) {
			t.Errorf("the rejected task has started: %s", thread)
		}
	}
	checkGermanAnswers(t, p)
	checkGermanDevices(t, p)
	declined := h.request(`{"intent": "turn on the sauna", "context": ["Mama says: please"]}`)
	h.waitStatus(declined, "declined")
	p.Eval(`void (location.hash = "#task/`+declined+`")`, nil)
	p.Until(`((text) => text.includes("Nicht verstanden: „sauna“.") && text.includes("Mama says: please"))(document.getElementById("detail").textContent)`)
	checkGermanTasks(t, h, p, declined)
	for _, view := range []string{"#home", "#executors", "#people", "#settings", "#log"} {
		p.Eval(`void (location.hash = "`+view+`")`, nil)
		p.Until(`[...document.querySelectorAll("main > section")].filter((s) => !s.hidden && s.querySelector("h1")).length === 1`)
		checkGerman(t, p, view)
	}

	// The page of a person, with a task that she takes.
	p.Go(link)
	p.Until(`document.getElementById("abilities")?.children.length > 0`)
	p.Click(`#abilities input[value="look"]`, "")
	p.Click("#profile button", "Speichern")
	p.Text("Gespeichert.")
	verb := h.request(`{"intent": "show me the cellar", "requires": [{"look": {"devices": ["cellar"], "executor": "ana"}}]}`)
	p.Until(`document.querySelector("#offers h3")?.textContent === "Mit cellar nachsehen"`) // as if somebody had tapped it
	h.api("PATCH", "/requests/"+verb, `{"status": "cancelled"}`)
	p.Until(`!document.querySelector("#offers h3")`)
	ref := h.request(`{"intent": "look in the cellar", "response_hint": ["image", "confirmation"]}`)
	p.Click("#offers button", "Annehmen")
	p.Until(`document.getElementById("text-` + ref + `")`)
	h.saveScreenshot(p, "german-person")
	checkGerman(t, p, "the page of a person")

	// The title of a task that needs a confirmation stands once.
	h.api("POST", "/devices/vm:front-door-lock/unlock", `{}`)
	p.Go(h.run("console"))
	for view, item := range map[string]string{"#home": "#home-needs .need", "#tasks": "#needs li"} {
		p.Eval(`void (location.hash = "`+view+`")`, nil)
		p.Until(`((text) => text?.includes("jeder kann hereinkommen") && text.split("front door lock aufschließen").length === 2)(document.querySelector("` + item + `:has(.answers button)")?.textContent)`)
	}

	// A stop says its reason, who has ordered it, and when.
	p.Eval(`void (location.hash = "#home")`, nil)
	h.api("POST", "/stop", `{"why": "stop button of the console"}`)
	p.Until(`/GESTOPPT.*Stopp-Knopf der Konsole \(von operator, \d\d:\d\d/.test(document.getElementById("standing").textContent)`)
	p.Until(tile("hall-light", ".trouble") + `?.textContent === "Gestoppt" && document.body.textContent.split("Stopp-Knopf der Konsole").length === 2`) // the reason, once
	stopped := h.request(`{"intent": "turn on the hall light"}`)
	h.waitStatus(stopped, "declined")
	p.Eval(`void (location.hash = "#task/`+stopped+`")`, nil)
	p.Until(`/Ein Stopp gilt \(Stopp-Knopf der Konsole, von Betreiber, /.test(document.getElementById("detail").textContent)`)
	if faults := p.Faults("401"); len(faults) > 0 { // requests without a session get 401
		t.Errorf("in the page: %q", faults)
	}
}
