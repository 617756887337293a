package main

import (
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/messkit/messkit/internal/test/natsserver"
	"github.com/messkit/messkit/internal/test/promtool"
)

// probe reads a path of a running exchange without a key.
func probe(p *process, path string) (code int, body string, err error) {
	host, _, _ := strings.Cut(p.url, "/api/")
	res, err := http.Get(host + path)
	if err != nil {
		return 0, "", err
	}
	defer res.Body.Close()
	data, err := io.ReadAll(res.Body)
	return res.StatusCode, string(data), err
}

// wantProbe checks the response to a probe.
func wantProbe(t *testing.T, p *process, path string, code int, fragment string) {
	t.Helper()
	got, body, err := probe(p, path)
	if err != nil || got != code || !strings.Contains(body, fragment) {
		t.Errorf("%s: %d %s, %v; want %d with %q", path, got, body, err, code, fragment)
	}
}

// family is the line with the type of a metric.
var family = regexp.MustCompile(`(?m)^# TYPE (\S+) (\S+)$`)

// The page of the metrics lists exactly those that the program has, with their types, and promtool
// accepts all of them.
func TestMetricsAreDocumented(t *testing.T) {
	t.Parallel()
	p, _ := startServing(t, t.TempDir(), buildMesskit(t))
	t.Cleanup(func() { _ = p.kill() })
	code, text, err := probe(p, "/metrics")
	if err != nil || code != http.StatusOK {
		t.Fatalf("%d %s, %v", code, text, err)
	}
	page, err := os.ReadFile("../../docs/reference/metrics.md")
	if err != nil {
		t.Fatal(err)
	}
	var has, documented []string
	for _, m := range family.FindAllStringSubmatch(text, -1) {
		has = append(has, m[1]+" "+m[2])
	}
	for _, m := range regexp.MustCompile("(?m)^\\| `([a-z_]+)` \\| (\\S+) ").FindAllStringSubmatch(string(page), -1) {
		documented = append(documented, m[1]+" "+m[2])
	}
	slices.Sort(has)
	slices.Sort(documented)
	if !slices.Equal(has, documented) || len(has) < 20 {
		t.Errorf("the program has\n%s\nand docs/reference/metrics.md has\n%s", strings.Join(has, "\n"), strings.Join(documented, "\n"))
	}
	promtool.Metrics(t, []byte(text))
}

// An exchange is not ready within five seconds after its NATS server freezes or dies, and says so. It
// lives on, and is ready again after the server goes on.
func TestReadinessFollowsNATS(t *testing.T) {
	t.Parallel()
	server := natsserver.Start(t, natsserver.Options{Sync: "always"})
	home := t.TempDir()
	p, _ := natsNode(t, home, server)
	within := func(limit time.Duration, want int) string {
		t.Helper()
		began := time.Now()
		for {
			code, body, err := probe(p, "/readyz")
			if err != nil {
				t.Fatal(err)
			}
			if code == want && time.Since(began) <= limit {
				return body
			}
			if time.Since(began) > limit {
				t.Fatalf("/readyz is %d %s after %v, want %d", code, body, limit, want)
			}
			<-time.After(50 * time.Millisecond)
		}
	}
	within(10*time.Second, http.StatusOK)
	server.Freeze()
	if body := within(5*time.Second, http.StatusServiceUnavailable); !strings.Contains(body, "the store does not answer") {
		t.Errorf("with a frozen server the reason is %q", body)
	}
	wantProbe(t, p, "/healthz", http.StatusOK, "ok")
	doctor := exec.Command(buildMesskit(t), "doctor", "--config", filepath.Join(home, "exchange.yaml"))
	doctor.Env = append(os.Environ(), "HOME="+home)
	out, err := doctor.CombinedOutput()
	if want := regexp.MustCompile(`(?m)^BAD  nats ` + regexp.QuoteMeta(server.Monitor()) + ` .*stands still`); err == nil || !want.Match(out) {
		t.Errorf("doctor with a frozen server: %v\n%s", err, out)
	}
	server.Thaw()
	within(30*time.Second, http.StatusOK)
	server.Kill()
	for began := time.Now(); !strings.Contains(within(5*time.Second, http.StatusServiceUnavailable), "the store cannot write"); {
		if time.Since(began) > 5*time.Second { // a probe during the loss of the connection has another reason
			t.Fatal("the exchange has not noticed the dead server")
		}
	}
	wantProbe(t, p, "/metrics", http.StatusOK, "\nmesskit_store_writable 0\n")
}
