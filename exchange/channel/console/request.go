package console

import (
	"cmp"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"time"

	"github.com/messkit/messkit/exchange"
	"github.com/messkit/messkit/exchange/access"
	"github.com/messkit/messkit/exchange/keys"
	"github.com/messkit/messkit/internal/peer"
	"github.com/messkit/messkit/mess"
)

// request is one request of an authenticated actor.
type request struct {
	*Console
	actor exchange.Actor
	w     http.ResponseWriter
	r     *http.Request
}

// endpoint is one method of one path of the console.
type endpoint struct {
	method, path string
	serve        func(*request) error
}

// endpoints are the paths that need a key or a session. Package access has the rule of each.
var endpoints = []endpoint{
	{http.MethodGet, pathIdentity, (*request).writeIdentity},
	{http.MethodGet, pathEvents, (*request).streamEvents},
	{http.MethodGet, pathImages, (*request).lastImages},
	{http.MethodGet, pathDenied, (*request).deniedRequests},
	{http.MethodPost, pathPlan, (*request).plan},
	{http.MethodPost, pathStop, (*request).stop},
	{http.MethodPost, pathResetStop, (*request).resetStop},
	{http.MethodPost, pathArm, (*request).arm},
	{http.MethodPost, pathInvite, (*request).createInvite},
	{http.MethodGet, pathPeople, (*request).listPeople},
	{http.MethodPost, pathPeople, (*request).changePeople},
	{http.MethodGet, pathBrowsers, (*request).listBrowsers},
	{http.MethodPost, pathBrowsers, (*request).endBrowser},
	{http.MethodGet, pathNotifications, (*request).notifications},
	{http.MethodPost, pathNotifications, (*request).notifications},
	{http.MethodGet, pathBell, (*request).bell},
	{http.MethodPost, pathBell, (*request).bell},
	{http.MethodPost, pathLink, (*request).createLink},
	{http.MethodPost, pathCode, (*request).confirmCode},
	{http.MethodGet, pathConfig, (*request).configuration},
	{http.MethodPost, pathConfig, (*request).configuration},
	{http.MethodGet, pathQuiet, (*request).policyQuiet},
	{http.MethodPost, pathQuiet, (*request).policyQuiet},
	{http.MethodGet, pathSearch, (*request).search},
	{http.MethodPost, pathSearch, (*request).search},
	{http.MethodPost, pathDevice, (*request).device},
}

// serve calls the handler of the path, after it has checked the method and the right.
func (g *request) serve() error {
	known := false
	for _, e := range endpoints {
		if e.path != g.r.URL.EscapedPath() {
			continue
		}
		known = true
		if e.method == g.r.Method {
			if err := access.Check(g.actor, e.method, e.path); err != nil {
				return err
			}
			return e.serve(g)
		}
	}
	if known {
		writeJSON(g.w, http.StatusMethodNotAllowed, map[string]string{"error": "this path has no " + g.r.Method})
		return nil
	}
	return mess.Errorf(mess.NotFound, "there is nothing at this path")
}

// identity has the signed-in actor, for the page.
type identity struct {
	Actor    string   `json:"actor"`
	Roles    []string `json:"roles"`
	Exchange string   `json:"exchange"`
	Here     bool     `json:"here"`               // an executor runs in this program
	AtPlace  bool     `json:"at_place"`           // the browser is on the exchange's own machine
	Confirm  string   `json:"confirm"`            // how people confirm a plan with risk
	Person   bool     `json:"person"`             // a person signed this browser in
	Link     bool     `json:"link"`               // a link signed it in, not a key
	Executor string   `json:"executor,omitempty"` // the executor whose configuration the actor may change
	Data     string   `json:"data,omitempty"`     // the data folder, for operators
	Backup   string   `json:"backup,omitempty"`   // time of its last backup, for operators; "" for none
	Uplinks  bool     `json:"uplinks,omitempty"`  // the exchange reads sites or is one, and the actor may see the uplinks
	Notices  bool     `json:"notices"`            // the actor can have notices: a person or a registered executor

	Role  string     `json:"role,omitempty"`  // operator, resident, guest or viewer; "" for a program or a helper
	Until *time.Time `json:"until,omitempty"` // the end of the access
}

