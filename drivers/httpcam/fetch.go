package httpcam

import (
	"context"
	"crypto/rand"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"

	"github.com/messkit/messkit/drivers/web"
)

const (
	maxHops     = 5        // redirects; browsers allow 20, cameras need one
	answerBytes = 64 << 10 // of the headers of an answer
	drainBytes  = 16 << 10 // of a body that nobody reads, to use the connection again
)

// fetcher gets what one picture takes. It keeps nothing for the next picture.
type fetcher struct {
	rt       *http.Transport
	account  web.Account
	home     *url.URL // the origin that the account belongs to
	answered bool     // something came back
}

// newFetcher makes one without proxies, which would see the password, and
// without decompression, which would make few bytes many.
func newFetcher(home *url.URL, a web.Account) *fetcher {
	return &fetcher{account: a, home: home, rt: &http.Transport{
		DialContext:            (&net.Dialer{}).DialContext,
		TLSClientConfig:        &tls.Config{MinVersion: tls.VersionTLS12},
		MaxResponseHeaderBytes: answerBytes,
		DisableCompression:     true,
	}}
}

func (f *fetcher) close() { f.rt.CloseIdleConnections() }

// get returns the answer of status 200 to a GET of u, over redirects. Its URL is
// in Request.
func (f *fetcher) get(ctx context.Context, u *url.URL) (*http.Response, error) {
	for range maxHops + 1 {
		resp, err := f.login(ctx, u)
		if err != nil {
			return nil, err
		}
		if !redirects(resp) {
			return f.check(resp)
		}
		next, err := target(resp)
		drain(resp)
		if err != nil {
			return nil, err
		}
		u = next
	}
	return nil, fmt.Errorf("%s: more than %d redirects; set url to where they lead", shown(u), maxHops)
}

func redirects(resp *http.Response) bool {
	switch resp.StatusCode {
	case http.StatusMovedPermanently, http.StatusFound, http.StatusSeeOther,
		http.StatusTemporaryRedirect, http.StatusPermanentRedirect:
		return true
	}
	return false
}

// target is where a redirect leads, without a user that the server may have
// put there.
func target(resp *http.Response) (*url.URL, error) {
	next, err := resp.Location()
	if err != nil || next.Host == "" || next.Scheme != "http" && next.Scheme != "https" {
		return nil, fmt.Errorf("%s: redirects to what is no web address; set url to the picture itself", shown(resp.Request.URL))
	}
	next.User, next.Fragment = nil, ""
	return next, nil
}

// login asks without the password first, and answers a challenge of the
// camera's own origin.
func (f *fetcher) login(ctx context.Context, u *url.URL) (*http.Response, error) {
	resp, err := f.ask(ctx, u, "")
	for try := range 2 {
		if err != nil || resp.StatusCode != http.StatusUnauthorized || f.account.User == "" || !sameOrigin(u, f.home) {
			return resp, err
		}
		c, cerr := web.Choose(resp.Header.Values("WWW-Authenticate"))
		if try > 0 && !c.Stale() {
			return resp, nil
		}
		drain(resp)
		if cerr != nil {
			return nil, cerr
		}
		resp, err = f.ask(ctx, u, f.account.Answer(http.MethodGet, c, u.RequestURI(), rand.Text()))
	}
	return resp, err
}

func (f *fetcher) ask(ctx context.Context, u *url.URL, authorization string) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), nil)
	if err != nil {
		return nil, fmt.Errorf("%s: cannot be asked for", shown(u)) // err holds the whole address
	}
	req.Header.Set("Accept", "multipart/x-mixed-replace, image/jpeg, image/png, */*;q=0.1")
	req.Header.Set("Cache-Control", "no-cache, no-store")
	req.Header.Set("Pragma", "no-cache")
	req.Header.Set("User-Agent", "messkit-httpcam")
	if authorization != "" {
		req.Header.Set("Authorization", authorization)
	}
	// Not an http.Client: it repeats whole addresses in its errors, and
	// follows redirects by rules of its own.
	resp, err := f.rt.RoundTrip(req)
	if err != nil {
		return nil, unreachable(u, err)
	}
	f.answered = true
	return resp, nil
}

func unreachable(u *url.URL, err error) error {
	if _, ok := errors.AsType[*tls.CertificateVerificationError](err); ok {
		return fmt.Errorf("%w; let this machine trust the certificate of %s, or use http in a network of your own", err, u.Host)
	}
	return fmt.Errorf("%w; is %s reachable?", err, shown(u))
}

// sameOrigin compares scheme, host and port.
func sameOrigin(a, b *url.URL) bool {
	return a.Scheme == b.Scheme && strings.EqualFold(a.Hostname(), b.Hostname()) && port(a) == port(b)
}

func port(u *url.URL) string {
	switch {
	case u.Port() != "":
		return u.Port()
	case u.Scheme == "https":
		return "443"
	}
	return "80"
}

// drain ends a body; whatever is wrong with it, nobody wanted it.
func drain(resp *http.Response) {
	_, _ = io.CopyN(io.Discard, resp.Body, drainBytes)
	_ = resp.Body.Close()
}

// shown is an address as it may stand in an error: the user and the query may
// hold secrets.
func shown(u *url.URL) string {
	return (&url.URL{Scheme: u.Scheme, Host: u.Host, Path: u.Path}).String()
}

// check turns every status but 200 into what to do about it.
func (f *fetcher) check(resp *http.Response) (*http.Response, error) {
	if resp.StatusCode == http.StatusOK {
		return resp, nil
	}
	drain(resp)
	return nil, fmt.Errorf("%s answers %d; %s", shown(resp.Request.URL), resp.StatusCode, f.advice(resp))
}

func (f *fetcher) advice(resp *http.Response) string {
	switch code := resp.StatusCode; {
	case code == http.StatusUnauthorized && !sameOrigin(resp.Request.URL, f.home):
		return "it is another server than that of url, and does not get the password; set url to it if it is yours"
	case code == http.StatusUnauthorized && f.account.User == "":
		return "it wants a log-in: set username and password"
	case code == http.StatusUnauthorized:
		return "it refuses the log-in: check username and password"
	case code == http.StatusForbidden:
		return "the user may not see this picture: give it that right in the camera, and look for a list of allowed addresses"
	case code == http.StatusNotFound:
		return "it has nothing there: look for the path of the snapshot or stream in the camera's manual"
	case code == http.StatusTooManyRequests:
		return "it is asked too often: ask less often, or close other viewers"
	case code >= 500:
		return "the camera has a fault: look at its log, close other viewers, restart it"
	}
	return "that is no picture: open the address in a browser and see what it gives"
}
