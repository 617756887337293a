package httpclient

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/messkit/messkit/mess"
)

// Request is one HTTP request.
type Request struct {
	Method string
	URL    string // see Address
	MIME   string
	Body   []byte
	Head   http.Header
	limit  time.Duration // maximum time without progress; 0: the client's timeout
	stream bool          // the limit ends with the response header
}

// Address returns the URL of a path below the exchange.
func (c *Client) Address(ctx context.Context, query url.Values, path ...string) (string, error) {
	id, err := c.Exchange(ctx)
	if err != nil {
		return "", err
	}
	var b strings.Builder
	b.WriteString(c.base + "/api/v1/exchanges/" + url.PathEscape(id))
	for _, p := range path {
		// Names come from messages of other actors, and a proxy may normalize paths.
		if p == "" || p == "." || p == ".." {
			return "", mess.Errorf(mess.NotFound, "there is nothing with the name %q", p)
		}
		b.WriteString("/" + url.PathEscape(p))
	}
	if len(query) > 0 {
		b.WriteString("?" + query.Encode())
	}
	return b.String(), nil
}

// errSilent cancels a request without progress for its limit.
var errSilent = errors.New("silent")

// Call sends a request and returns a successful response; the caller closes its body. Other
// responses are a *mess.Error. Its Code is mess.Unavailable if the server did not respond, or
// did not respond as an exchange. If ctx ended, Call returns its cause. If the exchange rejects
// the key, Call rereads it and tries once more.
func (c *Client) Call(ctx context.Context, r Request) (*http.Response, error) {
	by := c.credentials()
	res, err := c.sendAs(ctx, by, r)
	if errors.Is(err, mess.Unauthorized) && c.renewed(by) {
		return c.sendAs(ctx, c.credentials(), r)
	}
	return res, err
}

func (c *Client) sendAs(ctx context.Context, by *credentials, r Request) (*http.Response, error) {
	if r.limit == 0 {
		r.limit = c.timeout
	}
	rctx, cancel := context.WithCancelCause(ctx)
	m := &moving{limit: r.limit, timer: time.AfterFunc(r.limit, func() { cancel(errSilent) })}
	end := func() { m.timer.Stop(); cancel(nil) }
	res, err := c.do(rctx, by, r, m)
	if err != nil {
		err = c.unavailable(rctx, r.limit, "cannot be reached", err)
		end()
		return nil, err
	}
	if r.stream {
		m.timer.Stop() // for good: the reader of the stream has its own timeout
	}
	res.Body = &body{ReadCloser: res.Body, moving: m, end: end, describe: func(err error) error {
		return c.unavailable(rctx, r.limit, "has cut off its answer", err)
	}}
	if res.StatusCode/100 == 2 || res.StatusCode == http.StatusNotModified && r.Head.Get("If-None-Match") != "" {
		return res, nil
	}
	defer res.Body.Close()
	return nil, c.refusal(res)
}

// do sends a request. Progress of its body restarts the timer of m.
func (c *Client) do(ctx context.Context, by *credentials, r Request, m *moving) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, r.Method, r.URL, nil)
	if err != nil {
		return nil, err
	}
	for k, v := range r.Head {
		req.Header[k] = v
	}
	req.Header.Set("User-Agent", "messkit")
	if pid := person(ctx); pid != "" {
		req.Header.Set(terminalHeader, pid)
	}
	if c.model {
		req.Header.Set(modelHeader, "1")
	}
	by.sign(req.Header)
	if r.Body != nil {
		req.Header.Set("Content-Type", r.MIME)
		req.ContentLength = int64(len(r.Body))
		req.GetBody = func() (io.ReadCloser, error) {
			return &body{ReadCloser: io.NopCloser(bytes.NewReader(r.Body)), moving: m}, nil
		}
		if req.Body, err = req.GetBody(); err != nil {
			return nil, err
		}
	}
	return c.http.Do(req)
}

// moving cancels a request that makes no progress. A slow connection makes progress.
type moving struct {
	limit time.Duration
	timer *time.Timer
}

func (m *moving) moved() {
	if m != nil && m.timer.Stop() { // a timer that has fired stays so
		m.timer.Reset(m.limit)
	}
}

// body is a body in transit. Close ends the request's context.
type body struct {
	io.ReadCloser
	moving   *moving
	end      func()
	describe func(error) error // describes a broken body
}

func (b *body) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	b.moving.moved()
	if err != nil && err != io.EOF && b.describe != nil {
		err = b.describe(err)
	}
	return n, err
}

func (b *body) Close() error {
	if b.end != nil {
		defer b.end()
	}
	return b.ReadCloser.Close()
}

// unavailable describes why there is no complete response.
func (c *Client) unavailable(ctx context.Context, limit time.Duration, what string, err error) error {
	cause := context.Cause(ctx)
	switch {
	case errors.Is(cause, errSilent):
		err = fmt.Errorf("no answer within %v", limit)
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		err = errors.New("no answer in time")
	case cause != nil:
		return fmt.Errorf("the exchange at %s: %w", c.name, cause)
	}
	if certificateErr := untrusted(err); certificateErr != nil {
		return classified{mess.Errorf(mess.Unavailable, "the exchange at %s %s: %v", c.name, what, certificateErr), ErrUntrusted}
	}
	if u, ok := errors.AsType[*url.Error](err); ok {
		err = u.Err // the text of u has the whole address, with the query
	}
	if errors.Is(err, http.ErrSchemeMismatch) {
		err = errors.New("it speaks no TLS; write http:// in its address, or have it speak TLS (exchange: tls: self)")
	}
	return mess.Errorf(mess.Unavailable, "the exchange at %s %s: %v", c.name, what, err)
}

// decode reads a JSON answer and closes it.
func decode(res *http.Response, v any) error {
	defer res.Body.Close()
	data, err := io.ReadAll(io.LimitReader(res.Body, maxAnswer+1))
	switch {
	case err != nil:
		return err
	case len(data) > maxAnswer:
		return mess.Errorf(mess.TooLarge, "the answer is larger than %d bytes", maxAnswer)
	}
	if err := json.Unmarshal(data, v); err != nil {
		return mess.Errorf(mess.Unavailable, "the answer is not what an exchange says: %v; is this the right address?", err)
	}
	return nil
}

// get reads a path below the exchange.
func (c *Client) get(ctx context.Context, v any, query url.Values, path ...string) error {
	u, err := c.Address(ctx, query, path...)
	if err != nil {
		return err
	}
	return c.Fetch(ctx, Request{Method: http.MethodGet, URL: u}, v)
}

// Fetch does a request and reads the answer, which is JSON.
func (c *Client) Fetch(ctx context.Context, r Request, v any) error {
	res, err := c.Call(ctx, r)
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
	u, err := c.Address(ctx, nil, path...)
	if err != nil {
		return err
	}
	return c.Fetch(ctx, Request{Method: http.MethodPost, URL: u, MIME: "application/json", Body: text}, out)
}
