package httpapi

import (
	"compress/gzip"
	_ "embed" // the description
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/messkit/messkit/exchange/access"
	"github.com/messkit/messkit/mess"
)

// base is the prefix of all paths of an exchange.
const base = "/api/v1/exchanges/"

// route is one method of one path. {name} in the path is any segment of 1 to maxName bytes.
type route struct {
	method string // GET includes HEAD, except for streams
	path   string // after the exchange
	serve  func(c *call, names []string) error
}

func withoutNames(serve func(*call) error) func(*call, []string) error {
	return func(c *call, _ []string) error { return serve(c) }
}

func withOne(serve func(*call, string) error) func(*call, []string) error {
	return func(c *call, names []string) error { return serve(c, names[0]) }
}

func withTwo(serve func(*call, string, string) error) func(*call, []string) error {
	return func(c *call, names []string) error { return serve(c, names[0], names[1]) }
}

// routes are the routes that need a key.
var routes = []route{
	{http.MethodGet, "requests", withoutNames((*call).listThreads)},
	{http.MethodPost, "requests", withoutNames((*call).create)},
	{http.MethodGet, "requests/{ref}", withOne((*call).thread)},
	{http.MethodPatch, "requests/{ref}", withOne((*call).patchThread)},
	{http.MethodGet, "requests/{ref}/thread", withOne((*call).threadYAML)},
	{http.MethodGet, "requests/{ref}/attachments/{name}", withTwo((*call).download)},
	{http.MethodPut, "requests/{ref}/attachments/{name}", withTwo((*call).upload)},
	{http.MethodPost, "mess", withoutNames((*call).postMessage)},
	{http.MethodPost, "import", withoutNames((*call).importThread)},
	{http.MethodGet, "export/{ref}", withOne((*call).export)},
	{http.MethodGet, "events", withoutNames((*call).events)},
	{http.MethodGet, "executors", withoutNames((*call).executors)},
	{http.MethodGet, "executors/{id}", withOne((*call).executor)},
	{http.MethodPatch, "executors/{id}", withOne((*call).updateProfile)},
	{http.MethodDelete, "executors/{id}", withOne((*call).deregister)},
	{http.MethodGet, "capabilities", withoutNames((*call).capabilities)},
	{http.MethodPost, "stop", withoutNames((*call).stop)},
	{http.MethodPost, "hold", withoutNames((*call).drain)},
	{http.MethodPost, "resume", withoutNames((*call).resume)},
	{http.MethodGet, "status", withoutNames((*call).status)},
	{http.MethodGet, "webhooks", withoutNames((*call).webhooks)},
	{http.MethodGet, "keys", withoutNames((*call).listKeys)},
	{http.MethodPost, "keys", withoutNames((*call).issueKey)},
	{http.MethodPatch, "keys/{actor}", withOne((*call).setRoles)},
	{http.MethodDelete, "keys/{actor}", withOne((*call).revokeKey)},
	{http.MethodPost, "keys/{actor}/rotate", withOne((*call).rotateKey)},
	{http.MethodPost, "codes", withoutNames((*call).newEnrollmentCode)},
}

// homePrefix is the prefix of the paths of the home, which name no exchange. The same paths exist
// under base and the id of the exchange.
const homePrefix = "/api/v1/"

// homeRoutes are the routes of the home. They need a key.
var homeRoutes = []route{
	{http.MethodGet, "home", withoutNames((*call).showHome)},
	{http.MethodGet, "devices/{id}/history", withOne((*call).history)},
	{http.MethodGet, "devices/{id}/live", withOne((*call).livePicture)},
	{http.MethodGet, "devices/{id}/map", withOne((*call).floorMap)},
	{http.MethodGet, "devices/{id}/tasks", withOne((*call).pastTasks)},
	{http.MethodPost, "devices/{id}/{verb}", withTwo((*call).operate)},
	{http.MethodGet, "stream", withoutNames((*call).streamHome)},
}

// openRoutes are the routes that need no key.
var openRoutes = []route{
	{http.MethodGet, "/health", withoutNames((*call).health)},
	{http.MethodGet, "/healthz", withoutNames((*call).alive)},
	{http.MethodGet, "/readyz", withoutNames((*call).ready)},
	{http.MethodGet, "/metrics", withoutNames((*call).metrics)}, // it asks for a key itself
	{http.MethodGet, "/api/openapi.json", withoutNames((*call).openAPI)},
	{http.MethodPost, base + "{exchange}/register", withoutNames((*call).register)},
}

