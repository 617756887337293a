package reply

import (
	"slices"
	"strings"

	"github.com/messkit/messkit/capabilities/lexicon"
)

// parts is the state of an answer while the matcher reads its parts.
type parts struct {
	Matcher
	picked, denied []string
	named          int  // the number of parts that name an option
	others         bool // "the other one" is meant
	whole          bool // a part has taken all of them
	isReplacement  bool // a part names an option behind an excluded one
	leaving        bool // the answer excludes the next parts: "all but the hall and the kitchen"
}

// parts reads an answer part by part: it picks the options that a part names, and excludes
// those behind "not": "not the kitchen one, the other one". It picks nothing if the answer
// only excludes options or withdraws its own words: "hall, no, kitchen".
func (p Matcher) parts(text string, tokens []lexicon.Token) []string {
	w, l := p.Catalog.Words, parts{Matcher: p}
	joined := false
	for i := 0; i < len(tokens); {
		from := i + w.RuledOut.Longest(tokens, i)
		end := from
		for end < len(tokens) && (end == i || !tokens[end].Pause) && w.Joining.Longest(tokens, end) == 0 && w.RuledOut.Longest(tokens, end) == 0 {
			end++
		}
		if !l.take(tokens[i:from], tokens[from:end], joined) {
			return nil
		}
		i, joined = end, false
		for n := 1; n > 0 && i < len(tokens); i += n {
			n = w.Joining.Longest(tokens, i)
			joined = joined || n > 0
		}
	}
	if some := len(lexicon.Distinct(l.picked)); l.whole && (len(l.picked) > len(p.every()) || l.others) || some > 1 && broken(text) {
		return nil
	}
	return p.less(l.picked, l.denied, l.others)
}

// take reads a part behind not, which may be empty. ok is false if its meaning is unclear.
func (l *parts) take(not, part []lexicon.Token, joined bool) (ok bool) {
	w, which := l.Catalog.Words, l.part(part)
	leaves := len(not) > 0 && w.LeavingOut.Longest(not, 0) == len(not)
	switch {
	case len(not) == 0 && len(w.Bare(part)) == 0: // "please"
		return true
	case len(not) > 0 && w.Whole(w.No, not): // "no, the hall", but not "the hall, no"
		return len(part) == 0 && l.named == 0
	case len(not) > 0 && len(part) > 0 && w.Whole(w.Referring, unpicking(w, part)): // "not that one, the hall"
		return l.named == 0
	case leaves && !l.whole: // "the hall except the kitchen"
		return false
	case len(not) > 0 || l.leaving:
		l.denied, l.leaving = append(l.denied, which...), l.leaving || leaves
	case l.named > 0 && l.Catalog.Context.Corrects.Longest(part, 0) > 0, l.named > 0 && len(l.denied) == 0 && !enumerates(w, part): // "hall, I mean kitchen"
		return false
	case joined && len(l.denied) > 0, l.isReplacement: // "not the hall and the kitchen"
		return false
	case w.Whole(w.Rest, unpicking(w, part)):
		ok, l.others = l.named == len(l.denied) || joined, true
		l.named++
		return ok && l.named > 1
	case l.others && !joined: // "the other one, the hall"
		return false
	default:
		l.picked = append(l.picked, which...)
		l.whole = l.whole || slices.Equal(which, l.every())
	}
	l.named++
	l.isReplacement = len(not) == 0 && len(l.denied) > 0
	return len(which) > 0
}

// enumerates reports whether a part may be one of a list: it has no words that begin anew,
// like "I mean the hall" and "it is the hall".
func enumerates(w *lexicon.Lexicon, part []lexicon.Token) bool {
	for i := range part {
		if (w.Fillers.Longest(part, i) > 0 || w.Picking.Longest(part, i) > 0) && w.Listing.Longest(part, i) == 0 {
			return false
		}
	}
	return true
}

// broken reports whether a text stops in the middle: "kitchen... hall" may withdraw the
// kitchen.
func broken(text string) bool {
	text = strings.TrimRight(text, " \t\r\n.!…")
	return strings.ContainsAny(text, ".!;:…–—") || strings.Contains(text, " -") || strings.Contains(text, "- ")
}

// less returns the picked options without the excluded ones. "The other one" is the
// remaining one.
func (p Matcher) less(picked, denied []string, others bool) []string {
	every := slices.Equal(picked, p.every())
	if every && len(denied) > 0 {
		picked = p.SingleOptions()
	}
	if others {
		left := slices.DeleteFunc(p.SingleOptions(), func(o string) bool { return slices.Contains(denied, o) || slices.Contains(picked, o) })
		if len(denied)+len(picked) == 0 || len(left) != 1 {
			return nil
		}
		picked = append(picked, left...)
	}
	kept := slices.DeleteFunc(slices.Clone(picked), func(o string) bool { return slices.Contains(denied, o) })
	if !every && len(kept) < len(picked) { // the answer picks and excludes the same option
		return nil
	}
	return lexicon.Distinct(kept)
}
