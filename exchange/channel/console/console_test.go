package console_test

import (
	"context"
	"encoding/json"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/messkit/messkit/exchange"
	"github.com/messkit/messkit/exchange/channel/console"
	"github.com/messkit/messkit/mess"
)

// A cookie is valid for a key, also after a restart, until the user signs out or the key ends. It
// does not contain the key.
func TestSessionEndsWithKeyOrSignOut(t *testing.T) {
	h := newHarness(t)
	b, key := h.signIn("ana", operator)
	_, _, head := h.call(h.browser(), http.MethodPost, "/console/session", `{"key":"`+key+`"}`)
	cookie := head.Get("Set-Cookie")
	if !strings.Contains(cookie, "HttpOnly") || !strings.Contains(cookie, "SameSite=Strict") || strings.Contains(cookie, key) {
		t.Errorf("cookie %q", cookie)
	}
	docs := h.x.ChannelState("console")
	if len(docs) != 2 {
		t.Fatalf("%d sessions kept", len(docs))
	}
	for _, doc := range docs {
		if strings.Contains(string(doc), strings.TrimPrefix(key, "mess_home_")) {
			t.Error("the document contains the key in plain text")
		}
	}
	h.start()
	h.wantStatus(http.StatusOK, b, http.MethodGet, "/console/who", "")
	h.wantStatus(http.StatusOK, b, http.MethodDelete, "/console/session", "")
	h.wantStatus(http.StatusUnauthorized, b, http.MethodGet, "/console/who", "")
	h.wantStatus(http.StatusOK, b, http.MethodPost, "/console/session", `{"key":"`+key+`"}`)
	if _, err := h.k.Revoke("ana"); err != nil {
		t.Fatal(err)
	}
	h.wantStatus(http.StatusUnauthorized, b, http.MethodGet, "/console/who", "")
}

func TestInvalidSignInIsRejected(t *testing.T) {
	h := newHarness(t)
	_, key := h.signIn("ana", operator)
	b := h.browser()
	for _, body := range []string{"", "{", "[]", `{}`, `{"key":1}`, `{"key":"x","link":"y"}`} {
		h.wantStatus(http.StatusBadRequest, b, http.MethodPost, "/console/session", body)
	}
	h.wantStatus(http.StatusUnauthorized, b, http.MethodPost, "/console/session", `{"key":"mess_home_00000000000000000000000000000000"}`)
	h.wantStatus(http.StatusUnauthorized, b, http.MethodPost, "/console/session", `{"link":"AAAAAAAAAAAAAAAAAAAAAAAAAA"}`)
	for _, heads := range [][]string{{"Origin", "http://127.0.0.1:3000"}, {"Origin", ""}, {"Sec-Fetch-Site", "same-site"}, {"Sec-Fetch-Site", "cross-site"}} {
		h.wantStatus(http.StatusForbidden, b, http.MethodPost, "/console/session", `{"key":"`+key+`"}`, heads...)
	}
	h.wantStatus(http.StatusMethodNotAllowed, b, http.MethodGet, "/console/session", "")
}

