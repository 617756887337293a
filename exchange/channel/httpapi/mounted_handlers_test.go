package httpapi_test

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/messkit/messkit/exchange"
	"github.com/messkit/messkit/exchange/channel/httpapi"
)

// mountedHandler is a mounted handler that records its caller.
type mountedHandler struct {
	actor exchange.Actor
	head  http.Header
	body  string
	says  string // an error that it answers with
}

func (v *mountedHandler) Serve(actor exchange.Actor, w http.ResponseWriter, r *http.Request) {
	data, err := io.ReadAll(r.Body)
	if err != nil {
		panic(err)
	}
	v.actor, v.head, v.body = actor, r.Header, string(data)
	if v.says != "" {
		http.Error(w, v.says, http.StatusBadRequest)
		return
	}
	w.WriteHeader(http.StatusTeapot)
}

// A mounted handler gets the actor and the body, and not the key. A client without a key does
// not reach it.
func TestMountedHandlerGetsActorWithoutKey(t *testing.T) {
	v := &mountedHandler{}
	h := startHarness(t, httpapi.Config{MountedHandlers: map[string]httpapi.MountedHandler{"/tea": v}, MaxBody: 1000, Rate: httpapi.Rate{Requests: 0.1, Burst: 3, Connections: 64}})
	key := h.register("phone", `"take-photo"`)
	if r := h.do("POST", "/tea", key, "hello", "X-Other", "1"); r.code != http.StatusTeapot || r.head.Get("X-Request-Id") == "" || r.head.Get("Cache-Control") != "no-store" || r.field("error") != "i'm a teapot" {
		t.Errorf("%d %v", r.code, r.head)
	}
	if v.actor.ID != "phone" || v.actor.Roles != exchange.Requester|exchange.ExecutorRole || v.body != "hello" || v.head.Get("X-Other") != "1" {
		t.Errorf("%+v", v)
	}
	if v.head.Get("Authorization") != "" {
		t.Error("the key goes on to the guest")
	}
	*v = mountedHandler{}
	h.wantReadableError("no key", h.do("POST", "/tea", "", "hello"), http.StatusUnauthorized)
	h.wantReadableError("a wrong key", h.do("POST", "/tea", "mess_home_0", "hello"), http.StatusUnauthorized)
	h.wantReadableError("a page", h.do("POST", "/tea", key, "hello", "Origin", "https://evil.example"), http.StatusForbidden)
	h.wantReadableError("a name", h.do("POST", "/tea", key, "hello", "Host", "evil.example"), http.StatusForbidden)
	h.wantReadableError("too much", h.do("POST", "/tea", key, strings.Repeat("x", 1001)), http.StatusRequestEntityTooLarge)
	h.wantReadableError("another path", h.do("POST", "/tea/", key, "hello"), http.StatusNotFound)
	h.do("GET", "/tea", key, "")
	h.wantReadableError("too many", h.do("GET", "/tea", key, ""), http.StatusTooManyRequests)
	if v.body != "" || v.actor.ID != "phone" {
		t.Errorf("it came through: %+v", v)
	}
}

// A plain-text error of a mounted handler becomes JSON.
func TestMountedHandlerErrorsAreJSON(t *testing.T) {
	v := &mountedHandler{says: "malformed \xffpayload\n"}
	h := startHarness(t, httpapi.Config{MountedHandlers: map[string]httpapi.MountedHandler{"/tea": v}})
	for _, says := range []string{v.says, strings.Repeat("x", 5000)} {
		v.says = says
		r := h.do("POST", "/tea", h.op, "hello")
		h.wantReadableError("a guest's error", r, http.StatusBadRequest)
		if got := r.field("error"); got == "" || !strings.Contains(says, got) && got != "malformed payload" || r.head.Get("X-Content-Type-Options") != "nosniff" {
			t.Errorf("%s", r.body)
		}
	}
}
