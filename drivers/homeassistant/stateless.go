package homeassistant

import (
	"sync"

	"github.com/messkit/messkit/drivers"
)

// statelessDevice implements the common part of entities without a template.
type statelessDevice struct {
	drivers.Base
	entity *entity
	link   *drivers.Connection
	turn   sync.Mutex // serializes Start and Halt
	open   bool       // guarded by turn
}

func newStatelessDevice(name string, e *entity) statelessDevice {
	return statelessDevice{Base: drivers.NewBase(name), entity: e, link: drivers.NewHubConnection(e.web.Host())}
}

// Connection returns the host of the device.
func (p *statelessDevice) Connection() *drivers.Connection { return p.link }

// Start opens the device. It sends no request to Home Assistant.
func (p *statelessDevice) Start() error {
	p.turn.Lock()
	defer p.turn.Unlock()
	if h := p.entity.hub; h != nil && !p.open {
		h.open(p.entity.cfg.Entity)
		p.open = true
	}
	p.MarkStarted()
	return nil
}

// Halt terminates the verbs under way.
func (p *statelessDevice) Halt() error {
	p.StopVerbs()
	p.turn.Lock()
	defer p.turn.Unlock()
	if p.open {
		p.entity.hub.close(p.entity.cfg.Entity)
		p.open = false
	}
	return nil
}

// Area returns the area of the entity in Home Assistant.
func (p *statelessDevice) Area() string {
	if p.entity.hub == nil {
		return ""
	}
	return p.entity.hub.area(p.entity.cfg.Entity)
}
