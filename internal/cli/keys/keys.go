// Package keys has the commands that manage API keys and roles.
package keys

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/messkit/messkit/exchange/keys"
	"github.com/messkit/messkit/exchange/remote/httpclient"
	"github.com/messkit/messkit/internal/cli/client"
	"github.com/messkit/messkit/internal/cli/output"
	"github.com/messkit/messkit/internal/config"
	"github.com/messkit/messkit/internal/durable"
	"github.com/messkit/messkit/mess"
)

// warnStillListed warns that an actor with a revoked key is still registered.
func warnStillListed(ctx context.Context, a *output.Env, x *httpclient.Client, actor string) error {
	list, err := x.Executors(ctx)
	if errors.Is(err, mess.Forbidden) || !slices.ContainsFunc(list, func(e httpclient.Executor) bool { return e.ID == actor }) {
		return nil
	}
	p := output.Printer{Out: a.Out}
	p.Printf("%[1]s is still a registered executor; if it does not come back: messkit forget %[1]s\n", output.Printable(actor))
	return p.Err
}

// Command returns the command messkit keys.
func Command(a *output.Env) *cobra.Command {
	c := &cobra.Command{
		Use:   "keys COMMAND",
		Short: "Manage API keys and roles",
		Long: `Keys shows and changes the keys of a running exchange and their roles. It needs the
operator's key. The exchange shows a new key once, and stores only its hash.

The roles: requester (creates, answers and cancels its own requests), executor (claims
and reports), observer (reads every thread), operator (has all permissions of a person
who runs the system).`,
		Example: "  messkit keys enrol garage-pi\n  messkit keys revoke old-phone",
		Args:    cobra.NoArgs,
	}
	c.AddCommand(keysListCommand(a), keysIssueCommand(a), keysRotateCommand(a), keysRevokeCommand(a), keysRolesCommand(a), keysEnrollCommand(a), keysFingerprintCommand(a))
	return c
}

func keysListCommand(a *output.Env) *cobra.Command {
	return client.Query(a, &cobra.Command{
		Use:     "list",
		Short:   "List the actors with a key",
		Example: "  messkit keys list",
	}, func(ctx context.Context, x *httpclient.Client) ([]httpclient.Holder, error) { return x.Keys(ctx) }, printHolders)
}

func printHolders(a *output.Env, list []httpclient.Holder) error {
	return a.PrintColumns(func(p *output.Printer) {
		for _, h := range list {
			p.Printf("%s\t%s\tsince %s", output.Printable(h.Actor), output.Printable(strings.Join(h.Roles, ", ")), h.Created.Local().Format(time.DateTime))
			if h.OldUntil != nil {
				p.Printf("\tthe old key until %s", h.OldUntil.Local().Format(time.DateTime))
			}
			p.Printf("\n")
		}
	})
}

// newKey is the destination of a new key.
type newKey struct{ save string }

func (n *newKey) flags(c *cobra.Command) {
	c.Flags().StringVar(&n.save, "save", "", "write the key into this file, for its owner alone, and do not print it")
}

// saveKey writes or prints a new key, unless err says why there is none. If it cannot write the
// file, it prints the key, which exists nowhere else.
func saveKey(a *output.Env, n newKey, actor string, key httpclient.Secret, err error) error {
	if err != nil {
		return err
	}
	var unsaved error
	if n.save != "" {
		if unsaved = durable.Replace(n.save, []byte(string(key)+"\n")); unsaved == nil {
			return a.Done("key of "+actor+" saved", n.save, nil)
		}
	}
	fmt.Fprintf(a.Err, "the key of %s, shown once:\n", actor)
	_, err = fmt.Fprintln(a.Out, string(key))
	return errors.Join(unsaved, err)
}

// rolesCommand completes a command for an actor and its roles. Before the role operator it asks
// a person.
func rolesCommand(a *output.Env, c *cobra.Command, do func(ctx context.Context, x *httpclient.Client, actor string, roles []string) error) *cobra.Command {
	var k client.Client
	c.Args = cobra.MinimumNArgs(2)
	c.RunE = func(c *cobra.Command, args []string) error {
		actor, roles := args[0], args[1:]
		if _, err := keys.Roles(roles); err != nil {
			return output.Usagef(c, "%v", err)
		}
		return k.Call(func(x *httpclient.Client) error {
			ctx, err := confirmOperatorRole(c.Context(), a, actor, roles)
			if err != nil {
				return err
			}
			return do(ctx, x, actor, roles)
		})
	}
	k.Flags(c)
	return c
}

func keysIssueCommand(a *output.Env) *cobra.Command {
	var n newKey
	c := rolesCommand(a, &cobra.Command{
		Use:   "issue ACTOR ROLE...",
		Short: "Make a key for an actor without one",
		Long: `Issue makes a key. A key with the role operator needs a terminal of the exchange's own
machine, where a person confirms it.`,
		Example: "  messkit keys issue dashboard observer --save dashboard.key",
	}, func(ctx context.Context, x *httpclient.Client, actor string, roles []string) error {
		key, err := x.IssueKey(ctx, actor, roles)
		return saveKey(a, n, actor, key, err)
	})
	n.flags(c)
	return c
}

