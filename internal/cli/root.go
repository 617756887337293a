// Package cli is the command line: the root command, and the commands that run the daemon
// or show its status.
package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/messkit/messkit/internal/cli/doctor"
	"github.com/messkit/messkit/internal/cli/executors"
	"github.com/messkit/messkit/internal/cli/journal"
	"github.com/messkit/messkit/internal/cli/keys"
	"github.com/messkit/messkit/internal/cli/mcpserver"
	"github.com/messkit/messkit/internal/cli/mesh"
	"github.com/messkit/messkit/internal/cli/output"
	"github.com/messkit/messkit/internal/cli/requests"
	"github.com/messkit/messkit/internal/cli/safety"
	"github.com/messkit/messkit/internal/cli/store"
	"github.com/messkit/messkit/internal/cli/thread"
	"github.com/messkit/messkit/internal/cli/top"
	"github.com/messkit/messkit/internal/terminal"
)

// Exit codes: success, failure, and a wrong command line.
const (
	ExitDone   = 0
	ExitFailed = 1
	exitUsage  = 2
)

// Main runs a command line until it ends or a signal arrives, and returns the exit code.
func Main(args []string, in io.Reader, out, errs io.Writer) int {
	withoutCore()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	a := output.NewEnv(in, out, errs)
	root := NewRoot(a)
	if len(args) == 1 && args[0] == "--version" {
		args = []string{"version"} // the usual flag of other programs
	}
	root.SetArgs(args)
	root.SetIn(in)
	root.SetOut(a.Out)
	root.SetErr(a.Err)
	c, err := noSuch(root, args)
	if err == nil {
		c, err = root.ExecuteContextC(ctx)
	}
	switch {
	case err == nil:
		return ExitDone
	case errors.Is(err, output.ErrQuiet):
		return ExitFailed
	}
	fmt.Fprintf(a.Err, "messkit: error: %s\n", terminal.CleanLines(err.Error()))
	if h, ok := errors.AsType[*output.HintError](err); ok {
		fmt.Fprintf(a.Err, "messkit: hint: %s\n", terminal.Clean(h.Hint))
	}
	if wrong, ok := errors.AsType[*output.UsageError](err); ok || !a.Began {
		if ok {
			c = wrong.Command
		}
		fmt.Fprintf(a.Err, "messkit: hint: usage: %s; %s --help shows an example\n", c.UseLine(), c.CommandPath())
		return exitUsage
	}
	return ExitFailed
}

// NewRoot returns the command messkit, with all commands below it.
func NewRoot(a *output.Env) *cobra.Command {
	root := &cobra.Command{
		Use:   "messkit COMMAND",
		Short: "Safe hands in the physical world for AI agents",
		Long: `messkit makes this machine an executor of requests in plain words (MESS 1.0 and
1.1): it claims them, acts at most once, and reports the true result, with images.
It contains an exchange, so one machine is a whole system.`,
		Example: `  messkit run                                   a whole system on this machine
  messkit ask "what's in the fridge?" --wait    ask it something`,
		SilenceErrors: true,
		SilenceUsage:  true,
	}
	root.AddCommand(
		runCommand(a), exchangeCommand(a),
		requests.AskCommand(a), requests.DoCommand(a), requests.ReplyCommand(a), requests.CancelCommand(a), requests.ListCommand(a), requests.ShowCommand(a), requests.WatchCommand(a), top.Command(a),
		thread.Command(a), thread.ArchiveCommand(a), journal.Command(a), store.Command(a), statusCommand(a),
		safety.LockCommand(a), safety.UnlockCommand(a), unreserveCommand(a), safety.ArmCommand(a), safety.DisarmCommand(a),
		safety.StopCommand(a), safety.ClearCommand(a), executors.HoldCommand(a), executors.ResumeCommand(a), executors.ForgetCommand(a), mcpserver.MCPCommand(a), mesh.Command(a),
		consoleCommand(a), inviteCommand(a),
		keys.Command(a), executors.WebhooksCommand(a), executors.RefusedCommand(a), requests.PlanCommand(a), doctor.DevicesCommand(a), discoverCommand(a), doctor.InitCommand(a), executors.CapabilitiesCommand(a), executors.HistoryCommand(a),
		doctor.CheckCommand(a), doctor.Command(a), simulateFleetCommand(a), versionCommand(a), guardCommand(a), pictureCommand(a), completionCommand(a),
	)
	addCompletions(root)
	plainArgs(root)
	noteRuns(a, root)
	return root
}

// toEnd is the time that a command has to end after a signal.
const toEnd = 10 * time.Second

// forceExit ends the program if it does not end gracefully: a write to a terminal without a reader
// blocks forever. A second signal ends the program immediately.
func forceExit() {
	signal.Reset(os.Interrupt, syscall.SIGTERM)
	time.Sleep(toEnd)
	os.Exit(ExitFailed)
}

// noteRuns makes every command record its begin: an error before it is an error of the
// command line.
func noteRuns(a *output.Env, parent *cobra.Command) {
	for _, c := range parent.Commands() {
		noteRuns(a, c)
		run := c.RunE
		if run == nil {
			continue
		}
		c.RunE = func(c *cobra.Command, args []string) error {
			a.Began = true
			slow := c.Name() == "doctor" || c.Name() == "simulate-fleet" // they need more time to end
			if c.Flags().Lookup("url") != nil && !slow {                 // a client has no devices to make safe
				defer context.AfterFunc(c.Context(), forceExit)()
			}
			return run(c, args)
		}
	}
}
