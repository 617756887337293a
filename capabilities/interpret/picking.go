package interpret

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"github.com/messkit/messkit/capabilities"
	"github.com/messkit/messkit/mess"
)

// picker reads the answer to one question.
type picker struct {
	*Interpreter
	q    capabilities.Question
	said map[string]bool // folded words of the request, which an answer may say again
}

func (r *Interpreter) picker(q capabilities.Question, req mess.Request) picker {
	p := picker{r, q, map[string]bool{}}
	if len(req.Intent) <= maxText {
		w := r.catalogue.words
		tokens := w.tokens(req.Intent)
		for i, t := range tokens {
			p.said[t.folded] = w.Negations.longest(tokens, i) == 0 && w.Conditionals.longest(tokens, i) == 0 && w.RuledOut.longest(tokens, i) == 0
		}
	}
	return p
}

// takesNone reports whether an answer says that none of the options is meant.
func (p picker) takesNone(text string) bool {
	w := p.catalogue.words
	if len(text) > maxText || w.asks(text, w.tokens(text)) {
		return false
	}
	tokens := w.tokens(text)
	return w.whole(w.NoneOf, tokens) || w.whole(w.No, tokens)
}

// pick finds the options that an answer means, none if it fits none.
func (p picker) pick(raw any) []string {
	switch v := raw.(type) {
	case bool:
		return p.text(map[bool]string{true: "yes", false: "no"}[v])
	case json.Number:
		return p.text(string(v))
	case int:
		return p.text(strconv.Itoa(v))
	case string:
		return p.text(v)
	}
	list, ok := textsOf(raw)
	if !ok {
		return nil
	}
	var picked []string
	for _, one := range list {
		some := p.text(one)
		if len(some) == 0 {
			return nil
		}
		picked = append(picked, some...)
	}
	if picked = distinct(picked); len(picked) > 1 && (slices.Equal(p.q.Options, capabilities.YesOrNo) || slices.Contains(picked, capabilities.NoneOfThese)) { // yes and no
		return nil
	}
	return picked
}

// text finds the options that a text means: an option word for word, a yes or no, or
// what says which of them.
func (p picker) text(text string) []string {
	w, options := p.catalogue.words, p.q.Options
	if len(text) > maxText {
		return nil
	}
	tokens := w.tokens(text)
	if len(tokens) == 0 || p.catalogue.stops(text) {
		return nil
	}
	for _, o := range options {
		if strings.EqualFold(strings.TrimSpace(text), o) {
			return []string{o}
		}
	}
	if slices.Equal(options, capabilities.YesOrNo) {
		return p.yesNo(text)
	}
	if i := slices.Index(options, capabilities.NoneOfThese); i >= 0 {
		switch yes, no, _ := p.catalogue.MatchYesNo(text); {
		case w.whole(w.NoneOf, tokens), no:
			return []string{capabilities.NoneOfThese}
		case yes && i == 1:
			return options[:1]
		}
	}
	if d := w.length(tokens); d > 0 && strings.TrimRight(p.q.Field, "_0123456789") == forField {
		return []string{capabilities.DurationText(d)}
	}
	if char, _ := p.sign(text); char != "" || w.asks(text, tokens) || strings.HasPrefix(strings.TrimSpace(text), "-") {
		return nil // who asks back or draws has not picked
	}
	for _, o := range options {
		if slices.Equal(folded(w.tokens(o)), folded(tokens)) {
			return []string{o}
		}
	}
	if said := folded(tokens); p.q.Field == amountField && len(options) > 0 && slices.Equal(said, folded(w.tokens(options[0]))[1:]) { // "30 percent" alone is how much
		return options[:1]
	}
	if n := w.Yes.longest(tokens, 0); n > 0 && n < len(tokens) { // "yes, the kitchen"
		tokens = tokens[n:]
	}
	if some := p.part(tokens); len(some) > 0 {
		return some
	}
	return p.parts(text, tokens)
}

func folded(tokens []token) []string {
	list := make([]string, len(tokens))
	for i, t := range tokens {
		list[i] = t.folded
	}
	return list
}

func (p picker) yesNo(text string) []string {
	switch yes, no, _ := p.catalogue.MatchYesNo(text); {
	case yes:
		return []string{"yes"}
	case no:
		return []string{"no"}
	}
	return nil
}

// single are the options without those that take all, or none.
func (p picker) single() []string {
	return slices.DeleteFunc(slices.Clone(p.q.Options), func(o string) bool { return o == "both" || o == "all" || o == capabilities.NoneOfThese })
}

// every is the option that takes all, if there is one, else all options.
func (p picker) every() []string {
	for _, o := range []string{"both", "all"} {
		if slices.Contains(p.q.Options, o) {
			return []string{o}
		}
	}
	return p.single()
}

// part finds the options that one part of an answer means.
func (p picker) part(tokens []token) []string {
	w := p.catalogue.words
	if len(tokens) == 0 {
		return nil
	}
	n := w.All.longest(tokens, 0)
	if w.whole(w.Every, tokens) || n > 0 && w.AnyOne.longest(tokens, 0) == 0 && p.common(tokens[n:]) {
		if count := w.lists.Counts[tokens[0].text]; count > 0 && count != len(p.single()) {
			return nil
		}
		return p.every()
	}
	if some := w.byNumber(p.q.Options, len(p.single()), tokens); len(some) > 0 {
		return some
	}
	if o := p.byWords(tokens); o != "" {
		return []string{o}
	}
	return nil
}

