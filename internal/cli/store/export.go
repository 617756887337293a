package store

import (
	"context"
	"errors"
	"fmt"
	"log/slog"

	"github.com/spf13/cobra"

	"github.com/messkit/messkit/exchange/store/transfer"
	"github.com/messkit/messkit/exchange/thread"
	"github.com/messkit/messkit/internal/cli/output"
)

func exportCommand(a *output.Env) *cobra.Command {
	o := copyFlags{}
	follow := false
	c := &cobra.Command{
		Use:   "export SOURCE FOLDER",
		Short: "Write the threads of a store as MESSE-AF folders",
		Long: `Write the threads and attachments of the store SOURCE as MESSE-AF folders into FOLDER, for
people, backups and other programs. SOURCE is the address of NATS servers (nats:// or tls://),
or the data folder of an exchange that does not run. The flags are the settings of exchange:
store: in a configuration.

Exchanges on NATS may run meanwhile. The next run writes what has changed since. With
--follow the command writes each change within a second, until Ctrl-C.

FOLDER must be empty, or have an earlier export of SOURCE. The command can be stopped or killed
at any moment; run it again, and it goes on. FOLDER has no keys, and no exchange starts on it.
Write nothing into it.

Exit code: 0 FOLDER has the threads of SOURCE, 1 it has not, or was refused.`,
		Example: "  messkit store export tls://n1:4222,tls://n2:4222 ~/threads --credentials-file mess.creds\n  messkit store export tls://n1:4222,tls://n2:4222 ~/threads --credentials-file mess.creds --follow",
		Args:    cobra.ExactArgs(2),
		RunE: func(c *cobra.Command, args []string) error {
			from, err := o.place(args[0])
			if err != nil {
				return output.Usagef(c, "SOURCE: %w", err)
			}
			to, err := o.place(args[1])
			if err == nil && to.dir == "" {
				err = errors.New("name a folder; messkit store copy copies to NATS servers")
			}
			if err != nil {
				return output.Usagef(c, "FOLDER: %w", err)
			}
			if from.name == to.name {
				return output.Usagef(c, "SOURCE and FOLDER are both %s; name another folder", from.name)
			}
			if follow && from.dir != "" {
				return output.Usagef(c, "--follow: an exchange writes the folders of its data folder itself; leave it out, or name NATS servers")
			}
			return runExport(c.Context(), a, from, to, o.asJSON, follow)
		},
	}
	o.addTo(c)
	c.Flags().BoolVar(&follow, "follow", false, "go on with each change, until Ctrl-C")
	return c
}

// runExport exports, and prints the result.
func runExport(ctx context.Context, a *output.Env, from, to place, asJSON, follow bool) (err error) {
	log := slog.New(slog.NewTextHandler(a.Err, &slog.HandlerOptions{Level: slog.LevelWarn}))
	source, closeSource, err := from.open(ctx, true, log)
	if err != nil {
		return fmt.Errorf("SOURCE: %w", err)
	}
	defer func() { err = errors.Join(err, closeSource()) }()
	target, closeTarget, err := to.open(context.WithoutCancel(ctx), false, log)
	if err != nil {
		return fmt.Errorf("FOLDER: %w", err)
	}
	defer func() { err = errors.Join(err, closeTarget()) }()
	p := newProgress(a)
	options := transfer.Options{Source: from.name, Progress: p.show}
	var printed error
	report := func(r transfer.Exported) {
		p.end()
		if asJSON {
			printed = a.JSON(r)
			return
		}
		_, printed = fmt.Fprintf(a.Out, "%s has %s, of which this run has written %d\n", output.Printable(to.name), output.Count(r.Threads, "thread"), r.Copied)
	}
	if follow {
		err = transfer.Follow(ctx, source, target, options, report, func(err error) { log.Warn("the export cannot write a change now; it tries again", "err", err) })
	} else {
		var r transfer.Exported
		if r, err = transfer.Export(ctx, source, target, options); err == nil {
			err = settle(ctx, target)
		}
		if err == nil {
			report(r)
		}
	}
	p.end()
	if err != nil {
		return withRemedy(ctx, err)
	}
	return printed
}

// settle waits until the folders show all threads.
func settle(ctx context.Context, target thread.Store) error {
	f, ok := target.(*folder)
	if !ok {
		return nil
	}
	return f.Settle(ctx)
}
