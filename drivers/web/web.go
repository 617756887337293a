// Package web asks one device over HTTP: with a time limit, with answers of
// bounded size, without redirects, proxies or decompression, and with a log-in
// by Basic (RFC 7617), Digest (RFC 7616), a header or a bearer token, which goes
// to that device and nowhere else.
//
// It knows no device.
package web

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"strings"
	"sync/atomic"
	"time"

	"github.com/messkit/messkit/drivers"
)

const (
	headerBytes = 64 << 10 // of the headers of an answer
	// AnswerBytes is what an answer may have unless a Call says otherwise.
	AnswerBytes = 1 << 20
	saysRunes   = 100 // of the body of a refusal that are told
)

// Call is one question to a device.
type Call struct {
	Method string // "" is GET
	Path   string // below the device's address, with its query; escaped
	Type   string // of Body
	Body   []byte
	Max    int    // bytes of the answer; 0 is AnswerBytes
	Accept string // "" is anything
	Acts   bool   // it changes the device: once heard, it is waited for by what is sent next
}

// Answer is what came back, with a status of 200 to 299.
type Answer struct {
	Type string
	Body []byte
}

// StatusError is an answer with another status.
type StatusError struct {
	Where  string // the address that was asked, without its query
	Status int
	Says   string // the first words of the answer
	Advice string
	Body   []byte // the answer
}

func (e *StatusError) Error() string {
	said := ""
	if e.Says != "" {
		said = fmt.Sprintf(" (%q)", e.Says)
	}
	return fmt.Sprintf("%s answers %d%s; %s", e.Where, e.Status, said, e.Advice)
}

// Is says of a refusal that nothing was done (RFC 9110 §15.5, and §15.4 where it
// is not followed).
func (e *StatusError) Is(target error) bool {
	return target == drivers.ErrNothingDone && e.Status >= 300 && e.Status < 500
}

// Client asks one device. It keeps no connection open, and may be used by
// several at the same time.
type Client struct {
	timeout time.Duration // of one call
	base    *url.URL
	header  string // that carries the token: X-Api-Key, Authorization; "" for none
	secrets Secrets
	late    late
}

// transport is that of all devices: it keeps no connection, and so nothing of a device.
var transport = &http.Transport{
	DialContext:            (&net.Dialer{}).DialContext,
	TLSClientConfig:        &tls.Config{MinVersion: tls.VersionTLS12},
	MaxResponseHeaderBytes: headerBytes,
	DisableCompression:     true,
	DisableKeepAlives:      true, // a connection that died unnoticed would leave open whether a call was heard
}

// New makes a client of a valid configuration. The token, where there is one,
// goes into header; in Authorization it is a bearer token (RFC 6750).
func New(cfg Config, header string) (*Client, error) {
	s, err := cfg.Secrets()
	if err != nil {
		return nil, err
	}
	base, err := url.Parse(cfg.URL)
	if err != nil {
		return nil, errors.New("url: cannot be read") // err holds the whole address
	}
	return &Client{timeout: cfg.Timeout, base: base, header: header, secrets: s}, nil
}

// Host is the device's host and port.
func (c *Client) Host() string { return c.base.Host }

// Secrets are what the client logs in with.
func (c *Client) Secrets() Secrets { return c.secrets }

// errSlow is the cause of a context that ended by the configured timeout.
var errSlow = errors.New("timeout")

