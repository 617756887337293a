package lexicon

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Affirms reports whether all words affirm something, and at least one of them does so by itself.
func (w *Lexicon) Affirms(tokens []Token) bool {
	affirmed := false
	for _, none := range []*PhraseSet{w.Praising, w.Recounting} {
		if from, _ := none.Find(tokens); from >= 0 {
			return false
		}
	}
	for i := 0; i < len(tokens); {
		yes := w.Affirming.Longest(tokens, i)
		if affirmed { // "sure, go ahead", but "confirm it" asks for something
			yes = max(yes, w.Yes.Longest(tokens, i))
		}
		n := max(yes, w.Agreeing.Longest(tokens, i), w.Fillers.Longest(tokens, i))
		if n == 0 {
			return false
		}
		affirmed = affirmed || yes > 0
		i += n
	}
	return affirmed
}

// TextAt returns the text of word i, or "" for an index behind the last word.
func TextAt(tokens []Token, i int) string {
	if i >= len(tokens) {
		return ""
	}
	return tokens[i].Text
}

// BeginsPlace reports whether the words begin with a preposition of a place.
func (w *Lexicon) BeginsPlace(tokens []Token) bool {
	first := tokens[:1]
	return w.Near.Longest(first, 0) > 0 || w.Clock.Longest(first, 0) > 0 || w.Toward.Longest(first, 0) > 0 || first[0].Text == "on" || first[0].Text == "of"
}

// PlainTokens returns the words of a name, without articles before it.
func (w *Lexicon) PlainTokens(name string) []Token {
	t := w.Tokens(name)
	for len(t) > 0 {
		n := w.Fillers.Longest(t, 0)
		if n == 0 || n == len(t) {
			break
		}
		t = t[n:]
	}
	return t
}

// Bare returns the tokens without fillers.
func (w *Lexicon) Bare(tokens []Token) []Token {
	var list []Token
	pause := false
	for i := 0; i < len(tokens); i++ {
		pause = pause || tokens[i].Pause
		if n := w.Fillers.Longest(tokens, i); n > 0 {
			i += n - 1
			continue
		}
		one := tokens[i]
		one.Pause, pause = pause, false
		one.Noun = i > 0 && w.Articles.Longest(tokens, i-1) > 0
		list = append(list, one)
	}
	return list
}

// Texts returns the texts of the tokens.
func Texts(tokens []Token) []string {
	list := make([]string, len(tokens))
	for i, t := range tokens {
		list[i] = t.Text
	}
	return list
}

// Token is one word of a request.
type Token struct {
	Text   string // lower case, as written
	Folded string // without the ending of a plural
	Pause  bool   // a comma, or the end of a sentence, stands before it
	Noun   bool   // an article stands before it: "the vacuum"
	Colon  bool   // the ":" of a time of the clock stands before it
}

// MaxTokens bounds a request: the longest of 1,227 real sentences for a smart home has 29
// words.
const MaxTokens = 60

// MaxText is the longest text that the interpreter reads, in bytes. 60 words have some 400.
const MaxText = 2000

// Possessive stands for the 's of "the kitchen's light". It is a token of its own, for
// "the light's on" is not "light on".
const Possessive = "'s"

// OneWord reports whether text is a single word for Split and for Tokens.
func OneWord(text string) bool {
	words := Split(text)
	return len(words) == 1 && words[0] == text && !strings.Contains(text, "'")
}

// Split cuts a text into words in lower case. An apostrophe stays within a word, and a
// point within a number; hyphens and all other characters separate words.
func Split(text string) []string {
	text = Lower(text)
	var kept []string
	parted(text, func(word string, _, _ bool) { kept = append(kept, word) })
	return kept
}

// Lower returns the text in lower case, with one kind of apostrophe.
func Lower(text string) string {
	return strings.Map(func(r rune) rune {
		switch r {
		case '’', '‘', 'ʼ', '`':
			return '\''
		}
		return unicode.ToLower(r)
	}, text)
}

