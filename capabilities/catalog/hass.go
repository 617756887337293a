package catalog

import (
	"path"
	"slices"
	"strings"

	"github.com/messkit/messkit/capabilities/grammar"
	"github.com/messkit/messkit/capabilities/lexicon"
	"github.com/messkit/messkit/internal/strictyaml"
)

// hassFiles holds the content of Home Assistant's files.
type hassFiles struct {
	shared hassScope
	found  []hassSentence
	skips  []hassSentence // words without a meaning
}

// hassScope holds the rules and lists that sentences may use: those of all files, or those next
// to the sentences.
type hassScope struct {
	rules map[string]string
	lists map[string]hassList
}

// with returns the scope with more in it.
func (s hassScope) with(more hassScope) hassScope {
	return hassScope{lexicon.Merged(s.rules, more.rules), lexicon.Merged(s.lists, more.lists)}
}

// hassSentence is a sentence of a file, with the domains of devices that it includes and
// excludes.
type hassSentence struct {
	file, intent, text string
	line               int
	domains, not       []string
	all                bool      // it is for all devices of the place
	unknown            string    // a key of its context without a meaning here
	scope              hassScope // the local rules and lists next to the sentence
}

// hassForms are the meanings of a sentence with one capability and its parameters.
type hassForms struct {
	sentence *grammar.Pattern
	forms    [][]grammar.Term
}

// isHass reports whether a file is one of Home Assistant's: it has intents or sentences, or
// the shared content of a language.
func isHass(v *strictyaml.Value) bool {
	for _, key := range []string{"intents", "expansion_rules", "lists", "skip_words", "sentences", "data"} {
		if v.Get(key) != nil {
			return true
		}
	}
	return false
}

// hass reads a file of Home Assistant's intents project: intents with their data or sentences, or
// in a folder with the name of the intent only the sentences. It adds the sentences to the
// capabilities of the intents (hass in the files). It skips and notes a sentence with an unknown
// slot or intent, because the interpreter must not drop a word. The argument at is the path of
// the file in its tree, and name is its path in messages.
func (b *builder) hass(at, name string, root *strictyaml.Value) {
	if !b.hassLanguage(name, root.Get("language")) {
		return
	}
	b.others.shared = b.others.shared.with(b.hassScopeOf(name, root))
	if words := root.Get("skip_words"); words != nil {
		b.hassSkip(name, words)
	}
	if v := root.Get("intents"); v != nil && v.Kind != strictyaml.Map {
		b.addError("%s:%d: intents: no mapping; write each intent with its data", name, v.Line)
	}
	for _, intent := range pairs(root.Get("intents")) {
		b.hassSentences(hassSentence{file: name, intent: intent.Key}, intent.Value)
	}
	if root.Get("sentences") == nil && root.Get("data") == nil {
		return
	}
	s := hassSentence{file: name, intent: path.Base(path.Dir(at))}
	if s.intent == "." {
		b.addError("%s:%d: the intent of these sentences is unknown; put the file into a folder of its name, or write intents", name, root.Line)
		return
	}
	kind := strings.TrimSuffix(path.Base(at), ".yaml") // area_domain_light
	if domain := kind[strings.LastIndexByte(kind, '_')+1:]; b.hassDomains[domain] != nil {
		s.domains = []string{domain}
	}
	b.hassSentences(s, root)
}

// hassLanguage notes a file in another language than the words of the catalog.
func (b *builder) hassLanguage(name string, v *strictyaml.Value) bool {
	if v == nil || v.Kind == strictyaml.Null {
		return true
	}
	language, _, _ := strings.Cut(strings.ReplaceAll(v.Text, "_", "-"), "-")
	if v.Kind != strictyaml.String || !strings.EqualFold(language, b.words.Lists.Language) {
		b.addError("%s:%d: language: %q is not that of the words here, %q; take the file away, or bring words of that language (language: in agent: words)", name, v.Line, v.Text, b.words.Lists.Language)
		return false
	}
	return true
}

// hassScopeOf reads the rules and lists of a file, or those next to sentences.
func (b *builder) hassScopeOf(file string, v *strictyaml.Value) hassScope {
	s := hassScope{map[string]string{}, map[string]hassList{}}
	if rules := v.Get("expansion_rules"); rules != nil && rules.Kind != strictyaml.Map {
		b.addError("%s:%d: expansion_rules: no mapping; write each rule with its template", file, rules.Line)
	}
	for _, p := range pairs(v.Get("expansion_rules")) {
		if p.Value.Kind != strictyaml.String || !balanced(p.Value.Text) {
			b.addError("%s:%d: expansion_rules: %s: %q is no template; close its brackets", file, p.Line, p.Key, p.Value.Text)
			continue
		}
		s.rules[strings.ToLower(p.Key)] = p.Value.Text
	}
	if lists := v.Get("lists"); lists != nil && lists.Kind != strictyaml.Map {
		b.addError("%s:%d: lists: no mapping; write each list with its values or range", file, lists.Line)
	}
	for _, p := range pairs(v.Get("lists")) {
		if list, ok := b.hassListOf(file, p); ok {
			s.lists[strings.ToLower(p.Key)] = list
		}
	}
	return s
}

