package agent

import "github.com/messkit/messkit/mess"

// deliver accepts one message from the exchange. It does not block.
func (a *Agent) deliver(m mess.Message) {
	a.session.Heard(true)
	a.heedAll(m)
	a.tasks.Deliver(m)
}