// Do asks. An error that is drivers.ErrNothingDone says that the device has not
// heard of it, or has refused it; with any other it may have done it. That of a call
// which acts and was not answered is drivers.ErrMayAct.
func (c *Client) Do(ctx context.Context, call Call) (Answer, error) {
	u, err := c.url(call.Path)
	if err != nil {
		return Answer{}, err
	}
	if call.Acts {
		if err := c.InTurn(ctx); err != nil {
			return Answer{}, c.explain(ctx, u, call, drivers.NotDone(err))
		}
	}
	ctx, cancel := context.WithTimeoutCause(ctx, c.timeout, errSlow) // its turn has come
	defer cancel()
	resp, err := c.login(ctx, u, call)
	if err != nil {
		return Answer{}, c.explain(ctx, u, call, err)
	}
	defer func() { _ = resp.Body.Close() }() // what was read is judged below
	a, err := read(resp, call)
	if err != nil {
		return Answer{}, c.explain(ctx, u, call, err)
	}
	if resp.StatusCode == http.StatusGatewayTimeout && call.Acts { // a proxy has passed it on
		return Answer{}, drivers.Unanswered(c.refused(u, resp.StatusCode, a.Body))
	}
	if resp.StatusCode < 200 || resp.StatusCode > 299 {
		return Answer{}, c.refused(u, resp.StatusCode, a.Body)
	}
	return a, nil
}

func (c *Client) url(path string) (*url.URL, error) {
	u, err := url.Parse(strings.TrimSuffix(c.base.String(), "/") + path)
	if err != nil || u.Host != c.base.Host || u.Scheme != c.base.Scheme {
		return nil, fmt.Errorf("%s: a path below it cannot be asked for", shown(c.base))
	}
	return u, nil
}

// login asks without the password first, and answers the device's challenge.
func (c *Client) login(ctx context.Context, u *url.URL, call Call) (*http.Response, error) {
	resp, err := c.ask(ctx, u, call, "")
	for try := range 2 {
		if err != nil || resp.StatusCode != http.StatusUnauthorized || c.secrets.User == "" {
			return resp, err
		}
		ch, cerr := Choose(resp.Header.Values("WWW-Authenticate"))
		if try > 0 && !ch.Stale() {
			return resp, nil
		}
		_ = resp.Body.Close() // nobody wants it
		if cerr != nil {
			return nil, cerr
		}
		resp, err = c.ask(ctx, u, call, c.secrets.Answer(call.method(), ch, u.RequestURI(), rand.Text()))
	}
	return resp, err
}

func (c Call) method() string {
	if c.Method == "" {
		return http.MethodGet
	}
	return c.Method
}

func (c *Client) ask(ctx context.Context, u *url.URL, call Call, authorization string) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, call.method(), u.String(), bytes.NewReader(call.Body))
	if err != nil {
		return nil, errors.New("it cannot be asked for") // err holds the whole address
	}
	req.Header.Set("User-Agent", "messkit")
	if call.Type != "" {
		req.Header.Set("Content-Type", call.Type)
	}
	if call.Accept != "" {
		req.Header.Set("Accept", call.Accept)
	}
	switch {
	case authorization != "":
		req.Header.Set("Authorization", authorization)
	case c.header == "Authorization" && c.secrets.Token != "":
		req.Header.Set(c.header, "Bearer "+string(c.secrets.Token))
	case c.header != "" && c.secrets.Token != "":
		req.Header.Set(c.header, string(c.secrets.Token))
	}
	// Not an http.Client: it repeats whole addresses in its errors, and follows
	// redirects.
	if call.Acts {
		return c.act(ctx, req)
	}
	return c.look(ctx, req)
}

// look makes a request that changes nothing.
func (c *Client) look(ctx context.Context, req *http.Request) (*http.Response, error) {
	var reached atomic.Bool // a connection: from then on it may have heard
	ctx = httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{GotConn: func(httptrace.GotConnInfo) { reached.Store(true) }})
	resp, err := transport.RoundTrip(req.WithContext(ctx))
	if err != nil && !reached.Load() {
		return nil, drivers.NotDone(err)
	}
	return resp, err
}

func read(resp *http.Response, call Call) (Answer, error) {
	limit := call.Max
	if limit == 0 {
		limit = AnswerBytes
	}
	body, err := io.ReadAll(io.LimitReader(resp.Body, int64(limit)+1))
	if err != nil && call.Acts {
		err = drivers.Unanswered(err)
	}
	if err != nil {
		return Answer{}, err
	}
	if len(body) > limit {
		return Answer{}, fmt.Errorf("its answer has more than %d bytes", limit)
	}
	return Answer{Type: resp.Header.Get("Content-Type"), Body: body}, nil
}

