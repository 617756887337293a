package printer

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/messkit/messkit/drivers/web"
)

// dialect is how one kind of server is talked to.
type dialect interface {
	files(ctx context.Context) ([]listed, error)
	state(ctx context.Context) (state, error)
	start(ctx context.Context, path string) error
	pause(ctx context.Context, s state) error
	resume(ctx context.Context, s state) error
	cancel(ctx context.Context, s state) error
	// cools reports whether cool can switch the heaters off.
	cools() bool
	cool(ctx context.Context) error
	// last is the end of the print of a file that was begun at since, nil if there is
	// none; keeps reports whether the server keeps a record of them.
	last(ctx context.Context, path string, since time.Time) (end *ending, keeps bool, err error)
}

var dialects = map[string]func(server, Config) dialect{
	"moonraker": func(s server, _ Config) dialect { return moonraker{s} },
	"octoprint": func(s server, _ Config) dialect { return octoprint{s} },
	"prusalink": func(s server, c Config) dialect { return prusalink{s, c.Storage} },
}

// listed is a file as a server lists it: label is its long name, where it has one.
type listed struct{ label, path string }

// server is a printer's server.
type server struct{ web *web.Client }

// listBytes is what a list of files may have.
const listBytes = 4 << 20

// ask asks, and reads the answer into out; nil for none that is wanted.
func (s server) ask(ctx context.Context, method, path string, body, out any) error {
	call := web.Call{Method: method, Path: path, Accept: "application/json", Max: listBytes, Acts: method != http.MethodGet}
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
	if len(answer.Body) == 0 { // 204: there is none
		return nil
	}
	if json.Unmarshal(answer.Body, out) != nil {
		return errors.New("what it answers cannot be read; is server: the right one, and new enough?")
	}
	return nil
}

func (s server) get(ctx context.Context, path string, out any) error {
	return s.ask(ctx, http.MethodGet, path, nil, out)
}

func (s server) post(ctx context.Context, path string, body any) error {
	return s.ask(ctx, http.MethodPost, path, body, nil)
}

// escaped is a file's path below an address.
func escaped(path string) string {
	parts := strings.Split(path, "/")
	for i, p := range parts {
		parts[i] = url.PathEscape(p)
	}
	return strings.Join(parts, "/")
}

// is reports whether a server has answered with a status.
func answered(err error, status int) bool {
	e, ok := errors.AsType[*web.StatusError](err)
	return ok && e.Status == status
}

// seconds is a time that a server gives as a number.
func seconds(s float64) time.Duration {
	if !(s > 0 && s < 1e8) {
		return 0
	}
	return time.Duration(s * float64(time.Second))
}

// percent is a share that a server gives.
func percent(f float64) float64 {
	if !(f > 0) {
		return 0
	}
	return min(100, f)
}
