package timeexpr

import (
	"github.com/messkit/messkit/capabilities/entity"
)

// ReadTimes reads a number of times at word i: "twice", "three times". end is i if there
// is none.
func ReadTimes(x *entity.Utterance, i int) (end, n int) {
	w := x.Words()
	end = i
	w.Repeats.Each(x.Tokens, i, func(to, times int) { end, n = to, times })
	w.EachCount(x.Tokens, i, func(to, count int) {
		if k := w.TimesOver.Longest(x.Tokens, to); k > 0 {
			end, n = to+k, count
		}
	})
	return end, n
}

// BeginsTimes reports whether a number of times begins at word i.
func BeginsTimes(x *entity.Utterance, i int) bool {
	end, _ := ReadTimes(x, i)
	return end > i
}
