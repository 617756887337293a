package lexicon

import (
	"strings"
)

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
