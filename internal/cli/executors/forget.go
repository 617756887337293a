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
		Short: "Remove an executor that does not come back",
		Long: `Forget takes an executor or a person who is gone for good off all lists; nobody
waits any more for its word that it has stopped. It needs the operator's key. One
that was heard of a moment ago, or is at a task, is not forgotten: it may act. The
name that it is shown by will do where nobody else is called so.

Its key stays good, until messkit keys revoke. Should it speak again, it is there
again, and each stop that it has not confirmed reaches it, also those that were
given meanwhile.`,
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
