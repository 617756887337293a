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
	"github.com/messkit/messkit/internal/peer"
	"github.com/messkit/messkit/mess"
)

// authenticate identifies the caller and checks that the key belongs to this exchange.
func (c *caller) authenticate(exchangeID string) error {
	actor, key, err := c.identify()
	if err != nil {
		return err
	}
	if exchangeID != c.x.ID() {
		return mess.Errorf(mess.Forbidden, "this key is not for the exchange %q", exchangeID)
	}
	c.actor, c.keyActor, c.key = actor, actor, key
	if c.cfg.Copy != nil {
		c.actor = c.cfg.Copy.As(actor)
	}
	c.x.MarkAlive(actor)
	c.noteModel()
	return c.spendRate(actor)
}

// identify returns the actor of the key or session of a request.
func (c *caller) identify() (exchange.Actor, string, error) {
	if c.cfg.SessionKey != nil && c.r.Header.Get("Authorization") == "" {
		if key := c.cfg.SessionKey(c.r); key != "" {
			if err := c.checkOwnPage(); err != nil {
				return exchange.Actor{}, "", err
			}
			actor, err := c.keys.Authenticate(key)
			c.session = err == nil
			return actor, key, err
		}
	}
	scheme, key, _ := strings.Cut(c.r.Header.Get("Authorization"), " ")
	if !strings.EqualFold(scheme, "Bearer") || key == "" {
		return exchange.Actor{}, "", mess.Errorf(mess.Unauthorized, "a key is missing; send Authorization: Bearer KEY")
	}
	key = strings.TrimSpace(key)
	actor, err := c.keys.Authenticate(key)
	return actor, key, err
}

// checkOwnPage rejects requests that another page makes with the session of a browser. Pages on
// another port of the same host are such pages, because the browser sends them the cookie.
func (c *caller) checkOwnPage() error {
	reads := c.r.Method == http.MethodGet || c.r.Method == http.MethodHead
	switch c.r.Header.Get("Sec-Fetch-Site") {
	case "same-origin":
		return nil
	case "none": // a person has typed the address
		if reads {
			return nil
		}
	case "": // an old browser, or an address in plain text
		if reads || c.r.Header.Get("Origin") != "" && !c.isForeignPage() {
			return nil
		}
	}
	return &httpError{http.StatusForbidden, "only a page of this exchange may use the session of a browser; send a key instead"}
}

func (c *caller) isCallerOperator() bool {
	actor, _, err := c.identify()
	return err == nil && actor.Has(exchange.Operator)
}

// checkHost rejects unknown names of a server on this machine (DNS rebinding).
func (c *transport) checkHost() error {
	host, ok := hostOf(c.r.Host)
	if !ok {
		return &httpError{http.StatusBadRequest, "Host: " + truncate(c.r.Host) + " is not a name and a port"}
	}
	named := func(name string) bool { return strings.EqualFold(name, host) }
	if isAddressOrLocalhost(host) || slices.ContainsFunc(c.cfg.Hosts, named) || !loopback(c.localAddr()) {
		return nil
	}
	return &httpError{http.StatusForbidden, "the name " + host + " is unknown here; use the address, or configure the name"}
}

// hostOf returns the host in a Host header, in lower case. If the port is no number, ok is false,
// because another server may take the port for a part of the name.
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

// The limit of wrong enrollment codes, for all clients together. A code that a person can type
// is short.
const (
	guessEvery = 10 * time.Second
	guessBurst = 5
)

// authorizeRegistration decides whether a caller may register. It admits an operator, and a local
// process of the exchange's user or of root, but no web page. It also admits a client with an
// enrollment code, with the rights of the code. A wrong code is an error even for a local
// process, because its sender means another exchange, or an earlier day. The caller calls failed
// if the registration fails, so that a one-time code stays valid.
func (c *caller) authorizeRegistration(id, code string) (g keys.Grant, failed func(), err error) {
	failed = func() {}
	all := keys.Grant{Roles: exchange.Requester | exchange.ExecutorRole}
	here, unread := c.isLocalUser()
	if code == "" && (here || c.isCallerOperator()) {
		return all, failed, nil
	}
	if code == "" && unread != nil {
		return g, failed, mess.Errorf(mess.Unavailable, "the exchange cannot read whose process registers: %v; try again, or register with an enrollment code", unread)
	}
	if code == "" {
		return g, failed, mess.Errorf(mess.Forbidden, "registering from another machine or as another user needs an enrollment code, as enrol; run messkit keys enrol at the exchange for one")
	}
	c.guessing.Lock() // concurrent attempts would exceed the limit
	defer c.guessing.Unlock()
	if c.guesses.Tokens() < 1 {
		return g, failed, c.tooMany(guessEvery, "too many wrong enrollment codes")
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
		return g, failed, mess.Errorf(mess.Forbidden, "enrol: this enrollment code of the exchange is wrong, used or expired; a local process needs none, so leave it out if you mean this exchange")
	}
	return g, failed, mess.Errorf(mess.Forbidden, "this enrollment code of the exchange is wrong, used or expired; run messkit keys enrol there for a new one")
}