func identityOf(exchangeID string, a exchange.Actor) identity {
	return identity{Actor: a.ID, Roles: keys.Names(a.Roles), Exchange: exchangeID}
}

func (g *request) writeIdentity() error {
	w := identityOf(g.x.ID(), g.actor)
	w.Here, w.AtPlace = g.cfg.LocalExecutor != nil, isLocal(g.r)
	w.Confirm, w.Person, w.Link = string(g.x.ConfirmBy()), g.isByPerson(), g.signedInByLink(g.r)
	if g.actor.Has(exchange.Operator) {
		w.Data, w.Backup = g.cfg.Data, g.lastBackup()
	}
	w.Uplinks = g.cfg.Uplinks && !g.actor.IsGuest()
	_, _, err := g.profile()
	w.Notices = err == nil
	if g.cfg.Setup != nil && g.actor.Has(exchange.Operator) {
		w.Executor = g.cfg.Setup.Executor()
	}
	if p, ok := g.keys.Person(g.actor.ID); ok {
		w.Role, w.Until = p.Role, p.Until
	}
	if err := g.noteUse(g.r); err != nil {
		g.log.Warn("cannot store when a browser was used", "err", err)
	}
	writeJSON(g.w, http.StatusOK, w)
	return nil
}

// isLocal reports whether a browser is on this machine: the connection comes over loopback to
// an address that only this machine has, and no proxy has forwarded it.
func isLocal(r *http.Request) bool {
	a, err := netip.ParseAddrPort(r.RemoteAddr)
	return err == nil && a.Addr().Unmap().IsLoopback() && isLocalHost(r.Host) && !peer.IsProxied(r.Header)
}

// isLocalHost reports whether a Host header names this machine by a name that no other machine
// can use. A proxy may forward the name that its client has used.
func isLocalHost(host string) bool {
	if h, _, err := net.SplitHostPort(host); err == nil {
		host = h
	}
	a, err := netip.ParseAddr(strings.Trim(host, "[]"))
	return err == nil && a.Unmap().IsLoopback() || strings.EqualFold(strings.TrimSuffix(host, "."), "localhost")
}

// readBody reads a body in JSON. An empty body changes nothing.
func (g *request) readBody(v any) error {
	data, err := io.ReadAll(g.r.Body)
	if err != nil {
		return mess.Errorf(mess.Invalid, "the body ends too early")
	}
	if len(data) == 0 {
		return nil
	}
	err = json.Unmarshal(data, v)
	if t, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		return mess.Errorf(mess.Invalid, "%s: is of the wrong kind (%s)", cmp.Or(t.Field, "the body"), t.Value)
	}
	if err != nil {
		return mess.Errorf(mess.Invalid, "the body is not JSON: %v", err)
	}
	return nil
}

var errNoLocalExecutor = mess.Errorf(mess.NotYet, "no executor runs in this program; use messkit on the host of each executor")

// maxIntent is the limit of an intent to plan, in bytes.
const maxIntent = 4 << 10

// maxAnswers is the limit of the answers to plan with.
const maxAnswers = 16

// plan answers what {intent, requires, answers} would do. It does nothing.
func (g *request) plan() error {
	var in struct {
		Intent   string        `json:"intent"`
		Requires []string      `json:"requires"`
		Answers  []mess.Object `json:"answers"`
	}
	if err := g.readBody(&in); err != nil {
		return err
	}
	switch {
	case g.cfg.LocalExecutor == nil:
		return errNoLocalExecutor
	case len(in.Answers) > maxAnswers:
		return mess.Errorf(mess.Invalid, "answers: %d are too many; send %d at most", len(in.Answers), maxAnswers)
	case strings.TrimSpace(in.Intent) == "" || len(in.Intent) > maxIntent:
		return mess.Errorf(mess.Invalid, "intent: is empty or too long; write 1 to %d bytes", maxIntent)
	}
	writeJSON(g.w, http.StatusOK, g.cfg.LocalExecutor.Plan(in.Intent, in.Requires, in.Answers))
	return nil
}

