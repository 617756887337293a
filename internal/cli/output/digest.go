package output

import "strings"

// ShortDigest is as much of a digest as tells plans apart in a table.
func ShortDigest(d string) string {
	kind, sum, ok := strings.Cut(d, ":")
	if !ok {
		kind, sum = "", d
	} else {
		kind += ":"
	}
	return Printable(kind + sum[:min(len(sum), 12)])
}
