package interpret

import (
	"slices"
	"strconv"

	"github.com/messkit/messkit/capabilities"
	"github.com/messkit/messkit/mess"
)

// Sense is how a name of a thing would be heard, where it is not heard as one alone: "is
// said of everything", for who calls a lamp "all". It is "" for a good name.
func (c *Catalogue) Sense(name string) string {
	w, t := c.words, c.words.plainTokens(name)
	_, number := strconv.ParseFloat(joined(t), 64)
	switch {
	case len(t) == 0:
		return "has no word that can be said"
	case number == nil:
		return "is a number, and heard as one"
	case w.All.longest(t, 0) > 0 || w.AnyOne.longest(t, 0) == len(t):
		return "is said of everything"
	case w.whole(w.Yes, t) || w.whole(w.No, t) || w.whole(w.Stop, t) || w.whole(w.Halting, t):
		return "is said for a yes, a no or a stop"
	case c.small(t):
		return "is heard as a word that names nothing"
	case c.timed(t):
		return "is heard as a time"
	case c.orders(t):
		return "is an order, or the beginning of one"
	}
	return ""
}

// small reports whether there is no word but those that stand for others, join them or
// turn them round.
func (c *Catalogue) small(t []token) bool {
	w := c.words
	for i := 0; i < len(t); {
		n := 0
		for _, s := range []*set{w.Referring, w.Negations, w.Joining, w.Fillers, w.NoneOf, w.Rest, w.Asking, w.Conditionals} {
			n = max(n, s.longest(t, i))
		}
		if n == 0 {
			return false
		}
		i += n
	}
	return true
}

// timed reports whether a length of time, or one until something is to be, stands in it:
// "lamp for ten minutes".
func (c *Catalogue) timed(t []token) bool {
	w := c.words
	for i := range t {
		for _, before := range []*set{w.Lasting, w.Delaying, w.Ending} {
			from := i + before.longest(t, i)
			if from == i {
				continue
			}
			timed := false
			for to := from + 1; to < len(t); to++ {
				_, unit := w.Units[t[to].folded]
				timed = timed || unit && c.isNumber(t[from:to])
			}
			if timed {
				return true
			}
		}
	}
	return false
}

func (c *Catalogue) isNumber(t []token) bool {
	if _, err := strconv.ParseFloat(joined(t), 64); err == nil {
		return true
	}
	is := false
	c.words.Numbers.each(t, 0, func(end int, _ float64) { is = is || end == len(t) })
	return is
}

// orders reports whether an order for a thing is complete with a name behind these
// words: "turn off", and not "light", which is a thing itself.
func (c *Catalogue) orders(t []token) bool {
	thing := false
	c.classPhrase.each(t, 0, func(end int, _ match) { thing = thing || end == len(t) })
	if thing {
		return false
	}
	const other = "zzyzx"
	order := joined(t) + " " + other
	for i := range t {
		if n := c.words.Referring.longest(t, i); n > 0 { // "switch it off"
			order = joined(slices.Concat(t[:i], []token{{text: other}}, t[i+n:]))
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
