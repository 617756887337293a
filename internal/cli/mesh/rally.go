package mesh

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/messkit/messkit/exchange/channel/mesh"
	"github.com/messkit/messkit/exchange/channel/mesh/state"
	"github.com/messkit/messkit/exchange/remote/httpclient"
	"github.com/messkit/messkit/internal/cli/output"
	"github.com/messkit/messkit/internal/wait"
)

func meshRallyCommand(a *output.Env) *cobra.Command {
	var s meshSending
	show := ""
	c := &cobra.Command{
		Use:   "rally PEERS QUESTION",
		Short: "Ask several peers one question, and collect their answers",
		Long: `Rally sends the same question to several peers (a,b), a @group or all, and prints the
answers as they arrive. It fails if a peer has not answered in time. --conversation
starts the next round of a conversation, and --show prints one.`,
		Example: `  messkit mesh rally alpha,beta "Count active records" --wait 60
  messkit mesh rally --show conv_1795227819_c3895bae`,
		Args: func(c *cobra.Command, args []string) error {
			if show != "" {
				return cobra.NoArgs(c, args)
			}
			return cobra.ExactArgs(2)(c, args)
		},
		RunE: func(c *cobra.Command, args []string) error {
			patience, err := parseTimeout(c, s.wait)
			if err != nil {
				return err
			}
			return s.Call(func(x *httpclient.Client) error {
				if show != "" {
					r, err := do(c.Context(), x, mesh.Order{Do: "conversation", ID: show})
					if err != nil {
						return err
					}
					return printRally(a, &s, r.Conversation, 0, true)
				}
				s.To, s.Body = args[0], args[1]
				return meshRally(c.Context(), a, x, &s, patience)
			})
		},
	}
	s.Flags(c)
	f := c.Flags()
	f.StringVar(&s.wait, "wait", "", "wait so long for the answers: seconds, or 2m")
	f.Int64Var(&s.TTL, "ttl", 0, "time to live of the question in seconds (120, or as long as --wait)")
	f.StringVar(&s.Priority, "priority", "", "high, normal or low")
	f.StringVar(&s.Conversation, "conversation", "", "the next round of this conversation")
	f.StringVar(&show, "show", "", "show this conversation")
	f.BoolVar(&s.asJSON, "json", false, "print JSON")
	return c
}

// rallyPollInterval is the time between two polls.
const rallyPollInterval = 300 * time.Millisecond

func meshRally(ctx context.Context, a *output.Env, x *httpclient.Client, s *meshSending, patience time.Duration) error {
	if s.TTL == 0 && patience > 0 {
		s.TTL = int64((patience + time.Second - 1) / time.Second)
	}
	s.Type = "request"
	r, err := do(ctx, x, mesh.Order{Do: "rally", Send: &s.Sending})
	if err != nil {
		return err
	}
	c := r.Conversation
	if patience == 0 {
		if s.asJSON {
			return a.JSON(c)
		}
		_, err := fmt.Fprintf(a.Out, "%s: asked %s\n", c.ID, strings.Join(c.Participants, ", "))
		return err
	}
	waiting, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	printed := 0
	for c.Status == "active" && wait.For(waiting, rallyPollInterval) {
		r, err := do(ctx, x, mesh.Order{Do: "conversation", ID: c.ID})
		if err != nil {
			return err
		}
		c = r.Conversation
		if !s.asJSON {
			if err := printRally(a, s, c, printed, false); err != nil {
				return err
			}
			printed = len(c.Responses)
		}
	}
	if c.Status == "active" {
		if _, err := do(ctx, x, mesh.Order{Do: "timeout", ID: c.ID}); err != nil {
			return err
		}
		c.Status = "timeout"
	}
	return printRally(a, s, c, printed, true)
}

// printRally prints the answers, without the first ones that it printed before. printed is their
// number. At the end it also prints the participants without an answer.
func printRally(a *output.Env, s *meshSending, c *state.Conversation, printed int, end bool) error {
	if s.asJSON {
		if err := a.JSON(c); err != nil {
			return err
		}
	} else {
		for _, one := range c.Responses[min(printed, len(c.Responses)):] {
			if _, err := fmt.Fprintf(a.Out, "%s: %s\n", output.Printable(one.From), output.PrintableLines(one.Body)); err != nil {
				return err
			}
		}
	}
	if !end {
		return nil
	}
	var missing []string
	for _, name := range c.Participants {
		if !slices.ContainsFunc(c.Responses, func(r state.Answer) bool { return r.From == name }) {
			missing = append(missing, name)
		}
	}
	if len(missing) == 0 {
		return nil
	}
	fmt.Fprintf(a.Err, "%s: no answer from %s\n", c.ID, output.Printable(strings.Join(missing, ", ")))
	return errors.Join(output.ErrQuiet)
}
