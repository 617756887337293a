package main

import (
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/browser"

	"github.com/messkit/messkit/exchange/push/pushtest"
	"github.com/messkit/messkit/internal/test/chromium"
)

// bellShows waits until the bell shows a number of unread notices, 0 for none.
func bellShows(p *chromium.Tab, unread int) {
	text := ""
	if unread > 0 {
		text = fmt.Sprint(unread)
	}
	p.Until(fmt.Sprintf(`document.getElementById("bell").textContent === %q`, text))
}

// The bell counts what needs somebody, in every browser of a person. Its list survives a restart of
// the exchange, names the kind and the end of each notice, and a tap opens the task.
func TestBellView(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("this test needs a browser and the built program")
	}
	h := startMesskit(t, inWindows)
	other := h.browserAt("localhost")
	for n, size := range windowSizes {
		t.Run(size.name, func(t *testing.T) {
			h.t = t
			p := h.openHome(size.width, size.height)
			bellShows(p, 0)
			ref := h.request(`{"intent":"unlock the front door lock","requires":[{"unlock":{"devices":["front-door-lock"]}}]}`)
			h.waitStatus(ref, "needs_confirmation")
			bellShows(p, 1)
			other.Front() // a hidden page follows nothing
			bellShows(other, 1)
			p.Front()
			p.Eval(`document.getElementById("bell").click()`, nil)
			first := func(part string) string {
				return fmt.Sprintf(`document.querySelector(".notification:first-child %s")`, part)
			}
			p.Until(first("a") + `?.textContent.includes("front door lock")`)
			p.Until(first("") + `.textContent.includes("Confirmation") && ` + first("") + `.textContent.includes("still needs somebody") && ` + first(".chip") + `.textContent === "new"`)
			h.checkAccessibility(p, "bell-"+size.name)
			h.checkWidths(p, "bell-"+size.name, size.width, size.height)
			h.saveScreenshot(p, "bell-"+size.name)
			p.Eval(first("a")+".click()", nil)
			p.Until(fmt.Sprintf(`location.hash === "#task/%s" && !document.getElementById("detail").hidden`, ref))
			bellShows(p, 0)
			other.Front()
			bellShows(other, 0)
			p.Front()
			h.api("PATCH", "/requests/"+ref, `{"status":"cancelled"}`)
			p.Eval(`document.getElementById("bell").click()`, nil)
			p.Until(first("") + `.textContent.includes("settled at") && !` + first(".chip"))
			var count int
			p.Eval(`document.querySelectorAll(".notification").length`, &count)
			if count != 2*n+1 {
				t.Errorf("%d notices, want %d", count, 2*n+1)
			}
			ref = h.request(`{"intent":"unlock the front door lock","requires":[{"unlock":{"devices":["front-door-lock"]}}]}`)
			h.waitStatus(ref, "needs_confirmation")
			bellShows(p, 1)
			p.Eval(`void (location.hash = "#home")`, nil)
			p.Until(`((needs) => needs.length === 1 && needs[0].querySelector('a[href="#task/` + ref + `"]'))(document.querySelectorAll("#home-needs .need"))`) // the cancelled one has gone
			p.Click("#home-needs .answers button", "Reject")
			bellShows(p, 0) // the person who answers has read it
			p.Eval(`document.getElementById("bell").click()`, nil)
			if n == len(windowSizes)-1 { // after a kill the executor acts only when a person has looked
				h.restart()
				p.Until(`document.getElementById("line").textContent === "live"`)
				p.Reload()
				p.Until(fmt.Sprintf(`document.querySelectorAll(".notification").length === %d`, 2*(n+1)))
				bellShows(p, 0)
			}
			if faults := p.Faults("ERR_CONNECTION_REFUSED", "ERR_INCOMPLETE_CHUNKED_ENCODING", "Failed to load resource"); len(faults) > 0 {
				t.Errorf("in the page: %q", faults)
			}
		})
	}
}

