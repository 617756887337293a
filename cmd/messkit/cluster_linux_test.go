package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/messkit/messkit/exchange/remote/httpclient"
	"github.com/messkit/messkit/internal/cli/fleet"
	"github.com/messkit/messkit/internal/cli/output"
	"github.com/messkit/messkit/internal/daemon/status"
	"github.com/messkit/messkit/internal/test/freeport"
	"github.com/messkit/messkit/internal/test/natsserver"
	"github.com/messkit/messkit/mess"
)

// trialCluster is a running messkit exchange --cluster-dev.
type trialCluster struct {
	t       *testing.T
	cmd     *exec.Cmd
	dir     string   // of its data
	servers []int    // process ids
	nodes   []int    // process ids
	urls    []string // of the nodes
	advice  []string // lines after the addresses
	later   text     // what it prints after them
}

var (
	serverLine = regexp.MustCompile(`^nats-server \d at nats://\S+, process (\d+)$`)
	nodeLine   = regexp.MustCompile(`^exchange home, node \d at (http://\S+), process (\d+)$`)
)

// startTrialCluster starts a cluster of three, and reads what it prints until it is ready.
func startTrialCluster(t *testing.T, data string) *trialCluster {
	t.Helper()
	c := &trialCluster{t: t, dir: filepath.Join(data, "cluster")}
	c.cmd = exec.Command(buildMesskit(t), "exchange", "--cluster-dev", "3", "--data", data, "--listen", "127.0.0.1:0")
	c.cmd.Env = append(os.Environ(), "HOME="+data, "PATH="+filepath.Dir(natsserver.Program(t))+":"+os.Getenv("PATH"))
	c.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	var errs text
	c.cmd.Stderr = &errs
	out, err := c.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.cmd.Process.Kill() }) // the test may have ended it
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		line := lines.Text()
		if m := serverLine.FindStringSubmatch(line); m != nil {
			c.servers = append(c.servers, pidOf(t, m[1]))
		} else if m := nodeLine.FindStringSubmatch(line); m != nil {
			c.urls, c.nodes = append(c.urls, m[1]), append(c.nodes, pidOf(t, m[2]))
		} else {
			c.advice = append(c.advice, line)
		}
		if strings.Contains(line, "kill -9") {
			break // its last line
		}
	}
	go func() {
		for lines.Scan() {
			fmt.Fprintln(&c.later, lines.Text())
		}
	}()
	if len(c.servers) != 3 || len(c.nodes) != 3 {
		t.Fatalf("the cluster has not started: %q\n%s", c.advice, errs.String())
	}
	return c
}

func pidOf(t *testing.T, digits string) int {
	t.Helper()
	n, err := strconv.Atoi(digits)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// client returns a client of a node for the operator, with the key of the first node.
func (c *trialCluster) client(node int) *httpclient.Client {
	c.t.Helper()
	key, err := operatorKey(filepath.Join(c.dir, "node1"))
	if err != nil {
		c.t.Fatal(err)
	}
	return clientFor(c.t, c.urls[node], httpclient.Secret(key))
}

func clientFor(t *testing.T, url string, key httpclient.Secret) *httpclient.Client {
	t.Helper()
	x, err := httpclient.New(httpclient.Config{URL: url, Key: key}, output.NoLog)
	if err != nil {
		t.Fatal(err)
	}
	return x
}

// end ends the cluster with a signal, and waits until its processes have ended.
func (c *trialCluster) end(how os.Signal) {
	c.t.Helper()
	if err := c.cmd.Process.Signal(how); err != nil {
		c.t.Fatal(err)
	}
	if err := c.cmd.Wait(); err != nil && how == os.Interrupt {
		c.t.Errorf("the cluster has ended with %v", err)
	}
	for _, pid := range append(c.servers, c.nodes...) {
		soon(c.t, fmt.Sprintf("the end of process %d", pid), func() bool { return errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) })
	}
}

// soon works like eventually, for questions over HTTP, of which an exchange answers a limited number.
func soon(t *testing.T, what string, ask func() bool) {
	t.Helper()
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for end := time.Now().Add(patience); !ask(); <-tick.C {
		if time.Now().After(end) {
			t.Fatalf("%s: not within %v", what, patience)
		}
	}
}

