package thread

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path"
	"strings"

	"github.com/spf13/cobra"

	"github.com/messkit/messkit/exchange/keys"
	"github.com/messkit/messkit/internal/cli/output"
	"github.com/messkit/messkit/internal/config"
	"github.com/messkit/messkit/internal/daemon"
	"github.com/messkit/messkit/mess/messeaf"
	"github.com/messkit/messkit/mess/receipt"
)

func threadVerifyCommand(a *output.Env) *cobra.Command {
	var data, key string
	c := &cobra.Command{
		Use:   "verify PATH|REF...",
		Short: "Verify the signed receipts of threads, without an exchange",
		Long: `Verify the signed receipts of threads, without an exchange: the signature and the
owner of its key, that texts and files are the signed ones, and that the executed plan
is the confirmed one. Each finding is one line. The exit code is 1 if there is an error.

A key counts as genuine if --key gives it, or if the exchange of the data folder has
pinned it to the executor (` + keys.PinsFile + `).`,
		Example: "  messkit thread verify 2026-11-21-003\n  messkit thread verify fridge.zip --key xc3tBbVKfzdPiwGkF3CFsw/Pgkb0G52LEjmIQyphbFA=",
		Args:    cobra.MinimumNArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			if _, err := receipt.PublicKey(key); key != "" && err != nil {
				return output.Usagef(c, "--key: %v; messkit thread key shows an executor's key", err)
			}
			pins, err := keys.Pins(data)
			if err != nil {
				return err
			}
			known := func(executor string) (public, by string) {
				if key != "" {
					return key, "--key"
				}
				return pins[executor], keys.PinsFile
			}
			return verifyAll(c.Context(), a, data, args, known)
		},
	}
	dataFlag(c, &data)
	c.Flags().StringVar(&key, "key", "", "the executor's public key, in base64")
	return c
}

// verifyAll verifies every thread that args name, and returns an error for any problem.
func verifyAll(ctx context.Context, a *output.Env, data string, args []string, known func(string) (string, string)) error {
	count, bad := 0, 0
	for _, arg := range args {
		all, err := namedThreads(ctx, a, data, arg)
		if err != nil {
			return err
		}
		for _, t := range all {
			count++
			wrong, err := VerifyThread(a, t, known)
			if err != nil {
				return err
			}
			if wrong {
				bad++
			}
		}
	}
	if _, err := fmt.Fprintf(a.Out, "%d threads, %d with something wrong\n", count, bad); err != nil {
		return err
	}
	if bad > 0 {
		return output.ErrQuiet
	}
	return nil
}

// namedThreads returns the one thread of a ref, or all of a path.
func namedThreads(ctx context.Context, a *output.Env, data, arg string) ([]OnDisk, error) {
	if _, err := os.Stat(arg); err == nil {
		all, err := ThreadsIn(arg)
		if err == nil && len(all) == 0 {
			err = fmt.Errorf("%s: there is no thread in it", arg)
		}
		return all, err
	}
	t, err := whenWritten(ctx, a, data, arg, func() (OnDisk, error) { return findThread(data, arg) })
	return []OnDisk{t}, err
}

// VerifyThread prints the result for one thread, and reports whether it has a problem.
func VerifyThread(a *output.Env, t OnDisk, known func(string) (string, string)) (wrong bool, err error) {
	var found []receipt.Finding
	thread, err := t.Read(t.Fsys)
	if err != nil {
		found = []receipt.Finding{{Wrong: true, Text: strings.ReplaceAll(err.Error(), "\n", "; ")}}
	} else {
		found = receipt.Thread(thread, known, func(name string) ([]byte, error) {
			if !messeaf.ValidAttachment(name) {
				return nil, fmt.Errorf("%.60q cannot name a file of a thread", name)
			}
			return fs.ReadFile(t.Fsys, path.Join(t.Dir(), name))
		})
	}
	for _, f := range found {
		name, word := t.Ref, "ok"
		if f.Message != "" {
			name = f.Message
		}
		if f.Wrong {
			word, wrong = "wrong", true
		}
		if _, err := fmt.Fprintf(a.Out, "%s: %s: %s\n", output.Printable(name), word, output.Printable(f.Text)); err != nil {
			return wrong, err
		}
	}
	return wrong, nil
}

func threadKeyCommand(a *output.Env) *cobra.Command {
	var data string
	c := &cobra.Command{
		Use:   "key",
		Short: "Show the public key that the executor here signs receipts with",
		Long: `Show the public key that the executor of the data folder signs receipts with. It is no
secret: with it others can verify threads. The private key stays in
` + daemon.SignerFile + `.`,
		Example: "  messkit thread key",
		Args:    cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			s, err := daemon.ReadSigner(data)
			if os.IsNotExist(err) {
				return output.Hint(fmt.Errorf("%s: there is no key", data), "messkit run makes one; --data names another folder")
			}
			if err != nil {
				return err
			}
			_, err = fmt.Fprintln(a.Out, s.Public())
			return err
		},
	}
	c.Flags().StringVar(&data, "data", config.DataDir(), "folder of the executor's data")
	return c
}
