// Package mesh has the commands for MESH.
package mesh

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/messkit/messkit/exchange/channel/mesh"
	"github.com/messkit/messkit/exchange/channel/mesh/state"
	"github.com/messkit/messkit/exchange/remote/httpclient"
	"github.com/messkit/messkit/internal/cli/client"
	"github.com/messkit/messkit/internal/cli/output"
	"github.com/messkit/messkit/mess"
)

// Command returns the command messkit mesh.
func Command(a *output.Env) *cobra.Command {
	c := &cobra.Command{
		Use:   "mesh",
		Short: "Send messages to other agents of a mesh (MESH 1.0)",
		Long: `Mesh uses the agent of an exchange with mesh: {on: true}. It sends messages to its
peers, asks several of them at once, and shows sent and undelivered messages. It needs
the operator's key. docs/how-to/mesh.md describes it.`,
		Example: "  messkit mesh send hub notification \"The fridge is full\"",
	}
	c.AddCommand(meshSendCommand(a), meshRallyCommand(a), meshStatusCommand(a), meshRotateCommand(a), meshDeadLettersCommand(a), meshAuditCommand(a))
	return c
}

// do sends an order to the agent of an exchange in its mesh.
func do(ctx context.Context, x *httpclient.Client, o mesh.Order) (r mesh.Report, err error) {
	if err = x.MESH(ctx, o, &r); IsOff(err) {
		err = output.Hint(err, "is the mesh on? write exchange: mesh: {on: true, peers: ...} into the configuration (docs/how-to/mesh.md)")
	}
	return r, err
}

// IsOff reports whether an exchange does not know of meshes.
func IsOff(err error) bool {
	r, ok := errors.AsType[*mess.Error](err)
	return ok && r.Code == mess.NotFound && r.Text == "there is nothing at this path"
}

// parseTimeout reads how long to wait: seconds, or a duration.
func parseTimeout(c *cobra.Command, text string) (time.Duration, error) {
	if text == "" {
		return 0, nil
	}
	if n, err := strconv.Atoi(text); err == nil && n > 0 {
		return time.Duration(n) * time.Second, nil
	}
	d, err := time.ParseDuration(text)
	if err != nil || d <= 0 {
		return 0, output.Usagef(c, "--wait: %q is no time; write seconds, or 8m", text)
	}
	return d, nil
}

func meshStatusCommand(a *output.Env) *cobra.Command {
	return client.Query(a, &cobra.Command{
		Use:     "status",
		Short:   "Show the agent, its peers, incidents and open requests",
		Example: "  messkit mesh status",
	}, func(ctx context.Context, x *httpclient.Client) (*mesh.Status, error) {
		r, err := do(ctx, x, mesh.Order{Do: "status"})
		return r.Status, err
	}, meshStatus)
}

func meshRotateCommand(a *output.Env) *cobra.Command {
	var alone bool
	c := client.Command(&cobra.Command{
		Use:   "rotate",
		Short: "Make a new token that peers show to this agent",
		Long: `Rotate makes a new token and writes it as the first one of the token file. The
previous token stays valid, so the peers can change one after the other. When all have
changed, rotate --drop-old ends the previous token. No program needs a restart.`,
		Example: "  messkit mesh rotate",
		Args:    cobra.NoArgs,
	}, func(ctx context.Context, x *httpclient.Client, _ []string) error {
		r, err := do(ctx, x, mesh.Order{Do: "rotate", Final: alone})
		if err != nil {
			return err
		}
		text := "a new token is first in " + output.Printable(r.Status.TokenFile) + "; the old one stays valid, until messkit mesh rotate --drop-old"
		if alone {
			text = "only the newest token counts, the first in " + output.Printable(r.Status.TokenFile)
		}
		_, err = fmt.Fprintln(a.Out, text)
		return err
	})
	c.Flags().BoolVar(&alone, "drop-old", false, "the previous token is no longer valid")
	return c
}

func meshStatus(a *output.Env, s *mesh.Status) error {
	return a.PrintColumns(func(p *output.Printer) {
		p.Printf("agent\t%s\t%s\n", s.Agent, s.URL)
		if s.TokenFile != "" {
			p.Printf("token\t%s\tpeers send the token in this file\n", s.TokenFile)
		}
		for _, one := range s.Peers {
			up := "not asked yet"
			if one.Reachable != nil {
				up = map[bool]string{true: fmt.Sprintf("reachable, %d ms", one.LatencyMS), false: "not reachable"}[*one.Reachable] + " at " + one.LastProbe.Local().Format(time.TimeOnly)
			}
			p.Printf("peer\t%s\t%s\tcircuit %s\t%s", output.Printable(one.Name), output.Printable(one.URL), one.Breaker, up)
			if one.DeadLetters > 0 {
				p.Printf("\t%s", output.Count(one.DeadLetters, "dead letter"))
			}
			p.Printf("\n")
		}
		for _, i := range s.Incidents {
			p.Printf("incident\t%s\t%s\t%s\tsince %s\n", output.Printable(i.ID), output.Printable(i.Scope), output.Count(i.AlertCount, "alert"), i.FirstSeen.Local().Format(time.DateTime))
		}
		for _, one := range s.Asks {
			p.Printf("request\t%s\t%s\t%s\n", output.Printable(one.ID), output.Printable(one.To), stateOf(one))
		}
	})
}

