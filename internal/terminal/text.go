// Package terminal writes to terminals: text from other programs without control characters,
// lines that it redraws in place, and images if the terminal can show them. It does not know the
// content.
package terminal

import (
	"io"
	"strings"
	"unicode"

	"github.com/messkit/messkit/internal/cleantext"
)

// Clean makes text from other programs safe for the terminal: see cleantext.Line.
func Clean(s string) string { return cleantext.Line(s) }

// CleanLines is Clean for each line of s, without empty ones at the end.
func CleanLines(s string) string {
	lines := strings.Split(strings.TrimRight(s, "\n"), "\n")
	for i := range lines {
		lines[i] = Clean(lines[i])
	}
	return strings.Join(lines, "\n")
}

// Cleaner is a writer that removes invisible characters, and control characters but line ends and
// tabs: see cleantext.Text.
type Cleaner struct{ To io.Writer }

func (c Cleaner) Write(p []byte) (int, error) {
	if _, err := io.WriteString(c.To, cleantext.Text(string(p))); err != nil {
		return 0, err
	}
	return len(p), nil
}

// Width returns the number of columns of s, which must be clean.
func Width(s string) int {
	n := 0
	for _, r := range s {
		n += columns(r)
	}
	return n
}

// wide lists the characters of two columns: East Asian ones (UAX #11: W and F) and pictures.
var wide = &unicode.RangeTable{
	R16: []unicode.Range16{
		{0x1100, 0x115f, 1},
		{0x231a, 0x231b, 1},
		{0x23e9, 0x23ec, 1},
		{0x25fd, 0x25fe, 1},
		{0x2614, 0x2615, 1},
		{0x2648, 0x2653, 1},
		{0x26aa, 0x26ab, 1},
		{0x26bd, 0x26be, 1},
		{0x26c4, 0x26c5, 1},
		{0x2705, 0x2705, 1},
		{0x274c, 0x274c, 1},
		{0x2753, 0x2755, 1},
		{0x2757, 0x2757, 1},
		{0x2795, 0x2797, 1},
		{0x2b1b, 0x2b1c, 1},
		{0x2b50, 0x2b50, 1},
		{0x2e80, 0x303e, 1},
		{0x3041, 0xa4cf, 1},
		{0xa960, 0xa97c, 1},
		{0xac00, 0xd7a3, 1},
		{0xf900, 0xfaff, 1},
		{0xfe30, 0xfe6f, 1},
		{0xff00, 0xff60, 1},
		{0xffe0, 0xffe6, 1},
	},
	R32: []unicode.Range32{{0x1f300, 0x1f64f, 1}, {0x1f680, 0x1f6ff, 1}, {0x1f7e0, 0x1f7eb, 1}, {0x1f900, 0x1faff, 1}, {0x20000, 0x3fffd, 1}},
}

func columns(r rune) int {
	switch {
	case r < 0x300:
		return 1
	case unicode.In(r, unicode.Mn, unicode.Me, unicode.Cf):
		return 0
	case unicode.Is(wide, r):
		return 2
	}
	return 1
}

// Cut returns the part of s that fits into width columns. If that is not all of s, its last
// character is an ellipsis.
func Cut(s string, width int) string {
	if Width(s) <= width {
		return s
	}
	used := 0
	for i, r := range s {
		if used += columns(r); used > width-1 {
			if width < 1 {
				return ""
			}
			return s[:i] + "…"
		}
	}
	return s
}

// Bar returns a progress bar of width columns. done is the full part, from 0 to 1.
func Bar(done float64, width int) string {
	full := min(max(int(done*float64(width)+0.5), 0), width)
	return strings.Repeat("█", full) + strings.Repeat("░", width-full)
}
