package homeassistant

import (
	"sync"

	"github.com/messkit/messkit/drivers"
)

// plain implements the common part of entities without a template.
type plain struct {
	drivers.Base
	entity *entity
	link   *drivers.Connection
	turn   sync.Mutex // serializes Start and Halt
	open   bool       // guarded by turn
}

func newPlain(name string, e *entity) plain {
	return plain{Base: drivers.NewBase(name), entity: e, link: drivers.NewHubConnection(e.web.Host())}
}

// Connection returns the host of the device.
func (p *plain) Connection() *drivers.Connection { return p.link }

// Start opens the device. It sends no request to Home Assistant.
func (p *plain) Start() error {
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
func (p *plain) Halt() error {
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
func (p *plain) Area() string {
	if p.entity.hub == nil {
		return ""
	}
	return p.entity.hub.area(p.entity.cfg.Entity)
}