// A link works once, and an invitation registers its user as a person.
func TestLinkWorksOnce(t *testing.T) {
	h := newHarness(t)
	b, _ := h.signIn("ana", operator)
	token := h.linkToken(h.wantStatus(http.StatusCreated, b, http.MethodPost, "/console/link", `{}`))
	other := h.browser()
	if text := h.wantStatus(http.StatusOK, other, http.MethodPost, "/console/session", `{"link":"`+token+`"}`); !strings.Contains(text, `"actor":"ana"`) {
		t.Error(text)
	}
	h.wantStatus(http.StatusUnauthorized, h.browser(), http.MethodPost, "/console/session", `{"link":"`+token+`"}`)

	text := h.wantStatus(http.StatusCreated, b, http.MethodPost, "/console/invite", `{"name":"Ben Bär","at":"https://192.168.1.7:8420"}`)
	if !strings.Contains(text, `"https://192.168.1.7:8420/me#`) || !strings.Contains(text, `"#######`) {
		t.Error(text)
	}
	phone := h.browser()
	if text := h.wantStatus(http.StatusOK, phone, http.MethodPost, "/console/session", `{"link":"`+h.linkToken(text)+`"}`); !strings.Contains(text, `"actor":"ben-b-r"`) || !strings.Contains(text, `"roles":["executor","requester"]`) {
		t.Error(text)
	}
	if list := h.x.Executors(); len(list) != 1 || !exchange.IsPerson(list[0].Executor) || list[0].Name != "Ben Bär" {
		t.Errorf("%+v", list)
	}
	h.wantStatus(http.StatusForbidden, phone, http.MethodPost, "/console/invite", `{"name":"more"}`)
	if _, text, _ := h.call(b, http.MethodPost, "/console/invite", `{"name":"李"}`); !strings.Contains(text, "give the id as well") {
		t.Error(text)
	}
	h.wantStatus(http.StatusCreated, b, http.MethodPost, "/console/invite", `{"name":"Ben Bär"}`)
	for _, body := range []string{`{"name":""}`, `{"name":"ana"}`, `{"name":"x","actor":"a/b"}`, `{"name":"exchange"}`, `{"name":"x","at":"javascript:1"}`} {
		if code, text, _ := h.call(b, http.MethodPost, "/console/invite", body); code != http.StatusBadRequest && code != http.StatusConflict {
			t.Errorf("%s: %d %s", body, code, text)
		}
	}
}

// Arming needs an operator on the host. Everybody who sees the page may stop, anywhere.
func TestRolesOfCalls(t *testing.T) {
	h := newHarness(t)
	op, _ := h.signIn("op", operator)
	ask, _ := h.signIn("ask", exchange.Requester)
	see, _ := h.signIn("see", exchange.Observer)
	const stop, release, arm = "/console/stop", "/console/release", "/console/arm"
	h.wantStatus(http.StatusAccepted, ask, http.MethodPost, stop, `{"why":"cat"}`)
	h.wantStatus(http.StatusAccepted, see, http.MethodPost, stop, `{"why":"smoke"}`)
	h.wantStatus(http.StatusForbidden, ask, http.MethodPost, release, `{}`)
	h.wantStatus(http.StatusForbidden, op, http.MethodPost, release, `{}`, "X-Forwarded-For", "10.0.0.1")
	h.wantStatus(http.StatusForbidden, op, http.MethodPost, release, `{}`, "X-Forwarded-Host", "robots.example")
	h.wantStatus(http.StatusForbidden, op, http.MethodPost, release, `{}`, "Origin", h.addressAs("robots.example"), "Host", h.addressAs("robots.example"))
	h.wantStatus(http.StatusForbidden, op, http.MethodPost, release, `{}`, "Origin", h.addressAs("192.0.2.7"), "Host", h.addressAs("192.0.2.7"))
	for _, c := range [][2]string{{release, `{"anyway": true}`}, {arm, `{"do":"arm","what":"motion"}`}, {arm, `{"do":"unlock","what":"lamp"}`}} {
		if refused := h.wantStatus(http.StatusForbidden, op, http.MethodPost, c[0], c[1]); !strings.Contains(refused, "a person must release a stop, arm and unlock") {
			t.Errorf("by the key alone: %s", refused)
		}
	}
	h.proof = exchange.OnPage
	h.daemon.unsafe = true
	if refused := h.wantStatus(http.StatusConflict, op, http.MethodPost, release, `{}`); !strings.Contains(refused, "not known to be safe: lamp (no answer)") {
		t.Errorf("a release with a device that is not safe: %s", refused)
	}
	h.wantStatus(http.StatusOK, op, http.MethodPost, release, `{"anyway": true}`)
	h.wantStatus(http.StatusForbidden, op, http.MethodPost, arm, `{"do":"arm","what":"motion"}`, "Via", "proxy")
	h.wantStatus(http.StatusOK, op, http.MethodPost, arm, `{"do":"lock","what":"lamp"}`, "Via", "proxy")
	h.wantStatus(http.StatusForbidden, op, http.MethodPost, arm, `{"do":"unlock","what":"lamp"}`, "Via", "proxy")
	h.wantStatus(http.StatusOK, op, http.MethodPost, arm, `{"do":"arm","what":"motion"}`)
	h.wantStatus(http.StatusBadRequest, op, http.MethodPost, arm, `{"do":"explode"}`)
	h.wantStatus(http.StatusForbidden, see, http.MethodPost, "/console/plan", `{"intent":"x"}`)
	h.wantStatus(http.StatusOK, ask, http.MethodPost, "/console/plan", `{"intent":"x"}`)
	h.wantStatus(http.StatusBadRequest, ask, http.MethodPost, "/console/plan", `{"intent":" "}`)
	h.wantStatus(http.StatusForbidden, ask, http.MethodGet, "/console/refused", "")
	h.wantStatus(http.StatusOK, op, http.MethodGet, "/console/refused", "")
	want := []string{"release by op on the host", "lock lamp", "arm motion"}
	if !slices.Equal(h.daemon.calls, want) {
		t.Errorf("done: %q, want %q", h.daemon.calls, want)
	}
}

