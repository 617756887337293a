// Package httpclient is a client for the HTTP API of an exchange. It has the calls of an agent
// and of the command line. It works with messages and does not depend on agents or devices.
package httpclient

import (
	"cmp"
	"context"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/messkit/messkit/mess"
)

// Client is a remote exchange. It is safe for concurrent use.
type Client struct {
	base    string                 // without a slash at its end
	name    string                 // of the server, for people
	reread  func() (Secret, error) // reads the key from its place of storage; nil: no such place
	timeout time.Duration
	model   bool // acts for a language model
	http    *http.Client
	nodes   *nodes // nil: there is one address
	log     *slog.Logger

	mu sync.Mutex
	id string // of the exchange; "" until the server has reported it
	by *credentials
}

const (
	// The reference servers close idle connections after 5 s.
	idleTime  = 4 * time.Second
	maxAnswer = 64 << 20 // bytes; for a thread with inline images
)

// New makes a client. It makes no connection.
func New(cfg Config, log *slog.Logger) (*Client, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	all, err := parseAddresses(cfg.URL)
	if err != nil {
		return nil, err
	}
	dialer := &net.Dialer{Timeout: 10 * time.Second, KeepAlive: 15 * time.Second}
	t := cfg.Transport
	if t == nil {
		t = &http.Transport{
			Proxy: http.ProxyFromEnvironment, DialContext: dialer.DialContext, IdleConnTimeout: idleTime,
			TLSHandshakeTimeout: 10 * time.Second, TLSClientConfig: PinnedTLS(cfg.Pin), MaxIdleConnsPerHost: 4, MaxResponseHeaderBytes: 64 << 10,
		}
	}
	var several *nodes
	if len(all) > 1 {
		several = &nodes{next: t, all: all}
		t = several
	}
	noRedirect := func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse } // a key goes to one host
	return &Client{
		base: First(cfg.URL), name: nameOf(all), nodes: several, reread: cfg.Reread, timeout: cmp.Or(cfg.Timeout, defaultTimeout), model: cfg.Model,
		http: &http.Client{Transport: t, CheckRedirect: noRedirect}, log: log, id: cfg.Exchange, by: newCredentials(cfg.Key),
	}, nil
}

// Health is a server's report about itself.
type Health struct {
	Status   string `json:"status"`
	Service  string `json:"service"`
	Version  string `json:"version"`
	Exchange string `json:"exchange_id"`
}

// Health asks the exchange for its health. It needs no key.
func (c *Client) Health(ctx context.Context) (Health, error) {
	var h Health
	err := c.Fetch(ctx, Request{Method: http.MethodGet, URL: c.base + "/health"}, &h)
	return h, err
}

// Exchange returns the id of the exchange. Without a configured id, the first call asks the
// server.
func (c *Client) Exchange(ctx context.Context) (string, error) {
	c.mu.Lock()
	id := c.id
	c.mu.Unlock()
	if id != "" {
		return id, nil
	}
	h, err := c.Health(ctx)
	if err != nil {
		return "", err
	}
	if !mess.ValidID(h.Exchange) {
		return "", mess.Errorf(mess.Invalid, "%s does not say which exchange it is; give its id", c.name)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.id = h.Exchange
	return c.id, nil
}

// Name returns the server's name for people.
func (c *Client) Name() string { return c.name }

// Logger returns the log of the client.
func (c *Client) Logger() *slog.Logger { return c.log }
