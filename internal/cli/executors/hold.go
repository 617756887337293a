// Package executors has the commands about the executors of an exchange: hold, resume,
// forget, webhooks, refused, capabilities and history.
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

// HoldCommand returns the command messkit hold.
func HoldCommand(a *output.Env) *cobra.Command {
	c := drainCommand(a, "hold", "Have executors take nothing new, until messkit resume", func(h *mess.DrainOrder) mess.Config { return mess.Config{Drain: h} })
	c.Long = `Hold has the executors that it names, or all of them, take nothing new. What they
have claimed goes on to its end; what is asked for meanwhile waits. It lasts over
restarts. To end what is under way, there is messkit stop.`
	c.Example = "  messkit hold --why \"the floor is wet\"\n  messkit hold kitchen-pi"
	return c
}

// ResumeCommand returns the command messkit resume.
func ResumeCommand(a *output.Env) *cobra.Command {
	c := drainCommand(a, "resume", "End the drain of executors; they take waiting requests again", func(h *mess.DrainOrder) mess.Config { return mess.Config{Resume: h} })
	c.Long = `Resume ends the holds of the executors that it names, or of all: with an operator's
key every hold, with another one those that it has given. They take what has
waited meanwhile.`
	c.Example = "  messkit resume"
	return c
}

// drainCommand returns a command that starts or ends a drain at the exchange.
func drainCommand(a *output.Env, verb, short string, order func(*mess.DrainOrder) mess.Config) *cobra.Command {
	var reason string
	c := client.Command(&cobra.Command{
		Use:   verb + " [EXECUTOR...]",
		Short: short,
	}, func(ctx context.Context, x *httpclient.Client, names []string) error {
		return sendOrder(ctx, a, x, order(&mess.DrainOrder{Reason: reason, Executors: names}), verb)
	})
	c.Flags().StringVar(&reason, "why", "", "the reason, which requesters see")
	return c
}

func sendOrder(ctx context.Context, a *output.Env, x *httpclient.Client, c mess.Config, verb string) error {
	answer, err := x.Send(ctx, mess.Message{Items: []mess.Item{&c}})
	if err != nil {
		return err
	}
	for _, item := range answer.Items {
		ack, ok := item.(*mess.Ack)
		if !ok || ack.Drain == nil && ack.Resume == nil {
			continue
		}
		p := output.Printer{Out: a.Out}
		switch {
		case ack.Drain != nil:
			p.Printf("drained: %s; messkit resume ends it\n", output.Printable(strings.Join(ack.Drain.Executors, ", ")))
		case len(ack.Resume.Executors) == 0:
			p.Printf("there is no drained executor that this key may resume\n")
		default:
			p.Printf("no longer drained: %s\n", output.Printable(strings.Join(ack.Resume.Executors, ", ")))
		}
		return p.Err
	}
	return errors.New("the exchange does not know how to " + verb)
}
