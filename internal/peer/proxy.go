package peer

import (
	"slices"
	"strings"
)

// IsProxied reports whether the headers of an HTTP request name a proxy. Such a request may come
// from another machine, although its connection comes from this one.
func IsProxied(headers map[string][]string) bool {
	for name := range headers {
		if strings.HasPrefix(name, "X-Forwarded") || slices.Contains([]string{"Forwarded", "X-Real-Ip", "Via"}, name) {
			return true
		}
	}
	return false
}
