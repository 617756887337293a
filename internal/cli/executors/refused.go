package executors

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/messkit/messkit/exchange/remote/httpclient"
	"github.com/messkit/messkit/internal/cli/client"
	"github.com/messkit/messkit/internal/cli/output"
)

// RefusedCommand returns the command messkit refused.
func RefusedCommand(a *output.Env) *cobra.Command {
	var limit, all int
	c := client.Query(a, &cobra.Command{
		Use:   "refused",
		Short: "Show the connections and requests that a running exchange has rejected",
		Long: `Refused shows the connections and requests that a running exchange has rejected since
its start, newest first: unknown clients, forbidden actions, and requests beyond a limit. Equal
rejections are one line: the same client and the same reason, with their number and
the last time. It needs an operator's key.`,
		Example: "  messkit refused",
	}, func(ctx context.Context, x *httpclient.Client) ([]httpclient.Refusal, error) {
		if limit < 1 {
			return nil, fmt.Errorf("--limit: %d is no number of lines; write 1 or more", limit)
		}
		list, err := x.Refused(ctx)
		all = len(list)
		return list[:min(all, limit)], err
	}, func(a *output.Env, list []httpclient.Refusal) error { return printRefused(a, list, all) })
	c.Flags().IntVar(&limit, "limit", 20, "lines at most")
	return c
}

// printRefused prints the newest of all refusals.
func printRefused(a *output.Env, list []httpclient.Refusal, all int) error {
	if len(list) == 0 {
		p := output.Printer{Out: a.Out}
		p.Printf("the exchange has refused no connection since its start\n")
		return p.Err
	}
	return a.PrintColumns(func(p *output.Printer) {
		for _, r := range list {
			path, times := r.Method+" "+r.Path, ""
			if r.Various {
				path += " and others"
			}
			if r.Count > 1 {
				times = fmt.Sprintf("%d times since %s", r.Count, r.First.Local().Format(time.TimeOnly))
			}
			p.Printf("%s\t%d\t%s\t%s\t%s\t%s\n", r.At.Local().Format(time.DateTime), r.Code, output.Printable(cmp.Or(r.Actor, r.From)), times, output.Printable(path), output.Printable(r.Error))
		}
		if more := all - len(list); more > 0 {
			p.Printf("and %s; --limit %d shows them\n", output.Count(more, "older one"), all)
		}
	})
}