// sendRequest sends a request, and returns its ref.
func sendRequest(ctx context.Context, t *testing.T, c *httpclient.Client, r mess.Request) string {
	t.Helper()
	answer, err := c.Send(ctx, mess.Message{Items: []mess.Item{&r}})
	if err != nil {
		t.Fatal(err)
	}
	for _, item := range answer.Items {
		if ack, ok := item.(*mess.Ack); ok {
			return ack.Ref
		}
	}
	t.Fatalf("no ack: %+v", answer)
	return ""
}

// awaitStatus waits until an exchange shows a thread with a status.
func awaitStatus(ctx context.Context, t *testing.T, c *httpclient.Client, ref string, status mess.Code) {
	t.Helper()
	soon(t, ref+" is "+string(status), func() bool {
		one, err := c.Thread(ctx, ref)
		return err == nil && one.Status == status
	})
}

// revokes checks that a key of one node works at another one, until the first node revokes it.
func (c *trialCluster) revokes(ctx context.Context, first, third *httpclient.Client) {
	c.t.Helper()
	key, err := first.IssueKey(ctx, "reader", []string{"observer"})
	if err != nil {
		c.t.Fatal(err)
	}
	reader := clientFor(c.t, c.urls[2], key)
	soon(c.t, "node 3 takes a key of node 1", func() bool { _, err := reader.Executors(ctx); return err == nil })
	if err := first.RevokeKey(ctx, "reader"); err != nil {
		c.t.Fatal(err)
	}
	soon(c.t, "node 3 refuses the revoked key", func() bool { _, err := reader.Executors(ctx); return errors.Is(err, mess.Unauthorized) })
	if _, err := third.Keys(ctx); err != nil {
		c.t.Error(err)
	}
}

// signsIn checks that a browser that has signed in at node 1 has its session at node 3, until it signs out
// there, and that an invitation of node 1 works once at all nodes.
func (c *trialCluster) signsIn(key string) {
	c.t.Helper()
	call := func(node int, method, path, body, session string) (code int, cookie, text string) {
		c.t.Helper()
		r, err := http.NewRequestWithContext(c.t.Context(), method, c.urls[node]+path, strings.NewReader(body))
		if err != nil {
			c.t.Fatal(err)
		}
		r.Header.Set("Origin", c.urls[node])
		r.AddCookie(&http.Cookie{Name: "messkit-" + r.URL.Port(), Value: session})
		res, err := http.DefaultClient.Do(r)
		if err != nil {
			c.t.Fatal(err)
		}
		defer res.Body.Close()
		data, _ := io.ReadAll(res.Body)
		for _, one := range res.Cookies() {
			cookie = one.Value
		}
		return res.StatusCode, cookie, string(data)
	}
	const path, who = "/console/session", "/console/who"
	_, session, text := call(0, http.MethodPost, path, `{"key":"`+key+`"}`, "")
	soon(c.t, "node 3 has the session of node 1: "+text, func() bool { code, _, _ := call(2, http.MethodGet, who, "", session); return code == http.StatusOK })
	_, _, invited := call(0, http.MethodPost, "/console/invite", `{"name":"Ana","role":"viewer"}`, session)
	var link struct{ Path string }
	if err := json.Unmarshal([]byte(invited), &link); err != nil {
		c.t.Fatalf("%s: %v", invited, err)
	}
	_, token, _ := strings.Cut(link.Path, "#")
	soon(c.t, "node 2 knows the invitation", func() bool {
		_, _, people := call(1, http.MethodGet, "/console/people", "", session)
		return strings.Contains(people, `"invitations":[{`)
	})
	var codes [3]int
	var all sync.WaitGroup
	for node := range codes {
		all.Go(func() { codes[node], _, _ = call(node, http.MethodPost, path, `{"link":"`+token+`"}`, "") })
	}
	all.Wait()
	slices.Sort(codes[:])
	if codes != [3]int{200, 401, 401} {
		c.t.Errorf("the invitation at three nodes at the same moment: %v, want one 200", codes)
	}
	if code, _, text := call(2, http.MethodDelete, path, "", session); code != http.StatusOK {
		c.t.Errorf("the sign-out: %d %s", code, text)
	}
	out := time.Now()
	soon(c.t, "node 1 refuses the ended session", func() bool {
		code, _, _ := call(0, http.MethodGet, who, "", session)
		return code == http.StatusUnauthorized
	})
	if took := time.Since(out); took > time.Second {
		c.t.Errorf("node 1 took the ended session for %v, want a second at most", took)
	}
}

