package agent

import "github.com/messkit/messkit/mess"

// deliver accepts one message from the exchange. It does not block.
func (a *Agent) deliver(m mess.Message) {
	a.session.SetAnswered(true)
	a.applyOrders(m)
	a.tasks.Deliver(m)
}