// hassSkip reads words without a meaning. It ignores a word that has a meaning in the catalog.
func (b *builder) hassSkip(name string, list *strictyaml.Value) {
	if list.Kind != strictyaml.List {
		b.addError("%s:%d: skip_words: no list; write one text a line", name, list.Line)
		return
	}
	for _, one := range list.List {
		if one.Kind != strictyaml.String {
			b.addError("%s:%d: skip_words: no text", name, one.Line)
			continue
		}
		b.others.skips = append(b.others.skips, hassSentence{file: name, line: one.Line, text: one.Text})
	}
}

func pairs(v *strictyaml.Value) []strictyaml.Pair {
	if v == nil || v.Kind != strictyaml.Map {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(v.Pairs), func(p strictyaml.Pair) bool { return p.Value == nil })
}

// hassSentences reads the sentences below an intent in any layout.
func (b *builder) hassSentences(s hassSentence, v *strictyaml.Value) {
	switch {
	case v == nil:
	case v.Kind == strictyaml.String:
		s.text, s.line = v.Text, v.Line
		if !balanced(s.text) {
			b.addError("%s:%d: %s: sentence %q: a closing bracket is missing, or there is one too many", s.file, s.line, s.intent, s.text)
			return
		}
		b.others.found = append(b.others.found, s)
	case v.Kind == strictyaml.List:
		for _, one := range v.List {
			b.hassSentences(s, one)
		}
	case v.Kind == strictyaml.Map:
		b.hassContext(&s, v)
		if v.Get("intents") == nil && v.Get("language") == nil { // a file with intents or a language shares its rules and lists
			s.scope = s.scope.with(b.hassScopeOf(s.file, v))
		}
		if v.Get("data") == nil && v.Get("sentences") == nil {
			b.addError("%s:%d: %s: no sentences here; write sentences: with a list", s.file, v.Line, s.intent)
		}
		b.hassSentences(s, v.Get("data"))
		b.hassSentences(s, v.Get("sentences"))
	default:
		b.addError("%s:%d: %s: neither a sentence nor a list of them", s.file, v.Line, s.intent)
	}
}

// hassContext reads for which devices the sentences are. Other keys of a context have no
// meaning here.
func (b *builder) hassContext(s *hassSentence, v *strictyaml.Value) {
	for _, key := range []string{"requires_context", "excludes_context", "slots"} {
		one := v.Get(key)
		if one != nil && one.Kind != strictyaml.Map {
			b.addError("%s:%d: %s: %s: no mapping; write what it holds with its value", s.file, one.Line, s.intent, key)
		}
		for _, p := range pairs(one) {
			switch {
			case p.Key == "domain" && key == "excludes_context":
				s.not = append(slices.Clip(s.not), b.hassTexts(*s, p.Value)...)
			case p.Key == "domain":
				s.domains = b.hassTexts(*s, p.Value)
			case p.Key == "name" && key == "slots" && p.Value.Text == "all":
				s.all = true
			default:
				s.unknown = p.Key
			}
		}
	}
	for _, key := range []string{"inferred_domain", "name_domains"} {
		if one := v.Get(key); one != nil {
			s.domains = b.hassTexts(*s, one)
		}
	}
	if here := v.Get("context_area"); here != nil && here.Text == "true" {
		s.unknown = "context_area"
	}
}

// hassTexts reads a text or a list of texts.
func (b *builder) hassTexts(s hassSentence, v *strictyaml.Value) (list []string) {
	all := []*strictyaml.Value{v}
	if v.Kind == strictyaml.List {
		all = v.List
	}
	for _, one := range all {
		if one.Kind != strictyaml.String {
			b.addError("%s:%d: %s: no name of a domain", s.file, one.Line, s.intent)
			continue
		}
		list = append(list, one.Text)
	}
	return list
}

// balanced reports whether all brackets of a template have their closing bracket, in order.
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

// domainsOf returns the classes of devices of domains, by the capability of an intent with
// them. An unknown domain has none.
func (b *builder) domainsOf(intent string, domains []string) map[string][]string {
	of := map[string][]string{}
	for _, domain := range domains {
		if classes := b.hassDomains[domain]; len(classes) > 0 {
			meant := b.hassMeant(intent, domain)
			of[meant] = append(of[meant], classes...)
		}
	}
	return of
}

// hassMeant returns the capability of an intent with a domain or a slot, or "" if there is
// none.
func (b *builder) hassMeant(intent, with string) string {
	if id, ok := b.hassIntents[intent+" "+with]; ok {
		return id
	}
	return b.hassIntents[intent]
}
