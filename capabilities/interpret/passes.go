package interpret

import (
	"fmt"

	"github.com/messkit/messkit/capabilities"
	"github.com/messkit/messkit/capabilities/lexicon"
	"github.com/messkit/messkit/mess"
)

// pass is one way to read a request. run returns false if the request is not of its kind.
type pass struct {
	name string
	when func(*request) bool // nil for every request
	run  func(*request) (capabilities.Outcome, bool)
}

// The passes in their order. The first one that returns an outcome ends the request.
var (
	passes       []pass // over a whole text, before its sentences
	sentences    []pass // over a whole text with the hypotheses of its sentences
	unknownStart []pass // over a text that no sentence begins like
	fallbacks    []pass // over a text that no sentence matches
)

// The tables refer to passes that read parts of a text with these tables.
func init() {
	passes = []pass{
		{"bare stop", isFree, (*request).rejectStop},
		{"bare word", isFreeText, (*request).RejectBareWord},
		{"goal state", isFree, (*request).parseGoalState},
		{"indirect order", isFree, (*request).confirmIndirectOrder},
		{"wait for a condition", nil, (*request).parseWait},
		{"correction", nil, (*request).parseCorrection},
		{"litter", nil, (*request).parseLitter},
		{"unknown start", beginsUnknown, (*request).parseUnknownStart},
		{"required capability", hasRequired, (*request).parseRequired},
	}
	sentences = []pass{
		{"sentence of the catalog", nil, (*request).parseSentence},
		{"no change", nil, (*request).rejectNoChange},
		{"fallbacks", nil, (*request).parseFallbacks},
		{"words of a capability", nil, (*request).ScoreWords},
		{"repair", nil, (*request).recoverUnknown},
	}
	unknownStart = []pass{
		{"no change", nil, (*request).rejectNoChange},
		{"several states", nil, (*request).parseStateQueries},
		{"disjunction", nil, (*request).parseDisjunction},
		{"repair", nil, (*request).recoverUnknown},
	}
	fallbacks = []pass{
		{"several states", isWhole, (*request).parseStateQueries},
		{"disjunction", isWhole, (*request).parseDisjunction},
		{"several orders", isWhole, (*request).parseSequence},
		{"causative", nil, (*request).parseCausative},
		{"open duration", nil, (*request).parseOpenDuration},
		{"duration at the end", nil, (*request).parseFinalDuration},
		{"only", nil, (*request).parseOnly},
		{"exclusion", nil, (*request).parseExclusion},
		{"repetition", nil, (*request).parseRepetition},
		{"time", nil, (*request).parseTimed},
	}
}

func isWhole(x *request) bool { return !x.part }

func hasRequired(x *request) bool { return x.Demand.Capabilities != nil }

func isFree(x *request) bool { return x.Demand.Capabilities == nil }

func isFreeText(x *request) bool { return isFree(x) && !x.part }

// beginsUnknown reports whether the request is free text that no sentence begins like. Most
// texts that are for others are such.
func beginsUnknown(x *request) bool {
	return isFree(x) && x.Message.Precision != mess.Loose && x.HasUnknownWord()
}

// firstOf returns the outcome of the first pass that has one.
func (x *request) firstOf(list []pass) (capabilities.Outcome, bool) {
	for i := range list {
		if list[i].when != nil && !list[i].when(x) {
			continue
		}
		if out, ok := x.try(list[i].run); ok {
			return out, true
		}
	}
	return capabilities.Outcome{}, false
}

// try runs a way to read the request. If that has no outcome, only its explanation stays,
// because it names the capability of the text with any outcome.
func (x *request) try(run func(*request) (capabilities.Outcome, bool)) (capabilities.Outcome, bool) {
	before := *x
	out, ok := run(x)
	if !ok {
		before.Explain = x.Explain
		*x = before
	}
	return out, ok
}

// parse reads the text of the request with the passes.
func (x *request) parse() capabilities.Outcome {
	w := x.Words()
	if len(x.Message.Intent) <= lexicon.MaxText {
		x.Tokens = w.Tokens(lexicon.RemoveKindSigns(x.Message.Intent))
	}
	if len(x.Message.Intent) > lexicon.MaxText || len(x.Tokens) > lexicon.MaxTokens {
		return x.Reject("the request has more than 60 words; say the order in one sentence", nil)
	}
	x.Tokens = x.withoutEmphasis(x.withoutListNumber(x.Tokens))
	x.IsQuestion = w.IsQuestion(x.Message.Intent, x.Tokens)
	x.IsQuestion = x.IsQuestion || x.asksWhetherStill()
	x.withoutNegation()
	x.InQuotes, x.Whole = x.quotesOrder(), x.Tokens
	for _, read := range []func() (capabilities.Outcome, bool){x.rejectUnknownSign, x.ReadDemand, x.rejectUnknownNumber} { // they note facts for the passes
		if out, ok := read(); ok {
			return out
		}
	}
	if out, ok := x.firstOf(passes); ok {
		return out
	}
	x.FindHypotheses()
	if out, ok := x.firstOf(sentences); ok {
		return out
	}
	return x.NotUnderstood()
}

// rejectStop refuses a bare "stop", which must not wait for its turn.
func (x *request) rejectStop() (capabilities.Outcome, bool) {
	if !x.isBareStop() {
		return capabilities.Outcome{}, false
	}
	return x.Reject(fmt.Sprintf("%q is no request, because a request waits for its turn; \"messkit stop\" on the host, the stop button of the console, or \"messkit stop --all\" stops everything at once; to stop one device, name it", lexicon.Join(x.Tokens)), nil), true
}

// parseUnknownStart reads a text that no sentence begins like. It always has an outcome.
func (x *request) parseUnknownStart() (capabilities.Outcome, bool) {
	if out, ok := x.firstOf(unknownStart); ok {
		return out, true
	}
	return x.NotUnderstood(), true
}

// parseRequired reads a request that names its capability. It always has an outcome.
func (x *request) parseRequired() (capabilities.Outcome, bool) {
	x.FindHypotheses()
	return x.resolveRequired(), true
}

// parseSentence reads a text that is a sentence of the catalog, also one with "and show me"
// at its end.
func (x *request) parseSentence() (capabilities.Outcome, bool) {
	if able := x.Executable(x.Hypotheses); len(able) > 0 {
		return x.Choose(able), true
	}
	if acts := x.ImageRequest(); len(acts) > 0 {
		return x.Choose(acts), true
	}
	return capabilities.Outcome{}, false
}
