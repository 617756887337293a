package interpret

// stillSo reports whether the text has a thing and how it still is, and no order before
// that: "stove still on" asks, or tells.
func (x *request) stillSo() bool {
	for i, t := range x.Tokens {
		if i > 0 && (t.Text == "still" || t.Text == "now" && i+1 < len(x.Tokens) && x.IsName(i-1) && x.r.Catalog.Frames.Signals.Longest(x.Tokens, i+1) > 0) {
			return !x.Begins()
		}
	}
	return false
}
