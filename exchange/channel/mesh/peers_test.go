package mesh_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/messkit/messkit/exchange/channel/mesh"
	"github.com/messkit/messkit/exchange/channel/mesh/peers"
	"github.com/messkit/messkit/exchange/channel/mesh/wire"
)

// register writes a registry with a modification time of its own, because two writes can have the
// same clock time.
func register(t *testing.T, name string, n int, agents map[string]map[string]any) {
	t.Helper()
	text, err := json.Marshal(map[string]any{"agents": agents})
	if err != nil {
		t.Fatal(err)
	}
	at := time.Now().Add(time.Duration(n-10) * time.Second)
	if err := os.WriteFile(name+".new", text, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Chtimes(name+".new", at, at); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(name+".new", name); err != nil {
		t.Fatal(err)
	}
}

// A change of the registry adds a peer, changes its token, and removes it. An invalid registry
// changes nothing.
func TestChangedRegistryIsReread(t *testing.T) {
	file := filepath.Join(t.TempDir(), "registry.json")
	register(t, file, 0, map[string]map[string]any{"gamma": {"ip": "127.0.0.1", "port": 1, "token": "x"}})
	h := newFixture(t, func(c *peers.Config) { c.Registry, c.Peers = file, nil })
	at, _ := url.Parse(h.hub.URL)
	hub := func(token string) map[string]any {
		return map[string]any{"ip": at.Hostname(), "port": json.Number(at.Port()), "token": token, "accept": "new-" + token, "accept_before": tokenHere}
	}
	send := func(n int, token string) int {
		text := wire.Hook{Message: envelope(wire.Notification, fmt.Sprint("msg_", n), "hello").Text()}.Text()
		code, _ := h.raw("/hooks/hub", token, string(text))
		return code
	}
	if code := send(0, tokenHere); code != http.StatusForbidden {
		t.Fatalf("a stranger is answered %d", code)
	}
	register(t, file, 1, map[string]map[string]any{"gamma": {"ip": "127.0.0.1", "port": 1, "token": "x"}, "hub": hub("first")})
	known := func() bool {
		for _, p := range h.report(mesh.Order{Do: "status"}).Status.Peers {
			if p.Name == "hub" {
				return true
			}
		}
		return false
	}
	h.until("the hub is known", known)
	if code := send(1, "new-first"); code != http.StatusAccepted {
		t.Errorf("answer to the new token is %d, want 202", code)
	}
	if code := send(2, tokenHere); code != http.StatusAccepted {
		t.Errorf("answer to the earlier token is %d, want 202", code)
	}
	token := func(want string) {
		t.Helper()
		h.until("the token "+want, func() bool {
			id := h.send(mesh.Sending{To: "hub", Type: wire.Notification, Body: "hello"})
			h.delivery(id, "hub")
			_, head := h.hub.place(len(h.hub.all()) - 1)
			return head.Get("Authorization") == "Bearer "+want
		})
	}
	token("first")
	register(t, file, 2, map[string]map[string]any{"hub": hub("second")})
	token("second")
	if code := send(3, "new-first"); code != http.StatusUnauthorized {
		t.Errorf("answer to an expired token is %d, want 401", code)
	}
	if err := os.WriteFile(file, []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	for range 20 { // some checks of the file
		if !known() {
			t.Fatal("a registry that cannot be read has changed the peers")
		}
		time.Sleep(2 * time.Millisecond)
	}
	if code := send(4, "new-second"); code != http.StatusAccepted {
		t.Errorf("after a registry that cannot be read: %d", code)
	}
	register(t, file, 3, map[string]map[string]any{"gamma": {"ip": "127.0.0.1", "port": 1, "token": "x"}})
	h.until("the hub is gone", func() bool { return !known() })
	if code := send(5, tokenHere); code != http.StatusForbidden {
		t.Errorf("a peer that has gone is answered %d", code)
	}
}

// The token of the agent rotates: old and new token are valid until a final rotation, also after a
// restart.
func TestTokenRotates(t *testing.T) {
	h := newFixture(t, func(c *peers.Config) { c.Token = "" })
	tokens := func() []string {
		data, err := os.ReadFile(filepath.Join(h.dir, "token"))
		if err != nil {
			t.Fatal(err)
		}
		return strings.Fields(string(data))
	}
	n := 0
	post := func(token string) int {
		n++
		code, _ := h.raw("/hooks/hub", token, string(wire.Hook{Message: envelope(wire.Notification, fmt.Sprint("msg_", n), "hello").Text()}.Text()))
		return code
	}
	was := tokens()[0]
	h.report(mesh.Order{Do: "rotate"})
	is := tokens()[0]
	if is == was || post(was) != http.StatusAccepted || post(is) != http.StatusAccepted {
		t.Error("both must count")
	}
	h.stop()
	h.open()
	if post(was) != http.StatusAccepted || post(is) != http.StatusAccepted {
		t.Error("both must count after a restart")
	}
	id := h.send(mesh.Sending{To: "hub", Type: wire.Request, Body: "how many?"})
	if e, _ := h.hub.wait(t, func(e wire.Envelope) bool { return e.ID == id }); e.ReplyTo == nil || e.ReplyTo.Token != is {
		t.Errorf("reply address of a request is %+v, want the new token", e.ReplyTo)
	}
	h.report(mesh.Order{Do: "rotate", Final: true})
	if post(was) != http.StatusUnauthorized || post(is) != http.StatusAccepted {
		t.Error("the new one alone must count")
	}
	configured := newFixture(t, nil)
	if code, v := configured.order(`{"do":"rotate"}`); code != http.StatusBadRequest || !strings.Contains(fmt.Sprint(v), "configuration") {
		t.Errorf("%d %v", code, v)
	}
}
