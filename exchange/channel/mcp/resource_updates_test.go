package mcp_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/messkit/messkit/exchange/channel/mcp"
	"github.com/messkit/messkit/mess"
)

// A client that follows a thread gets its changes, and new threads, over both transports.
func TestResourceUpdatesArrive(t *testing.T) {
	h := newHarness(t)
	for name, g := range map[string]*mcpClient{"stdio": h.overStdio(model), "http": h.overHTTP(anyHTTP, mcp.DefaultConfig()).withKey(model)} {
		ref := g.request("ask")
		g.waitUntil(func() bool { return g.listed > 0 })
		g.waitUntil(func() bool { return isListed(g, "thread://"+ref) })
		uris := []string{"thread://" + ref, "thread://" + ref + "/latest"}
		for _, uri := range uris {
			if err := g.Subscribe(t.Context(), &sdk.SubscribeParams{URI: uri}); err != nil {
				t.Fatalf("%s: %v", name, err)
			}
		}
		g.waitForEnd(ref, mess.NeedsInput)
		g.mustCall("mess_answer", map[string]any{"ref": ref, "answer": "sink"})
		for _, uri := range uris {
			g.waitUntil(func() bool { return slices.Contains(g.updated, uri) })
		}
		g.waitForEnd(ref, mess.Completed)
		for part, want := range map[string]string{"": "intent: ask", "/envelope": "status: completed", "/latest": "- done"} {
			read, err := g.ReadResource(t.Context(), &sdk.ReadResourceParams{URI: "thread://" + ref + part})
			if err != nil || !strings.Contains(read.Contents[0].Text, want) || read.Contents[0].MIMEType != "application/yaml" {
				t.Errorf("%s%s: %v", name, part, err)
			}
		}
	}
}

// isListed reports whether the list of resources has a URI. The caller holds g.mu.
func isListed(g *mcpClient, uri string) bool {
	g.mu.Unlock()
	defer g.mu.Lock()
	list, err := g.ListResources(context.Background(), nil)
	return err == nil && slices.ContainsFunc(list.Resources, func(r *sdk.Resource) bool { return r.URI == uri })
}

