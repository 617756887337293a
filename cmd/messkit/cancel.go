package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/messkit/messkit/exchange/remote"
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
					return k.unreachable(tooLate(c.Context(), x, err))
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

// tooLate is the refusal of what is too late for a thread: how that has ended.
func tooLate(ctx context.Context, x *remote.Client, err error) error {
	no, ok := errors.AsType[*mess.Refusal](err)
	if !ok || !no.Status.Terminal() {
		return err
	}
	how := strings.ReplaceAll(string(no.Status), "_", " ")
	if t, err := x.Thread(ctx, no.Ref); err == nil {
		if s, in := lastStatus(t.Messages); s != nil && s.Code == no.Status {
			how = strings.TrimSuffix(how+" at "+clockOf(in.Received)+": "+cmp.Or(reasonOf(s), s.Message), ": ")
		}
	}
	return fmt.Errorf("%s: it has ended: %s; there is nothing to cancel", no.Ref, how)
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
