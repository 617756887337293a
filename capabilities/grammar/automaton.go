package grammar

import (
	"encoding/binary"
	"slices"
	"strings"

	"github.com/messkit/messkit/capabilities"
	"github.com/messkit/messkit/capabilities/lexicon"
	"github.com/messkit/messkit/mess"
)

// Automaton matches all sentences: a tree by word and by slot. A node has few edges, so
// these are lists.
type Automaton struct {
	words []edge // sorted
	gaps  []slotEdge
	ends  []*Pattern
}

type edge struct {
	word string
	next *Automaton
}

// after returns the node behind a word, or nil if there is none.
func (g *Automaton) after(word string) *Automaton {
	if i, ok := slices.BinarySearchFunc(g.words, word, byWord); ok {
		return g.words[i].next
	}
	return nil
}

// AddWords adds the words of all sentences to a set.
func (g *Automaton) AddWords(into map[string]bool) {
	for _, e := range g.words {
		into[e.word] = true
		e.next.AddWords(into)
	}
	for _, e := range g.gaps {
		e.next.AddWords(into)
	}
}

func byWord(e edge, word string) int { return strings.Compare(e.word, word) }

type slotEdge struct {
	kind, name string
	next       *Automaton
}

// Pattern is a template of a capability, compiled for the automaton.
type Pattern struct {
	Capability *Capability
	Text       string
	Quantity   string   // of the words; "" if a slot names it, or nothing does
	Classes    []string // of the devices that it is for; none: all
	Not        []string // classes that it is not for
	Args       mess.Object
	Within     map[string]capabilities.Range // the range of a number in a slot, by the name of the slot
	All        bool                          // it is for all devices that it fits
	Asked      bool                          // it matches only questions
	Doubt      string                        // why it needs a confirmation
}

// Suits reports whether the pattern is for devices of the class.
func (s *Pattern) Suits(class string) bool {
	return !slices.Contains(s.Not, class) && (len(s.Classes) == 0 || slices.Contains(s.Classes, class))
}

// Add adds a plain sentence of a pattern.
func (g *Automaton) Add(form []Term, s *Pattern) {
	for _, t := range form {
		g = g.step(t)
	}
	if !slices.Contains(g.ends, s) {
		g.ends = append(g.ends, s)
	}
}

func (g *Automaton) step(t Term) *Automaton {
	if t.Kind == "" {
		i, ok := slices.BinarySearchFunc(g.words, t.Word, byWord)
		if !ok {
			g.words = slices.Insert(g.words, i, edge{t.Word, &Automaton{}})
		}
		return g.words[i].next
	}
	for _, gap := range g.gaps {
		if gap.kind == t.Kind && gap.name == t.Name {
			return gap.next
		}
	}
	next := &Automaton{}
	g.gaps = append(g.gaps, slotEdge{t.Kind, t.Name, next})
	return next
}

// sharing makes one node of all equal nodes. Most ends of sentences are equal, so this needs a
// fourth of the memory.
type sharing struct {
	nodes map[string]*Automaton
	ids   map[*Automaton]uint32
	ends  map[*Pattern]uint32
}

// share returns the node that replaces g.
func (s *sharing) share(g *Automaton) *Automaton {
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

// Minimize returns an automaton without equal nodes. The caller must not add sentences to
// it.
func (g *Automaton) Minimize() *Automaton {
	s := sharing{nodes: map[string]*Automaton{}, ids: map[*Automaton]uint32{}, ends: map[*Pattern]uint32{}}
	return s.share(g)
}

// BoundSlot is a slot with its value.
type BoundSlot struct {
	Kind, Name string
	From       int
	Match      *lexicon.SlotValue
}

// maxSteps bounds the work on one request. The sentences of the catalog need fewer than
// 500.
const maxSteps = 20000

// Walker follows the words of a request through the automaton.
type Walker struct {
	Words  *lexicon.Lexicon
	Tokens []lexicon.Token
	Found  func(s *Pattern, slots []BoundSlot)
	Fill   func(kind string, i int) []lexicon.SlotValue
	slots  []BoundSlot
	steps  int
	far    int // the largest number of words that a sentence matched
}

// Walk continues at node g and word i. It skips fillers anywhere.
func (w *Walker) Walk(g *Automaton, i int) {
	if w.steps++; w.steps > maxSteps {
		return
	}
	w.far = max(w.far, i)
	if i == len(w.Tokens) {
		for _, s := range g.ends {
			w.Found(s, slices.Clone(w.slots))
		}
		return
	}
	if n := w.Words.Fillers.Longest(w.Tokens, i); n > 0 {
		w.Walk(g, i+n)
	}
	if next := g.after(w.Tokens[i].Folded); next != nil {
		w.Walk(next, i+1)
	}
	for _, gap := range g.gaps {
		matches := w.Fill(gap.kind, i)
		for m := range matches {
			w.slots = append(w.slots, BoundSlot{gap.kind, gap.name, i, &matches[m]})
			w.Walk(gap.next, matches[m].End)
			w.slots = w.slots[:len(w.slots)-1]
		}
	}
}
