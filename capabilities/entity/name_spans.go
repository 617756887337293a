package entity

import (
	"slices"

	"github.com/messkit/messkit/capabilities/lexicon"
)

// MarkNames marks the words that are part of a name.
func (x *Utterance) MarkNames() []bool {
	cover := make([]bool, len(x.Tokens))
	for i := range x.Tokens {
		end := i + x.Words().Fillers.Longest(x.Tokens, i)
		for _, kind := range []string{"device", "area", "view", "spot", "quantity"} {
			for _, m := range x.SlotValues(kind, i) {
				end = max(end, m.End)
			}
		}
		for k := i; k < end; k++ {
			cover[k] = true
		}
	}
	return cover
}

// OnlyNameText returns the text if it is nothing but the name of a thing, else "".
func (x *Utterance) OnlyNameText() string {
	for _, kind := range []string{"device", "area", "view", "spot"} {
		if m := x.OnlyName(kind); m != nil {
			return lexicon.Join(x.Tokens[x.SkipArticles(0):m.End])
		}
	}
	return ""
}

// OnlyName returns the value of a text that is only a name of this kind, otherwise nil.
func (x *Utterance) OnlyName(kind string) *lexicon.SlotValue {
	list := x.SlotValues(kind, x.SkipArticles(0))
	if i := slices.IndexFunc(list, func(m lexicon.SlotValue) bool { return x.SkipArticles(m.End) == len(x.Tokens) }); i >= 0 {
		return &list[i]
	}
	return nil
}

// IsPartOfName reports whether a word for a time stands at i, and a word behind it that is
// none: "night mode", "second thought".
func (x *Utterance) IsPartOfName(i int) bool {
	w, next := x.Words(), i+1
	strong := func(k int) bool {
		return k >= 0 && (w.NumberLen(x.Tokens, k) > 0 || w.Times.Longest(x.Tokens, k) > 0 || w.Clock.Longest(x.Tokens, k) > 0)
	}
	return w.Times.Longest(x.Tokens, i) > 0 && next < len(x.Tokens) && !x.Tokens[next].Pause && !strong(i-1) && !strong(next) && !x.BeginsOrder(next) && !x.Home.KnowsWord(x.Tokens[next]) &&
		w.Joining.Longest(x.Tokens, next) == 0 && w.Fillers.Longest(x.Tokens, next) == 0
}

// LooksLikeTime reports whether word i may be part of a time.
func (x *Utterance) LooksLikeTime(i int) bool {
	t := x.Tokens[i]
	return x.Words().NumberLen(x.Tokens, i) > 0 || x.Home.Catalog.TimeWords[t.Folded] && !x.Home.Catalog.Frames.OrderWords[t.Folded] && !x.Home.Names.Words[t.Folded]
}

// NameSpan is a range of words. Known is true if they are a valid length of time.
type NameSpan struct {
	From, End int
	Known     bool
}

// DurationSpan returns the span of a length of time from word i on, with its "for". It
// includes one without a meaning, like "for 0 seconds", and is empty if there is none.
func (x *Utterance) DurationSpan(i int) NameSpan {
	w := x.Words()
	n := w.Lasting.Longest(x.Tokens, i)
	from := i + n
	if n == 0 || from >= len(x.Tokens) {
		return NameSpan{}
	}
	if len(x.SlotValues("duration", from)) > 0 {
		return NameSpan{i, x.LongestSlot("duration", from), true}
	}
	end := from
	for n := w.NumberLen(x.Tokens, end); n > 0; n = w.NumberLen(x.Tokens, end) {
		end += n
	}
	if end == from {
		return NameSpan{}
	}
	end = min(end+1, len(x.Tokens)) // with the unit
	if end < len(x.Tokens) && w.Units[x.Tokens[end].Folded] > 0 && w.Units[x.Tokens[end-1].Folded] == 0 {
		end++ // "two hundred minutes"
	}
	return NameSpan{i, end, false}
}

// LongestSlot returns where the longest value for a slot at word i ends, i if there is
// none.
func (x *Utterance) LongestSlot(kind string, i int) int {
	end := i
	for _, m := range x.SlotValues(kind, i) {
		end = max(end, m.End)
	}
	return end
}

// BeginsTime reports whether a time begins at word i.
func (x *Utterance) BeginsTime(i int) bool {
	w := x.Words()
	if i >= len(x.Tokens) {
		return false
	}
	if w.Half.Longest(x.Tokens, i) > 0 && i > 0 && x.Tokens[i-1].Text == "i" {
		return false // "I am"
	}
	if w.Times.Longest(x.Tokens, i) > 0 || len(x.SlotValues("duration", i)) > 0 {
		return true
	}
	if i == 0 || w.Clock.Longest(x.Tokens, i-1) == 0 {
		return false
	}
	if x.PercentAt(i) {
		return false // "at seventy percent"
	}
	if x.Home.Catalog.Frames.Shares.Longest(x.Tokens, i) > 0 && w.Past.Longest(x.Tokens, i) == 0 && x.HalfHour(i) == i {
		return false // "by half"
	}
	if end, _, _, _ := w.ReadHour(x.Tokens, i); end == 0 || end < len(x.Tokens) && w.Measures[x.Tokens[end].Folded] {
		return false // "at 50", "by 20 degrees"
	}
	c := x.Tokens[i].Text[0]
	return c >= '0' && c <= '9' || w.Numbers.Longest(x.Tokens, i) > 0 && w.Fillers.Longest(x.Tokens, i) == 0
}

// PercentAt reports whether a number of percent begins at word i.
func (x *Utterance) PercentAt(i int) (is bool) {
	x.Words().EachCardinal(x.Tokens, i, func(end int, _ float64) {
		is = is || x.Home.Catalog.Frames.Percent.Longest(x.Tokens, end) > 0
	})
	return is
}

// IsName reports whether word i belongs to the name of a thing.
func (x *Utterance) IsName(i int) bool {
	if x.NameMask == nil {
		x.NameMask = make([]bool, len(x.Tokens))
		for from := range x.Tokens {
			for _, kind := range nameKinds {
				for _, m := range x.SlotValues(kind, from) {
					for k := from; k < m.End && !m.All; k++ {
						x.NameMask[k] = true
					}
				}
			}
			if n := x.Home.Catalog.Frames.Signals.Longest(x.Tokens, from); n > 1 && !x.BeginsOrder(from) { // "morning coffee"
				for k := from; k < from+n; k++ {
					x.NameMask[k] = true
				}
			}
		}
	}
	return x.NameMask[i]
}

// BeginsOrder reports whether an order begins at word i.
func (x *Utterance) BeginsOrder(i int) bool {
	c := x.Home.Catalog
	return c.Frames.OrderWords[x.Tokens[i].Folded] && (c.ClassPhrases.Longest(x.Tokens, i) == 0 || c.Frames.Signals.Longest(x.Tokens, i) > 0) // "light up" begins one, and "the light" does not
}

var nameKinds = []string{"device", "view", "spot"}
