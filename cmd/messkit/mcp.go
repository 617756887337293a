package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"path/filepath"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/messkit/messkit/agent/journal"
	"github.com/messkit/messkit/exchange/mcp"
	"github.com/messkit/messkit/exchange/remote"
	"github.com/messkit/messkit/internal/durable"
	"github.com/messkit/messkit/mess"
)

// mcpPath is where the exchange's HTTP door has MCP.
const mcpPath = "/mcp"

// modelID is the actor for whom messkit mcp asks, unless it is given a key.
const modelID = "mcp"

func (a *app) mcpCommand() *cobra.Command {
	var k client
	var r running
	c := &cobra.Command{
		Use:   "mcp",
		Short: "Serve tools for an AI model over standard input and output (MCP)",
		Long: `Mcp is what an MCP client starts: it offers a model tools with which it asks a
running exchange for things, and shows it what was answered, with pictures. It
ends when its standard input does; its log goes to standard error.

The model has a key of its own, with the role requester, in mcp.key beside the
operator's, which makes it the first time: what needs the yes of a person is not
confirmed by the model. --key-file gives it another one.`,
		Example: `  messkit mcp
  {"mcpServers": {"messkit": {"command": "messkit", "args": ["mcp"]}}}   in the client's configuration`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			return k.unreachable(a.mcp(c.Context(), &k, &r))
		},
	}
	k.flags(c)
	key := c.Flags().Lookup("key-file")
	key.DefValue = env("MESSKIT_KEY_FILE", filepath.Join(dataDir(), modelID+".key"))
	k.keyFile = key.DefValue
	c.Flags().BoolVarP(&r.verbose, "verbose", "v", false, "log what only developers want to know")
	return c
}

// mcp serves until standard input ends. That the exchange is not there yet is
// told, here and to the model, and is no reason to end: it may come.
func (a *app) mcp(ctx context.Context, k *client, r *running) error {
	log := r.logger(a.err)
	x, err := k.openModel(log)
	if err != nil {
		return err
	}
	if h, err := x.Health(ctx); err != nil {
		fmt.Fprintf(a.err, "messkit: %v\n", worded(k.unreachable(err)))
	} else {
		log.Info("ready", "exchange", h.Exchange, "version", h.Version)
	}
	in, ok := a.in.(io.ReadCloser)
	if !ok {
		in = io.NopCloser(a.in)
	}
	return mcp.New(&distant{x, k}, version, log).Serve(ctx, in, noClose{a.out})
}

type noClose struct{ io.Writer }

func (noClose) Close() error { return nil }

// openModel makes the client of a model. Its key is made when it is first asked
// for, which needs the exchange.
func (k *client) openModel(log *slog.Logger) (*remote.Client, error) {
	key, err := readKey(k.keyFile)
	own := ownKey{file: k.keyFile, by: *k}
	own.by.keyFile = filepath.Join(filepath.Dir(k.keyFile), "operator.key")
	if errors.Is(err, fs.ErrNotExist) && filepath.Base(k.keyFile) == modelID+".key" {
		if _, err := own.by.open(); err != nil {
			return nil, err
		}
	} else if err != nil {
		return k.open() // which says what helps
	}
	cfg := k.config(key)
	cfg.Reread = own.read
	return remote.New(cfg, log)
}

// ownKey is the model's key, which the operator's makes.
type ownKey struct {
	file string
	by   client
	mu   sync.Mutex // held while it is made
}

// keyTime is how long making a key may take, and lookEvery how often to look
// whether another process has made it.
const (
	keyTime   = 30 * time.Second
	lookEvery = 50 * time.Millisecond
)

// read reads the key, or makes it.
func (o *ownKey) read() (remote.Secret, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	ctx, cancel := context.WithTimeout(context.Background(), keyTime)
	defer cancel()
	look := time.NewTicker(lookEvery)
	defer look.Stop()
	for {
		key, err := readKey(o.file)
		if !errors.Is(err, fs.ErrNotExist) || filepath.Base(o.file) != modelID+".key" {
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

// make makes the key. Its error is journal.ErrInUse while another process does.
func (o *ownKey) make(ctx context.Context) (remote.Secret, error) {
	lock, err := journal.Lock(o.file + ".lock")
	if err != nil {
		return "", err
	}
	defer lock.Close()
	if key, err := readKey(o.file); err == nil {
		return key, nil
	}
	x, err := o.by.open()
	if err != nil {
		return "", err
	}
	key, err := x.IssueKey(ctx, modelID, []string{"requester"})
	if errors.Is(err, mess.Conflict) { // its file is lost
		key, err = x.RotateKey(ctx, modelID, 0)
	}
	if err != nil {
		return "", err
	}
	return key, durable.Replace(o.file, []byte(string(key)+"\n"))
}

// distant is an exchange elsewhere, for the MCP door.
type distant struct {
	*remote.Client
	k *client
}

// worded makes of an error and what helps against it one text.
func worded(err error) error {
	h, ok := errors.AsType[*hinted](err)
	if !ok {
		return err
	}
	text := fmt.Sprintf("%v; %s", h.error, h.hint)
	if r, ok := errors.AsType[*mess.Refusal](h.error); ok {
		c := *r
		c.Text = text
		return &c
	}
	return errors.New(text)
}

func (d *distant) told(err error) error {
	if err == nil {
		return nil
	}
	return worded(d.k.unreachable(err))
}

// Send posts a message.
func (d *distant) Send(ctx context.Context, m mess.Message) (mess.Message, error) {
	answer, err := d.Client.Send(ctx, m)
	return answer, d.told(err)
}

// Thread reads a thread.
func (d *distant) Thread(ctx context.Context, ref string) (mcp.Thread, error) {
	t, err := d.Client.Thread(ctx, ref)
	return mcp.Thread(t), d.told(err)
}

// List reads the threads that changed last.
func (d *distant) List(ctx context.Context, n int) ([]mcp.Thread, error) {
	all, err := d.Client.List(ctx, remote.Filter{Limit: n})
	list := make([]mcp.Thread, len(all))
	for i, t := range all {
		list[i] = mcp.Thread(t)
	}
	return list, d.told(err)
}

// Follow tells what changes.
func (d *distant) Follow(ctx context.Context, handle func(mcp.Event)) error {
	return d.Client.Follow(ctx, "", func(e remote.Event) error {
		handle(mcp.Event{Thread: mcp.Thread(e.Thread), Reset: e.Thread.Ref == ""})
		return nil
	})
}

// Attachment opens a file of a thread.
func (d *distant) Attachment(ctx context.Context, ref, name string) (io.ReadCloser, string, error) {
	data, mime, err := d.Client.Attachment(ctx, ref, name)
	return data, mime, d.told(err)
}
