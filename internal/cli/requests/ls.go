package requests

import (
	"slices"

	"github.com/spf13/cobra"

	"github.com/messkit/messkit/exchange/remote/httpclient"
	"github.com/messkit/messkit/internal/cli/client"
	"github.com/messkit/messkit/internal/cli/output"
	"github.com/messkit/messkit/mess"
)

// ListCommand returns the command messkit ls.
func ListCommand(a *output.Env) *cobra.Command {
	var k client.Client
	var filter httpclient.Filter
	var asJSON bool
	c := &cobra.Command{
		Use:     "ls",
		Short:   "List requests, newest first",
		Example: "  messkit ls --status needs_confirmation\n  messkit ls --capability take-photo --limit 5\n  messkit ls --device hall-light",
		Args:    cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			if code := mess.Code(filter.Status); code != "" && !slices.Contains(Statuses, code) {
				return output.Usagef(c, "--status: %q is unknown; write one of: %s", code, output.Joined(Statuses))
			}
			x, err := k.Open()
			if err != nil {
				return err
			}
			threads, err := x.List(c.Context(), filter)
			if err != nil {
				return k.Unreachable(err)
			}
			if asJSON {
				list := make([]map[string]any, len(threads))
				for i, t := range threads {
					list[i] = output.ThreadJSON(t)
					delete(list[i], "messages")
				}
				return a.JSON(list)
			}
			return a.Table(threads)
		},
	}
	k.Flags(c)
	f := c.Flags()
	f.StringVar(&filter.Status, "status", "", "only those with this status")
	f.StringVar(&filter.Executor, "executor", "", "only those of this executor")
	f.StringVar(&filter.Capability, "capability", "", "only those that require this capability")
	f.StringVar(&filter.Device, "device", "", "only those of this device: EXECUTOR:DEVICE, or a name that only one executor has")
	f.IntVar(&filter.Limit, "limit", 50, "at most so many")
	f.BoolVar(&asJSON, "json", false, "print JSON")
	return c
}

// Statuses are the statuses of a thread, in the order of its life.
var Statuses = []mess.Code{
	mess.Received, mess.Pending, mess.Claimed, mess.InProgress, mess.Waiting, mess.Held, mess.Retrying, mess.NeedsInput, mess.NeedsConfirmation,
	mess.Completed, mess.Partial, mess.Failed, mess.Declined, mess.Expired, mess.Cancelled, mess.Superseded, mess.Delegated,
}
