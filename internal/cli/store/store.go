// Package store has the command that copies the store of an exchange.
package store

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/messkit/messkit/exchange/store/files"
	"github.com/messkit/messkit/exchange/store/jetstream"
	"github.com/messkit/messkit/exchange/store/transfer"
	"github.com/messkit/messkit/exchange/thread"
	"github.com/messkit/messkit/internal/cli/output"
	"github.com/messkit/messkit/internal/config/natsstore"
	"github.com/messkit/messkit/internal/terminal"
	"github.com/messkit/messkit/mess"
)

// Command returns the command messkit store.
func Command(a *output.Env) *cobra.Command {
	c := &cobra.Command{
		Use:     "store COMMAND",
		Short:   "Copy an exchange to NATS servers, or back; export its threads; make a user",
		Long:    "Copy an exchange between a data folder and NATS servers, export its threads, have the\nservers use the format of a new release, or make a user for them. The page docs/how-to/cluster.md has the steps.",
		Example: "  messkit store copy ~/.mess nats://127.0.0.1:4222 --replicas 1",
		Args:    cobra.NoArgs,
	}
	c.AddCommand(copyCommand(a), exportCommand(a), upgradeCommand(a), nkeyCommand(a))
	return c
}

// copyFlags are the settings of a copy: those of the NATS servers, and of the output.
type copyFlags struct {
	nats   natsstore.Settings
	asJSON bool
}

func copyCommand(a *output.Env) *cobra.Command {
	o := copyFlags{}
	c := &cobra.Command{
		Use:   "copy SOURCE TARGET",
		Short: "Copy all threads and documents of a store into an empty one",
		Long: `Copy all threads, attachments and documents of the store SOURCE into the store TARGET,
and compare the two by digest. Each is a data folder, or the address of NATS servers
(nats:// or tls://). The flags are the settings of exchange: store: in a configuration,
and hold for both addresses.

The exchange of a data folder must be stopped: it locks its folder. An exchange on NATS
may run while the command copies. Then stop it, and run the command again: it copies
what has changed since. Start an exchange on TARGET after that, and none on SOURCE
again: with both, a device could act twice.

TARGET must be empty, or have a part of the same copy. The command can be stopped or
killed at any moment; run it again, and it goes on. No exchange starts on a part of a
copy. The keys of actors, executors and push services belong to the copy; the other
files of a data folder stay, such as operator.key, tls.pem, authority.pem and the folder history.

Exit code: 0 SOURCE and TARGET are equal, 1 they are not, or TARGET was refused.`,
		Example: "  messkit store copy ~/.mess nats://127.0.0.1:4222 --replicas 1\n  messkit store copy tls://n1:4222,tls://n2:4222 ~/back --credentials-file mess.creds",
		Args:    cobra.ExactArgs(2),
		ValidArgsFunction: func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
			return nil, cobra.ShellCompDirectiveFilterDirs
		},
		RunE: func(c *cobra.Command, args []string) error {
			from, err := o.place(args[0])
			if err != nil {
				return output.Usagef(c, "SOURCE: %w", err)
			}
			to, err := o.place(args[1])
			if err != nil {
				return output.Usagef(c, "TARGET: %w", err)
			}
			if from.name == to.name {
				return output.Usagef(c, "SOURCE and TARGET are both %s; name two stores", from.name)
			}
			return runCopy(c.Context(), a, from, to, o.asJSON)
		},
	}
	o.addTo(c)
	return c
}

