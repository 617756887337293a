package mess_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/messkit/messkit/mess"
)

// In JSON a long text in content becomes a file. Any other long text is an error, and so
// are too many short ones.
func TestLongTexts(t *testing.T) {
	long := strings.Repeat("a \"ü\" data:x;base64,\n", 5000)
	text, err := json.Marshal(long)
	if err != nil {
		t.Fatal(err)
	}
	short := strings.Repeat("x", 40<<10)
	for _, c := range []struct {
		form string
		kind string // type of the entry; "" for an error
	}{
		{`[{"request":{"intent":"read","context":[%s]}}]`, "file"},
		{`[{"request":{"intent":"read","context":%s}}]`, "file"},
		{`[{"response":{"re":"a","content":[{"text":%s}]}}]`, "file"},
		{`{"request":{"intent":"read","context":[` + `"` + short + `", %s]}}`, "file"},
		{`{"request":{"intent":"read","context":["` + short + `","` + short + `", %s]}}`, ""},
		{`[{"request":{"intent":%s}}]`, ""},
		{`[{"request":{"intent":"read","odd":{"a":[%s]}}}]`, ""},
		{`[{"request":{"intent":"read","context":[{"json":{"a":%s}}]}}]`, ""},
		{`[{"request":{"intent":"read",%s:1}}]`, ""},
	} {
		m, err := mess.ParseValidJSON(fmt.Appendf(nil, c.form, text))
		if c.kind == "" {
			if err == nil || !strings.Contains(err.Error(), "too many") {
				t.Errorf("%.60s: %v", c.form, err)
			}
			continue
		}
		if err != nil {
			t.Errorf("%.60s: %v", c.form, err)
			continue
		}
		var entries []mess.Entry
		switch i := m.Items[0].(type) {
		case *mess.Request:
			entries = i.Context
		case *mess.Response:
			entries = i.Content
		}
		last := entries[len(entries)-1]
		f, ok := last.Media()
		mime, data, isData := mess.ParseDataURI(f.URI)
		if last.Type != c.kind || !ok || !isData || string(data) != long || mime != "text/plain;charset=utf-8" || f.Name != "text.txt" {
			t.Errorf("%.60s: %s %v %s, %d bytes", c.form, last.Type, ok, mime, len(data))
		}
	}
}

// The result of any JSON text contains no long text.
func FuzzLongTexts(f *testing.F) {
	f.Add("context", "a\"\\", uint16(1))
	f.Add("content", "data:a/b;base64,", uint16(9999))
	f.Add("odd", "ü\n", uint16(40000))
	f.Fuzz(func(t *testing.T, key, unit string, times uint16) {
		value := strings.Repeat(unit, min(int(times), (1<<20)/max(1, len(unit))))
		text, err := json.Marshal([]any{map[string]any{"request": map[string]any{"intent": "x", key: []any{value}}}})
		if err != nil {
			t.Fatal(err)
		}
		m, err := mess.ParseJSON(text)
		if err != nil {
			return
		}
		if again, err := mess.ParseJSON(m.ListJSON()); err != nil || string(again.ListJSON()) != string(m.ListJSON()) {
			t.Errorf("the message differs after a round trip: %v", err)
		}
	})
}
