package interpret

import (
	"slices"
	"strings"

	"github.com/messkit/messkit/capabilities/catalog"
	"github.com/messkit/messkit/capabilities/entity"
	"github.com/messkit/messkit/capabilities/frame"
	"github.com/messkit/messkit/capabilities/lexicon"
	"github.com/messkit/messkit/capabilities/resolve"
	"github.com/messkit/messkit/mess"
)

// parted reads a text that is none by itself as an order with remarks beside it, which
// tell how things are or why it is asked. They are read as what stands beside a request
// is, and "it" is what the last of them is about. Where nothing is to be parted, or the
// text is understood as it is, ok is false.
func (r *Interpreter) parted(req mess.Request) (more mess.Request, remarks []string, ok bool) {
	text := strings.ReplaceAll(strings.ReplaceAll(req.Intent, "\n\n", ". "), "\n", " ")
	parts := r.reasoned(clausesOf(text), text)
	if len(parts) < 2 || len(parts) > maxClauses || strings.ContainsRune(text, '?') {
		return req, nil, false
	}
	from, to := 0, len(parts)
	for ; from < to && r.tellsOnly(parts[from].text); from++ {
	}
	for ; to > from && r.tellsOnly(parts[to-1].text); to-- {
	}
	if from == to || from == 0 && to == len(parts) {
		return req, nil, false
	}
	bare := req
	bare.Context = nil
	if out := r.said(bare, nil); out.Refusal == nil && len(out.Explain.Leftover) == 0 && (out.Question == nil || !strings.HasPrefix(out.Question.Field, "meaning")) {
		return req, nil, false
	}
	w := r.Catalog.Words
	order := w.Tokens(text[parts[from].from:parts[to-1].end])
	order = order[r.Catalog.Courtesy.Hence.Longest(order, 0):]
	x := &request{r: r, Request: resolve.Request{Resolver: &r.Resolver, Utterance: entity.Utterance{Home: &r.Home, Tokens: order}}}
	if !frame.OpensOrder(&x.Utterance, 0) {
		return req, nil, false
	}
	for _, p := range slices.Concat(parts[:from], parts[to:]) {
		said := w.Tokens(p.text)
		if reports, _ := r.Catalog.Courtesy.Reporting.Find(said); reports >= 0 {
			return req, nil, false
		}
		said = said[r.Catalog.Courtesy.Reasons.Longest(said, 0):]
		if put := x.putFor(r.ThingOf(said)); put != nil && p.from < parts[from].from {
			y := &request{r: r, Request: resolve.Request{Resolver: &r.Resolver, Utterance: entity.Utterance{Home: &r.Home, Tokens: said}, Message: bare, Whole: said}}
			order = put
			if _, told := y.told(); told { // it said what is meant, and how that is
				continue
			}
		}
		remarks = append(remarks, lexicon.Join(said))
	}
	more = req
	more.Intent = withPauses(order)
	return more, remarks, true
}

// remarked is the type of a remark among the entries of a context.
const remarked = "remark"

// maxClauses bounds how many parts a text may have that is parted.
const maxClauses = 12

// reasoned parts clauses again before words that a reason stands behind: "turn on the
// light because it is dark".
func (r *Interpreter) reasoned(parts []clause, text string) (list []clause) {
	for _, p := range parts {
		at := -1
		for _, word := range r.Catalog.Courtesy.Lists.Causes {
			if i := strings.Index(text[p.from:p.end], " "+word+" "); i > 0 && strings.ContainsFunc(text[p.from:p.from+i], lexicon.IsWord) {
				at = p.from + i
			}
		}
		if at < 0 {
			list = append(list, p)
			continue
		}
		list = append(list, clause{strings.TrimSpace(text[p.from:at]), p.from, at, 0}, clause{strings.TrimSpace(text[at:p.end]), at, p.end, p.stop})
	}
	return list
}

// tellsOnly reports whether a part of a text tells something and orders nothing: it
// begins with who or what it is about, and says what that is or does.
func (r *Interpreter) tellsOnly(text string) bool {
	w := r.Catalog.Words
	tokens := w.Tokens(text)
	tokens = tokens[r.Catalog.Courtesy.Reasons.Longest(tokens, 0):]
	x := &request{r: r, Request: resolve.Request{Resolver: &r.Resolver, Utterance: entity.Utterance{Home: &r.Home, Tokens: tokens}, Whole: tokens}}
	if len(tokens) < 2 || frame.OpensOrder(&x.Utterance, 0) || w.Conditionals.Longest(tokens, 0) > 0 || w.Negations.Longest(tokens, 0)+w.TakingBack.Longest(tokens, 0) > 0 { // "I mean the hall light"
		return false
	}
	if from, _ := w.Negations.Find(tokens); from < 0 && x.hopes() {
		return false
	}
	return x.be() > 0 || r.Catalog.Courtesy.Tellers.Longest(tokens, 0) > 0
}

// hopes reports whether a word says what is wanted, or how it should be.
func (x *request) hopes() (is bool) {
	l := &x.r.Catalog.Frames
	for i := range x.Tokens {
		l.Signals.Each(x.Tokens, i, func(end int, s catalog.Feature) { is = is || end > i && s.Has(l.Bits["want"]|l.Bits["should"]) })
	}
	return is
}

// be is where a word stands that says that something is so, 0 if none of the first does.
func (x *request) be() int {
	for i := 1; i < min(len(x.Tokens), longestSubject+1); i++ {
		if x.r.Catalog.Context.Being.Longest(x.Tokens, i) > 0 {
			return i
		}
	}
	return 0
}

// putFor is an order with a name in the place of "it", nil if there is none, or if it
// names something itself.
func (x *request) putFor(name string) []lexicon.Token {
	at := slices.IndexFunc(x.Tokens, func(t lexicon.Token) bool { return x.Words().Referring.Longest([]lexicon.Token{t}, 0) > 0 })
	verb := slices.IndexFunc(x.Tokens, func(t lexicon.Token) bool { return x.r.Catalog.Frames.OrderWords[t.Folded] })
	if at < 0 || name == "" || x.r.ThingOf(x.Tokens[verb+1:]) != "" { // "lock" and "vacuum" are things, too
		return nil
	}
	return slices.Concat(x.Tokens[:at], x.Words().Tokens(name), x.Tokens[at+1:])
}
