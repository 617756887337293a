package mcp_test

import (
	"encoding/json"
	"strconv"
	"strings"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// hidden are characters that a model may not get from others: controls, those
// that change the direction of writing, those of no width, and tags.
const hidden = "\u0085\u009b\u007f\u061c\u200b\u200e\u200f\u2028\u2029\u202a\u202b\u202c\u202d\u202e\u2060\u2061\u2062\u2063\u2064" +
	"\u2066\u2067\u2068\u2069\u206a\u206f\ufeff\u00ad\u034f\u115f\u3164\uffa0\u180e\ufff9\ufffb\ufe01\U000e0001\U000e0041\U000e007f\U000e0100\U0001d173"

// kept has words in which such characters have a meaning.
const kept = "👩\u200d🍳 می\u200cخواهم ❤\ufe0f"

// quoteHidden is a text with all of them, in YAML.
func quoteHidden(s string) string { return strconv.QuoteToASCII(s + hidden) }

func TestInvisibleTextIsRemoved(t *testing.T) {
	h := newHarnessWithoutExecutor(t)
	g := h.overStdio(model)
	clean := func(where string, v any) {
		t.Helper()
		text, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		var back any // the values that a client has
		if err := json.Unmarshal(text, &back); err != nil {
			t.Fatal(err)
		}
		var walk func(any)
		walk = func(v any) {
			switch v := v.(type) {
			case string:
				for _, r := range hidden {
					if strings.ContainsRune(strings.ReplaceAll(v, kept, ""), r) {
						t.Errorf("%s: %U in %+q", where, r, v)
					}
				}
			case []any:
				for _, one := range v {
					walk(one)
				}
			case map[string]any:
				for key, one := range v {
					walk(key)
					walk(one)
				}
			}
		}
		walk(back)
	}
	h.sendFromExecutor(`config: {executor: {id: kitchen-pi, versions: [1.1.0], capabilities: [{take-photo: {description: ` + quoteHidden("b") + `}}]}}`)
	clean("capabilities", g.mustCall("mess_capabilities", nil).CallToolResult)
	ref := g.request("look" + hidden + kept)
	h.sendToThread(ref, `[{status: {code: claimed}}]`)
	h.sendToThread(ref, `[{status: {code: needs_input, message: `+quoteHidden("m")+`, questions: [{field: area, question: `+quoteHidden("q")+`, options: [`+quoteHidden("o")+`, no]}]}}]`)
	call := &sdk.CallToolParams{Name: "mess_wait", Arguments: map[string]any{"ref": ref}}
	call.SetProgressToken("x")
	res, err := g.CallTool(t.Context(), call)
	if err != nil || !strings.Contains(res.Content[0].(*sdk.TextContent).Text, kept) {
		t.Errorf("%v %+v", err, res)
	}
	clean("a question", res)
	clean("an answer", g.call("mess_answer", map[string]any{"ref": ref, "answers": map[string]any{"area": "no"}}).CallToolResult)
	h.sendToThread(ref, `[{status: {code: needs_confirmation, action: `+quoteHidden("a")+`, consequences: `+quoteHidden("c")+`, action_hash: abc}}]`)
	clean("a confirmation", g.mustCall("mess_status", map[string]any{"ref": ref}).CallToolResult)
	clean("open requests", g.mustCall("mess_status", nil).CallToolResult)
	clean("a cancel", g.call("mess_cancel", map[string]any{"ref": ref, "reason": "r" + hidden}).CallToolResult)
	clean("an error", g.call("mess_status", map[string]any{"ref": "x" + hidden}).CallToolResult)
	for _, part := range []string{"", "/envelope", "/latest"} {
		r, err := g.ReadResource(t.Context(), &sdk.ReadResourceParams{URI: "thread://" + ref + part})
		if err != nil {
			t.Fatal(err)
		}
		clean("resource "+part, r)
	}
	list, err := g.ListResources(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	clean("resources", list)
	g.mu.Lock()
	defer g.mu.Unlock()
	clean("progress", g.steps)
	if len(g.steps) == 0 {
		t.Error("no progress notification")
	}
}
