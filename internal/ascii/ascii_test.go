package ascii_test

import (
	"regexp"
	"strings"
	"testing"

	"github.com/messkit/messkit/internal/ascii"
)

// Regular expressions for names, texts and digits, to compare with the functions.
var (
	name   = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._@+-]{0,7}$`)
	text   = regexp.MustCompile(`^[A-Za-z0-9._@+-]{1,8}$`)
	digits = regexp.MustCompile(`^[0-9]{3,6}$`)
)

const also = "._@+-"

func FuzzNames(f *testing.F) {
	for c := range 256 {
		f.Add(string([]byte{byte(c)}))
		f.Add(string([]byte{'a', byte(c)}))
		f.Add("12" + string([]byte{byte(c)}))
	}
	for n := range 10 {
		f.Add(strings.Repeat("7", n))
		f.Add(strings.Repeat("Z", n) + "\n")
	}
	f.Add("é")
	f.Fuzz(func(t *testing.T, s string) {
		for what, is := range map[string][2]bool{
			"Name":   {ascii.Name(s, 8, also), name.MatchString(s)},
			"Text":   {ascii.Text(s, 8, also), text.MatchString(s)},
			"Digits": {ascii.Digits(s, 3, 6), digits.MatchString(s)},
		} {
			if is[0] != is[1] {
				t.Errorf("%s(%q) = %t, want %t", what, s, is[0], is[1])
			}
		}
	})
}
