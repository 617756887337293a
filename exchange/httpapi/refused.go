package httpapi

import (
	"net"
	"net/http"
	"slices"
	"sync"
	"time"
)

// Refused is something that the door has refused: whom it does not know, what
// one may not do, and what is too much.
type Refused struct {
	At     time.Time `json:"at"`
	Code   int       `json:"code"`
	Method string    `json:"method"`
	Path   string    `json:"path"`
	Actor  string    `json:"actor,omitempty"` // "" where it is not known
	From   string    `json:"from"`            // the address
	Error  string    `json:"error"`
}

// refusals are the last of them, the oldest first.
type refusals struct {
	mu   sync.Mutex
	list []Refused
}

const (
	keptRefusals = 100
	keptPath     = 120 // bytes of a path
)

// told are the codes that somebody who runs the place wants to know of.
var told = []int{http.StatusUnauthorized, http.StatusForbidden, http.StatusRequestEntityTooLarge, http.StatusTooManyRequests}

func (c *call) note(code int, text string) {
	if !slices.Contains(told, code) {
		return
	}
	from, _, err := net.SplitHostPort(c.r.RemoteAddr)
	if err != nil {
		from = ""
	}
	path := c.r.URL.EscapedPath()
	r := Refused{
		At: time.Now().UTC(), Code: code, Method: c.r.Method[:min(len(c.r.Method), 16)], Path: path[:min(len(path), keptPath)],
		Actor: c.who.ID, From: from, Error: text,
	}
	c.refused.mu.Lock()
	defer c.refused.mu.Unlock()
	if len(c.refused.list) >= keptRefusals {
		c.refused.list = slices.Delete(c.refused.list, 0, 1)
	}
	c.refused.list = append(c.refused.list, r)
}

// Refused lists the last refusals, the newest first. It holds no secret: neither
// keys nor what stands behind a path's ?.
func (d *Door) Refused() []Refused {
	d.refused.mu.Lock()
	defer d.refused.mu.Unlock()
	list := append([]Refused{}, d.refused.list...)
	slices.Reverse(list)
	return list
}
