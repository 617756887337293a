package drivers

import (
	"cmp"
	"net"
	"net/url"
	"path"
	"path/filepath"
	"strings"
	"sync"
)

// Connection names the connection of a device, which other devices may share. The zero value
// is a connection without a name. It is also an adaptor for Gobot that does nothing. It is
// safe for concurrent use.
type Connection struct {
	named
	hub bool
}

// NewConnection returns a Connection whose name is the address of the device.
func NewConnection(name string) *Connection { return &Connection{named: named{name: name}} }

// NewHubConnection returns a Connection for a program that connects many devices, such as a
// broker.
func NewHubConnection(name string) *Connection {
	return &Connection{named: named{name: name}, hub: true}
}

// IsHub reports whether the connection serves many devices and accepts many requests at a
// time.
func (c *Connection) IsHub() bool { return c.hub }

// Connect does nothing.
func (c *Connection) Connect() error { return nil }

// Finalize does nothing.
func (c *Connection) Finalize() error { return nil }

// Shared contains resources that several devices of one program use. The zero value is
// ready for use. It is safe for concurrent use.
type Shared struct {
	mu        sync.Mutex
	resources map[string]any
}

// Get returns the resource with this key. The first call creates it with make. If make
// fails, Get returns its error, and the next call tries again.
func (s *Shared) Get(key string, make func() (any, error)) (any, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if t, ok := s.resources[key]; ok {
		return t, nil
	}
	t, err := make()
	if err != nil {
		return nil, err
	}
	if s.resources == nil {
		s.resources = map[string]any{}
	}
	s.resources[key] = t
	return t, nil
}

// ResourceHolder is a device that occupies a resource which no other device may use: a GPIO
// line of this host, or a switch in the network.
type ResourceHolder interface{ Resources() []Resource }

// Resource is one occupied resource.
type Resource struct {
	Key      string // key of the configuration: "line"
	Label    string // name for people: "line GPIO17"
	Identity string // identity of the resource, equal for all its spellings; "" means Label
	// Location returns where this host has the resource, or "" if it has none. If Location
	// is nil, SameAs does not compare locations.
	Location func() string
	// ReadOnly reports that the device only reads the resource. Two devices may read it, but
	// that is most likely an error in the configuration.
	ReadOnly bool
	// Sole reports that the device uses the only resource of its Kind on the host. A second
	// Resource of the same Kind is then the same resource, or the choice is ambiguous.
	Sole bool
	Kind string // "" if no Resource of the kind has Sole
}

// SameAs reports whether both describe the same resource, or may describe the same one.
func (r Resource) SameAs(other Resource) bool {
	if r.Kind != "" && r.Kind == other.Kind && (r.Sole || other.Sole) {
		return true
	}
	if r.identity() != other.identity() {
		return false
	}
	if r.Label == other.Label || r.Location == nil || other.Location == nil {
		return true
	}
	one, two := r.Location(), other.Location()
	return one == two || one == "" || two == ""
}

func (r Resource) identity() string { return cmp.Or(r.Identity, r.Label) }

// URLIdentity returns an identity for a device address that is equal for all its spellings:
// with or without TLS on the default port, with or without a slash at the end, in upper or
// lower case.
func URLIdentity(s string) string {
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
	return net.JoinHostPort(HostIdentity(u.Hostname()), port) + p
}

// HostIdentity returns an identity for a host name that is equal for all its spellings. All
// names and addresses of this host are "localhost".
func HostIdentity(host string) string {
	host = strings.ToLower(strings.TrimSuffix(host, "."))
	if ip := net.ParseIP(host); host == "localhost" || ip != nil && ip.IsLoopback() {
		return "localhost"
	} else if ip != nil {
		return ip.String()
	}
	return host
}

// FileIdentity returns an identity for a device file of this host that is equal for all its
// names.
func FileIdentity(name string) string {
	if to, err := filepath.EvalSymlinks(name); err == nil {
		return to
	}
	return filepath.Clean(name)
}