// pushService receives the messages for one browser.
type pushService struct {
	*httptest.Server
	browser *pushtest.Browser
	got     chan sentMessage
	trust   string // variable of the environment
}

type sentMessage struct {
	head http.Header
	body []byte
}

// startPushService starts a push service. A program trusts its certificate with the variable trust.
func startPushService(t *testing.T) *pushService {
	t.Helper()
	s := &pushService{got: make(chan sentMessage, 10)}
	s.Server = httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		s.got <- sentMessage{r.Header, body}
		w.WriteHeader(http.StatusCreated)
	}))
	t.Cleanup(s.Close)
	file := filepath.Join(t.TempDir(), "push.pem")
	if err := os.WriteFile(file, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw}), 0o600); err != nil {
		t.Fatal(err)
	}
	s.trust = "SSL_CERT_FILE=" + file
	var err error
	if s.browser, err = pushtest.NewBrowser(s.URL + "/send/one"); err != nil {
		t.Fatal(err)
	}
	return s
}

// next decrypts the next message.
func (s *pushService) next(t *testing.T, key string) string {
	t.Helper()
	select {
	case one := <-s.got:
		payload, err := s.browser.Open(one.head, one.body, key, time.Now())
		if err != nil {
			t.Fatal(err)
		}
		return string(payload)
	case <-time.After(patience):
		t.Fatal("no push message")
	}
	return ""
}

// showPush gives a push message to the service worker of the page until the browser shows its notice. The
// browser can forget a notice if a page asks for the notices while one appears.
func showPush(p *chromium.Tab, origin, payload, title, body string) {
	shown, end := false, time.Now().Add(patience)
	for !shown && time.Now().Before(end) {
		p.DeliverPush(origin, payload)
		p.Eval(fmt.Sprintf(`(async () => {
			const worker = await navigator.serviceWorker.ready
			for (let n = 0; n < 40; n++) {
				await new Promise((done) => setTimeout(done, 250))
				if ((await worker.getNotifications()).some((n) => n.title === %q && n.body.includes(%q))) return true
			}
			return false
		})()`, title, body), &shown)
	}
	if !shown {
		p.Until("false") // it reports the page
	}
}

