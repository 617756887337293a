package capabilities

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"github.com/messkit/messkit/mess"
)

// Answer resolves a request again with the answer to a question about it. reply
// holds answers by field; text is the answer in words, where reply has none for
// the question's field, and else what is said beside it. An answer that fits
// nothing, or is limited by what is said beside it, repeats the question; one
// that says stop withdraws the request.
func (r *Resolver) Answer(q Question, reply mess.Object, text string, req mess.Request) Outcome {
	var raw any = text
	if v, ok := reply.Get(q.Field); ok {
		raw = v
	}
	picked := r.pick(q, raw)
	if raw != any(text) && r.catalogue.stops(text) {
		raw, picked = text, nil
	} else if raw != any(text) && r.limitsAny(text) {
		picked = nil
	}
	if len(picked) == 0 {
		if said, ok := raw.(string); ok && r.catalogue.stops(said) {
			return Outcome{Refusal: &Refusal{Reason: "the requester took it back; nothing is done"}}
		}
		again := q
		return Outcome{Question: &again}
	}
	return r.resolve(req, append(without(q.Given, q.Field), mess.Field{Key: q.Field, Value: picked}))
}

// without is a copy of o without the key.
func without(o mess.Object, key string) mess.Object {
	return slices.DeleteFunc(slices.Clone(o), func(f mess.Field) bool { return f.Key == key })
}

// pick finds the options that an answer means, none if it fits none.
func (r *Resolver) pick(q Question, raw any) []string {
	switch v := raw.(type) {
	case bool:
		return r.pickText(q, map[bool]string{true: "yes", false: "no"}[v])
	case json.Number:
		return r.pickText(q, string(v))
	case int:
		return r.pickText(q, strconv.Itoa(v))
	case string:
		return r.pickText(q, v)
	}
	list, ok := textsOf(raw)
	if !ok {
		return nil
	}
	var picked []string
	for _, one := range list {
		some := r.pickText(q, one)
		if len(some) == 0 {
			return nil
		}
		picked = append(picked, some...)
	}
	return distinct(picked)
}

// pickText finds the options that a text means: an option word for word, its
// number, a yes or no, all of them, or words that only one option has.
func (r *Resolver) pickText(q Question, text string) []string {
	w := r.catalogue.words
	if len(text) > maxText {
		return nil
	}
	tokens := w.tokens(text)
	if len(tokens) == 0 || r.catalogue.stops(text) {
		return nil
	}
	for _, o := range q.Options {
		if strings.EqualFold(strings.TrimSpace(text), o) {
			return []string{o}
		}
	}
	if slices.Equal(q.Options, []string{"yes", "no"}) {
		return r.pickYesNo(text)
	}
	if i := slices.Index(q.Options, noneOf); i >= 0 {
		switch yes, no, _ := r.catalogue.MatchYesNo(text); {
		case no || slices.Equal(folded(tokens), []string{"none"}):
			return []string{noneOf}
		case yes && i == 1:
			return q.Options[:1]
		}
	}
	if char, _ := r.sign(text); char != "" || w.asks(text, tokens) {
		return nil // who asks back or draws has not picked
	}
	for _, o := range q.Options {
		if slices.Equal(folded(w.tokens(o)), folded(tokens)) {
			return []string{o}
		}
	}
	if w.whole(w.every, tokens) {
		return everyOption(q.Options)
	}
	if o := w.byNumber(q.Options, tokens); o != "" {
		return []string{o}
	}
	var picked []string
	for _, part := range w.parts(tokens) {
		o := r.byWords(q.Options, part)
		if o == "" {
			return nil
		}
		picked = append(picked, o)
	}
	return distinct(picked)
}

func folded(tokens []token) []string {
	list := make([]string, len(tokens))
	for i, t := range tokens {
		list[i] = t.folded
	}
	return list
}

func (r *Resolver) pickYesNo(text string) []string {
	switch yes, no, _ := r.catalogue.MatchYesNo(text); {
	case yes:
		return []string{"yes"}
	case no:
		return []string{"no"}
	}
	return nil
}

// everyOption is the option that takes all, if there is one, else all options.
func everyOption(options []string) []string {
	for _, o := range []string{"both", "all"} {
		if slices.Contains(options, o) {
			return []string{o}
		}
	}
	return slices.Clone(options)
}

