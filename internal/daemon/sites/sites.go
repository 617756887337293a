// Package sites opens what an exchange has for its sites and for its centre: the copies of the threads of
// sites, their inboxes, and the inbox of this site.
package sites

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/messkit/messkit/exchange"
	"github.com/messkit/messkit/exchange/channel/httpapi"
	"github.com/messkit/messkit/exchange/channel/sites"
	"github.com/messkit/messkit/exchange/keys"
	"github.com/messkit/messkit/exchange/store/jetstream"
	"github.com/messkit/messkit/internal/config"
	"github.com/messkit/messkit/internal/config/natsstore"
	"github.com/messkit/messkit/internal/daemon/status"
	"github.com/messkit/messkit/internal/metrics"
	"github.com/messkit/messkit/internal/natslink"
	"github.com/messkit/messkit/mess"
)

// Sites has the sites of an exchange, and its inbox if it is a site itself. A nil Sites has none.
type Sites struct {
	all   []*site
	inbox *sites.Inbox // nil: it is no site, or takes nothing
	log   *slog.Logger
}

// site is one site, as its centre sees it.
type site struct {
	name   string
	store  *jetstream.Store
	x      *exchange.Exchange
	centre *sites.Centre
	server http.Handler
}

// Open opens the copies and the inboxes that a configuration names. server has the settings of the HTTP API
// of the exchange, which also serves the copies.
func Open(ctx context.Context, c *config.Exchange, x *exchange.Exchange, k *keys.Keys, server httpapi.Config, log *slog.Logger) (s *Sites, err error) {
	s = &Sites{log: log}
	for _, name := range slices.Sorted(maps.Keys(c.Sites)) {
		one, err := open(ctx, c, name, k, server, log.With("site", name))
		if err != nil {
			return nil, errors.Join(fmt.Errorf("sites: %s: %w", name, err), s.Close())
		}
		s.all = append(s.all, one)
	}
	if c.Centre != nil {
		s.inbox, err = sites.OpenInbox(sites.InboxConfig{
			Address: c.NATS.Address, Prefix: prefixOf(c.NATS), Site: cmp.Or(c.NATS.Site, c.ID), Replicas: c.NATS.Replicas,
			Domain: c.Centre.Domain, Exchange: c.Centre.Exchange, Accept: c.Centre.Accept, Log: log,
		}, x, k)
		if err != nil {
			return nil, errors.Join(fmt.Errorf("centre: %w", err), s.Close())
		}
	}
	return s, nil
}

func prefixOf(s *natsstore.Settings) string { return cmp.Or(s.Prefix, natslink.DefaultPrefix) }

// open opens one site.
func open(ctx context.Context, c *config.Exchange, name string, k *keys.Keys, server httpapi.Config, log *slog.Logger) (_ *site, err error) {
	about := c.Sites[name]
	o := &site{name: name}
	defer func() {
		if err != nil {
			err = errors.Join(err, o.close())
		}
	}()
	settings := about.In(*c.NATS, name).Config(c.ID, log)
	settings.Domain = about.DomainOf(name)
	if o.store, err = jetstream.Open(ctx, settings); err != nil {
		return nil, err
	}
	centre := sites.CentreConfig{
		Address: c.NATS.Address, Prefix: prefixOf(c.NATS), Site: name, Exchange: c.ID, Replicas: c.NATS.Replicas, Log: log,
		Copied: func(ctx context.Context) (uint64, time.Duration, error) {
			is, err := o.store.Copied(ctx)
			return is.Lag, is.Heard, err
		},
	}
	if about.KeyFile != "" {
		key, err := config.ReadKey(about.KeyFile)
		if err != nil {
			return nil, fmt.Errorf("key_file: %w", err)
		}
		centre.Secret = natslink.Secret(string(key))
	}
	if o.centre, err = sites.OpenCentre(ctx, centre); err != nil {
		return nil, err
	}
	reads := exchange.DefaultConfig()
	reads.ID, reads.Origin = name, o.centre
	if o.x, err = exchange.Open(ctx, reads, o.store, time.Now, log); err != nil {
		return nil, err
	}
	o.centre.Reads(o.x)
	o.server = httpapi.New(o.x, k, httpapi.Config{
		Hosts: server.Hosts, Origins: server.Origins, Rate: server.Rate, TLS: server.TLS, Version: server.Version, FitImage: server.FitImage,
		SessionKey: server.SessionKey, SignedInByPerson: server.SignedInByPerson, WatchSession: server.WatchSession,
		Copy: &httpapi.Copy{As: o.centre.As, Check: o.check, Describe: o.describe},
	}, log).Handler()
	return o, nil
}

func (o *site) close() (err error) {
	if o.centre != nil {
		o.centre.Close()
	}
	if o.store != nil {
		err = o.store.Close()
	}
	return err
}

