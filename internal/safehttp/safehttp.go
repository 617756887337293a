// Package safehttp makes HTTP clients for addresses that come from other parties. It checks the IP
// address of each connection, after the resolution of the host name. It does not know the
// requests.
package safehttp

import (
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"syscall"
	"time"
)

// Config of a client.
type Config struct {
	// Check returns an error if the client must not connect to an address. The client calls it
	// before each connection.
	Check func(netip.Addr) error
	// Connect is the timeout of the TCP connection, and also that of the TLS handshake.
	Connect time.Duration
	// Total is the timeout of a request with its answer; 0 leaves it to the context of the
	// request.
	Total time.Duration
	// TLS is nil for TLS 1.2 or later with the root certificates of the system.
	TLS *tls.Config
}

// Client returns a client that follows no redirect. It uses no proxy, because Check would see
// only the address of the proxy.
func Client(cfg Config) *http.Client {
	control := func(_, addr string, _ syscall.RawConn) error {
		ap, err := netip.ParseAddrPort(addr)
		if err != nil {
			return err
		}
		return cfg.Check(ap.Addr())
	}
	secure := cfg.TLS
	if secure == nil {
		secure = &tls.Config{MinVersion: tls.VersionTLS12}
	}
	dialer := &net.Dialer{Timeout: cfg.Connect, Control: control}
	return &http.Client{
		Timeout: cfg.Total,
		Transport: &http.Transport{
			DialContext: dialer.DialContext, IdleConnTimeout: 4 * time.Second, MaxIdleConnsPerHost: 1, TLSHandshakeTimeout: cfg.Connect,
			TLSClientConfig: secure, MaxResponseHeaderBytes: 64 << 10, DisableCompression: true,
		},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

// Send sends a request and drops the body of the answer. The error does not contain the address,
// because that can contain a secret.
func Send(c *http.Client, req *http.Request) (*http.Response, error) {
	res, err := c.Do(req)
	if u, ok := errors.AsType[*url.Error](err); ok {
		if err = u.Err; u.Timeout() {
			err = errors.New("no answer in time")
		}
	}
	if err != nil {
		return nil, err
	}
	defer res.Body.Close()
	_, _ = io.CopyN(io.Discard, res.Body, 4<<10) // so that the client can use the connection again
	return res, nil
}

// special returns networks without hosts on the public internet (IANA special-purpose address
// registries), in addition to those that netip knows.
func special() []netip.Prefix {
	return []netip.Prefix{
		netip.MustParsePrefix("0.0.0.0/8"), netip.MustParsePrefix("100.64.0.0/10"), netip.MustParsePrefix("192.0.0.0/24"),
		netip.MustParsePrefix("192.88.99.0/24"), netip.MustParsePrefix("198.18.0.0/15"), netip.MustParsePrefix("240.0.0.0/4"),
		netip.MustParsePrefix("::/96"), netip.MustParsePrefix("64:ff9b::/96"), netip.MustParsePrefix("64:ff9b:1::/48"),
		netip.MustParsePrefix("2001::/23"), netip.MustParsePrefix("2002::/16"), netip.MustParsePrefix("fec0::/10"),
	}
}

// Plain returns an address without its zone, and an IPv4-mapped IPv6 address as IPv4.
func Plain(ip netip.Addr) netip.Addr { return ip.Unmap().WithZone("") }

// Public reports whether an address belongs to a host on the public internet.
func Public(ip netip.Addr) bool {
	ip = Plain(ip)
	return ip.IsGlobalUnicast() && !ip.IsPrivate() && !In(ip, special())
}

// In reports whether an address is in one of the networks.
func In(ip netip.Addr, nets []netip.Prefix) bool {
	return slices.ContainsFunc(nets, func(p netip.Prefix) bool { return p.Contains(Plain(ip)) })
}
