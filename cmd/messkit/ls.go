package main

import (
	"fmt"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/messkit/messkit/exchange/remote"
	"github.com/messkit/messkit/mess"
)

func (a *app) lsCommand() *cobra.Command {
	var k client
	var filter remote.Filter
	var asJSON bool
	c := &cobra.Command{
		Use:     "ls",
		Short:   "List requests, newest first",
		Example: "  messkit ls --status needs_confirmation",
		Args:    cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			if code := mess.Code(filter.Status); code != "" && !slices.Contains(statuses, code) {
				return usage(c, "--status: %q is unknown; write one of: %s", code, joined(statuses))
			}
			x, err := k.open()
			if err != nil {
				return err
			}
			threads, err := x.List(c.Context(), filter)
			if err != nil {
				return k.unreachable(err)
			}
			if asJSON {
				list := make([]map[string]any, len(threads))
				for i, t := range threads {
					list[i] = threadJSON(t)
					delete(list[i], "messages")
				}
				return a.json(list)
			}
			return a.table(threads)
		},
	}
	k.flags(c)
	f := c.Flags()
	f.StringVar(&filter.Status, "status", "", "only those with this status")
	f.StringVar(&filter.Executor, "executor", "", "only those of this executor")
	f.IntVar(&filter.Limit, "limit", 50, "at most so many")
	f.BoolVar(&asJSON, "json", false, "print JSON")
	return c
}

// statuses are those that a thread may have, in the order of its life.
var statuses = []mess.Code{
	mess.Received, mess.Pending, mess.Claimed, mess.InProgress, mess.Waiting, mess.Held, mess.Retrying, mess.NeedsInput, mess.NeedsConfirmation,
	mess.Completed, mess.Partial, mess.Failed, mess.Declined, mess.Expired, mess.Cancelled, mess.Superseded, mess.Delegated,
}

func joined(codes []mess.Code) string {
	list := make([]string, len(codes))
	for i, c := range codes {
		list[i] = string(c)
	}
	return strings.Join(list, ", ")
}

func (a *app) table(threads []remote.Thread) error {
	w := tabwriter.NewWriter(a.out, 0, 8, 2, ' ', 0)
	fmt.Fprintln(w, "REF\tSTATUS\tEXECUTOR\tCHANGED\tINTENT")
	for _, t := range threads {
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\n", t.Ref, t.Status, t.Executor, t.Updated.Local().Format(time.DateTime), printable(t.Intent))
	}
	return w.Flush()
}