// The form for a stop works without scripts. Its answer is plain text.
func TestStopByForm(t *testing.T) {
	h := newHarness(t)
	b, _ := h.signIn("ask", exchange.Requester)
	code, text, head := h.call(b, http.MethodPost, "/console/stop", "why=cat", "Content-Type", "application/x-www-form-urlencoded")
	if code != http.StatusOK || !strings.HasPrefix(text, "Stopped.") || !strings.HasPrefix(head.Get("Content-Type"), "text/plain") {
		t.Errorf("%d %q %v", code, text, head)
	}
}

// The pages load nothing from other hosts, contain no inline scripts, and are small.
func TestPages(t *testing.T) {
	h := newHarness(t)
	joinedScripts := []string{"/console/js/console.js", "/console/js/me.js"}
	total := 0
	for path := range h.c.Pages() {
		if path == "/console/session" {
			continue
		}
		code, text, head := h.call(h.browser(), http.MethodGet, path, "")
		total += len(text)
		if code != http.StatusOK || head.Get("Content-Type") == "" || head.Get("X-Content-Type-Options") != "nosniff" || !strings.Contains(head.Get("Content-Security-Policy"), "script-src 'self';") {
			t.Errorf("%s: %d %v", path, code, head)
		}
		for _, bad := range append([]string{"insertAdjacentHTML", "document.write", "eval(", "onclick=", "<style", "style=", "cdn."}, makesHTML...) {
			if joined := slices.Contains(joinedScripts, path); joined && bad == "onclick=" {
				bad = " onclick=" // esbuild writes x.onclick=f without spaces
			} else if joined && slices.Contains(makesHTML, bad) {
				continue // the library has it; TestTemplatesCleanTexts reads the other scripts
			}
			if strings.Contains(text, bad) {
				t.Errorf("%s has %q", path, bad)
			}
		}
		h.wantStatus(http.StatusMethodNotAllowed, h.browser(), http.MethodPost, path, "")
	}
	if total == 0 || total > 500<<10 {
		t.Errorf("the pages are %d bytes", total)
	}
}

// The stream reports changes without another request.
func TestEvents(t *testing.T) {
	h := newHarness(t)
	b, _ := h.signIn("op", operator)
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, h.s.URL+"/console/events", nil)
	if err != nil {
		t.Fatal(err)
	}
	res, err := b.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	var seen strings.Builder
	until := func(text string) {
		t.Helper()
		for buf := make([]byte, 4096); !strings.Contains(seen.String(), text); {
			n, err := res.Body.Read(buf)
			if err != nil {
				t.Fatalf("%v before %q in %s", err, text, &seen)
			}
			seen.Write(buf[:n])
		}
	}
	until(`"executors":[]`)
	text := h.wantStatus(http.StatusCreated, b, http.MethodPost, "/console/invite", `{"name":"Ben"}`)
	h.wantStatus(http.StatusOK, h.browser(), http.MethodPost, "/console/session", `{"link":"`+h.linkToken(text)+`"}`)
	until(`"id":"ben","name":"Ben","person":true`)
	boss := exchange.Actor{ID: "boss", Roles: exchange.Operator}
	if _, err := h.x.Drain(t.Context(), boss, mess.DrainOrder{Reason: "wet"}); err != nil {
		t.Fatal(err)
	}
	until(`"on_hold":"drained by boss: wet"`)
	pi := exchange.Actor{ID: "pi", Roles: exchange.ExecutorRole} // Ben does nothing that he could stop
	robot := mess.Message{Items: []mess.Item{&mess.Config{Executor: &mess.Executor{ID: pi.ID, Capabilities: []mess.Capability{{ID: "look"}}}}}}
	if _, err := h.x.Post(t.Context(), exchange.Inbound{Actor: pi, Channel: "test", Message: robot}); err != nil {
		t.Fatal(err)
	}
	h.wantStatus(http.StatusAccepted, b, http.MethodPost, "/console/stop", `{}`)
	until(`"stopping":1`)
}

