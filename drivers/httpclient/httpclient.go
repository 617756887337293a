// Package httpclient sends HTTP requests to one device: with a time limit, with bounded answers,
// and without redirects, proxies or decompression. It logs in with Basic (RFC 7617), Digest
// (RFC 7616), a header or a bearer token, and sends these secrets only to that device.
//
// It knows no device.
package httpclient

import (
	"bytes"
	"cmp"
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
	headerBytes = 64 << 10 // limit for the headers of an answer
	// AnswerBytes is the default size limit for an answer.
	AnswerBytes = 1 << 20
	quoteRunes  = 100 // length of the quotation from an error answer
)

// Call is one request to a device.
type Call struct {
	Method string // default: GET
	Path   string // path below the address of the device, with its query; escaped
	Type   string // media type of Body
	Body   []byte
	Max    int    // size limit for the answer in bytes; 0: AnswerBytes
	Accept string // default: any type
	Acts   bool   // the call changes the device: later commands wait for its answer
}

// Answer is an answer with a status from 200 to 299.
type Answer struct {
	Type string
	Body []byte
}

// StatusError reports an answer with another status.
type StatusError struct {
	Where  string // address of the request, without its query
	Status int
	Says   string // first words of the answer
	Advice string
	Body   []byte // the whole answer
}

func (e *StatusError) Error() string {
	body := ""
	if e.Says != "" {
		body = fmt.Sprintf(" (%q)", e.Says)
	}
	return fmt.Sprintf("%s answers %d%s; %s", e.Where, e.Status, body, e.Advice)
}

// Is reports whether the status means that the device did nothing (RFC 9110 §15.5, and
// §15.4 because the client does not follow redirects).
func (e *StatusError) Is(target error) bool {
	return target == drivers.ErrNothingDone && e.Status >= 300 && e.Status < 500
}

// Client sends requests to one device. It keeps no connection open. It is safe for
// concurrent use.
type Client struct {
	timeout     time.Duration // limit for one call
	base        *url.URL
	header      string // header of the token: X-Api-Key, Authorization; "" for none
	secrets     Secrets
	unconfirmed unconfirmedCalls
}

// transport serves all devices. It keeps no connections, so it stores no state of a device.
var transport = &http.Transport{
	DialContext:            (&net.Dialer{}).DialContext,
	TLSClientConfig:        &tls.Config{MinVersion: tls.VersionTLS12},
	MaxResponseHeaderBytes: headerBytes,
	DisableCompression:     true,
	DisableKeepAlives:      true, // after a dead connection it would be unknown whether the device received the call
}

// New returns a client for a valid configuration. It sends the token, if there is one, in
// header; in Authorization it is a bearer token (RFC 6750).
func New(cfg Config, header string) (*Client, error) {
	s, err := cfg.Secrets()
	if err != nil {
		return nil, err
	}
	base, err := url.Parse(cfg.URL)
	if err != nil {
		return nil, errors.New("url: is invalid") // err contains the whole address
	}
	return &Client{timeout: cfg.Timeout, base: base, header: header, secrets: s}, nil
}

// Host returns the host and port of the device.
func (c *Client) Host() string { return c.base.Host }

// Secrets returns the login values of the client.
func (c *Client) Secrets() Secrets { return c.secrets }

// errSlow is the cause of a context that ended by the configured timeout.
var errSlow = errors.New("timeout")

