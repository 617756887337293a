// Package daemon builds and runs an executor and an exchange from a configuration. It is the only
// package that imports all of their parts.
package daemon

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"runtime/debug"
	"sync/atomic"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"

	"github.com/messkit/messkit/exchange"
	"github.com/messkit/messkit/exchange/channel/agentmail"
	"github.com/messkit/messkit/exchange/channel/console"
	"github.com/messkit/messkit/exchange/channel/httpapi"
	"github.com/messkit/messkit/exchange/channel/mcp"
	"github.com/messkit/messkit/exchange/channel/mesh"
	"github.com/messkit/messkit/exchange/channel/webhook"
	"github.com/messkit/messkit/exchange/keys"
	"github.com/messkit/messkit/exchange/store/files"
	"github.com/messkit/messkit/internal/cli/output"
	"github.com/messkit/messkit/internal/config"
	"github.com/messkit/messkit/internal/durable"
	"github.com/messkit/messkit/internal/gcpace"
	"github.com/messkit/messkit/internal/resources"
	"github.com/messkit/messkit/mess"
)

// RunFlags are the flags of `run` and `exchange`.
type RunFlags struct {
	file    string
	listen  string
	mqtt    string
	data    string
	tls     string
	confirm string
	plain   bool
	Verbose bool
	jsonLog bool
}

// Flags adds the flags of run and exchange to a command.
func (r *RunFlags) Flags(c *cobra.Command) {
	f := c.Flags()
	f.StringVarP(&r.file, "config", "c", "", "configuration file; default: the simulated home, and the devices of this machine")
	f.StringVar(&r.listen, "listen", "", "address of the exchange's HTTP API (127.0.0.1:8420)")
	f.StringVar(&r.mqtt, "mqtt", "", "address of the exchange's own MQTT broker (127.0.0.1:1883), or off")
	f.StringVar(&r.data, "data", "", "folder for keys and journals (~/.mess)")
	f.StringVar(&r.tls, "tls", "", "self: the HTTP API and the MQTT broker use a certificate that the exchange makes (see messkit keys fingerprint)")
	f.StringVar(&r.confirm, "confirm", "", "how a person confirms a plan with risk: terminal (unless configured), page, code or script")
	f.BoolVar(&r.plain, "insecure", false, "other machines may reach the HTTP API and the MQTT broker in plain text")
	f.BoolVarP(&r.Verbose, "verbose", "v", false, "log what only developers want to know")
	f.BoolVar(&r.jsonLog, "log-json", false, "log in JSON")
}

// GCPercent makes Go collect garbage twice as often as usual: on a board with 512 MB, memory
// is worth more than a few percent of speed. A busy exchange sets a higher value.
const GCPercent = 50

// Logger returns the log that the flags ask for.
func (r *RunFlags) Logger(w io.Writer) *slog.Logger {
	opts := &slog.HandlerOptions{}
	if r.Verbose {
		opts.Level = slog.LevelDebug
	}
	if r.jsonLog {
		return slog.New(slog.NewJSONHandler(output.EscapedJSON{To: w}, opts))
	}
	return slog.New(slog.NewTextHandler(output.EscapedJSON{To: w}, opts))
}

// Load reads the configuration and applies the flags. The log writes to w.
func (r *RunFlags) Load(w io.Writer) (*config.Config, *slog.Logger, error) {
	log := r.Logger(w)
	c, err := r.config(log)
	return c, log, err
}

func (r *RunFlags) config(log *slog.Logger) (*config.Config, error) {
	debug.SetGCPercent(GCPercent)
	c, err := LoadConfig(r.file, log)
	if err != nil {
		return nil, err
	}
	if c.Exchange != nil {
		if r.listen != "" {
			c.Exchange.Listen = r.listen
		}
		if r.mqtt != "" {
			c.Exchange.MQTT = config.MQTT{Listen: r.mqtt, HomeAssistant: c.Exchange.MQTT.HomeAssistant, Clients: c.Exchange.MQTT.Clients}
		}
		if r.data != "" {
			c.Exchange.Data = r.data
		}
		if r.tls != "" && r.tls != config.SelfMade {
			return nil, fmt.Errorf("--tls: %q is unknown; write self, or the files of a certificate into the configuration", r.tls)
		}
		if r.confirm != "" {
			c.Exchange.Confirm = exchange.ConfirmBy(r.confirm)
		}
		c.Exchange.TLSSelf = c.Exchange.TLSSelf || r.tls != ""
		c.Exchange.Insecure = c.Exchange.Insecure || r.plain
		if err := c.Exchange.Validate(); err != nil {
			return nil, err
		}
	} else if r.listen != "" || r.mqtt != "" || r.confirm != "" {
		return nil, errors.New("--listen, --mqtt, --confirm: this configuration connects to an exchange elsewhere; leave them out")
	}
	if r.data != "" {
		c.Agent.Data = r.data
	}
	return c, nil
}

