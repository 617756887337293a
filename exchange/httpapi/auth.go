package httpapi

import (
	"crypto/subtle"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"

	"github.com/messkit/messkit/exchange"
	"github.com/messkit/messkit/mess"
)

// authenticate finds out who speaks, and whether they may speak to this
// exchange at all.
func (c *call) authenticate(exchangeID string) error {
	key, ok := strings.CutPrefix(c.r.Header.Get("Authorization"), "Bearer ")
	if !ok {
		return mess.Refuse(mess.Unauthentic, "a key is missing; send Authorization: Bearer KEY")
	}
	who, err := c.keys.Authenticate(strings.TrimSpace(key))
	if err != nil {
		return err
	}
	if exchangeID != c.x.ID() {
		return mess.Refuse(mess.Forbidden, "this key is not for the exchange %q", exchangeID)
	}
	c.who = who
	return nil
}

// checkHost keeps a web page from reaching a door on this machine under a name
// of its own (DNS rebinding).
func (c *call) checkHost() error {
	host := c.r.Host
	if h, _, err := net.SplitHostPort(host); err == nil {
		host = h
	}
	if known(host) || slices.Contains(c.cfg.Hosts, host) || !loopback(c.localAddr()) {
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

// mayRegister lets in who is on this machine, but for web pages, and who has
// the enrolment code.
func (c *call) mayRegister(code string) error {
	if c.cfg.Enrol != "" && subtle.ConstantTimeCompare([]byte(code), []byte(c.cfg.Enrol)) == 1 {
		return nil
	}
	if loopback(c.r.RemoteAddr) && !c.fromPage() {
		return nil
	}
	return mess.Refuse(mess.Forbidden, "registering from elsewhere needs the exchange's enrolment code; send it as enrol")
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
	key, err := c.keys.Issue(id, exchange.Requester|exchange.ExecutorRole)
	if err != nil {
		return err
	}
	c.who = exchange.Actor{ID: id, Roles: exchange.Requester | exchange.ExecutorRole}
	if len(e.Capabilities) > 0 { // who can do nothing only asks
		if err := c.post(mess.Message{Items: []mess.Item{&mess.Config{Executor: e}}}); err != nil {
			_, _ = c.keys.Revoke(id) // it was made just now; a key that stays does no harm
			return err
		}
	}
	c.json(http.StatusCreated, map[string]string{
		"executor_id": id, "api_key": key, "message": "Keep this key; it is shown only once.",
	})
	return nil
}

// post hands a message to the exchange.
func (c *call) post(m mess.Message) error {
	_, err := c.x.Post(c.r.Context(), exchange.Inbound{Actor: c.who, Channel: channel, Message: m})
	return err
}

func textOf(o mess.Object, key string) string {
	v, _ := o.Get(key)
	s, _ := v.(string)
	return s
}
