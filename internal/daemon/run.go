// Package daemon builds and runs an executor and an exchange from a configuration. It is the only
// package that imports all of their parts.
package daemon

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/messkit/messkit/exchange"
	"github.com/messkit/messkit/exchange/channel/agentmail"
	"github.com/messkit/messkit/exchange/channel/console"
	"github.com/messkit/messkit/exchange/channel/httpapi"
	"github.com/messkit/messkit/exchange/channel/mcp"
	"github.com/messkit/messkit/exchange/channel/mesh"
	"github.com/messkit/messkit/exchange/channel/natsapi"
	"github.com/messkit/messkit/exchange/channel/webhook"
	"github.com/messkit/messkit/exchange/history"
	"github.com/messkit/messkit/exchange/home"
	"github.com/messkit/messkit/exchange/keys"
	"github.com/messkit/messkit/exchange/notices"
	"github.com/messkit/messkit/exchange/retain"
	"github.com/messkit/messkit/internal/cli/output"
	"github.com/messkit/messkit/internal/config"
	"github.com/messkit/messkit/internal/daemon/setup"
	"github.com/messkit/messkit/internal/daemon/sites"
	"github.com/messkit/messkit/internal/daemon/store"
	"github.com/messkit/messkit/internal/durable"
	"github.com/messkit/messkit/internal/gcpace"
	"github.com/messkit/messkit/internal/otlp"
	"github.com/messkit/messkit/internal/resources"
	"github.com/messkit/messkit/mess"
)

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
	local := &localExecutor{devices: o}
	e, err := OpenExchange(ctx, a, cfg.Exchange, local, log)
	if err != nil {
		return nil, nil, err
	}
	o.reservations.adapter.Store(e.mail)
	self := e.x.As(exchange.Actor{ID: cfg.Agent.ID, Roles: exchange.ExecutorRole}, "local")
	// Registration comes first, so that no other client can register the executor's id.
	registration := &mess.Executor{ID: cfg.Agent.ID, Name: cfg.Agent.Name, Capabilities: cfg.Opened.Resolver().Offers()}
	if _, err := self.Send(ctx, mess.Message{Items: []mess.Item{&mess.Config{Executor: registration}}}); err != nil {
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
	store    store.Store
	server   *httpapi.Server
	hooks    *webhook.Dispatcher
	notices  *notices.Log
	readings *history.Store
	traces   *otlp.Exporter     // nil: there is no collector
	mcp      *mcp.HTTPServer    // nil: it is off
	mail     *agentmail.Adapter // nil: it is off
	mesh     *mesh.Adapter      // nil: it is off
	listener net.Listener
	log      *slog.Logger
	mqtt     *mqttChannel // nil: there is none
	nats     *natsapi.API // nil: there is none
	sites    *sites.Sites
	uplinks  bool // to sites, or to a centre

	archiveAfter time.Duration // of a store on servers

	id    string
	data  string // folder
	began time.Time
	agent *executor // in the same process; nil: there is none

	model atomic.Int64 // last use by a model of this user, in seconds since 1970
}

// OpenExchange opens the store, the keys and the port, and prints its address. local is the
// executor in this program, or nil.
func OpenExchange(ctx context.Context, a *output.Env, cfg *config.Exchange, local *localExecutor, log *slog.Logger) (*OwnExchange, error) {
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
	readings, err := history.Open(filepath.Join(cfg.Data, "history"), time.Now, log)
	if err != nil {
		return nil, errors.Join(DataFolderError(err, cfg.Data), l.Close())
	}
	traces, err := otlp.FromEnvironment(cfg.OTLP, "messkit-exchange", cfg.ID, output.Version, log)
	if err != nil {
		return nil, errors.Join(err, l.Close())
	}
	threads, x, err := openThreads(ctx, cfg, k, readings, traces, log)
	if err != nil {
		return nil, errors.Join(err, l.Close())
	}
	hooks, err := webhook.Open(x, k, cfg.Webhooks, cfg.Data, log)
	if err != nil {
		return nil, errors.Join(err, threads.Close(), l.Close())
	}
	pushKeys, err := openPushKeys(ctx, cfg.Data, x)
	if err != nil {
		return nil, errors.Join(err, threads.Close(), l.Close())
	}
	e := &OwnExchange{x: x, hooks: hooks, notices: notices.Open(x, log), store: threads, traces: traces, readings: readings, listener: l, log: log, archiveAfter: cfg.ArchiveAfter, id: cfg.ID, data: cfg.Data, began: time.Now(), uplinks: len(cfg.Sites) > 0 || cfg.Centre != nil}
	mounted := map[string]httpapi.MountedHandler{}
	if cfg.MCP.Enabled {
		e.mcp = mcp.NewHTTPServer(x, cfg.MCP, output.Version, log)
		mounted[MCPPath] = e.mcp
	}
	if e.mail, err = openMail(ctx, cfg, x, log); err != nil {
		return nil, errors.Join(err, threads.Close(), l.Close())
	}
	if e.mail != nil {
		mounted[agentmail.Path] = e.mail
	}
	homes := home.New(x, time.Now) // shared: its feed builds the home once for all followers
	pages := e.console(k, homes, local, cfg, pushKeys.Public(), log)
	hooks.Serve(pages, e.notices, pushKeys)
	for _, path := range pages.MountedPaths() {
		mounted[path] = pages
	}
	serverConfig := httpapi.Config{
		Home:  homes,
		Pages: pages.Pages(), SessionKey: pages.SessionKey, SignedInByPerson: pages.SignedInByPerson, WatchSession: pages.WatchSession, ModelPaths: []string{MCPPath}, ModelSeen: e.modelSeen, Unlimited: []string{console.StopPath},
		EnrollmentCode: cfg.Enroll, EnrollmentCapabilities: cfg.EnrollCapabilities, Hosts: cfg.Hosts, Origins: cfg.CORS, Rate: cfg.Rate, TLS: secure, Version: output.Version, Status: e.status, Metrics: e.writeMetrics, Unready: e.unready, MountedHandlers: mounted,
		Webhooks: func(actor exchange.Actor) any { return hooks.Deliveries(actor) }, Import: importer(cfg), Health: e.health, FitImage: imageFitter(), History: readings.Query,
	}
	if local != nil {
		serverConfig.Live, serverConfig.Map = liveCameras{local}, local.floorMap
	}
	if cfg.MESH.On {
		if e.mesh, err = e.openMESH(ctx, cfg, secure != nil, log); err != nil {
			return nil, errors.Join(err, e.close())
		}
		addMESHPaths(&serverConfig, e.mesh)
	}
	if e.sites, err = sites.Open(ctx, cfg, x, k, serverConfig, log); err != nil {
		return nil, errors.Join(err, e.close())
	}
	e.sites.AddPaths(&serverConfig)
	e.server = httpapi.New(x, k, serverConfig, log)
	if err = errors.Join(e.announce(a, local, config.AddressText(l.Addr(), secure)), e.openMessaging(a, cfg, k, secure, log)); err != nil {
		return nil, errors.Join(err, e.close())
	}
	return e, nil
}

