package cli

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/messkit/messkit/exchange/remote/httpclient"
	"github.com/messkit/messkit/internal/cli/client"
	"github.com/messkit/messkit/internal/cli/mesh"
	"github.com/messkit/messkit/internal/cli/output"
)

func unreserveCommand(a *output.Env) *cobra.Command {
	return client.Command(&cobra.Command{
		Use:   "unreserve DEVICE",
		Short: "Free a device that a mail agent has reserved",
		Long: `Unreserve ends each reservation that mail agents have for a device. Such a reservation
may include other devices, which become free too. Tasks that have waited for them
continue. It needs the operator's key.
messkit status --json lists the reservations under agentmail.`,
		Example: "  messkit unreserve vacuum",
		Args:    cobra.ExactArgs(1),
	}, func(ctx context.Context, x *httpclient.Client, args []string) error {
		by, err := x.Unreserve(ctx, args[0])
		if mesh.IsOff(err) {
			return output.Hint(err, "are there mail agents? this exchange has no agentmail: in its configuration (docs/how-to/agentmail.md), so no agent has reserved anything")
		}
		if err != nil {
			return err
		}
		_, err = fmt.Fprintf(a.Out, "freed: %s, which %s had reserved\n", args[0], strings.Join(by, ", "))
		return err
	})
}
