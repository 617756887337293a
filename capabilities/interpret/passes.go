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
	passes       []pass // over a whole text
	unknownStart []pass // over a text that no sentence begins like
	fallbacks    []pass // over a text that no sentence matches
)

// The tables refer to passes that read parts of a text with these tables.
func init() {
	passes = []pass{
		{"unreadable sign", nil, (*request).signs},
		{"requires and constraints", nil, (*request).ReadDemand},
		{"unknown number of a name", nil, (*request).unknownNumber},
		{"bare stop", isFree, (*request).rejectStop},
		{"bare word", isFreeText, (*request).RejectBareWord},
		{"goal state", isFree, (*request).ensured},
		{"indirect order", isFree, (*request).minded},
		{"wait for a condition", nil, (*request).watched},
		{"correction", nil, (*request).corrected},
		{"litter", nil, (*request).littering},
		{"unknown start", beginsUnknown, (*request).readUnknownStart},
		{"required capability", hasRequired, (*request).readRequired},
		{"sentence of the catalog", nil, (*request).readSentence},
		{"no change", nil, (*request).leaves},
		{"fallbacks", nil, (*request).otherwise},
		{"words of a capability", nil, (*request).Score},
		{"repair", nil, (*request).almost},
	}
	unknownStart = []pass{
		{"no change", nil, (*request).leaves},
		{"several states", nil, (*request).looks},
		{"disjunction", nil, (*request).either},
		{"repair", nil, (*request).almost},
	}
	fallbacks = []pass{
		{"several states", isWhole, (*request).looks},
		{"disjunction", isWhole, (*request).either},
		{"several orders", isWhole, (*request).clauses},
		{"causative", nil, (*request).causing},
		{"open duration", nil, (*request).awhile},
		{"duration at the end", nil, (*request).howLongAtTheEnd},
		{"only", nil, (*request).solely},
		{"exclusion", nil, (*request).exception},
		{"repetition", nil, (*request).repeated},
		{"time", nil, (*request).timed},
	}
}

func isWhole(x *request) bool { return !x.part }

func hasRequired(x *request) bool { return x.Demand.Capabilities != nil }

func isFree(x *request) bool { return x.Demand.Capabilities == nil }

func isFreeText(x *request) bool { return isFree(x) && !x.part }

// beginsUnknown reports whether the request is free text that no sentence begins like. Most
// texts that are for others are such.
func beginsUnknown(x *request) bool {
	return isFree(x) && x.Message.Precision != mess.Loose && x.HasUnknownStart()
}

// firstOf returns the outcome of the first pass that has one.
func (x *request) firstOf(list []pass) (capabilities.Outcome, bool) {
	for i := range list {
		if list[i].when != nil && !list[i].when(x) {
			continue
		}
		if out, ok := list[i].run(x); ok {
			return out, true
		}
	}
	return capabilities.Outcome{}, false
}

// outcome reads the text of the request with the passes.
func (x *request) outcome() capabilities.Outcome {
	w := x.Words()
	if len(x.Message.Intent) <= lexicon.MaxText {
		x.Tokens = w.Tokens(lexicon.RemoveKindSigns(x.Message.Intent))
	}
	if len(x.Message.Intent) > lexicon.MaxText || len(x.Tokens) > lexicon.MaxTokens {
		return x.Reject("the request has more than 60 words; say in one sentence what is to be done", nil)
	}
	x.Tokens = x.urged(x.unnumbered(x.Tokens))
	x.IsQuestion = w.IsQuestion(x.Message.Intent, x.Tokens)
	x.IsQuestion = x.IsQuestion || x.stillSo()
	x.agreeing()
	x.InQuotes, x.Whole = x.quoting(), x.Tokens
	if out, ok := x.firstOf(passes); ok {
		return out
	}
	return x.NotUnderstood()
}

// rejectStop refuses a bare "stop", which must not wait for its turn.
func (x *request) rejectStop() (capabilities.Outcome, bool) {
	if !x.stopsAll() {
		return capabilities.Outcome{}, false
	}
	return x.Reject(fmt.Sprintf("%q is no request, for one waits for its turn: \"messkit stop\" at the place, the stop button of the console, or \"messkit stop --all\" stops everything at once; to stop one thing, name it", lexicon.Join(x.Tokens)), nil), true
}

// readUnknownStart reads a text that no sentence begins like. It always has an outcome.
func (x *request) readUnknownStart() (capabilities.Outcome, bool) {
	if out, ok := x.firstOf(unknownStart); ok {
		return out, true
	}
	return x.NotUnderstood(), true
}

// readRequired reads a request that names its capability. It always has an outcome.
func (x *request) readRequired() (capabilities.Outcome, bool) {
	x.Read()
	return x.demanded(), true
}

// readSentence reads a text that is a sentence of the catalog, also one with "and show me"
// at its end.
func (x *request) readSentence() (capabilities.Outcome, bool) {
	x.Read()
	if able := x.Able(x.Readings); len(able) > 0 {
		return x.Choose(able), true
	}
	if acts := x.ImageRequest(); len(acts) > 0 {
		return x.Choose(acts), true
	}
	return capabilities.Outcome{}, false
}