// addTo adds the flags.
func (o *copyFlags) addTo(c *cobra.Command) {
	f := c.Flags()
	n := &o.nats
	f.StringVar(&n.Prefix, "prefix", "mess", "first word of the subjects")
	f.StringVar(&n.Site, "site", "home", "second word of the subjects; the id of the exchange unless its configuration has another one")
	f.IntVar(&n.Replicas, "replicas", 3, "servers that have each message: 1, 3 or 5")
	f.StringVar(&n.Credentials, "credentials-file", "", "file with a JWT and its seed, as nsc writes them")
	f.StringVar(&n.NKey, "nkey-file", "", "file with the seed of a user")
	f.StringVar(&n.CA, "ca", "", "file with the certificates that sign those of the servers")
	f.StringVar(&n.Cert, "cert", "", "file with a certificate of this user")
	f.StringVar(&n.Key, "key", "", "file with the key of this certificate")
	f.BoolVar(&n.Insecure, "insecure", false, "allow plain text beyond this machine, where a tunnel keeps it")
	f.StringSliceVar(&n.Monitor, "monitor", nil, "monitoring addresses of the servers, like http://n1:8222")
	f.StringVar(&n.Sync, "sync", "", "always: the servers sync each write, and no monitoring tells it")
	f.BoolVar(&n.AcceptLoss, "accept-loss", false, "go on although a power cut of the servers can lose what the command writes")
	f.BoolVar(&o.asJSON, "json", false, "print JSON")
}

// place is a store that a user has named.
type place struct {
	name string // absolute path of a folder, or the prefix and site on NATS servers
	dir  string // "" for NATS
	nats natsstore.Settings
}

// place reads an argument.
func (o *copyFlags) place(text string) (place, error) {
	if !strings.Contains(text, "://") {
		dir, err := filepath.Abs(text)
		if real, wrong := filepath.EvalSymlinks(dir); wrong == nil {
			dir = real
		}
		return place{name: dir, dir: dir}, err
	}
	s := o.nats
	s.URL = text
	return place{name: "NATS " + s.Prefix + "." + s.Site + " at " + text, nats: s}, s.Validate()
}

// open opens the store. A source must exist.
func (p place) open(ctx context.Context, isSource bool, log *slog.Logger) (thread.Store, func() error, error) {
	if p.dir == "" {
		c := p.nats.Config(p.nats.Site, log)
		c.Existing = isSource
		s, err := jetstream.Open(ctx, c)
		if err != nil {
			return nil, nil, err
		}
		return s, s.Close, nil
	}
	if _, err := os.Stat(filepath.Join(p.dir, "log")); isSource && errors.Is(err, fs.ErrNotExist) {
		return nil, nil, output.Hint(fmt.Errorf("%s has no threads", p.dir), "name the folder of exchange: data:, which has a folder log")
	}
	c := files.DefaultConfig()
	c.Log, c.ArchiveAfter = log, 0 // the archive of the exchange goes on later
	s, err := c.Open(p.dir)
	if errors.Is(err, files.ErrInUse) {
		return nil, nil, output.Hint(fmt.Errorf("%s: %w", p.dir, err), "stop the exchange of this folder, and run the command again")
	}
	if err != nil {
		return nil, nil, err
	}
	with, err := openFolder(s, p.dir)
	if err != nil {
		return nil, nil, errors.Join(err, s.Close())
	}
	if isSource {
		return with, s.Close, nil
	}
	ctx, cancel := context.WithCancel(ctx)
	var work sync.WaitGroup
	var failed error
	work.Go(func() { failed = s.Run(ctx, noExchange{}) })
	return with, func() error {
		cancel()
		work.Wait()
		if errors.Is(failed, context.Canceled) {
			failed = nil
		}
		return errors.Join(failed, with.Close())
	}, nil
}

// noExchange takes no messages of other programs: the exchange reads them when it starts.
type noExchange struct{}

// PostExternal implements files.Listener.
func (noExchange) PostExternal(context.Context, string, mess.Message) error {
	return errors.New("no exchange runs here")
}

