package interpret

import (
	"slices"

	"github.com/messkit/messkit/capabilities"
	"github.com/messkit/messkit/mess"
)

// Answer resolves a request again with the answer to a question about it. reply
// holds answers by field; text is the answer in words, where reply has none for
// the question's field, and else what is said beside it. An answer that fits
// nothing, or is limited by what is said beside it, repeats the question; one
// that says stop withdraws the request.
func (r *Interpreter) Answer(q capabilities.Question, reply mess.Object, text string, req mess.Request) capabilities.Outcome {
	var raw any = text
	if v, ok := reply.Get(q.Field); ok {
		raw = v
	}
	p := r.picker(q, req)
	picked := p.pick(raw)
	if raw != any(text) && r.catalogue.stops(text) {
		raw, picked = text, nil
	} else if raw != any(text) && r.limitsAny(text) {
		picked = nil
	}
	if len(picked) == 0 {
		switch said, _ := raw.(string); {
		case r.catalogue.takesBack(said):
			return capabilities.Outcome{Refusal: &capabilities.Refusal{Reason: "the requester took it back; nothing is done"}}
		case p.takesNone(said):
			return capabilities.Outcome{Refusal: &capabilities.Refusal{Reason: "none of them is meant; nothing is done"}}
		}
		again := q
		return capabilities.Outcome{Question: &again}
	}
	switch { // it is a no to all that was asked, and no reason to read the request in another way
	case picked[0] == capabilities.NoneOfThese:
		return capabilities.Outcome{Refusal: &capabilities.Refusal{Reason: "none of what was offered is meant; say it in other words"}}
	case slices.Equal(q.Options, capabilities.YesOrNo) && picked[0] == "no":
		return capabilities.Outcome{Refusal: &capabilities.Refusal{Reason: "the answer was no; nothing is done"}}
	}
	return r.resolve(req, append(without(q.Given, q.Field), mess.Field{Key: q.Field, Value: picked}))
}

// without is a copy of o without the key.
func without(o mess.Object, key string) mess.Object {
	return slices.DeleteFunc(slices.Clone(o), func(f mess.Field) bool { return f.Key == key })
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
	if from, _ := w.Stop.find(tokens); from >= 0 || w.whole(w.EndingTalk, tokens) {
		return false, true, true
	}
	if from, _ := w.Undecided.find(tokens); from >= 0 {
		return false, false, false
	}
	if from, _ := w.Indifferent.find(tokens); from >= 0 {
		return false, false, false
	}
	start := 0
	for start < len(tokens) && w.Fillers.longest(tokens, start) > 0 && w.No.longest(tokens, start) == 0 {
		start += w.Fillers.longest(tokens, start)
	}
	if w.No.longest(tokens, start) > 0 {
		return false, true, false
	}
	if from, _ := w.Denying.find(tokens); from >= 0 {
		return false, w.Yes.longest(tokens, start) == 0, false // "yes and no" is neither
	}
	char, _ := sign(text)
	return char == "" && !w.asks(text, tokens) && (w.whole(w.Yes, tokens) || w.affirms(tokens)), false, false
}

// affirms reports whether all words are of those that affirm something, and one
// at least says so itself.
func (w *words) affirms(tokens []token) bool {
	said := false
	for _, none := range []*set{w.Praising, w.Recounting} {
		if from, _ := none.find(tokens); from >= 0 {
			return false
		}
	}
	for i := 0; i < len(tokens); {
		yes := w.Affirming.longest(tokens, i)
		if said { // "sure, go ahead", but "confirm it" asks for something
			yes = max(yes, w.Yes.longest(tokens, i))
		}
		n := max(yes, w.Agreeing.longest(tokens, i), w.Fillers.longest(tokens, i))
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
	return len(text) <= maxText && c.words.whole(c.words.Stop, c.words.tokens(text))
}

// takesBack reports whether text says stop somewhere, whatever else it says.
func (c *Catalogue) takesBack(text string) bool {
	if len(text) > maxText {
		return false
	}
	from, _ := c.words.Stop.find(c.words.tokens(text))
	return from >= 0
}
