package executors

import (
	"context"
	"errors"
	"strings"

	"github.com/spf13/cobra"

	"github.com/messkit/messkit/exchange/remote/httpclient"
	"github.com/messkit/messkit/internal/cli/client"
	"github.com/messkit/messkit/internal/cli/output"
	"github.com/messkit/messkit/mess"
)

// ForgetCommand returns the command messkit forget.
func ForgetCommand(a *output.Env) *cobra.Command {
	return client.Command(&cobra.Command{
		Use:   "forget EXECUTOR",
		Short: "Remove an executor that does not return",
		Long: `Forget removes an executor or a person from all lists for good. The exchange then
waits no longer for its confirmation of a stop. The command needs the operator's key.
It rejects an executor with recent contact or an open task, because that one may act.
The displayed name is enough if no other executor has it.

The key of the executor stays valid until messkit keys revoke. If the executor
contacts the exchange again, it is back on the lists, and receives each stop that it
has not confirmed, also those from the meantime.`,
		Example: "  messkit forget old-pi",
		Args:    cobra.ExactArgs(1),
	}, func(ctx context.Context, x *httpclient.Client, args []string) error {
		return runForget(ctx, a, x, args[0])
	})
}

func runForget(ctx context.Context, a *output.Env, x *httpclient.Client, id string) error {
	stops, err := x.Forget(ctx, id)
	if errors.Is(err, mess.NotFound) {
		if by := called(ctx, x, id); by != "" {
			id = by
			stops, err = x.Forget(ctx, id)
		}
	}
	if err != nil {
		return err
	}
	p := output.Printer{Out: a.Out}
	p.Printf("forgotten: %s\n", output.Printable(id))
	if stops > 0 {
		p.Printf("it has not confirmed %s: its devices may still be on; look. If it connects again, it gets the stop\n", output.Count(stops, "stop"))
	}
	return p.Err
}

// called returns the id of the one executor with a name, "" for none or several.
func called(ctx context.Context, x *httpclient.Client, name string) (id string) {
	list, err := x.Executors(ctx)
	if err != nil {
		return ""
	}
	for _, e := range list {
		if strings.EqualFold(e.Name, name) || strings.EqualFold(e.ID, name) {
			if id != "" {
				return ""
			}
			id = e.ID
		}
	}
	return id
}
