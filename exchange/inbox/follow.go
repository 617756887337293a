package inbox

import (
	"context"
	"log/slog"

	"github.com/messkit/messkit/exchange"
	"github.com/messkit/messkit/exchange/thread"
	"github.com/messkit/messkit/internal/wait"
)

// Follow calls changed for each thread that changes, until ctx ends. It calls begin first, and
// misses nothing that happens from then on. It is for channels that store themselves how far
// they have told a thread: in begin they look at all threads of theirs.
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
			log.Warn("the feed of the store is interrupted", "err", err)
			wait.For(ctx, retryAfter)
		}
	}
}
