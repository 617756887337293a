package cleantext_test

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/messkit/messkit/internal/cleantext"
	"github.com/messkit/messkit/internal/strictyaml"
)

func TestLine(t *testing.T) {
	for in, want := range map[string]string{
		"plain":                                              "plain",
		"\x1b[2Jgone\u009b1m":                                " [2Jgone 1m",
		"a\r\nb\tc\x00\x7f":                                  "a  b c  ",
		"\u202egpj.exe\u2066":                                " gpj.exe ",
		"a\u2028b\u200fc\u061cd":                             "a b c d",
		"pay\u200bpal\u2060\ufeff\u00ad\u180e":               "paypal",
		"tag\U000e0041\U000e0042\U000e007f!":                 "tag!",
		"hidden\ufe01\ufe02\U000e0100\U000e01ef":             "hidden",
		"\u115f\u1160\u3164\uffa0\u034f\u17b4\u2065":         "",
		"a\u200db\u200cc\u200d":                              "abc",
		"\ufff9x\ufffa\ufffb\U0001d173":                      "x",
		"\U0001f3f4\U000e0067\U000e0062\U000e0078\U000e007f": "\U0001f3f4",
		"❤\ufe0f\ufe0f\ufe0e":                                "❤\ufe0f",
		"👩\u200d\u200d\u200d🍳":                               "👩\u200d🍳",
		"\x9b is no letter":                                  "\ufffd is no letter",
		"Küche 🍳 冷蔵庫 e\u0301":                                "Küche 🍳 冷蔵庫 e\u0301",
		"👩\u200d🍳 ❤\ufe0f\u200d🔥 🧑🏽\u200d🚒 1\ufe0f\u20e3 ☎\ufe0e":          "👩\u200d🍳 ❤\ufe0f\u200d🔥 🧑🏽\u200d🚒 1\ufe0f\u20e3 ☎\ufe0e",
		"🏴\U000e0067\U000e0062\U000e0065\U000e006e\U000e0067\U000e007f 🇩🇪": "🏴\U000e0067\U000e0062\U000e0065\U000e006e\U000e0067\U000e007f 🇩🇪",
		"می\u200cخواهم":                "می\u200cخواهم",
		"مرحبا שלום ١٢":                "مرحبا שלום ١٢",
		"\u0600١٢":                     "\u0600١٢", // an Arabic number sign is visible
		"क\u094d\u200dष ന\u0d4d\u200d": "क\u094d\u200dष ന\u0d4d\u200d",
		"葛\U000e0100飾区":                "葛\U000e0100飾区",
	} {
		if got := cleantext.Line(in); got != want {
			t.Errorf("Line(%+q) = %+q, want %+q", in, got, want)
		}
	}
	if got := cleantext.Text("a\x1b\r\n\tb\u2029"); got != "a  \n\tb " {
		t.Errorf("%q", got)
	}
}

func TestEscapesKeepValues(t *testing.T) {
	const text = "a\x1b\u009b\u202e\u200b\U000e0041\ufeff\ufe01x 👩\u200d🍳 \U0001f3f4"
	doc, err := json.Marshal(map[string]string{text: text})
	if err != nil {
		t.Fatal(err)
	}
	safe, back := cleantext.EscapeJSON(doc), map[string]string{}
	if err := json.Unmarshal(safe, &back); err != nil || back[text] != text || !cleantext.IsClean(string(safe)) {
		t.Errorf("%v %+q", err, safe)
	}
	if !strings.Contains(string(safe), `\u202e`) || !strings.Contains(string(safe), `\udb40\udc41`) {
		t.Errorf("%s", safe)
	}
}

// hidden reports whether a character is invisible, so that Text must remove it unless a script or
// emoji uses it.
func hidden(r rune) bool {
	return unicode.In(r, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp, unicode.Bidi_Control, unicode.Variation_Selector, unicode.Other_Default_Ignorable_Code_Point) &&
		!unicode.Is(unicode.Prepended_Concatenation_Mark, r)
}

func TestHiddenCharactersAreRemoved(t *testing.T) {
	n := 0
	for r := rune(0); r <= unicode.MaxRune; r++ {
		if !hidden(r) || r == '\n' || r == '\t' {
			continue
		}
		n++
		for _, around := range []string{"ab", "a ", " b", "  "} {
			s := around[:1] + string(r) + around[1:]
			if got := cleantext.Text(s); strings.ContainsRune(got, r) || cleantext.IsClean(s) {
				t.Fatalf("%+q gives %+q", s, got)
			}
		}
	}
	if n < 4000 {
		t.Errorf("only %d characters were tried", n)
	}
}

func FuzzCleanText(f *testing.F) {
	for _, s := range []string{"a\x1b]52;c;x\x07", "👩\u200d\u200b🍳", "\u202e\u009d\U000e0041", "می\u200c\u200cخ", "\x00\xff", "no", "a: \ufe01"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		once := cleantext.Text(s)
		if !utf8.ValidString(once) || cleantext.Text(once) != once || !cleantext.IsClean(once) {
			t.Fatalf("Text(%+q) = %+q is not clean", s, once)
		}
		if line := cleantext.Line(s); strings.ContainsFunc(line, unicode.IsControl) || cleantext.Line(line) != line {
			t.Fatalf("Line(%+q) = %+q", s, line)
		}
		before := rune(0)
		for _, r := range once {
			if hidden(r) && hidden(before) && r < 0xe0000 && before != '\n' && before != '\t' && r != '\n' && r != '\t' && (before != '\ufe0f' || r != '\u200d') && before < 0xfe00 {
				t.Fatalf("Text(%+q) = %+q has two hidden characters side by side", s, once)
			}
			before = r
		}
		v := &strictyaml.Value{Kind: strictyaml.Map}
		v.Add("k"+s, strictyaml.Str(s))
		text, err := strictyaml.YAML(v)
		if err != nil {
			t.Fatal(err)
		}
		for _, safe := range [][]byte{cleantext.EscapeYAML(text), cleantext.EscapeJSON(strictyaml.JSON(v))} {
			docs, err := strictyaml.Parse(safe, strictyaml.Limits{})
			if err != nil {
				continue // the parser refuses some characters, escaped or not
			}
			plain, err := strictyaml.Parse(text, strictyaml.Limits{})
			if err != nil || len(docs) != 1 || string(strictyaml.JSON(docs[0])) != string(strictyaml.JSON(plain[0])) || !cleantext.IsClean(string(safe)) {
				t.Fatalf("%v: %q and %q", err, safe, text)
			}
		}
	})
}