func FuzzQRCode(f *testing.F) {
	f.Add("https://192.168.1.7:8420/me#AAAAAAAAAAAAAAAAAAAAAAAAAA")
	f.Fuzz(func(t *testing.T, text string) {
		rows, err := console.QRCode(text)
		if (err == nil) != (len(rows) > 0) {
			t.Errorf("%d rows, %v", len(rows), err)
		}
		for _, row := range rows {
			if len(row) != len(rows) || strings.Trim(row, "#.") != "" {
				t.Errorf("row %q of %d", row, len(rows))
			}
		}
	})
}

// Failed sign-ins get 429 and do not keep out others.
func TestFailedSignInsAreLimited(t *testing.T) {
	h := newHarness(t)
	key, err := h.k.Issue("ben", exchange.Requester)
	if err != nil {
		t.Fatal(err)
	}
	h.c = console.Open(h.x, h.k, console.Config{LocalExecutor: &h.daemon, SignInRate: 1e-6}, slog.New(slog.DiscardHandler))
	for _, body := range []string{`{"key":"mess_home_wrong"}`, `{"link":"WRONG"}`} {
		for range 20 {
			if code, text, _ := h.call(h.browser(), http.MethodPost, "/console/session", body); code != http.StatusUnauthorized && code != http.StatusTooManyRequests {
				t.Errorf("%d %s", code, text)
			}
		}
	}
	code, text, head := h.call(h.browser(), http.MethodPost, "/console/session", `{"key":"mess_home_wrong"}`)
	if code != http.StatusTooManyRequests || head.Get("Retry-After") == "" {
		t.Errorf("%d %s", code, text)
	}
	h.wantStatus(http.StatusOK, h.browser(), http.MethodPost, "/console/session", `{"key":"`+key+`"}`)
}

// One actor makes many sign-in links: an operator can still invite others.
func TestLinksOfActorAreLimited(t *testing.T) {
	h := newHarness(t)
	ben, _ := h.signIn("ben", exchange.Requester)
	op, _ := h.signIn("boss", operator)
	var first, last string
	for i := range 150 {
		var v struct{ Path string }
		if err := json.Unmarshal([]byte(h.wantStatus(http.StatusCreated, ben, http.MethodPost, "/console/link", `{}`)), &v); err != nil {
			t.Fatal(err)
		}
		if last = strings.TrimPrefix(v.Path, "/#"); i == 0 {
			first = last
		}
	}
	h.wantStatus(http.StatusCreated, op, http.MethodPost, "/console/invite", `{"name":"Ana"}`)
	h.wantStatus(http.StatusUnauthorized, h.browser(), http.MethodPost, "/console/session", `{"link":"`+first+`"}`)
	h.wantStatus(http.StatusOK, h.browser(), http.MethodPost, "/console/session", `{"link":"`+last+`"}`)
}

// A cookie from a TLS connection has the attribute Secure, so that the browser does not send it in
// plain text.
func TestCookieIsSecureOverTLS(t *testing.T) {
	h := newHarness(t)
	key, err := h.k.Issue("ana", exchange.Operator)
	if err != nil {
		t.Fatal(err)
	}
	set := func(heads ...string) string {
		_, _, head := h.call(h.browser(), http.MethodPost, "/console/session", `{"key": "`+key+`"}`, heads...)
		return head.Get("Set-Cookie")
	}
	if got := set(); got == "" || strings.Contains(got, "Secure") {
		t.Errorf("in plain text: %q", got)
	}
	if got := set("Sec-Fetch-Site", "same-origin", "Origin", "https://home.example"); !strings.Contains(got, "; Secure") {
		t.Errorf("behind a proxy with TLS: %q", got)
	}
	h.tls = true
	h.start()
	if got := set(); !strings.Contains(got, "; Secure") {
		t.Errorf("over TLS: %q", got)
	}
}
