package interpret

// stopsAll reports whether the text is nothing but a stop, of everything or of
// nothing in particular: "stop", "stop everything now", "emergency stop". That is no
// request, which would wait for its turn. What a thing of this home is called by is
// that thing.
func (x *request) stopsAll() bool {
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
