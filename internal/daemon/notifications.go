package daemon

import (
	"context"

	"github.com/messkit/messkit/exchange"
	"github.com/messkit/messkit/exchange/channel/console"
	"github.com/messkit/messkit/exchange/channel/webhook"
)

// notices are the webhooks of an exchange, for its console.
type notices struct{ hooks *webhook.Hooks }

var _ console.Notices = notices{}

// lastNotices is the number of notices that the console shows.
const lastNotices = 5

func (n notices) Log(who exchange.Actor) any {
	list := n.hooks.Log(who)
	return list[:min(len(list), lastNotices)]
}

func (n notices) Try(ctx context.Context, executor string) (any, error) {
	return n.hooks.Try(ctx, executor)
}
