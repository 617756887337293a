package printer

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/messkit/messkit/drivers/httpclient"
)

// dialect is the API of one type of server.
type dialect interface {
	files(ctx context.Context) ([]listed, error)
	state(ctx context.Context) (state, error)
	start(ctx context.Context, path string) error
	pause(ctx context.Context, s state) error
	resume(ctx context.Context, s state) error
	cancel(ctx context.Context, s state) error
	// cools reports whether cool can turn off the heaters.
	cools() bool
	cool(ctx context.Context) error
	// last returns the result of the print of a file that began at since, or nil. keeps
	// reports whether the server records results.
	last(ctx context.Context, path string, since time.Time) (end *ending, keeps bool, err error)
}

var dialects = map[string]func(server, Config) dialect{
	"moonraker": func(s server, _ Config) dialect { return moonraker{s} },
	"octoprint": func(s server, _ Config) dialect { return octoprint{s} },
	"prusalink": func(s server, c Config) dialect { return prusalink{s, c.Storage} },
}

// listed is an entry in the file list of a server: label is its long name, if it has one.
type listed struct{ label, path string }

// server sends requests to a printer server.
type server struct{ web *httpclient.Client }

// listBytes is the size limit for a list of files.
const listBytes = 4 << 20

// ask sends a request and decodes the answer into out, unless out is nil.
func (s server) ask(ctx context.Context, method, path string, body, out any) error {
	call := httpclient.Call{Method: method, Path: path, Accept: "application/json", Max: listBytes, Acts: method != http.MethodGet}
	if body != nil {
		data, err := json.Marshal(body)
		if err != nil {
			return err
		}
		call.Body, call.Type = data, "application/json"
	}
	answer, err := s.web.Do(ctx, call)
	if err != nil || out == nil {
		return err
	}
	if len(answer.Body) == 0 { // status 204 has no body
		return nil
	}
	if json.Unmarshal(answer.Body, out) != nil {
		return errors.New("the answer has an unknown format; check server: and its version")
	}
	return nil
}

func (s server) get(ctx context.Context, path string, out any) error {
	return s.ask(ctx, http.MethodGet, path, nil, out)
}

func (s server) post(ctx context.Context, path string, body any) error {
	return s.ask(ctx, http.MethodPost, path, body, nil)
}

// escaped returns the path of a file with escapes for an address.
func escaped(path string) string {
	parts := strings.Split(path, "/")
	for i, p := range parts {
		parts[i] = url.PathEscape(p)
	}
	return strings.Join(parts, "/")
}

// answered reports whether the server has answered with this status.
func answered(err error, status int) bool {
	e, ok := errors.AsType[*httpclient.StatusError](err)
	return ok && e.Status == status
}

// seconds converts a number of seconds; it returns 0 for an implausible one.
func seconds(s float64) time.Duration {
	if !(s > 0 && s < 1e8) {
		return 0
	}
	return time.Duration(s * float64(time.Second))
}

// percent limits a number to 0 to 100.
func percent(f float64) float64 {
	if !(f > 0) {
		return 0
	}
	return min(100, f)
}
