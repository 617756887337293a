package httpapi

import (
	"crypto/subtle"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/messkit/messkit/exchange"
	"github.com/messkit/messkit/exchange/keys"
	"github.com/messkit/messkit/mess"
)

// authenticate finds out who speaks, and whether they may speak to this
// exchange at all.
func (c *caller) authenticate(exchangeID string) error {
	who, key, err := c.identify()
	if err != nil {
		return err
	}
	if exchangeID != c.x.ID() {
		return mess.Errorf(mess.Forbidden, "this key is not for the exchange %q", exchangeID)
	}
	c.who, c.key = who, key
	c.x.MarkAlive(who)
	c.noteModel()
	return c.spendRate(who)
}

// caller is who holds the key that came along.
func (c *caller) identify() (exchange.Actor, string, error) {
	if c.cfg.SessionKey != nil && c.r.Header.Get("Authorization") == "" {
		if key := c.cfg.SessionKey(c.r); key != "" {
			if err := c.checkOwnPage(); err != nil {
				return exchange.Actor{}, "", err
			}
			who, err := c.keys.Authenticate(key)
			c.session = err == nil
			return who, key, err
		}
	}
	scheme, key, _ := strings.Cut(c.r.Header.Get("Authorization"), " ")
	if !strings.EqualFold(scheme, "Bearer") || key == "" {
		return exchange.Actor{}, "", mess.Errorf(mess.Unauthorized, "a key is missing; send Authorization: Bearer KEY")
	}
	key = strings.TrimSpace(key)
	who, err := c.keys.Authenticate(key)
	return who, key, err
}

// checkOwnPage refuses what a page of somebody else has a signed-in browser send,
// also one on another port of the same host, to which the cookie goes as well.
func (c *caller) checkOwnPage() error {
	reads := c.r.Method == http.MethodGet || c.r.Method == http.MethodHead
	switch c.r.Header.Get("Sec-Fetch-Site") {
	case "same-origin":
		return nil
	case "none": // an address that a person has typed
		if reads {
			return nil
		}
	case "": // a browser that does not say, or an address in plain text
		if reads || c.r.Header.Get("Origin") != "" && !c.isForeignPage() {
			return nil
		}
	}
	return &httpError{http.StatusForbidden, "only a page of this exchange may use that a browser is signed in here; send a key instead"}
}

func (c *caller) isCallerOperator() bool {
	who, _, err := c.identify()
	return err == nil && who.Has(exchange.Operator)
}

// checkHost keeps a web page from reaching a door on this machine under a name
// of its own (DNS rebinding).
func (c *transport) checkHost() error {
	host, ok := hostOf(c.r.Host)
	if !ok {
		return &httpError{http.StatusBadRequest, "Host: " + truncate(c.r.Host) + " is not a name and a port"}
	}
	named := func(name string) bool { return strings.EqualFold(name, host) }
	if isAddressOrLocalhost(host) || slices.ContainsFunc(c.cfg.Hosts, named) || !loopback(c.localAddr()) {
		return nil
	}
	return &httpError{http.StatusForbidden, "the name " + host + " is not known here; use the address, or configure the name"}
}

// hostOf is the name or address in a Host header, in small letters. It reports false
// for one whose port is no number: another server may take that for a part of the name.
func hostOf(header string) (host string, ok bool) {
	host = header
	if h, port, err := net.SplitHostPort(header); err == nil {
		if _, err := strconv.ParseUint(port, 10, 16); err != nil && port != "" {
			return "", false
		}
		host = h
	} else if strings.Contains(header, ":") && !strings.HasSuffix(header, "]") {
		if _, err := netip.ParseAddr(header); err != nil {
			return "", false
		}
	}
	return strings.ToLower(strings.TrimSuffix(host, ".")), true
}

// isAddressOrLocalhost reports whether a host is an address or localhost.
func isAddressOrLocalhost(host string) bool {
	_, err := netip.ParseAddr(strings.Trim(host, "[]"))
	return err == nil || host == "localhost"
}

func (c *transport) localAddr() string {
	if a, ok := c.r.Context().Value(http.LocalAddrContextKey).(net.Addr); ok {
		return a.String()
	}
	return ""
}

func loopback(addr string) bool {
	a, err := netip.ParseAddrPort(addr)
	return err == nil && a.Addr().Unmap().IsLoopback()
}

// How often somebody may be wrong about the enrolment code, for all of them
// together: a code that a person can type is short.
const (
	guessEvery = 10 * time.Second
	guessBurst = 5
)

// authorizeRegistration lets in a process of the exchange's own user on this machine and root,
// but no web page, whoever has an operator's key, and who has an enrollment code, with
// what the code grants. A code that is not good is told there too: who sends one means
// another exchange, or an earlier day. failed is called if the registration comes to
// nothing: then a code that is good once stays good.
func (c *caller) authorizeRegistration(id, code string) (g keys.Grant, failed func(), err error) {
	failed = func() {}
	all := keys.Grant{Roles: exchange.Requester | exchange.ExecutorRole}
	here := c.isLocalUser()
	if code == "" && (here || c.isCallerOperator()) {
		return all, failed, nil
	}
	if code == "" {
		return g, failed, mess.Errorf(mess.Forbidden, "registering from elsewhere needs an enrolment code, as enrol, and so does another user of this machine; messkit keys enrol at the exchange shows one")
	}
	c.guessing.Lock() // else many at once would have more guesses
	defer c.guessing.Unlock()
	if c.guesses.Tokens() < 1 {
		return g, failed, c.tooMany(guessEvery, "too many wrong enrolment codes")
	}
	if c.cfg.EnrollmentCode != "" && subtle.ConstantTimeCompare([]byte(code), []byte(c.cfg.EnrollmentCode)) == 1 {
		if len(c.cfg.EnrollmentCapabilities) > 0 {
			all.Capabilities = c.cfg.EnrollmentCapabilities
		}
		return all, failed, nil
	}
	if g, back, ok := c.keys.Redeem(code, id); ok {
		return g, back, nil
	}
	c.guesses.Allow()
	if here {
		return g, failed, mess.Errorf(mess.Forbidden, "enrol: this is not an enrolment code of the exchange, or it has been used or is over; on its own machine none is needed: leave it out, if this is the exchange that was meant")
	}
	return g, failed, mess.Errorf(mess.Forbidden, "this is not an enrolment code of the exchange, or it has been used or is over; messkit keys enrol there shows a new one")
}

// isProxied reports whether a proxy on this machine sends this for somebody
// else.
func (c *transport) isProxied() bool {
	for name := range c.r.Header {
		if strings.HasPrefix(name, "X-Forwarded") || slices.Contains([]string{"Forwarded", "X-Real-Ip", "Via"}, name) {
			return true
		}
	}
	return false
}

// isForeignPage reports whether a browser sends this for a page of somebody else: it says
// so, or the origin is not exactly one of this door.
func (c *transport) isForeignPage() bool {
	switch c.r.Header.Get("Sec-Fetch-Site") {
	case "", "same-origin", "none":
	default:
		return true
	}
	origin := c.r.Header.Get("Origin")
	return origin != "" && origin != "http://"+c.r.Host && origin != "https://"+c.r.Host
}
