package mcp_test

import (
	"context"
	"encoding/json"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/messkit/messkit/exchange/channel/mcp"
)

// FuzzTools: any input to any tool gives a readable result without data, and the session goes
// on.
func FuzzTools(f *testing.F) {
	tools := mcp.Tools()
	for i := range tools {
		for _, s := range []string{
			`{}`, `{"ref":"last"}`, `{"intent":"hang","context":[{"image":"data:image/png;base64,AAAA"}]}`, `{"message":"query: {type: executors}"}`,
			`{"ref":"nowhere","timeout_seconds":1,"image_max_bytes":1024}`, `{"ref":"last","confirm":true}`, `{"message":{"config":{"stop":{"why":"data:,x"}}}}`,
			`{"tag":"data:a/b,c"}`, `{"ref":"data:image/png;base64,AAAA"}`,
		} {
			f.Add(i, []byte(s))
		}
	}
	g := newHarnessWithoutExecutor(f).overStdio(model)
	f.Fuzz(func(t *testing.T, tool int, raw []byte) {
		if !json.Valid(raw) {
			return // the client would not send it
		}
		name := tools[(tool%len(tools)+len(tools))%len(tools)].Name
		ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond) // a wait is longer
		defer cancel()
		res, err := g.CallTool(ctx, &sdk.CallToolParams{Name: name, Arguments: json.RawMessage(raw)})
		if ctx.Err() != nil {
			return
		}
		if err != nil {
			t.Fatalf("%s %s: %v", name, raw, err)
		}
		all, err := json.Marshal(res)
		if err != nil || dataPattern.Match(all) || len(res.Content) == 0 {
			t.Errorf("%s %s: %s, %v", name, raw, all, err)
		}
	})
}
