package httpapi_test

import (
	"bytes"
	"compress/gzip"
	"io"
	"strconv"
	"strings"
	"testing"

	"github.com/messkit/messkit/exchange/channel/httpapi"
)

func TestMessagesInBothFormats(t *testing.T) {
	h := startHarness(t, httpapi.Config{})
	agent := h.register("agent", "")
	h.want(h.do("POST", root+"/mess", agent, `{"MESS":[{"request":{"id":"a","intent":"look"}}]}`), 200, "")
	r := h.do("POST", root+"/mess", agent, "MESS:\n  - v: 1.1.0\n  - request:\n      id: b\n      intent: look\n", "Content-Type", "application/yaml")
	if r.code != 200 || !strings.Contains(r.body, "re: b") || !strings.HasPrefix(r.head.Get("Content-Type"), "application/yaml") {
		t.Errorf("YAML: %d %s", r.code, r.body)
	}
	// The same request again is the same thread.
	if a, b := h.create(agent, `{"id":"c","intent":"look"}`), h.create(agent, `{"id":"c","intent":"look"}`); a != b {
		t.Errorf("%s and %s", a, b)
	}
	h.want(h.do("POST", root+"/requests", agent, `{"id":"c","intent":"look away"}`), 409, "")
}

func TestKnownETagIs304(t *testing.T) {
	h := startHarness(t, httpapi.Config{})
	agent := h.register("agent", "")
	path := root + "/requests/" + h.create(agent, `{"intent":"look `+strings.Repeat("x", 2000)+`"}`)
	r := h.do("GET", path, agent, "", "Accept-Encoding", "identity")
	tag := r.head.Get("ETag")
	if !strings.HasPrefix(tag, `W/"`) || r.head.Get("Cache-Control") != "no-store" || r.head.Get("Vary") != "*" {
		t.Errorf("headers: %v", r.head)
	}
	if n := r.head.Get("Content-Length"); n != strconv.Itoa(len(r.body)+len("\n")) {
		t.Errorf("%d bytes, and the answer said %q", len(r.body)+1, n)
	}
	if head := h.do("HEAD", path, agent, "", "Accept-Encoding", "identity"); head.body != "" || head.head.Get("Content-Length") != r.head.Get("Content-Length") {
		t.Errorf("HEAD: %v %s", head.head, head.body)
	}
	if again := h.do("GET", path, agent, "", "If-None-Match", `"x", `+tag); again.code != 304 || again.body != "" {
		t.Errorf("got %d %s", again.code, again.body)
	}
	z := h.do("GET", path, agent, "", "Accept-Encoding", "gzip")
	zr, err := gzip.NewReader(bytes.NewReader([]byte(z.body)))
	if err != nil {
		t.Fatal(err)
	}
	data, err := io.ReadAll(zr)
	if err != nil || strings.TrimSpace(string(data)) != r.body {
		t.Errorf("compressed: %v %s", err, data)
	}
}

func TestGzipOnRequest(t *testing.T) {
	h := startHarness(t, httpapi.Config{})
	path := root + "/requests/" + h.create(h.op, `{"intent":"`+strings.Repeat("x", 2000)+`"}`)
	for header, want := range map[string]string{
		"identity": "", "gzip": "gzip", "br, GZIP;q=0.5": "gzip", "gzip;q=0": "", "gzip; q=0.0, br": "", "xgzip": "",
	} {
		if r := h.do("GET", path, h.op, "", "Accept-Encoding", header); r.head.Get("Content-Encoding") != want {
			t.Errorf("%s: got %q, want %q", header, r.head.Get("Content-Encoding"), want)
		}
	}
	if r := h.do("GET", "/health", "", "", "Accept-Encoding", "gzip"); r.head.Get("Content-Encoding") != "" {
		t.Error("a few bytes are packed, which makes them more")
	}
}

// HEAD is GET without a body.
func TestHead(t *testing.T) {
	h := startHarness(t, httpapi.Config{})
	ref := h.create(h.op, `{"intent":"look"}`)
	for _, path := range []string{"/health", root + "/requests", root + "/requests/" + ref, root + "/requests/" + ref + "/thread", root + "/executors", root + "/capabilities"} {
		get, head := h.do("GET", path, h.op, ""), h.do("HEAD", path, h.op, "")
		if head.code != 200 || head.body != "" || head.head.Get("ETag") != get.head.Get("ETag") || head.head.Get("ETag") == "" {
			t.Errorf("%s: %d %q %v", path, head.code, head.body, head.head)
		}
	}
	h.want(h.do("HEAD", root+"/requests", "", ""), 401, "")
}