// isProxied reports whether the headers of a request name a proxy.
func (c *transport) isProxied() bool { return peer.IsProxied(c.r.Header) }

// isForeignPage reports whether a browser sends the request for another page: its headers say
// so, or the origin is not this server.
func (c *transport) isForeignPage() bool {
	switch c.r.Header.Get("Sec-Fetch-Site") {
	case "", "same-origin", "none":
	default:
		return true
	}
	origin := c.r.Header.Get("Origin")
	return origin != "" && origin != "http://"+c.r.Host && origin != "https://"+c.r.Host
}

// terminalHeader contains a process id. A local client says with it that a person has typed the
// command at the terminal of that process, and the server checks it.
const terminalHeader = "Messkit-Terminal"

// modelHeader says that a client acts for a model.
const modelHeader = "Messkit-Model"

// proof returns the proof of a person behind a call, in addition to the key.
func (c *caller) proof() exchange.Proof {
	switch {
	case c.session:
		if c.cfg.SignedInByPerson != nil && c.cfg.SignedInByPerson(c.r) {
			return exchange.OnPage
		}
	case c.r.Header.Get(terminalHeader) != "":
		err := c.checkTerminal()
		if err == nil {
			return exchange.AtTerminal
		}
		c.log().Warn("a client says that a person has typed this at a terminal, and it is not so", "actor", c.actor.ID, "remote", c.r.RemoteAddr, "err", err)
	}
	return exchange.ByKey
}

// checkTerminal checks the terminal of a client.
func (c *caller) checkTerminal() error {
	pid, err := strconv.Atoi(c.r.Header.Get(terminalHeader))
	if err != nil || pid <= 0 || c.isProxied() || c.isForeignPage() {
		return peer.ErrUnknown
	}
	return peer.Terminal(pid, c.localAddr(), c.r.RemoteAddr)
}

// isLocalUser reports whether a process of the exchange's own user or of root calls. It is
// false for other local users, proxies and foreign pages. The error says that the system did not
// list its connections just now.
func (c *transport) isLocalUser() (bool, error) {
	if c.isForeignPage() || c.isProxied() {
		return false, nil
	}
	return peer.Same(c.localAddr(), c.r.RemoteAddr)
}

// requireTerminal rejects a new key with the role operator unless a person has asked for it at
// a terminal.
func (c *caller) requireTerminal() error {
	if p := c.proof(); p == exchange.AtTerminal {
		return nil
	}
	return mess.Errorf(mess.Forbidden, "operator: only a person at a terminal of the exchange's own machine makes a key with this role; run the command there, and type the answer that it asks for")
}

// isOperator reports whether the actor with this id has the role operator.
func (c *caller) isOperator(id string) bool {
	actor, _, ok := c.keys.Shared(id)
	return ok && actor.Has(exchange.Operator)
}

// noteEvery is the least time between two calls of ModelSeen.
const noteEvery = time.Minute

// noteModel reports that a process of the exchange's own user serves a model. Such a process
// can read the operator's key.
func (c *caller) noteModel() {
	if c.cfg.ModelSeen == nil || c.r.Header.Get(modelHeader) == "" && !slices.Contains(c.cfg.ModelPaths, c.r.URL.EscapedPath()) {
		return
	}
	now := time.Now().UnixNano()
	if now-c.modelNoted.Load() < int64(noteEvery) {
		return
	}
	if local, err := c.isLocalUser(); local || err != nil { // rather warn once too often
		c.modelNoted.Store(now)
		c.cfg.ModelSeen()
	}
}