func (g *request) deniedRequests() error {
	list := any([]string{})
	if g.cfg.DeniedRequests != nil {
		list = g.cfg.DeniedRequests()
	}
	writeJSON(g.w, http.StatusOK, map[string]any{"refused": list})
	return nil
}

// createInvite invites a person: {name, actor, at, role, until, areas, entry}. at is the address
// under which the phone reaches the exchange, if it is not one of Addresses. Without a role the
// person takes tasks, and has no access to the home.
func (g *request) createInvite() error {
	var in struct {
		Name, Actor, At string
		keys.Access
	}
	if err := g.readBody(&in); err != nil {
		return err
	}
	page := "/#"
	if in.Role == helper || in.Role == "" {
		in.Role, page = "", "/me#"
	}
	if err := g.checkMaker(in.Access); err != nil {
		return err
	}
	if in.Role == "" && (in.Until != nil || in.Areas != nil || in.Entry) {
		return mess.Errorf(mess.Invalid, "role: missing; until, areas and entry need one")
	}
	token, ends, err := g.newInvite(g.r.Context(), invite{actor: in.Actor, name: strings.TrimSpace(in.Name), access: in.Access}, g.isByPerson())
	if err != nil {
		return err
	}
	g.log.Info("person invited", "actor", g.actor.ID, "name", in.Name, "role", cmp.Or(in.Role, helper))
	return g.writeLinks(page+token, in.At, ends)
}

// createLink makes a link that signs in another browser as the same actor: {at, key}. key is
// the key of the caller, which a signed-in browser leaves out.
func (g *request) createLink() error {
	var in struct{ At, Key string }
	if err := g.readBody(&in); err != nil {
		return err
	}
	key := cmp.Or(in.Key, g.SessionKey(g.r))
	if actor, err := g.keys.Authenticate(key); err != nil || actor.ID != g.actor.ID {
		return mess.Errorf(mess.Forbidden, "a link works only for its maker; send your own key, as key")
	}
	token, ends, err := g.newLink(g.r.Context(), linkTime, func(secret [32]byte) link {
		return link{By: g.actor.ID, Sealed: seal(secret, key), Person: g.isByPerson()}
	})
	if err != nil {
		return err
	}
	return g.writeLinks("/#"+token, in.At, ends)
}

// lastBackup returns the time of the last backup, or "".
func (g *request) lastBackup() string {
	if g.cfg.LastBackup == nil {
		return ""
	}
	at := g.cfg.LastBackup()
	if at.IsZero() {
		return ""
	}
	return at.UTC().Format(time.RFC3339)
}

// writeLinks answers with a link for each address that a phone may try, and with a QR code. person in the
// answer says whether a person has made them.
func (g *request) writeLinks(path, at string, ends time.Time) error {
	links := []string{}
	if at != "" {
		u, err := url.Parse(at)
		if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
			return mess.Errorf(mess.Invalid, "at: %.100q is no address; write it like https://192.168.1.7:8420", at)
		}
		links = append(links, u.Scheme+"://"+u.Host+path)
	} else if g.cfg.Addresses != nil {
		for _, a := range g.cfg.Addresses() {
			links = append(links, a+path)
		}
	}
	v := map[string]any{"path": path, "links": links, "until": ends.UTC().Format(time.RFC3339), "person": g.isByPerson()}
	if len(links) > 0 {
		dots, err := QRCode(links[0])
		if err != nil {
			return mess.Errorf(mess.Invalid, "at: %v", err)
		}
		v["dots"] = dots
	}
	writeJSON(g.w, http.StatusCreated, v)
	return nil
}
