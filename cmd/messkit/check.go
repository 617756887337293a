package main

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"
)

func (a *app) checkCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "check FILE",
		Short: "Check a configuration file",
		Long: `Check does what run does before the first request: it reads the file, opens every
device without starting it, and tells all mistakes at once with their lines. It
also tells which passwords, tokens and keys everybody on this machine can read,
and which heaters, pumps and the like nothing would switch off by itself.`,
		Example: "  messkit check messkit.yaml",
		Args:    cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			if args[0] == "" {
				return errors.New("the file has no name; write which one is to be checked")
			}
			c, err := load(args[0], quiet)
			if err != nil {
				return err
			}
			if left := c.home.catalogue.Skipped(); len(left) > 0 {
				fmt.Fprintf(a.out, "%s: %s of Home Assistant left out, which nothing here has words for: %s, ...\n", args[0], count(len(left), "sentence"), left[0])
			}
			for _, one := range c.home.notes {
				fmt.Fprintln(a.out, printable(one.Error()))
			}
			says := "nothing wrong"
			for _, one := range exposed(args[0]) {
				says = "nothing else wrong"
				fmt.Fprintln(a.out, printable(one))
			}
			_, err = fmt.Fprintf(a.out, "%s: %s, %s\n", args[0], count(len(c.home.devices), "device"), says)
			return err
		},
	}
}

// count is a number of things: 1 device, 2 devices.
func count(n int, thing string) string {
	if n != 1 {
		thing += "s"
	}
	return fmt.Sprintf("%d %s", n, thing)
}
