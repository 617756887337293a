package requests

import (
	"github.com/spf13/cobra"

	"github.com/messkit/messkit/exchange/remote/httpclient"
	"github.com/messkit/messkit/internal/cli/client"
	"github.com/messkit/messkit/internal/cli/output"
)

// WatchCommand returns the command messkit watch.
func WatchCommand(a *output.Env) *cobra.Command {
	var k client.Client
	var asJSON, asLines bool
	c := &cobra.Command{
		Use:   "watch",
		Short: "Follow all threads live",
		Long: `Watch shows all events until Ctrl-C. On a terminal it is a page with the executors, the
stops, and the tasks with their states, which it redraws at each change. In a pipe, or
with --lines, it prints one line per event.`,
		Example: "  messkit watch\n  messkit watch --lines | tee today.txt",
		Args:    cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			return k.Call(func(x *httpclient.Client) (err error) {
				if a.Screen != nil && !asJSON && !asLines {
					err = client.WatchBoard(c.Context(), a, x, k.URL)
				} else {
					err = x.Follow(c.Context(), "", func(e httpclient.Event) error { return printEvent(a, e, asJSON) })
				}
				if c.Context().Err() != nil {
					return nil // the person has ended it
				}
				return err
			})
		},
	}
	k.Flags(c)
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON, an event a line")
	c.Flags().BoolVar(&asLines, "lines", false, "line by line, on a terminal too")
	return c
}

func printEvent(a *output.Env, e httpclient.Event, asJSON bool) error {
	if len(e.Message.Items) == 0 {
		return nil // a reset has no message
	}
	if asJSON {
		text, err := e.Message.JSON()
		if err == nil {
			_, err = output.EscapedJSON{To: a.Out}.Write(append(text, '\n'))
		}
		return err
	}
	p := output.Printer{Out: a.Out, All: true}
	p.Printf("%s  %s\n", output.Printable(e.Thread.Ref), output.Printable(e.Thread.Intent))
	p.Message(e.Message)
	return p.Err
}
