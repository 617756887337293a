package interpret

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/messkit/messkit/capabilities/frame"
	"github.com/messkit/messkit/capabilities/lexicon"
	"github.com/messkit/messkit/capabilities/timeexpr"
)

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
