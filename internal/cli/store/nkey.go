package store

import (
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/nats-io/nkeys"
	"github.com/spf13/cobra"

	"github.com/messkit/messkit/internal/cli/output"
)

func nkeyCommand(a *output.Env) *cobra.Command {
	return &cobra.Command{
		Use:   "nkey FILE",
		Short: "Make a user for NATS servers",
		Long: `Make a user for NATS servers. The command writes the seed of the user into the new file
FILE, which nobody else can read, and prints the public key. Write the public key into
the configuration of the servers, like users: [{nkey: UDU5...}], and name FILE in
exchange: store: nkey_file: of each exchange.`,
		Example: "  messkit store nkey exchange.nk",
		Args:    cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			public, err := newUser(args[0])
			if err != nil {
				return err
			}
			_, err = fmt.Fprintln(a.Out, public)
			return err
		},
	}
}

// newUser makes a user, writes its seed into a new file, and returns its public key.
func newUser(name string) (public string, err error) {
	user, err := nkeys.CreateUser()
	if err != nil {
		return "", err
	}
	defer user.Wipe()
	seed, err := user.Seed()
	if err != nil {
		return "", err
	}
	if public, err = user.PublicKey(); err != nil {
		return "", err
	}
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return "", output.Hint(err, "nothing has changed; choose another name, or remove the file if no server knows its user")
	}
	if err != nil {
		return "", err
	}
	_, err = f.Write(append(seed, '\n'))
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		return "", errors.Join(err, os.Remove(name))
	}
	return public, nil
}
