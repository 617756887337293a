package httpcam

import (
	"sync"

	"gobot.io/x/gobot/v2"
)

var _ gobot.Connection = (*network)(nil)

// network is the Gobot adaptor of a device that needs none: every picture
// makes its own connection.
type network struct {
	mu   sync.Mutex
	name string
}

func (n *network) Name() string {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.name
}

func (n *network) SetName(name string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.name = name
}

func (n *network) Connect() error  { return nil }
func (n *network) Finalize() error { return nil }
