package mesh_test

import (
	"encoding/base64"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"

	"github.com/messkit/messkit/exchange/channel/mesh/peers"
	"github.com/messkit/messkit/exchange/channel/mesh/wire"
)

// The agent rejects each kind of bad message with its reason, changes nothing, and writes it to
// the audit log.
func TestInvalidMessageIsRejected(t *testing.T) {
	h := newFixture(t, func(c *peers.Config) {
		c.SessionPrefixes = []string{"hook:"}
		p := c.Peers["beta"]
		p.Accept = "beta-alone"
		c.Peers["beta"] = p
	})
	good := envelope(wire.Request, "msg_1", "photo").Text()
	hook := func(text string) string { return string(wire.Hook{Message: text}.Text()) }
	big := strings.Repeat("x", 70<<10)
	for name, c := range map[string]struct {
		path, token, body string
		code              int
		reason            string
	}{
		"no token":             {"/hooks/hub", "", hook(good), 401, "unauthorized"},
		"wrong token":          {"/hooks/hub", "nope", hook(good), 401, "unauthorized"},
		"token in the address": {"/hooks/hub?token=" + tokenHere, tokenHere, hook(good), 400, "token_in_query"},
		"bare":                 {"/hooks/", tokenHere, hook(good), 404, "not_found"},
		"another path":         {"/hooks/beta", tokenHere, hook(good), 403, "wrong_path"},
		"unknown sender":       {"/hooks/eve", tokenHere, hook(strings.Replace(good, `"from":"hub"`, `"from":"eve"`, 1)), 403, "unknown_sender"},
		"another's name":       {"/hooks/beta", tokenHere, hook(strings.Replace(good, `"from":"hub"`, `"from":"beta"`, 1)), 403, "wrong_token"},
		"its own token":        {"/hooks/hub", "beta-alone", hook(good), 403, "wrong_token"},
		"another recipient":    {"/hooks/hub", tokenHere, hook(strings.Replace(good, `"to":"arm_01"`, `"to":"leg_02"`, 1)), 400, "wrong_recipient"},
		"empty body":           {"/hooks/hub", tokenHere, "", 400, "invalid"},
		"empty message":        {"/hooks/hub", tokenHere, `{"message":""}`, 400, "invalid"},
		"no JSON":              {"/hooks/hub", tokenHere, "hello", 400, "invalid"},
		"unknown protocol":     {"/hooks/hub", tokenHere, hook(strings.Replace(good, "mesh/1.0", "mesh/3.0", 1)), 400, "unsupported_protocol"},
		"bad ttl":              {"/hooks/hub", tokenHere, hook(strings.Replace(good, `"ttl":300`, `"ttl":60.5`, 1)), 400, "invalid"},
		"unknown priority":     {"/hooks/hub", tokenHere, hook(strings.Replace(good, `"priority":"normal"`, `"priority":"banana"`, 1)), 400, "invalid"},
		"priority in capitals": {"/hooks/hub", tokenHere, hook(strings.Replace(good, `"priority":"normal"`, `"priority":"HIGH"`, 1)), 400, "invalid"},
		"no subject":           {"/hooks/hub", tokenHere, hook(strings.Replace(good, `"subject":"photo",`, "", 1)), 400, "invalid"},
		"subject is null":      {"/hooks/hub", tokenHere, hook(strings.Replace(good, `"subject":"photo"`, `"subject":null`, 1)), 400, "invalid"},
		"replyTo without url":  {"/hooks/hub", tokenHere, hook(strings.Replace(good, `"replyTo":null`, `"replyTo":{"token":"t"}`, 1)), 400, "invalid"},
		"replyTo is empty":     {"/hooks/hub", tokenHere, hook(strings.Replace(good, `"replyTo":null`, `"replyTo":{}`, 1)), 400, "invalid"},
		"MESS that is no text": {"/hooks/hub", tokenHere, hook(strings.Replace(good, `"metadata":{}`, `"metadata":{"mess":{"request":{"intent":"photo","confirm_before":true}}}`, 1)), 400, "invalid"},
		"too large":            {"/hooks/hub", tokenHere, hook(strings.Replace(good, `"body":"photo"`, `"body":"`+big+`"`, 1)), 413, "too_large"},
		"far too large":        {"/hooks/hub", tokenHere, hook(strings.Repeat(big, 4)), 413, "too_large"},
		"large file":           {"/hooks/hub", tokenHere, hook(strings.Replace(good, `"attachments":[]`, `"attachments":[{"type":"inline","data":"`+base64.StdEncoding.EncodeToString([]byte(big))+`"}]`, 1)), 413, "too_large"},
		"a file that is none":  {"/hooks/hub", tokenHere, hook(strings.Replace(good, `"attachments":[]`, `"attachments":[{"type":"inline","data":"%%%"}]`, 1)), 400, "invalid"},
		"session":              {"/hooks/agent", tokenHere, `{"message":"hi","sessionKey":"agent:main:x"}`, 400, "session_key"},
		"encrypted, no key":    {"/hooks/hub", tokenHere, hook(strings.Replace(good, `"metadata":{}`, `"metadata":{},"encrypted":true`, 1)), 400, "sealed"},
		"from tomorrow":        {"/hooks/hub", tokenHere, hook(strings.Replace(good, envelope(wire.Request, "x", "x").Time.UTC().Format("2006-01-02"), "2999-01-01", 1)), 400, "clock"},
	} {
		t.Run(name, func(t *testing.T) {
			code, v := h.raw(c.path, c.token, c.body)
			if code != c.code || v["ok"] != false || v["error"] != c.reason || v["message"] == "" {
				t.Errorf("%d %v, want %d %s", code, v, c.code, c.reason)
			}
			if !h.audited("refused_" + c.reason) {
				t.Errorf("the audit log has no refused_%s", c.reason)
			}
		})
	}
	if h.count("request photo") != 0 {
		t.Error("something was done")
	}
	req, _ := http.NewRequest(http.MethodGet, h.server.URL+"/hooks/hub", nil)
	if code, _ := h.roundTrip(req); code != http.StatusMethodNotAllowed {
		t.Error(code)
	}
}

