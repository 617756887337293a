package main

import (
	"context"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/messkit/messkit/exchange"
	"github.com/messkit/messkit/exchange/console"
	"github.com/messkit/messkit/exchange/remote"
	"github.com/messkit/messkit/exchange/webhook"
	"github.com/messkit/messkit/internal/cli/output"
)

func webhooksCommand(a *output.Env) *cobra.Command {
	var k client
	var asJSON bool
	c := &cobra.Command{
		Use:   "webhooks",
		Short: "Show what became of notices to executors' webhooks",
		Long: `Webhooks shows the last notices that a running exchange has sent, or is to send, to
the webhooks of executors, the newest first. With an executor's key it shows
that executor's. docs/http.md tells how an executor registers one.`,
		Example: "  messkit webhooks",
		Args:    cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			return k.withKeys(func(x *remote.Client) error {
				list, err := x.Webhooks(c.Context())
				if err != nil {
					return err
				}
				if asJSON {
					return a.JSON(list)
				}
				return printDeliveries(a, list)
			})
		},
	}
	k.flags(c)
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return c
}

// notices are the webhooks of an exchange, for its console.
type notices struct{ hooks *webhook.Hooks }

var _ console.Notices = notices{}

// lastNotices are as many as somebody looks at on a phone.
const lastNotices = 5

func (n notices) Log(who exchange.Actor) any {
	list := n.hooks.Log(who)
	return list[:min(len(list), lastNotices)]
}

func (n notices) Try(ctx context.Context, executor string) (any, error) {
	return n.hooks.Try(ctx, executor)
}

func printDeliveries(a *output.Env, list []remote.Delivery) error {
	w := tabwriter.NewWriter(a.Out, 0, 0, 2, ' ', 0)
	p := output.Printer{Out: w}
	for _, d := range list {
		p.Printf("%s\t%s\t%s\t%s\t%s\t%s", d.At.Local().Format(time.DateTime), d.State, output.Printable(d.Executor), output.Printable(d.Event), output.Printable(d.Ref), output.Printable(d.To))
		if d.Tries > 1 {
			p.Printf("\ttried %d times", d.Tries)
		} else {
			p.Printf("\t")
		}
		p.Printf("\t%s\n", output.Printable(d.Err))
	}
	if p.Err != nil {
		return p.Err
	}
	if len(list) == 0 {
		p.Printf("nothing was sent to webhooks\n")
	}
	return w.Flush()
}
