package interpret

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/messkit/messkit/capabilities"
)

// sign is the first character of text that is neither of a word nor parts words
// or ends a sentence, with the word that it stands in; "" if there is none. A
// cross, a tilde or a minus may turn an order into its opposite.
func sign(text string) (char, word string) {
	text = strings.ToValidUTF8(text, string(utf8.RuneError))
	var before rune // 0 at the start
	said := false
	for i, r := range text {
		if !bare(before, r, text[i+utf8.RuneLen(r):], said) {
			return string(r), around(text, i)
		}
		said = said || isWord(r)
		before = r
	}
	return "", ""
}

// bare reports whether r, between what stands around it, says nothing beyond
// words. said: there was a word before it.
func bare(before, r rune, rest string, said bool) bool {
	after, _ := utf8.DecodeRuneInString(rest)
	switch {
	case struck(r):
		return false
	case unicode.Is(unicode.M, r):
		return isWord(before)
	case isWord(r), unicode.IsSpace(r), strings.ContainsRune(`?？؟¿⁇⁈⁉‽"“”„«»;()'’‘ʼ…:`+"`", r):
		return true
	}
	switch r {
	case '.': // ".5" is not "5"
		return !unicode.IsDigit(after) || isWord(before)
	case ',': // "1,5" is not "1 5"
		return !unicode.IsDigit(after) || !unicode.IsDigit(before)
	case '-', '‐', '‑', '–', '—': // neither a minus nor "5-10"
		after, _ = utf8.DecodeRuneInString(strings.TrimLeft(rest, " "))
		return !unicode.IsDigit(after) || unicode.IsLetter(before)
	case '%': // "50%" and "50 %", but not "a%b"
		return (unicode.IsDigit(before) || said && unicode.IsSpace(before)) && (rest == "" || !isWord(after))
	case '°': // "45°" and "45 °", but not "°45"
		return (unicode.IsDigit(before) || said && unicode.IsSpace(before)) && !unicode.IsDigit(after)
	case '&': // "kitchen & hall"
		return said && unicode.IsSpace(before) && rest != "" && strings.TrimSpace(rest[:1]) == ""
	case '_':
		return isWord(before) && isWord(after)
	case '!':
		ends := isWord(before) || before != 0 && strings.ContainsRune(`!?.…"”»)'’`, before)
		return ends && !isWord(after) || said && strings.Trim(rest, " !?.…\"”»)'’\t\r\n") == ""
	}
	return false
}

func isWord(r rune) bool {
	return r == utf8.RuneError || unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.Is(unicode.M, r)
}

// struck reports whether r is drawn through or around the letter before it.
func struck(r rune) bool {
	return r >= 0x0334 && r <= 0x0338 || unicode.In(r, unicode.Me) || r >= 0x20D2 && r <= 0x20F0
}

// kindly are faces and gestures of somebody who asks kindly, which say no more than that
// beside an order; and in an answer they may.
const kindly = "☺♥❤✨🎉👋👌👍💡💪😀😁😃😄😆😉😊😋😍😎😘🙂🙏🤗🥰"

// unsmiling is text without those, and without how they are drawn.
func unsmiling(text string) string {
	smiled := false
	return strings.Map(func(r rune) rune {
		smiled = strings.ContainsRune(kindly, r) || smiled && (r == 0xFE0F || r >= 0x1F3FB && r <= 0x1F3FF)
		if smiled {
			return -1
		}
		return r
	}, text)
}

// around is the word of text that byte i is in.
func around(text string, i int) string {
	from := strings.LastIndexFunc(text[:i], unicode.IsSpace) + 1
	word := text[from:]
	if n := strings.IndexFunc(text[i:], unicode.IsSpace); n >= 0 {
		word = text[from : i+n]
	}
	if len(word) > 60 {
		return ""
	}
	return strings.TrimFunc(word, unicode.IsSpace)
}

// sign is the first sign of text that is in no name of this home.
func (r *Interpreter) sign(text string) (char, word string) {
	if char, _ = sign(text); char == "" {
		return "", ""
	}
	text = strings.ToLower(text)
	for _, name := range r.names.signed {
		text = strings.ReplaceAll(text, name, "name")
	}
	return sign(text)
}

// signs refuses text with signs that nobody here can read.
func (x *request) signs() (capabilities.Outcome, bool) {
	char, word := x.r.sign(unsmiling(x.req.Intent))
	if char == "" {
		return capabilities.Outcome{}, false
	}
	x.explain.Leftover = []string{char}
	in := ""
	if word != "" && word != char {
		in = fmt.Sprintf(" in %q", word)
	}
	return x.refuse(fmt.Sprintf("not understood: %q%s; a sign may change what is meant, so say it in words", char, in), nil), true
}
