package cli

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/messkit/messkit/internal/cli/client"
	"github.com/messkit/messkit/internal/cli/mesh"
	"github.com/messkit/messkit/internal/cli/output"
)

func unreserveCommand(a *output.Env) *cobra.Command {
	var k client.Client
	c := &cobra.Command{
		Use:   "unreserve DEVICE",
		Short: "Free a device that a mail agent has reserved",
		Long: `Unreserve ends the reservations of a device by mail agents, all that go with them
included; tasks that have waited for it go on. It needs the operator's key.
messkit status --json shows under agentmail what is reserved.`,
		Example: "  messkit unreserve vacuum",
		Args:    cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			x, err := k.Open()
			if err != nil {
				return err
			}
			by, err := x.Unreserve(c.Context(), args[0])
			if mesh.IsOff(err) {
				return output.Hint(err, "are there mail agents? this exchange has no agentmail: in its configuration (docs/how-to/agentmail.md), so no agent has reserved anything")
			}
			if err != nil {
				return k.Unreachable(err)
			}
			_, err = fmt.Fprintf(a.Out, "freed: %s, which %s had reserved\n", args[0], strings.Join(by, ", "))
			return err
		},
	}
	k.Flags(c)
	return c
}
