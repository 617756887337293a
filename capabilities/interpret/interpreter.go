// Package interpret turns the words of a request into exactly one plan, a question, or a
// refusal with a reason. It is pure: an interpreter depends only on its data and on the
// arguments of a call.
//
// The entry points are Interpreter.Resolve for a request and Interpreter.Answer for the answer to a
// question. File passes.go lists the ways to read a text, in the order in which parse tries them.
package interpret

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/messkit/messkit/capabilities"
	"github.com/messkit/messkit/capabilities/catalog"
	"github.com/messkit/messkit/capabilities/entity"
	"github.com/messkit/messkit/capabilities/lexicon"
	"github.com/messkit/messkit/capabilities/reply"
	"github.com/messkit/messkit/capabilities/resolve"
	"github.com/messkit/messkit/mess"
)

// New makes an interpreter for a home. It indexes the names of all devices, which takes time. A
// caller with many requests therefore makes it once, and calls At before each request.
func New(c *catalog.Catalog, home capabilities.Home) *Interpreter {
	r := &Interpreter{Resolver: *resolve.NewResolver(c, home)}
	r.nameSpellings = lexicon.LongSpellings(r.Names.Words)
	return r
}

// At returns a copy of the interpreter with another current time. clockDoubt is the reason why the
// clock may be wrong, or "" if it is right (see capabilities.Home). The copy shares everything else
// with r.
func (r *Interpreter) At(now time.Time, clockDoubt string) *Interpreter {
	at := *r
	at.Site.Now, at.Site.ClockDoubt = now, clockDoubt
	return &at
}

// Interpreter turns requests into outcomes for one home. It is immutable and safe
// for concurrent use.
type Interpreter struct {
	resolve.Resolver
	nameSpellings []lexicon.Spelling // the words of names that a text may misspell
}

// Resolve turns a request into a plan, a question or a refusal.
func (r *Interpreter) Resolve(req mess.Request) capabilities.Outcome {
	return r.resolveWith(req, nil)
}

// request is the state of one request while the passes read it. It is not safe for
// concurrent use.
type request struct {
	resolve.Request
	r       *Interpreter
	uneven  bool   // of several devices, only the last has a value
	part    bool   // the text is one of several orders of a request
	unnamed string // a name with a number that no device of this home has
}

// newRequest returns a request for a message. given are the answers to earlier questions, by field.
func (r *Interpreter) newRequest(message mess.Request, given mess.Object) *request {
	return &request{r: r, Request: resolve.Request{Resolver: &r.Resolver, Utterance: entity.Utterance{Home: &r.Home}, Message: message, Given: given}}
}

// newPart returns a request for one of several orders.
func (r *Interpreter) newPart(message mess.Request, given mess.Object) *request {
	x := r.newRequest(message, given)
	x.part = true
	return x
}

// withTokens returns a request with these words and no message, to read only some words.
func (r *Interpreter) withTokens(tokens []lexicon.Token) *request {
	x := r.newRequest(mess.Request{}, nil)
	x.Tokens, x.Whole = tokens, tokens
	return x
}

// resolveWith resolves a request with the answers to earlier questions.
func (r *Interpreter) resolveWith(req mess.Request, given mess.Object) capabilities.Outcome {
	plain, left := r.orderOfMail(req.Intent)
	req.Intent = plain
	if out, ok := r.parseEarlierPicture(req); ok {
		return out
	}
	req = r.resolveReferences(req)
	more, remarks, parted := r.splitRemarks(req)
	if parted {
		req = more
		req.Context = slices.Clip(req.Context)
		for _, one := range remarks {
			req.Context = append(req.Context, mess.Entry{Type: remarkType, Value: one})
		}
	}
	var out capabilities.Outcome
	if len(req.Context) > 0 {
		out = r.resolveInContext(req, given)
	} else {
		out = r.resolveText(req, given)
		if out.Refusal != nil {
			if asked, ok := r.askForOrder(req, given); ok {
				out = asked
			}
		}
	}
	if out.Plan != nil && len(left) > 0 {
		p := *out.Plan
		p.Unused, out.Plan = append(slices.Clip(p.Unused), left...), &p
	}
	return out
}

