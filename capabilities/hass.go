package capabilities

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/messkit/messkit/internal/strictyaml"
)

// hass reads a file of Home Assistant's intents project, in either layout: an
// intent has data, each with sentences, or it has the sentences alone. Its
// sentences are added to the capability that the intent stands for (hass in
// the files); those with slots, rules or intents that nobody here knows are left
// out, and noted.
func (b *builder) hass(name string, root *strictyaml.Value) {
	for _, p := range pairs(root.Get("expansion_rules")) {
		if t, ok := hassTemplate(p.Value.Text); ok {
			b.hassRules[p.Key] = t
		}
	}
	for _, intent := range pairs(root.Get("intents")) {
		for _, text := range hassSentences(intent.Value) {
			b.hassFound = append(b.hassFound, hassSentence{file: name, intent: intent.Key, text: text})
		}
	}
}

// hassSentence is a sentence as a file has it.
type hassSentence struct{ file, intent, text string }

func pairs(v *strictyaml.Value) []strictyaml.Pair {
	if v == nil || v.Kind != strictyaml.Map {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(v.Pairs), func(p strictyaml.Pair) bool { return p.Value == nil })
}

// hassSentences are the texts below an intent, whatever the layout. Data that
// counts only in a context, or with slots of its own, is for what messkit does
// not know.
func hassSentences(v *strictyaml.Value) []string {
	var list []string
	switch {
	case v == nil:
	case v.Kind == strictyaml.String:
		list = append(list, v.Text)
	case v.Kind == strictyaml.List:
		for _, one := range v.List {
			list = append(list, hassSentences(one)...)
		}
	case v.Get("requires_context") != nil || v.Get("slots") != nil:
	default:
		list = append(hassSentences(v.Get("data")), hassSentences(v.Get("sentences"))...)
	}
	return list
}

// merged adds the sentences to their capabilities, when all files are read.
func (b *builder) mergeHass() {
	if len(b.hassFound) == 0 {
		return
	}
	e := expander{rules: map[string]Template{}, fold: b.words.fold}
	for name, text := range b.hassRules {
		if t, err := ParseTemplate(text); err == nil {
			e.rules[name] = t
		}
	}
	for _, s := range b.hassFound {
		id := b.hassIntents[s.intent]
		i := slices.IndexFunc(b.list, func(c *capability) bool { return c.ID == id })
		text, ok := hassTemplate(s.text)
		if ok && i >= 0 {
			ok = b.hassFits(e, text)
		}
		if !ok || i < 0 {
			b.skipped = append(b.skipped, fmt.Sprintf("%s: %s: %q", s.file, s.intent, s.text))
			continue
		}
		own := *b.list[i] // the list may hold entries of the embedded files
		own.Sentences = append(slices.Clone(own.Sentences), hassInline(text, b.hassRules))
		b.list[i] = &own
	}
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
	text = strings.NewReplacer("( ", "(", " )", ")", "[ ", "[", " ]", "]", "| ", "|", " |", "|").Replace(text)
	return text, text != "" && !strings.ContainsAny(text, ";'’")
}
