package keys

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/messkit/messkit/exchange/channel/mqtt"
	"github.com/messkit/messkit/exchange/keys"
	"github.com/messkit/messkit/internal/cli/output"
	"github.com/messkit/messkit/internal/config"
)

// ACLCommand returns the command messkit exchange acl.
func ACLCommand(a *output.Env) *cobra.Command {
	var data, id, user string
	var home bool
	c := &cobra.Command{
		Use:   "acl",
		Short: "Print the access rules for a mosquitto broker",
		Long: `Acl prints the permissions of all actors on topics, as a file for mosquitto
(acl_file). A user of the broker is the actor of that name. The observers and
operators are the actors with such a key of the exchange; run the command again when
the keys change. It reads the exchange's data folder.`,
		Example: "  messkit exchange acl > /etc/mosquitto/messkit.acl",
		Args:    cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			var holders []keys.Principal
			if _, err := os.Stat(filepath.Join(data, "keys.json")); err == nil { // this command makes no keys
				k, err := keys.Open(data, id)
				if err != nil {
					return err
				}
				holders = k.List()
			}
			text, err := mqtt.ACL(id, user, holders, home)
			if err != nil {
				return err
			}
			_, err = fmt.Fprint(a.Out, text)
			return err
		},
	}
	f := c.Flags()
	f.StringVar(&data, "data", config.DataDir(), "the exchange's data folder")
	f.StringVar(&id, "id", "home", "the exchange's id")
	f.BoolVar(&home, "homeassistant", false, "Home Assistant finds the executors at the broker, as user homeassistant")
	f.StringVar(&user, "user", "messkit-home", "the exchange's own user at the broker")
	return c
}
