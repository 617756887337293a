package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/messkit/messkit/exchange/remote"
	"github.com/messkit/messkit/internal/cli/output"
	"github.com/messkit/messkit/mess"
)

// defaultURL is where the exchange of this machine is.
const defaultURL = "http://127.0.0.1:8420"

// operatorFile is the file with the key of who may do everything.
const operatorFile = "operator.key"

// client is how a command reaches an exchange.
type client struct {
	url      string
	exchange string
	keyFile  string
	pin      string
}

func (k *client) flags(c *cobra.Command) {
	f := c.Flags()
	f.StringVar(&k.url, "url", env("MESSKIT_URL", defaultURL), "the exchange (or set MESSKIT_URL)")
	f.StringVar(&k.exchange, "exchange", env("MESSKIT_EXCHANGE", ""), "its id, if the address serves several (or set MESSKIT_EXCHANGE)")
	f.StringVar(&k.keyFile, "key-file", env("MESSKIT_KEY_FILE", filepath.Join(dataDir(), operatorFile)), "file with the key (or set MESSKIT_KEY_FILE)")
	f.StringVar(&k.pin, "pin", env("MESSKIT_PIN", ""), "fingerprint of the exchange's own certificate (or set MESSKIT_PIN)")
}

func env(name, otherwise string) string {
	if v := os.Getenv(name); v != "" {
		return v
	}
	return otherwise
}

// dataDir is where messkit keeps its data unless configured: ~/.mess.
func dataDir() string {
	home, err := os.UserHomeDir()
	if err != nil {
		home = "."
	}
	return filepath.Join(home, ".mess")
}

// open makes the client. It does not reach out.
func (k *client) open() (*remote.Client, error) {
	key, err := readKey(k.keyFile)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, output.Hint(fmt.Errorf("%s: there is no key", k.keyFile),
			"messkit run makes one when it starts an exchange here; for an exchange elsewhere give --url and --key-file")
	}
	if err != nil {
		return nil, err
	}
	return remote.New(k.config(key), output.NoLog)
}

// config is where the exchange is. Beside its own key file lies its certificate,
// if it has made one.
func (k *client) config(key remote.Secret) remote.Config {
	pin := k.pin
	if pin == "" && strings.HasPrefix(k.url, "https://") {
		pin = ownPin(k.keyFile)
	}
	return remote.Config{URL: k.url, Exchange: k.exchange, Key: key, Pin: pin}
}

func readKey(name string) (remote.Secret, error) {
	data, err := os.ReadFile(name)
	if err != nil {
		return "", err
	}
	key := strings.TrimSpace(string(data))
	if key == "" {
		return "", fmt.Errorf("%s: is empty; put the key there", name)
	}
	return remote.Secret(key), nil
}

// unreachable adds what helps where an exchange cannot be reached.
func (k *client) unreachable(err error) error {
	switch {
	case errors.Is(err, remote.ErrUntrusted):
		return err // it runs, and what is wrong has been said
	case errors.Is(err, mess.Unavailable):
		return output.Hint(err, "is it running? messkit run starts one on this machine, messkit doctor looks what is wrong")
	case errors.Is(err, mess.Unauthentic):
		return output.Hint(err, "%s holds another exchange's key; give --key-file", k.keyFile)
	}
	return err
}
