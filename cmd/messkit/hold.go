package main

import (
	"context"
	"errors"
	"strings"

	"github.com/spf13/cobra"

	"github.com/messkit/messkit/exchange/remote"
	"github.com/messkit/messkit/mess"
)

func (a *app) holdCommand() *cobra.Command {
	c := a.holding("hold", "Have executors take nothing new, until messkit resume", func(h *mess.Hold) mess.Config { return mess.Config{Hold: h} })
	c.Long = `Hold has the executors that it names, or all of them, take nothing new. What they
have claimed goes on to its end; what is asked for meanwhile waits. It lasts over
restarts. To end what is under way, there is messkit stop.`
	c.Example = "  messkit hold --why \"the floor is wet\"\n  messkit hold kitchen-pi"
	return c
}

func (a *app) resumeCommand() *cobra.Command {
	c := a.holding("resume", "Have executors that are on hold take what waits", func(h *mess.Hold) mess.Config { return mess.Config{Resume: h} })
	c.Long = `Resume ends the holds of the executors that it names, or of all: with an operator's
key every hold, with another one those that it has given. They take what has
waited meanwhile.`
	c.Example = "  messkit resume"
	return c
}

// holding is a command that gives an order about holds to the exchange.
func (a *app) holding(verb, short string, order func(*mess.Hold) mess.Config) *cobra.Command {
	var k client
	var why string
	c := &cobra.Command{
		Use:   verb + " [EXECUTOR...]",
		Short: short,
		RunE: func(cmd *cobra.Command, names []string) error {
			x, err := k.open()
			if err != nil {
				return err
			}
			return a.order(cmd.Context(), x, &k, order(&mess.Hold{Why: why, Executors: names}), verb)
		},
	}
	k.flags(c)
	c.Flags().StringVar(&why, "why", "", "the reason, for whoever asks")
	return c
}

func (a *app) order(ctx context.Context, x *remote.Client, k *client, c mess.Config, verb string) error {
	answer, err := x.Send(ctx, mess.Message{Items: []mess.Item{&c}})
	if err != nil {
		return k.unreachable(err)
	}
	for _, item := range answer.Items {
		ack, ok := item.(*mess.Ack)
		if !ok || ack.Hold == nil && ack.Resume == nil {
			continue
		}
		p := printer{out: a.out}
		switch {
		case ack.Hold != nil:
			p.printf("on hold: %s; messkit resume ends it\n", printable(strings.Join(ack.Hold.Executors, ", ")))
		case len(ack.Resume.Executors) == 0:
			p.printf("no executor is on hold that this key may let go on\n")
		default:
			p.printf("not on hold any more: %s\n", printable(strings.Join(ack.Resume.Executors, ", ")))
		}
		return p.err
	}
	return errors.New("the exchange does not know how to " + verb)
}
