package webhook

import (
	"net/http"
	"net/netip"
	"time"

	"github.com/messkit/messkit/mess"
)

// Through has notices go out in another way.
func Through(h *Dispatcher, way http.RoundTripper) { h.client.Transport = way }

// Check returns an error if the configuration does not allow connections to an address.
func (c Config) Check(ip netip.Addr) error { return c.check(ip) }

// Wants reports whether an executor wants a notification.
func Wants(profile mess.Object, p mess.Priority, now time.Time) bool {
	return wantsNow(profile, p, now)
}

// FixedTexts returns the fixed texts of notifications by language and key.
func FixedTexts() map[string]map[string]string {
	all := map[string]map[string]string{}
	for language, texts := range fixedTexts {
		all[language] = map[string]string{}
		for key, text := range texts {
			all[language][string(key)] = text
		}
	}
	return all
}
