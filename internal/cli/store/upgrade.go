package store

import (
	"context"
	"errors"
	"log/slog"

	"github.com/spf13/cobra"

	"github.com/messkit/messkit/exchange/store/jetstream"
	"github.com/messkit/messkit/internal/cli/output"
)

func upgradeCommand(a *output.Env) *cobra.Command {
	o := copyFlags{}
	c := &cobra.Command{
		Use:   "upgrade ADDRESS",
		Short: "Have the threads on NATS servers use the format of this release",
		Long: `Have the threads on the NATS servers at ADDRESS (nats:// or tls://) use the newest format
that this messkit knows. The flags are the settings of exchange: store: in a configuration.

Exchanges of two releases work side by side in the older format. Run the command after
you have updated all of them. An exchange that does not know the format ends, and does
not start again before its update. There is no way back to the older format.

Exit code: 0 the servers have the newest format.`,
		Example: "  messkit store upgrade nats://127.0.0.1:4222 --replicas 1",
		Args:    cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			at, err := o.place(args[0])
			if err == nil && at.dir != "" {
				err = errors.New("a data folder has the format of the last messkit that has used it; name NATS servers")
			}
			if err != nil {
				return output.Usagef(c, "ADDRESS: %w", err)
			}
			return upgrade(c.Context(), a, at, o.asJSON)
		},
	}
	o.addTo(c)
	return c
}

// upgrade raises the format, and prints the result.
func upgrade(ctx context.Context, a *output.Env, at place, asJSON bool) error {
	c := at.nats.Config(at.nats.Site, slog.New(slog.NewTextHandler(a.Err, &slog.HandlerOptions{Level: slog.LevelWarn})))
	c.Existing = true
	s, err := jetstream.Open(ctx, c)
	if err != nil {
		return err
	}
	before, err := s.Upgrade(ctx)
	after := s.Format()
	if err = errors.Join(err, s.Close()); err != nil {
		return err
	}
	if asJSON {
		return a.JSON(struct {
			Before int `json:"before"`
			Format int `json:"format"`
		}{before, after})
	}
	p := output.Printer{Out: a.Out}
	if before == after {
		p.Printf("%s already has format %d, the newest that this messkit knows.\n", output.Printable(at.name), after)
	} else {
		p.Printf("%s had format %d, and has format %d now.\n", output.Printable(at.name), before, after)
	}
	return p.Err
}
