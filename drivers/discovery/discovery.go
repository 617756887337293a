// Package discovery finds devices in the local network, over IPv4. Browse asks by multicast DNS
// (RFC 6762) with DNS service discovery (RFC 6763), and Probe asks by another protocol. Both send a
// question, listen for a while, and open no device.
package discovery

import (
	"cmp"
	"net/netip"
	"strings"
)

// Instance is one announced service.
type Instance struct {
	Service string            // "_shelly._tcp"
	Name    string            // "shellyplus1pm-a8032abe54dc"
	Host    string            // "shellyplus1pm-a8032abe54dc.local"
	Addr    netip.AddrPort    // address; invalid if the device did not announce it
	Texts   map[string]string // TXT record, keys in lower case
}

// Describe returns what describe makes of the first instance at each address. describe reports
// whether it knows an instance.
func Describe[T any](list []Instance, describe func(Instance) (T, bool)) []T {
	var all []T
	seen := map[netip.AddrPort]bool{}
	for _, i := range list {
		if !i.Addr.IsValid() || seen[i.Addr] {
			continue
		}
		if one, ok := describe(i); ok {
			seen[i.Addr] = true
			all = append(all, one)
		}
	}
	return all
}

// URL returns the HTTP address of the instance.
func (i Instance) URL() string {
	if i.Addr.Port() == 80 {
		return "http://" + i.Addr.Addr().String()
	}
	return "http://" + i.Addr.String()
}

// longestID limits the length of a device name, because people type it.
const longestID = 60

// ID converts the name that a device announces to a name for the configuration.
func ID(name string) string {
	var b strings.Builder
	for _, r := range strings.ToLower(name) {
		switch {
		case b.Len() == longestID:
		case r >= 'a' && r <= 'z', r >= '0' && r <= '9':
			b.WriteRune(r)
		case b.Len() > 0 && !strings.HasSuffix(b.String(), "-"):
			b.WriteByte('-')
		}
	}
	return cmp.Or(strings.Trim(b.String(), "-"), "device")
}
