package catalog

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/messkit/messkit/capabilities"
	"github.com/messkit/messkit/capabilities/grammar"
	"github.com/messkit/messkit/capabilities/lexicon"
	"github.com/messkit/messkit/mess"
)

// unmeant is the kind of a slot without a word here. The builder skips a form with one.
const unmeant = "?"

// mergeHass adds the sentences to their capabilities after the builder has read all files.
func (b *builder) mergeHass() {
	b.mergeSkips()
	if len(b.others.found) == 0 {
		return
	}
	b.words.Compile()
	base := hassScope{b.hassRules, b.hassLists}.with(b.others.shared)
	rules := map[string]grammar.Template{}
	for name, text := range base.rules {
		rules[name] = grammar.Template{Parts: hassParts(b.words, text)}
	}
	for _, s := range b.others.found {
		h := hassReader{builder: b, s: s, scope: base, e: grammar.Expander{Rules: rules, Fold: func(word string) string { return word }}}
		if len(s.scope.rules)+len(s.scope.lists) > 0 {
			h.scope, h.e.Rules = base.with(s.scope), maps.Clone(rules)
			for name, text := range s.scope.rules {
				h.e.Rules[name] = grammar.Template{Parts: hassParts(b.words, text)}
			}
		}
		if reason := h.read(); reason != "" {
			b.skipped = append(b.skipped, SkippedSentence{fmt.Sprintf("%s:%d: %s: %q", s.file, s.line, s.intent, s.text), reason})
		}
	}
}

// hassReader makes forms of one sentence.
type hassReader struct {
	*builder
	s     hassSentence
	scope hassScope
	e     grammar.Expander
	gaps  []grammar.Part // of the sentence and its rules

	missing string // the first undefined rule or list, where that is no mistake
}

// read adds the forms that have a meaning here. If there are none, it says why.
func (h *hassReader) read() (reason string) {
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
	forms, err := h.e.All(grammar.Template{Parts: parts})
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
				found = h.add(meant, v, grammar.Pattern{Text: h.s.text, Classes: v.of(of[id]), Not: not, All: h.s.all}) || found
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
		switch list, known := h.scope.lists[p.Text]; {
		case known && !list.ranged && list.values == nil:
			return "a wildcard would take any words"
		case h.hassSlots[p.Name] == "" && h.hassSlots[h.s.intent+" "+p.Name] == "" && h.hassIntents[h.s.intent] != "":
			return fmt.Sprintf("no words here for {%s}", p.Name)
		}
	}
	if _, none := of[""]; len(of) == 0 || none && len(of) == 1 {
		return "no capability here for their intent or kind of device"
	}
	return "they are a bare name, forbid, or do not say all that the deed needs"
}

// add adds a form to the capability.
func (h *hassReader) add(id string, v hassForm, s grammar.Pattern) bool {
	id, s.Quantity, _ = strings.Cut(id, "/")
	i := slices.IndexFunc(h.list, func(c *grammar.Capability) bool { return c.ID == id })
	if i < 0 || v.classes != nil && len(s.Classes) == 0 || !h.fits(v, h.list[i]) {
		return false
	}
	own := h.hassForms[id]
	s.Capability, s.Args, s.Within = h.list[i], v.args, v.within
	same := func(f hassForms) bool {
		return f.sentence.Text == s.Text && slices.Equal(f.sentence.Args, s.Args) && slices.Equal(f.sentence.Classes, s.Classes) && maps.Equal(f.sentence.Within, s.Within)
	}
	if n := slices.IndexFunc(own, same); n >= 0 {
		own[n].forms = append(own[n].forms, v.terms)
	} else {
		h.hassForms[id] = append(own, hassForms{&s, [][]grammar.Term{v.terms}})
	}
	return true
}

// fits reports whether a form has a meaning here. Its slots must have one, and its parameters
// must be exactly those of the capability. It must have more than a name, and forbid nothing.
func (h *hassReader) fits(v hassForm, c *grammar.Capability) bool {
	if checkForm(v.terms) != nil {
		return false
	}
	var formWords []lexicon.Token
	given := slices.Clone(v.args)
	for _, t := range v.terms {
		if t.Kind == "" {
			formWords = append(formWords, lexicon.Token{Text: t.Word, Folded: t.Word})
		}
		if slices.Contains(grammar.AmountKinds, t.Kind) {
			given = given.Set(t.Name, true)
		}
	}
	for i := range formWords {
		if h.words.Negations.Longest(formWords, i) > 0 && c.Effect != capabilities.Query {
			return false
		}
	}
	for _, p := range c.Parameters {
		if _, fixed := c.Args[p.Name]; fixed {
			continue
		}
		if _, ok := given.Get(p.Name); !ok && p.Type == "number" || !ok && c.Command == capabilities.SetColor {
			return false
		}
	}
	for _, f := range given {
		if !slices.ContainsFunc(c.Parameters, func(p capabilities.Parameter) bool { return p.Name == f.Key }) {
			return false
		}
	}
	for _, f := range v.args {
		if slices.ContainsFunc(c.Parameters, func(p capabilities.Parameter) bool { return p.Name == f.Key && p.RangeError(f.Value) != "" }) {
			return false
		}
	}
	return len(h.words.Bare(formWords)) > 0 || slices.ContainsFunc(v.terms, func(t grammar.Term) bool { return t.Kind == "percentage" })
}