func TestResources(t *testing.T) {
	g := newHarness(t).overStdio(model)
	templates, err := g.ListResourceTemplates(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	var have []string
	for _, one := range templates.ResourceTemplates {
		have = append(have, one.URITemplate)
	}
	slices.Sort(have)
	want := []string{"content://{ref}/{attachment}", "content://{ref}/{message}/{attachment}", "thread://{ref}", "thread://{ref}/envelope", "thread://{ref}/latest"}
	if !slices.Equal(have, want) {
		t.Errorf("%v", have)
	}
	help, err := g.ReadResource(t.Context(), &sdk.ReadResourceParams{URI: "mess://help"})
	if err != nil || !strings.Contains(help.Contents[0].Text, "Only the executor reports success") {
		t.Errorf("%v", err)
	}
	ref := g.request("photo")
	g.waitForEnd(ref, mess.Completed)
	for _, uri := range []string{
		"thread://nowhere", "thread://" + ref + "/", "thread://" + ref + "/other", "thread://../x", "thread://", "thread://" + ref + "%2Fenvelope",
		"content://" + ref + "/att-003-image-other.jpg", "content://" + ref + "/x", "content://" + ref + "/claim-001/att-003-image-fridge.jpg", "content://" + ref + "/..%2f..%2fkeys.json",
		"content://nowhere/att-003-image-fridge.jpg", "mess://other", "file:///etc/passwd", "data:image/png;base64,AAAA", "http://127.0.0.1/", "",
	} {
		if _, err := g.ReadResource(t.Context(), &sdk.ReadResourceParams{URI: uri}); err == nil {
			t.Errorf("%s can be read", uri)
		}
	}
	if read, err := g.ReadResource(t.Context(), &sdk.ReadResourceParams{URI: "content://" + ref + "/response-003/att-003-image-fridge.jpg"}); err != nil || len(read.Contents[0].Blob) == 0 {
		t.Errorf("%v", err)
	}
}

// A wait that times out returns the ref. A cancelled wait does not change the request.
func TestWait(t *testing.T) {
	h := newHarness(t)
	for name, g := range map[string]*mcpClient{"stdio": h.overStdio(model), "http": h.overHTTP(anyHTTP, mcp.DefaultConfig()).withKey(model)} {
		ref := g.request("hang")
		over := g.mustCall("mess_wait", map[string]any{"ref": ref, "timeout_seconds": 1})
		if over.v["timed_out"] != true || over.field("ref") != ref || over.field("status") != "claimed" {
			t.Errorf("%s: %s", name, over.text)
		}
		ctx, cancel := context.WithCancel(t.Context())
		p := &sdk.CallToolParams{Name: "mess_wait", Arguments: map[string]any{"ref": ref}}
		p.SetProgressToken("wait-" + name)
		done := make(chan error, 1)
		go func() {
			_, err := g.CallTool(ctx, p)
			done <- err
		}()
		g.waitUntil(func() bool { return len(g.steps) > 0 }) // it waits
		cancel()
		if err := <-done; !errors.Is(err, context.Canceled) {
			t.Errorf("%s: %v", name, err)
		}
		if s := g.mustCall("mess_status", map[string]any{"ref": ref}).field("status"); s != "claimed" {
			t.Errorf("%s: a wait that was cancelled makes it %s", name, s)
		}
	}
}

// Progress grows with each notification.
func TestProgress(t *testing.T) {
	g := newHarness(t).overStdio(model)
	ref := g.request("ask")
	g.waitForEnd(ref, mess.NeedsInput)
	p := &sdk.CallToolParams{Name: "mess_wait", Arguments: map[string]any{"ref": ref}}
	p.SetProgressToken(7)
	g.mustCall("mess_answer", map[string]any{"ref": ref, "answer": "sink"})
	if _, err := g.CallTool(t.Context(), p); err != nil {
		t.Fatal(err)
	}
	var steps []*sdk.ProgressNotificationParams
	g.waitUntil(func() bool {
		steps = slices.Clone(g.steps)
		return len(steps) > 0 && steps[len(steps)-1].Message != ""
	})
	for i, s := range steps {
		if i > 0 && s.Progress <= steps[i-1].Progress {
			t.Errorf("%v after %v", s.Progress, steps[i-1].Progress)
		}
	}
}

// The server ends with its input.
func TestServeEndsWithInput(t *testing.T) {
	h := newHarness(t)
	g := h.overStdio(model)
	if err := g.Close(); err != nil {
		t.Error(err)
	}
	ended := make(chan struct{})
	go func() { g.ended.Wait(); close(ended) }()
	select {
	case <-ended:
	case <-time.After(time.Minute):
		t.Fatal("the updates continue without a client")
	}
}

// A wait ends when the client disconnects and when the program ends.
func TestEndOfInputEndsWaits(t *testing.T) {
	h := newHarness(t)
	waits := func(g *mcpClient) {
		p := &sdk.CallToolParams{Name: "mess_wait", Arguments: map[string]any{"ref": g.request("hang"), "timeout_seconds": 600}}
		p.SetProgressToken("x")
		go func() { _, _ = g.CallTool(context.Background(), p) }()
		g.waitUntil(func() bool { return len(g.steps) > 0 })
	}
	g := h.overStdio(model)
	waits(g)
	w := h.overHTTP(anyHTTP, mcp.DefaultConfig())
	waits(w.withKey(model))
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = g.toServer.Close()
		g.ended.Wait()
		w.stop()
	}()
	select {
	case <-ended:
	case <-time.After(time.Minute): // the waits are for ten
		t.Fatal("the waits are waited for")
	}
}
