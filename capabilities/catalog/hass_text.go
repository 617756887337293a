package catalog

import (
	"slices"
	"strings"

	"github.com/messkit/messkit/capabilities/grammar"
	"github.com/messkit/messkit/capabilities/lexicon"
)

// hassil reads the sentences of Home Assistant, whose spaces count: "light[s]" is one word
// or the other, and "{brightness}[ ]%" has a space or none. It joins words without a space
// between them, and separates slots.
type hassil struct {
	words *lexicon.Lexicon
	in    string
	at    int
}

// atom is a part of a sentence with the spaces around it.
type atom struct {
	grammar.Part
	texts []string // alternatives with their spaces; nil for a part with slots
}

// hassParts returns the parts of a sentence with balanced brackets.
func hassParts(w *lexicon.Lexicon, text string) []grammar.Part {
	h := hassil{words: w, in: "(" + lexicon.Lower(text) + ")"} // it may be alternatives
	return h.parts(h.atoms())
}

// atoms reads up to the end or the closing bracket, and joins the parts without a space
// between them.
func (h *hassil) atoms() []atom {
	var list []atom
	for h.at < len(h.in) && strings.IndexByte("|;)]", h.in[h.at]) < 0 {
		one := h.atom()
		n := len(list) - 1
		if n >= 0 && one.texts != nil && list[n].texts != nil && len(one.texts)*len(list[n].texts) <= maxJoined && joinsWords(list[n].texts, one.texts) {
			list[n] = atom{texts: product(list[n].texts, one.texts)}
			continue
		}
		list = append(list, one)
	}
	return list
}

// maxJoined bounds the words that touching brackets make.
const maxJoined = 64

// joinsWords reports whether a text of a ends in a letter and one of b begins with one.
func joinsWords(a, b []string) bool {
	ends := slices.ContainsFunc(a, func(s string) bool { return s != "" && !strings.HasSuffix(s, " ") })
	return ends && slices.ContainsFunc(b, func(s string) bool { return s != "" && !strings.HasPrefix(s, " ") })
}

func product(a, b []string) (list []string) {
	for _, head := range a {
		for _, tail := range b {
			list = append(list, head+tail)
		}
	}
	return list
}

func (h *hassil) atom() atom {
	switch open := h.in[h.at]; open {
	case '{', '<':
		end := strings.IndexByte(h.in[h.at:], map[byte]byte{'{': '}', '<': '>'}[open])
		text := h.in[h.at+1 : h.at+end]
		h.at += end + 1
		if open == '<' {
			return atom{Part: grammar.Part{Kind: grammar.RulePart, Text: text}}
		}
		list, slot, named := strings.Cut(text, ":")
		if !named {
			slot = list
		}
		return atom{Part: grammar.Part{Kind: grammar.SlotPart, Text: list, Name: slot}}
	case '(', '[':
		return h.group(open)
	}
	n := strings.IndexAny(h.in[h.at+1:], "()[]{}<>|;") + 1
	if n == 0 {
		n = len(h.in) - h.at
	}
	text := h.in[h.at : h.at+n]
	h.at += n
	return atom{texts: []string{text}}
}

// group reads a bracket. A bracket with only words becomes texts. An empty text makes it
// optional.
func (h *hassil) group(open byte) atom {
	one := atom{Part: grammar.Part{Kind: grammar.GroupPart}}
	maybe, plain := open == '[', true
	var texts []string
	for {
		h.at++ // the bracket or the bar
		alt := h.atoms()
		if len(alt) == 1 && alt[0].texts != nil {
			texts = append(texts, alt[0].texts...)
		} else {
			plain = plain && len(alt) == 0
		}
		if parts := h.parts(alt); len(parts) > 0 {
			one.Alts = append(one.Alts, parts)
		} else {
			maybe = true
		}
		if h.at >= len(h.in) || h.in[h.at] != '|' && h.in[h.at] != ';' {
			break
		}
		if h.in[h.at] == ';' {
			one.Kind, plain = grammar.OrderPart, false
		}
	}
	h.at++
	if one.Kind == grammar.OrderPart && len(one.Alts) > grammar.MaxOrder {
		one.Alts = [][]grammar.Part{{{Kind: grammar.SlotPart, Text: unmeant}}}
	}
	if maybe && one.Kind == grammar.OrderPart {
		one.Part = grammar.Part{Kind: grammar.MaybePart, Alts: [][]grammar.Part{{one.Part}}}
	} else if maybe {
		one.Kind = grammar.MaybePart
	}
	if plain && len(texts) <= maxJoined {
		if maybe && !slices.Contains(texts, "") {
			texts = append(texts, "")
		}
		one.texts = texts
	}
	return one
}

// parts returns the parts of the atoms, with the words as requests have them.
func (h *hassil) parts(atoms []atom) (list []grammar.Part) {
	for _, a := range atoms {
		switch {
		case a.texts == nil && (a.Kind == grammar.SlotPart || a.Kind == grammar.RulePart || len(a.Alts) > 0):
			list = append(list, a.Part)
		case len(a.texts) == 1:
			list = append(list, h.wordParts(a.texts[0])...)
		case len(a.texts) > 1:
			one := grammar.Part{Kind: grammar.GroupPart}
			for _, text := range a.texts {
				if words := h.wordParts(text); len(words) > 0 {
					one.Alts = append(one.Alts, words)
				} else {
					one.Kind = grammar.MaybePart
				}
			}
			if len(one.Alts) > 0 {
				list = append(list, one)
			}
		}
	}
	return list
}

// wordParts returns the words of a text. The 's behind a name is a word of its own.
func (h *hassil) wordParts(text string) (list []grammar.Part) {
	if rest, ok := strings.CutPrefix(text, lexicon.Possessive); ok { // behind a slot
		list, text = append(list, grammar.Part{Kind: grammar.WordPart, Text: lexicon.Possessive}), rest
	}
	tokens := h.words.Tokens(text)
	for i, t := range tokens {
		if h.words.Articles.Longest(tokens, i) == 0 || h.words.Fillers.Longest(tokens, i) == 0 { // "the" may stand anywhere
			list = append(list, grammar.Part{Kind: grammar.WordPart, Text: t.Folded})
		}
	}
	return list
}
