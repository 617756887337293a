package drivers

import "sync"

// Link names the connection of a device, which other devices may share. The zero value is a
// connection without a name. It is also an adaptor for Gobot that does nothing. It is safe
// for concurrent use.
type Link struct {
	mu   sync.Mutex
	name string
	hub  bool
}

// NewLink returns a Link whose name is the address of the device.
func NewLink(name string) *Link { return &Link{name: name} }

// NewHub returns a Link for a program that connects many devices, such as a broker.
func NewHub(name string) *Link { return &Link{name: name, hub: true} }

// Hub reports whether the connection serves many devices and accepts many requests at a
// time.
func (l *Link) Hub() bool { return l.hub }

// Name returns the name of the connection.
func (l *Link) Name() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.name
}

// SetName changes the name of the connection.
func (l *Link) SetName(name string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.name = name
}

// Connect does nothing.
func (l *Link) Connect() error { return nil }

// Finalize does nothing.
func (l *Link) Finalize() error { return nil }
