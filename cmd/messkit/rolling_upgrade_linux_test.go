package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/messkit/messkit/exchange/remote/httpclient"
	"github.com/messkit/messkit/internal/daemon/status"
	"github.com/messkit/messkit/internal/test/freeport"
	"github.com/messkit/messkit/internal/test/natsserver"
)

const (
	upgradeNodes   = 3
	upgradeClients = 4
	upgradeEvery   = 25 * time.Millisecond // between two requests of a client
	upgradePhase   = 60                    // requests that are answered in each state of the cluster
	upgradeWithin  = 60 * time.Second
)

// rolling is a cluster whose exchanges a test replaces one by one, with clients that ask all the time.
type rolling struct {
	*testing.T
	servers   []*natsserver.Server
	nodes     [upgradeNodes]*process
	dirs      [upgradeNodes]string
	addresses [upgradeNodes]string
	key       string

	answered atomic.Int64
	retried  atomic.Int64
	mu       sync.Mutex
	refs     map[string]string // by client id
	failed   []string
}

// config writes the configuration of an exchange, and returns its file.
func (r *rolling) config(dir, listen string) string {
	r.Helper()
	var urls, monitors []string
	for _, s := range r.servers {
		urls, monitors = append(urls, s.URL()), append(monitors, s.Monitor())
	}
	conf := filepath.Join(dir, "exchange.yaml")
	text := fmt.Sprintf("exchange: {id: home, listen: '%s', data: '%s/data', mqtt: {listen: off}, store: {url: '%s', replicas: 3, monitor: ['%s']}}\n",
		listen, dir, strings.Join(urls, ","), strings.Join(monitors, "', '"))
	if err := os.WriteFile(conf, []byte(text), 0o600); err != nil {
		r.Fatal(err)
	}
	return conf
}

// startNode starts a node with a program, and waits until it is ready.
func (r *rolling) startNode(n int, program string) {
	r.Helper()
	p, err := start(r.dirs[n], program, "exchange", "--config", r.config(r.dirs[n], r.addresses[n]))
	if err != nil || !p.running() {
		r.Fatalf("node %d: %v\n%s", n+1, err, p.stderr.String())
	}
	r.nodes[n] = p
	r.Cleanup(func() { _ = p.kill() }) // the test may have stopped it
	soon(r.T, fmt.Sprintf("node %d is ready", n+1), func() bool { code, _, err := probe(p, "/readyz"); return err == nil && code == http.StatusOK })
}

// replace stops a node, as a supervisor does, and starts it with another program.
func (r *rolling) replace(n int, program string) {
	r.Helper()
	if err := r.nodes[n].stop(); err != nil {
		r.Errorf("node %d at its end: %v\n%s", n+1, err, r.nodes[n].stderr.String())
	}
	r.await() // clients use the others
	r.startNode(n, program)
	r.await()
}

// await waits until clients have got answers in the present state of the cluster.
func (r *rolling) await() {
	r.Helper()
	want := r.answered.Load() + upgradePhase
	soon(r.T, "the clients get answers", func() bool { return r.answered.Load() >= want })
}

// call calls a node, and if it does not answer or answers that it cannot, the next one.
func (r *rolling) call(ctx context.Context, node int, method, path string, body []byte, into any) error {
	first := r.try(ctx, node, method, path, body, into)
	if first == nil {
		return nil
	}
	r.retried.Add(1)
	if err := r.try(ctx, (node+1)%upgradeNodes, method, path, body, into); err != nil {
		return fmt.Errorf("%w, after %w", err, first)
	}
	return nil
}

func (r *rolling) try(ctx context.Context, node int, method, path string, body []byte, into any) error {
	ctx, cancel := context.WithTimeout(ctx, upgradeWithin/2)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, method, "http://"+r.addresses[node]+"/api/v1/exchanges/home/"+path, bytes.NewReader(body))
	if err != nil {
		return err
	}
	req.Header.Set("Authorization", "Bearer "+r.key)
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	data, err := io.ReadAll(res.Body)
	if err == nil && res.StatusCode >= 300 {
		err = fmt.Errorf("node %d: %s %s", node+1, res.Status, data)
	}
	if err != nil {
		return err
	}
	return json.Unmarshal(data, into)
}

// ask makes requests, and reads each at another node, until ctx ends.
func (r *rolling) ask(ctx context.Context, client int) {
	tick := time.NewTicker(upgradeEvery)
	defer tick.Stop()
	for n := 0; ctx.Err() == nil; n++ {
		id, node := fmt.Sprintf("c%d-%d", client, n), (client+n)%upgradeNodes
		var made struct{ Ref string }
		var read struct{ Thread struct{ Ref, Status string } }
		err := r.call(context.WithoutCancel(ctx), node, http.MethodPost, "requests", fmt.Appendf(nil, `{"id": %q, "intent": "look at the lamp"}`, id), &made)
		if err == nil {
			err = r.call(context.WithoutCancel(ctx), (node+1)%upgradeNodes, http.MethodGet, "requests/"+made.Ref, nil, &read)
		}
		if err == nil && (made.Ref == "" || read.Thread.Ref != made.Ref || read.Thread.Status != "pending") {
			err = fmt.Errorf("made %+v, and read %+v", made, read)
		}
		r.mu.Lock()
		r.refs[id] = made.Ref
		if err != nil {
			r.failed = append(r.failed, fmt.Sprintf("%s: %v", id, err))
		}
		r.mu.Unlock()
		r.answered.Add(1)
		<-tick.C
	}
}

