// Package mcpserver has the command `messkit mcp`: an MCP server on standard input and output.
package mcpserver

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"net/url"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/messkit/messkit/agent/journal"
	"github.com/messkit/messkit/exchange"
	"github.com/messkit/messkit/exchange/channel/mcp"
	"github.com/messkit/messkit/exchange/remote/httpclient"
	"github.com/messkit/messkit/internal/cli/client"
	"github.com/messkit/messkit/internal/cli/output"
	"github.com/messkit/messkit/internal/config"
	"github.com/messkit/messkit/internal/daemon"
	"github.com/messkit/messkit/internal/durable"
	"github.com/messkit/messkit/mess"
)

// MCPCommand returns the command messkit mcp.
func MCPCommand(a *output.Env) *cobra.Command {
	var k client.Client
	var r daemon.RunFlags
	c := &cobra.Command{
		Use:   "mcp",
		Short: "Serve tools for an AI model over standard input and output (MCP)",
		Long: `An MCP client starts mcp. It offers a model tools that send requests to a running
exchange, and shows it the answers with their images. It ends after the end of its
standard input, when all requests have an answer. Its log goes to standard error.

The model has its own key with the role requester in mcp.key, next to the operator's
key, with which the first start makes it. So the model cannot confirm a plan that
needs a person. --key-file names another key.`,
		Example: `  messkit mcp
  {"mcpServers": {"messkit": {"command": "messkit", "args": ["mcp"]}}}   in the client's configuration`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			return k.Unreachable(runMCP(c.Context(), a, &k, &r))
		},
	}
	k.Flags(c)
	key := c.Flags().Lookup("key-file")
	key.DefValue = config.EnvOr("MESSKIT_KEY_FILE", filepath.Join(config.DataDir(), client.ModelID+".key"))
	k.KeyFile = key.DefValue
	c.Flags().BoolVarP(&r.Verbose, "verbose", "v", false, "log what only developers want to know")
	return c
}

// runMCP serves until standard input ends. If the exchange does not answer yet, runMCP reports
// that to the user and the model, and continues: the exchange may start later.
func runMCP(ctx context.Context, a *output.Env, k *client.Client, r *daemon.RunFlags) error {
	log := r.Logger(a.Err)
	x, own, err := openModel(k, log)
	if err != nil {
		return err
	}
	d := &remoteExchange{x, k, own}
	if missing := own.missing(); missing != nil {
		fmt.Fprintf(a.Err, "messkit: %v\n", missing)
	}
	if h, err := x.Health(ctx); err != nil {
		fmt.Fprintf(a.Err, "messkit: %v\n", withRemedy(k.Unreachable(err)))
	} else {
		log.Info("ready", "exchange", h.Exchange, "version", h.Version)
	}
	in, ok := a.In.(io.ReadCloser)
	if !ok {
		in = io.NopCloser(a.In)
	}
	return mcp.New(d, output.Version, log).Serve(ctx, in, nopCloser{a.Raw})
}

type nopCloser struct{ io.Writer }

func (nopCloser) Close() error { return nil }

// openModel makes the client of a model. The first request makes its key at the exchange,
// which need not run before.
func openModel(k *client.Client, log *slog.Logger) (*httpclient.Client, *ownKey, error) {
	key, err := config.ReadKey(k.KeyFile)
	own := &ownKey{file: k.KeyFile, by: *k}
	own.by.KeyFile = filepath.Join(filepath.Dir(k.KeyFile), "operator.key")
	if err != nil && (!errors.Is(err, fs.ErrNotExist) || !own.makes()) {
		x, err := k.Open() // its error has the remedy
		return x, own, err
	}
	cfg := k.Config(key)
	cfg.Reread, cfg.Model = own.read, true
	x, err := httpclient.New(cfg, log)
	return x, own, err
}

// makes reports whether this program makes the key if it is missing.
func (o *ownKey) makes() bool { return filepath.Base(o.file) == client.ModelID+".key" }

// missing returns an error with a remedy if there is neither the model's key nor the
// operator's key that makes it.
func (o *ownKey) missing() error {
	if _, err := os.Stat(o.file); !errors.Is(err, fs.ErrNotExist) || !o.makes() {
		return nil
	}
	if _, err := os.Stat(o.by.KeyFile); !errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return fmt.Errorf("there is no key at %s yet; start an exchange on this machine with messkit run, which makes one, or give --url and --key-file for an exchange elsewhere", filepath.Dir(o.file))
}

// refused returns an error with a remedy for a key that the exchange does not know.
func (o *ownKey) refused() error {
	if missing := o.missing(); missing != nil || !o.makes() {
		return missing
	}
	if _, err := os.Stat(o.file); err != nil { // making it failed
		return fmt.Errorf("the model has no key, and %s does not make one: it is of another exchange; give --url, or --key-file", o.by.KeyFile)
	}
	return fmt.Errorf("the exchange does not know the model's key, %s: it may be revoked, or belong to another exchange; a person issues a new one: messkit keys issue %s requester --save %s", o.file, client.ModelID, o.file)
}

