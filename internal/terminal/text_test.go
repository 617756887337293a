package terminal_test

import (
	"bytes"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/messkit/messkit/internal/terminal"
)

func TestForeignTextIsClean(t *testing.T) {
	for in, want := range map[string]string{
		"plain":                   "plain",
		"\x1b[2Jgone":             " [2Jgone",
		"a\r\nb\tc\x00":           "a  b c ",
		"\u009b31m\u007f":         " 31m ",
		"\u202Egpj.exe\u2066":     " gpj.exe ",
		"a\u2028b\u200fc":         "a b c",
		"Küche 🍳 冷蔵庫":             "Küche 🍳 冷蔵庫",
		"\x9b31m is no letter":    "\ufffd31m is no letter",
		"👩\u200d🍳 stays together": "👩\u200d🍳 stays together",
	} {
		if got := terminal.Clean(in); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
	if got := terminal.CleanLines("a\x1b\nb\n\n"); got != "a \nb" {
		t.Errorf("%q", got)
	}
}

func TestWidths(t *testing.T) {
	for text, want := range map[string]int{"": 0, "abc": 3, "é": 1, "e\u0301": 1, "冷蔵庫": 6, "✅": 2, "🍳": 2, "█░": 2} {
		if got := terminal.Width(text); got != want {
			t.Errorf("%q: %d, want %d", text, got, want)
		}
	}
	for _, c := range []struct {
		in   string
		n    int
		want string
	}{{"abc", 3, "abc"}, {"abcd", 3, "ab…"}, {"冷蔵庫", 4, "冷…"}, {"abc", 1, "…"}, {"abc", 0, ""}} {
		if got := terminal.Cut(c.in, c.n); got != c.want {
			t.Errorf("Cut(%q, %d) = %q, want %q", c.in, c.n, got, c.want)
		}
	}
	for part, want := range map[float64]string{-1: "░░░░", 0: "░░░░", 0.5: "██░░", 1: "████", 7: "████"} {
		if got := terminal.Bar(part, 4); got != want {
			t.Errorf("Bar(%v) = %q, want %q", part, got, want)
		}
	}
}

func FuzzCleanText(f *testing.F) {
	f.Add("a\x1b]52;c;x\x07", 3)
	f.Add("\u202e\u009d", 0)
	f.Fuzz(func(t *testing.T, s string, n int) {
		clean := terminal.Clean(s)
		if !utf8.ValidString(clean) || strings.ContainsFunc(clean, unicode.IsControl) {
			t.Errorf("%q", clean)
		}
		n = max(0, min(n, 1000))
		if cut := terminal.Cut(clean, n); terminal.Width(cut) > n {
			t.Errorf("%q takes %d columns of %d", cut, terminal.Width(cut), n)
		}
		var b bytes.Buffer
		if k, err := (terminal.Cleaner{To: &b}).Write([]byte(s)); k != len(s) || err != nil {
			t.Error(k, err)
		}
		if strings.ContainsFunc(b.String(), func(r rune) bool { return unicode.IsControl(r) && r != '\n' && r != '\t' }) {
			t.Errorf("%q", b.String())
		}
	})
}
