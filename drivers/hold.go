package drivers

import (
	"net"
	"net/url"
	"path"
	"path/filepath"
	"strings"
)

// Holder is a device that holds something which no two devices can have: a GPIO line
// of this machine, the one switch of something in the network.
type Holder interface{ Holds() []Hold }

// Hold is one thing that is held.
type Hold struct {
	Key  string // of the configuration: "line"
	What string // for people: "line GPIO17"
	Same string // the same for the same thing, however it is written; "": What
	// Place is where it was found on this machine, "" where it was not; nil: it is not
	// looked for. What has a place is the same only as what has the same.
	Place func() string
	// Read: it is only read. Two devices may have it, though it is most likely a mistake.
	Read bool
	// Only: it is whichever there is of its Kind. Beside another of these there are two,
	// or it is that one.
	Only bool
	Kind string // "" where none is Only
}

// Is reports whether two are the same thing.
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

// SameURL is the same for all spellings of the address of a device: with and without
// TLS on its usual port, with and without a slash at the end, in capitals or not.
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

// SameHost is the same for all spellings of the name of a machine, and for those of
// this one.
func SameHost(host string) string {
	host = strings.ToLower(strings.TrimSuffix(host, "."))
	if ip := net.ParseIP(host); host == "localhost" || ip != nil && ip.IsLoopback() {
		return "localhost"
	} else if ip != nil {
		return ip.String()
	}
	return host
}

// SameFile is the same for all names of a device file of this machine.
func SameFile(name string) string {
	if to, err := filepath.EvalSymlinks(name); err == nil {
		return to
	}
	return filepath.Clean(name)
}
