package console

import (
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/messkit/messkit/internal/order"
)

// browserJSON is a signed-in browser as the page shows it.
type browserJSON struct {
	ID    string    `json:"id"`
	Name  string    `json:"name"` // such as Firefox on Android; "" if it is unknown
	Since time.Time `json:"since"`
	Used  time.Time `json:"used"`
	This  bool      `json:"this,omitempty"` // the one that asks
}

// browserID returns the public id of a session or a link. It says nothing about the secret.
func browserID(name string) string { return name[:min(len(name), 16)] }

// sessionName returns the name of the session of a browser, "" for none.
func (c *Console) sessionName(r *http.Request) string {
	cookie, err := r.Cookie(cookieName(r))
	if err != nil || len(cookie.Value) > 64 {
		return ""
	}
	name, _ := deriveSecret(cookie.Value)
	return name
}

// browsersOf lists the signed-in browsers of an actor, the last used one first.
func (c *Console) browsersOf(actor string, r *http.Request) []browserJSON {
	own := c.sessionName(r)
	c.mu.Lock()
	defer c.mu.Unlock()
	list := []browserJSON{}
	for name, s := range c.sessions {
		if s.Actor != actor || time.Since(s.Created) > sessionTime {
			continue
		}
		used := s.Created
		for _, at := range []time.Time{s.Used, c.used[name]} {
			if at.After(used) {
				used = at
			}
		}
		list = append(list, browserJSON{browserID(name), s.Browser, s.Created, used.UTC().Truncate(time.Second), name == own})
	}
	order.By(list, func(a, b browserJSON) int {
		if a.Used.Equal(b.Used) {
			return strings.Compare(a.ID, b.ID)
		}
		return b.Used.Compare(a.Used)
	})
	return list
}

// storeUseEvery is how often the store gets the last use of a session.
const storeUseEvery = 24 * time.Hour

// noteUse stores the day on which a browser has last opened a page.
func (c *Console) noteUse(r *http.Request) error {
	name := c.sessionName(r)
	c.mu.Lock()
	s, ok := c.sessions[name]
	if !ok || time.Since(s.Created) < storeUseEvery || time.Since(s.Used) < storeUseEvery {
		c.mu.Unlock()
		return nil
	}
	c.mu.Unlock()
	return c.updateSession(r.Context(), name, func(s *session) { s.Used = time.Now().UTC() })
}

// forget removes a session, and ends what depends on it. The caller holds c.mu.
func (c *Console) forget(name string) {
	c.setSession(name, nil)
	delete(c.used, name)
	for _, end := range c.watches[name] {
		end()
	}
	delete(c.watches, name)
}

// setSession records a session, nil for none. The caller holds c.mu.
func (c *Console) setSession(name string, s *session) {
	if (c.sessions[name].Push == nil) != (s == nil || s.Push == nil) {
		close(c.pushChanged)
		c.pushChanged = make(chan struct{})
	}
	if s == nil {
		delete(c.sessions, name)
		return
	}
	c.sessions[name] = *s
}

// WatchSession calls end, at most once, when somebody signs the browser of a request out. That may
// be at once. end must not call Console. stop ends the watch, and may be called twice.
func (c *Console) WatchSession(r *http.Request, end func()) (stop func()) {
	name, id := c.sessionName(r), &end
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, ok := c.sessions[name]; !ok {
		end()
		return func() {}
	}
	if c.watches[name] == nil {
		c.watches[name] = map[*func()]func(){}
	}
	c.watches[name][id] = end
	return func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		delete(c.watches[name], id)
		if len(c.watches[name]) == 0 {
			delete(c.watches, name)
		}
	}
}

// maxOwnStreams limits the streams of a browser whose windows cannot share one. A browser has six
// connections to a server over plain HTTP. Two are left for requests and a live picture.
const maxOwnStreams = 4

// addStream notes a stream that the windows of a browser do not share. If the browser has more than
// maxOwnStreams then, addStream calls the end of its oldest one. end must not block. The caller calls
// remove after the stream.
func (c *Console) addStream(r *http.Request, end func()) (remove func()) {
	name, id := c.sessionName(r), &end
	if name == "" {
		return func() {}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	list := append(c.own[name], id)
	for len(list) > maxOwnStreams {
		(*list[0])()
		list = list[1:]
	}
	c.own[name] = list
	return func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		if c.own[name] = slices.DeleteFunc(c.own[name], func(one *func()) bool { return one == id }); len(c.own[name]) == 0 {
			delete(c.own, name)
		}
	}
}

// Names in the User-Agent of a browser, the more specific ones first.
var (
	browserMarks = [][2]string{
		{"Edg", "Edge"},
		{"OPR/", "Opera"},
		{"SamsungBrowser/", "Samsung Internet"},
		{"Firefox/", "Firefox"},
		{"FxiOS/", "Firefox"},
		{"CriOS/", "Chrome"},
		{"Chrome/", "Chrome"},
		{"Safari/", "Safari"},
	}
	systemMarks = [][2]string{
		{"iPhone", "iPhone"}, {"iPad", "iPad"}, {"Android", "Android"}, {"CrOS", "ChromeOS"}, {"Windows", "Windows"}, {"Macintosh", "Mac"}, {"Linux", "Linux"},
	}
)

// browserName returns words for a User-Agent, such as Firefox on Android, or "".
func browserName(agent string) string {
	browser, system := markIn(agent, browserMarks), markIn(agent, systemMarks)
	if browser == "" || system == "" {
		return browser + system
	}
	return browser + " on " + system
}

func markIn(agent string, marks [][2]string) string {
	for _, m := range marks {
		if strings.Contains(agent, m[0]) {
			return m[1]
		}
	}
	return ""
}
