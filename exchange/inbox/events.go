package inbox

import (
	"context"
	"errors"
	"log/slog"

	"github.com/messkit/messkit/exchange"
	"github.com/messkit/messkit/internal/wait"
)

// OnlyNew is an event that never was: who follows after it first gets a reset.
const OnlyNew = "now"

// Events calls handle with the events for an actor after one of them, until ctx ends. After a
// failure, or if handle returns an error, it goes on with the first event that handle has not
// taken.
func Events(ctx context.Context, x *exchange.Exchange, who exchange.Actor, after string, log *slog.Logger, handle func(exchange.Event) error) {
	for ctx.Err() == nil {
		err := x.Follow(ctx, who, after, func(e exchange.Event) error {
			err := handle(e)
			if err == nil && e.ID != "" {
				after = e.ID
			}
			return err
		})
		if err != nil && !errors.Is(err, exchange.ErrSlow) && ctx.Err() == nil {
			log.Debug("events wait", "actor", who.ID, "err", err)
			wait.For(ctx, retryAfter)
		}
	}
}