func keysRotateCommand(a *output.Env) *cobra.Command {
	var n newKey
	var overlap time.Duration
	c := client.Command(&cobra.Command{
		Use:   "rotate ACTOR",
		Short: "Make a new key for an actor; the old one stays valid for a while",
		Long: `Rotate makes a new key. The old one stays valid for the overlap, so you can install
the new one in the meantime. --overlap 0s ends the old one at once, with its
connections. Revoke a stolen key instead, and enroll its owner again.

The operator's own new key is also in operator.key of the exchange's data folder.`,
		Example: "  messkit keys rotate kitchen-pi --overlap 1h --save kitchen.key",
		Args:    cobra.ExactArgs(1),
	}, func(ctx context.Context, x *httpclient.Client, args []string) error {
		ctx, err := confirmHolderRole(ctx, a, x, args[0])
		if err != nil {
			return err
		}
		key, err := x.RotateKey(ctx, args[0], overlap)
		return saveKey(a, n, args[0], key, err)
	})
	n.flags(c)
	c.Flags().DurationVar(&overlap, "overlap", time.Hour, "how long the old key stays valid; a week at most")
	return c
}

func keysRevokeCommand(a *output.Env) *cobra.Command {
	return client.Command(&cobra.Command{
		Use:     "revoke ACTOR",
		Short:   "Revoke an actor's keys, and end its connections",
		Example: "  messkit keys revoke old-phone",
		Args:    cobra.ExactArgs(1),
	}, func(ctx context.Context, x *httpclient.Client, args []string) error {
		if err := printRevoked(a, args[0], x.RevokeKey(ctx, args[0])); err != nil {
			return err
		}
		return warnStillListed(ctx, a, x, args[0])
	})
}

func keysRolesCommand(a *output.Env) *cobra.Command {
	return rolesCommand(a, &cobra.Command{
		Use:     "roles ACTOR ROLE...",
		Short:   "Give an actor other roles; the key stays",
		Example: "  messkit keys roles kitchen-pi executor",
	}, func(ctx context.Context, x *httpclient.Client, actor string, roles []string) error {
		return a.Done(actor+" is now", strings.Join(roles, ", "), x.SetRoles(ctx, actor, roles))
	})
}

func keysEnrollCommand(a *output.Env) *cobra.Command {
	var within time.Duration
	var roles, capabilities []string
	c := client.Command(&cobra.Command{
		Use:   "enrol [ACTOR]",
		Short: "Create a one-time enrollment code for another machine",
		Long: `Enrol shows a code. A client on another machine, or of another user of this one,
registers with it and gets its own key. The code works once, and expires after a time
or when the exchange ends.

With ACTOR the code is valid for that name only, which becomes a requester and an
executor of all capabilities. --capability limits these: the exchange offers the
executor only requests that need them. Without ACTOR the code grants the role
requester: its client creates requests, and gets no offers.`,
		Example: "  messkit keys enrol garage-pi    # there: connect: enrol: CODE\n  messkit keys enrol garage-pi --capability open-door",
		Args:    cobra.MaximumNArgs(1),
	}, func(ctx context.Context, x *httpclient.Client, args []string) error {
		code, err := x.NewCode(ctx, strings.Join(args, ""), within, roles, capabilities)
		if err != nil {
			return err
		}
		fmt.Fprintf(a.Err, "good once, until %s, for: %s\n", code.Until, granted(code))
		_, err = fmt.Fprintln(a.Out, string(code.Code))
		return err
	})
	f := c.Flags()
	f.DurationVar(&within, "within", 15*time.Minute, "how long it is valid; a day at most")
	f.StringSliceVar(&roles, "role", nil, "roles that the code grants: requester, executor")
	f.StringSliceVar(&capabilities, "capability", nil, "capabilities that an executor may register; default: all")
	return c
}

// granted returns the roles and capabilities of a code as text.
func granted(c httpclient.Code) string {
	text := output.Printable(strings.Join(c.Roles, ", "))
	switch {
	case c.Capabilities != nil:
		text += " with " + output.Printable(strings.Join(c.Capabilities, ", "))
	case slices.Contains(c.Roles, "executor"):
		text += " with all capabilities"
	}
	return text
}

// printRevoked prints the revoked actor, and for the model's key how to issue it again.
func printRevoked(a *output.Env, actor string, err error) error {
	if actor != client.ModelID {
		return a.Done("revoked", actor, err)
	}
	if errors.Is(err, mess.NotFound) {
		return output.Hint(err, "messkit mcp gets one when it first asks for something; until then there is nothing to revoke")
	}
	if err := a.Done("revoked", actor, err); err != nil {
		return err
	}
	_, err = fmt.Fprintf(a.Out, "messkit mcp has no access now; to give it a new key: messkit keys issue %s requester --save %s\n", client.ModelID, filepath.Join(config.DataDir(), client.ModelID+".key"))
	return err
}

func keysFingerprintCommand(a *output.Env) *cobra.Command {
	var data string
	c := &cobra.Command{
		Use:   "fingerprint",
		Short: "Show the fingerprint of the exchange's own certificate",
		Long: `Fingerprint shows the certificate that an exchange with tls: self has made, in the form
that clients pin: --pin, or connect: pin:. It reads the exchange's data folder.`,
		Example: "  messkit keys fingerprint --data ~/.mess",
		Args:    cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			cert, err := keys.OwnCertificate(data)
			if errors.Is(err, fs.ErrNotExist) {
				return output.Hint(fmt.Errorf("%s: there is no certificate", data), "an exchange with tls: self makes one when it starts")
			}
			if err != nil {
				return err
			}
			_, err = fmt.Fprintln(a.Out, httpclient.Fingerprint(cert.Leaf))
			return err
		},
	}
	c.Flags().StringVar(&data, "data", config.DataDir(), "the exchange's data folder")
	return c
}
