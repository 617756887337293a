package httpapi_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/messkit/messkit/exchange/channel/httpapi"
	"github.com/messkit/messkit/exchange/keys"
	"github.com/messkit/messkit/internal/peer/peertest"
)

// otherUser sends a request as another user of this machine, and returns the answer.
func (h *harness) otherUser(method, path, key, body string) string {
	h.Helper()
	head := ""
	if key != "" {
		head = "Authorization: Bearer " + key + "\r\n"
	}
	text := fmt.Sprintf("%s %s HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\nContent-Length: %d\r\n%s\r\n%s", method, path, len(body), head, body)
	return peertest.Speak(h, peertest.OtherUser, strings.TrimPrefix(h.url, "http://"), text, 5*time.Second)
}

// Another user of this machine needs a code or a key. It gets the rights of the code, and cannot
// read requests of others.
func TestOtherLocalUserNeedsCode(t *testing.T) {
	h := startHarness(t, httpapi.Config{})
	asker := h.register("asker", "")
	h.want(h.do("POST", root+"/requests", asker, `{"intent":"what is on my desk?","requires":["take-photo"]}`), 201, "")
	register := func(id, more string) string {
		return h.otherUser("POST", root+"/register", "", `{"executor_id":"`+id+`"`+more+`}`)
	}
	if got := register("stranger", `,"capabilities":["take-photo"]`); !strings.Contains(got, " 403 ") || !strings.Contains(got, "as another user") {
		t.Fatalf("without a code: %s", got)
	}
	if len(h.x.Executors()) != 0 || h.keys.Has("stranger") {
		t.Error("the stranger is registered")
	}
	if got := h.otherUser("POST", root+"/register", h.op, `{"executor_id":"ours"}`); !strings.Contains(got, " 201 ") {
		t.Errorf("with an operator's key: %s", got)
	}

	// A code for any name grants only the role requester.
	code, _, err := h.keys.NewCode("", time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	if got := register("stranger", `,"capabilities":["take-photo"],"enrol":"`+code+`"`); !strings.Contains(got, " 403 ") || !strings.Contains(got, "be no executor") {
		t.Fatalf("as an executor, with a code that grants none: %s", got)
	}
	got := register("stranger", `,"enrol":"`+code+`"`) // the code is still good
	if !strings.Contains(got, " 201 ") {
		t.Fatal(got)
	}
	key := "mess_home_" + strings.Split(strings.Split(got, "mess_home_")[1], `"`)[0]
	for _, to := range []string{"/requests", "/events?as=executor&wait=1ms"} {
		if got := h.otherUser("GET", root+to, key, ""); strings.Contains(got, "desk") {
			t.Errorf("%s: it reads what others ask for: %s", to, got)
		}
	}
	if got := h.otherUser("POST", root+"/mess", key, `[{"config":{"executor":{"id":"stranger","capabilities":["take-photo"]}}}]`); !strings.Contains(got, " 403 ") {
		t.Errorf("it makes itself an executor: %s", got)
	}
}

// An executor may register only the capabilities of its code, at enrollment and later, and gets no
// other offers.
func TestCodeListsItsRights(t *testing.T) {
	h := startHarness(t, httpapi.Config{})
	r := h.do("POST", root+"/codes", h.op, `{"actor":"garage","capabilities":["open-door"]}`)
	if h.want(r, 201, ""); !strings.Contains(r.body, `"capabilities":["open-door"]`) || !strings.Contains(r.body, `"roles":["executor","requester"]`) {
		t.Fatalf("it does not state it: %s", r.body)
	}
	code := r.field("enrol")
	asker := h.register("asker", "")
	h.want(h.do("POST", root+"/requests", asker, `{"intent":"what is on my desk?","requires":["take-photo"]}`), 201, "")
	h.want(h.do("POST", root+"/register", "", `{"executor_id":"garage","capabilities":["open-door","take-photo"],"enrol":"`+code+`"}`, away...), 403, "")
	r = h.do("POST", root+"/register", "", `{"executor_id":"garage","capabilities":["open-door"],"enrol":"`+code+`"}`, away...)
	h.want(r, 201, "")
	key := r.field("api_key")
	more := `[{"config":{"executor":{"id":"garage","capabilities":["open-door","take-photo"]}}}]`
	h.want(h.do("POST", root+"/mess", key, more), 403, "")
	h.want(h.do("PATCH", root+"/executors/garage", key, `{"capabilities":["take-photo"]}`), 403, "")
	if got := h.do("GET", root+"/requests", key, ""); strings.Contains(got.body, "desk") {
		t.Errorf("it reads what others ask for: %s", got.body)
	}
	// A new key of the same executor has the same grant.
	r = h.do("POST", root+"/keys/garage/rotate", h.op, `{}`)
	h.want(r, 201, "")
	h.want(h.do("POST", root+"/mess", r.field("api_key"), more), 403, "")
	for _, body := range []string{`{"roles":["operator"]}`, `{"roles":["observer"]}`, `{"capabilities":[]}`, `{"capabilities":["a b"]}`, `{"roles":["requester"],"capabilities":["x"]}`, `{"capabilities":"x"}`} {
		h.want(h.do("POST", root+"/codes", h.op, body), 400, "")
	}
	if k, err := keys.Open(h.dir, "home"); err != nil || len(k.Granted("garage")) != 1 {
		t.Errorf("after a restart: %v", err)
	}
}
