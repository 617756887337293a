package referenceserver

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
)

// call is one request and its answer.
type call struct {
	*Server
	w     http.ResponseWriter
	r     *http.Request
	names map[string]string
	actor string
	body  map[string]any
}

// refusal is an error response.
type refusal struct {
	code int
	key  string // of its text in testdata
}

func (r *refusal) Error() string { return r.key }

func rejection(code int, key string) error { return &refusal{code, key} }

// errType is the error of an untyped program for a value of the wrong type.
var errType = errors.New("type error")

var does = map[string]func(*call) (int, any, error){
	"health": (*call).health, "register": (*call).register, "list": (*call).list, "create": (*call).create, "thread": (*call).thread,
	"update": (*call).update, "attachment": (*call).attachment, "executors": (*call).executorList, "profile": (*call).profile,
	"capabilities": func(*call) (int, any, error) { return 200, map[string]any{"capabilities": []any{}}, nil },
	"unsupported":  func(*call) (int, any, error) { return 0, nil, rejection(400, "unsupported") },
}

func (c *call) serve() {
	code, v, err := c.route()
	var r *refusal
	switch {
	case errors.As(err, &r) && c.q.HTML[r.key] != 0:
		c.w.Header().Set("Content-Type", "text/html; charset=utf-8")
		c.w.WriteHeader(c.q.HTML[r.key])
		fmt.Fprintf(c.w, "<!DOCTYPE html>\n<pre>Error: %s<br> &nbsp; at Layer.handle (/app/node_modules/router.js)</pre>\n", r.key)
	case errors.As(err, &r):
		c.answer(r.code, map[string]string{"error": c.q.Errors[r.key]})
	case err != nil: // without a body
		c.w.WriteHeader(http.StatusInternalServerError)
	default:
		c.answer(code, v)
	}
}

// route finds the handler of a request. It checks the key before the path.
func (c *call) route() (int, any, error) {
	known := strings.HasPrefix(c.r.URL.Path, "/api/v1/exchanges/")
	for _, route := range c.q.Routes {
		names, ok := match(route.Path, c.r.URL.Path)
		if !ok || route.Method != c.r.Method && (route.Does != "health" || c.r.Method != http.MethodHead) {
			continue
		}
		c.names = names
		if !route.Open {
			if err := c.authenticate(names["ex"]); err != nil {
				return 0, nil, err
			}
		}
		c.mu.Lock()
		c.asked[c.r.Method+" "+route.Does]++
		c.mu.Unlock()
		if err := c.read(); err != nil {
			return 0, nil, err
		}
		return does[route.Does](c)
	}
	if known {
		if err := c.authenticate(strings.Split(c.r.URL.Path, "/")[4]); err != nil {
			return 0, nil, err
		}
	}
	return 0, nil, rejection(404, "no_route")
}

// authenticate takes the exchange's id from between the first two _ of the key, and compares the
// key with that of every executor.
func (c *call) authenticate(exchange string) error {
	key, ok := strings.CutPrefix(c.r.Header.Get("Authorization"), "Bearer ")
	if !ok {
		return rejection(401, "no_key")
	}
	parts := strings.Split(key, "_")
	if len(parts) < 3 {
		return rejection(401, "bad_key")
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, e := range c.executors {
		if e.key == key && e.exchange == parts[1] {
			if e.exchange != exchange {
				return rejection(403, "other_exchange")
			}
			c.actor = fmt.Sprint(e.doc["id"])
			return nil
		}
	}
	return rejection(401, "bad_key")
}

// read decodes the body like the server.
func (c *call) read() error {
	c.body = map[string]any{}
	if c.r.Method == http.MethodGet || c.r.Method == http.MethodHead || c.q.JSONOnly && !strings.HasPrefix(c.r.Header.Get("Content-Type"), "application/json") {
		return nil
	}
	in := io.Reader(c.r.Body)
	if c.q.BodyLimit > 0 {
		in = io.LimitReader(in, c.q.BodyLimit+1)
	}
	text, err := io.ReadAll(in)
	if err != nil {
		return err
	}
	if c.q.BodyLimit > 0 && int64(len(text)) > c.q.BodyLimit {
		return rejection(413, "too_large")
	}
	if json.Unmarshal(text, &c.body) != nil {
		return rejection(400, "bad_json")
	}
	return nil
}

// answer sends JSON, with a weak ETag if the server makes one.
func (c *call) answer(code int, v any) {
	text, err := json.Marshal(v)
	if c.q.EmptyToList {
		text = bytes.ReplaceAll(text, []byte("{}"), []byte("[]"))
	}
	if err != nil {
		code, text = http.StatusInternalServerError, nil
	}
	h := c.w.Header()
	h.Set("Content-Type", "application/json; charset=utf-8")
	if sum := sha256.Sum256(text); c.q.ETags && c.r.Method == http.MethodGet && code == http.StatusOK {
		tag := `W/"` + hex.EncodeToString(sum[:8]) + `"`
		h.Set("ETag", tag)
		if c.r.Header.Get("If-None-Match") == tag {
			c.w.WriteHeader(http.StatusNotModified)
			return
		}
	}
	c.w.WriteHeader(code)
	_, _ = c.w.Write(text) // the client may have gone
}

func (c *call) health() (int, any, error) { return 200, c.q.Health, nil }
