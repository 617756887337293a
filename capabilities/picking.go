package capabilities

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"github.com/messkit/messkit/mess"
)

// picker reads the answer to one question.
type picker struct {
	*Resolver
	q    Question
	said map[string]bool // folded words of the request, which an answer may say again
}

func (r *Resolver) picker(q Question, req mess.Request) picker {
	p := picker{r, q, map[string]bool{}}
	if len(req.Intent) <= maxText {
		w := r.catalogue.words
		tokens := w.tokens(req.Intent)
		for i, t := range tokens {
			p.said[t.folded] = w.negation.longest(tokens, i) == 0 && w.conditional.longest(tokens, i) == 0 && w.ruledOut.longest(tokens, i) == 0
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
	return w.whole(w.noneOf, tokens) || w.whole(w.no, tokens)
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
	return distinct(picked)
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
	if slices.Equal(options, []string{"yes", "no"}) {
		return p.yesNo(text)
	}
	if i := slices.Index(options, noneOf); i >= 0 {
		switch yes, no, _ := p.catalogue.MatchYesNo(text); {
		case w.whole(w.noneOf, tokens), no:
			return []string{noneOf}
		case yes && i == 1:
			return options[:1]
		}
	}
	if d := w.length(tokens); d > 0 && strings.TrimRight(p.q.Field, "_0123456789") == forField {
		return []string{spoken(d)}
	}
	if char, _ := p.sign(text); char != "" || w.asks(text, tokens) {
		return nil // who asks back or draws has not picked
	}
	for _, o := range options {
		if slices.Equal(folded(w.tokens(o)), folded(tokens)) {
			return []string{o}
		}
	}
	if n := w.yes.longest(tokens, 0); n > 0 && n < len(tokens) { // "yes, the kitchen"
		tokens = tokens[n:]
	}
	if some := p.part(tokens); len(some) > 0 {
		return some
	}
	return p.parts(tokens)
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
	return slices.DeleteFunc(slices.Clone(p.q.Options), func(o string) bool { return o == "both" || o == "all" || o == noneOf })
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

// parts reads an answer part by part: what it names is picked, and what stands behind
// "not" is not: "not the kitchen one, the other one". What only says which is not meant
// picks nothing.
func (p picker) parts(tokens []token) []string {
	w := p.catalogue.words
	var picked, denied []string
	others := false
	for i := 0; i < len(tokens); {
		not := w.ruledOut.longest(tokens, i)
		if len(picked) > 0 && (not > 0 && tokens[i].text == "no" || i > 0 && p.catalogue.context.correcting.longest(tokens, i) > 0) {
			return nil // "hall, no, kitchen": it is asked again
		}
		i += not
		end := i
		for end < len(tokens) && (end == i && not == 0 || !tokens[end].pause) && w.joining.longest(tokens, end) == 0 && w.ruledOut.longest(tokens, end) == 0 {
			end++
		}
		part := tokens[i:end]
		i = end
		for n := 1; n > 0 && i < len(tokens); i += n {
			n = w.joining.longest(tokens, i)
		}
		which := p.part(part)
		switch {
		case not == 0 && len(w.bare(part)) == 0: // "please"
		case not > 0 && len(part) == 0 && len(picked) > 0: // "both not"
			return nil
		case not > 0 && (len(part) == 0 || w.whole(w.referring, w.unpicking(part))): // "no, ..." and "not that one"
		case not > 0 && len(which) > 0:
			denied = append(denied, which...)
		case not == 0 && w.whole(w.rest, w.unpicking(part)):
			others = true
		case not == 0 && len(which) > 0:
			picked = append(picked, which...)
		default:
			return nil
		}
	}
	return p.less(picked, denied, others)
}

// less are the options that were picked, without those that were ruled out. "The other
// one" is the one that is left then.
func (p picker) less(picked, denied []string, others bool) []string {
	every := slices.Equal(picked, p.every())
	if every && len(denied) > 0 {
		picked = p.single()
	}
	if others {
		left := slices.DeleteFunc(p.single(), func(o string) bool { return slices.Contains(denied, o) || slices.Contains(picked, o) })
		if len(denied)+len(picked) == 0 || len(left) != 1 {
			return nil
		}
		picked = append(picked, left...)
	}
	kept := slices.DeleteFunc(slices.Clone(picked), func(o string) bool { return slices.Contains(denied, o) })
	if !every && len(kept) < len(picked) { // it says both of one
		return nil
	}
	return distinct(kept)
}

// part finds the options that one part of an answer means.
func (p picker) part(tokens []token) []string {
	w := p.catalogue.words
	if len(tokens) == 0 {
		return nil
	}
	n := w.all.longest(tokens, 0)
	if w.whole(w.every, tokens) || n > 0 && p.common(tokens[n:]) {
		if count := w.Counts[tokens[0].text]; count > 0 && count != len(p.single()) {
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
// pick. Of the options count are single ones.
func (w *words) byNumber(options []string, count int, tokens []token) []string {
	n, to := 0, 0
	for i := 0; i < len(tokens); i++ {
		k := w.numberOf(tokens[i])
		switch {
		case n == 0 && w.last.longest(tokens, i) > 0:
			n = count
		case k > 0 && n == 0:
			n = k
		case k > 0 && tokens[i].text == "one": // "the second one"
		case k > 1 && n == 1 && to == 0 && tokens[i-1].text == w.Ordinals[0]: // "the first two"
			to = k
		case w.filler.longest(tokens, i) > 0 || w.picking.longest(tokens, i) > 0:
		default:
			return nil
		}
	}
	if to = max(to, n); n < 1 || to > len(options) || to > n && to > count {
		return nil
	}
	return slices.Clone(options[n-1 : to])
}

func (w *words) numberOf(t token) int {
	if i := slices.Index(w.Ordinals, t.text); i >= 0 {
		return i + 1
	}
	if n, err := strconv.Atoi(t.text); err == nil {
		return n
	}
	if n, ok := w.Numbers[t.text]; ok && w.filler.longest([]token{t}, 0) == 0 {
		return int(n)
	}
	return 0
}

// unpicking are the words without those that only help to pick: "that one" is "that".
func (w *words) unpicking(tokens []token) []token {
	return slices.DeleteFunc(w.bare(tokens), func(t token) bool {
		one := []token{t}
		return w.picking.longest(one, 0) > 0 && w.referring.longest(one, 0) == 0
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
	some := false
	for i := 0; i < len(tokens); {
		if known[tokens[i].folded] {
			some = some || w.filler.longest(tokens, i) == 0
			i++
			continue
		}
		n := max(w.filler.longest(tokens, i), w.picking.longest(tokens, i), w.near.longest(tokens, i))
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
func (r *Resolver) about(option string) string {
	var more []string
	for d, dev := range r.home.Devices {
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
