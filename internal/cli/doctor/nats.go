package doctor

import (
	"context"

	"github.com/messkit/messkit/exchange/remote/natsclient"
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

// checkNATS checks the NATS servers of an executor: whether the exchange answers there, and whether
// other executors are out of its reach.
func checkNATS(ctx context.Context, c *config.Config) []output.CheckResult {
	ctx, cancel := context.WithTimeout(ctx, config.ReachTime)
	defer cancel()
	is, err := natsclient.Find(ctx, c.Connect.NATS(c.Agent.ID), output.NoLog)
	found := []output.CheckResult{newCheckResult("exchange", err, "%s over NATS at %s", is.Exchange, c.Connect.URL)}
	if err == nil && is.Open {
		found = append(found, output.CheckResult{What: "nats", Says: "the servers let this executor read the messages of others; give each a user with the permissions in docs/reference/nats.md"})
	}
	return found
}
