package interpret

import (
	"slices"
	"strconv"

	"github.com/messkit/messkit/capabilities"
	"github.com/messkit/messkit/capabilities/catalog"
	"github.com/messkit/messkit/capabilities/lexicon"
	"github.com/messkit/messkit/mess"
)

// ReservedNameUse returns the meaning that the interpreter hears in the name of a device,
// if that is not the name alone: "means everything" for the name "all". It is "" for a
// good name.
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
	for class, can := range map[string][]capabilities.Command{"switch": {capabilities.SetSwitch, capabilities.Toggle}, "door": {capabilities.Open, capabilities.Shut}, "lock": {capabilities.Lock, capabilities.Unlock}, "vacuum": {capabilities.Pause, capabilities.Resume, capabilities.Stop}} {
		home := capabilities.Home{Devices: []capabilities.Device{{Name: other, Class: class, Commands: can}}}
		plan := New(c, home).Resolve(mess.Request{Intent: order}).Plan
		if plan != nil && len(plan.Unused) == 0 {
			return true
		}
	}
	return false
}
