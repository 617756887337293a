// Package cleantext makes text from other parties safe for people and models. It removes control
// characters, characters that change the direction of writing, and invisible characters. It knows
// Unicode, and neither formats nor protocols.
package cleantext

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"
)

// Line returns s as one line that is safe to show. Control characters, line ends, and characters
// that change the direction of writing become spaces. Line removes invisible characters: those of
// zero width, tags, and variation selectors or joiners that no script and no emoji uses.
func Line(s string) string { return clean(s, false) }

// Text is Line for text of several lines: it keeps line feeds and tabs.
func Text(s string) string { return clean(s, true) }

// IsClean reports whether Text changes nothing in s.
func IsClean(s string) bool {
	if isPlain(s) {
		return true
	}
	found := false
	scan(s, func(_ string, v treatment, r rune) { found = found || v != keep && !isBreak(r) })
	return !found
}

// EscapeJSON returns JSON with an escape for every character that Text would change. A reader of
// the JSON gets the same values. The escapes are valid in JSON strings, and in the quoted text of
// a log.
func EscapeJSON(doc []byte) []byte {
	return escape(doc, func(b []byte, r rune) []byte {
		if hi, lo := utf16.EncodeRune(r); hi != utf8.RuneError {
			return fmt.Appendf(b, `\u%04x\u%04x`, hi, lo)
		}
		return fmt.Appendf(b, `\u%04x`, r)
	})
}

// EscapeYAML is EscapeJSON for YAML with double quotes around text with such characters, as
// strictyaml writes it.
func EscapeYAML(doc []byte) []byte {
	return escape(doc, func(b []byte, r rune) []byte {
		if r > 0xffff {
			return fmt.Appendf(b, `\U%08X`, r)
		}
		return fmt.Appendf(b, `\u%04X`, r)
	})
}

func escape(doc []byte, write func([]byte, rune) []byte) []byte {
	text := string(doc)
	if isPlain(text) {
		return doc
	}
	out := make([]byte, 0, len(text)+64)
	scan(text, func(piece string, v treatment, r rune) {
		if v == keep || isBreak(r) {
			out = append(out, piece...)
			return
		}
		out = write(out, r)
	})
	return out
}

func clean(s string, breaks bool) string {
	if isPlain(s) {
		return s
	}
	var b strings.Builder
	b.Grow(len(s))
	scan(s, func(piece string, v treatment, r rune) {
		switch {
		case v == keep || breaks && isBreak(r):
			b.WriteString(piece)
		case v == space:
			b.WriteByte(' ')
		}
	})
	return strings.ToValidUTF8(b.String(), "\ufffd")
}

func isBreak(r rune) bool { return r == '\n' || r == '\t' }

// isPlain reports whether s is printable ASCII, as most text is.
func isPlain(s string) bool {
	for i := range len(s) {
		if s[i] < ' ' || s[i] > '~' {
			return false
		}
	}
	return true
}

// treatment is the treatment of a character.
type treatment int

const (
	keep   treatment = iota
	space            // becomes a space
	remove           // invisible
)

// scan calls each with every character of s, and with each flag as a whole.
func scan(s string, each func(piece string, v treatment, r rune)) {
	var before rune // the last character that stays
	for i := 0; i < len(s); {
		r, size := utf8.DecodeRuneInString(s[i:])
		if n := flagTags(before, s[i:]); n > 0 {
			each(s[i:i+n], keep, r)
			before, i = cancelTag, i+n
			continue
		}
		next, _ := utf8.DecodeRuneInString(s[i+size:])
		v := judge(before, r, next)
		each(s[i:i+size], v, r)
		switch v {
		case keep:
			before = r
		case space:
			before = ' '
		}
		i += size
	}
}

// judge returns the treatment of r between two characters.
func judge(before, r, next rune) treatment {
	switch {
	case r >= ' ' && r <= '~':
		return keep
	case unicode.Is(unicode.Cc, r), unicode.In(r, unicode.Zl, unicode.Zp, unicode.Bidi_Control):
		return space
	case r == nonJoiner, r == joiner:
		if joined(before, r, next) {
			return keep
		}
		return remove
	case unicode.Is(unicode.Variation_Selector, r):
		if selects(before, r, next) {
			return keep
		}
		return remove
	case unicode.Is(unicode.Cf, r) && !unicode.Is(unicode.Prepended_Concatenation_Mark, r),
		unicode.Is(unicode.Other_Default_Ignorable_Code_Point, r):
		return remove
	}
	return keep
}

const (
	nonJoiner = '\u200c'
	joiner    = '\u200d'
	blackFlag = '\U0001f3f4'
	cancelTag = '\U000e007f'
	keycap    = '\u20e3'
)

// joined reports whether a joiner has a meaning at its place. It has one between the letters of a
// script that has them (RFC 5892, appendix A), or between the parts of an emoji (UTS #51, section
// 1.4).
func joined(before, r, next rune) bool {
	if joins(before) && (joins(next) || unicode.Is(unicode.M, before)) {
		return true
	}
	return r == joiner && (isPictogram(before) || unicode.Is(unicode.Variation_Selector, before)) && isPictogram(next)
}

// joining are the scripts in which a joiner changes the shape of letters.
var joining = []*unicode.RangeTable{
	unicode.Arabic, unicode.Syriac, unicode.Mongolian, unicode.Nko,
	unicode.Devanagari, unicode.Bengali, unicode.Gurmukhi, unicode.Gujarati, unicode.Oriya, unicode.Tamil,
	unicode.Telugu, unicode.Kannada, unicode.Malayalam, unicode.Sinhala, unicode.Khmer, unicode.Myanmar,
}

func joins(r rune) bool {
	vowel := r >= 0x064b && r <= 0x065f || r == 0x0670 // Arabic ones, which several scripts share
	return vowel || unicode.In(r, joining...) && unicode.In(r, unicode.L, unicode.M)
}

// isPictogram reports whether r can be a part of an emoji.
func isPictogram(r rune) bool { return r > '~' && unicode.In(r, unicode.So, unicode.Sm, unicode.Sk) }

// selects reports whether a variation selector has a base. A second one has none:
// a row of them could hide a text.
func selects(base, r, next rune) bool {
	switch {
	case unicode.Is(unicode.Mongolian, r):
		return unicode.Is(unicode.Mongolian, base)
	case unicode.Is(unicode.Han, base):
		return true
	case r > 0xffff:
		return false
	case next == keycap:
		return base == '#' || base == '*' || base >= '0' && base <= '9'
	}
	return base > '~' && unicode.In(base, unicode.S, unicode.P)
}

// flags are the regions whose flags are sequences of tags (UTS #51, ED-14a).
var flags = []string{"gbeng", "gbsct", "gbwls"}

// flagTags returns the length of the tags of a flag at the start of s, in bytes. It returns 0 if
// before is no black flag.
func flagTags(before rune, s string) int {
	if before != blackFlag {
		return 0
	}
	for _, region := range flags {
		tags := strings.Map(func(r rune) rune { return 0xe0000 + r }, region) + string(cancelTag)
		if strings.HasPrefix(s, tags) {
			return len(tags)
		}
	}
	return 0
}