// hassForm is a plain sentence with the values of its lists.
type hassForm struct {
	terms   []grammar.Term
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

// valued expands the lists of a form.
func (h *hassReader) valued(form []grammar.Term) []hassForm {
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
		if list = next; len(list) > grammar.MaxForms {
			return nil
		}
	}
	return list
}

// gap returns the forms of a term: for a slot with texts, one for each text.
func (h *hassReader) gap(t grammar.Term) []hassForm {
	as := func(kind, name string) []hassForm {
		return []hassForm{{terms: []grammar.Term{{Kind: kind, Name: name}}, slots: []string{t.Name}}}
	}
	list, known := h.scope.lists[t.Kind]
	meant, ok := h.hassSlots[h.s.intent+" "+t.Name]
	if !ok {
		meant, ok = h.hassSlots[t.Name]
	}
	kind, name, _ := strings.Cut(meant, ":")
	switch {
	case t.Kind == "":
		return []hassForm{{terms: []grammar.Term{t}}}
	case !ok || t.Kind == unmeant:
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
		texts, err := h.e.All(grammar.Template{Parts: hassParts(h.words, v.in)})
		if err != nil {
			continue
		}
		for _, text := range texts {
			one := hassForm{terms: text, slots: []string{t.Name}}
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

// hassValue returns the meaning of a list as a parameter: a number, or the name of a color.
func (h *hassReader) hassValue(name string, out any) (any, bool) {
	if text, is := out.(string); is {
		hex, ok := h.lexicon.Lists.Colors[strings.ToLower(text)]
		return hex, ok && name == "colour"
	}
	return out, name != "colour"
}

// classNamed returns the classes that words name, or nil if there are none.
func (h *hassReader) classNamed(words []grammar.Term) (list []string) {
	for class, names := range h.classes {
		for _, name := range append([]string{lexicon.SpaceHyphens(class)}, names...) {
			if slices.EqualFunc(h.words.Tokens(name), words, func(t lexicon.Token, w grammar.Term) bool { return t.Folded == w.Word }) {
				list = append(list, class)
				break
			}
		}
	}
	slices.Sort(list)
	return list
}

// defined reports whether the files define all rules and lists of a sentence.
func (h *hassReader) defined(parts []grammar.Part, seen map[string]bool) bool {
	ok := true
	for _, p := range parts {
		for _, alt := range p.Alts {
			ok = h.defined(alt, seen) && ok
		}
		if p.Kind == grammar.SlotPart {
			h.gaps = append(h.gaps, p)
		}
		switch rule, known := h.e.Rules[p.Text]; {
		case p.Kind == grammar.RulePart && !known:
			h.lacking("rule <%s> is not there; define it under expansion_rules", p.Text)
			ok = false
		case p.Kind == grammar.RulePart && !seen[p.Text]:
			seen[p.Text] = true
			ok = h.defined(rule.Parts, seen) && ok
		case p.Kind == grammar.SlotPart && p.Text != unmeant && p.Text != "name" && p.Text != "area" && p.Text != "floor":
			if _, known := h.scope.lists[p.Text]; !known {
				h.lacking("list {%s} is not there; define it under lists", p.Text)
				ok = false
			}
		}
	}
	return ok
}

// lacking notes an undefined rule or list of a sentence.
func (h *hassReader) lacking(format, name string) {
	if h.lenient {
		h.missing = cmp.Or(h.missing, fmt.Sprintf(format, name))
		return
	}
	h.addError("%s:%d: %s: sentence %q: "+format, h.s.file, h.s.line, h.s.intent, h.s.text, name)
}

// mergeSkips adds words without a meaning to the fillers.
func (b *builder) mergeSkips() {
	meaningful := map[string]bool{}
	for _, list := range [][]string{b.words.Lists.Negations, b.words.Lists.Conditionals, b.words.Lists.Times, b.words.Lists.All, b.words.Lists.Joining, b.words.Lists.Stop} {
		for _, text := range list {
			meaningful[text] = true
		}
	}
	for _, list := range b.lexicon.Lists.Verbs {
		for _, text := range list {
			meaningful[text] = true
		}
	}
	wishes := map[string]bool{}
	for name, list := range b.lexicon.Lists.Signals {
		for _, text := range list {
			if slices.Contains(wishing, name) {
				wishes[text] = true
				continue
			}
			meaningful[text] = meaningful[text] || name != FunctionWord
		}
	}
	own := slices.Clone(b.words.Lists.Fillers)
	for _, s := range b.others.skips {
		text := strings.ToLower(strings.TrimSpace(s.text))
		switch {
		case slices.Contains(own, text):
		case (meaningful[text] || len(b.words.Tokens(text)) == 0) && b.lenient:
			b.skipped = append(b.skipped, SkippedSentence{fmt.Sprintf("%s:%d: skip_words: %q", s.file, s.line, s.text), "they mean something here, so the interpreter never skips them"})
		case meaningful[text] || len(b.words.Tokens(text)) == 0:
			b.addError("%s:%d: skip_words: %q has a meaning here, and the interpreter never skips it; remove it from the list", s.file, s.line, s.text)
		case wishes[text]: // it expresses a wish, and the frames read it as one
		default:
			own = append(own, text)
		}
	}
	b.words.Lists.Fillers = own
}

// wishing are the features of words that Home Assistant skips and that express a wish here.
var wishing = []string{"want", "could", "should"}
