package interpret

import (
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/messkit/messkit/capabilities"
	"github.com/messkit/messkit/capabilities/catalog"
	"github.com/messkit/messkit/capabilities/frame"
	"github.com/messkit/messkit/capabilities/lexicon"
	"github.com/messkit/messkit/capabilities/timeexpr"
	"github.com/messkit/messkit/mess"
)

// withoutNegation removes the "not" from a question that expects a yes: "isn't the fan on?"
// asks the same as "is the fan on?".
func (x *request) withoutNegation() {
	if t := x.Tokens; x.IsQuestion && len(t) > 2 && t[1].Text == "not" && (t[0].Text == "is" || t[0].Text == "are" || t[0].Text == "did" || t[0].Text == "does" || t[0].Text == "has" || t[0].Text == "have") {
		x.Tokens = append(t[:1:1], t[2:]...)
	}
}

// quotesOrder reports whether quotation marks enclose an order: it may quote another
// person. The bare name of a device is no order.
func (x *request) quotesOrder() bool {
	for _, quotation := range lexicon.Quotations(x.Message.Intent) {
		y := x.r.withTokens(x.Words().Tokens(quotation))
		if y.OnlyNameText() == "" && y.hasOrderWord() {
			return true
		}
	}
	return false
}

// hasOrderWord reports whether a word of the text is an order word.
func (x *request) hasOrderWord() bool {
	l := &x.r.Catalog.Frames
	for _, t := range x.Tokens {
		if l.OrderWords[t.Folded] || l.ActWords[t.Folded] {
			return true
		}
	}
	return false
}

// asksWhetherStill reports whether the text has a device and its present state, and no
// order before: "stove still on" asks or reports.
func (x *request) asksWhetherStill() bool {
	for i, t := range x.Tokens {
		if i > 0 && (t.Text == "still" || t.Text == "now" && i+1 < len(x.Tokens) && x.IsName(i-1) && x.r.Catalog.Frames.Signals.Longest(x.Tokens, i+1) > 0) {
			return !x.BeginsWithOrder()
		}
	}
	return false
}

// rejectUnknownSign refuses a text with a sign that the interpreter cannot read.
func (x *request) rejectUnknownSign() (capabilities.Outcome, bool) {
	char, word := x.r.UnknownSign(lexicon.RemoveKindSigns(x.Message.Intent))
	if char == "" {
		return capabilities.Outcome{}, false
	}
	x.Explain.Leftover = []string{char}
	in := ""
	if word != "" && word != char {
		in = fmt.Sprintf(" in %q", word)
	}
	return x.Reject(fmt.Sprintf("not understood: %q%s; a sign may change the meaning, so say it in words", char, in), nil), true
}

// isBareStop reports whether the text only says stop, of everything or without an object:
// "stop", "stop everything now", "emergency stop". Such a text is no request, because a
// request waits for its turn. A device whose name has such a word keeps its name.
func (x *request) isBareStop() bool {
	w, stops := x.Words(), false
	for i := 0; i < len(x.Tokens); {
		stop := w.Halting.Longest(x.Tokens, i)
		if x.IsName(i) {
			return false
		}
		n := max(stop, w.Halted.Longest(x.Tokens, i), w.All.Longest(x.Tokens, i), w.Fillers.Longest(x.Tokens, i))
		if n == 0 {
			return false
		}
		stops = stops || stop > 0
		i += n
	}
	return stops
}

