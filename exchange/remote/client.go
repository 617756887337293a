// Package remote is an exchange elsewhere, over HTTP: for an agent all that it
// needs of one, for a command line what people ask. It knows messages and
// nothing of agents or devices.
package remote

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/messkit/messkit/mess"
)

// Secret is a key. It prints as ***.
type Secret string

func (Secret) String() string { return "***" }

// LogValue keeps the key out of logs.
func (Secret) LogValue() slog.Value { return slog.StringValue("***") }

// GoString keeps the key out of %#v.
func (Secret) GoString() string { return "***" }

// MarshalText keeps the key out of documents.
func (Secret) MarshalText() ([]byte, error) { return []byte("***"), nil }

// Config says where an exchange is.
type Config struct {
	URL      string        // http://192.168.1.20:8420
	Exchange string        // its id; "": the one that the server names
	Key      Secret        // "" can only register
	Timeout  time.Duration // for an answer; 0: 30 s
}

// Client is an exchange elsewhere. It is safe for concurrent use.
type Client struct {
	cfg  Config
	base *url.URL
	http *http.Client
	log  *slog.Logger

	mu sync.Mutex
	id string // of the exchange, once it is known
}

const (
	defaultTimeout = 30 * time.Second
	// Servers in the field close idle connections after 5 s.
	idleTime  = 4 * time.Second
	maxAnswer = 64 << 20 // bytes; a thread with its pictures inside
)

// New makes a client. It does not reach out.
func New(cfg Config, log *slog.Logger) (*Client, error) {
	u, err := url.Parse(cfg.URL)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return nil, fmt.Errorf("url: %q is not the address of an exchange; write it like http://192.168.1.20:8420", cfg.URL)
	}
	if u.User != nil {
		return nil, errors.New("url: holds a password; give the key by itself")
	}
	if cfg.Timeout == 0 {
		cfg.Timeout = defaultTimeout
	}
	u.Path = strings.TrimRight(u.Path, "/")
	u.RawQuery, u.Fragment = "", ""
	dialer := &net.Dialer{Timeout: 10 * time.Second, KeepAlive: 15 * time.Second}
	t := &http.Transport{
		Proxy: http.ProxyFromEnvironment, DialContext: dialer.DialContext, IdleConnTimeout: idleTime,
		TLSHandshakeTimeout: 10 * time.Second, ForceAttemptHTTP2: true, MaxIdleConnsPerHost: 4,
	}
	noRedirect := func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse } // a key goes to one host
	return &Client{cfg: cfg, base: u, http: &http.Client{Transport: t, CheckRedirect: noRedirect}, log: log, id: cfg.Exchange}, nil
}

// Health is what a server says of itself.
type Health struct {
	Status   string `json:"status"`
	Service  string `json:"service"`
	Version  string `json:"version"`
	Exchange string `json:"exchange_id"`
}

// Health asks whether the exchange is there. It needs no key.
func (c *Client) Health(ctx context.Context) (Health, error) {
	var h Health
	res, err := c.send(ctx, request{method: http.MethodGet, url: c.base.JoinPath("health")})
	if err != nil {
		return h, err
	}
	return h, decode(res, &h)
}

