package drivers

import (
	"net"
	"net/url"
	"path"
	"path/filepath"
	"strings"
)

// Holder is a device that occupies a resource which no other device may use: a GPIO line of
// this host, or a switch in the network.
type Holder interface{ Holds() []Hold }

// Hold is one occupied resource.
type Hold struct {
	Key  string // key of the configuration: "line"
	What string // name for people: "line GPIO17"
	Same string // identity of the resource, equal for all its spellings; "" means What
	// Place returns where this host has the resource, or "" if it has none. If Place is
	// nil, Is does not compare places.
	Place func() string
	// Read reports that the device only reads the resource. Two devices may read it, but
	// that is most likely an error in the configuration.
	Read bool
	// Only reports that the device uses the only resource of its Kind on the host. A second
	// Hold of the same Kind is then the same resource, or the choice is ambiguous.
	Only bool
	Kind string // "" if no Hold of the kind has Only
}

// Is reports whether both describe the same resource.
func (h Hold) Is(other Hold) bool {
	if h.Kind != "" && h.Kind == other.Kind && (h.Only || other.Only) {
		return true
	}
	if h.same() != other.same() {
		return false
	}
	if h.What == other.What || h.Place == nil || other.Place == nil {
		return true
	}
	one, two := h.Place(), other.Place()
	return one == two || one == "" || two == ""
}

func (h Hold) same() string {
	if h.Same == "" {
		return h.What
	}
	return h.Same
}

// SameURL returns an identity for a device address that is equal for all its spellings:
// with or without TLS on the default port, with or without a slash at the end, in upper or
// lower case.
func SameURL(s string) string {
	u, err := url.Parse(s)
	if err != nil {
		return s
	}
	usual := map[string]string{"http": "80", "https": "443", "mqtt": "1883", "mqtts": "8883"}
	port := u.Port()
	if port == usual[strings.ToLower(u.Scheme)] {
		port = ""
	}
	p := path.Clean("/" + u.Path)
	return net.JoinHostPort(SameHost(u.Hostname()), port) + p
}

// SameHost returns an identity for a host name that is equal for all its spellings. All
// names and addresses of this host are "localhost".
func SameHost(host string) string {
	host = strings.ToLower(strings.TrimSuffix(host, "."))
	if ip := net.ParseIP(host); host == "localhost" || ip != nil && ip.IsLoopback() {
		return "localhost"
	} else if ip != nil {
		return ip.String()
	}
	return host
}

// SameFile returns an identity for a device file of this host that is equal for all its
// names.
func SameFile(name string) string {
	if to, err := filepath.EvalSymlinks(name); err == nil {
		return to
	}
	return filepath.Clean(name)
}