// serve finds and calls the handler of a path. It does not clean or redirect paths. A caller
// without a key does not learn which paths exist.
func (c *call) serve() error {
	if err := c.checkHost(); err != nil {
		return err
	}
	if c.r.Method == http.MethodOptions {
		c.w.WriteHeader(http.StatusNoContent)
		return nil
	}
	if p := c.cfg.Pages[c.r.URL.EscapedPath()]; p != nil {
		c.route = "page"
		p.ServeHTTP(c.w, c.r)
		return nil
	}
	if g := c.cfg.MountedHandlers[c.r.URL.EscapedPath()]; g != nil {
		c.route = c.r.URL.EscapedPath()
		return c.serveMounted(g)
	}
	if v := c.publicHandler(); v != nil {
		return c.servePublic(v)
	}
	p, ok := segments(c.r.URL.EscapedPath())
	if !ok {
		return errNoPath
	}
	if len(p) != 6 || p[5] != "register" || p[4] == c.x.ID() { // clients of other exchanges learn nothing
		if err := c.dispatch(openRoutes, p); err != errNoPath {
			return err
		}
	}
	if isHomePath(p) {
		if err := c.authenticate(c.x.ID()); err != nil {
			return err
		}
		return c.dispatch(homeRoutes, p[3:])
	}
	if len(p) < 5 || strings.Join(p[:4], "/")+"/" != base {
		return errNoPath
	}
	if err := c.authenticate(p[4]); err != nil {
		return err
	}
	if err := c.dispatch(homeRoutes, p[5:]); err != errNoPath {
		return err
	}
	return c.dispatch(routes, p[5:])
}

// isHomePath reports whether a path begins like one of homeRoutes.
func isHomePath(p []string) bool {
	return len(p) > 3 && strings.Join(p[:3], "/")+"/" == homePrefix && slices.ContainsFunc(homeRoutes, func(r route) bool {
		first, _, _ := strings.Cut(r.path, "/")
		return first == p[3]
	})
}

// segments splits a path. An escaped slash belongs to its segment, as in the ref of a message.
func segments(path string) ([]string, bool) {
	p := strings.Split(path, "/")
	for i := range p {
		var err error
		if p[i], err = url.PathUnescape(p[i]); err != nil {
			return nil, false
		}
	}
	return p, true
}

// readQuery parses the query. An invalid query is an error: a list would otherwise ignore the
// filter.
func (c *transport) readQuery() (url.Values, error) {
	q, err := url.ParseQuery(c.r.URL.RawQuery)
	if err != nil {
		return nil, mess.Errorf(mess.Invalid, "cannot parse the query; in a value write %% as %%25, ; as %%3B and & as %%26")
	}
	return q, nil
}

// dispatch calls the handler of a path in a table.
func (c *call) dispatch(table []route, p []string) error {
	var methods []string
	for _, r := range table {
		names, ok := matchPath(r.path, p)
		if !ok {
			continue
		}
		if r.method == c.r.Method || r.head() && c.r.Method == http.MethodHead {
			c.route = r.path
			if k := c.cfg.Copy; k != nil {
				if err := k.Check(c.r.Method, r.path); err != nil {
					return err
				}
				k.Describe(c.w.Header())
			}
			if c.key != "" { // open routes ask for no key
				if err := access.Check(c.actor, c.r.Method, r.path); err != nil {
					return err
				}
			}
			return r.serve(c, names)
		}
		if methods = append(methods, r.method); r.head() {
			methods = append(methods, http.MethodHead)
		}
	}
	if methods == nil {
		return errNoPath
	}
	c.w.Header().Set("Allow", strings.Join(methods, ", "))
	return &httpError{http.StatusMethodNotAllowed, "this path has no " + c.r.Method + "; use " + strings.Join(methods, " or ")}
}

// head reports whether a route answers HEAD. A stream would not end.
func (r route) head() bool {
	return r.method == http.MethodGet && r.path != "events" && r.path != "stream"
}

// maxName is above the length of any ref, id or file name, in bytes.
const maxName = 512

// matchPath returns the segments for the {names} of a route.
func matchPath(pattern string, p []string) (names []string, ok bool) {
	if strings.Count(pattern, "/")+1 != len(p) {
		return nil, false
	}
	for _, segment := range p {
		var want string
		want, pattern, _ = strings.Cut(pattern, "/")
		switch {
		case !strings.HasPrefix(want, "{"):
			if want != segment {
				return nil, false
			}
		case segment == "" || len(segment) > maxName:
			return nil, false
		default:
			names = append(names, segment)
		}
	}
	return names, true
}

// description describes this API in OpenAPI 3.1: openapi.json, compressed by gzip -9nkf. Tests
// compare the two, and the description with the server.
//
//go:embed openapi.json.gz
var description string

func (c *call) openAPI() error {
	r, err := gzip.NewReader(strings.NewReader(description))
	if err != nil {
		return err
	}
	data, err := io.ReadAll(r)
	if err != nil {
		return err
	}
	c.writeBody(http.StatusOK, "application/json; charset=utf-8", data)
	return nil
}
