package requests

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/messkit/messkit/exchange/remote/httpclient"
	"github.com/messkit/messkit/internal/cli/client"
	"github.com/messkit/messkit/internal/cli/output"
	"github.com/messkit/messkit/mess"
)

// CancelCommand returns the command messkit cancel.
func CancelCommand(a *output.Env) *cobra.Command {
	var reason string
	c := client.Command(&cobra.Command{
		Use:   "cancel REF...",
		Short: "Cancel requests",
		Long: `Cancel withdraws requests. A request that has not begun never begins. The executor
stops one that has begun, and the thread lists what is done. The beginning of a ref is
enough if no other ref begins so.`,
		Example: "  messkit cancel 2026-11-21-003 --reason \"somebody is asleep\"",
		Args:    cobra.MinimumNArgs(1),
	}, func(ctx context.Context, x *httpclient.Client, args []string) (err error) {
		for i := range args { // check all before the first cancel
			if args[i], err = client.WholeRef(ctx, x, args[i]); err != nil {
				return err
			}
		}
		for _, ref := range args {
			m := mess.Message{Items: []mess.Item{&mess.Cancel{Re: mess.Refs{ref}, Reason: reason}}}
			answer, err := x.Send(ctx, m)
			if err != nil {
				return tooLate(ctx, x, err)
			}
			if _, err := fmt.Fprintf(a.Out, "%s %s\n", ref, cancelled(ctx, x, ref, answer)); err != nil {
				return err
			}
		}
		return nil
	})
	c.Flags().StringVar(&reason, "reason", "", "why")
	return c
}

// tooLate returns the error for a cancel after the end of a thread, with its status.
func tooLate(ctx context.Context, x *httpclient.Client, err error) error {
	no, ok := errors.AsType[*mess.Error](err)
	if !ok || !no.Status.Terminal() {
		return err
	}
	how := output.WithSpaces(no.Status)
	if t, err := x.Thread(ctx, no.Ref); err == nil {
		if s, in := mess.LastStatus(t.Messages); s != nil && s.Code == no.Status {
			how = strings.TrimSuffix(how+" at "+output.Clock(in.Received)+": "+cmp.Or(output.ReasonOf(s), s.Message), ": ")
		}
	}
	instead := ""
	if no.Status == mess.Completed { // its automatic switch-off may be pending
		instead = "; its effect stays: ask for another state, like \"turn it off\" with its name"
	}
	return fmt.Errorf("%s: it has ended: %s; there is nothing to cancel%s", no.Ref, how, instead)
}

// cancelled returns the exchange's answer to a cancel, and the text of the thread if an
// executor may have begun.
func cancelled(ctx context.Context, x *httpclient.Client, ref string, m mess.Message) string {
	for _, item := range m.Items {
		ack, ok := item.(*mess.Ack)
		if ok && ack.Extra.Text("note") != "" { // it is on the way to a site
			return output.Printable(ack.Extra.Text("note"))
		}
		if !ok || ack.Status != mess.Cancelled {
			continue
		}
		t, err := x.Thread(ctx, ref)
		if err != nil {
			return "cancelled; messkit show has the effect"
		}
		if s, _ := mess.LastStatus(t.Messages); s != nil && s.Code == mess.Cancelled && s.Reason != nil {
			return "cancelled; " + output.ReasonOf(s)
		}
		return "cancelled before it began"
	}
	return "is stopping; messkit show has the effect"
}
