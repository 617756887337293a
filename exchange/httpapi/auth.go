package httpapi

import (
	"crypto/subtle"
	"errors"
	"net"
	"net/http"
	"net/netip"
	"net/url"
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
func (c *call) authenticate(exchangeID string) error {
	who, err := c.caller()
	if err != nil {
		return err
	}
	if exchangeID != c.x.ID() {
		return mess.Refuse(mess.Forbidden, "this key is not for the exchange %q", exchangeID)
	}
	c.who = who
	return nil
}

// caller is who holds the key that came along.
func (c *call) caller() (exchange.Actor, error) {
	scheme, key, _ := strings.Cut(c.r.Header.Get("Authorization"), " ")
	if !strings.EqualFold(scheme, "Bearer") || key == "" {
		return exchange.Actor{}, mess.Refuse(mess.Unauthentic, "a key is missing; send Authorization: Bearer KEY")
	}
	return c.keys.Authenticate(strings.TrimSpace(key))
}

func (c *call) byOperator() bool {
	who, err := c.caller()
	return err == nil && who.Has(exchange.Operator)
}

// checkHost keeps a web page from reaching a door on this machine under a name
// of its own (DNS rebinding).
func (c *call) checkHost() error {
	host := c.r.Host
	if h, _, err := net.SplitHostPort(host); err == nil {
		host = h
	}
	host = strings.ToLower(strings.TrimSuffix(host, "."))
	named := func(name string) bool { return strings.EqualFold(name, host) }
	if known(host) || slices.ContainsFunc(c.cfg.Hosts, named) || !loopback(c.localAddr()) {
		return nil
	}
	return &httpError{http.StatusForbidden, "the name " + host + " is not known here; use the address, or configure the name"}
}

// known reports whether a host is an address or localhost.
func known(host string) bool {
	_, err := netip.ParseAddr(strings.Trim(host, "[]"))
	return err == nil || host == "localhost"
}

func (c *call) localAddr() string {
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

// mayRegister lets in who is on this machine, but for web pages, and who has
// the enrolment code.
func (c *call) mayRegister(code string) error {
	if loopback(c.r.RemoteAddr) && !c.fromPage() && !c.passedOn() {
		return nil
	}
	if c.cfg.Enrol == "" {
		return mess.Refuse(mess.Forbidden, "registering from elsewhere is closed; the exchange's configuration has no enrolment code")
	}
	if c.guesses.Tokens() < 1 {
		c.w.Header().Set("Retry-After", strconv.Itoa(int(guessEvery/time.Second)))
		return &httpError{http.StatusTooManyRequests, "too many wrong enrolment codes; try again in some seconds"}
	}
	if subtle.ConstantTimeCompare([]byte(code), []byte(c.cfg.Enrol)) == 1 {
		return nil
	}
	c.guesses.Allow()
	if code != "" {
		return mess.Refuse(mess.Forbidden, "this is not the exchange's enrolment code; look into its configuration")
	}
	return mess.Refuse(mess.Forbidden, "registering from elsewhere needs the exchange's enrolment code; send it as enrol")
}

// passedOn reports whether a proxy on this machine sends this for somebody
// else.
func (c *call) passedOn() bool {
	return slices.ContainsFunc([]string{"Forwarded", "X-Forwarded-For", "X-Real-Ip", "Via"}, func(name string) bool {
		return c.r.Header.Get(name) != ""
	})
}

// fromPage reports whether a browser sends this for a page of somebody else.
func (c *call) fromPage() bool {
	origin := c.r.Header.Get("Origin")
	if origin == "" {
		return false
	}
	u, err := url.Parse(origin)
	return err != nil || u.Host != c.r.Host
}

// register gives an executor or an agent its key.
func (c *call) register() error {
	body, err := c.object()
	if err != nil {
		return err
	}
	id := textOf(body, "executor_id")
	if id == "" {
		return mess.Refuse(mess.Invalid, "executor_id required")
	}
	if !mess.ValidID(id) {
		return mess.Refuse(mess.Invalid, "executor_id: %.60q cannot be an id; use letters, digits and . _ : @ -", id)
	}
	if err := c.mayRegister(textOf(body, "enrol")); err != nil {
		return err
	}
	e, err := executorOf(id, body)
	if err != nil {
		return err
	}
	// One who has no key and is registered speaks through another door, or in
	// this process.
	if !c.byOperator() && slices.ContainsFunc(c.x.Executors(), func(e exchange.ExecutorInfo) bool { return e.ID == id }) {
		return mess.Refuse(mess.Conflict, "executor %s is registered already; if its key is lost, an operator can register it again", id)
	}
	const roles = exchange.Requester | exchange.ExecutorRole
	issue := c.keys.Issue
	if c.byOperator() && id != keys.OperatorID {
		issue = c.keys.Rotate // the old key, lost or not, ends
	}
	key, err := issue(id, roles)
	if err != nil {
		return err
	}
	c.who = exchange.Actor{ID: id, Roles: roles}
	if len(e.Capabilities) > 0 { // who can do nothing only asks
		if _, err := c.post(mess.Message{Items: []mess.Item{&mess.Config{Executor: e}}}); err != nil {
			_, revoked := c.keys.Revoke(id)
			return errors.Join(err, revoked)
		}
	}
	c.log.Info("registered", "actor", id)
	c.json(http.StatusCreated, map[string]string{
		"executor_id": id, "api_key": key, "message": "Keep this key; it is shown only once.",
	})
	return nil
}

func textOf(o mess.Object, key string) string {
	v, _ := o.Get(key)
	s, _ := v.(string)
	return s
}
