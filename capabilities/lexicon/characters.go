package lexicon

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// FirstSign returns the first character of a text that is neither part of a word nor
// punctuation, and the word that it stands in; "" if there is none. A cross, a tilde or a
// minus may turn an order into its opposite.
func FirstSign(text string) (char, word string) {
	text = strings.ToValidUTF8(text, string(utf8.RuneError))
	var before rune // 0 at the start
	afterWord := false
	for i, r := range text {
		if !bare(before, r, text[i+utf8.RuneLen(r):], afterWord) {
			return string(r), wordAround(text, i)
		}
		afterWord = afterWord || IsWord(r)
		before = r
	}
	return "", ""
}

// bare reports whether r has no meaning between before and rest. afterWord is true if a word
// precedes it.
func bare(before, r rune, rest string, afterWord bool) bool {
	after, _ := utf8.DecodeRuneInString(rest)
	switch {
	case isStruck(r):
		return false
	case unicode.Is(unicode.M, r):
		return IsWord(before)
	case IsWord(r), unicode.IsSpace(r), strings.ContainsRune(`?？؟¿⁇⁈⁉‽"“”„«»;()'’‘ʼ…:`+"`", r):
		return true
	}
	switch r {
	case '.': // ".5" is not "5"
		return !unicode.IsDigit(after) || IsWord(before)
	case ',': // "1,5" is not "1 5"
		return !unicode.IsDigit(after) || !unicode.IsDigit(before)
	case '-', '‐', '‑', '–', '—': // neither a minus nor "5-10"
		after, _ = utf8.DecodeRuneInString(strings.TrimLeft(rest, " "))
		return !unicode.IsDigit(after) || unicode.IsLetter(before)
	case '%': // "50%" and "50 %", but not "a%b"
		return (unicode.IsDigit(before) || afterWord && unicode.IsSpace(before)) && (rest == "" || !IsWord(after))
	case '°': // "45°" and "45 °", but not "°45"
		return (unicode.IsDigit(before) || afterWord && unicode.IsSpace(before)) && !unicode.IsDigit(after)
	case '&': // "kitchen & hall"
		return afterWord && unicode.IsSpace(before) && rest != "" && strings.TrimSpace(rest[:1]) == ""
	case '_':
		return IsWord(before) && IsWord(after)
	case '!':
		ends := IsWord(before) || before != 0 && strings.ContainsRune(`!?.…"”»)'’`, before)
		return ends && !IsWord(after) || afterWord && strings.Trim(rest, " !?.…\"”»)'’\t\r\n") == ""
	}
	return false
}

// IsWord reports whether r is part of a word: a letter, a digit or a mark.
func IsWord(r rune) bool {
	return r == utf8.RuneError || unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.Is(unicode.M, r)
}

// isStruck reports whether r is drawn through or around the letter before it.
func isStruck(r rune) bool {
	return r >= 0x0334 && r <= 0x0338 || unicode.In(r, unicode.Me) || r >= 0x20D2 && r <= 0x20F0
}

// kindSigns are faces and gestures of courtesy. They have no meaning next to an order, but may
// have one in an answer.
const kindSigns = "☺♥❤✨🎉👋👌👍💡💪😀😁😃😄😆😉😊😋😍😎😘🙂🙏🤗🥰"

// RemoveKindSigns returns the text without the faces and gestures of kindSigns.
func RemoveKindSigns(text string) string {
	smiled := false
	return strings.Map(func(r rune) rune {
		smiled = strings.ContainsRune(kindSigns, r) || smiled && (r == 0xFE0F || r >= 0x1F3FB && r <= 0x1F3FF)
		if smiled {
			return -1
		}
		return r
	}, text)
}

// wordAround returns the word of text around byte i.
func wordAround(text string, i int) string {
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

// Quotation marks that open and close, in addition to the plain ones, which do both.
const (
	opening = "\"'“„«‘`"
	closing = "\"'”“»’`"
)

// Quotations returns the parts of a text in quotation marks, also one that does not end.
// An apostrophe within or behind a word opens none.
func Quotations(text string) []string {
	if !strings.ContainsAny(text, opening) {
		return nil
	}
	var list []string
	from := -1 // behind the mark that is open
	before := ' '
	for i, r := range text {
		switch {
		case from < 0 && strings.ContainsRune(opening, r) && !IsWord(before):
			from = i + len(string(r))
		case from >= 0 && i >= from && strings.ContainsRune(closing, r) && !wordAt(text, i+len(string(r))):
			list, from = append(list, text[from:i]), -1
		}
		before = r
	}
	if from >= 0 {
		list = append(list, text[from:])
	}
	return list
}

// wordAt reports whether a word goes on at byte i.
func wordAt(text string, i int) bool {
	for _, r := range text[i:] {
		return IsWord(r)
	}
	return false
}