// Settings turns on push messages in a browser, sends a test, and shows the result. The service
// worker shows a notice in the language of the page, and a tap opens the task. The addresses of ntfy
// and the quiet hours are there as well.
func TestNoticeSettingsView(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("this test needs a browser and the built program")
	}
	service := startPushService(t)
	config := filepath.Join(t.TempDir(), "messkit.yaml")
	if err := os.WriteFile(config, []byte("exchange: # of the house\n  webhooks:\n    allow: [127.0.0.1/32]\ndevices:\n  front-door-lock: {driver: sim-lock, line: front-door, area: hall, aliases: [front door, door]}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	h := startCommand(t, []string{"env", service.trust}, "run", []string{"--config", config}, inWindows)
	p := h.openHome(390, 844)
	p.Allow(h.url, browser.PermissionTypeNotifications)
	p.Until(`navigator.serviceWorker.ready.then(() => true)`)
	subscription, err := json.Marshal(service.browser.Subscription())
	if err != nil {
		t.Fatal(err)
	}
	p.Eval(`{
		let made = null // stands for the subscription at the push service of the browser
		const kept = { toJSON: () => (`+string(subscription)+`), unsubscribe: async () => { made = null } }
		PushManager.prototype.getSubscription = async () => made
		PushManager.prototype.subscribe = async (options) => { window.subscribedWith = options; made = kept; return made }
	}`, nil)
	p.Click("nav a", "Settings")
	p.Until(`document.getElementById("push-state")?.textContent === "This browser gets no notices."`)
	h.checkAccessibility(p, "notice-settings")
	p.Click("#push-switch", "Turn notices on")
	p.Until(`document.getElementById("push-state").textContent === "This browser gets notices."`)
	var key string
	p.Eval(`btoa(String.fromCharCode(...subscribedWith.applicationServerKey)).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "")`, &key)
	p.Click("#notice-try", "Send a test notice")
	p.Until(`document.getElementById("notification-results").textContent.includes("delivered")`)
	var origin string
	p.Eval("location.origin", &origin)
	shown := func(payload, title, body string) {
		t.Helper()
		showPush(p, origin, payload, title, body)
	}
	shown(service.next(t, key), "A test", "Notices for you arrive here.")

	ref := h.request(`{"intent":"unlock the front door lock","requires":[{"unlock":{"devices":["front-door-lock"]}}]}`)
	h.waitStatus(ref, "needs_confirmation")
	payload := service.next(t, key)
	if !strings.Contains(payload, `"kind":"confirmation"`) {
		t.Errorf("payload %s", payload)
	}
	shown(payload, "Confirmation", "unlock the front door lock")
	h.waitStatus(ref, "needs_confirmation") // the notice has not acted
	var buttons string                      // the worker opens the page for a button as for a tap
	p.EvalInWorker(`registration.getNotifications().then(async (list) => {
		const n = list.find((one) => one.title === "Confirmation")
		await openPage(ownPath(n.data.url))
		return n.actions.map((a) => a.action + ": " + a.title).join()
	})`, &buttons)
	if buttons != "open: Open the question" {
		t.Errorf("the buttons of the notice are %q", buttons)
	}
	p.Until(fmt.Sprintf(`location.hash === "#task/%s" && !document.getElementById("detail").hidden`, ref))

	p.Click("nav a", "Settings")
	p.Until(`document.getElementById("last-backup").textContent === "No backup yet, as far as messkit knows."`)
	p.Eval(`document.getElementById("quiet-on").click()`, nil)
	p.Click("#quiet button", "Save")
	p.Until(`document.querySelector("#quiet [role=status]").textContent === "Saved."`)
	p.Fill("#hook", "https://ntfy.example/secret-topic")
	p.Click("#notice button", "Add address")
	p.Until(`document.getElementById("hooks").textContent.includes("secret-topic")`)
	p.Eval(`document.getElementById("policy-on").click()`, nil)
	p.Click("#policy-quiet button", "Save")
	p.Until(`document.querySelector("#policy-quiet [role=status]").textContent.includes("The next start of messkit uses it.")`)
	if text, err := os.ReadFile(config); err != nil || !strings.Contains(string(text), `quiet_hours: "22:00-07:00"`) || !strings.Contains(string(text), "# of the house") {
		t.Errorf("the configuration is %q, %v", text, err)
	}
	p.Size(1280, 800)
	h.saveScreenshot(p, "notice-settings-1280")
	h.checkWidths(p, "notice-settings", 390, 844)
	p.Click("#push-switch", "Turn notices off")
	p.Until(`document.getElementById("push-state").textContent === "This browser gets no notices."`)
	mark, old := filepath.Join(h.home, "data", "last-backup"), time.Now().AddDate(0, 0, -31)
	if err := errors.Join(os.WriteFile(mark, nil, 0o600), os.Chtimes(mark, old, old)); err != nil {
		t.Fatal(err)
	}
	p.Reload()
	p.Until(`/^The last backup is of .*more than 30 days ago/.test(document.getElementById("last-backup")?.textContent)`)
	p.Until(`document.querySelector("#backup pre").textContent.endsWith("data/last-backup'")`)
	p.Until(`document.getElementById("quiet-on")?.checked && document.getElementById("hooks").textContent.includes("secret-topic")`)
	if faults := p.Faults(); len(faults) > 0 {
		t.Errorf("in the page: %q", faults)
	}
	if log := h.process.stderr.String(); strings.Contains(log, "/send/one") || strings.Contains(log, "secret-topic") {
		t.Errorf("the log has a secret:\n%s", log)
	}
}
