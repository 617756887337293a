package webhook_test

import (
	"encoding/json"
	"mime"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/messkit/messkit/exchange"
	"github.com/messkit/messkit/exchange/channel/webhook"
	"github.com/messkit/messkit/exchange/notices"
)

// Each language has all fixed texts, with the same values. There is a title for each kind of notice.
func TestFixedTextsAreComplete(t *testing.T) {
	all, value := webhook.FixedTexts(), regexp.MustCompile(`\{[a-z]+\}`)
	languages := exchange.NotificationLanguages()
	if len(all) != len(languages) {
		t.Errorf("there are texts in %d languages, want %q", len(all), languages)
	}
	english := all[languages[0]]
	for _, kind := range []notices.Kind{notices.Question, notices.Confirmation, notices.Unknown, notices.Failed, notices.Unsafe, notices.Offline} {
		if english[string(kind)] == "" {
			t.Errorf("en: the title of %s is missing", kind)
		}
	}
	for _, language := range languages {
		if len(all[language]) != len(english) {
			t.Errorf("%s has %d texts, want %d", language, len(all[language]), len(english))
		}
		for key, text := range english {
			want, got := value.FindAllString(text, -1), value.FindAllString(all[language][key], -1)
			slices.Sort(want)
			slices.Sort(got)
			if all[language][key] == "" || !slices.Equal(want, got) {
				t.Errorf("%s: %s is %q, want a text with the values %q", language, key, all[language][key], want)
			}
		}
	}
}

// titleAt returns the title of a received ntfy notification, as ntfy decodes it.
func titleAt(t *testing.T, r received) string {
	t.Helper()
	title, err := new(mime.WordDecoder).DecodeHeader(r.head.Get("Title"))
	if err != nil || strings.ContainsFunc(r.head.Get("Title"), func(c rune) bool { return c > '~' }) {
		t.Errorf("title %q: %v, want ASCII that ntfy decodes", r.head.Get("Title"), err)
	}
	return title
}

// A person reads notices at addresses in the chosen language, as does one who does tasks. A language
// without texts is English.
func TestNotificationsInChosenLanguage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := openHome(t)
		defer h.stop()
		h.people.settings = map[string]string{"ana": `{"notifications":[{"type":"ntfy","url":"https://ntfy.example/ana"},{"type":"webhook","url":"https://ana.example/hook"}],"preferences":{"language":"de"}}`}
		h.ask("normal")
		h.settle(time.Minute)
		topic := h.all("ntfy.example")
		if len(topic) != 1 || titleAt(t, topic[0]) != "messkit: eine Frage" || string(topic[0].body) != "Look at the oven: Which oven?" {
			t.Errorf("ntfy got %+v", topic)
		}
		if hook := h.all("ana.example"); len(hook) != 1 || !strings.Contains(string(hook[0].body), `"title":"messkit: eine Frage"`) {
			t.Errorf("the webhook got %+v", hook)
		}
		if _, err := h.hooks.SendTest(t.Context(), "ana"); err != nil {
			t.Fatal(err)
		}
		if topic = h.all("ntfy.example"); titleAt(t, topic[1]) != "messkit: ein Test" || string(topic[1].body) != "Das ist ein Test: Mitteilungen für dich kommen hier an." {
			t.Errorf("the test is %+v", topic[1])
		}
		h.people.settings["ana"] = strings.Replace(h.people.settings["ana"], `"de"`, `"tlh"`, 1)
		h.settle(6 * time.Second)
		if _, err := h.hooks.SendTest(t.Context(), "ana"); err != nil {
			t.Fatal(err)
		}
		if topic = h.all("ntfy.example"); titleAt(t, topic[2]) != "messkit: a test" {
			t.Errorf("in an unknown language: %+v", topic[2])
		}
	})
}

// One who does tasks gets offers in the chosen language. Executors without one get the texts of the
// MESS reference servers. A status stays a code.
func TestTaskNotificationsInChosenLanguage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := open(t)
		defer h.stop()
		h.post("pi", `{"config":{"executor":{"id":"pi","capabilities":["look"],"notifications":[{"type":"webhook","url":"https://pi.example/hook"}]}}}`)
		h.post("own", `{"config":{"executor":{"id":"own","kind":"person","capabilities":["find"],"preferences":{"language":"de"},"notifications":[{"type":"ntfy","url":"https://ntfy.example/own"},{"type":"webhook","url":"https://own.example/hook"}]}}}`)
		ref := h.post("agent", `{"request":{"intent":"Find it","requires":["find"]}}`)
		h.post("agent", `{"request":{"intent":"Look","requires":["look"]}}`)
		h.settle(time.Second)
		h.post("own", `{"status":{"re":"`+ref+`","code":"claimed"}}`)
		h.post("agent", `{"cancel":{"re":"`+ref+`"}}`)
		h.settle(time.Second)
		var titles []string
		for _, r := range h.all("ntfy.example") {
			titles = append(titles, titleAt(t, r))
		}
		if want := []string{"messkit: eine Aufgabe für dich", "messkit: Neues von deiner Aufgabe"}; !slices.Equal(titles, want) {
			t.Errorf("ntfy titles %q, want %q", titles, want)
		}
		type body struct {
			Title, Body string
		}
		read := func(host string) (list []body) {
			for _, r := range h.all(host) {
				var b body
				if err := json.Unmarshal(r.body, &b); err != nil {
					t.Error(err)
				}
				list = append(list, b)
			}
			return list
		}
		if got := read("own.example"); len(got) != 2 || got[0].Title != "🆕 Neue MESS-Anfrage" || got[0].Body != "Find it\n\nRef: "+ref+"\nPriorität: normal" || got[1].Title != "📬 MESS-Neuigkeit: cancelled" {
			t.Errorf("the webhook of the person got %+v", got)
		}
		if got := read("pi.example"); len(got) == 0 || got[0].Title != "🆕 New MESS Request" || !strings.HasSuffix(got[0].Body, "\nPriority: normal") {
			t.Errorf("the executor got %+v", got)
		}
	})
}
