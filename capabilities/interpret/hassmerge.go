package interpret

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/messkit/messkit/capabilities"
	"github.com/messkit/messkit/capabilities/lexicon"
	"github.com/messkit/messkit/mess"
)

// unmeant is the kind of a gap for which there is no word here. A form with one is
// left out.
const unmeant = "?"

// mergeHass adds the sentences to their capabilities, when all files are read.
func (b *builder) mergeHass() {
	b.mergeSkips()
	if len(b.others.found) == 0 {
		return
	}
	b.words.Compile()
	base := hassScope{b.hassRules, b.hassLists}.with(b.others.shared)
	rules := map[string]Template{}
	for name, text := range base.rules {
		rules[name] = Template{hassParts(b.words, text)}
	}
	for _, s := range b.others.found {
		h := hassReader{builder: b, s: s, scope: base, e: expander{rules: rules, fold: func(word string) string { return word }}}
		if len(s.scope.rules)+len(s.scope.lists) > 0 {
			h.scope, h.e.rules = base.with(s.scope), maps.Clone(rules)
			for name, text := range s.scope.rules {
				h.e.rules[name] = Template{hassParts(b.words, text)}
			}
		}
		if why := h.read(); why != "" {
			b.skipped = append(b.skipped, Skipped{fmt.Sprintf("%s:%d: %s: %q", s.file, s.line, s.intent, s.text), why})
		}
	}
}

// hassReader makes forms of one sentence.
type hassReader struct {
	*builder
	s     hassSentence
	scope hassScope
	e     expander
	gaps  []part // of the sentence and its rules

	missing string // the first rule or list that is not there, where that is no mistake
}

// read adds the forms that have a meaning here. Where there are none it says why.
func (h *hassReader) read() (why string) {
	parts := hassParts(h.words, h.s.text)
	if !h.defined(parts, map[string]bool{}) {
		return cmp.Or(h.missing, "a rule or list is not there")
	}
	if h.s.unknown != "" {
		return fmt.Sprintf("no words here for their context (%s)", h.s.unknown)
	}
	of := map[string][]string{h.hassMeant(h.s.intent, ""): nil}
	if len(h.s.domains) > 0 {
		of = h.domainsOf(h.s.intent, h.s.domains)
	}
	forms, err := h.e.all(Template{parts})
	if err != nil || len(forms) == 0 {
		return "they stand for too many forms, or for none"
	}
	var not []string
	for _, domain := range h.s.not {
		not = append(not, h.hassDomains[domain]...)
	}
	found := false
	for _, id := range slices.Sorted(maps.Keys(of)) {
		for _, form := range forms {
			for _, v := range h.valued(form) {
				meant := id
				for _, slot := range v.slots {
					if with, ok := h.hassIntents[h.s.intent+" "+slot]; ok {
						meant = with
					}
				}
				found = h.add(meant, v, sentence{text: h.s.text, classes: v.of(of[id]), not: not, all: h.s.all}) || found
			}
		}
	}
	if found {
		return ""
	}
	return h.lacks(of)
}

// lacks says why no form of a sentence has a meaning here.
func (h *hassReader) lacks(of map[string][]string) string {
	for _, p := range h.gaps {
		switch list, known := h.scope.lists[p.text]; {
		case known && !list.ranged && list.values == nil:
			return "a wildcard would take any words"
		case h.hassSlots[p.name] == "" && h.hassSlots[h.s.intent+" "+p.name] == "" && h.hassIntents[h.s.intent] != "":
			return fmt.Sprintf("no words here for {%s}", p.name)
		}
	}
	if _, none := of[""]; len(of) == 0 || none && len(of) == 1 {
		return "no capability here for their intent or kind of device"
	}
	return "they are a bare name, forbid, or do not say all that the deed needs"
}

// add puts a form to the capability.
func (h *hassReader) add(id string, v hassForm, s sentence) bool {
	id, s.quantity, _ = strings.Cut(id, "/")
	i := slices.IndexFunc(h.list, func(c *capability) bool { return c.ID == id })
	if i < 0 || v.classes != nil && len(s.classes) == 0 || !h.fits(v, h.list[i]) {
		return false
	}
	own := h.hassForms[id]
	s.capability, s.args, s.within = h.list[i], v.args, v.within
	same := func(f hassForms) bool {
		return f.sentence.text == s.text && slices.Equal(f.sentence.args, s.args) && slices.Equal(f.sentence.classes, s.classes) && maps.Equal(f.sentence.within, s.within)
	}
	if n := slices.IndexFunc(own, same); n >= 0 {
		own[n].forms = append(own[n].forms, v.terms)
	} else {
		h.hassForms[id] = append(own, hassForms{&s, [][]term{v.terms}})
	}
	return true
}

