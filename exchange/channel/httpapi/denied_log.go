package httpapi

import (
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"
)

// DeniedRequest is something that the door has refused: whom it does not know, what
// one may not do, and what is too much. What is alike is one of them: the same
// caller, refused for the same reason.
type DeniedRequest struct {
	First   time.Time `json:"first"`
	At      time.Time `json:"at"`    // the last time
	Count   int       `json:"count"` // how often
	Code    int       `json:"code"`
	Method  string    `json:"method"`            // of the last one, as is the path
	Path    string    `json:"path"`              // without what stands behind its ?
	Various bool      `json:"various,omitempty"` // there were other methods or paths before
	Actor   string    `json:"actor,omitempty"`   // "" where it is not known
	From    string    `json:"from"`              // the address
	Error   string    `json:"error"`             // to the last one
}

// deniedLog are the last of them, the oldest first.
type deniedLog struct {
	mu   sync.Mutex
	list []DeniedRequest
}

const (
	maxDenied     = 100 // that are not alike
	maxDeniedPath = 120 // bytes of a path
)

// deniedCodes are the codes that somebody who runs the place wants to know of.
var deniedCodes = []int{http.StatusUnauthorized, http.StatusForbidden, http.StatusRequestEntityTooLarge, http.StatusTooManyRequests}

func (c *call) logDenied(code int, text string) {
	if slices.Contains(deniedCodes, code) {
		c.addDenied(code, text)
	}
}

// addDenied notes a refusal for the people who run the place.
func (c *call) addDenied(code int, text string) {
	from, _, err := net.SplitHostPort(c.r.RemoteAddr)
	if err != nil {
		from = ""
	}
	path, now := c.r.URL.EscapedPath(), time.Now().UTC()
	c.denied.add(DeniedRequest{
		First: now, At: now, Count: 1, Code: code, Method: c.r.Method[:min(len(c.r.Method), 16)], Path: path[:min(len(path), maxDeniedPath)],
		Actor: c.who.ID, From: from, Error: text,
	})
}

// add notes a refusal. Who tries again and again leaves the others there.
func (r *deniedLog) add(one DeniedRequest) {
	r.mu.Lock()
	defer r.mu.Unlock()
	i := slices.IndexFunc(r.list, func(o DeniedRequest) bool { return o.isLike(one) })
	switch {
	case i >= 0:
		old := r.list[i]
		one.First, one.Count = old.First, old.Count+1
		one.Various = old.Various || old.Method != one.Method || old.Path != one.Path
		r.list = slices.Delete(r.list, i, i+1)
	case len(r.list) >= maxDenied:
		r.list = slices.Delete(r.list, 0, 1)
	}
	r.list = append(r.list, one)
}

// isLike reports whether two are the same caller's, for the same reason. How long
// he has to wait is none.
func (r DeniedRequest) isLike(o DeniedRequest) bool {
	return r.Code == o.Code && r.Actor == o.Actor && r.From == o.From && withoutDigits(r.Error) == withoutDigits(o.Error)
}

// withoutDigits is a text without its numbers.
func withoutDigits(text string) string {
	return strings.Map(func(r rune) rune {
		if r >= '0' && r <= '9' {
			return -1
		}
		return r
	}, text)
}

// DeniedRequests lists the last refusals, the newest first. It holds no secret: neither
// keys nor what stands behind a path's ?.
func (d *Server) DeniedRequests() []DeniedRequest {
	d.denied.mu.Lock()
	defer d.denied.mu.Unlock()
	list := append([]DeniedRequest{}, d.denied.list...)
	slices.Reverse(list)
	return list
}
