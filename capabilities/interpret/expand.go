package interpret

import (
	"fmt"
	"slices"
)

// term is one step of a sentence without brackets: a word, or a gap.
type term struct {
	word string // folded; "" for a gap
	kind string // of the gap
	name string
}

// maxForms bounds how many plain sentences one template may stand for: 4,000
// are some hundred kilobytes of automaton, and no sentence needs as many.
const maxForms = 4000

// expander writes a template out into all its plain sentences.
type expander struct {
	rules map[string]Template
	fold  func(string) string
}

func (e expander) all(t Template) ([][]term, error) {
	return e.sequence(t.parts, 0)
}

func (e expander) sequence(parts []part, depth int) ([][]term, error) {
	if depth > maxDepth {
		return nil, fmt.Errorf("rules nest deeper than %d; is one used in itself?", maxDepth)
	}
	forms := [][]term{nil}
	for i, p := range parts {
		tails, err := e.part(p, depth)
		if err != nil {
			return nil, err
		}
		if len(forms)*len(tails) > maxForms {
			return nil, fmt.Errorf("stands for more than %d sentences; split it", maxForms)
		}
		if len(tails) == 1 { // a word or a gap, as most are
			for k := range forms {
				forms[k] = append(forms[k], tails[0]...)
			}
			continue
		}
		next := make([][]term, 0, len(forms)*len(tails))
		for _, head := range forms {
			for _, tail := range tails {
				one := make([]term, 0, len(head)+len(tail)+len(parts)-i-1) // with room for what follows
				next = append(next, append(append(one, head...), tail...))
			}
		}
		forms = next
	}
	return forms, nil
}

func (e expander) part(p part, depth int) ([][]term, error) {
	switch p.kind {
	case wordPart:
		return [][]term{{{word: e.fold(p.text)}}}, nil
	case slotPart:
		return [][]term{{{kind: p.text, name: p.name}}}, nil
	case rulePart:
		rule, ok := e.rules[p.text]
		if !ok {
			return nil, fmt.Errorf("rule <%s> is not there; define it under rules", p.text)
		}
		return e.sequence(rule.parts, depth+1)
	}
	if p.kind == orderPart {
		return e.orders(p.alts, depth)
	}
	var forms [][]term
	if p.kind == maybePart {
		forms = [][]term{nil}
	}
	for _, a := range p.alts {
		more, err := e.sequence(a, depth+1)
		if err != nil {
			return nil, err
		}
		if forms = append(forms, more...); len(forms) > maxForms {
			return nil, fmt.Errorf("stands for more than %d sentences; split it", maxForms)
		}
	}
	return forms, nil
}

// orders are all orders of the parts.
func (e expander) orders(alts [][]part, depth int) ([][]term, error) {
	if len(alts) == 1 {
		return e.sequence(alts[0], depth+1)
	}
	var forms [][]term
	for i := range alts {
		rest := slices.Delete(slices.Clone(alts), i, i+1)
		more, err := e.sequence([]part{{kind: groupPart, alts: alts[i : i+1]}, {kind: orderPart, alts: rest}}, depth+1)
		if err != nil {
			return nil, err
		}
		if forms = append(forms, more...); len(forms) > maxForms {
			return nil, fmt.Errorf("stands for more than %d sentences; split it", maxForms)
		}
	}
	return forms, nil
}
