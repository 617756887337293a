package lexicon

import (
	"math"
	"strconv"
	"strings"
)

// ReadHour reads an hour at word i, and the minutes behind it. end is 0 if there is none;
// sure is false where it may be before or after noon.
func (w *Lexicon) ReadHour(tokens []Token, i int) (end, hour, minute int, sure bool) {
	if n := w.Fixed.Longest(tokens, i); n > 0 {
		at := w.Lists.Fixed[Join(tokens[i:i+n])]
		return i + n, at / 60, at % 60, true
	}
	past := 0
	from := i
	w.Past.Each(tokens, i, func(to int, minutes int) { from, past = to, minutes })
	w.EachCardinal(tokens, i, func(to int, n float64) { // "5 past noon"
		if k := w.PastIs.Longest(tokens, to); k > 0 && n >= 1 && n < 60 && n == math.Trunc(n) {
			from, past = to+k, int(n)
		}
	})
	if n := w.Fixed.Longest(tokens, from); from > i && n > 0 { // "ten to midnight"
		at := (w.Lists.Fixed[Join(tokens[from:from+n])] + past + 24*60) % (24 * 60)
		return from + n, at / 60, at % 60, true
	}
	if past == 0 {
		if end, hour, minute, sure := w.readClockWord(tokens, i); end > 0 {
			return end, hour, minute, sure
		}
	}
	digits, half := CutNumber(TextAt(tokens, from))
	n := 0
	if k, err := strconv.Atoi(digits); err == nil {
		end, n = from+1, k
	} else {
		half = ""
		w.Numbers.Each(tokens, from, func(to int, v float64) {
			if v == float64(int(v)) && w.Fillers.Longest(tokens, from) == 0 {
				end, n = to, int(v)
			}
		})
	}
	if end == 0 || n > 24 {
		return 0, 0, 0, false
	}
	if k := w.Fixed.Longest(tokens, end); k > 0 && n == 12 && half == "" && past == 0 { // "12 noon"
		return end + k, w.Lists.Fixed[Join(tokens[end:end+k])] / 60, 0, true
	}
	if half == "" && past == 0 {
		end, minute = w.ReadMinutes(tokens, end)
		if d, h := CutNumber(TextAt(tokens, end)); minute < 0 && d != "" && h != "" { // "7 30pm"
			if k, err := strconv.Atoi(d); err == nil && k < 60 {
				end, minute, half = end+1, k, h
			}
		}
	}
	minute = max(0, minute) + past
	if half == "" {
		end += w.OClock.Longest(tokens, end)
	}
	switch of, ok := w.Lists.Half[half]; {
	case half != "" && !ok:
		return 0, 0, 0, false
	case half != "":
		return end, (n%12 + of + (minute+60)/60 + 23) % 24, (minute + 60) % 60, n >= 1 && n <= 12
	}
	if k := w.Half.Longest(tokens, end); k > 0 && n >= 1 && n <= 12 {
		of := w.Lists.Half[Join(tokens[end:end+k])]
		return end + k, (n%12 + of + (minute+60)/60 + 23) % 24, (minute + 60) % 60, true
	}
	sure = n > 12 || n == 0 || strings.HasPrefix(digits, "0") && end > from+1 // "08:30"
	return end, ((n+(minute+60)/60-1)%24 + 24) % 24, (minute + 60) % 60, sure
}

// readClockWord reads an hour and its minutes that are one word at i: "19.30", "8.15pm".
// end is 0 if there is none.
func (w *Lexicon) readClockWord(tokens []Token, i int) (end, hour, minute int, sure bool) {
	digits, half := CutNumber(TextAt(tokens, i))
	if of, known := w.Lists.Half[half]; known { // "8.15pm"
		if len(digits) == 3 { // "830pm"
			digits = "0" + digits
		}
		if hour, minute, ok := ClockWord(digits); ok && len(digits) > 3 && hour >= 1 && hour <= 12 {
			return i + 1, hour%12 + of, minute, true
		}
	}
	if hour, minute, ok := ClockWord(TextAt(tokens, i)); ok {
		end = i + 1
		if w.Hours.Longest(tokens, end) > 0 {
			end++
		}
		if k := w.Half.Longest(tokens, end); k > 0 && hour >= 1 && hour <= 12 { // "8.30 pm"
			return end + k, hour%12 + w.Lists.Half[Join(tokens[end:end+k])], minute, true
		}
		return end, hour, minute, hour > 12 || hour == 0 || TextAt(tokens, i)[0] == '0'
	}
	return 0, 0, 0, false
}

// ClockWord reads a time of day that is one word: "19h", "19h30", "19.30", "1930", "0730".
func ClockWord(word string) (hour, minute int, ok bool) {
	h, m, cut := strings.Cut(word, "h")
	if !cut {
		if h, m, cut = strings.Cut(word, "."); cut && len(m) != 2 {
			return 0, 0, false
		}
	}
	if !cut && len(word) == 4 {
		h, m, cut = word[:2], word[2:], true
	}
	hour, err := strconv.Atoi(h)
	if m != "" && err == nil {
		minute, err = strconv.Atoi(m)
	}
	return hour, minute, cut && err == nil && len(h) <= 2 && len(m) != 1 && hour >= 0 && hour < 24 && minute >= 0 && minute < 60
}

// ReadMinutes reads the minutes behind an hour: "7 30", "seven thirty". minute is -1 for
// none.
func (w *Lexicon) ReadMinutes(tokens []Token, i int) (end, minute int) {
	if i >= len(tokens) {
		return i, -1
	}
	if t := tokens[i].Text; len(t) == 2 {
		if n, err := strconv.Atoi(t); err == nil && n < 60 {
			return i + 1, n
		}
	}
	end, minute = i, -1
	w.EachCardinal(tokens, i, func(to int, n float64) {
		if tokens[i].Text[0] > '9' && n >= 10 && n < 60 && to > end {
			end, minute = to, int(n)
		}
	})
	return end, minute
}

// ReadSun reads a word for sunrise, sunset, dawn or dusk at word i. n is how many words it
// has, 0 for none.
func (w *Lexicon) ReadSun(tokens []Token, i int) (n int, which string) {
	if n = w.Sun.Longest(tokens, i); n == 0 {
		return 0, ""
	}
	return n, w.Lists.Sun[Join(tokens[i:i+n])]
}
