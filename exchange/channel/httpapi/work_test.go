package httpapi_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/messkit/messkit/exchange"
	"github.com/messkit/messkit/exchange/channel/httpapi"
	"github.com/messkit/messkit/exchange/store/files"
	"github.com/messkit/messkit/exchange/store/memory"
)

// BenchmarkHandler measures the cost of one request without a network, which other processes do
// not change.
func BenchmarkHandler(b *testing.B) {
	b.Run("store=memory", func(b *testing.B) { handle(b, memory.New()) })
	b.Run("store=disk", func(b *testing.B) {
		store, err := files.Open(b.TempDir())
		if err != nil {
			b.Fatal(err)
		}
		handle(b, store)
	})
}

func handle(b *testing.B, store exchange.Store) {
	most := httpapi.Rate{Requests: 1e6, Burst: 1e6, Connections: 1e6}
	h := newHarnessOver(b, httpapi.Config{Rate: most}, exchange.DefaultConfig(), store).serve()
	agent, phone := h.register("agent", ""), h.register("phone", `"x"`)
	handler := h.server.Handler()
	do := func(b *testing.B, method, path, key, body string) string {
		r, err := http.NewRequest(method, "http://localhost"+path, strings.NewReader(body))
		if err != nil {
			b.Fatal(err)
		}
		r.Header.Set("Authorization", "Bearer "+key)
		w := &discardWriter{head: http.Header{}}
		handler.ServeHTTP(w, r)
		if w.code >= 300 {
			b.Fatalf("%d %s", w.code, w.text.String())
		}
		return w.text.String()
	}
	const ask = `{"intent":"What's in the fridge? Tell me what is missing for breakfast.","requires":["x"],"response_hint":["image"]}`
	ref := func(b *testing.B) string {
		return reply{body: do(b, "POST", root+"/requests", agent, ask)}.field("ref")
	}
	b.Run("create", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			do(b, "POST", root+"/requests", agent, ask)
		}
	})
	b.Run("claim", func(b *testing.B) {
		b.ReportAllocs()
		refs := make([]string, b.N)
		for i := range refs {
			refs[i] = ref(b)
		}
		b.ResetTimer()
		for i := range refs {
			do(b, "PATCH", root+"/requests/"+refs[i], phone, `{"status":"claimed"}`)
		}
	})
	b.Run("get", func(b *testing.B) {
		b.ReportAllocs()
		path := root + "/requests/" + ref(b)
		for b.Loop() {
			do(b, "GET", path, agent, "")
		}
	})
	b.Run("list50", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			do(b, "GET", root+"/requests?limit=50", h.op, "")
		}
	})
}

// discardWriter is a writer of an answer.
type discardWriter struct {
	head http.Header
	code int
	text strings.Builder
}

func (s *discardWriter) Header() http.Header         { return s.head }
func (s *discardWriter) WriteHeader(code int)        { s.code = code }
func (s *discardWriter) Write(p []byte) (int, error) { return s.text.Write(p) }