// splitRemarks splits a text that matches no sentence into an order and remarks, which describe a
// state or give a reason. The interpreter reads remarks like the context of a request, and "it"
// refers to the subject of the last remark. The result ok is false if the text has no remark, or
// if the interpreter understands it as it is.
func (r *Interpreter) splitRemarks(req mess.Request) (more mess.Request, remarks []string, ok bool) {
	text := strings.ReplaceAll(strings.ReplaceAll(req.Intent, "\n\n", ". "), "\n", " ")
	parts := r.splitReasons(clausesOf(text), text)
	if len(parts) < 2 || len(parts) > maxClauses || strings.ContainsRune(text, '?') {
		return req, nil, false
	}
	from, to := 0, len(parts)
	for ; from < to && r.isRemark(parts[from].text); from++ {
	}
	for ; to > from && r.isRemark(parts[to-1].text); to-- {
	}
	if from == to || from == 0 && to == len(parts) {
		return req, nil, false
	}
	bare := req
	bare.Context = nil
	if out := r.resolveText(bare, nil); out.Refusal == nil && len(out.Explain.Leftover) == 0 && (out.Question == nil || !strings.HasPrefix(out.Question.Field, "meaning")) {
		return req, nil, false
	}
	w := r.Catalog.Words
	order := w.Tokens(text[parts[from].from:parts[to-1].end])
	order = order[r.Catalog.Courtesy.Hence.Longest(order, 0):]
	x := r.withTokens(order)
	if !frame.OpensOrder(&x.Utterance, 0) {
		return req, nil, false
	}
	for _, p := range slices.Concat(parts[:from], parts[to:]) {
		remark := w.Tokens(p.text)
		if reports, _ := r.Catalog.Courtesy.Reporting.Find(remark); reports >= 0 {
			return req, nil, false
		}
		remark = remark[r.Catalog.Courtesy.Reasons.Longest(remark, 0):]
		if named := x.withName(r.NamedThing(remark)); named != nil && p.from < parts[from].from {
			y := r.withTokens(remark)
			y.Message = bare
			order = named
			if _, reported := y.parseReportedState(); reported { // the remark names the device and its state
				continue
			}
		}
		remarks = append(remarks, lexicon.Join(remark))
	}
	more = req
	more.Intent = withPauses(order)
	return more, remarks, true
}

// remarkType is the type of a remark among the entries of a context.
const remarkType = "remark"

// maxClauses is the largest number of clauses of a text with remarks.
const maxClauses = 12

