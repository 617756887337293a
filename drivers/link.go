package drivers

import (
	"sync"

	"gobot.io/x/gobot/v2"
)

var _ gobot.Connection = (*Link)(nil)

// Link is the Gobot adaptor of a device without a connection: it has a name and does
// nothing. An adaptor of a driver may embed it. The zero value is ready for use. It is safe
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
