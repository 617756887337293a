package console

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/messkit/messkit/exchange"
	"github.com/messkit/messkit/exchange/keys"
	"github.com/messkit/messkit/mess"
)

// request is one request of an authenticated actor.
type request struct {
	*Console
	who exchange.Actor
	w   http.ResponseWriter
	r   *http.Request
}

// serve calls the handler of the path, after it has checked the method and the role.
func (g *request) serve() error {
	reads := g.r.Method == http.MethodGet
	posts := g.r.Method == http.MethodPost
	switch g.r.URL.EscapedPath() {
	case pathIdentity:
		return g.allow(reads, 0, g.writeIdentity)
	case pathEvents:
		return g.allow(reads, 0, g.streamEvents)
	case pathImages:
		return g.allow(reads, 0, g.lastImages)
	case pathDenied:
		return g.allow(reads, exchange.Operator, g.deniedRequests)
	case pathPlan:
		return g.allow(posts, exchange.Requester, g.plan)
	case pathStop:
		return g.allow(posts, 0, g.stop)
	case pathResetStop:
		return g.allow(posts, exchange.Operator, g.resetStop)
	case pathArm:
		return g.allow(posts, exchange.Operator, g.arm)
	case pathInvite:
		return g.allow(posts, exchange.Operator, g.createInvite)
	case pathNotifications:
		return g.allow(reads || posts, exchange.ExecutorRole, g.notifications)
	case pathLink:
		return g.allow(posts, 0, g.createLink)
	case pathCode:
		return g.allow(posts, exchange.Operator, g.confirmCode)
	}
	return mess.Errorf(mess.NotFound, "there is nothing at this path")
}

func (g *request) allow(method bool, role exchange.Role, serve func() error) error {
	if !method {
		writeJSON(g.w, http.StatusMethodNotAllowed, map[string]string{"error": "this path has no " + g.r.Method})
		return nil
	}
	if !g.who.Has(role) {
		return mess.Errorf(mess.Forbidden, "only an %s may do this", strings.Join(keys.Names(role), " "))
	}
	return serve()
}

// identity tells the page who is signed in.
type identity struct {
	Actor    string   `json:"actor"`
	Roles    []string `json:"roles"`
	Exchange string   `json:"exchange"`
	Here     bool     `json:"here"`     // an executor runs in this program
	AtPlace  bool     `json:"at_place"` // the browser is on the exchange's own machine
	Confirm  string   `json:"confirm"`  // how people confirm a plan with risk
	Person   bool     `json:"person"`   // a person signed this browser in
}

func identityOf(exchangeID string, a exchange.Actor) identity {
	return identity{Actor: a.ID, Roles: keys.Names(a.Roles), Exchange: exchangeID}
}

func (g *request) writeIdentity() error {
	w := identityOf(g.x.ID(), g.who)
	w.Here, w.AtPlace = g.cfg.LocalExecutor != nil, isLocal(g.r)
	w.Confirm, w.Person = string(g.x.ConfirmBy()), g.isByPerson()
	writeJSON(g.w, http.StatusOK, w)
	return nil
}

