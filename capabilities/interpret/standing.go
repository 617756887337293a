package interpret

import (
	"fmt"
	"slices"

	"github.com/messkit/messkit/capabilities"
	"github.com/messkit/messkit/capabilities/lexicon"
	"github.com/messkit/messkit/mess"
)

// cover marks the words that are part of a name.
func (x *request) cover() []bool {
	cover := make([]bool, len(x.tokens))
	for i := range x.tokens {
		end := i + x.words().Fillers.Longest(x.tokens, i)
		for _, kind := range []string{"device", "area", "view", "spot", "quantity"} {
			for _, m := range x.filled(kind, i) {
				end = max(end, m.End)
			}
		}
		for k := i; k < end; k++ {
			cover[k] = true
		}
	}
	return cover
}

// bareName is the text, if it is nothing but the name of a device or place.
func (x *request) bareName() string {
	for _, kind := range []string{"device", "area", "view", "spot"} {
		if m := x.bare(kind); m != nil {
			return lexicon.Join(x.tokens[x.pass(0):m.End])
		}
	}
	return ""
}

// bare is what the text names, if it is nothing but a name of this kind.
func (x *request) bare(kind string) *lexicon.SlotValue {
	list := x.filled(kind, x.pass(0))
	if i := slices.IndexFunc(list, func(m lexicon.SlotValue) bool { return x.pass(m.End) == len(x.tokens) }); i >= 0 {
		return &list[i]
	}
	return nil
}

// bareDevice asks what is to be done with a device that is named without an order.
func (r *Interpreter) bareDevice(req mess.Request, given mess.Object) (capabilities.Outcome, bool) {
	x := &request{r: r, req: req, given: given}
	if req.Precision == mess.Exact || len(req.Requires) > 0 || len(req.Intent) > lexicon.MaxText {
		return capabilities.Outcome{}, false
	}
	x.tokens = x.unnumbered(x.words().Tokens(req.Intent))
	x.asks = x.words().IsQuestion(req.Intent, x.tokens)
	m := x.bare("device")
	if m == nil || len(m.Devices) != 1 || len(x.tokens) > lexicon.MaxTokens {
		return capabilities.Outcome{}, false
	}
	options := r.sayable(m.Devices[0], x.asks)
	if len(options) == 0 {
		return capabilities.Outcome{}, false
	}
	options = append(options[:min(len(options), maxGuesses)], capabilities.NoneOfThese)
	text := fmt.Sprintf("%q is a name and says not what to do: %s?", lexicon.Join(x.tokens[x.pass(0):m.End]), lexicon.OrList(options))
	picked, out, ok := x.ask(capabilities.Question{Field: "order", Text: text, Options: options})
	switch {
	case !ok:
		return out, true
	case len(picked) != 1 || picked[0] == capabilities.NoneOfThese:
		return x.refuse("none of what was offered is meant; say it in other words", nil), true
	}
	req.Intent = picked[0]
	return r.said(req, given), true
}

// partOfAName reports whether a word for a time stands at i, and a word behind it that is
// none: "night mode", "second thought".
func (x *request) partOfAName(i int) bool {
	w, next := x.words(), i+1
	strong := func(k int) bool {
		return k >= 0 && (w.NumberLen(x.tokens, k) > 0 || w.Times.Longest(x.tokens, k) > 0 || w.Clock.Longest(x.tokens, k) > 0)
	}
	return w.Times.Longest(x.tokens, i) > 0 && next < len(x.tokens) && !x.tokens[next].Pause && !strong(i-1) && !strong(next) && !x.ordered(next) && !x.r.knows(x.tokens[next]) &&
		w.Joining.Longest(x.tokens, next) == 0 && w.Fillers.Longest(x.tokens, next) == 0
}

// timeLike reports whether word i may be part of a time.
func (x *request) timeLike(i int) bool {
	t := x.tokens[i]
	return x.words().NumberLen(x.tokens, i) > 0 || x.r.catalogue.TimeWords[t.Folded] && !x.r.catalogue.Frames.OrderWords[t.Folded] && !x.r.names.words[t.Folded]
}

