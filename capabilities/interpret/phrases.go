package interpret

import (
	"slices"
	"sort"
)

// phrases is a set of word sequences, as a tree by word, with what each
// stands for. It has many nodes and few ways out of each, so these are lists.
type phrases[T any] struct {
	next []branch[T] // sorted
	some uint64      // bitOf the words of next
	here []T
}

type branch[T any] struct {
	word string
	next *phrases[T]
}

func (p *phrases[T]) add(tokens []token, value T) {
	p = p.node(tokens)
	p.here = append(p.here, value)
}

// node is where a phrase ends. It makes what is missing on the way.
func (p *phrases[T]) node(tokens []token) *phrases[T] {
	for _, t := range tokens {
		i := p.at(t.folded)
		if i == len(p.next) || p.next[i].word != t.folded {
			p.next, p.some = slices.Insert(p.next, i, branch[T]{t.folded, &phrases[T]{}}), p.some|bitOf(t.folded)
		}
		p = p.next[i].next
	}
	return p
}

// at is where a word is in next, or belongs.
func (p *phrases[T]) at(word string) int {
	return sort.Search(len(p.next), func(i int) bool { return p.next[i].word >= word })
}

// bitOf is one of 64 bits for a word: what is in next has its bit in some, so that most
// words need not be looked up.
func bitOf(word string) uint64 {
	if word == "" {
		return 1
	}
	return 1 << ((uint(word[0])*5 + uint(word[len(word)-1])*11 + uint(len(word))*3) & 63)
}

// each calls yield for every phrase that begins at i, with its end.
func (p *phrases[T]) each(tokens []token, i int, yield func(end int, value T)) {
	for ; p != nil && i <= len(tokens); i++ {
		for _, v := range p.here {
			yield(i, v)
		}
		if i == len(tokens) {
			return
		}
		p = p.after(tokens[i])
	}
}

// after is how the phrases go on that have a word next, nil where none has.
func (p *phrases[T]) after(t token) *phrases[T] {
	if p.some&bitOf(t.folded) == 0 {
		return nil
	}
	if i := p.at(t.folded); i < len(p.next) && p.next[i].word == t.folded {
		return p.next[i].next
	}
	return nil
}

// longest is the number of words of the longest phrase that begins at i.
func (p *phrases[T]) longest(tokens []token, i int) int {
	n := 0
	p.each(tokens, i, func(end int, _ T) { n = end - i })
	return n
}

// words adds the words of all phrases to a list.
func (p *phrases[T]) words(into map[string]bool) {
	for _, b := range p.next {
		into[b.word] = true
		b.next.words(into)
	}
}

// set is phrases without a meaning of their own.
type set = phrases[struct{}]

func (w *words) set(list []string) *set {
	s := &set{}
	for _, one := range list {
		if t := w.tokens(one); len(t) > 0 {
			s.add(t, struct{}{})
		}
	}
	return s
}

// whole reports whether tokens, but for fillers, are exactly one of the
// phrases.
func (w *words) whole(s *set, tokens []token) bool {
	if len(tokens) == 0 {
		return false
	}
	var from func(i int, used bool) bool
	from = func(i int, used bool) bool {
		if i == len(tokens) {
			return used
		}
		if n := w.Fillers.longest(tokens, i); n > 0 && from(i+n, used) {
			return true
		}
		found := false
		if !used {
			s.each(tokens, i, func(end int, _ struct{}) { found = found || from(end, true) })
		}
		return found
	}
	return from(0, false)
}

// find is where a phrase of the set stands first: from, to; -1 if nowhere.
func (s *phrases[T]) find(tokens []token) (from, to int) {
	for i := range tokens {
		if n := s.longest(tokens, i); n > 0 {
			return i, i + n
		}
	}
	return -1, -1
}
