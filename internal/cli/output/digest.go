package output

import "strings"

// ShortDigest returns the beginning of a digest, enough to distinguish plans in a table.
func ShortDigest(d string) string {
	kind, sum, ok := strings.Cut(d, ":")
	if !ok {
		kind, sum = "", d
	} else {
		kind += ":"
	}
	return Printable(kind + sum[:min(len(sum), 12)])
}
