package homeassistant

import (
	"sync"

	"gobot.io/x/gobot/v2"

	"github.com/messkit/messkit/drivers"
)

// plain is what a device of an entity is that is not of a family: it is there while
// it runs, and knows where it is.
type plain struct {
	drivers.Life
	entity *entity
	link   *drivers.Link
	turn   sync.Mutex // held by Start and Halt
	open   bool       // guarded by turn
}

func newPlain(name string, e *entity) plain {
	return plain{Life: drivers.NewLife(name), entity: e, link: drivers.NewHub(e.web.Host())}
}

// Connection is a Gobot adaptor that does nothing.
func (p *plain) Connection() gobot.Connection { return p.link }

// Start makes it ready; Home Assistant is not asked.
func (p *plain) Start() error {
	p.turn.Lock()
	defer p.turn.Unlock()
	if h := p.entity.hub; h != nil && !p.open {
		h.open(p.entity.cfg.Entity)
		p.open = true
	}
	p.Opened()
	return nil
}

// Halt ends what is under way.
func (p *plain) Halt() error {
	p.Closed()
	p.turn.Lock()
	defer p.turn.Unlock()
	if p.open {
		p.entity.hub.close(p.entity.cfg.Entity)
		p.open = false
	}
	return nil
}

// Area is where it is, as Home Assistant has it.
func (p *plain) Area() string {
	if p.entity.hub == nil {
		return ""
	}
	return p.entity.hub.area(p.entity.cfg.Entity)
}