// fits reports whether a form has a meaning here: its gaps do, it has all parameters of
// the capability and no others, it says more than a name, and it forbids nothing.
func (h *hassReader) fits(v hassForm, c *capability) bool {
	if checkForm(v.terms) != nil {
		return false
	}
	var said []lexicon.Token
	given := slices.Clone(v.args)
	for _, t := range v.terms {
		if t.kind == "" {
			said = append(said, lexicon.Token{Text: t.word, Folded: t.word})
		}
		if slices.Contains(amountKinds, t.kind) {
			given = given.Set(t.name, true)
		}
	}
	for i := range said {
		if h.words.Negations.Longest(said, i) > 0 && c.Effect != capabilities.Query {
			return false
		}
	}
	for _, p := range c.Parameters {
		if _, fixed := c.Args[p.Name]; fixed {
			continue
		}
		if _, ok := given.Get(p.Name); !ok && p.Type == "number" || !ok && c.Command == capabilities.Tint {
			return false
		}
	}
	for _, f := range given {
		if !slices.ContainsFunc(c.Parameters, func(p capabilities.Parameter) bool { return p.Name == f.Key }) {
			return false
		}
	}
	for _, f := range v.args {
		if slices.ContainsFunc(c.Parameters, func(p capabilities.Parameter) bool { return p.Name == f.Key && p.Outside(f.Value) != "" }) {
			return false
		}
	}
	return len(h.words.Bare(said)) > 0 || slices.ContainsFunc(v.terms, func(t term) bool { return t.kind == "percentage" })
}

// hassForm is a plain sentence with what its lists stand for.
type hassForm struct {
	terms   []term
	args    mess.Object
	slots   []string // that have a meaning of their own
	classes []string // of devices that a word of it names; nil if none does
	within  map[string]capabilities.Range
}

// of narrows the classes of a sentence to those that the form names.
func (v hassForm) of(classes []string) []string {
	if v.classes == nil {
		return classes
	}
	if len(classes) == 0 {
		return v.classes
	}
	return slices.DeleteFunc(slices.Clone(v.classes), func(class string) bool { return !slices.Contains(classes, class) })
}

// valued writes the lists of a form out.
func (h *hassReader) valued(form []term) []hassForm {
	list := []hassForm{{}}
	for _, t := range form {
		var next []hassForm
		for _, v := range list {
			for _, one := range h.gap(t) {
				with := hassForm{append(slices.Clip(v.terms), one.terms...), append(slices.Clip(v.args), one.args...), append(slices.Clip(v.slots), one.slots...), v.classes, v.within}
				if one.within != nil {
					with.within = lexicon.Merged(v.within, one.within)
				}
				if one.classes != nil {
					with.classes = one.classes
				}
				next = append(next, with)
			}
		}
		if list = next; len(list) > maxForms {
			return nil
		}
	}
	return list
}

// gap is what stands for a term here: of a gap with texts, each of them.
func (h *hassReader) gap(t term) []hassForm {
	as := func(kind, name string) []hassForm {
		return []hassForm{{terms: []term{{kind: kind, name: name}}, slots: []string{t.name}}}
	}
	list, known := h.scope.lists[t.kind]
	meant, ok := h.hassSlots[h.s.intent+" "+t.name]
	if !ok {
		meant, ok = h.hassSlots[t.name]
	}
	kind, name, _ := strings.Cut(meant, ":")
	switch {
	case t.kind == "":
		return []hassForm{{terms: []term{t}}}
	case !ok || t.kind == unmeant:
		return nil
	case !known || list.ranged:
		if kind == "words" || kind == "class" {
			return nil
		}
		forms := as(kind, name)
		if kind == "percentage" {
			forms[0].within = map[string]capabilities.Range{name: {Min: list.from, Max: list.to}}
		}
		return forms
	}
	var forms []hassForm
	for _, v := range list.values {
		texts, err := h.e.all(Template{hassParts(h.words, v.in)})
		if err != nil {
			continue
		}
		for _, text := range texts {
			one := hassForm{terms: text, slots: []string{t.name}}
			switch kind {
			case "words":
			case "class":
				if one.classes = h.classNamed(text); one.classes == nil {
					continue
				}
			default:
				value, ok := h.hassValue(name, v.out)
				if !ok {
					continue
				}
				one.args = mess.Object{{Key: name, Value: value}}
			}
			forms = append(forms, one)
		}
	}
	return forms
}