// A client that guesses tokens must wait, but the agent accepts a valid token from the same
// address.
func TestWrongTokensBlockNoValidToken(t *testing.T) {
	h := newFixture(t, nil)
	last := 0
	for range 25 {
		last, _ = h.raw("/hooks/hub", "guess", "{}")
	}
	if last != http.StatusTooManyRequests {
		t.Errorf("%d after 25 guesses", last)
	}
	h.takes(envelope(wire.Notification, "msg_n", "hello"))
}

// A peer that sends too much gets a Retry-After.
func TestRateLimitOfPeer(t *testing.T) {
	h := newFixture(t, func(c *peers.Config) { c.Rate, c.Burst = 0.1, 3 })
	for _, id := range []string{"a", "b", "c"} {
		h.takes(envelope(wire.Notification, id, "hello"))
	}
	if code, v := h.post(envelope(wire.Notification, "d", "hello")); code != http.StatusTooManyRequests || v["error"] != "rate_limited" || !h.audited("refused_rate_limited") {
		t.Errorf("%d %v", code, v)
	}
	r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/hooks/hub", strings.NewReader(string(wire.Hook{Message: envelope(wire.Notification, "e", "hello").Text()}.Text())))
	r.Header.Set("Authorization", "Bearer "+tokenHere)
	w := httptest.NewRecorder()
	h.adapter.ServeHTTP(w, r)
	if after, err := strconv.Atoi(w.Header().Get("Retry-After")); w.Code != http.StatusTooManyRequests || err != nil || after < 1 || after > 600 { // one in ten minutes
		t.Errorf("%d, after %d, %v", w.Code, after, err)
	}
	h.takes(func() wire.Envelope { // other peers have their own limit
		e := envelope(wire.Notification, "f", "hello")
		e.From = "beta"
		return e
	}())
}

// A text without a sender counts against a limit, and has the size limit of an envelope.
func TestTextCountsAgainstLimits(t *testing.T) {
	h := newFixture(t, func(c *peers.Config) { c.Rate, c.Burst = 0.1, 3 })
	text := func(what string) int {
		code, _ := h.raw("/hooks/agent", tokenHere, string(wire.Hook{Message: what}.Text()))
		return code
	}
	if code := text(strings.Repeat("x", wire.MaxText+1)); code != http.StatusRequestEntityTooLarge {
		t.Errorf("%d", code)
	}
	for i, want := range []int{202, 202, 202, 429} {
		if code := text("hello"); code != want {
			t.Errorf("%d: %d", i, code)
		}
	}
	h.takes(envelope(wire.Notification, "msg_n", "hello")) // the peer has its own limit
}

// The agent rejects a message that it cannot store. The peer sends it again, and the executor acts
// once. Until then, the health is degraded.
func TestFullDiskRejectsMessage(t *testing.T) {
	h := newFixture(t, nil)
	h.disk.full.Store(true)
	for _, e := range []wire.Envelope{h.request("msg_1", "count"), envelope(wire.Notification, "msg_2", "hello"), envelope(wire.Alert, "msg_3", "down")} {
		if code, v := h.post(e); code != http.StatusServiceUnavailable || v["ok"] != false || v["error"] != "unavailable" {
			t.Errorf("%s: %d %v", e.ID, code, v)
		}
	}
	if v := h.health(); v["status"] != "degraded" || v["storage"] != "failing" {
		t.Errorf("%v", v)
	}
	h.disk.full.Store(false)
	h.takes(h.request("msg_1", "count"))
	h.hub.wait(t, responseTo("msg_1"))
	if n := h.count("request count"); n != 1 {
		t.Errorf("done %d times", n)
	}
	if v := h.health(); v["status"] != "ok" {
		t.Errorf("%v", v)
	}
}

// A flood of rejected messages does not fill the log, which contains their number.
func TestRejectedFloodKeepsLogSmall(t *testing.T) {
	h := newFixture(t, nil)
	knock := func(from string) {
		r, w := httptest.NewRequest(http.MethodPost, "/hooks/", nil), httptest.NewRecorder()
		r.RemoteAddr = from + ":1"
		if h.adapter.ServeHTTP(w, r); w.Code != http.StatusNotFound {
			t.Fatal(w.Code)
		}
	}
	const all = 500 // in less than eight minutes
	for range all {
		knock("192.0.2.1")
	}
	knock("192.0.2.2") // another address has its own limit
	h.stop()
	written, more := map[any]int{}, ""
	for _, l := range h.audit() {
		switch l["status"] {
		case "refused_not_found":
			written[l["from"]]++
		case "refused_more":
			more, _ = l["detail"].(string)
		}
	}
	if n := written["192.0.2.1"]; n < 60 || n >= all || written["192.0.2.2"] != 1 || !strings.Contains(more, "the log omits") {
		t.Errorf("%v of %d are written; %q", written, all, more)
	}
}