// exchange is the id of the exchange; the first time it may have to be asked
// for.
func (c *Client) exchange(ctx context.Context) (string, error) {
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
	if h.Exchange == "" {
		return "", mess.Refuse(mess.Invalid, "%s does not say which exchange it is; give its id", c.base.Host)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.id = h.Exchange
	return c.id, nil
}

// request is one HTTP request.
type request struct {
	method string
	url    *url.URL
	mime   string
	body   []byte
	head   http.Header
	long   bool // a stream: no time limit for the answer's body
}

// at makes the address of a path below the exchange.
func (c *Client) at(ctx context.Context, query url.Values, path ...string) (*url.URL, error) {
	id, err := c.exchange(ctx)
	if err != nil {
		return nil, err
	}
	for i := range path {
		path[i] = url.PathEscape(path[i])
	}
	u := c.base.JoinPath(append([]string{"api", "v1", "exchanges", url.PathEscape(id)}, path...)...)
	u.RawQuery = query.Encode()
	return u, nil
}

// send does a request and returns an answer of the 200s; its body has to be
// closed. A server's "no" is a *mess.Refusal; with Why mess.Unavailable there
// was no answer, or none that counts.
func (c *Client) send(ctx context.Context, r request) (*http.Response, error) {
	ctx, cancel := context.WithCancel(ctx)
	timer := time.AfterFunc(c.cfg.Timeout, cancel)
	req, err := http.NewRequestWithContext(ctx, r.method, r.url.String(), bytes.NewReader(r.body))
	if err != nil {
		cancel()
		return nil, err
	}
	for k, v := range r.head {
		req.Header[k] = v
	}
	if c.cfg.Key != "" {
		req.Header.Set("Authorization", "Bearer "+string(c.cfg.Key))
	}
	if r.body != nil {
		req.Header.Set("Content-Type", r.mime)
	}
	res, err := c.http.Do(req)
	if err != nil {
		cancel()
		return nil, c.unavailable(req.Context(), err)
	}
	if r.long {
		timer.Stop()
	}
	res.Body = &body{ReadCloser: res.Body, end: func() { timer.Stop(); cancel() }}
	if res.StatusCode/100 == 2 {
		return res, nil
	}
	defer res.Body.Close()
	return nil, c.refusal(res)
}

// body ends the request's context when it is closed.
type body struct {
	io.ReadCloser
	end func()
}

func (b *body) Close() error {
	defer b.end()
	return b.ReadCloser.Close()
}

// unavailable words why there is no answer.
func (c *Client) unavailable(ctx context.Context, err error) error {
	if u, ok := errors.AsType[*url.Error](err); ok {
		err = u.Err // its text has the whole address, and with it what was asked
	}
	if ctx.Err() != nil {
		err = fmt.Errorf("no answer within %v", c.cfg.Timeout)
	}
	return mess.Refuse(mess.Unavailable, "the exchange at %s cannot be reached: %v", c.base.Host, err)
}

// maxRefusal is the longest refusal that is read, in bytes.
const maxRefusal = 64 << 10

// refusal reads a server's "no".
func (c *Client) refusal(res *http.Response) error {
	var v struct {
		Error    string      `json:"error"`
		Why      mess.Why    `json:"why"`
		Ref      string      `json:"ref"`
		Status   mess.Code   `json:"status"`
		Executor string      `json:"executor_id"`
		Legal    []mess.Code `json:"legal"`
	}
	data, _ := io.ReadAll(io.LimitReader(res.Body, maxRefusal)) // what is there is enough
	if json.Unmarshal(data, &v) != nil || v.Error == "" {
		v.Error = fmt.Sprintf("the server at %s answers %s", c.base.Host, res.Status)
	}
	if v.Why == "" {
		v.Why = whyOf(res.StatusCode)
	}
	if res.StatusCode >= http.StatusInternalServerError {
		v.Why = mess.Unavailable
	}
	return &mess.Refusal{Why: v.Why, Text: v.Error, Ref: v.Ref, Status: v.Status, Holder: v.Executor, Legal: v.Legal}
}

// whyOf is what a code means where the server says no more.
func whyOf(code int) mess.Why {
	switch code {
	case http.StatusUnauthorized:
		return mess.Unauthentic
	case http.StatusForbidden:
		return mess.Forbidden
	case http.StatusNotFound, http.StatusGone:
		return mess.Unknown
	case http.StatusConflict:
		return mess.Conflict
	case http.StatusRequestEntityTooLarge:
		return mess.TooLarge
	case http.StatusTooManyRequests, http.StatusRequestTimeout:
		return mess.Unavailable
	}
	return mess.Invalid
}

// decode reads a JSON answer and closes it.
func decode(res *http.Response, v any) error {
	defer res.Body.Close()
	data, err := io.ReadAll(io.LimitReader(res.Body, maxAnswer+1))
	switch {
	case err != nil:
		return mess.Refuse(mess.Unavailable, "the answer was cut off: %v", err)
	case len(data) > maxAnswer:
		return mess.Refuse(mess.TooLarge, "the answer is larger than %d bytes", maxAnswer)
	}
	if err := json.Unmarshal(data, v); err != nil {
		return mess.Refuse(mess.Unavailable, "the answer is not what an exchange says: %v; is this the right address?", err)
	}
	return nil
}

// get reads a path below the exchange.
func (c *Client) get(ctx context.Context, v any, query url.Values, path ...string) error {
	u, err := c.at(ctx, query, path...)
	if err != nil {
		return err
	}
	res, err := c.send(ctx, request{method: http.MethodGet, url: u})
	if err != nil {
		return err
	}
	return decode(res, v)
}

// post sends a value in JSON to a path below the exchange.
func (c *Client) post(ctx context.Context, in, out any, path ...string) error {
	text, err := json.Marshal(in)
	if err != nil {
		return err
	}
	u, err := c.at(ctx, nil, path...)
	if err != nil {
		return err
	}
	res, err := c.send(ctx, request{method: http.MethodPost, url: u, mime: "application/json", body: text})
	if err != nil {
		return err
	}
	return decode(res, out)
}
