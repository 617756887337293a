package console_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/messkit/messkit/exchange"
	"github.com/messkit/messkit/mess"
)

// A person reads and changes her own addresses. Other fields and secrets stay, and the answers do
// not contain them.
func TestNotificationAddresses(t *testing.T) {
	h := newHarness(t)
	ana, _ := h.signIn("ana", exchange.Requester|exchange.ExecutorRole)
	agent, _ := h.signIn("agent", exchange.Requester)
	const path = "/console/notices"
	h.wantStatus(http.StatusForbidden, agent, http.MethodGet, path, "")
	h.wantStatus(http.StatusConflict, ana, http.MethodGet, path, "") // not registered
	h.register("ana", `"capabilities": ["look"], "preferences": {"min_priority": "urgent"}, "notifications": [{"type": "pager", "number": 7}, {"type": "webhook", "url": "https://a.example/", "secret": "sesame", "more": 1}]`)
	if text := h.wantStatus(http.StatusOK, ana, http.MethodGet, path, ""); !strings.Contains(text, `{"type":"webhook","url":"https://a.example/"}`) || !strings.Contains(text, "urgent") || strings.Contains(text, "sesame") {
		t.Error(text)
	}
	for _, c := range []struct {
		body string
		code int
		want string
	}{
		{`{"do":"add","type":"ntfy","url":"https://ntfy.example/t"}`, http.StatusOK, `{"type":"ntfy","url":"https://ntfy.example/t"}`},
		{`{"do":"add","type":"ntfy","url":"https://ntfy.example/t"}`, http.StatusConflict, "already"},
		{`{"do":"add","type":"ntfy","url":"javascript:alert(1)"}`, http.StatusBadRequest, "no address"},
		{`{"do":"add","type":"ntfy","url":"https:///t"}`, http.StatusBadRequest, "no address"},
		{`{"do":"add","type":"ntfy","url":"https://x.example/` + strings.Repeat("x", 1000) + `"}`, http.StatusBadRequest, "no address"},
		{`{"do":"add","type":"push","url":"https://x.example/"}`, http.StatusBadRequest, "ntfy or webhook"},
		{`{"do":"add","type":"webhook","url":"https://b.example/"}`, http.StatusOK, "b.example"},
		{`{"do":"add","type":"webhook","url":"https://c.example/"}`, http.StatusConflict, "remove one first"},
		{`{"do":"remove","url":"https://other.example/"}`, http.StatusNotFound, "no such address"},
		{`{"do":"remove","url":""}`, http.StatusNotFound, "no such address"},
		{`{"do":"remove","url":"https://b.example/"}`, http.StatusOK, "a.example"},
		{`{"do":"try"}`, http.StatusConflict, "sends no notifications"},
		{`{"do":"dance"}`, http.StatusBadRequest, "is unknown"},
		{`[`, http.StatusBadRequest, "JSON"},
		{`{"do":5}`, http.StatusBadRequest, "is of the wrong kind (number)"},
		{`[]`, http.StatusBadRequest, "the body: is of the wrong kind (array)"},
	} {
		if text := h.wantStatus(c.code, ana, http.MethodPost, path, c.body); !strings.Contains(text, c.want) {
			t.Errorf("%s: %s", c.body, text)
		}
	}
	list, _ := h.x.Executors()[0].Extra.Get("notifications")
	all, _ := list.([]any)
	if len(all) != 3 {
		t.Fatalf("registered: %v", list)
	}
	hook, _ := all[1].(mess.Object)
	if secret, _ := hook.Get("secret"); secret != "sesame" {
		t.Errorf("the secret is lost: %v", hook)
	}
	if more, _ := hook.Get("more"); more == nil {
		t.Errorf("the other addresses are lost: %v", hook)
	}
}

// register enters an executor with a profile in JSON.
func (h *harness) register(id, profile string) {
	h.Helper()
	m, err := mess.Parse([]byte(`{"config":{"executor":{"id":"` + id + `",` + profile + `}}}`))
	if err != nil {
		h.Fatal(err)
	}
	if _, err := h.x.Post(h.Context(), exchange.Inbound{Actor: exchange.Actor{ID: id, Roles: exchange.ExecutorRole}, Channel: "http", Message: m}); err != nil {
		h.Fatal(err)
	}
}
