package fleet

import (
	"bufio"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/messkit/messkit/exchange"
	"github.com/messkit/messkit/exchange/keys"
	"github.com/messkit/messkit/internal/process/child"
	"github.com/messkit/messkit/internal/wait"
)

// target is the exchange of a run.
type target struct {
	*web            // its first node
	nodes    []*web // all of them
	id       string
	broker   string // host and port
	operator string // its key
	keys     map[string]string
	end      func() error // ends or leaves it
}

const ownID = "fleet"

// start runs a separate exchange in a temporary folder, as a separate process. self is the
// command that runs messkit.
func start(ctx context.Context, c Config, self string, actors map[string]exchange.Role, errs io.Writer) (*target, error) {
	dir, err := os.MkdirTemp("", "messkit-fleet-")
	if err != nil {
		return nil, err
	}
	t := &target{id: ownID, end: func() error { return os.RemoveAll(dir) }}
	k, err := keys.Open(dir, ownID)
	if err == nil {
		t.keys, err = k.IssueAll(actors)
	}
	var key []byte
	if err == nil {
		key, err = os.ReadFile(filepath.Join(dir, "operator.key"))
	}
	file := filepath.Join(dir, "messkit.yaml")
	listen := map[bool]string{true: "'off'", false: "127.0.0.1:0"}[c.Protocol == HTTP]
	if err == nil {
		err = os.WriteFile(file, fmt.Appendf(nil, "exchange: {id: %s, listen: '127.0.0.1:0', data: '%s', mqtt: {listen: %s, clients: %d}}\n", ownID, dir, listen, c.Executors+1000), 0o600)
	}
	if err != nil {
		return nil, errors.Join(err, t.end())
	}
	t.operator = strings.TrimSpace(string(key))
	p := &exec.Cmd{Path: self, Args: []string{"messkit", "exchange", "--config", file}, Stderr: errs, Env: os.Environ()}
	out, err := p.StdoutPipe()
	if err != nil {
		return nil, errors.Join(err, t.end())
	}
	ended, err := child.Start(p)
	if err != nil {
		return nil, errors.Join(err, t.end())
	}
	t.end = func() error {
		_ = p.Process.Signal(syscall.SIGTERM) // it may have ended
		hang := time.AfterFunc(time.Minute, func() { _ = p.Process.Kill() })
		defer hang.Stop()
		return errors.Join(<-ended, os.RemoveAll(dir))
	}
	stop := context.AfterFunc(ctx, func() { _ = out.Close() })
	defer stop()
	if err := t.address(out, c); err != nil {
		return nil, errors.Join(err, t.end())
	}
	return t, nil
}

// address reads the addresses that the exchange prints.
func (t *target) address(out io.Reader, c Config) error {
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		if _, at, ok := strings.Cut(lines.Text(), " at http://"); ok {
			t.web = newWeb(strings.Fields(at)[0], t.id, c.Connections)
			t.nodes = []*web{t.web}
		}
		if _, at, ok := strings.Cut(lines.Text(), "mqtt at mqtt://"); ok {
			t.broker = strings.Fields(at)[0]
		}
		if t.web != nil && (t.broker != "" || c.Protocol == HTTP) {
			return nil
		}
	}
	return errors.Join(errors.New("the exchange that simulate-fleet started has ended; its error is above"), lines.Err())
}

// join uses a running exchange: it has keys made there for the time of the run.
func join(ctx context.Context, c Config, actors map[string]exchange.Role) (*target, error) {
	t := &target{operator: c.Key, keys: map[string]string{}}
	if c.Broker != "" {
		b, err := url.Parse(c.Broker)
		if err != nil {
			return nil, err
		}
		t.broker = b.Host
	}
	for _, address := range c.URLs {
		u, err := url.Parse(address)
		if err != nil {
			return nil, err
		}
		var h struct {
			Exchange string `json:"exchange_id"`
		}
		if err := newWeb(u.Host, "", 1).do(ctx, http.MethodGet, "http://"+u.Host+"/health", "", nil, &h); err != nil {
			return nil, err
		}
		if t.id != "" && h.Exchange != t.id {
			return nil, fmt.Errorf("--url: %s is the exchange %s, and %s is %s; write the nodes of one exchange", t.host, t.id, u.Host, h.Exchange)
		}
		t.id, t.nodes = h.Exchange, append(t.nodes, newWeb(u.Host, h.Exchange, c.Connections))
		t.web = t.nodes[0]
	}
	t.end = func() error { return t.leave(context.WithoutCancel(ctx), actors) }
	var mu sync.Mutex
	var g errgroup.Group
	g.SetLimit(16)
	for actor, roles := range actors {
		g.Go(func() error {
			body, _ := json.Marshal(map[string]any{"actor": actor, "roles": keys.Names(roles)}) // plain values
			var v struct {
				Key string `json:"api_key"`
			}
			err := t.do(ctx, http.MethodPost, t.base+"/keys", t.operator, body, &v)
			mu.Lock()
			defer mu.Unlock()
			t.keys[actor] = v.Key
			return err
		})
	}
	if err := g.Wait(); err != nil {
		return nil, errors.Join(fmt.Errorf("keys for the fleet: %w", err), t.end())
	}
	return t, nil
}

// How long leave waits until the exchange no longer takes an executor for one that may
// act: half a minute after its last heartbeat, unless configured otherwise.
const (
	leaveTime  = 3 * time.Minute
	leaveAgain = time.Second
)

// leave revokes the keys of the run, and deregisters its executors.
func (t *target) leave(ctx context.Context, actors map[string]exchange.Role) error {
	ctx, cancel := context.WithTimeout(ctx, leaveTime)
	defer cancel()
	var executors []string
	for actor, roles := range actors {
		if roles&exchange.ExecutorRole != 0 {
			executors = append(executors, actor)
		}
	}
	if _, err := t.remove(ctx, "/keys/", slices.Collect(maps.Keys(actors))); err != nil {
		return fmt.Errorf("the keys of the fleet: %w", err)
	}
	for {
		left, err := t.remove(ctx, "/executors/", executors)
		if err != nil || len(left) > 0 && !wait.For(ctx, leaveAgain) {
			return fmt.Errorf("the exchange still lists %d executors of the fleet (%v); remove each with messkit forget", len(left), err)
		}
		if executors = left; len(left) == 0 {
			return nil
		}
	}
}

// remove deletes the entries at a path, and returns those that the exchange does not release yet.
func (t *target) remove(ctx context.Context, path string, names []string) (left []string, err error) {
	var mu sync.Mutex
	var g errgroup.Group
	g.SetLimit(16)
	for _, name := range names {
		g.Go(func() error {
			var v map[string]any
			err := t.do(ctx, http.MethodDelete, t.base+path+name, t.operator, nil, &v)
			r, ok := errors.AsType[*refusal](err)
			switch {
			case ok && r.code == http.StatusNotFound: // it never registered
				return nil
			case ok && r.code == http.StatusConflict:
				mu.Lock()
				defer mu.Unlock()
				left = append(left, name)
				return nil
			}
			return err
		})
	}
	return left, g.Wait()
}

// newRun names a run, so that two have no actor or request in common.
func newRun() string { return strings.ToLower(rand.Text()[:6]) }
