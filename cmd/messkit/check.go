package main

import (
	"fmt"

	"github.com/spf13/cobra"
)

func (a *app) checkCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "check FILE",
		Short: "Check a configuration file",
		Long: `Check does what run does before the first request: it reads the file, opens every
device without starting it, and tells all mistakes at once with their lines.`,
		Example: "  messkit check messkit.yaml",
		Args:    cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			c, err := load(args[0], quiet)
			if err != nil {
				return err
			}
			_, err = fmt.Fprintf(a.out, "%s: %d devices, nothing wrong\n", args[0], len(c.home.devices))
			return err
		},
	}
}