// parted yields the words of text, which is in lower case. It reports for each word whether a
// pause, or the ":" of "20:00", precedes it.
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
		if word, ok := signWords[r]; ok {
			yield(word, pause, false)
			pause = false
		}
		clock = r == ':' && from > 0 && unicode.IsDigit(rune(text[from-1])) && from+1 < len(text) && unicode.IsDigit(rune(text[from+1])) // "20:00"
		pause = pause || strings.ContainsRune(",;.!:", r) && !clock
		from += sign
	}
}

// signWords are signs that stand for a word.
var signWords = map[rune]string{'%': "%", '°': "degrees", '&': "and"}

// wordLen returns the length of the first word of text in bytes, or 0 if text begins with a sign.
func wordLen(text string) int {
	var before rune
	for i, r := range text {
		after, _ := utf8.DecodeRuneInString(text[i+utf8.RuneLen(r):])
		if r != '\'' && !IsWord(r) && !(r == '.' && unicode.IsDigit(before) && unicode.IsDigit(after)) {
			return i
		}
		before = r
	}
	return len(text)
}

// Tokens cuts a text into words, with contractions written out.
func (w *Lexicon) Tokens(text string) []Token {
	var list []Token
	parted(Lower(text), func(one string, pause, colon bool) {
		from := len(list)
		if from > 0 && !pause && slices.Contains(w.Lists.Leading, one) {
			list = append(list, Token{Text: one, Folded: w.Fold(one)})
		} else {
			list = w.appendTokens(list, one)
		}
		if from < len(list) {
			list[from].Pause, list[from].Colon = pause, colon
		}
	})
	return list
}

// appendTokens adds one word, which may be a contraction.
func (w *Lexicon) appendTokens(list []Token, one string) []Token {
	add := func(text string) { list = append(list, Token{Text: text, Folded: w.Fold(text)}) }
	if long, ok := w.Lists.Contractions[one]; ok {
		for part := range strings.FieldsSeq(long) {
			add(part)
		}
		return list
	}
	if digits, unit := CutNumber(one); digits != "" && slices.Contains(w.Lists.Attached, unit) { // "50pct"
		return w.appendTokens(w.appendTokens(list, digits), unit)
	}
	if stem, ok := strings.CutSuffix(one, "'s"); ok && stem != "" {
		add(stem)
		return append(list, Token{Text: Possessive, Folded: Possessive})
	}
	add(one)
	return list
}

// minStem is the smallest number of letters that Fold leaves: "its" is not "it".
const minStem = 3

// Fold takes the ending of a plural off a word, by the rules of the language.
func (w *Lexicon) Fold(word string) string {
	for _, e := range w.Lists.Endings {
		stem, ok := strings.CutSuffix(word, e.From)
		if ok && utf8.RuneCountInString(stem+e.To) >= minStem {
			return stem + e.To
		}
	}
	return word
}

// IsQuestion reports whether the text is a question: it has a question mark, or begins as
// one. The tokens are its words.
func (w *Lexicon) IsQuestion(text string, tokens []Token) bool {
	if strings.ContainsAny(text, "?？؟¿⁇⁈⁉‽") {
		return true
	}
	if len(tokens) == 2 && tokens[0].Text == "do" && w.Referring.Longest(tokens, 1) > 0 { // "do it"
		return false
	}
	for i, n := 0, 1; n > 0 && i < len(tokens); i += n {
		if w.Asking.Longest(tokens, i) > 0 { // "would you have" is one, and "would you" a filler
			return true
		}
		n = w.Fillers.Longest(tokens, i)
	}
	return false
}

// Join writes tokens as text again.
func Join(tokens []Token) string {
	var b strings.Builder
	for i, t := range tokens {
		switch {
		case i == 0, t.Text == Possessive:
		case t.Colon:
			b.WriteByte(':')
		default:
			b.WriteByte(' ')
		}
		b.WriteString(t.Text)
	}
	return b.String()
}
