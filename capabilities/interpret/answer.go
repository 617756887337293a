package interpret

import (
	"slices"

	"github.com/messkit/messkit/capabilities"
	"github.com/messkit/messkit/capabilities/lexicon"
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
	if len(text) > lexicon.MaxText {
		return false, false, false
	}
	tokens := w.Tokens(text)
	if from, _ := w.Stop.Find(tokens); from >= 0 || w.Whole(w.EndingTalk, tokens) {
		return false, true, true
	}
	if from, _ := w.Undecided.Find(tokens); from >= 0 {
		return false, false, false
	}
	if from, _ := w.Indifferent.Find(tokens); from >= 0 {
		return false, false, false
	}
	start := 0
	for start < len(tokens) && w.Fillers.Longest(tokens, start) > 0 && w.No.Longest(tokens, start) == 0 {
		start += w.Fillers.Longest(tokens, start)
	}
	if w.No.Longest(tokens, start) > 0 {
		return false, true, false
	}
	if from, _ := w.Denying.Find(tokens); from >= 0 {
		return false, w.Yes.Longest(tokens, start) == 0, false // "yes and no" is neither
	}
	char, _ := lexicon.FirstSign(text)
	return char == "" && !w.IsQuestion(text, tokens) && (w.Whole(w.Yes, tokens) || w.Affirms(tokens)), false, false
}

// stops reports whether text is nothing but a stop word.
func (c *Catalogue) stops(text string) bool {
	return len(text) <= lexicon.MaxText && c.words.Whole(c.words.Stop, c.words.Tokens(text))
}

// takesBack reports whether text says stop somewhere, whatever else it says.
func (c *Catalogue) takesBack(text string) bool {
	if len(text) > lexicon.MaxText {
		return false
	}
	from, _ := c.words.Stop.Find(c.words.Tokens(text))
	return from >= 0
}