// runCopy copies, and prints the result.
func runCopy(ctx context.Context, a *output.Env, from, to place, asJSON bool) (err error) {
	log := slog.New(slog.NewTextHandler(a.Err, &slog.HandlerOptions{Level: slog.LevelWarn}))
	source, closeSource, err := from.open(ctx, true, log)
	if err != nil {
		return fmt.Errorf("SOURCE: %w", err)
	}
	defer func() { err = errors.Join(err, closeSource()) }()
	target, closeTarget, err := to.open(ctx, false, log)
	if err != nil {
		return fmt.Errorf("TARGET: %w", err)
	}
	defer func() { err = errors.Join(err, closeTarget()) }()
	p := newProgress(a)
	r, err := transfer.Copy(ctx, source, target, transfer.Options{Source: from.name, Progress: p.show})
	p.end()
	if err != nil {
		return withRemedy(ctx, err)
	}
	if asJSON {
		return a.JSON(r)
	}
	return printReport(a, from, to, r)
}

// withRemedy adds what to do after an error.
func withRemedy(ctx context.Context, err error) error {
	if _, ok := errors.AsType[*transfer.RefusedError](err); ok {
		return err // it has one
	}
	if errors.Is(err, transfer.ErrChanging) {
		return output.Hint(err, "stop every exchange that uses SOURCE, and run the command again: it copies the rest")
	}
	if _, ok := errors.AsType[*transfer.DifferentError](err); ok {
		return output.Hint(err, "look whether another program writes to TARGET, and copy to an empty one")
	}
	if ctx.Err() != nil {
		return output.Hint(errors.New("stopped before the end"), "SOURCE is unchanged; run the command again, and it goes on")
	}
	return output.Hint(err, "SOURCE is unchanged; run the command again, and it goes on")
}

func printReport(a *output.Env, from, to place, r transfer.Report) error {
	p := output.Printer{Out: a.Out, All: true}
	p.Printf("source  %s\n", output.Printable(from.name))
	p.Printf("target  %s\n", output.Printable(to.name))
	p.Printf("copied  %s in this run\n", output.Count(r.Copied, "thread"))
	p.Printf("both    %s with %s and %s, and %s\n", output.Count(r.Threads, "thread"), output.Count(r.Messages, "message"), output.Count(r.Attachments, "attachment"), output.Count(r.Documents, "document"))
	if r.Missing > 0 {
		p.Printf("        %s: the source does not have them, or with other bytes\n", output.Count(r.Missing, "missing attachment"))
	}
	p.Printf("digest  source %s\n        target %s\n", r.Source, r.Target)
	if from.dir == "" {
		p.Printf("If an exchange still uses the source, stop it and run the command again.\n")
	}
	p.Printf("Start the exchange on the target, and none on the source again.\n")
	return p.Err
}

// progress shows how far a copy is: in the last line of a terminal, else a line now and then.
type progress struct {
	mu   sync.Mutex
	a    *output.Env
	live *terminal.Live // nil without a terminal
	last time.Time
}

const (
	redrawEvery = 100 * time.Millisecond
	linesEvery  = 10 * time.Second
)

func newProgress(a *output.Env) *progress {
	p := &progress{a: a, last: time.Now()}
	if a.Screen != nil {
		p.live = terminal.NewLive(a.Screen, a.Columns)
		p.last = time.Time{}
	}
	return p
}

// show shows the progress, unless the last time was a moment ago.
func (p *progress) show(now transfer.Progress) {
	p.mu.Lock()
	defer p.mu.Unlock()
	every := linesEvery
	if p.live != nil {
		every = redrawEvery
	}
	if time.Since(p.last) < every {
		return
	}
	p.last = time.Now()
	text := fmt.Sprintf("  %s  %d of %d threads", now.Step, now.Done, now.Total)
	if p.live == nil {
		fmt.Fprintf(p.a.Err, "messkit:%s\n", text)
	} else if err := p.live.Draw(text); err != nil {
		p.live = nil // nobody sees it
	}
}

// end removes the line.
func (p *progress) end() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.live != nil {
		_ = p.live.Draw() // nobody sees it
	}
}