// splitReasons splits clauses again before words that begin a reason: "turn on the light
// because it is dark".
func (r *Interpreter) splitReasons(parts []clause, text string) (list []clause) {
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

// isRemark reports whether a part of a text reports something and orders nothing: it begins with
// its subject, and describes the state or activity of the subject.
func (r *Interpreter) isRemark(text string) bool {
	w := r.Catalog.Words
	tokens := w.Tokens(text)
	tokens = tokens[r.Catalog.Courtesy.Reasons.Longest(tokens, 0):]
	x := r.withTokens(tokens)
	if len(tokens) < 2 || frame.OpensOrder(&x.Utterance, 0) || w.Conditionals.Longest(tokens, 0) > 0 || w.Negations.Longest(tokens, 0)+w.TakingBack.Longest(tokens, 0) > 0 { // "I mean the hall light"
		return false
	}
	if from, _ := w.Negations.Find(tokens); from < 0 && x.hasWish() {
		return false
	}
	return x.verbAt() > 0 || r.Catalog.Courtesy.Tellers.Longest(tokens, 0) > 0
}

// hasWish reports whether a word expresses a wish or a desired state.
func (x *request) hasWish() (is bool) {
	l := &x.r.Catalog.Frames
	for i := range x.Tokens {
		l.Signals.Each(x.Tokens, i, func(end int, s catalog.Feature) { is = is || end > i && s.Has(l.Bits["want"]|l.Bits["should"]) })
	}
	return is
}

// verbAt returns the index of the first form of "to be" behind a short subject, or 0 if
// there is none.
func (x *request) verbAt() int {
	for i := 1; i < min(len(x.Tokens), longestSubject+1); i++ {
		if x.r.Catalog.Context.Being.Longest(x.Tokens, i) > 0 {
			return i
		}
	}
	return 0
}

// withName returns an order with a name in the place of "it", or nil if the order has no
// "it" or names something itself.
func (x *request) withName(name string) []lexicon.Token {
	at := slices.IndexFunc(x.Tokens, func(t lexicon.Token) bool { return x.Words().Referring.Longest([]lexicon.Token{t}, 0) > 0 })
	verb := slices.IndexFunc(x.Tokens, func(t lexicon.Token) bool { return x.r.Catalog.Frames.OrderWords[t.Folded] })
	if at < 0 || name == "" || x.r.NamedThing(x.Tokens[verb+1:]) != "" { // "lock" and "vacuum" are things, too
		return nil
	}
	return slices.Concat(x.Tokens[:at], x.Words().Tokens(name), x.Tokens[at+1:])
}

// orderOfMail returns a text without the courtesies of a mail: greetings, wishes, and a signature.
// It also removes quoted mail and a mail header, and returns their lines in left. It does not
// change a text that has nothing else.
func (r *Interpreter) orderOfMail(text string) (plain string, left []string) {
	if len(text) > maxMail || !strings.ContainsAny(text, "\n,;.!?:") {
		return text, nil
	}
	plain, left = r.withoutQuotedMail(text)
	if plain == "" {
		return text, nil
	}
	parts := clausesOf(plain)
	from, to := 0, len(parts)
	for ; from < to && r.isCourtesy(parts[from].text, true); from++ {
	}
	for ; to > from; to-- {
		if r.isCourtesy(parts[to-1].text, false) {
			continue
		}
		if to-2 < from || !r.isClosing(parts[to-2].text) || !r.mayBePersonName(parts[to-1].text) {
			break
		}
		to--
	}
	if from == to {
		return text, nil
	}
	if from > 0 || to < len(parts) {
		plain = strings.TrimSpace(plain[parts[from].from:parts[to-1].end])
	}
	return r.withoutRanks(plain), left
}

// maxMail is the longest mail that the interpreter reads, in bytes.
const maxMail = 8000

// withoutQuotedMail returns a mail without quoted mail and without its header. left has the lines
// that it removes.
func (r *Interpreter) withoutQuotedMail(text string) (plain string, left []string) {
	w, c := r.Catalog.Words, &r.Catalog.Courtesy
	if !strings.Contains(text, "\n") { // "Subject: lights. Turn on the hall light"
		head, body, parts := strings.Cut(text, ". ")
		if key, of, headed := strings.Cut(head, ": "); parts && headed && len(c.Lists.Heads) > 0 && strings.EqualFold(key, c.Lists.Heads[0]) && !r.isLimit(of) {
			return strings.TrimSpace(body), []string{head}
		}
		return text, nil
	}
	var kept []string
	body := false // a line of the mail itself stands before
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		line = strings.TrimSpace(line)
		next := ""
		if i+1 < len(lines) {
			next = strings.TrimSpace(lines[i+1])
		}
		tokens := w.Tokens(line)
		last := tokens[max(0, len(tokens)-1):]
		key, _, headed := strings.Cut(line, ":")
		switch {
		case strings.HasPrefix(line, ">"), strings.HasPrefix(next, ">") && strings.HasSuffix(line, ":") && w.Whole(c.Quoting, last),
			!body && headed && w.Whole(c.Heads, w.Tokens(key)):
			left = append(left, line)
			continue
		case line == "--":
			return strings.Join(kept, "\n"), left
		}
		body = body || line != ""
		kept = append(kept, line)
	}
	return strings.TrimSpace(strings.Join(kept, "\n")), left
}

// clause is a part of a text between commas, full stops and ends of lines.
type clause struct {
	text      string
	from, end int  // bytes of the whole text, with the character that ends the clause
	stop      rune // that character; 0 at the end of the text
}