// resolveText resolves a request by its text, without its context.
func (r *Interpreter) resolveText(req mess.Request, given mess.Object) capabilities.Outcome {
	x := r.newRequest(req, given)
	out := x.parse()
	if x.unnamed != "" && out.Plan != nil && out.Plan.Actuates() {
		out = x.AskConfirmation(*out.Plan, fmt.Sprintf("nothing here has the name %q: ", x.unnamed))
	}
	if out.Plan != nil {
		if no, ok := x.CheckEnvironment(out.Plan); !ok {
			out = no
		} else if no, bad := x.CheckTiming(out.Plan); bad {
			out = no
		}
	}
	out.Explain = x.Explain
	return out
}

// ReservedNameUse returns the meaning that the interpreter gives to the name of a device, if that
// is not the name alone: "means everything" for the name "all". It is "" for a good name.
func ReservedNameUse(c *catalog.Catalog, name string) string {
	w, t := c.Words, c.Words.PlainTokens(name)
	_, number := strconv.ParseFloat(lexicon.Join(t), 64)
	switch {
	case len(t) == 0:
		return "has no word that people can say"
	case number == nil:
		return "reads as a number"
	case w.All.Longest(t, 0) > 0 || w.AnyOne.Longest(t, 0) == len(t):
		return "means everything"
	case w.Whole(w.Yes, t) || w.Whole(w.No, t) || w.Whole(w.Stop, t) || w.Whole(w.Halting, t):
		return "means a yes, a no or a stop"
	case hasOnlyFunctionWords(c, t):
		return "reads as a word that names nothing"
	case hasDuration(c, t):
		return "reads as a time"
	case isWholeOrder(c, t):
		return "is an order, or the beginning of one"
	}
	return ""
}

// hasOnlyFunctionWords reports whether all words are pronouns, conjunctions, negations, or
// other words without a meaning of their own.
func hasOnlyFunctionWords(c *catalog.Catalog, t []lexicon.Token) bool {
	w := c.Words
	for i := 0; i < len(t); {
		n := 0
		for _, s := range []*lexicon.PhraseSet{w.Referring, w.Negations, w.Joining, w.Fillers, w.NoneOf, w.Rest, w.Asking, w.Conditionals} {
			n = max(n, s.Longest(t, i))
		}
		if n == 0 {
			return false
		}
		i += n
	}
	return true
}

// hasDuration reports whether the words have a duration or the end of one: "lamp for ten
// minutes".
func hasDuration(c *catalog.Catalog, t []lexicon.Token) bool {
	w := c.Words
	for i := range t {
		for _, before := range []*lexicon.PhraseSet{w.Lasting, w.Delaying, w.Ending} {
			from := i + before.Longest(t, i)
			if from == i {
				continue
			}
			timed := false
			for to := from + 1; to < len(t); to++ {
				_, unit := w.Units[t[to].Folded]
				timed = timed || unit && isNumber(c, t[from:to])
			}
			if timed {
				return true
			}
		}
	}
	return false
}

func isNumber(c *catalog.Catalog, t []lexicon.Token) bool {
	if _, err := strconv.ParseFloat(lexicon.Join(t), 64); err == nil {
		return true
	}
	is := false
	c.Words.Numbers.Each(t, 0, func(end int, _ float64) { is = is || end == len(t) })
	return is
}

// isWholeOrder reports whether the words are a complete order once a name follows them:
// "turn off", but not "light", which is a device itself.
func isWholeOrder(c *catalog.Catalog, t []lexicon.Token) bool {
	thing := false
	c.ClassPhrases.Each(t, 0, func(end int, _ lexicon.SlotValue) { thing = thing || end == len(t) })
	if thing {
		return false
	}
	const other = "zzyzx"
	order := lexicon.Join(t) + " " + other
	for i := range t {
		if n := c.Words.Referring.Longest(t, i); n > 0 { // "switch it off"
			order = lexicon.Join(slices.Concat(t[:i], []lexicon.Token{{Text: other}}, t[i+n:]))
		}
	}
	for class, can := range map[string][]capabilities.Command{"switch": {capabilities.SetSwitch, capabilities.Toggle}, "door": {capabilities.Open, capabilities.Close}, "lock": {capabilities.Lock, capabilities.Unlock}, "vacuum": {capabilities.Pause, capabilities.Resume, capabilities.Stop}} {
		home := capabilities.Home{Devices: []capabilities.Device{{Name: other, Class: class, Commands: can}}}
		plan := New(c, home).Resolve(mess.Request{Intent: order}).Plan
		if plan != nil && len(plan.Unused) == 0 {
			return true
		}
	}
	return false
}