// Do sends a request. An error that is drivers.ErrNothingDone means that the device has not
// received or has rejected it; after any other error the device may have executed it. The
// error of an unanswered command is drivers.ErrMayAct.
func (c *Client) Do(ctx context.Context, call Call) (Answer, error) {
	u, err := c.url(call.Path)
	if err != nil {
		return Answer{}, err
	}
	if call.Acts {
		if err := c.WaitTurn(ctx); err != nil {
			return Answer{}, c.explain(ctx, u, call, drivers.MarkNothingDone(err))
		}
	}
	ctx, cancel := context.WithTimeoutCause(ctx, c.timeout, errSlow) // starts after the wait for earlier commands
	defer cancel()
	resp, err := c.login(ctx, u, call)
	if err != nil {
		return Answer{}, c.explain(ctx, u, call, err)
	}
	defer func() { _ = resp.Body.Close() }() // read has reported read errors
	a, err := read(resp, call)
	if err != nil {
		return Answer{}, c.explain(ctx, u, call, err)
	}
	if resp.StatusCode == http.StatusGatewayTimeout && call.Acts { // a proxy has forwarded the command
		return Answer{}, drivers.MarkMayAct(c.refused(u, resp.StatusCode, a.Body))
	}
	if resp.StatusCode < 200 || resp.StatusCode > 299 {
		return Answer{}, c.refused(u, resp.StatusCode, a.Body)
	}
	return a, nil
}

// photoBytes is the size limit for an image.
const photoBytes = 16 << 20

// Photo requests an image at the time at. wrong is the error of an answer that is neither
// JPEG nor PNG.
func (c *Client) Photo(ctx context.Context, call Call, at time.Time, wrong string) (drivers.Photo, error) {
	call.Max = photoBytes
	a, err := c.Do(ctx, call)
	if err != nil {
		return drivers.Photo{}, err
	}
	mime := http.DetectContentType(a.Body)
	if mime != "image/jpeg" && mime != "image/png" {
		return drivers.Photo{}, errors.New(wrong)
	}
	return drivers.Photo{Data: a.Body, MIME: mime, CapturedAt: at}, nil
}

func (c *Client) url(path string) (*url.URL, error) {
	u, err := url.Parse(strings.TrimSuffix(c.base.String(), "/") + path)
	if err != nil || u.Host != c.base.Host || u.Scheme != c.base.Scheme {
		return nil, fmt.Errorf("%s: invalid path below this address", shown(c.base))
	}
	return u, nil
}

// login sends the request without the password first, and answers the challenge of the
// device.
func (c *Client) login(ctx context.Context, u *url.URL, call Call) (*http.Response, error) {
	resp, err := c.ask(ctx, u, call, "")
	for try := range 2 {
		if err != nil || resp.StatusCode != http.StatusUnauthorized || c.secrets.User == "" {
			return resp, err
		}
		ch, cerr := ChooseChallenge(resp.Header.Values("WWW-Authenticate"))
		if try > 0 && !ch.Stale() {
			return resp, nil
		}
		_ = resp.Body.Close() // the body has no reader
		if cerr != nil {
			return nil, cerr
		}
		resp, err = c.ask(ctx, u, call, c.secrets.Answer(call.method(), ch, u.RequestURI(), rand.Text()))
	}
	return resp, err
}

func (c Call) method() string { return cmp.Or(c.Method, http.MethodGet) }

func (c *Client) ask(ctx context.Context, u *url.URL, call Call, authorization string) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, call.method(), u.String(), bytes.NewReader(call.Body))
	if err != nil {
		return nil, errors.New("invalid request") // err contains the whole address
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
	// http.Client is unsuitable: its errors contain whole addresses, and it follows
	// redirects.
	if call.Acts {
		return c.act(ctx, req)
	}
	return c.look(ctx, req)
}

// look sends a request that changes nothing.
func (c *Client) look(ctx context.Context, req *http.Request) (*http.Response, error) {
	var reached atomic.Bool // a connection exists, so the device may have received the request
	ctx = httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{GotConn: func(httptrace.GotConnInfo) { reached.Store(true) }})
	resp, err := transport.RoundTrip(req.WithContext(ctx))
	if err != nil && !reached.Load() {
		return nil, drivers.MarkNothingDone(err)
	}
	return resp, err
}