// isLocal reports whether a browser is on this machine: the connection comes over loopback to
// an address that only this machine has, and no proxy has forwarded it.
func isLocal(r *http.Request) bool {
	a, err := netip.ParseAddrPort(r.RemoteAddr)
	return err == nil && a.Addr().Unmap().IsLoopback() && isLocalHost(r.Host) && !isProxied(r)
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

// isProxied reports whether the headers of a request name a proxy.
func isProxied(r *http.Request) bool {
	for name := range r.Header {
		if strings.HasPrefix(name, "X-Forwarded") || slices.Contains([]string{"Forwarded", "X-Real-Ip", "Via"}, name) {
			return true
		}
	}
	return false
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

// exchangeTime is how long a stop waits for the exchange before it stops the local executor
// directly.
const exchangeTime = 300 * time.Millisecond

// stop stops everything: {why}, or the form of the page. Every actor that sees the page may
// stop, with any role. If the exchange hangs, stop still stops the local executor.
func (g *request) stop() error {
	by := g.who
	by.Roles |= exchange.Requester
	why, form := g.readReason()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(g.r.Context()), 30*time.Second)
	type taken struct {
		stop mess.Stop
		err  error
	}
	done := make(chan taken, 1)
	go func() { // the goroutine may outlive this call
		defer cancel()
		s, err := g.x.Stop(ctx, by, mess.Stop{Reason: why})
		done <- taken{s, err}
	}()
	var t taken
	select {
	case t = <-done:
	case <-time.After(exchangeTime):
		t.err = errors.New("the exchange does not answer")
	}
	text := "Stopped. The exchange has sent the order to every executor."
	if n := t.stop.Ending; n > 0 {
		text += fmt.Sprintf(" %d of the requests that waited are still ending; none of them can begin.", n)
	}
	if t.err != nil {
		if g.cfg.LocalExecutor != nil { // before the log call, which may hang as well
			g.cfg.LocalExecutor.Stop(g.who.ID, why)
		}
		g.log.Error("the exchange did not take a stop", "actor", g.who.ID, "err", t.err)
		text = "The exchange could not pass the stop on (" + t.err.Error() + ")."
		if g.cfg.LocalExecutor == nil {
			return mess.Errorf(mess.Unavailable, "%s Stop each executor on its host: messkit stop", text)
		}
		text += " The executor here has stopped; stop others on their hosts: messkit stop."
	}
	if form {
		writeText(g.w, text)
		return nil
	}
	writeJSON(g.w, http.StatusAccepted, map[string]any{"stop": t.stop, "text": text, "passed": t.err == nil})
	return nil
}

// readReason reads the reason of a stop, and whether a form has sent it. No reason is invalid.
func (g *request) readReason() (why string, form bool) {
	data, err := io.ReadAll(g.r.Body)
	if err != nil {
		return "", false
	}
	kind, _, _ := mime.ParseMediaType(g.r.Header.Get("Content-Type"))
	if kind == "application/x-www-form-urlencoded" {
		values, _ := url.ParseQuery(string(data))
		return values.Get("why"), true
	}
	var in struct {
		Why string `json:"why"`
	}
	_ = json.Unmarshal(data, &in)
	return in.Why, false
}

// writeText answers a form, where no script runs.
func writeText(w http.ResponseWriter, text string) {
	h := w.Header()
	h.Set("Content-Type", "text/plain; charset=utf-8")
	h.Set("Content-Security-Policy", "default-src 'none'; frame-ancestors 'none'")
	_, _ = io.WriteString(w, text+"\nGo back to see how the devices stand.\n") // the browser has gone if it fails
}

// requireLocal rejects callers that are not on the host, with the command to run there.
func (g *request) requireLocal(command string) error {
	switch {
	case g.cfg.LocalExecutor == nil:
		return errNoLocalExecutor
	case !isLocal(g.r):
		return mess.Errorf(mess.Forbidden, "only at the place, after you have looked: %s on the executor's own machine, or this page in a browser there", command)
	}
	return nil
}

// resetStop resets a stop for a person on the host: {code, anyway}. If some devices are not
// known to be safe and anyway is false, it names them and resets nothing.
func (g *request) resetStop() error {
	if err := g.requireLocal("messkit clear"); err != nil {
		return err
	}
	var in struct {
		Code   string
		Anyway bool
	}
	if err := g.readBody(&in); err != nil {
		return err
	}
	var cleared []string
	if err := g.permitActing(in.Code, func() (err error) {
		cleared, err = g.cfg.LocalExecutor.ResetStop(g.who.ID+" at the place", in.Anyway)
		return err
	}); err != nil {
		return err
	}
	g.log.Warn("stop released", "actor", g.who.ID)
	writeJSON(g.w, http.StatusOK, map[string]any{"cleared": cleared})
	return nil
}

// permitActing calls act if the exchange has proof of a person behind the request.
func (g *request) permitActing(code string, act func() error) error {
	return g.x.Release(exchange.ProofIn(g.r.Context()), code, func() error { return asConflict(act()) })
}

func asConflict(err error) error {
	if err != nil {
		return mess.Errorf(mess.Conflict, "%v", err)
	}
	return nil
}

// arm takes {do: arm, disarm, lock or unlock, what, why, code}. arm and unlock need a person on
// the host.
func (g *request) arm() error {
	var in struct{ Do, What, Why, Code string }
	if err := g.readBody(&in); err != nil {
		return err
	}
	if g.cfg.LocalExecutor == nil {
		return errNoLocalExecutor
	}
	if len(in.Why) > 200 {
		return mess.Errorf(mess.Invalid, "why: %d bytes are too much; write 200 at most", len(in.Why))
	}
	if in.Do == "arm" || in.Do == "unlock" {
		if err := g.requireLocal("messkit " + in.Do); err != nil {
			return err
		}
	}
	var err error
	switch in.Do {
	case "arm":
		err = g.permitActing(in.Code, func() error { return g.cfg.LocalExecutor.Arm(in.What) })
	case "disarm":
		err = asConflict(g.cfg.LocalExecutor.Disarm(in.What, in.Why))
	case "lock":
		err = asConflict(g.cfg.LocalExecutor.Lock(in.What, in.Why))
	case "unlock":
		err = g.permitActing(in.Code, func() error { return g.cfg.LocalExecutor.Unlock(in.What) })
	default:
		return mess.Errorf(mess.Invalid, "do: %.20q is unknown; write arm, disarm, lock or unlock", in.Do)
	}
	if err != nil {
		return err
	}
	g.log.Warn(in.Do, "actor", g.who.ID, "device", in.What)
	writeJSON(g.w, http.StatusOK, map[string]bool{"done": true})
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

// createInvite invites a person: {name, actor, at}. at is the address under which the phone
// reaches the exchange, if it is not one of Addresses.
func (g *request) createInvite() error {
	var in struct{ Name, Actor, At string }
	if err := g.readBody(&in); err != nil {
		return err
	}
	token, ends, err := g.newInvite(in.Actor, strings.TrimSpace(in.Name))
	if err != nil {
		return err
	}
	g.log.Info("person invited", "actor", g.who.ID, "name", in.Name)
	return g.writeLinks("/me#"+token, in.At, ends)
}

// createLink makes a link that signs in another browser as the same actor: {at, key}. key is
// the key of the caller, which a signed-in browser leaves out.
func (g *request) createLink() error {
	var in struct{ At, Key string }
	if err := g.readBody(&in); err != nil {
		return err
	}
	key := cmp.Or(in.Key, g.SessionKey(g.r))
	if who, err := g.keys.Authenticate(key); err != nil || who.ID != g.who.ID {
		return mess.Errorf(mess.Forbidden, "a link works only for its maker; send your own key, as key")
	}
	token, ends, err := g.newLink(linkTime, func(secret [32]byte) link {
		return link{by: g.who.ID, sealed: seal(secret, key), person: g.isByPerson()}
	})
	if err != nil {
		return err
	}
	return g.writeLinks("/#"+token, in.At, ends)
}

// writeLinks answers with a link for each address that a phone may try, and with a QR code.
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
	v := map[string]any{"path": path, "links": links, "until": ends.UTC().Format(time.RFC3339)}
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