// clausesOf splits a text into clauses.
func clausesOf(text string) (list []clause) {
	from := 0
	add := func(at, end int, stop rune) {
		if part := strings.TrimSpace(text[from:at]); strings.ContainsFunc(part, lexicon.IsWord) {
			list = append(list, clause{part, from, end, stop})
		} else if n := len(list); n > 0 {
			list[n-1].end = end
		}
		from = end
	}
	for i, c := range text {
		_, width := utf8.DecodeRuneInString(text[i:]) // one byte for an invalid rune
		end := i + width
		next, _ := utf8.DecodeRuneInString(text[end:])
		if c == '\n' || strings.ContainsRune(",;.!?:", c) && (end == len(text) || unicode.IsSpace(next) || strings.ContainsRune("!?.", next)) {
			add(i, end, c)
		}
	}
	add(len(text), len(text), 0)
	return list
}

// isCourtesy reports whether a clause of a mail asks for nothing: a greeting at its
// beginning (ahead), or a closing at its end.
func (r *Interpreter) isCourtesy(text string, ahead bool) bool {
	w, c := r.Catalog.Words, &r.Catalog.Courtesy
	tokens := w.Tokens(text)
	n := c.Greetings.Longest(tokens, 0)
	switch {
	case len(tokens) == 0, w.Whole(c.Wishes, tokens), w.Whole(c.Haste, tokens), len(w.Bare(tokens)) == 0 && len(tokens) > 1:
		return true
	case ahead:
		return n > 0 && r.mayBePersonName(lexicon.Join(tokens[n:]))
	}
	return w.Whole(c.Closings, tokens) || c.Closings.Longest(tokens, 0) > 0 && r.mayBePersonName(lexicon.Join(tokens[c.Closings.Longest(tokens, 0):]))
}

// isClosing reports whether a clause of a mail is a closing, which stands before the name
// of the writer.
func (r *Interpreter) isClosing(text string) bool {
	w := r.Catalog.Words
	return w.Whole(r.Catalog.Courtesy.Closings, w.Tokens(text))
}

// longestName is the largest number of words in the name of a person.
const longestName = 3

// mayBePersonName reports whether words can be the name of a person: no device or place has
// them, and they have no meaning for an order.
func (r *Interpreter) mayBePersonName(text string) bool {
	tokens := r.Catalog.Words.Tokens(text)
	x := r.withTokens(tokens)
	for i, t := range tokens {
		if r.KnowsWord(t) && !slices.Contains(r.Catalog.Words.Lists.Home, t.Text) && r.Catalog.Words.Fillers.Longest(tokens, i) == 0 || timeexpr.IsDated(&x.Utterance, i) || r.Catalog.Words.Conditionals.Longest(tokens, i) > 0 || r.Catalog.Words.Negations.Longest(tokens, i) > 0 {
			return false
		}
	}
	return len(tokens) <= longestName
}

// withoutRanks returns a text without the ordinals of its orders: "first, ... second, ..."
// becomes "... then ...".
func (r *Interpreter) withoutRanks(text string) string {
	w, c := r.Catalog.Words, &r.Catalog.Courtesy
	parts := clausesOf(text)
	var b strings.Builder
	ranked, then := false, false
	for i, p := range parts {
		tokens := w.Tokens(p.text)
		n := c.Ranks.Longest(tokens, 0)
		x := r.withTokens(tokens)
		alone := n > 0 && n == len(tokens) && i+1 < len(parts)
		switch {
		case alone:
			ranked, then = true, b.Len() > 0
			continue
		case n > 0 && n < len(tokens) && frame.OpensOrder(&x.Utterance, n):
			ranked, then = true, b.Len() > 0
			tokens = tokens[n:]
		}
		part := text[p.from:p.end]
		if len(tokens) < len(w.Tokens(p.text)) {
			part = withPauses(tokens)
			if p.stop != 0 {
				part += string(p.stop)
			}
		}
		if then {
			b.WriteString(" then ")
		}
		then = false
		b.WriteString(part)
	}
	if !ranked {
		return text
	}
	return strings.TrimSpace(b.String())
}
