package mcp

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"net/url"
	"strings"
	"testing"

	"github.com/messkit/messkit/mess"
	"github.com/messkit/messkit/mess/messeaf"
)

// FuzzData: no text keeps a data URI, and each link leads to its data.
func FuzzData(f *testing.F) {
	for _, s := range []string{
		"", "hello", "data:image/png;base64,AAAA", "data:,", "data:,x,y", "DATA:text/plain;charset=utf-8,a%20b", "dadata:,ta:,x", "x data:image/jpeg;base64,/9j/4A== y",
		"data:image/png;base64,AA=A", "data:image/svg+xml;utf8,<svg/>", "see data: foo, bar", "![](data:text/plain;base64,aGk=)", "data:data:,a,b", "data:a/b;base64,%41%41%41%41",
		"data:text/html;base64;base64,QQ", "data:\u212amage/png,x",
	} {
		f.Add(s)
	}
	at := messagePlace{thread: "2026-11-21-001", message: "response-002", serial: 2}
	f.Fuzz(func(t *testing.T, s string) {
		clean, linked := withoutData(s), at.replaceData(s)
		for _, out := range []string{clean, linked} {
			if dataURI.MatchString(out) || strings.Contains(strings.ToLower(out), ";base64,") && !strings.Contains(strings.ToLower(s), ";base64,") {
				t.Errorf("%q becomes %q", s, out)
			}
		}
		if withoutData(clean) != clean {
			t.Errorf("%q is not done at once", s)
		}
		b, ok := parseData(s)
		if !ok && (b.mime != "" || b.data != nil) {
			t.Errorf("%q is no data, and has %v", s, b)
		}
		if !ok || dataURI.FindString(s) != s {
			return
		}
		if linked != at.uri(b.name(2)) {
			t.Errorf("%q becomes %q", s, linked)
		}
		if _, _, name, err := messeaf.ParseResource(linked); err != nil || name != b.name(2) {
			t.Errorf("%q: %v", linked, err)
		}
		found, ok := at.findInline(mess.Message{Items: []mess.Item{&mess.Response{Notes: "see " + s}}}.Document(), b.name(2))
		if !ok || !bytes.Equal(found.data, b.data) {
			t.Errorf("%q is not found again", s)
		}
	})
}

// parseData decodes data URIs as in RFC 2397.
func TestParseData(t *testing.T) {
	for _, c := range []struct {
		uri, mime, data string
		ok              bool
	}{
		{"data:,A%20brief%20note", "", "A brief note", true},
		{"data:text/plain;charset=iso-8859-7,%be", "text/plain;charset=iso-8859-7", "\xbe", true},
		{"data:image/png;base64," + base64.StdEncoding.EncodeToString([]byte("png!")), "image/png", "png!", true},
		{"DATA:image/png;BASE64," + url.PathEscape(base64.StdEncoding.EncodeToString([]byte("++//"))), "image/png", "++//", true},
		{"data:image/png;base64,****", "", "", false},
		{"data:image/png", "", "", false},
		{"http://x/,y", "", "", false},
		{"", "", "", false},
	} {
		if b, ok := parseData(c.uri); ok != c.ok || b.mime != c.mime && c.ok || string(b.data) != c.data && c.ok {
			t.Errorf("%s: %+v, %v", c.uri, b, ok)
		}
	}
}

// FuzzArguments: an error comes without arguments, and finish reports the rest.
func FuzzArguments(f *testing.F) {
	for _, s := range []string{
		`{}`, `null`, ``, `[]`, `{"ref":"a"}`, `{"ref":null,"confirm":true}`, `{"confirm":"yes"}`, `{"a":1,"a":2}`, `{"message":"MESS: []"}`, `{"message":[{"request":{"intent":"x"}}]}`,
		`{"timeout_seconds":1e400}`, `{"message":"` + "```yaml\\nrequest: {intent: a}\\n```" + `"}`, `{"message":"\ud800"}`, `{"image_max_px":16.5}`, "{\"message\":\"request:\\n  intent: a\"}",
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		if m, err := parseMessage(json.RawMessage(raw)); err != nil && m.Items != nil || err == nil && m.Validate() != nil {
			t.Errorf("message: %v, %v", m, err)
		}
		a, err := parseArguments(json.RawMessage(raw))
		if err != nil {
			if a != nil {
				t.Errorf("arguments: %v, %v", a, err)
			}
			return
		}
		n := len(a.left)
		show, r, word := a.imageOptions(), (*mess.Reply)(nil), ""
		if r, word = replyOf(a); r.Confirm != nil && word != "" && a.finish() == nil {
			t.Errorf("%s is both a confirmation and a text", raw)
		}
		if patience := a.seconds("timeout_seconds", waitTime, 1e9, maxWaitTime); patience < 1e9 || patience > maxWaitTime {
			t.Errorf("%s waits %v", raw, patience)
		}
		if show.limits.MaxBytes < 0 || show.limits.MaxPx < 0 {
			t.Errorf("%s shows %v", raw, show)
		}
		if len(a.left) > n || len(a.left) > 0 && a.finish() == nil {
			t.Errorf("%s: unused arguments %v are not reported", raw, a.left)
		}
	})
}

// FuzzThreadURI: every accepted URI names a valid thread and an existing part.
func FuzzThreadURI(f *testing.F) {
	for _, s := range []string{"thread://2026-11-21-001", "thread://a/envelope", "thread://a/latest", "thread://a/", "thread://../x", "thread://a/b/c", "content://a/b", ""} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, uri string) {
		ref, part, ok := parseThread(uri)
		if !ok {
			return
		}
		again := threadURI(ref)
		if part != wholeThread {
			again += "/" + part
		}
		if again != uri || strings.ContainsAny(ref, "/\\") || strings.Contains(ref, "..") {
			t.Errorf("%q: %q %q", uri, ref, part)
		}
	})
}
