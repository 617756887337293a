package mcp_test

import (
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/messkit/messkit/exchange"
	"github.com/messkit/messkit/exchange/channel/httpapi"
	"github.com/messkit/messkit/exchange/channel/mcp"
)

const initialize = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"x","version":"1"}}}`

// send sends one request as a client of MCP does, but for the headers.
func (w *httpServer) send(method, body string, headers ...string) (int, string, http.Header) {
	w.Helper()
	req, err := http.NewRequestWithContext(w.Context(), method, w.url+"/mcp", strings.NewReader(body))
	if err != nil {
		w.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json, text/event-stream")
	for i := 0; i < len(headers); i += 2 {
		if headers[i] == "Host" {
			req.Host = headers[i+1]
			continue
		}
		req.Header.Set(headers[i], headers[i+1])
	}
	res, err := w.line.RoundTrip(req)
	if err != nil {
		w.Fatal(err)
	}
	defer res.Body.Close()
	data, err := io.ReadAll(res.Body)
	if err != nil {
		w.Fatal(err)
	}
	return res.StatusCode, string(data), res.Header
}

func (w *httpServer) want(code int, words, method, body string, headers ...string) http.Header {
	w.Helper()
	got, text, h := w.send(method, body, headers...)
	if got != code || !strings.Contains(text, words) {
		w.Errorf("%s %.80s %q: %d %.300s, want %d %q", method, body, headers, got, text, code, words)
	}
	return h
}

// The server checks DNS rebinding, foreign pages and keys before anything else.
func TestUnauthenticatedRequestIsRejected(t *testing.T) {
	w := newHarness(t).overHTTP(httpapi.Config{Hosts: []string{"home.example"}, Origins: []string{"https://console.example"}}, mcp.DefaultConfig())
	auth := []string{"Authorization", "Bearer " + w.key(model)}
	with := func(more ...string) []string { return append(auth[:2:2], more...) }
	w.want(200, `"serverInfo"`, "POST", initialize, auth...)
	w.want(401, "a key is missing", "POST", initialize)
	w.want(401, "does not know the key", "POST", initialize, "Authorization", "Bearer mess_home_00000000000000000000000000000000")
	w.want(403, "evil.example is unknown", "POST", initialize, with("Host", "evil.example")...)
	w.want(200, `"serverInfo"`, "POST", initialize, with("Host", "home.example")...)
	w.want(403, "https://evil.example may not", "POST", initialize, with("Origin", "https://evil.example")...)
	w.want(403, "null may not", "POST", initialize, with("Origin", "null")...)
	w.want(403, "may not", "GET", "", with("Origin", "https://evil.example")...)
	w.want(200, `"serverInfo"`, "POST", initialize, with("Origin", w.url)...)
	w.want(200, `"serverInfo"`, "POST", initialize, with("Origin", "https://console.example")...)
}

// The server rejects a session id with another key than that of its initialize request.
func TestSessionsBelongToTheirKeys(t *testing.T) {
	w := newHarness(t).overHTTP(anyHTTP, mcp.DefaultConfig())
	mine, theirs := "Bearer "+w.key(model), "Bearer "+w.key(watcher)
	const list = `{"jsonrpc":"2.0","id":2,"method":"tools/list"}`
	id := w.want(200, "", "POST", initialize, "Authorization", mine).Get("Mcp-Session-Id")
	if len(id) < 20 {
		t.Fatalf("session %q can be guessed", id)
	}
	w.want(202, "", "POST", `{"jsonrpc":"2.0","method":"notifications/initialized"}`, "Authorization", mine, "Mcp-Session-Id", id)
	w.want(200, "mess_request", "POST", list, "Authorization", mine, "Mcp-Session-Id", id)
	w.want(404, "session", "POST", list, "Authorization", theirs, "Mcp-Session-Id", id)
	w.want(404, "session", "DELETE", "", "Authorization", theirs, "Mcp-Session-Id", id)
	w.want(404, "session", "GET", "", "Authorization", theirs, "Mcp-Session-Id", id)
	w.want(404, "session", "POST", list, "Authorization", mine, "Mcp-Session-Id", "guessed")
	if err := w.keys.SetRoles(model.ID, exchange.Observer); err != nil {
		t.Fatal(err)
	}
	w.want(404, "session", "POST", list, "Authorization", mine, "Mcp-Session-Id", id)
	if err := w.keys.SetRoles(model.ID, model.Roles); err != nil {
		t.Fatal(err)
	}
	w.want(200, "mess_request", "POST", list, "Authorization", mine, "Mcp-Session-Id", id)
	w.want(204, "", "DELETE", "", "Authorization", mine, "Mcp-Session-Id", id)
	w.want(404, "session", "POST", list, "Authorization", mine, "Mcp-Session-Id", id)
	if _, err := w.keys.Revoke(model.ID); err != nil {
		t.Fatal(err)
	}
	w.want(401, "does not know the key", "POST", initialize, "Authorization", mine)
}

func TestSessionLimitOfKey(t *testing.T) {
	w := newHarness(t).overHTTP(anyHTTP, mcp.Config{Enabled: true, Sessions: 2, Idle: time.Minute})
	auth := []string{"Authorization", "Bearer " + w.key(model)}
	id := w.want(200, "", "POST", initialize, auth...).Get("Mcp-Session-Id")
	w.want(200, "", "POST", initialize, auth...)
	if h := w.want(429, "2 sessions are in use", "POST", initialize, auth...); h.Get("Retry-After") == "" {
		t.Error("no Retry-After")
	}
	w.want(200, "", "POST", initialize, "Authorization", "Bearer "+w.key(watcher))
	w.want(204, "", "DELETE", "", auth[0], auth[1], "Mcp-Session-Id", id)
	w.want(200, "", "POST", initialize, auth...)
}

// An invalid protocol message is an error, and the server continues.
func TestInvalidProtocolMessageIsRejected(t *testing.T) {
	w := newHarness(t).overHTTP(httpapi.Config{MaxBody: 1 << 20}, mcp.DefaultConfig())
	auth := []string{"Authorization", "Bearer " + w.key(model)}
	for _, c := range []struct {
		method, body string
		codes        []int
	}{
		{"POST", "", []int{400}},
		{"POST", "{", []int{400}},
		{"POST", `{"jsonrpc":"1.0"}`, []int{400}},
		{"POST", `[]`, []int{400}},
		{"POST", `"hello"`, []int{400}},
		{"POST", strings.Repeat("[", 100_000), []int{400}},
		{"POST", `{"jsonrpc":"2.0","id":1,"method":"` + strings.Repeat("x", 2<<20) + `"}`, []int{413}},
		{"GET", "", []int{400}},
		{"DELETE", "", []int{400}},
		{"PUT", "", []int{405}},
		{"PATCH", initialize, []int{405}},
	} {
		got, text, head := w.send(c.method, c.body, auth...)
		var v struct{ Error string }
		if err := json.Unmarshal([]byte(text), &v); err != nil || v.Error == "" || !strings.HasPrefix(head.Get("Content-Type"), "application/json") {
			t.Errorf("%s %.60q: %.200s is no error in JSON", c.method, c.body, text)
		}
		if got != c.codes[0] || strings.Contains(text, "goroutine") {
			t.Errorf("%s %.60q: %d %.200s, want %v", c.method, c.body, got, text, c.codes)
		}
	}
	w.want(400, "protocol version", "POST", initialize, auth[0], auth[1], "Mcp-Protocol-Version", "1999-01-01")
	w.want(200, `"serverInfo"`, "POST", initialize, auth...)
}

// A revoked key ends the stream and the wait that go on under it.
func TestRevokedKeyEndsCalls(t *testing.T) {
	w := newHarness(t).overHTTP(anyHTTP, mcp.DefaultConfig())
	g := w.withKey(model)
	p := &sdk.CallToolParams{Name: "mess_wait", Arguments: map[string]any{"ref": g.request("hang")}}
	p.SetProgressToken("x")
	done := make(chan error, 1)
	go func() {
		_, err := g.CallTool(t.Context(), p)
		done <- err
	}()
	g.waitUntil(func() bool { return len(g.steps) > 0 })
	if _, err := w.keys.Revoke(model.ID); err != nil {
		t.Fatal(err)
	}
	select {
	case err := <-done:
		if err == nil {
			t.Error("the wait has ended well")
		}
	case <-time.After(time.Minute):
		t.Error("the wait goes on under a key that is revoked")
	}
}

func TestConfig(t *testing.T) {
	if err := mcp.DefaultConfig().Validate(); err != nil || mcp.DefaultConfig().Enabled {
		t.Errorf("%v", err)
	}
	for _, c := range []mcp.Config{{Sessions: 0, Idle: time.Hour}, {Sessions: 1001, Idle: time.Hour}, {Sessions: 1, Idle: time.Second}} {
		if c.Validate() == nil {
			t.Errorf("%+v can be", c)
		}
	}
}