// Run runs the agent, and the exchange if it is in this program, until ctx ends. It makes
// the outputs safe before it connects to an exchange, and also without one. The agent ends
// first, so that the exchange gets its last reports.
func Run(ctx context.Context, a *output.Env, cfg *config.Config, log *slog.Logger) error {
	if cfg.Exchange == nil {
		return runRemote(ctx, a, cfg, log)
	}
	if err := cfg.CheckSeparateFolders(); err != nil {
		return err
	}
	o, err := startDevices(ctx, cfg, log)
	if err != nil {
		return err
	}
	e, ag, err := openAll(ctx, a, cfg, o, log)
	if err != nil && ctx.Err() != nil { // the end of ctx during the start is no failure
		return o.halt(ctx)
	}
	if err != nil {
		return errors.Join(err, o.halt(ctx))
	}
	still, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() error {
		defer stop()
		return ag.run(ctx)
	})
	g.Go(func() error { return e.Run(still) })
	return g.Wait()
}

// openAll opens the exchange of this program, and makes the agent for it.
func openAll(ctx context.Context, a *output.Env, cfg *config.Config, o *startedDevices, log *slog.Logger) (*OwnExchange, *executor, error) {
	here := &localExecutor{cfg: cfg, o: o}
	e, err := OpenExchange(ctx, a, cfg.Exchange, here, log)
	if err != nil {
		return nil, nil, err
	}
	o.zones.adapter.Store(e.mail)
	self := e.x.As(exchange.Actor{ID: cfg.Agent.ID, Roles: exchange.ExecutorRole}, "local")
	// Registration comes first, so that no other client can register the executor's id.
	who := &mess.Executor{ID: cfg.Agent.ID, Name: cfg.Agent.Name, Capabilities: cfg.Opened.Resolver().Offers()}
	if _, err := self.Send(ctx, mess.Message{Items: []mess.Item{&mess.Config{Executor: who}}}); err != nil {
		return nil, nil, errors.Join(err, e.close())
	}
	e.agent, err = newExecutor(cfg, self, o, log)
	if err != nil {
		return nil, nil, errors.Join(err, e.close())
	}
	return e, e.agent, nil
}

// OwnExchange is the exchange of this program with its channels, ready to run.
type OwnExchange struct {
	x        *exchange.Exchange
	store    *files.Store
	server   *httpapi.Server
	hooks    *webhook.Dispatcher
	mcp      *mcp.HTTPServer    // nil: it is off
	mail     *agentmail.Adapter // nil: it is off
	mesh     *mesh.Adapter      // nil: it is off
	listener net.Listener
	mqtt     *mqttChannel // nil: there is none

	id    string
	data  string // folder
	began time.Time
	agent *executor // in the same process; nil: there is none

	model atomic.Int64 // last use by a model of this user, in seconds since 1970
}