func read(resp *http.Response, call Call) (Answer, error) {
	limit := cmp.Or(call.Max, AnswerBytes)
	body, err := io.ReadAll(io.LimitReader(resp.Body, int64(limit)+1))
	if err != nil && call.Acts {
		err = drivers.MarkMayAct(err)
	}
	if err != nil {
		return Answer{}, err
	}
	if len(body) > limit {
		return Answer{}, fmt.Errorf("the answer of the device has more than %d bytes", limit)
	}
	return Answer{Type: resp.Header.Get("Content-Type"), Body: body}, nil
}

// explain adds the address of the device to an error, and the reason if the context has
// ended.
func (c *Client) explain(ctx context.Context, u *url.URL, call Call, err error) error {
	explained := c.reason(ctx, u, call, err)
	if errors.Is(err, drivers.ErrMayAct) {
		return drivers.MarkMayAct(explained)
	}
	return explained
}

func (c *Client) reason(ctx context.Context, u *url.URL, call Call, err error) error {
	_, untrusted := errors.AsType[*tls.CertificateVerificationError](err)
	cause := context.Cause(ctx)
	slow := errors.Is(cause, errSlow) || cause == nil && errors.Is(err, errSlow) // the timeout of the call expired a moment before that of ctx
	switch {
	case slow && errors.Is(err, drivers.ErrNothingDone):
		return drivers.MarkNothingDone(fmt.Errorf("%s does not answer in %v; check that the device is on and in this network", shown(u), c.timeout))
	case slow && call.Acts:
		return fmt.Errorf("no answer from %s in %v, but the device may have received the command; inspect the device", shown(u), c.timeout)
	case slow:
		return fmt.Errorf("no answer from %s in %v; inspect the device", shown(u), c.timeout)
	case cause != nil && errors.Is(err, drivers.ErrNothingDone):
		return drivers.MarkNothingDone(cause)
	case cause != nil:
		return cause
	case untrusted:
		return fmt.Errorf("%w; add the certificate of %s to the trusted certificates of this host, or use http in your own network", err, u.Host)
	}
	if errors.Is(err, drivers.ErrNothingDone) {
		return fmt.Errorf("%s: %w; check that the device is on and in this network, and that url is right", shown(u), err)
	}
	return fmt.Errorf("%s: %w", shown(u), err)
}

// shown returns an address without its query, because an error must not contain secrets.
func shown(u *url.URL) string {
	return (&url.URL{Scheme: u.Scheme, Host: u.Host, Path: u.Path}).String()
}

func (c *Client) refused(u *url.URL, status int, body []byte) error {
	return &StatusError{Where: shown(u), Status: status, Says: c.quote(body), Advice: c.advice(status), Body: body}
}

func (c *Client) advice(status int) string {
	switch {
	case status == http.StatusUnauthorized || status == http.StatusForbidden:
		return c.howToLogIn()
	case status >= 300 && status < 400:
		return "the device redirects, and messkit does not follow: set url to the target"
	case status == http.StatusNotFound:
		return "the device has no such page: check url and the type of the device"
	case status == http.StatusConflict:
		return "the device is in a state that does not allow this: check its present task"
	case status >= 500:
		return "the device has a fault: read its log, restart it"
	}
	return "the device rejects the request: check its type and the version of its firmware"
}

// howToLogIn returns the remedy for a rejected login, depending on the configuration.
func (c *Client) howToLogIn() string {
	switch {
	case c.secrets.User == "" && c.secrets.Token == "":
		return "the device requires a login: set token_file, or username and password_file"
	case c.secrets.User == "":
		return "the device rejects the login: check the token and its permissions"
	case c.secrets.Token == "":
		return "the device rejects the login: check username and password"
	}
	return "the device rejects the login: check username and password, and the token"
}

// quote returns the first words of an error answer, or "" if the answer is HTML or contains
// a secret.
func (c *Client) quote(body []byte) string {
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
	return string(runes[:min(len(runes), quoteRunes)])
}
