package inbox

import (
	"context"
	"log/slog"

	"github.com/messkit/messkit/exchange"
	"github.com/messkit/messkit/exchange/thread"
	"github.com/messkit/messkit/internal/wait"
)

// Follow calls changed for each thread that changes, until ctx ends. It calls begin first, and
// misses no later change. It is for channels that themselves store what they have sent: in begin
// they check all their threads.
func Follow(ctx context.Context, x *exchange.Exchange, log *slog.Logger, begin func(), changed func(thread.Envelope)) {
	pos := x.Position()
	begin()
	for ctx.Err() == nil {
		err := x.Changes(ctx, pos, func(c thread.Change) error {
			if pos = c.Pos; c.Envelope.Ref != "" {
				changed(c.Envelope)
			}
			return nil
		})
		if err != nil {
			log.Warn("the store has interrupted its feed", "err", err)
			wait.For(ctx, retryAfter)
		}
	}
}
