package otlp

import (
	"strings"
	"testing"
)

// No answer of a collector makes the exporter fail.
func FuzzRejected(f *testing.F) {
	for _, data := range []string{`{"partialSuccess":{"rejectedSpans":"3"}}`, `{"partialSuccess":{"rejectedSpans":3}}`, `{}`, `null`, `{"partialSuccess":{"rejectedSpans":-1}}`} {
		f.Add([]byte(data))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		if n := rejected(data); n > 0 && !strings.Contains(strings.ToLower(string(data)), "rejectedspans") {
			t.Errorf("%q: %d", data, n)
		}
	})
}

// Headers have names, for any text.
func FuzzHeaders(f *testing.F) {
	for _, text := range []string{"a=b,c=d%20e", "=x", ",,", "a", "a=%zz"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		for name := range Headers(func(string) string { return text }) {
			if name == "" || strings.Contains(name, ",") {
				t.Errorf("%q: a header %q", text, name)
			}
		}
	})
}
