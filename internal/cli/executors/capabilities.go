package executors

import (
	"cmp"
	"context"
	"strings"

	"github.com/spf13/cobra"

	"github.com/messkit/messkit/exchange/remote/httpclient"
	"github.com/messkit/messkit/internal/cli/client"
	"github.com/messkit/messkit/internal/cli/output"
)

// CapabilitiesCommand returns the command messkit capabilities.
func CapabilitiesCommand(a *output.Env) *cobra.Command {
	return client.Query(a, &cobra.Command{
		Use:     "capabilities",
		Short:   "List the capabilities of the exchange's executors",
		Example: "  messkit capabilities",
	}, capabilities, printCapabilities)
}

// capability is a capability with the executors that have it.
type capability struct {
	Description string   `json:"description"`
	Executors   []string `json:"executors"`
	ID          string   `json:"id"`
	Tags        []string `json:"tags"`
}

func capabilities(ctx context.Context, x *httpclient.Client) ([]capability, error) {
	list, err := x.Capabilities(ctx)
	if err != nil {
		return nil, err
	}
	executors, err := x.Executors(ctx)
	if err != nil {
		return nil, err
	}
	offered := map[string][]string{}
	for _, e := range executors {
		for _, one := range e.Capabilities {
			offered[one.ID] = append(offered[one.ID], e.ID)
		}
	}
	all := make([]capability, len(list))
	for i, one := range list {
		all[i] = capability{one.Description, offered[one.ID], one.ID, one.Tags}
	}
	return all, nil
}

func printCapabilities(a *output.Env, list []capability) error {
	return a.PrintColumns(func(p *output.Printer) {
		p.Printf("CAPABILITY\tEXECUTORS\tDESCRIPTION\n")
		for _, one := range list {
			by := cmp.Or(strings.Join(one.Executors, ", "), "-")
			p.Printf("%s\t%s\t%s\n", one.ID, output.Printable(by), output.Printable(one.Description))
		}
	})
}