// announce prints the address of the exchange.
func (e *OwnExchange) announce(a *output.Env, local *localExecutor, url string) error {
	if local != nil {
		local.devices.url.Store(&url)
	}
	_, err := fmt.Fprintf(a.Out, "exchange %s at %s\n", e.id, url)
	return err
}

// console makes the console of the exchange.
func (e *OwnExchange) console(k *keys.Keys, homes *home.Home, local *localExecutor, cfg *config.Exchange, pushKey string, log *slog.Logger) *console.Console {
	secure := cfg.TLSSelf || cfg.TLSFiles.Cert != ""
	c := console.Config{
		Status: e.status, DeniedRequests: func() any { return e.server.DeniedRequests() },
		Addresses: func() []string { return console.Addresses(e.listener.Addr(), secure) },
		Notifier:  notifier{e.hooks},
		Secure:    secure,
		Home:      homes,
		Notices:   e.notices,
		PushKey:   pushKey,
		Data:      absolute(e.data),
		Uplinks:   e.uplinks,

		LastBackup: func() time.Time { return lastBackup(e.data) },
	}
	if cfg.TLSSelf {
		c.Authority, _ = keys.AuthorityCertificate(cfg.Data) // cfg.Secure has read it
	}
	if local != nil {
		local.exchange = e
		c.LocalExecutor = local
		c.Setup = setup.New(local, log)
	}
	return console.Open(e.x, k, c, log)
}

// backupMark is the file in the data folder whose time is that of the last backup. The command that
// Settings shows writes it after the copy.
const backupMark = "last-backup"

// lastBackup returns the time of the last backup of a data folder, or zero.
func lastBackup(dir string) time.Time {
	info, err := os.Stat(filepath.Join(dir, backupMark))
	if err != nil {
		return time.Time{}
	}
	return info.ModTime()
}

// absolute returns a folder as somebody in another one names it.
func absolute(dir string) string {
	if full, err := filepath.Abs(dir); err == nil {
		return full
	}
	return dir
}

func (e *OwnExchange) close() error {
	err := errors.Join(e.listener.Close(), e.store.Close())
	if e.mqtt != nil {
		err = errors.Join(err, e.mqtt.close())
	}
	if e.sites != nil {
		err = errors.Join(err, e.sites.Close())
	}
	return err
}

// Run runs the exchange and its channels until ctx ends, and closes the store.
func (e *OwnExchange) Run(ctx context.Context) error {
	g, ctx := errgroup.WithContext(ctx)
	defer gcpace.DefaultPace(resources.Of().Memory).Keep()()
	g.Go(func() error { return e.x.Run(ctx) })
	g.Go(func() error { return e.store.Run(ctx, e.x) })
	if s, ok := e.store.(retain.Store); ok {
		g.Go(func() error { return retain.Run(ctx, e.x, s, e.archiveAfter, e.log) })
	}
	g.Go(func() error { return e.hooks.Run(ctx) })
	g.Go(func() error { return e.notices.Run(ctx) })
	g.Go(func() error { return e.readings.Run(ctx) })
	g.Go(func() error { return e.traces.Run(ctx) })
	g.Go(func() error { return e.sites.Run(ctx) })
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
	if e.nats != nil {
		g.Go(func() error { return e.nats.Run(ctx) })
	}
	return errors.Join(g.Wait(), e.store.Close())
}