// OpenExchange opens the store, the keys and the port, and prints its address. here is the
// executor in this program, or nil.
func OpenExchange(ctx context.Context, a *output.Env, cfg *config.Exchange, here *localExecutor, log *slog.Logger) (*OwnExchange, error) {
	if err := durable.MkdirAll(cfg.Data, 0o700); err != nil {
		return nil, fmt.Errorf("data: %w; choose a folder with --data", err)
	}
	k, err := keys.Open(cfg.Data, cfg.ID)
	if err != nil {
		return nil, err
	}
	secure, err := cfg.Secure()
	if err != nil {
		return nil, err
	}
	l, err := openPort(cfg, secure)
	if err != nil {
		return nil, err
	}
	store, x, err := openThreads(ctx, cfg, k, log)
	if err != nil {
		return nil, errors.Join(err, l.Close())
	}
	hooks, err := webhook.Open(x, k, cfg.Webhooks, cfg.Data, log)
	if err != nil {
		return nil, errors.Join(err, store.Close(), l.Close())
	}
	e := &OwnExchange{x: x, hooks: hooks, store: store, listener: l, id: cfg.ID, data: cfg.Data, began: time.Now()}
	guests := map[string]httpapi.MountedHandler{}
	if cfg.MCP.Enabled {
		e.mcp = mcp.NewHTTPServer(x, cfg.MCP, output.Version, log)
		guests[MCPPath] = e.mcp
	}
	if e.mail, err = openMail(ctx, cfg, x, log); err != nil {
		return nil, errors.Join(err, store.Close(), l.Close())
	}
	if e.mail != nil {
		guests[agentmail.Path] = e.mail
	}
	pages := e.console(k, here, secure != nil, log)
	for _, path := range pages.MountedPaths() {
		guests[path] = pages
	}
	serverConfig := httpapi.Config{
		Pages: pages.Pages(), SessionKey: pages.SessionKey, SignedInByPerson: pages.SignedInByPerson, ModelPaths: []string{MCPPath}, ModelSeen: e.modelSeen, Unlimited: []string{console.StopPath},
		EnrollmentCode: cfg.Enroll, EnrollmentCapabilities: cfg.EnrollCapabilities, Hosts: cfg.Hosts, Origins: cfg.CORS, Rate: cfg.Rate, TLS: secure, Version: output.Version, Status: e.status, MountedHandlers: guests,
		Webhooks: func(who exchange.Actor) any { return hooks.Deliveries(who) }, Import: Importer(cfg.Data), Health: e.health, FitImage: imageFitter(),
	}
	if cfg.MESH.On {
		if e.mesh, err = e.openMESH(ctx, cfg, secure != nil, log); err != nil {
			return nil, errors.Join(err, e.close())
		}
		visit(&serverConfig, e.mesh)
	}
	e.server = httpapi.New(x, k, serverConfig, log)
	url := config.AddressText(l.Addr(), secure)
	if here != nil {
		here.o.url.Store(&url)
	}
	if _, err = fmt.Fprintf(a.Out, "exchange %s at %s\n", cfg.ID, url); err != nil {
		return nil, errors.Join(err, e.close())
	}
	if e.mqtt, err = openMQTT(a, cfg, x, k, secure, log); err != nil {
		return nil, errors.Join(err, e.close())
	}
	return e, nil
}

// console makes the console of the exchange.
func (e *OwnExchange) console(k *keys.Keys, here *localExecutor, secure bool, log *slog.Logger) *console.Console {
	c := console.Config{
		Status: e.status, DeniedRequests: func() any { return e.server.DeniedRequests() },
		Addresses: func() []string { return console.Addresses(e.listener.Addr(), secure) },
		Notifier:  notices{e.hooks},
		Secure:    secure,
	}
	if here != nil {
		here.own = e
		c.LocalExecutor = here
	}
	return console.Open(e.x, k, c, log)
}

func (e *OwnExchange) close() error {
	err := errors.Join(e.listener.Close(), e.store.Close())
	if e.mqtt != nil {
		err = errors.Join(err, e.mqtt.close())
	}
	return err
}

// Run runs the exchange and its channels until ctx ends.
func (e *OwnExchange) Run(ctx context.Context) error {
	g, ctx := errgroup.WithContext(ctx)
	defer gcpace.DefaultPace(resources.Of().Memory).Keep()()
	g.Go(func() error { return e.x.Run(ctx) })
	g.Go(func() error { return e.store.Run(ctx, e.x) })
	g.Go(func() error { return e.hooks.Run(ctx) })
	g.Go(func() error { return e.server.Run(ctx, e.listener) })
	if e.mcp != nil {
		g.Go(func() error { return e.mcp.Run(ctx) })
	}
	if e.mail != nil {
		g.Go(func() error { return e.mail.Run(ctx) })
	}
	if e.mesh != nil {
		g.Go(func() error { return e.mesh.Run(ctx) })
	}
	if e.mqtt != nil {
		g.Go(func() error { return e.mqtt.run(ctx) })
	}
	return errors.Join(g.Wait(), e.store.Close())
}
