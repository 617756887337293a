package reply

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"github.com/messkit/messkit/capabilities"
	"github.com/messkit/messkit/capabilities/entity"
	"github.com/messkit/messkit/capabilities/lexicon"
	"github.com/messkit/messkit/mess"
)

// AmountField is the field of a question whether an amount is a value or a difference.
const AmountField = "amount"

// ForField is the field of a question about a duration.
const ForField = "for"

// Matcher reads the answers to one question.
type Matcher struct {
	*entity.Home
	question     capabilities.Clarification
	requestWords map[string]bool // folded words of the request, which an answer may say again
}

// NewMatcher returns a matcher for the answers to a question about a request.
func NewMatcher(r *entity.Home, q capabilities.Clarification, req mess.Request) Matcher {
	p := Matcher{r, q, map[string]bool{}}
	if len(req.Intent) <= lexicon.MaxText {
		w := r.Catalog.Words
		tokens := w.Tokens(req.Intent)
		for i, t := range tokens {
			p.requestWords[t.Folded] = w.Negations.Longest(tokens, i) == 0 && w.Conditionals.Longest(tokens, i) == 0 && w.RuledOut.Longest(tokens, i) == 0
		}
	}
	return p
}

// RejectsAll reports whether an answer rejects all options.
func (p Matcher) RejectsAll(text string) bool {
	w := p.Catalog.Words
	if len(text) > lexicon.MaxText || w.IsQuestion(text, w.Tokens(text)) {
		return false
	}
	tokens := w.Tokens(text)
	return w.Whole(w.NoneOf, tokens) || w.Whole(w.No, tokens)
}

// Pick returns the options that an answer means, or none if it fits none. The answer is a
// text, a number, a truth value, or a list of texts.
func (p Matcher) Pick(raw any) []string {
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
	list, ok := lexicon.TextList(raw)
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
	if picked = lexicon.Distinct(picked); len(picked) > 1 && (slices.Equal(p.question.Options, capabilities.YesOrNo) || slices.Contains(picked, capabilities.NoneOfThese)) { // yes and no
		return nil
	}
	return picked
}

// text returns the options that a text means: an exact option, a yes or no, or a
// description of the option.
func (p Matcher) text(text string) []string {
	w, options := p.Catalog.Words, p.question.Options
	if len(text) > lexicon.MaxText {
		return nil
	}
	tokens := w.Tokens(text)
	if len(tokens) == 0 || p.Catalog.IsStop(text) {
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
		switch yes, no, _ := p.Catalog.MatchYesNo(text); {
		case w.Whole(w.NoneOf, tokens), no:
			return []string{capabilities.NoneOfThese}
		case yes && i == 1:
			return options[:1]
		}
	}
	if d := w.WholeDuration(tokens); d > 0 && strings.TrimRight(p.question.Field, "_0123456789") == ForField {
		return []string{capabilities.DurationText(d)}
	}
	if char, _ := p.UnknownSign(text); char != "" || w.IsQuestion(text, tokens) || strings.HasPrefix(strings.TrimSpace(text), "-") {
		return nil // a question or a drawing picks nothing
	}
	for _, o := range options {
		if slices.Equal(folded(w.Tokens(o)), folded(tokens)) {
			return []string{o}
		}
	}
	if words := folded(tokens); p.question.Field == AmountField && len(options) > 0 && slices.Equal(words, folded(w.Tokens(options[0]))[1:]) { // "30 percent" alone is how much
		return options[:1]
	}
	if n := w.Yes.Longest(tokens, 0); n > 0 && n < len(tokens) { // "yes, the kitchen"
		tokens = tokens[n:]
	}
	if some := p.part(tokens); len(some) > 0 {
		return some
	}
	return p.parts(text, tokens)
}

func folded(tokens []lexicon.Token) []string {
	list := make([]string, len(tokens))
	for i, t := range tokens {
		list[i] = t.Folded
	}
	return list
}

func (p Matcher) yesNo(text string) []string {
	switch yes, no, _ := p.Catalog.MatchYesNo(text); {
	case yes:
		return []string{"yes"}
	case no:
		return []string{"no"}
	}
	return nil
}

// SingleOptions returns the options without those that take all or none.
func (p Matcher) SingleOptions() []string {
	return slices.DeleteFunc(slices.Clone(p.question.Options), func(o string) bool { return o == "both" || o == "all" || o == capabilities.NoneOfThese })
}

// every returns the option that takes all, if there is one, otherwise all options.
func (p Matcher) every() []string {
	for _, o := range []string{"both", "all"} {
		if slices.Contains(p.question.Options, o) {
			return []string{o}
		}
	}
	return p.SingleOptions()
}

// part returns the options that one part of an answer means.
func (p Matcher) part(tokens []lexicon.Token) []string {
	w := p.Catalog.Words
	if len(tokens) == 0 {
		return nil
	}
	n := w.All.Longest(tokens, 0)
	if w.Whole(w.Every, tokens) || n > 0 && w.AnyOne.Longest(tokens, 0) == 0 && p.common(tokens[n:]) {
		if count := w.Lists.Counts[tokens[0].Text]; count > 0 && count != len(p.SingleOptions()) {
			return nil
		}
		return p.every()
	}
	if some := byNumber(w, p.question.Options, len(p.SingleOptions()), tokens); len(some) > 0 {
		return some
	}
	if o := p.byWords(tokens); o != "" {
		return []string{o}
	}
	return nil
}

