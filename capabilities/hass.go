package capabilities

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/messkit/messkit/internal/strictyaml"
)

// isHass reports whether a file is one of Home Assistant's: it has intents, or what
// the files of a language share.
func isHass(v *strictyaml.Value) bool {
	for _, key := range []string{"intents", "expansion_rules", "lists", "skip_words", "language"} {
		if v.Get(key) != nil {
			return true
		}
	}
	return false
}

// hass reads a file of Home Assistant's intents project, in either layout: an
// intent has data, each with sentences, or it has the sentences alone. Its
// sentences are added to the capability that the intent stands for (hass in
// the files); those with slots, rules or intents that nobody here knows are left
// out, and noted: to take the sentence and drop the slot would be to drop a word.
func (b *builder) hass(name string, root *strictyaml.Value) {
	b.hassRulesOf(name, root.Get("expansion_rules"), func(rule, text string) { b.hassRules[rule] = text })
	if words := root.Get("skip_words"); words != nil {
		b.hassSkip(name, words)
	}
	if v := root.Get("intents"); v != nil && v.Kind != strictyaml.Map {
		b.wrong("%s:%d: intents: no mapping; write each intent with its data", name, v.Line)
	}
	for _, intent := range pairs(root.Get("intents")) {
		b.hassSentences(hassSentence{file: name, intent: intent.Key}, intent.Value)
	}
}

// hassRulesOf takes up rules, of a file or beside sentences. One that has no meaning here
// is empty, so that no other of its name is taken for it.
func (b *builder) hassRulesOf(file string, rules *strictyaml.Value, yield func(name, text string)) {
	for _, p := range pairs(rules) {
		if p.Value.Kind != strictyaml.String || !balanced(p.Value.Text) {
			b.wrong("%s:%d: expansion_rules: %s: %q is no template; close its brackets", file, p.Line, p.Key, p.Value.Text)
			continue
		}
		text, ok := hassTemplate(p.Value.Text)
		if !ok {
			text = ""
		}
		yield(strings.ToLower(p.Key), text)
	}
}

// hassSkip takes up words that say nothing. One that says something here is none of
// those, whatever a file says.
func (b *builder) hassSkip(name string, list *strictyaml.Value) {
	if list.Kind != strictyaml.List {
		b.wrong("%s:%d: skip_words: no list; write one text a line", name, list.Line)
		return
	}
	for _, one := range list.List {
		if one.Kind != strictyaml.String {
			b.wrong("%s:%d: skip_words: no text", name, one.Line)
			continue
		}
		b.hassSkips = append(b.hassSkips, hassSentence{file: name, line: one.Line, text: one.Text})
	}
}

// hassSentence is a sentence as a file has it, with the classes of devices that it
// is for, and not for.
type hassSentence struct {
	file, intent, text string
	line               int
	classes, not       []string
	unknown            string            // what of its context has no meaning here
	rules              map[string]string // that stand beside it, and count there alone
}

func pairs(v *strictyaml.Value) []strictyaml.Pair {
	if v == nil || v.Kind != strictyaml.Map {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(v.Pairs), func(p strictyaml.Pair) bool { return p.Value == nil })
}

// hassSentences takes up the texts below an intent, whatever the layout.
func (b *builder) hassSentences(s hassSentence, v *strictyaml.Value) {
	switch {
	case v == nil:
	case v.Kind == strictyaml.String:
		s.text, s.line = v.Text, v.Line
		if !balanced(s.text) {
			b.wrong("%s:%d: %s: sentence %q: a bracket is not closed, or closed twice", s.file, s.line, s.intent, s.text)
			return
		}
		b.hassFound = append(b.hassFound, s)
	case v.Kind == strictyaml.List:
		for _, one := range v.List {
			b.hassSentences(s, one)
		}
	case v.Kind == strictyaml.Map:
		for _, p := range slices.Concat(pairs(v.Get("requires_context")), pairs(v.Get("slots"))) {
			s.context(&s.classes, p)
		}
		for _, p := range pairs(v.Get("excludes_context")) {
			s.context(&s.not, p)
		}
		s.rules = maps.Clone(s.rules)
		b.hassRulesOf(s.file, v.Get("expansion_rules"), func(name, text string) {
			if s.rules == nil {
				s.rules = map[string]string{}
			}
			s.rules[name] = text
		})
		b.hassSentences(s, v.Get("data"))
		b.hassSentences(s, v.Get("sentences"))
	default:
		b.wrong("%s:%d: %s: neither a sentence nor a list of them", s.file, v.Line, s.intent)
	}
}

// context notes domains; what else a context may say has no meaning here, and where
// it excludes something it must have one.
func (s *hassSentence) context(domains *[]string, p strictyaml.Pair) {
	if p.Key != "domain" {
		s.unknown = p.Key
		return
	}
	list := []*strictyaml.Value{p.Value}
	if p.Value.Kind == strictyaml.List {
		list = p.Value.List
	}
	*domains = slices.Clip(*domains)
	for _, one := range list {
		*domains = append(*domains, one.Text)
	}
}

