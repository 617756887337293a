package executors

import (
	"context"
	"time"

	"github.com/spf13/cobra"

	"github.com/messkit/messkit/exchange/remote/httpclient"
	"github.com/messkit/messkit/internal/cli/client"
	"github.com/messkit/messkit/internal/cli/output"
)

// WebhooksCommand returns the command messkit webhooks.
func WebhooksCommand(a *output.Env) *cobra.Command {
	return client.Query(a, &cobra.Command{
		Use:   "webhooks",
		Short: "Show the deliveries to executors' webhooks",
		Long: `Webhooks shows the last notifications that a running exchange has sent, or will send,
to the webhooks of executors, newest first. With an executor's key it shows those of
that executor. docs/reference/http.md explains how an executor registers a webhook.`,
		Example: "  messkit webhooks",
	}, func(ctx context.Context, x *httpclient.Client) ([]httpclient.Delivery, error) { return x.Webhooks(ctx) }, printDeliveries)
}

func printDeliveries(a *output.Env, list []httpclient.Delivery) error {
	return a.PrintColumns(func(p *output.Printer) {
		for _, d := range list {
			p.Printf("%s\t%s\t%s\t%s\t%s\t%s", d.At.Local().Format(time.DateTime), d.State, output.Printable(d.Executor), output.Printable(d.Event), output.Printable(d.Ref), output.Printable(d.To))
			if d.Tries > 1 {
				p.Printf("\ttried %d times", d.Tries)
			} else {
				p.Printf("\t")
			}
			p.Printf("\t%s\n", output.Printable(d.Err))
		}
		if len(list) == 0 {
			p.Printf("no deliveries to webhooks yet\n")
		}
	})
}
