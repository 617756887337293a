package cli

import (
	"fmt"
	"runtime"

	"github.com/spf13/cobra"

	"github.com/messkit/messkit/internal/cli/output"
)

func versionCommand(a *output.Env) *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use:     "version",
		Short:   "Print the version",
		Example: "  messkit version",
		Args:    cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			if asJSON {
				return a.JSON(map[string]string{"version": output.Version, "go": runtime.Version(), "os": runtime.GOOS, "arch": runtime.GOARCH})
			}
			_, err := fmt.Fprintf(a.Out, "messkit %s (%s, %s/%s)\n", output.Version, runtime.Version(), runtime.GOOS, runtime.GOARCH)
			return err
		},
	}
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return c
}
