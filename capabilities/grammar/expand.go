package grammar

import (
	"fmt"
	"slices"
)

// Term is one step of a plain sentence: a word, or a slot.
type Term struct {
	Word string // folded; "" for a slot
	Kind string // of the slot
	Name string
}

// MaxForms is the largest number of plain sentences of one template: 4,000 are some hundred
// kilobytes of automaton, and no sentence needs as many.
const MaxForms = 4000

// Expander expands a template to all its plain sentences.
type Expander struct {
	Rules map[string]Template
	Fold  func(string) string
}

// All returns all plain sentences that a template stands for. It fails for more than
// maxForms.
func (e Expander) All(t Template) ([][]Term, error) {
	return e.sequence(t.Parts, 0)
}

func (e Expander) sequence(parts []Part, depth int) ([][]Term, error) {
	if depth > maxDepth {
		return nil, fmt.Errorf("rules nest deeper than %d; is one used in itself?", maxDepth)
	}
	forms := [][]Term{nil}
	for i, p := range parts {
		tails, err := e.part(p, depth)
		if err != nil {
			return nil, err
		}
		if len(forms)*len(tails) > MaxForms {
			return nil, fmt.Errorf("stands for more than %d sentences; split it", MaxForms)
		}
		if len(tails) == 1 { // a word or a slot, as most are
			for k := range forms {
				forms[k] = append(forms[k], tails[0]...)
			}
			continue
		}
		next := make([][]Term, 0, len(forms)*len(tails))
		for _, head := range forms {
			for _, tail := range tails {
				one := make([]Term, 0, len(head)+len(tail)+len(parts)-i-1) // with room for the next terms
				next = append(next, append(append(one, head...), tail...))
			}
		}
		forms = next
	}
	return forms, nil
}

func (e Expander) part(p Part, depth int) ([][]Term, error) {
	switch p.Kind {
	case WordPart:
		return [][]Term{{{Word: e.Fold(p.Text)}}}, nil
	case SlotPart:
		return [][]Term{{{Kind: p.Text, Name: p.Name}}}, nil
	case RulePart:
		rule, ok := e.Rules[p.Text]
		if !ok {
			return nil, fmt.Errorf("rule <%s> is not there; define it under rules", p.Text)
		}
		return e.sequence(rule.Parts, depth+1)
	}
	if p.Kind == OrderPart {
		return e.orders(p.Alts, depth)
	}
	var forms [][]Term
	if p.Kind == MaybePart {
		forms = [][]Term{nil}
	}
	for _, a := range p.Alts {
		more, err := e.sequence(a, depth+1)
		if err != nil {
			return nil, err
		}
		if forms = append(forms, more...); len(forms) > MaxForms {
			return nil, fmt.Errorf("stands for more than %d sentences; split it", MaxForms)
		}
	}
	return forms, nil
}

// orders returns all orders of the parts.
func (e Expander) orders(alts [][]Part, depth int) ([][]Term, error) {
	if len(alts) == 1 {
		return e.sequence(alts[0], depth+1)
	}
	var forms [][]Term
	for i := range alts {
		rest := slices.Delete(slices.Clone(alts), i, i+1)
		more, err := e.sequence([]Part{{Kind: GroupPart, Alts: alts[i : i+1]}, {Kind: OrderPart, Alts: rest}}, depth+1)
		if err != nil {
			return nil, err
		}
		if forms = append(forms, more...); len(forms) > MaxForms {
			return nil, fmt.Errorf("stands for more than %d sentences; split it", MaxForms)
		}
	}
	return forms, nil
}
