package drivers

import (
	"sync"

	"gobot.io/x/gobot/v2"
)

var _ gobot.Connection = (*Link)(nil)

// Link is the Gobot adaptor of a device that needs none: it has a name, and
// nothing to connect. A driver's own adaptor may embed it. The zero value is ready
// for use.
type Link struct {
	mu   sync.Mutex
	name string
	hub  bool
}

// NewLink makes one, with the name of where the device is.
func NewLink(name string) *Link { return &Link{name: name} }

// NewHub makes one with the name of a program that speaks for many devices, as a broker
// does.
func NewHub(name string) *Link { return &Link{name: name, hub: true} }

// Hub reports whether it answers for many devices, and so may be asked much at a time.
func (l *Link) Hub() bool { return l.hub }

// Name is what it is called.
func (l *Link) Name() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.name
}

// SetName changes it.
func (l *Link) SetName(name string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.name = name
}

// Connect does nothing.
func (l *Link) Connect() error { return nil }

// Finalize does nothing.
func (l *Link) Finalize() error { return nil }