// span is some words of a request; known where they are a length of time.
type span struct {
	from, end int
	known     bool
}

// lasting is the length of time that is said from word i on, with its "for";
// one without meaning too, like "for 0 seconds".
func (x *request) lasting(i int) span {
	w := x.words()
	n := w.Lasting.Longest(x.tokens, i)
	from := i + n
	if n == 0 || from >= len(x.tokens) {
		return span{}
	}
	if len(x.filled("duration", from)) > 0 {
		return span{i, x.longest("duration", from), true}
	}
	end := from
	for n := w.NumberLen(x.tokens, end); n > 0; n = w.NumberLen(x.tokens, end) {
		end += n
	}
	if end == from {
		return span{}
	}
	end = min(end+1, len(x.tokens)) // with the unit
	if end < len(x.tokens) && w.Units[x.tokens[end].Folded] > 0 && w.Units[x.tokens[end-1].Folded] == 0 {
		end++ // "two hundred minutes"
	}
	return span{i, end, false}
}

// longest is where the longest match for a gap at word i ends.
func (x *request) longest(kind string, i int) int {
	end := i
	for _, m := range x.filled(kind, i) {
		end = max(end, m.End)
	}
	return end
}

// timed reports whether a time begins at word i.
func (x *request) timed(i int) bool {
	w := x.words()
	if i >= len(x.tokens) {
		return false
	}
	if w.Half.Longest(x.tokens, i) > 0 && i > 0 && x.tokens[i-1].Text == "i" {
		return false // "I am"
	}
	if w.Times.Longest(x.tokens, i) > 0 || len(x.filled("duration", i)) > 0 {
		return true
	}
	if i == 0 || w.Clock.Longest(x.tokens, i-1) == 0 {
		return false
	}
	if x.percents(i) {
		return false // "at seventy percent"
	}
	if x.r.catalogue.Frames.Shares.Longest(x.tokens, i) > 0 && w.Past.Longest(x.tokens, i) == 0 && x.halfHour(i) == i {
		return false // "by half"
	}
	if end, _, _, _ := w.ReadHour(x.tokens, i); end == 0 || end < len(x.tokens) && w.Measures[x.tokens[end].Folded] {
		return false // "at 50", "by 20 degrees"
	}
	c := x.tokens[i].Text[0]
	return c >= '0' && c <= '9' || w.Numbers.Longest(x.tokens, i) > 0 && w.Fillers.Longest(x.tokens, i) == 0
}

// percents reports whether a number of percent begins at word i.
func (x *request) percents(i int) (is bool) {
	x.words().EachCardinal(x.tokens, i, func(end int, _ float64) {
		is = is || x.r.catalogue.Frames.Percent.Longest(x.tokens, end) > 0
	})
	return is
}

// named reports whether word i is in the name of a thing of this home.
func (x *request) named(i int) bool {
	if x.names == nil {
		x.names = make([]bool, len(x.tokens))
		for from := range x.tokens {
			for _, kind := range nameKinds {
				for _, m := range x.filled(kind, from) {
					for k := from; k < m.End && !m.All; k++ {
						x.names[k] = true
					}
				}
			}
			if n := x.r.catalogue.Frames.Signals.Longest(x.tokens, from); n > 1 && !x.ordered(from) { // "morning coffee"
				for k := from; k < from+n; k++ {
					x.names[k] = true
				}
			}
		}
	}
	return x.names[i]
}

// ordered reports whether a word that an order begins with stands at i.
func (x *request) ordered(i int) bool {
	c := x.r.catalogue
	return c.Frames.OrderWords[x.tokens[i].Folded] && (c.ClassPhrases.Longest(x.tokens, i) == 0 || c.Frames.Signals.Longest(x.tokens, i) > 0) // "light up" begins one, and "the light" does not
}

var nameKinds = []string{"device", "view", "spot"}