// shown are the paths of a copy.
var shown = map[string]bool{
	"GET requests": true, "GET requests/{ref}": true, "GET requests/{ref}/thread": true, "GET requests/{ref}/attachments/{name}": true,
	"GET export/{ref}": true, "GET events": true,
	"POST requests": true, "POST mess": true, "PATCH requests/{ref}": true, "POST stop": true, // the centre judges the message
}

// check returns an error for a path that is for the exchange of the site alone.
func (o *site) check(method, path string) error {
	if method == http.MethodHead {
		method = http.MethodGet
	}
	if shown[method+" "+path] {
		return nil
	}
	return mess.Errorf(mess.Forbidden, "%s: here are the threads of the site %s alone, in a copy for reading; ask the exchange of %s", path, o.name, o.name)
}

// describe sets the headers that say how old the copy is.
func (o *site) describe(h http.Header) {
	u := o.centre.Uplink()
	h.Set("Messkit-Uplink", u.String())
	if u.AsOf != nil {
		h.Set("Messkit-As-Of", u.AsOf.UTC().Format(time.RFC3339))
	}
}

// Path is the path of the HTTP API at which somebody reads the states of all uplinks.
const Path = "/api/v1/sites"

// AddPaths adds the paths of the sites to the settings of the HTTP API.
func (s *Sites) AddPaths(c *httpapi.Config) {
	if len(s.all) == 0 && s.inbox == nil {
		return
	}
	c.MountedHandlers[Path] = s
	public := maps.Clone(c.PublicHandlers)
	if public == nil {
		public = map[string]http.Handler{}
	}
	for _, o := range s.all {
		public["/api/v1/exchanges/"+o.name+"/"] = o.server
	}
	c.PublicHandlers = public
}

// Serve answers with the states of the uplinks.
func (s *Sites) Serve(_ exchange.Actor, w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodGet {
		http.Error(w, "this path has GET alone", http.StatusMethodNotAllowed)
		return
	}
	var d status.Document
	s.Report(&d)
	data, err := json.Marshal(map[string]any{"sites": append([]sites.Uplink{}, d.Sites...), "centre": d.Centre})
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	_, _ = w.Write(data) // the client has disconnected if it fails
}

// Report writes the states of the uplinks into a status.
func (s *Sites) Report(d *status.Document) {
	if s == nil {
		return
	}
	for _, o := range s.all {
		d.Sites = append(d.Sites, o.centre.Uplink())
	}
	if s.inbox != nil {
		d.Centre = new(s.inbox.Uplink())
	}
}

// WriteMetrics writes the states of the uplinks; without any, only their descriptions.
func (s *Sites) WriteMetrics(t *metrics.Text) {
	var d status.Document
	s.Report(&d)
	all := d.Sites
	if d.Centre != nil {
		all = append(all, *d.Centre)
	}
	for _, m := range []struct {
		name, help string
		value      func(sites.Uplink) float64
	}{
		{"messkit_site_connected", "1 while the uplink of a site works, 0 while it is cut.", func(u sites.Uplink) float64 {
			if u.Connected {
				return 1
			}
			return 0
		}},
		{"messkit_site_behind_steps", "Steps of the other side that this side lacked at the last contact.", func(u sites.Uplink) float64 { return float64(u.Behind) }},
		{"messkit_site_age_seconds", "Time since this side had everything of the other side; -1 if it never had.", func(u sites.Uplink) float64 { return u.AgeS }},
		{"messkit_site_waiting_requests", "Requests of the centre that wait for the site.", func(u sites.Uplink) float64 { return float64(u.Waiting) }},
	} {
		t.Gauges(m.name, m.help)
		for _, u := range all {
			t.Sample(m.value(u), "site", u.Site, "side", u.Side)
		}
	}
}

// Run reads the copies, and takes the requests of the centre, until ctx ends. A copy that fails is reported,
// and does not end the exchange of the centre. Run closes everything.
func (s *Sites) Run(ctx context.Context) error {
	g, ctx := errgroup.WithContext(ctx)
	for _, o := range s.all {
		g.Go(func() error { return o.centre.Run(ctx) })
		g.Go(func() error {
			if err := o.x.Run(ctx); err != nil && ctx.Err() == nil {
				s.log.Error("the copy of a site is not read any more; what it shows gets old", "site", o.name, "err", err)
				o.centre.Fail(err)
			}
			return nil
		})
	}
	if s.inbox != nil {
		g.Go(func() error { return s.inbox.Run(ctx) })
	}
	return errors.Join(g.Wait(), s.Close())
}

// Close ends all connections.
func (s *Sites) Close() (err error) {
	for _, o := range s.all {
		err = errors.Join(err, o.close())
	}
	if s.inbox != nil {
		s.inbox.Close()
	}
	return err
}
