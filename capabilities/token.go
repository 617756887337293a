package capabilities

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// token is one word of a request.
type token struct {
	text   string // lower case, as written
	folded string // without the ending of a plural
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
	text = strings.Map(func(r rune) rune {
		switch r {
		case '’', '‘', 'ʼ', '`':
			return '\''
		}
		return unicode.ToLower(r)
	}, text)
	var kept []string
	for from := 0; from < len(text); {
		n := wordLen(text[from:])
		if w := strings.Trim(text[from:from+n], "'"); w != "" {
			kept = append(kept, w)
		}
		from += n
		_, sign := utf8.DecodeRuneInString(text[from:])
		from += sign
	}
	return kept
}

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
	add := func(text string) { list = append(list, token{text, w.fold(text)}) }
	for _, one := range split(text) {
		if long, ok := w.Contractions[one]; ok {
			for part := range strings.FieldsSeq(long) {
				add(part)
			}
			continue
		}
		if stem, ok := strings.CutSuffix(one, "'s"); ok && stem != "" {
			add(stem)
			list = append(list, token{possessive, possessive})
			continue
		}
		add(one)
	}
	return list
}

// minStem is how many letters folding leaves at least: "its" is not "it".
const minStem = 3

// fold takes the ending of a plural off a word, by the table of endings.
func (w *words) fold(word string) string {
	for _, e := range w.Endings {
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
	i := 0
	for n := 1; n > 0 && i < len(tokens); i += n {
		n = w.filler.longest(tokens, i)
	}
	return i < len(tokens) && w.asking.longest(tokens, i) > 0
}

func joined(tokens []token) string {
	var b strings.Builder
	for i, t := range tokens {
		if i > 0 && t.text != possessive {
			b.WriteByte(' ')
		}
		b.WriteString(t.text)
	}
	return b.String()
}