// stateOf returns the state of a request to a peer as text.
func stateOf(a mesh.Asked) string {
	switch {
	case a.Result != nil && a.Result.Status != "":
		return output.Printable(a.Result.Status)
	case a.Result != nil:
		return "answered"
	case a.Failed != "":
		return output.Printable(a.Failed)
	case openQuestions(a) > 0:
		return "asks something"
	case a.Acked != "":
		return "acknowledged"
	case a.Delivery == "":
		return "on its way"
	case a.Delivery != "sent":
		return "not delivered: " + output.Printable(a.Delivery)
	}
	return "waits for the answer"
}

func openQuestions(a mesh.Asked) (n int) {
	for _, q := range a.Questions {
		if !q.Answered {
			n++
		}
	}
	return n
}

func meshAuditCommand(a *output.Env) *cobra.Command {
	o := mesh.Order{Do: "audit"}
	c := client.Query(a, &cobra.Command{
		Use:     "audit",
		Short:   "Show received, sent and rejected messages",
		Example: "  messkit mesh audit --peer hub\n  messkit mesh audit --id msg_...",
	}, func(ctx context.Context, x *httpclient.Client) ([]state.Line, error) {
		r, err := do(ctx, x, o)
		return r.Audit, err
	}, printAudit)
	f := c.Flags()
	f.IntVarP(&o.Lines, "lines", "n", 20, "how many lines, at most 1000")
	f.StringVar(&o.Peer, "peer", "", "only of this peer")
	f.StringVar(&o.ID, "id", "", "only this message or conversation, and the messages that refer to it")
	return c
}

func printAudit(a *output.Env, list []state.Line) error {
	return a.PrintColumns(func(p *output.Printer) {
		for _, l := range list {
			p.Printf("%s\t%s > %s\t%s\t%s\t%s\t%s\t%s\n", output.Printable(l.TS), output.Printable(l.From), output.Printable(l.To), output.Printable(l.Type), output.Printable(l.Status), output.Printable(l.ID), output.Printable(l.Subject), output.Printable(l.Detail))
		}
	})
}

func meshDeadLettersCommand(a *output.Env) *cobra.Command {
	c := client.Query(a, &cobra.Command{
		Use:   "dead-letters",
		Short: "Show undelivered messages; replay or drop them",
		Long: `Dead-letters shows the messages that no peer has accepted. The agent sends those that
no peer has rejected again every minute, until their time to live ends.`,
		Example: "  messkit mesh dead-letters\n  messkit mesh dead-letters replay --final",
	}, func(ctx context.Context, x *httpclient.Client) (deadLetters, error) {
		r, err := do(ctx, x, mesh.Order{Do: "letters"})
		return deadLetters{r.DeadLetters}, err
	}, printDeadLetters)
	c.AddCommand(meshReplayCommand(a), meshDropCommand(a))
	return c
}

// deadLetters are the messages that no peer has taken.
type deadLetters struct {
	Messages []state.DeadLetter `json:"messages"`
}

func printDeadLetters(a *output.Env, d deadLetters) error {
	return a.PrintColumns(func(p *output.Printer) {
		for _, l := range d.Messages {
			p.Printf("%s\t%s\t%s\t%s\t%s\n", l.Timestamp.Local().Format(time.DateTime), output.Printable(l.To), output.Printable(l.ID), output.Printable(l.FailReason), output.Count(l.Attempts, "attempt"))
		}
		if len(d.Messages) == 0 {
			p.Printf("there are none\n")
		}
	})
}

func meshReplayCommand(a *output.Env) *cobra.Command {
	o := mesh.Order{Do: "replay"}
	c := client.Command(&cobra.Command{
		Use:     "replay [ID]",
		Short:   "Send dead letters again",
		Example: "  messkit mesh dead-letters replay --peer hub",
		Args:    cobra.MaximumNArgs(1),
	}, func(ctx context.Context, x *httpclient.Client, args []string) error {
		o.ID = strings.Join(args, "")
		r, err := do(ctx, x, o)
		if err != nil {
			return err
		}
		fmt.Fprintf(a.Out, "%s delivered\n", output.Count(r.Sent, "message"))
		for _, one := range r.Failed {
			fmt.Fprintf(a.Out, "not delivered: %s\n", output.Printable(one))
		}
		if len(r.Failed) > 0 {
			return output.ErrQuiet
		}
		return nil
	})
	c.Flags().StringVar(&o.Peer, "peer", "", "only of this peer")
	c.Flags().BoolVar(&o.Final, "final", false, "also those that the peer has rejected")
	return c
}

func meshDropCommand(a *output.Env) *cobra.Command {
	o := mesh.Order{Do: "drop"}
	c := client.Command(&cobra.Command{
		Use:     "drop ID",
		Short:   "Discard a dead letter, or all",
		Example: "  messkit mesh dead-letters drop all --peer hub",
		Args:    cobra.ExactArgs(1),
	}, func(ctx context.Context, x *httpclient.Client, args []string) error {
		o.ID = args[0]
		r, err := do(ctx, x, o)
		if err == nil {
			_, err = fmt.Fprintf(a.Out, "%s dropped\n", output.Count(r.Sent, "message"))
		}
		return err
	})
	c.Flags().StringVar(&o.Peer, "peer", "", "only of this peer")
	return c
}