// byNumber is the option that "2", "the second one" or "option two" picks.
func (w *words) byNumber(options []string, tokens []token) string {
	n := 0
	for i := 0; i < len(tokens); i++ {
		k := w.numberOf(tokens[i])
		switch {
		case k > 0 && n == 0:
			n = k
		case k > 0 && tokens[i].text == "one": // "the second one"
		case w.filler.longest(tokens, i) > 0 || w.picking.longest(tokens, i) > 0:
		default:
			return ""
		}
	}
	if n < 1 || n > len(options) {
		return ""
	}
	return options[n-1]
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

// parts cuts an answer at "and".
func (w *words) parts(tokens []token) [][]token {
	var list [][]token
	start := 0
	for i := 0; i <= len(tokens); i++ {
		n := w.joining.longest(tokens, i)
		if i == len(tokens) || n > 0 {
			list = append(list, tokens[start:i])
			start = i + n
			i = max(i, start-1)
		}
	}
	return list
}

// byWords is the one option that has all words of the answer, with what is
// known of the thing it names; "" if none or several have.
func (r *Resolver) byWords(options []string, tokens []token) string {
	w := r.catalogue.words
	found := ""
	for _, o := range options {
		known := map[string]bool{}
		for _, t := range w.tokens(o + " " + r.about(o)) {
			known[t.folded] = true
		}
		if !w.allKnown(known, tokens) {
			continue
		}
		if found != "" {
			return ""
		}
		found = o
	}
	return found
}

// allKnown reports whether every word is known or only helps to pick, and one
// at least is known.
func (w *words) allKnown(known map[string]bool, tokens []token) bool {
	some := false
	for i := 0; i < len(tokens); {
		if known[tokens[i].folded] {
			some = true
			i++
			continue
		}
		n := max(w.filler.longest(tokens, i), w.picking.longest(tokens, i), w.near.longest(tokens, i))
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

// MatchYesNo reads an answer to "shall I?" in English: see the method of
// Catalogue.
func MatchYesNo(text string) (yes, no, stop bool) { return Default().MatchYesNo(text) }

// MatchYesNo reads an answer to "shall I?". Only a text that is a plain yes and
// nothing else is yes; a text that begins with no is no, and one that says stop
// anywhere is stop, for both are safe. At most one of yes and no is true, and
// stop goes with no.
func (c *Catalogue) MatchYesNo(text string) (yes, no, stop bool) {
	w := c.words
	if len(text) > maxText {
		return false, false, false
	}
	tokens := w.tokens(text)
	if from, _ := w.stop.find(tokens); from >= 0 || w.whole(w.endingTalk, tokens) {
		return false, true, true
	}
	if from, _ := w.indifferent.find(tokens); from >= 0 {
		return false, false, false
	}
	start := 0
	for start < len(tokens) && w.filler.longest(tokens, start) > 0 && w.no.longest(tokens, start) == 0 {
		start += w.filler.longest(tokens, start)
	}
	if w.no.longest(tokens, start) > 0 {
		return false, true, false
	}
	if from, _ := w.denying.find(tokens); from >= 0 {
		return false, w.yes.longest(tokens, start) == 0, false // "yes and no" is neither
	}
	char, _ := sign(text)
	return char == "" && !w.asks(text, tokens) && (w.whole(w.yes, tokens) || w.affirms(tokens)), false, false
}

// affirms reports whether all words are of those that affirm something, and one
// at least says so itself.
func (w *words) affirms(tokens []token) bool {
	said := false
	if from, _ := w.praising.find(tokens); from >= 0 {
		return false
	}
	for i := 0; i < len(tokens); {
		yes := w.affirming.longest(tokens, i)
		if said { // "sure, go ahead", but "confirm it" asks for something
			yes = max(yes, w.yes.longest(tokens, i))
		}
		n := max(yes, w.agreeing.longest(tokens, i), w.filler.longest(tokens, i))
		if n == 0 {
			return false
		}
		said = said || yes > 0
		i += n
	}
	return said
}

// stops reports whether text is nothing but a stop word.
func (c *Catalogue) stops(text string) bool {
	return len(text) <= maxText && c.words.whole(c.words.stop, c.words.tokens(text))
}