// A cluster for trial goes on without one server and one node, its processes end when it is killed,
// and it has its threads after a restart.
func TestTrialCluster(t *testing.T) {
	t.Parallel()
	data := t.TempDir()
	c := startTrialCluster(t, data)
	if text := strings.Join(c.advice, "\n"); !strings.Contains(text, "messkit ask") {
		t.Errorf("the cluster does not say what to try: %s", text)
	}
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	first, second, third := c.client(0), c.client(1), c.client(2)
	one := sendRequest(ctx, t, first, mess.Request{Intent: "water the plants", Requires: []mess.Capability{{ID: "garden.water"}}})
	var key httpclient.Secret
	soon(t, "node 2 knows the key of the operator at node 1", func() bool {
		var err error
		key, err = second.IssueKey(ctx, "robot", []string{"executor"})
		return err == nil
	})
	robot := clientFor(t, c.urls[1], key)
	if _, err := robot.Send(ctx, mess.Message{Items: []mess.Item{&mess.Config{Executor: &mess.Executor{ID: "robot", Capabilities: []mess.Capability{{ID: "garden.water"}}}}}}); err != nil {
		t.Fatal(err)
	}
	awaitStatus(ctx, t, second, one, mess.Pending)
	if _, err := robot.Send(ctx, mess.Message{Re: mess.Refs{one}, Items: []mess.Item{&mess.Status{Code: mess.Claimed}}}); err != nil {
		t.Fatal(err)
	}
	awaitStatus(ctx, t, third, one, mess.Claimed)
	soon(t, "node 3 knows the executor of node 2", func() bool {
		list, err := third.Executors(ctx)
		return err == nil && len(list) == 1 && list[0].ID == "robot"
	})
	c.follows(ctx)
	c.revokes(ctx, first, third)
	operator, err := operatorKey(filepath.Join(c.dir, "node1"))
	if err != nil {
		t.Fatal(err)
	}
	c.signsIn(operator)
	c.addsExecutor(ctx, first)
	for _, pid := range []int{c.servers[1], c.nodes[1]} {
		if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
	}
	two := sendRequest(ctx, t, first, mess.Request{ID: "after", Intent: "water them again", Requires: []mess.Capability{{ID: "garden.rain"}}})
	awaitStatus(ctx, t, third, two, mess.Pending)
	c.namesDead(ctx, first)
	c.end(syscall.SIGKILL)
	c = startTrialCluster(t, data)
	ctx, cancel = context.WithTimeout(t.Context(), patience)
	defer cancel()
	second = c.client(1)
	awaitStatus(ctx, t, second, two, mess.Pending)
	awaitStatus(ctx, t, second, one, mess.Claimed)
	c.carriesFleet()
	awaitStatus(ctx, t, second, two, mess.Pending) // the fleet takes only its own requests
	c.end(os.Interrupt)
}

// addsExecutor adds an executor as the cluster says, and has it act.
func (c *trialCluster) addsExecutor(ctx context.Context, at *httpclient.Client) {
	c.t.Helper()
	run := func(prefix string) *exec.Cmd {
		i := slices.IndexFunc(c.advice, func(line string) bool { return strings.HasPrefix(strings.TrimSpace(line), prefix) })
		if i < 0 {
			c.t.Fatalf("the cluster does not say %s: %q", prefix, c.advice)
		}
		p := exec.Command(buildMesskit(c.t), strings.Fields(c.advice[i])[1:]...)
		p.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
		return p
	}
	if out, err := run("messkit keys issue ").CombinedOutput(); err != nil {
		c.t.Fatalf("%v: %s", err, out)
	}
	executor := run("messkit run ")
	if err := executor.Start(); err != nil {
		c.t.Fatal(err)
	}
	c.t.Cleanup(func() {
		_ = executor.Process.Kill()
		_ = executor.Wait() // killed above
	})
	awaitStatus(ctx, c.t, at, sendRequest(ctx, c.t, at, mess.Request{Intent: "what's in the fridge?"}), mess.Completed)
}

