package lexicon

import (
	"slices"
	"sort"
)

// Trie is a set of phrases, as a tree by word, with the values of each. A node has few children,
// so they are a sorted list.
type Trie[T any] struct {
	Children []trieNode[T] // sorted
	filter   uint64        // the bits of the words of Children
	Values   []T
}

type trieNode[T any] struct {
	word  string
	child *Trie[T]
}

// Add adds a phrase with a value.
func (p *Trie[T]) Add(tokens []Token, value T) {
	p = p.Node(tokens)
	p.Values = append(p.Values, value)
}

// Node returns the node at which a phrase ends. It makes the nodes that are missing.
func (p *Trie[T]) Node(tokens []Token) *Trie[T] {
	for _, t := range tokens {
		i := p.at(t.Folded)
		if i == len(p.Children) || p.Children[i].word != t.Folded {
			p.Children, p.filter = slices.Insert(p.Children, i, trieNode[T]{t.Folded, &Trie[T]{}}), p.filter|bitOf(t.Folded)
		}
		p = p.Children[i].child
	}
	return p
}

// at returns the index of a word in Children, or the index to insert it.
func (p *Trie[T]) at(word string) int {
	return sort.Search(len(p.Children), func(i int) bool { return p.Children[i].word >= word })
}

// bitOf returns one of 64 bits for a word. filter has the bits of all children, so After finds
// most missing words without a search.
func bitOf(word string) uint64 {
	if word == "" {
		return 1
	}
	return 1 << ((uint(word[0])*5 + uint(word[len(word)-1])*11 + uint(len(word))*3) & 63)
}

// Each calls yield for every phrase that begins at word i, with the word behind it and its
// value.
func (p *Trie[T]) Each(tokens []Token, i int, yield func(end int, value T)) {
	for ; p != nil && i <= len(tokens); i++ {
		for _, v := range p.Values {
			yield(i, v)
		}
		if i == len(tokens) {
			return
		}
		p = p.Next(tokens[i])
	}
}

// Next returns the node behind the word, nil if no phrase continues with it.
func (p *Trie[T]) Next(t Token) *Trie[T] {
	if p.filter&bitOf(t.Folded) == 0 {
		return nil
	}
	if i := p.at(t.Folded); i < len(p.Children) && p.Children[i].word == t.Folded {
		return p.Children[i].child
	}
	return nil
}

// Longest returns the number of words of the longest phrase that begins at word i.
func (p *Trie[T]) Longest(tokens []Token, i int) int {
	n := 0
	p.Each(tokens, i, func(end int, _ T) { n = end - i })
	return n
}

// AddWords adds the words of all phrases to a set.
func (p *Trie[T]) AddWords(into map[string]bool) {
	for _, b := range p.Children {
		into[b.word] = true
		b.child.AddWords(into)
	}
}

// PhraseSet is a trie of phrases without values.
type PhraseSet = Trie[struct{}]

// Set makes a phrase set of a list.
func (w *Lexicon) Set(list []string) *PhraseSet {
	s := &PhraseSet{}
	for _, one := range list {
		if t := w.Tokens(one); len(t) > 0 {
			s.Add(t, struct{}{})
		}
	}
	return s
}

// Whole reports whether the tokens are exactly one phrase of the set, apart from fillers.
func (w *Lexicon) Whole(s *PhraseSet, tokens []Token) bool {
	if len(tokens) == 0 {
		return false
	}
	var from func(i int, used bool) bool
	from = func(i int, used bool) bool {
		if i == len(tokens) {
			return used
		}
		if n := w.Fillers.Longest(tokens, i); n > 0 && from(i+n, used) {
			return true
		}
		found := false
		if !used {
			s.Each(tokens, i, func(end int, _ struct{}) { found = found || from(end, true) })
		}
		return found
	}
	return from(0, false)
}

// Find returns where the first phrase begins and ends; -1, -1 if there is none.
func (p *Trie[T]) Find(tokens []Token) (from, to int) {
	for i := range tokens {
		if n := p.Longest(tokens, i); n > 0 {
			return i, i + n
		}
	}
	return -1, -1
}
