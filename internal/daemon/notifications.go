package daemon

import (
	"context"

	"github.com/messkit/messkit/exchange"
	"github.com/messkit/messkit/exchange/channel/console"
	"github.com/messkit/messkit/exchange/channel/webhook"
)

// notices are the webhooks of an exchange, for its console.
type notices struct{ hooks *webhook.Dispatcher }

var _ console.Notifier = notices{}

// lastNotices is the number of notices that the console shows.
const lastNotices = 5

func (n notices) Log(who exchange.Actor) any {
	list := n.hooks.Deliveries(who)
	return list[:min(len(list), lastNotices)]
}

func (n notices) SendTest(ctx context.Context, executor string) (any, error) {
	return n.hooks.SendTest(ctx, executor)
}
