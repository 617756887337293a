package doctor

import (
	"context"

	"github.com/messkit/messkit/exchange/store/jetstream"
	"github.com/messkit/messkit/internal/cli/output"
	"github.com/messkit/messkit/internal/config"
)

// checkServers checks the NATS servers that have the threads of the exchange.
func checkServers(ctx context.Context, c *config.Exchange) (found []output.CheckResult) {
	for _, f := range jetstream.Inspect(ctx, c.NATS.Config(c.ID, output.NoLog)) {
		what := "nats"
		if f.Server != "" {
			what += " " + f.Server
		}
		found = append(found, output.CheckResult{What: what, OK: !f.Bad, Note: f.Note, Says: f.Says})
	}
	return found
}