// common reports whether the words say something that holds for all options: "lights".
func (p picker) common(tokens []token) bool {
	for _, o := range p.single() {
		if !p.knownAll(o, tokens) {
			return false
		}
	}
	return true
}

// byNumber are the options that "2", "the second one", "the last" or "the first two"
// pick. Of the options count are single ones. What may be a count or a time picks
// nothing: "only two", "that one", "a second", and "2" of "2 percent or 20 percent".
func (w *words) byNumber(options []string, count int, tokens []token) []string {
	n, to := 0, 0
	counted, numbered := false, false
	for i := 0; i < len(tokens); i++ {
		k := w.numberOf(tokens[i])
		ordinal := slices.Contains(w.lists.Ordinals, tokens[i].text)
		switch {
		case n == 0 && w.Last.longest(tokens, i) > 0:
			n = count
		case k > 0 && n == 0 && ordinal:
			if n = k; i > 0 && w.lists.Numbers[tokens[i-1].text] == 1 { // "a second"
				return nil
			}
		case k > 0 && n == 0:
			n, counted = k, true
		case k > 0 && tokens[i].text == "one": // "the second one"
		case k > 1 && n == 1 && to == 0 && tokens[i-1].text == w.lists.Ordinals[0]: // "the first two"
			to = k
		case w.Fillers.longest(tokens, i) > 0 || w.Picking.longest(tokens, i) > 0:
			numbered = numbered || w.Numbering.longest(tokens, i) > 0
		default:
			return nil
		}
	}
	if counted && !numbered && (w.quantified(tokens) || w.numeric(options)) {
		return nil
	}
	if to = max(to, n); n < 1 || to > len(options) || to > n && to > count {
		return nil
	}
	return slices.Clone(options[n-1 : to])
}

// quantified reports whether a number among the words may be how many, or when: it is
// spelled out, or stands beside "the", "only", "at".
func (w *words) quantified(tokens []token) bool {
	for i, t := range tokens {
		if _, err := strconv.Atoi(t.text); err != nil && w.numberOf(t) > 0 || w.Amounting.longest(tokens, i) > 0 {
			return true
		}
	}
	return false
}

// numeric reports whether an option has a number of its own.
func (w *words) numeric(options []string) bool {
	return slices.ContainsFunc(options, func(o string) bool { return strings.ContainsAny(o, "0123456789") })
}

func (w *words) numberOf(t token) int {
	if i := slices.Index(w.lists.Ordinals, t.text); i >= 0 {
		return i + 1
	}
	if n, err := strconv.Atoi(t.text); err == nil {
		return n
	}
	if n, ok := w.lists.Numbers[t.text]; ok && w.Fillers.longest([]token{t}, 0) == 0 {
		return int(n)
	}
	return 0
}

// unpicking are the words without those that only help to pick: "that one" is "that".
func (w *words) unpicking(tokens []token) []token {
	return slices.DeleteFunc(w.bare(tokens), func(t token) bool {
		one := []token{t}
		return w.Picking.longest(one, 0) > 0 && w.Referring.longest(one, 0) == 0
	})
}

// byWords is the one option that has all words of the answer, with what is
// known of the thing it names; "" if none or several have.
func (p picker) byWords(tokens []token) string {
	found := ""
	for _, o := range p.q.Options {
		if !p.knownAll(o, tokens) {
			continue
		}
		if found != "" && p.q.Field == "context" && len(p.said) > 0 { // one of the two is what the request says
			p.said = nil
			return p.byWords(tokens)
		}
		if found != "" {
			return ""
		}
		found = o
	}
	return found
}

// knownAll reports whether every word is known of the option, helps to pick, or was in
// the request, and one at least is known of it.
func (p picker) knownAll(option string, tokens []token) bool {
	w, known := p.catalogue.words, map[string]bool{}
	for _, t := range w.tokens(option + " " + p.about(option)) {
		known[t.folded] = true
	}
	some, own := false, w.tokens(option)
	near := slices.ContainsFunc(own, func(t token) bool { return w.Near.longest([]token{t}, 0) > 0 }) // "by the stove"; a lamp by the hall may be in another room
	for i := 0; i < len(tokens); {
		if known[tokens[i].folded] {
			some = some || w.Fillers.longest(tokens, i) == 0
			i++
			continue
		}
		n := max(w.Fillers.longest(tokens, i), w.Picking.longest(tokens, i))
		if near {
			n = max(n, w.Near.longest(tokens, i))
		}
		if n > 0 && w.Clock.longest(tokens, i) == n && i+n < len(tokens) && w.numberOf(tokens[i+n]) > 0 { // "at one"
			return false
		}
		if n == 0 && p.said[tokens[i].folded] {
			n = 1
		}
		if n == 0 {
			return false
		}
		i += n
	}
	return some
}

// about are more words for what an option names: the area and aliases of a
// device, the note and room of a spot.
func (r *Interpreter) about(option string) string {
	var more []string
	lists := [][]int{r.index.spots[option]}
	for end := range len(option) + 1 {
		lists = append(lists, r.index.labels[option[:end]])
	}
	for _, d := range union(len(r.index.every), lists) {
		dev := &r.home.Devices[d]
		if strings.HasPrefix(option, r.label(d)) {
			more = append(append(more, dev.Name, dev.Area), dev.Aliases...)
			more = append(more, r.catalogue.classes[r.class[d]]...)
		}
		for _, s := range dev.Spots {
			if s.Name == option {
				more = append(more, s.Note)
			}
		}
	}
	return strings.Join(more, " ")
}
