package top

import (
	"strings"
	"testing"
)

func TestParseRefusesOtherText(t *testing.T) {
	for _, text := range []string{"<html>", "{", "name", "name{", `name{a="b`, `name{a="b"}`, `name{a} 1`, "name x", "name 1 2 3", strings.Repeat("x", maxLine+1)} {
		if s, err := parse(strings.NewReader(text)); err == nil {
			t.Errorf("%.20q gives %v", text, s)
		}
	}
}

// FuzzParse checks that no text crashes the parser, and that an accepted line is read as the same one
// when it follows another.
func FuzzParse(f *testing.F) {
	f.Add("# HELP a b\na_total 1\n")
	f.Add(`a{b="c\"\\\n",d="}"} 1.5e3 1234` + "\n")
	f.Add(`a_bucket{le="+Inf"} NaN`)
	f.Fuzz(func(t *testing.T, text string) {
		s, err := parse(strings.NewReader(text))
		if err != nil {
			return
		}
		again, err := parse(strings.NewReader("other 1\n" + text))
		if err != nil {
			t.Fatalf("accepted alone, and then: %v", err)
		}
		for name, list := range s {
			want := len(list)
			if name == "other" {
				want++
			}
			if len(again[name]) != want {
				t.Errorf("%s has %d samples, and then %d", name, len(list), len(again[name]))
			}
		}
	})
}