// explain says which device it was, and of a context that ended why it did.
func (c *Client) explain(ctx context.Context, u *url.URL, call Call, err error) error {
	why := c.reason(ctx, u, call, err)
	if errors.Is(err, drivers.ErrMayAct) {
		return drivers.Unanswered(why)
	}
	return why
}

func (c *Client) reason(ctx context.Context, u *url.URL, call Call, err error) error {
	_, untrusted := errors.AsType[*tls.CertificateVerificationError](err)
	cause := context.Cause(ctx)
	slow := errors.Is(cause, errSlow) || cause == nil && errors.Is(err, errSlow) // the call's own end, a moment before that of ctx
	switch {
	case slow && errors.Is(err, drivers.ErrNothingDone):
		return drivers.NotDone(fmt.Errorf("%s does not answer in %v; is it switched on, and in this network?", shown(u), c.timeout))
	case slow && call.Acts:
		return fmt.Errorf("no answer from %s in %v, though it may have heard; look at the device", shown(u), c.timeout)
	case slow:
		return fmt.Errorf("no answer from %s in %v; look at the device", shown(u), c.timeout)
	case cause != nil && errors.Is(err, drivers.ErrNothingDone):
		return drivers.NotDone(cause)
	case cause != nil:
		return cause
	case untrusted:
		return fmt.Errorf("%w; let this machine trust the certificate of %s, or use http in a network of your own", err, u.Host)
	}
	if errors.Is(err, drivers.ErrNothingDone) {
		return fmt.Errorf("%s: %w; is it switched on and in this network, and is url right?", shown(u), err)
	}
	return fmt.Errorf("%s: %w", shown(u), err)
}

// shown is an address as it may stand in an error: the query may hold secrets.
func shown(u *url.URL) string {
	return (&url.URL{Scheme: u.Scheme, Host: u.Host, Path: u.Path}).String()
}

func (c *Client) refused(u *url.URL, status int, body []byte) error {
	return &StatusError{Where: shown(u), Status: status, Says: c.words(body), Advice: c.advice(status), Body: body}
}

func (c *Client) advice(status int) string {
	switch {
	case status == http.StatusUnauthorized || status == http.StatusForbidden:
		return c.howToLogIn()
	case status >= 300 && status < 400:
		return "it wants to lead elsewhere, and is not followed: set url to where it leads"
	case status == http.StatusNotFound:
		return "it has nothing there: is url that of the device, and the device of this kind?"
	case status == http.StatusConflict:
		return "it cannot do that as it stands now: look at what it is doing"
	case status >= 500:
		return "the device has a fault: look at its log, restart it"
	}
	return "it does not take that: is it of this kind, and its firmware new enough?"
}

// howToLogIn is what to do where a log-in is wanted, by what was configured.
func (c *Client) howToLogIn() string {
	switch {
	case c.secrets.User == "" && c.secrets.Token == "":
		return "it wants a log-in: set token_file, or username and password_file"
	case c.secrets.User == "":
		return "it refuses the log-in: check the token, and what it may do"
	case c.secrets.Token == "":
		return "it refuses the log-in: check username and password"
	}
	return "it refuses the log-in: check username and password, and the token"
}

// words are the first words of a refusal that is no page of HTML, and holds no
// secret.
func (c *Client) words(body []byte) string {
	s := strings.Join(strings.Fields(strings.ToValidUTF8(string(body), " ")), " ")
	for _, secret := range []drivers.Secret{c.secrets.Password, c.secrets.Token} {
		if secret != "" && strings.Contains(s, string(secret)) {
			return ""
		}
	}
	if strings.HasPrefix(s, "<") {
		return ""
	}
	runes := []rune(s)
	return string(runes[:min(len(runes), saysRunes)])
}
