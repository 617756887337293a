package interpret

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// token is one word of a request.
type token struct {
	text   string // lower case, as written
	folded string // without the ending of a plural
	pause  bool   // a comma, or the end of a sentence, stands before it
	noun   bool   // an article stands before it: "the vacuum"
	colon  bool   // the ":" of a time of the clock stands before it
}

// maxTokens bounds a request: the longest of 1,227 real sentences for a smart
// home has 29 words.
const maxTokens = 60

// maxText bounds the texts that are read at all, in bytes. 60 words are some
// 400.
const maxText = 2000

// possessive stands for the 's of "the kitchen's light". It is a token of its
// own, for "the light's on" is not "light on".
const possessive = "'s"

// oneWord reports whether text is a single word to split, and to tokens.
func oneWord(text string) bool {
	words := split(text)
	return len(words) == 1 && words[0] == text && !strings.Contains(text, "'")
}

// split cuts text into lower-case words. An apostrophe stays within a word, and
// a point within a number; hyphens and all other signs part words.
func split(text string) []string {
	text = lower(text)
	var kept []string
	parted(text, func(word string, _, _ bool) { kept = append(kept, word) })
	return kept
}

// lower is text in lower case, with one kind of apostrophe.
func lower(text string) string {
	return strings.Map(func(r rune) rune {
		switch r {
		case '’', '‘', 'ʼ', '`':
			return '\''
		}
		return unicode.ToLower(r)
	}, text)
}

// parted yields the words of text, which is in lower case, and whether a pause, or the ":"
// of "20:00", stands before each.
func parted(text string, yield func(word string, pause, colon bool)) {
	pause, clock := false, false
	for from := 0; from < len(text); {
		n := wordLen(text[from:])
		if w := strings.Trim(text[from:from+n], "'"); w != "" {
			yield(w, pause, clock)
			pause = false
		}
		from += n
		r, sign := utf8.DecodeRuneInString(text[from:])
		if word, ok := said[r]; ok {
			yield(word, pause, false)
			pause = false
		}
		clock = r == ':' && from > 0 && unicode.IsDigit(rune(text[from-1])) && from+1 < len(text) && unicode.IsDigit(rune(text[from+1])) // "20:00"
		pause = pause || strings.ContainsRune(",;.!:", r) && !clock
		from += sign
	}
}

// said are signs that stand for a word.
var said = map[rune]string{'%': "%", '°': "degrees", '&': "and"}

// wordLen is how many bytes of text are its first word, 0 if it begins with a
// sign.
func wordLen(text string) int {
	var before rune
	for i, r := range text {
		after, _ := utf8.DecodeRuneInString(text[i+utf8.RuneLen(r):])
		if r != '\'' && !isWord(r) && !(r == '.' && unicode.IsDigit(before) && unicode.IsDigit(after)) {
			return i
		}
		before = r
	}
	return len(text)
}

// tokens are the words of text with contractions written out.
func (w *words) tokens(text string) []token {
	var list []token
	parted(lower(text), func(one string, pause, colon bool) {
		from := len(list)
		if from > 0 && !pause && slices.Contains(w.lists.Leading, one) {
			list = append(list, token{text: one, folded: w.fold(one)})
		} else {
			list = w.appendTokens(list, one)
		}
		if from < len(list) {
			list[from].pause, list[from].colon = pause, colon
		}
	})
	return list
}

// appendTokens adds one word, which may be a contraction.
func (w *words) appendTokens(list []token, one string) []token {
	add := func(text string) { list = append(list, token{text: text, folded: w.fold(text)}) }
	if long, ok := w.lists.Contractions[one]; ok {
		for part := range strings.FieldsSeq(long) {
			add(part)
		}
		return list
	}
	if digits, unit := cutNumber(one); digits != "" && slices.Contains(w.lists.Attached, unit) { // "50pct"
		return w.appendTokens(w.appendTokens(list, digits), unit)
	}
	if stem, ok := strings.CutSuffix(one, "'s"); ok && stem != "" {
		add(stem)
		return append(list, token{text: possessive, folded: possessive})
	}
	add(one)
	return list
}

// minStem is how many letters folding leaves at least: "its" is not "it".
const minStem = 3

// fold takes the ending of a plural off a word, by the table of endings.
func (w *words) fold(word string) string {
	for _, e := range w.lists.Endings {
		stem, ok := strings.CutSuffix(word, e.From)
		if ok && utf8.RuneCountInString(stem+e.To) >= minStem {
			return stem + e.To
		}
	}
	return word
}

// asks reports whether text is a question: it has a question mark, or begins
// as one.
func (w *words) asks(text string, tokens []token) bool {
	if strings.ContainsAny(text, "?？؟¿⁇⁈⁉‽") {
		return true
	}
	if len(tokens) == 2 && tokens[0].text == "do" && w.Referring.longest(tokens, 1) > 0 { // "do it"
		return false
	}
	for i, n := 0, 1; n > 0 && i < len(tokens); i += n {
		if w.Asking.longest(tokens, i) > 0 { // "would you have" is one, and "would you" a filler
			return true
		}
		n = w.Fillers.longest(tokens, i)
	}
	return false
}

// agreeing takes the "not" out of a question that looks for a yes: "isn't the fan on?"
// asks what "is the fan on?" asks.
func (x *request) agreeing() {
	if t := x.tokens; x.asks && len(t) > 2 && t[1].text == "not" && (t[0].text == "is" || t[0].text == "are" || t[0].text == "did" || t[0].text == "does" || t[0].text == "has" || t[0].text == "have") {
		x.tokens = append(t[:1:1], t[2:]...)
	}
}

func joined(tokens []token) string {
	var b strings.Builder
	for i, t := range tokens {
		switch {
		case i == 0, t.text == possessive:
		case t.colon:
			b.WriteByte(':')
		default:
			b.WriteByte(' ')
		}
		b.WriteString(t.text)
	}
	return b.String()
}