// ownKey is the model's key, which the operator's key makes.
type ownKey struct {
	file string
	by   client.Client
	mu   sync.Mutex // the holder makes the key
}

// keyTime is the longest time for making a key, and lookEvery the interval at which to check
// whether another process has made it.
const (
	keyTime   = 30 * time.Second
	lookEvery = 50 * time.Millisecond
)

// read reads the key, or makes it.
func (o *ownKey) read() (httpclient.Secret, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	ctx, cancel := context.WithTimeout(context.Background(), keyTime)
	defer cancel()
	look := time.NewTicker(lookEvery)
	defer look.Stop()
	for {
		key, err := config.ReadKey(o.file)
		if !errors.Is(err, fs.ErrNotExist) || !o.makes() {
			return key, err
		}
		if key, err = o.make(ctx); !errors.Is(err, journal.ErrInUse) {
			return key, err
		}
		select {
		case <-look.C:
		case <-ctx.Done():
			return "", err
		}
	}
}

// make makes the key. It returns journal.ErrInUse while another process makes it.
func (o *ownKey) make(ctx context.Context) (httpclient.Secret, error) {
	lock, err := journal.Lock(o.file + ".lock")
	if err != nil {
		return "", err
	}
	defer lock.Close()
	if key, err := config.ReadKey(o.file); err == nil {
		return key, nil
	}
	x, err := o.by.Open()
	if err != nil {
		return "", err
	}
	key, err := x.IssueKey(ctx, client.ModelID, []string{"requester"})
	if errors.Is(err, mess.Conflict) { // the key exists, without its file
		key, err = x.RotateKey(ctx, client.ModelID, 0)
	}
	if err != nil {
		return "", err
	}
	return key, durable.Replace(o.file, []byte(string(key)+"\n"))
}

// remoteExchange is an exchange in another process, for the MCP channel.
type remoteExchange struct {
	*httpclient.Client
	k   *client.Client
	own *ownKey
}

// withRemedy joins an error and its remedy into one text.
func withRemedy(err error) error {
	h, ok := errors.AsType[*output.HintError](err)
	if !ok {
		return err
	}
	text := fmt.Sprintf("%v; %s", h.Unwrap(), h.Hint)
	if r, ok := errors.AsType[*mess.Error](h.Unwrap()); ok {
		c := *r
		c.Text = text
		return &c
	}
	return errors.New(text)
}

func (d *remoteExchange) localError(err error) error {
	switch refused := d.own.refused(); {
	case err == nil:
		return nil
	case errors.Is(err, mess.Unauthorized) && refused != nil:
		return mess.Errorf(mess.Unauthorized, "%v", refused)
	}
	return withRemedy(d.k.Unreachable(err))
}

// Send posts a message.
func (d *remoteExchange) Send(ctx context.Context, m mess.Message) (mess.Message, error) {
	answer, err := d.Client.Send(ctx, m)
	return answer, d.localError(err)
}

// Page returns the address of a thread in the console.
func (d *remoteExchange) Page(ref string) string {
	return httpclient.First(d.k.URL) + "/#task/" + url.PathEscape(ref)
}

// ConfirmBy asks the exchange how a person confirms a plan with risk. It returns "" for an
// absent exchange or another make.
func (d *remoteExchange) ConfirmBy(ctx context.Context) exchange.ConfirmBy {
	by, err := d.Client.ConfirmBy(ctx)
	if err != nil {
		return ""
	}
	return exchange.ConfirmBy(by)
}

// Thread reads a thread.
func (d *remoteExchange) Thread(ctx context.Context, ref string) (mcp.Thread, error) {
	t, err := d.Client.Thread(ctx, ref)
	return mcp.Thread(t), d.localError(err)
}

// List reads the threads that changed last.
func (d *remoteExchange) List(ctx context.Context, n int) ([]mcp.Thread, error) {
	all, err := d.Client.List(ctx, httpclient.Filter{Limit: n})
	list := make([]mcp.Thread, len(all))
	for i, t := range all {
		list[i] = mcp.Thread(t)
	}
	return list, d.localError(err)
}

// Follow calls handle for each event.
func (d *remoteExchange) Follow(ctx context.Context, handle func(mcp.Event)) error {
	return d.Client.Follow(ctx, "", func(e httpclient.Event) error {
		handle(mcp.Event{Thread: mcp.Thread(e.Thread), Reset: e.Thread.Ref == ""})
		return nil
	})
}

// Attachment opens a file of a thread.
func (d *remoteExchange) Attachment(ctx context.Context, ref, name string) (io.ReadCloser, string, error) {
	data, mime, err := d.Client.Attachment(ctx, ref, name)
	return data, mime, d.localError(err)
}
