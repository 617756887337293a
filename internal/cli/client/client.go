// Package client has the parts that commands share to talk to an exchange: the client and its
// flags, following a thread, and the dashboard.
package client

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/messkit/messkit/exchange/remote/httpclient"
	"github.com/messkit/messkit/internal/cli/output"
	"github.com/messkit/messkit/internal/config"
	"github.com/messkit/messkit/mess"
)

// Client has the flags by which a command reaches an exchange.
type Client struct {
	URL      string
	Exchange string
	KeyFile  string
	Pin      string
}

// Flags adds the flags of the client to a command.
func (k *Client) Flags(c *cobra.Command) {
	f := c.Flags()
	f.StringVar(&k.URL, "url", config.EnvOr("MESSKIT_URL", config.DefaultURL), "the exchange; several nodes with commas between (or set MESSKIT_URL)")
	f.StringVar(&k.Exchange, "exchange", config.EnvOr("MESSKIT_EXCHANGE", ""), "its id, if the address serves several (or set MESSKIT_EXCHANGE)")
	f.StringVar(&k.KeyFile, "key-file", config.EnvOr("MESSKIT_KEY_FILE", filepath.Join(config.DataDir(), config.OperatorFile)), "file with the key (or set MESSKIT_KEY_FILE)")
	f.StringVar(&k.Pin, "pin", config.EnvOr("MESSKIT_PIN", ""), "fingerprint of the exchange's own certificate (or set MESSKIT_PIN)")
}

// Open makes the client. It does not connect.
func (k *Client) Open() (*httpclient.Client, error) {
	key, err := config.ReadKey(k.KeyFile)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, output.Hint(fmt.Errorf("%s: there is no key", k.KeyFile),
			"messkit run makes one when it starts an exchange here; for an exchange elsewhere give --url and --key-file")
	}
	if err != nil {
		return nil, err
	}
	return httpclient.New(k.Config(key), output.NoLog)
}

// Config returns the settings of the client. An exchange on this machine keeps its self-made
// certificate next to its key file.
func (k *Client) Config(key httpclient.Secret) httpclient.Config {
	pin := k.Pin
	if pin == "" && strings.HasPrefix(k.URL, "https://") {
		pin = config.OwnPin(k.KeyFile)
	}
	return httpclient.Config{URL: k.URL, Exchange: k.Exchange, Key: key, Pin: pin}
}

// Unreachable adds a remedy to the error of a connection.
func (k *Client) Unreachable(err error) error {
	switch {
	case errors.Is(err, httpclient.ErrUntrusted), errors.Is(err, httpclient.ErrUnable):
		return err // the exchange runs, and its answer contains the reason
	case errors.Is(err, mess.Unavailable):
		return output.Hint(err, "is it running? messkit run starts one on this machine, messkit doctor looks what is wrong")
	case errors.Is(err, mess.Unauthorized):
		return output.Hint(&wrongKeyError{k.URL, k.KeyFile, err}, "give a key of this exchange with --key-file; its data folder has operator.key")
	}
	return err
}

// wrongKeyError is an answer to a key that the exchange does not know. Only an executor can enroll again,
// as the answer says.
type wrongKeyError struct {
	url, file string
	cause     error
}

// Error names the exchange and the file.
func (e *wrongKeyError) Error() string {
	of := ""
	if key, err := config.ReadKey(e.file); err == nil {
		if id := keyOwner(string(key)); id != "" {
			of = fmt.Sprintf(", which is one of an exchange %s", id)
		}
	}
	return fmt.Sprintf("%s does not know the key in %s%s: it is of another exchange, or it has ended", e.url, e.file, of)
}

// Unwrap returns the answer.
func (e *wrongKeyError) Unwrap() error { return e.cause }

// keyOwner returns the id of the exchange that has made a key, or "".
func keyOwner(key string) string {
	rest, ok := strings.CutPrefix(key, "mess_")
	end := strings.LastIndexByte(rest, '_')
	if !ok || end < 1 || !mess.ValidID(rest[:end]) {
		return ""
	}
	return rest[:end]
}

// Call opens the exchange, as Open does, and calls do with it. It adds a remedy to an error of do
// that comes from the connection.
func (k *Client) Call(do func(*httpclient.Client) error) error {
	x, err := k.Open()
	if err != nil {
		return err
	}
	if err := do(x); err != nil {
		return k.Unreachable(err)
	}
	return nil
}

// ModelID is the actor of `messkit mcp`, unless a flag gives another key.
const ModelID = "mcp"
