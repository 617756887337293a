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

	"github.com/messkit/messkit/drivers/httpclient"
)

const (
	maxHops     = 5        // limit for redirects; browsers allow 20, cameras need one
	answerBytes = 64 << 10 // limit for the headers of an answer
	drainBytes  = 16 << 10 // limit for an unused body, to keep the connection
)

// fetcher sends the requests for one image. It stores nothing for the next image.
type fetcher struct {
	rt       *http.Transport
	account  httpclient.Account
	home     *url.URL // only this origin gets the password
	answered bool     // the server has answered
}

// newFetcher returns a fetcher without proxies, because they would see the password, and
// without decompression, because a small answer could become very large.
func newFetcher(home *url.URL, a httpclient.Account) *fetcher {
	return &fetcher{account: a, home: home, rt: &http.Transport{
		DialContext:            (&net.Dialer{}).DialContext,
		TLSClientConfig:        &tls.Config{MinVersion: tls.VersionTLS12},
		MaxResponseHeaderBytes: answerBytes,
		DisableCompression:     true,
	}}
}

func (f *fetcher) close() { f.rt.CloseIdleConnections() }

// get requests u, follows redirects, and returns the answer with status 200. Its URL is in
// Request.
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
	return nil, fmt.Errorf("%s: more than %d redirects; set url to their target", shown(u), maxHops)
}

func redirects(resp *http.Response) bool {
	switch resp.StatusCode {
	case http.StatusMovedPermanently, http.StatusFound, http.StatusSeeOther,
		http.StatusTemporaryRedirect, http.StatusPermanentRedirect:
		return true
	}
	return false
}

// target returns the address of a redirect, without a user name.
func target(resp *http.Response) (*url.URL, error) {
	next, err := resp.Location()
	if err != nil || next.Host == "" || next.Scheme != "http" && next.Scheme != "https" {
		return nil, fmt.Errorf("%s: redirects to an address that is neither http nor https; set url to the image itself", shown(resp.Request.URL))
	}
	next.User, next.Fragment = nil, ""
	return next, nil
}

// login sends the request without the password first, and answers a challenge from the
// origin of url only.
func (f *fetcher) login(ctx context.Context, u *url.URL) (*http.Response, error) {
	resp, err := f.ask(ctx, u, "")
	for try := range 2 {
		if err != nil || resp.StatusCode != http.StatusUnauthorized || f.account.User == "" || !sameOrigin(u, f.home) {
			return resp, err
		}
		c, cerr := httpclient.ChooseChallenge(resp.Header.Values("WWW-Authenticate"))
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
		return nil, fmt.Errorf("%s: invalid request", shown(u)) // err contains the whole address
	}
	req.Header.Set("Accept", "multipart/x-mixed-replace, image/jpeg, image/png, */*;q=0.1")
	req.Header.Set("Cache-Control", "no-cache, no-store")
	req.Header.Set("Pragma", "no-cache")
	req.Header.Set("User-Agent", "messkit-httpcam")
	if authorization != "" {
		req.Header.Set("Authorization", authorization)
	}
	// http.Client is unsuitable: its errors contain whole addresses, and it has other rules
	// for redirects.
	resp, err := f.rt.RoundTrip(req)
	if err != nil {
		return nil, unreachable(u, err)
	}
	f.answered = true
	return resp, nil
}

func unreachable(u *url.URL, err error) error {
	if _, ok := errors.AsType[*tls.CertificateVerificationError](err); ok {
		return fmt.Errorf("%w; add the certificate of %s to the trusted certificates of this host, or use http in your own network", err, u.Host)
	}
	return fmt.Errorf("%w; check that %s is reachable", err, shown(u))
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

// drain reads and closes an unused body. Its errors do not matter.
func drain(resp *http.Response) {
	_, _ = io.CopyN(io.Discard, resp.Body, drainBytes)
	_ = resp.Body.Close()
}

// shown returns an address without user and query, because an error must not contain
// secrets.
func shown(u *url.URL) string {
	return (&url.URL{Scheme: u.Scheme, Host: u.Host, Path: u.Path}).String()
}

// check returns an error with a remedy for each status except 200.
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
		return "this server is not the server of url, and does not get the password; if it is yours, set url to it"
	case code == http.StatusUnauthorized && f.account.User == "":
		return "the camera requires a login: set username and password"
	case code == http.StatusUnauthorized:
		return "the camera rejects the login: check username and password"
	case code == http.StatusForbidden:
		return "the user has no permission for this image: grant it in the camera, and check the list of allowed addresses"
	case code == http.StatusNotFound:
		return "the camera has no such page: see the manual of the camera for the path of the snapshot or stream"
	case code == http.StatusTooManyRequests:
		return "the camera receives too many requests: send fewer, or close other viewers"
	case code >= 500:
		return "the camera has a fault: read its log, close other viewers, restart it"
	}
	return "the answer is not an image: open the address in a browser"
}
