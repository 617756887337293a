package drivers

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
