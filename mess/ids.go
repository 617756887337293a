package mess

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/messkit/messkit/internal/ascii"
)

// ValidID reports whether s can be the id of an actor, an exchange or an executor: letters,
// digits and . _ : @ -, beginning with a letter or digit, at most 128 characters. Owners
// choose ids, which become part of file names, URLs and topics, so spaces, slashes and
// wildcards are invalid.
func ValidID(s string) bool { return ascii.Name(s, 128, "._:@-") && !strings.Contains(s, "..") }

// maxRef is the size limit for a reference in bytes.
const maxRef = 256

// ValidRef reports whether s can refer to a thread, a message or a request. It does not
// check whether that exists.
func ValidRef(s string) bool {
	return s != "" && len(s) <= maxRef && utf8.ValidString(s) && strings.TrimSpace(s) == s &&
		!strings.ContainsFunc(s, func(r rune) bool { return r < ' ' || r == 0x7f || r == '\u2028' || r == '\u2029' })
}

// ParseCode parses a status code, in the spelling of the specification or of other
// implementations (in-progress, needs-input, rejected).
func ParseCode(s string) (Code, error) {
	c := Code(strings.ReplaceAll(s, "-", "_"))
	switch {
	case c == "rejected":
		return Declined, nil
	case c == "canceled":
		return Cancelled, nil
	case c == Received || c.Known():
		return c, nil
	}
	return "", fmt.Errorf("%.60q is not a status; known: %s", s, join(codes()))
}
