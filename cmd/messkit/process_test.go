package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"
)

// buildMesskit builds the release binary: static, without the race detector. Without flags all
// tests share one build.
func buildMesskit(t *testing.T, flags ...string) string {
	t.Helper()
	name, err := filepath.Join(t.TempDir(), "messkit"), error(nil)
	if len(flags) == 0 {
		name, err = builtOnce()
	} else {
		err = build(name, flags...)
	}
	if err != nil {
		t.Fatal(err)
	}
	return name
}

// builtOnce builds into a folder that tidy removes after all tests.
var builtOnce = sync.OnceValues(func() (string, error) {
	name := filepath.Join(builtIn, "messkit")
	return name, build(name)
})

// builtIn is the folder of the shared build.
var builtIn string

func build(name string, flags ...string) error {
	c := exec.Command("go", slices.Concat([]string{"build", "-buildvcs=false", "-o", name}, flags, []string{"."})...)
	c.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := c.CombinedOutput(); err != nil {
		return fmt.Errorf("go build: %w\n%s", err, out)
	}
	return nil
}

// process is a messkit process of a test.
type process struct {
	cmd    *exec.Cmd
	url    string // "" if it ended before it served
	stderr text
	ended  chan struct{} // closed when the process has ended, with err
	err    error
}

// allCPUs is the configuration of an exchange for load tests, and for receivers on this
// machine.
const allCPUs = "exchange: {rate: {requests: 1000000, burst: 1000000}, webhooks: {allow: [127.0.0.1/32]}}"

// launch starts an exchange with that data folder, and waits until it serves or ends. The process
// ends with the test, even if the test crashes.
func launch(dir string, command ...string) (*process, error) {
	return start(dir, append(slices.Clone(command), "exchange", "--config", "/dev/stdin", "--listen", "127.0.0.1:0", "--data", dir)...)
}

// start starts a command whose first line contains its address, with dir as its home.
func start(dir string, command ...string) (*process, error) {
	p := &process{ended: make(chan struct{})}
	p.cmd = exec.Command(command[0], command[1:]...)
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	p.cmd.Stderr = &p.stderr
	p.cmd.Stdin = strings.NewReader(allCPUs) // only commands with --config /dev/stdin read it
	p.cmd.Env = append(os.Environ(), "HOME="+dir)
	first := make(chan string, 1)
	p.cmd.Stdout = &firstLine{line: first}
	if err := p.cmd.Start(); err != nil {
		return nil, err
	}
	var g errgroup.Group
	g.Go(func() error {
		p.err = p.cmd.Wait()
		close(p.ended)
		return nil
	})
	select {
	case line := <-first:
		line, _, _ = strings.Cut(line, "\n") // the next line may have the address of another channel
		p.url = strings.TrimSpace(line[max(0, strings.Index(line, "http")):]) + "/api/v1/exchanges/home"
		return p, nil
	case <-p.ended:
		return p, nil
	case <-time.After(patience):
		return p, errors.Join(fmt.Errorf("it neither serves nor ends within %v", patience), p.kill())
	}
}

// text collects the output of a process. Concurrent reads are safe.
type text struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (t *text) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.text.Write(p)
}

func (t *text) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.text.String()
}

// firstLine sends the first line of its input to line.
type firstLine struct {
	text []byte
	line chan string
}

func (f *firstLine) Write(p []byte) (int, error) {
	if f.text = append(f.text, p...); bytes.Contains(f.text, []byte("\n")) && f.line != nil {
		f.line <- string(f.text)
		f.line = nil
	}
	return len(p), nil
}

// running reports whether the process has not ended.
func (p *process) running() bool {
	select {
	case <-p.ended:
		return false
	default:
		return true
	}
}

// kill ends the process with SIGKILL.
func (p *process) kill() error { return p.end(syscall.SIGKILL) }

// stop ends the process with SIGINT, as Ctrl-C does.
func (p *process) stop() error { return errors.Join(p.end(os.Interrupt), p.err) }

func (p *process) end(how os.Signal) error {
	if err := p.cmd.Process.Signal(how); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return err
	}
	select {
	case <-p.ended:
		return nil
	case <-time.After(patience):
		return errors.Join(fmt.Errorf("it does not end within %v of %v", patience, how), p.cmd.Process.Kill())
	}
}

// operatorKey returns the operator's key from a data folder.
func operatorKey(dir string) (string, error) {
	key, err := os.ReadFile(filepath.Join(dir, "operator.key"))
	return strings.TrimSpace(string(key)), err
}

// apiClient is a client of an exchange.
type apiClient struct {
	url      string
	operator string // key of the requester
	executor string // key of the executor
	client   *http.Client
}

func newAPIClient(url, operator, executor string) *apiClient {
	return &apiClient{
		url: url, operator: operator, executor: executor,
		client: &http.Client{Timeout: patience, Transport: &http.Transport{MaxIdleConnsPerHost: 64, DisableCompression: true}},
	}
}

// call makes one call; an error means that there was no response.
func (d *apiClient) call(key, method, path, body string) (int, []byte, error) {
	req, err := http.NewRequest(method, d.url+path, strings.NewReader(body))
	if err != nil {
		return 0, nil, err
	}
	req.Header.Set("Authorization", "Bearer "+key)
	res, err := d.client.Do(req)
	if err != nil {
		return 0, nil, err
	}
	data, err := io.ReadAll(res.Body)
	return res.StatusCode, data, errors.Join(err, res.Body.Close())
}

// get reads JSON into v; a status other than 200 is an error.
func (d *apiClient) get(key, path string, v any) error {
	code, data, err := d.call(key, http.MethodGet, path, "")
	if err == nil && code != http.StatusOK {
		err = fmt.Errorf("%d %.200s", code, data)
	}
	if err == nil {
		err = json.Unmarshal(data, v)
	}
	return err
}

// enroll registers the executor that claims requests.
func (d *apiClient) enroll() error {
	code, data, err := d.call("", http.MethodPost, "/register", `{"executor_id":"pi","display_name":"pi","capabilities":["look"]}`)
	var v struct {
		Key string `json:"api_key"`
	}
	if err == nil && code != http.StatusCreated {
		err = fmt.Errorf("register: %d %.200s", code, data)
	}
	if err == nil {
		err = json.Unmarshal(data, &v)
	}
	d.executor = v.Key
	return err
}