// common reports whether the words hold for all options: "lights".
func (p Matcher) common(tokens []lexicon.Token) bool {
	for _, o := range p.SingleOptions() {
		if !p.knownAll(o, tokens) {
			return false
		}
	}
	return true
}

// byNumber returns the options that "2", "the second one", "the last" or "the first two"
// pick. Of the options, count are single ones. A possible count or time picks nothing:
// "only two", "that one", "a second", and "2" of "2 percent or 20 percent".
func byNumber(w *lexicon.Lexicon, options []string, count int, tokens []lexicon.Token) []string {
	n, to := 0, 0
	counted, numbered := false, false
	for i := 0; i < len(tokens); i++ {
		k := w.NumberOf(tokens[i])
		ordinal := slices.Contains(w.Lists.Ordinals, tokens[i].Text)
		switch {
		case n == 0 && w.Last.Longest(tokens, i) > 0:
			n = count
		case k > 0 && n == 0 && ordinal:
			if n = k; i > 0 && w.Lists.Numbers[tokens[i-1].Text] == 1 { // "a second"
				return nil
			}
		case k > 0 && n == 0:
			n, counted = k, true
		case k > 0 && tokens[i].Text == "one": // "the second one"
		case k > 1 && n == 1 && to == 0 && tokens[i-1].Text == w.Lists.Ordinals[0]: // "the first two"
			to = k
		case w.Fillers.Longest(tokens, i) > 0 || w.Picking.Longest(tokens, i) > 0:
			numbered = numbered || w.Numbering.Longest(tokens, i) > 0
		default:
			return nil
		}
	}
	if counted && !numbered && (quantified(w, tokens) || numeric(options)) {
		return nil
	}
	if to = max(to, n); n < 1 || to > len(options) || to > n && to > count {
		return nil
	}
	return slices.Clone(options[n-1 : to])
}

// quantified reports whether a number among the words may be an amount or a time: it is a number
// word, or stands next to "the", "only", "at".
func quantified(w *lexicon.Lexicon, tokens []lexicon.Token) bool {
	for i, t := range tokens {
		if _, err := strconv.Atoi(t.Text); err != nil && w.NumberOf(t) > 0 || w.Amounting.Longest(tokens, i) > 0 {
			return true
		}
	}
	return false
}

// numeric reports whether an option has a number of its own.
func numeric(options []string) bool {
	return slices.ContainsFunc(options, func(o string) bool { return strings.ContainsAny(o, "0123456789") })
}

// unpicking returns the words without those that only help to pick: "that one" is "that".
func unpicking(w *lexicon.Lexicon, tokens []lexicon.Token) []lexicon.Token {
	return slices.DeleteFunc(w.Bare(tokens), func(t lexicon.Token) bool {
		one := []lexicon.Token{t}
		return w.Picking.Longest(one, 0) > 0 && w.Referring.Longest(one, 0) == 0
	})
}

// byWords returns the one option that has all words of the answer, with the known facts of
// its device. It is "" if none or several have them.
func (p Matcher) byWords(tokens []lexicon.Token) string {
	found := ""
	for _, o := range p.question.Options {
		if !p.knownAll(o, tokens) {
			continue
		}
		if found != "" && p.question.Field == "context" && len(p.requestWords) > 0 { // the words of the request may decide between the two
			p.requestWords = nil
			return p.byWords(tokens)
		}
		if found != "" {
			return ""
		}
		found = o
	}
	return found
}

// knownAll reports whether every word belongs to the option, helps to pick, or was in the
// request, and at least one belongs to the option.
func (p Matcher) knownAll(option string, tokens []lexicon.Token) bool {
	w, known := p.Catalog.Words, map[string]bool{}
	for _, t := range w.Tokens(option + " " + optionWords(p.Home, option)) {
		known[t.Folded] = true
	}
	some, own := false, w.Tokens(option)
	near := slices.ContainsFunc(own, func(t lexicon.Token) bool { return w.Near.Longest([]lexicon.Token{t}, 0) > 0 }) // "by the stove"; a lamp by the hall may be in another room
	for i := 0; i < len(tokens); {
		if known[tokens[i].Folded] {
			some = some || w.Fillers.Longest(tokens, i) == 0
			i++
			continue
		}
		n := max(w.Fillers.Longest(tokens, i), w.Picking.Longest(tokens, i))
		if near {
			n = max(n, w.Near.Longest(tokens, i))
		}
		if n > 0 && w.Clock.Longest(tokens, i) == n && i+n < len(tokens) && w.NumberOf(tokens[i+n]) > 0 { // "at one"
			return false
		}
		if n == 0 && p.requestWords[tokens[i].Folded] {
			n = 1
		}
		if n == 0 {
			return false
		}
		i += n
	}
	return some
}

// optionWords returns more words for an option: the area and aliases of a device, the note and
// room of a spot.
func optionWords(r *entity.Home, option string) string {
	var more []string
	lists := [][]int{r.Index.Spots[option]}
	for end := range len(option) + 1 {
		lists = append(lists, r.Index.Labels[option[:end]])
	}
	for _, d := range entity.Union(len(r.Index.Every), lists) {
		dev := &r.Site.Devices[d]
		if strings.HasPrefix(option, r.Label(d)) {
			more = append(append(more, dev.Name, dev.Area), dev.Aliases...)
			more = append(more, r.Catalog.ClassWords[r.Class[d]]...)
		}
		for _, s := range dev.WorkAreas {
			if s.Name == option {
				more = append(more, s.Note)
			}
		}
	}
	return strings.Join(more, " ")
}