// classesOf are the classes of domains; known is false where there is one that
// nobody here knows.
func (b *builder) classesOf(domains []string) (classes []string, known bool) {
	known = true
	for _, domain := range domains {
		list, ok := b.hassDomains[domain]
		classes, known = append(classes, list...), known && ok
	}
	return classes, known
}

// balanced reports whether all brackets of a template are closed, in order.
func balanced(text string) bool {
	var open []byte
	for i := range len(text) {
		switch c := text[i]; c {
		case '(', '[', '{', '<':
			open = append(open, c)
		case ')', ']', '}', '>':
			if len(open) == 0 || strings.IndexByte("([{<", open[len(open)-1]) != strings.IndexByte(")]}>", c) {
				return false
			}
			open = open[:len(open)-1]
		}
	}
	return len(open) == 0
}

// mergeHass adds the sentences to their capabilities, when all files are read.
func (b *builder) mergeHass() {
	b.mergeSkips()
	if len(b.hassFound) == 0 {
		return
	}
	e := expander{rules: map[string]Template{}, fold: b.words.fold}
	for name, text := range b.hassRules {
		if t, err := ParseTemplate(text); err == nil && text != "" {
			e.rules[name] = t
		}
	}
	shared := e.rules
	for _, s := range b.hassFound {
		if e.rules = shared; len(s.rules) > 0 {
			e.rules = maps.Clone(shared)
			for name, text := range s.rules {
				delete(e.rules, name)
				if t, err := ParseTemplate(text); err == nil && text != "" {
					e.rules[name] = t
				}
			}
		}
		i := slices.IndexFunc(b.list, func(c *capability) bool { return c.ID == b.hassIntents[s.intent] })
		text, ok := hassTemplate(s.text)
		classes, known := b.classesOf(s.classes)
		s.classes, ok = classes, ok && known
		s.not, _ = b.classesOf(s.not) // what is not here need not be excluded
		if !ok || i < 0 || s.unknown != "" || !b.hassFits(e, text) {
			b.skipped = append(b.skipped, fmt.Sprintf("%s:%d: %s: %q", s.file, s.line, s.intent, s.text))
			continue
		}
		s.text = hassInline(text, merged(b.hassRules, s.rules))
		own := *b.list[i] // the list may hold entries of the embedded files
		own.hass = append(slices.Clip(own.hass), s)
		b.list[i] = &own
	}
}

// mergeSkips adds words that say nothing to the fillers.
func (b *builder) mergeSkips() {
	said := map[string]bool{}
	for _, list := range [][]string{b.words.Negations, b.words.Conditionals, b.words.Times, b.words.All, b.words.Joining, b.words.Stop} {
		for _, text := range list {
			said[text] = true
		}
	}
	for _, list := range b.lexicon.Verbs {
		for _, text := range list {
			said[text] = true
		}
	}
	for name, list := range b.lexicon.Signals {
		for _, text := range list {
			said[text] = said[text] || name != glue
		}
	}
	own := slices.Clone(b.words.Fillers)
	for _, s := range b.hassSkips {
		text := strings.ToLower(strings.TrimSpace(s.text))
		switch {
		case slices.Contains(own, text):
		case said[text] || len(b.words.tokens(text)) == 0:
			b.wrong("%s:%d: skip_words: %q says something here, and is never left out; take it from the list", s.file, s.line, s.text)
		default:
			own = append(own, text)
		}
	}
	b.words.Fillers = own
}

// hassFits reports whether a sentence has a meaning here.
func (b *builder) hassFits(e expander, text string) bool {
	t, err := ParseTemplate(text)
	if err != nil {
		return false
	}
	forms, err := e.all(t)
	return err == nil && !slices.ContainsFunc(forms, func(form []term) bool { return checkForm(form) != nil })
}

var hassRule = regexp.MustCompile(`<([^<>]*)>`)

// hassInline puts rules into a sentence: their names are those of the file alone.
func hassInline(text string, rules map[string]string) string {
	for range maxDepth {
		next := hassRule.ReplaceAllStringFunc(text, func(ref string) string { return "(" + rules[ref[1:len(ref)-1]] + ")" })
		if next == text {
			break
		}
		text = next
	}
	return text
}

var (
	hassEnding = regexp.MustCompile(`([a-z]+)\[([a-z]+)\]`)
	hassSpaces = regexp.MustCompile(`\s+`)
	hassSlots  = strings.NewReplacer("{name}", "{device}", "<name>", "{device}", "<area>", "{area}", "[the]", "", "[<the>]", "", "<the>", "", "what's", "what is", "?", "", ".", "", ",", "")
)

// hassTemplate writes a sentence of Home Assistant as one of ours; false where it
// has what there is no word for here.
func hassTemplate(text string) (string, bool) {
	text = hassSlots.Replace(strings.ToLower(text))
	text = hassEnding.ReplaceAllString(text, "($1|$1$2)")
	text = hassSpaces.ReplaceAllString(strings.TrimSpace(text), " ")
	text = strings.NewReplacer("( ", "(", " )", ")", "[ ", "[", " ]", "]", "| ", "|", " |", "|", "; ", ";", " ;", ";").Replace(text)
	return text, text != "" && !strings.ContainsAny(text, "'’")
}