// hassValue is what a list means as a parameter: a number, or the name of a colour.
func (h *hassReader) hassValue(name string, out any) (any, bool) {
	if text, is := out.(string); is {
		hex, ok := h.lexicon.lists.Colours[strings.ToLower(text)]
		return hex, ok && name == "colour"
	}
	return out, name != "colour"
}

// classNamed are the classes that words name, nil if there are none.
func (h *hassReader) classNamed(words []term) (list []string) {
	for class, names := range h.classes {
		for _, name := range append([]string{lexicon.SpaceHyphens(class)}, names...) {
			if slices.EqualFunc(h.words.Tokens(name), words, func(t lexicon.Token, w term) bool { return t.Folded == w.word }) {
				list = append(list, class)
				break
			}
		}
	}
	slices.Sort(list)
	return list
}

// defined tells of rules and lists that a sentence uses and that are nowhere.
func (h *hassReader) defined(parts []part, seen map[string]bool) bool {
	ok := true
	for _, p := range parts {
		for _, alt := range p.alts {
			ok = h.defined(alt, seen) && ok
		}
		if p.kind == slotPart {
			h.gaps = append(h.gaps, p)
		}
		switch rule, known := h.e.rules[p.text]; {
		case p.kind == rulePart && !known:
			h.lacking("rule <%s> is not there; define it under expansion_rules", p.text)
			ok = false
		case p.kind == rulePart && !seen[p.text]:
			seen[p.text] = true
			ok = h.defined(rule.parts, seen) && ok
		case p.kind == slotPart && p.text != unmeant && p.text != "name" && p.text != "area" && p.text != "floor":
			if _, known := h.scope.lists[p.text]; !known {
				h.lacking("list {%s} is not there; define it under lists", p.text)
				ok = false
			}
		}
	}
	return ok
}

// lacking notes what a sentence uses and is nowhere.
func (h *hassReader) lacking(format, name string) {
	if h.lenient {
		h.missing = cmp.Or(h.missing, fmt.Sprintf(format, name))
		return
	}
	h.wrong("%s:%d: %s: sentence %q: "+format, h.s.file, h.s.line, h.s.intent, h.s.text, name)
}

// mergeSkips adds words that say nothing to the fillers.
func (b *builder) mergeSkips() {
	said := map[string]bool{}
	for _, list := range [][]string{b.words.Lists.Negations, b.words.Lists.Conditionals, b.words.Lists.Times, b.words.Lists.All, b.words.Lists.Joining, b.words.Lists.Stop} {
		for _, text := range list {
			said[text] = true
		}
	}
	for _, list := range b.lexicon.lists.Verbs {
		for _, text := range list {
			said[text] = true
		}
	}
	wishes := map[string]bool{}
	for name, list := range b.lexicon.lists.Signals {
		for _, text := range list {
			if slices.Contains(wishing, name) {
				wishes[text] = true
				continue
			}
			said[text] = said[text] || name != glue
		}
	}
	own := slices.Clone(b.words.Lists.Fillers)
	for _, s := range b.others.skips {
		text := strings.ToLower(strings.TrimSpace(s.text))
		switch {
		case slices.Contains(own, text):
		case (said[text] || len(b.words.Tokens(text)) == 0) && b.lenient:
			b.skipped = append(b.skipped, Skipped{fmt.Sprintf("%s:%d: skip_words: %q", s.file, s.line, s.text), "they say something here, and are never passed over"})
		case said[text] || len(b.words.Tokens(text)) == 0:
			b.wrong("%s:%d: skip_words: %q says something here, and is never left out; take it from the list", s.file, s.line, s.text)
		case wishes[text]: // it says that something is wished, and is read as that
		default:
			own = append(own, text)
		}
	}
	b.words.Lists.Fillers = own
}

// wishing are the signals of words that Home Assistant skips and that say here that
// something is wished.
var wishing = []string{"want", "could", "should"}
