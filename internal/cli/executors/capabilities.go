package executors

import (
	"fmt"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/messkit/messkit/internal/cli/client"
	"github.com/messkit/messkit/internal/cli/output"
)

// CapabilitiesCommand returns the command messkit capabilities.
func CapabilitiesCommand(a *output.Env) *cobra.Command {
	var k client.Client
	var asJSON bool
	c := &cobra.Command{
		Use:     "capabilities",
		Short:   "List the capabilities of the exchange's executors",
		Example: "  messkit capabilities",
		Args:    cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			x, err := k.Open()
			if err != nil {
				return err
			}
			list, err := x.Capabilities(c.Context())
			if err != nil {
				return k.Unreachable(err)
			}
			who, err := x.Executors(c.Context())
			if err != nil {
				return k.Unreachable(err)
			}
			offered := map[string][]string{}
			for _, e := range who {
				for _, one := range e.Capabilities {
					offered[one.ID] = append(offered[one.ID], e.ID)
				}
			}
			if asJSON {
				out := make([]map[string]any, len(list))
				for i, one := range list {
					out[i] = map[string]any{"id": one.ID, "description": one.Description, "tags": one.Tags, "executors": offered[one.ID]}
				}
				return a.JSON(out)
			}
			w := tabwriter.NewWriter(a.Out, 0, 8, 2, ' ', 0)
			fmt.Fprintln(w, "CAPABILITY\tEXECUTORS\tDESCRIPTION")
			for _, one := range list {
				by := strings.Join(offered[one.ID], ", ")
				if by == "" {
					by = "-"
				}
				fmt.Fprintf(w, "%s\t%s\t%s\n", one.ID, output.Printable(by), output.Printable(one.Description))
			}
			return w.Flush()
		},
	}
	k.Flags(c)
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return c
}
