package httpapi

import (
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"
)

// DeniedRequest is a rejected request: an unknown caller, a missing right, or too much load.
// Requests of one caller with the same reason are one entry.
type DeniedRequest struct {
	First   time.Time `json:"first"`
	At      time.Time `json:"at"`    // time of the last one
	Count   int       `json:"count"` // how often
	Code    int       `json:"code"`
	Method  string    `json:"method"`            // of the last one, like the path
	Path    string    `json:"path"`              // without the query
	Various bool      `json:"various,omitempty"` // earlier requests had other methods or paths
	Actor   string    `json:"actor,omitempty"`   // "": unknown
	From    string    `json:"from"`              // its address
	Error   string    `json:"error"`             // of the last one
}

// deniedLog is the last rejected requests, oldest first. It is safe for concurrent use.
type deniedLog struct {
	mu   sync.Mutex
	list []DeniedRequest
}

const (
	maxDenied     = 100 // entries
	maxDeniedPath = 120 // in bytes
)

// deniedCodes are the statuses that operators want to see.
var deniedCodes = []int{http.StatusUnauthorized, http.StatusForbidden, http.StatusRequestEntityTooLarge, http.StatusTooManyRequests}

func (c *call) logDenied(code int, text string) {
	if slices.Contains(deniedCodes, code) {
		c.addDenied(code, text)
	}
}

// addDenied records a rejected request for operators.
func (c *call) addDenied(code int, text string) {
	from, _, err := net.SplitHostPort(c.r.RemoteAddr)
	if err != nil {
		from = ""
	}
	path, now := c.r.URL.EscapedPath(), time.Now().UTC()
	c.denied.add(DeniedRequest{
		First: now, At: now, Count: 1, Code: code, Method: c.r.Method[:min(len(c.r.Method), 16)], Path: path[:min(len(path), maxDeniedPath)],
		Actor: c.actor.ID, From: from, Error: text,
	})
}

// add records a request. Repeated ones do not displace the others.
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

// isLike reports whether two requests have the same caller and the same reason. The reason
// ignores numbers, such as the seconds to wait.
func (r DeniedRequest) isLike(o DeniedRequest) bool {
	return r.Code == o.Code && r.Actor == o.Actor && r.From == o.From && withoutDigits(r.Error) == withoutDigits(o.Error)
}

// withoutDigits removes the digits of a text.
func withoutDigits(text string) string {
	return strings.Map(func(r rune) rune {
		if r >= '0' && r <= '9' {
			return -1
		}
		return r
	}, text)
}

// DeniedRequests returns the last rejected requests, the newest first. They contain no secret:
// neither keys nor queries.
func (d *Server) DeniedRequests() []DeniedRequest {
	d.denied.mu.Lock()
	defer d.denied.mu.Unlock()
	list := append([]DeniedRequest{}, d.denied.list...)
	slices.Reverse(list)
	return list
}