// Answer resolves a request again with the answer to a question about it. The object answers
// has the answers by field. If it has none for the field of the question, text is the answer
// in words; otherwise text is a remark. The outcome is the same question if the answer fits no
// option, or if the remark limits the act. It is a refusal if the answer withdraws the request.
func (r *Interpreter) Answer(q capabilities.Clarification, answers mess.Object, text string, req mess.Request) capabilities.Outcome {
	var raw any = text
	if v, ok := answers.Get(q.Field); ok {
		raw = v
	}
	p := reply.NewMatcher(&r.Home, q, req)
	picked := p.Pick(raw)
	if raw != any(text) && r.Catalog.IsStop(text) {
		raw, picked = text, nil
	} else if raw != any(text) && r.hasLimitingLine(text) {
		picked = nil
	}
	if len(picked) == 0 {
		switch answer, _ := raw.(string); {
		case r.Catalog.IsWithdrawal(answer):
			return capabilities.Outcome{Refusal: &capabilities.Rejection{Reason: "the requester withdrew it; nothing happens"}}
		case p.RejectsAll(answer):
			return capabilities.Outcome{Refusal: &capabilities.Rejection{Reason: "the answer picks none of them; nothing happens"}}
		}
		again := q
		return capabilities.Outcome{Question: &again}
	}
	switch { // the answer rejects all options, so no other hypothesis of the request counts
	case picked[0] == capabilities.NoneOfThese:
		return capabilities.Outcome{Refusal: &capabilities.Rejection{Reason: "the answer picks none of the options; say it in other words"}}
	case slices.Equal(q.Options, capabilities.YesOrNo) && picked[0] == "no":
		return capabilities.Outcome{Refusal: &capabilities.Rejection{Reason: "the answer was no; nothing happens"}}
	}
	return r.resolveWith(req, append(resolve.WithoutKey(q.Given, q.Field), mess.Field{Key: q.Field, Value: picked}))
}

// isLimit reports whether a line of context is more than a fact: it forbids something, sets
// a condition or a time, cancels something, or has an unknown sign.
func (r *Interpreter) isLimit(line string) bool {
	w := r.Catalog.Words
	y := r.withTokens(w.Tokens(line))
	if char, _ := r.UnknownSign(line); char != "" {
		return true
	}
	if from, _ := w.Stop.Find(y.Tokens); from >= 0 {
		return true
	}
	for i := 0; i < len(y.Tokens); i++ {
		if n := max(w.Facts.Longest(y.Tokens, i), w.Fillers.Longest(y.Tokens, i)); n > 1 { // "I am", "good evening"
			i += n - 1
			continue
		}
		limits := w.Negations.Longest(y.Tokens, i) > 0 || w.Conditionals.Longest(y.Tokens, i) > 0 || y.BeginsTime(i)
		if limits && !y.IsName(i) {
			return true
		}
	}
	return false
}

// HasLimit reports whether a remark next to a confirmation does more than describe a state: it
// limits the plan, orders something, or has unknown words. It is safe for concurrent use.
func HasLimit(text string) bool { return emptyHome().hasLimitingLine(text) }

// emptyHome returns an interpreter for a home without devices.
var emptyHome = sync.OnceValue(func() *Interpreter { return New(catalog.Default(), capabilities.Home{}) })

// hasLimitingLine reports whether a line of the text limits an act, orders something, or is no
// plain description.
func (r *Interpreter) hasLimitingLine(text string) bool {
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); line == "" {
			continue
		}
		if _, orders := r.ordersIn(line, capabilities.Outcome{}); orders || r.isLimit(line) || !r.isDescription(line, &capabilities.Plan{Risk: capabilities.RiskComfort}) {
			return true
		}
	}
	return false
}

// EqualIgnoringPlural reports whether two words are equal, or differ in case or in the ending of
// a plural only.
func EqualIgnoringPlural(a, b string) bool {
	w := emptyHome().Catalog.Words
	return w.Fold(lexicon.Lower(a)) == w.Fold(lexicon.Lower(b))
}
