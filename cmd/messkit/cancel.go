package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/messkit/messkit/mess"
)

func (a *app) cancelCommand() *cobra.Command {
	var k client
	var reason string
	c := &cobra.Command{
		Use:   "cancel REF...",
		Short: "Withdraw requests",
		Long: `Cancel withdraws requests. What has not begun never begins; what has begun is
stopped, and the thread says what was done until then.`,
		Example: "  messkit cancel 2026-11-21-003 --reason \"somebody is asleep\"",
		Args:    cobra.MinimumNArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			x, err := k.open()
			if err != nil {
				return err
			}
			for _, ref := range args {
				m := mess.Message{Items: []mess.Item{&mess.Cancel{Re: mess.Refs{ref}, Reason: reason}}}
				answer, err := x.Send(c.Context(), m)
				if err != nil {
					return k.unreachable(err)
				}
				if _, err := fmt.Fprintf(a.out, "%s %s\n", ref, cancelled(answer)); err != nil {
					return err
				}
			}
			return nil
		},
	}
	k.flags(c)
	c.Flags().StringVar(&reason, "reason", "", "why")
	return c
}

// cancelled tells what the exchange has answered to a cancel.
func cancelled(m mess.Message) string {
	for _, item := range m.Items {
		if ack, ok := item.(*mess.Ack); ok && ack.Status == mess.Cancelled {
			return "cancelled; nothing was done"
		}
	}
	return "is being stopped; messkit show tells what was done"
}
