package capabilities

import "slices"

// grammar is the automaton of all sentences: a tree by word and by gap.
type grammar struct {
	words map[string]*grammar
	gaps  []gap
	ends  []*sentence
}

type gap struct {
	kind, name string
	next       *grammar
}

// sentence is a template as the automaton knows it.
type sentence struct {
	capability *capability
	text       string
	quantity   string // named by how it is asked; "" if by a gap, or not at all
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
		if g.words == nil {
			g.words = map[string]*grammar{}
		}
		if g.words[t.word] == nil {
			g.words[t.word] = &grammar{}
		}
		return g.words[t.word]
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

// bound is what a gap took.
type bound struct {
	kind, name string
	from       int
	match      *match
}

// maxSteps bounds the work on one request. The sentences of the catalogue need
// fewer than 500.
const maxSteps = 20000

// walker follows a request through the automaton.
type walker struct {
	words  *words
	tokens []token
	found  func(s *sentence, slots []bound)
	fill   func(kind string, i int) []match
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
	if n := w.words.filler.longest(w.tokens, i); n > 0 {
		w.from(g, i+n)
	}
	if next := g.words[w.tokens[i].folded]; next != nil {
		w.from(next, i+1)
	}
	for _, gap := range g.gaps {
		matches := w.fill(gap.kind, i)
		for m := range matches {
			w.slots = append(w.slots, bound{gap.kind, gap.name, i, &matches[m]})
			w.from(gap.next, matches[m].end)
			w.slots = w.slots[:len(w.slots)-1]
		}
	}
}
