package mesh_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/messkit/messkit/exchange/channel/mesh/peers"
	"github.com/messkit/messkit/exchange/channel/mesh/wire"
)

func TestResponseKeepsSession(t *testing.T) {
	h := newFixture(t, nil)
	e := h.request("msg_1", "count")
	e.ReplyContext = json.RawMessage(`{"sessionKey":"agent:main:slack:C1"}`)
	e.ReplyTo.URL = h.hub.URL + "/hooks/agent"
	if code, v := h.raw("/hooks/agent", tokenHere, string(wire.Hook{Message: e.Text(), SessionKey: "slack:C1"}.Text())); code != 202 {
		t.Fatal(code, v)
	}
	r, hook := h.hub.wait(t, responseTo("msg_1"))
	if path, _ := h.hub.place(0); path != "/hooks/agent" || hook.SessionKey != "slack:C1" || string(r.ReplyContext) != string(e.ReplyContext) {
		t.Errorf("%v %q %s", path, hook.SessionKey, r.ReplyContext)
	}
	if files, _ := filepath.Glob(filepath.Join(h.dir, "sessions", "*.json")); len(files) != 1 {
		t.Errorf("%v", files)
	}
}

// A session key is valid if the whole key has a prefix from the configuration. If the configuration
// allows none, no key is valid.
func TestSessionKeyNeedsConfiguredPrefix(t *testing.T) {
	documented := []string{"hook:", "agent:main:"} // as in the example of the specification
	for _, one := range []struct {
		prefixes       []string
		off            bool
		beside, within string
		code           int
		session        string // session of the message
	}{
		{prefixes: documented, beside: "slack:C1", code: 400},
		{prefixes: documented, within: "slack:C1", code: 400},
		{prefixes: documented, beside: "hook:a", within: "slack:C1", code: 400},
		{prefixes: documented, beside: "slack:C1", within: "agent:other:slack:C1", code: 400},
		{prefixes: documented, beside: "slack:C2", within: "agent:main:slack:C1", code: 400},
		{prefixes: documented, beside: "slack:C1", within: "agent:main:slack:C1", code: 202, session: "agent:main:slack:C1"},
		{prefixes: documented, beside: "agent:main:x", code: 202, session: "agent:main:x"},
		{prefixes: documented, beside: "hook:a", code: 202, session: "hook:a"},
		{prefixes: documented, code: 202},
		{beside: "anything", code: 202, session: "anything"},
		{off: true, beside: "hook:a", code: 400},
		{off: true, within: "hook:a", code: 202},
	} {
		h := newFixture(t, func(c *peers.Config) { c.SessionPrefixes, c.AllowSessionKey = one.prefixes, !one.off })
		e := envelope(wire.Notification, "msg_1", "hello")
		if one.within != "" {
			e.ReplyContext = json.RawMessage(`{"sessionKey":"` + one.within + `"}`)
		}
		if code, v := h.raw("/hooks/agent", tokenHere, string(wire.Hook{Message: e.Text(), SessionKey: one.beside}.Text())); code != one.code {
			t.Errorf("%+v: %d %v", one, code, v)
		}
		files, _ := filepath.Glob(filepath.Join(h.dir, "sessions", "*.json"))
		text := ""
		for _, f := range files {
			data, _ := os.ReadFile(f)
			text += string(data)
		}
		if (one.session == "") != (len(files) == 0) || !strings.Contains(text, `"`+one.session+`"`) && one.session != "" {
			t.Errorf("%+v: %s", one, text)
		}
	}
}
