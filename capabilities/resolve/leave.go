package resolve

// NamesAny reports whether a word from i on names or stands for something here.
func (x *Request) NamesAny(i int) bool {
	for _, t := range x.Tokens[i:] {
		if x.Resolver.Names.Words[t.Folded] || x.Resolver.Catalog.Frames.NamingWords[t.Folded] {
			return true
		}
	}
	return false
}