// metric returns the sum of a metric of a node.
func (r *rolling) metric(node int, name string) (sum float64) {
	r.Helper()
	_, text, err := probe(r.nodes[node], "/metrics")
	if err != nil {
		r.Fatal(err)
	}
	for line := range strings.Lines(text) {
		if labels, ok := strings.CutPrefix(strings.TrimSpace(line), name); ok {
			_, value, _ := strings.Cut(labels, " ")
			n, err := strconv.ParseFloat(value, 64)
			if err != nil {
				r.Fatalf("%s: %v", line, err)
			}
			sum += n
		}
	}
	return sum
}

// format checks the format in which a node writes, and the one that it knows.
func (r *rolling) format(node, format, newest int) {
	r.Helper()
	soon(r.T, fmt.Sprintf("node %d writes format %d", node+1, format), func() bool {
		var s status.Document
		err := clientFor(r.T, "http://"+r.addresses[node], httpclient.Secret(r.key)).Status(r.Context(), &s)
		return err == nil && s.Store != nil && s.Store.Format == format && s.Store.Newest == newest
	})
}

// Clients ask three exchanges all the time, and try another one once. Meanwhile a new release with a
// newer format replaces the exchanges one by one, and one NATS server starts again. No request fails,
// and each makes one thread. Then the operator upgrades the format: an exchange of the old release ends,
// and none starts.
func TestRollingUpgrade(t *testing.T) {
	if testing.Short() {
		t.Skip("starts six exchanges and three NATS servers")
	}
	t.Parallel()
	r := &rolling{T: t, refs: map[string]string{}}
	r.servers = natsserver.StartCluster(t, upgradeNodes, natsserver.Options{Sync: "always"})
	old := buildMesskit(t, "-ldflags=-X github.com/messkit/messkit/exchange/store/jetstream.newest=1")
	next := buildMesskit(t, "-ldflags=-X github.com/messkit/messkit/internal/cli/output.Version=99.0.0")
	for n := range upgradeNodes {
		r.dirs[n], r.addresses[n] = t.TempDir(), freeport.Address(t)
		r.startNode(n, old)
	}
	var err error
	if r.key, err = operatorKey(filepath.Join(r.dirs[0], "data")); err != nil {
		t.Fatal(err)
	}
	for n := range upgradeNodes { // each takes the key of the first
		soon(t, "the key works", func() bool {
			var any struct{}
			return r.try(t.Context(), n, http.MethodGet, "requests", nil, &any) == nil
		})
	}
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	var asking sync.WaitGroup
	for c := range upgradeClients {
		asking.Go(func() { r.ask(ctx, c) })
	}
	begin := time.Now()
	r.await()
	r.replace(0, next)
	r.format(0, 1, 2)
	r.servers[1].Kill()
	r.await()
	r.servers[1].Restart()
	r.replace(1, next)
	r.replace(2, next)
	if took := time.Since(begin); took > upgradeWithin {
		t.Errorf("the upgrade took %v, limit %v", took, upgradeWithin)
	}
	stop()
	asking.Wait()
	r.judge()
	r.upgradeFormat(old, next)
	t.Logf("%d requests in %v, %d tried twice", len(r.refs), time.Since(begin).Round(time.Second), r.retried.Load())
}

// judge checks that no request has failed, and that each has made one thread.
func (r *rolling) judge() {
	r.Helper()
	for _, one := range r.failed {
		r.Errorf("failed: %s", one)
	}
	if r.retried.Load() == 0 {
		r.Error("no client has tried twice, so no node was away")
	}
	threads := map[string]string{}
	for id, ref := range r.refs {
		if other := threads[ref]; other != "" {
			r.Errorf("%s and %s have one thread %s", id, other, ref)
		}
		threads[ref] = id
	}
	for n := range upgradeNodes {
		if version := r.metric(n, `messkit_build_info{version="99.0.0"`); version != 1 {
			r.Errorf("node %d is not of the new release", n+1)
		}
		soon(r.T, fmt.Sprintf("node %d has %d threads", n+1, len(r.refs)), func() bool {
			return int(r.metric(n, "messkit_threads_open{")) == len(r.refs)
		})
	}
}

// upgradeFormat raises the format while an exchange of the old release runs.
func (r *rolling) upgradeFormat(old, next string) {
	r.Helper()
	dir := r.TempDir()
	conf := r.config(dir, "127.0.0.1:0")
	forgotten, err := start(dir, old, "exchange", "--config", conf)
	if err != nil || !forgotten.running() {
		r.Fatalf("%v\n%s", err, forgotten.stderr.String())
	}
	var urls []string
	for _, s := range r.servers {
		urls = append(urls, s.URL())
	}
	out, err := exec.Command(next, "store", "upgrade", strings.Join(urls, ","), "--sync", "always").CombinedOutput()
	if err != nil || !strings.Contains(string(out), "had format 1, and has format 2 now") {
		r.Fatalf("store upgrade: %v\n%s", err, out)
	}
	for n := range upgradeNodes {
		r.format(n, 2, 2)
	}
	const want = "the stream has format 2, and this messkit knows formats up to 1; install the newer messkit"
	select {
	case <-forgotten.ended:
	case <-time.After(patience):
		r.Fatal("the exchange of the old release goes on")
	}
	late, err := start(dir, old, "exchange", "--config", conf)
	if err != nil {
		r.Fatal(err)
	}
	for what, p := range map[string]*process{"an old exchange that runs": forgotten, "an old exchange that starts": late} {
		if p.running() || p.err == nil || !strings.Contains(p.stderr.String(), want) {
			r.Errorf("%s: %v\n%s", what, p.err, p.stderr.String())
		}
	}
}