// namesDead checks that the status names the dead server, and that the cluster tells of both processes that
// were killed. Afterwards all replicas are current.
func (c *trialCluster) namesDead(ctx context.Context, at *httpclient.Client) {
	c.t.Helper()
	read := func() (s status.Store) {
		var d status.Document
		if err := at.Status(ctx, &d); err == nil && d.Store != nil {
			s = *d.Store
		}
		return s
	}
	soon(c.t, "the status names n2", func() bool {
		s := read()
		return s.Current() == 2 && len(s.Servers) == 3 && strings.Contains(s.Servers[1].Problem, "start it again") && s.Servers[1].Name == "n2" && strings.Contains(s.String(), ", 2 of 3 replicas current, ")
	})
	for _, want := range []string{"nats-server 2 has ended; it starts again in 10s", "node 2 has ended; it starts again in 10s", "nats-server 2 has started again, process ", "node 2 has started again, process "} {
		eventually(c.t, want, func() bool { return strings.Contains(c.later.String(), want) })
	}
	soon(c.t, "all replicas are current", func() bool { s := read(); return s.Current() == 3 && strings.Contains(s.String(), ", 3 replicas, ") })
}

// carriesFleet has a simulated fleet use all nodes, and reads its report. It does not wait until the fleet
// has left, which takes half a minute.
func (c *trialCluster) carriesFleet() {
	c.t.Helper()
	p := exec.Command(buildMesskit(c.t), "simulate-fleet", "--url", strings.Join(c.urls, ","), "--key-file", filepath.Join(c.dir, "node1", "operator.key"),
		"--executors", "6", "--rate", "10", "--for", "2s", "--heartbeat", "1s", "--json")
	p.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	var errs text
	p.Stderr = &errs
	out, err := p.StdoutPipe()
	if err != nil {
		c.t.Fatal(err)
	}
	if err := p.Start(); err != nil {
		c.t.Fatal(err)
	}
	var r fleet.Report
	if err := json.NewDecoder(out).Decode(&r); err != nil {
		c.t.Fatalf("%v: %s", err, errs.String())
	}
	if !r.OK() || r.Nodes != 3 || r.Created != 20 || r.Completed != 20 {
		c.t.Errorf("the report of the fleet: %+v", r)
	}
	_ = p.Process.Kill() // the cluster ends too
	_ = p.Wait()         // killed above
}

// Without the program nats-server the command says where it comes from.
func TestTrialClusterNeedsServer(t *testing.T) {
	t.Parallel()
	out := failedTrialCluster(t, "127.0.0.1:0", t.TempDir())
	if !strings.Contains(out, "there is no program nats-server") || !strings.Contains(out, "messkit: hint: install") {
		t.Error(out)
	}
}

// failedTrialCluster starts a cluster that cannot run, with a folder for PATH, and returns what it prints.
func failedTrialCluster(t *testing.T, listen, path string) string {
	t.Helper()
	home := t.TempDir()
	c := exec.Command(buildMesskit(t), "exchange", "--cluster-dev", "3", "--data", home, "--listen", listen)
	c.Env = []string{"HOME=" + home, "PATH=" + path}
	out, err := c.CombinedOutput()
	if err == nil {
		t.Errorf("the cluster has ended without an error: %s", out)
	}
	return string(out)
}

// If another program uses the port of a node, the command names the port.
func TestTrialClusterNamesPort(t *testing.T) {
	t.Parallel()
	address := freeport.Address(t)
	l, err := net.Listen("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	out := failedTrialCluster(t, address, filepath.Dir(natsserver.Program(t)))
	if !strings.Contains(out, "messkit: error: node 1: ") || !strings.Contains(out, address+": bind: address already in use") {
		t.Error(out)
	}
}
