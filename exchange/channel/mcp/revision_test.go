package mcp_test

import (
	"net/http"
	"os"
	"strings"
	"testing"

	"github.com/messkit/messkit/exchange/channel/mcp"
)

// The server rejects a client with an MCP revision that it does not support over HTTP, with the
// error code of MCP. The operators can see the rejection, and the documentation names the
// supported revisions.
func TestRejectedRevisionIsExplained(t *testing.T) {
	w := newHarness(t).overHTTP(anyHTTP, mcp.DefaultConfig())
	key := w.key(model)
	post := func(revision string) (int, string) {
		body := `{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"` + revision + `","io.modelcontextprotocol/clientInfo":{"name":"x","version":"1"},"io.modelcontextprotocol/clientCapabilities":{}}}}`
		if revision <= mcp.NewestOverHTTP {
			body = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"` + revision + `","capabilities":{},"clientInfo":{"name":"x","version":"1"}}}`
		}
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, w.url+"/mcp", strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("Accept", "application/json, text/event-stream")
		r.Header.Set("Mcp-Protocol-Version", revision)
		res, err := (&http.Client{Transport: bearerTransport{key, w.line}}).Do(r)
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		var text strings.Builder
		_ = res.Write(&text)
		return res.StatusCode, text.String()
	}
	if code, text := post(mcp.NewestOverHTTP); code != http.StatusOK || !strings.Contains(text, `"protocolVersion":"`+mcp.NewestOverHTTP+`"`) {
		t.Errorf("%d %s", code, text)
	}
	if list := w.server.DeniedRequests(); len(list) != 0 {
		t.Errorf("%+v", list)
	}
	for range 2 {
		if code, text := post(mcp.NewestOverStdio()); code != http.StatusBadRequest || !strings.Contains(text, "-32022") {
			t.Errorf("%d %s", code, text)
		}
	}
	list := w.server.DeniedRequests()
	if len(list) != 1 || list[0].Count != 2 || list[0].Actor != model.ID || !strings.Contains(list[0].Error, mcp.NewestOverStdio()) || !strings.Contains(list[0].Error, mcp.NewestOverHTTP) {
		t.Errorf("%+v", list)
	}
	page, err := os.ReadFile("../../../docs/how-to/mcp.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{"up to " + mcp.NewestOverStdio(), "newest is " + mcp.NewestOverHTTP} {
		if !strings.Contains(string(page), text) {
			t.Errorf("docs/how-to/mcp.md does not contain %q", text)
		}
	}
}
