package webhook

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"github.com/messkit/messkit/exchange"
	"github.com/messkit/messkit/exchange/notices"
	"github.com/messkit/messkit/mess"
)

// textKey names a fixed text of a notification.
type textKey string

// Keys of the fixed texts, in addition to the kinds of notices. {name} stands for a value.
const (
	offerTitle   textKey = "offer"
	changeTitle  textKey = "change"
	testTitle    textKey = "test"
	testBody     textKey = "test_body"
	newsTitle    textKey = "news"
	offlineBody  textKey = "offline_body" // {name}, {time}
	timeLayout   textKey = "time"         // as of package time
	requestTitle textKey = "request"      // of a webhook, as are those below
	requestBody  textKey = "request_body" // {intent}, {ref}, {priority}
	updateTitle  textKey = "update"       // {status}
)

// fixedTexts has the fixed texts by language. A browser has its own texts (page/js/text). The texts of
// webhooks in English are those of the MESS reference servers.
var fixedTexts = map[string]map[textKey]string{
	"en": {
		textKey(notices.Question): "messkit: a question", textKey(notices.Confirmation): "messkit: a confirmation is needed",
		textKey(notices.Unknown): "messkit: the result of a task is unknown", textKey(notices.Failed): "messkit: a task has failed",
		textKey(notices.Unsafe): "messkit: devices are not safe after a stop", textKey(notices.Offline): "messkit: an executor is offline",
		offerTitle: "messkit: a task for you", changeTitle: "messkit: news of your task", newsTitle: "messkit: news from the exchange",
		testTitle: "messkit: a test", testBody: "This is a test: notifications for you arrive here.",
		offlineBody: "{name} has no contact since {time}", timeLayout: "2006-01-02 15:04",
		requestTitle: "🆕 New MESS Request", requestBody: "{intent}\n\nRef: {ref}\nPriority: {priority}", updateTitle: "📬 MESS Update: {status}",
	},
	"de": {
		textKey(notices.Question): "messkit: eine Frage", textKey(notices.Confirmation): "messkit: eine Bestätigung ist nötig",
		textKey(notices.Unknown): "messkit: das Ergebnis einer Aufgabe ist unbekannt", textKey(notices.Failed): "messkit: eine Aufgabe ist fehlgeschlagen",
		textKey(notices.Unsafe): "messkit: Geräte sind nach einem Stopp nicht sicher", textKey(notices.Offline): "messkit: ein Executor ist offline",
		offerTitle: "messkit: eine Aufgabe für dich", changeTitle: "messkit: Neues von deiner Aufgabe", newsTitle: "messkit: Neues vom Exchange",
		testTitle: "messkit: ein Test", testBody: "Das ist ein Test: Mitteilungen für dich kommen hier an.",
		offlineBody: "{name} hat seit {time} keinen Kontakt", timeLayout: "02.01.2006 15:04",
		requestTitle: "🆕 Neue MESS-Anfrage", requestBody: "{intent}\n\nRef: {ref}\nPriorität: {priority}", updateTitle: "📬 MESS-Neuigkeit: {status}",
	},
}

// fixedText returns a fixed text in a language, with pairs of {name} and value. It uses English for an
// unknown language.
func fixedText(language string, key textKey, values ...string) string {
	text := cmp.Or(fixedTexts[language][key], fixedTexts[exchange.NotificationLanguages()[0]][key])
	return strings.NewReplacer(values...).Replace(text)
}

// language returns the language that a recipient has chosen for notifications (preferences: {language:
// de}), or "".
func (h *Dispatcher) language(recipient string) string {
	profile, _ := h.profile(recipient)
	v, _ := profile.Get("preferences")
	prefs, _ := v.(mess.Object)
	return prefs.Text("language")
}

// titleOf returns the title of a notification for ntfy.
func titleOf(n notification, language string) string {
	if n.Notice != nil {
		return fixedText(language, textKey(n.Notice.Kind))
	}
	key := map[string]textKey{createdEvent: offerTitle, changedEvent: changeTitle, testEvent: testTitle, newsEvent: newsTitle}[n.Event]
	return fixedText(language, key)
}

// textOf returns the text of a notification for ntfy.
func textOf(n notification, language string) string {
	switch {
	case n.Notice != nil:
		return noticeText(*n.Notice, language)
	case n.Event == testEvent:
		return fixedText(language, testBody)
	}
	return n.Thread.Intent
}

// noticeText returns the text of a notice for an address.
func noticeText(n notices.Notice, language string) string {
	switch n.Kind {
	case notices.Offline:
		return fixedText(language, offlineBody, "{name}", n.Name, "{time}", localTime(n.At, language))
	case notices.Unsafe:
		return fmt.Sprintf("%s: %s", n.Name, strings.Join(n.Devices, " "))
	}
	if n.Text == "" || n.Text == n.Intent {
		return n.Intent
	}
	return n.Intent + ": " + n.Text
}

// localTime prints a time as people of a language write it.
func localTime(t time.Time, language string) string { return t.Format(fixedText(language, timeLayout)) }

// webhookWords returns the title and the body of a notification for a webhook.
func webhookWords(n notification, language string) (title, body string) {
	switch n.Event {
	case testEvent, newsEvent, noticeEvent:
		return titleOf(n, language), textOf(n, language)
	case changedEvent:
		title = fixedText(language, updateTitle, "{status}", string(n.Thread.Status))
	default:
		title = fixedText(language, requestTitle)
	}
	return title, fixedText(language, requestBody, "{intent}", n.Thread.Intent, "{ref}", n.Thread.Ref, "{priority}", string(n.Thread.Priority))
}
