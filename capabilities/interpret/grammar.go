package interpret

import (
	"encoding/binary"
	"slices"
	"strings"

	"github.com/messkit/messkit/capabilities"
	"github.com/messkit/messkit/capabilities/lexicon"
	"github.com/messkit/messkit/mess"
)

// grammar is the automaton of all sentences: a tree by word and by gap. It has many
// nodes and few ways out of each, so these are lists.
type grammar struct {
	words []edge // sorted
	gaps  []gap
	ends  []*sentence
}

type edge struct {
	word string
	next *grammar
}

// after is the node behind a word, nil if there is none.
func (g *grammar) after(word string) *grammar {
	if i, ok := slices.BinarySearchFunc(g.words, word, byWord); ok {
		return g.words[i].next
	}
	return nil
}

// known adds the words of all sentences to a list.
func (g *grammar) known(into map[string]bool) {
	for _, e := range g.words {
		into[e.word] = true
		e.next.known(into)
	}
	for _, e := range g.gaps {
		e.next.known(into)
	}
}

func byWord(e edge, word string) int { return strings.Compare(e.word, word) }

type gap struct {
	kind, name string
	next       *grammar
}

// sentence is a template as the automaton knows it.
type sentence struct {
	capability *capability
	text       string
	quantity   string   // named by how it is asked; "" if by a gap, or not at all
	classes    []string // of the devices that it is for; none: all
	not        []string // and of those that it is not for
	args       mess.Object
	within     map[string]capabilities.Range // what a number in a gap may be, by its name
	all        bool                          // it is for all devices that it fits
	asked      bool                          // it is one only of a question
	doubt      string                        // why it is asked first
}

// suits reports whether the sentence is for devices of the class.
func (s *sentence) suits(class string) bool {
	return !slices.Contains(s.not, class) && (len(s.classes) == 0 || slices.Contains(s.classes, class))
}

func (g *grammar) add(form []term, s *sentence) {
	for _, t := range form {
		g = g.step(t)
	}
	if !slices.Contains(g.ends, s) {
		g.ends = append(g.ends, s)
	}
}

func (g *grammar) step(t term) *grammar {
	if t.kind == "" {
		i, ok := slices.BinarySearchFunc(g.words, t.word, byWord)
		if !ok {
			g.words = slices.Insert(g.words, i, edge{t.word, &grammar{}})
		}
		return g.words[i].next
	}
	for _, gap := range g.gaps {
		if gap.kind == t.kind && gap.name == t.name {
			return gap.next
		}
	}
	next := &grammar{}
	g.gaps = append(g.gaps, gap{t.kind, t.name, next})
	return next
}

// sharing makes one node of all that lead to the same, which most ends of sentences
// do: a fourth of the memory is left.
type sharing struct {
	nodes map[string]*grammar
	ids   map[*grammar]uint32
	ends  map[*sentence]uint32
}

// share is the node that stands for g from now on.
func (s *sharing) share(g *grammar) *grammar {
	var key []byte
	put := func(n uint32) { key = binary.LittleEndian.AppendUint32(key, n) }
	for i := range g.words {
		e := &g.words[i]
		e.next = s.share(e.next)
		key = append(append(key, e.word...), 0)
		put(s.ids[e.next])
	}
	key = append(key, 1)
	for i := range g.gaps {
		e := &g.gaps[i]
		e.next = s.share(e.next)
		key = append(append(append(append(key, e.kind...), 0), e.name...), 0)
		put(s.ids[e.next])
	}
	key = append(key, 1)
	for _, end := range g.ends {
		if _, known := s.ends[end]; !known {
			s.ends[end] = uint32(len(s.ends))
		}
		put(s.ends[end])
	}
	if one, known := s.nodes[string(key)]; known {
		return one
	}
	g.words, g.gaps, g.ends = slices.Clip(g.words), slices.Clip(g.gaps), slices.Clip(g.ends)
	s.nodes[string(key)], s.ids[g] = g, uint32(len(s.ids))
	return g
}

// shared is the automaton without nodes that are there twice. Nothing may be added
// to it.
func (g *grammar) shared() *grammar {
	s := sharing{nodes: map[string]*grammar{}, ids: map[*grammar]uint32{}, ends: map[*sentence]uint32{}}
	return s.share(g)
}

// bound is what a gap took.
type bound struct {
	kind, name string
	from       int
	match      *lexicon.SlotValue
}

// maxSteps bounds the work on one request. The sentences of the catalogue need
// fewer than 500.
const maxSteps = 20000

// walker follows a request through the automaton.
type walker struct {
	words  *lexicon.Lexicon
	tokens []lexicon.Token
	found  func(s *sentence, slots []bound)
	fill   func(kind string, i int) []lexicon.SlotValue
	slots  []bound
	steps  int
	far    int // the most words that any sentence took
}

// from goes on at word i. Fillers may be passed over anywhere.
func (w *walker) from(g *grammar, i int) {
	if w.steps++; w.steps > maxSteps {
		return
	}
	w.far = max(w.far, i)
	if i == len(w.tokens) {
		for _, s := range g.ends {
			w.found(s, slices.Clone(w.slots))
		}
		return
	}
	if n := w.words.Fillers.Longest(w.tokens, i); n > 0 {
		w.from(g, i+n)
	}
	if next := g.after(w.tokens[i].Folded); next != nil {
		w.from(next, i+1)
	}
	for _, gap := range g.gaps {
		matches := w.fill(gap.kind, i)
		for m := range matches {
			w.slots = append(w.slots, bound{gap.kind, gap.name, i, &matches[m]})
			w.from(gap.next, matches[m].End)
			w.slots = w.slots[:len(w.slots)-1]
		}
	}
}
