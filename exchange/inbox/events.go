package inbox

import (
	"context"
	"errors"
	"log/slog"

	"github.com/messkit/messkit/exchange"
	"github.com/messkit/messkit/internal/wait"
)

// OnlyNew is an unknown event id: a subscriber that resumes after it gets an EventReset first.
const OnlyNew = "now"

// Events calls handle with the events for an actor after one of them, until ctx ends. After a
// failure of the exchange, or an error of handle, it continues with the first event that handle has
// not accepted.
func Events(ctx context.Context, x *exchange.Exchange, actor exchange.Actor, after string, log *slog.Logger, handle func(exchange.Event) error) {
	for ctx.Err() == nil {
		err := x.Follow(ctx, actor, after, func(e exchange.Event) error {
			err := handle(e)
			if err == nil && e.ID != "" {
				after = e.ID
			}
			return err
		})
		if err != nil && !errors.Is(err, exchange.ErrSlow) && ctx.Err() == nil {
			log.Debug("events wait", "actor", actor.ID, "err", err)
			wait.For(ctx, retryAfter)
		}
	}
}
