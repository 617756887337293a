package main

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// page is a command of a documentation page with its documented output, "" without one.
type page struct{ command, prints string }

var fences = regexp.MustCompile("(?s)```(sh|json)\n(.*?)```")

// pageCommands returns the commands of some sections of a page.
func pageCommands(t *testing.T, name string, sections ...string) (all []page) {
	t.Helper()
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	for _, title := range sections {
		_, section, ok := strings.Cut(string(text), "\n## "+title+"\n")
		if !ok {
			t.Fatalf("%s has no section %s", name, title)
		}
		section, _, _ = strings.Cut(section, "\n## ")
		for _, f := range fences.FindAllStringSubmatch(section, -1) {
			if f[1] == "sh" {
				all = append(all, page{command: f[2]})
			} else {
				all[len(all)-1].prints = f[2]
			}
		}
	}
	return all
}

// These parts of an output differ from run to run.
var (
	timePattern    = regexp.MustCompile(`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z`)
	refTextPattern = regexp.MustCompile(`\d{4}-\d\d-\d\d-(\d{3})`)
	keyPattern     = regexp.MustCompile(`mess_home_[0-9a-f]{32}`)
)

// lines parses an output: JSON lines without the order of their keys, other lines as text.
func lines(text string) (all []any) {
	for line := range strings.SplitSeq(strings.TrimSpace(text), "\n") {
		line = keyPattern.ReplaceAllString(refTextPattern.ReplaceAllString(timePattern.ReplaceAllString(line, "TIME"), "DAY-$1"), "KEY")
		var v any
		if json.Unmarshal([]byte(line), &v) != nil {
			v = line
		}
		all = append(all, v)
	}
	return all
}

// Each command of the section with curl prints its documented output. With curl alone a client is
// requester and executor.
func TestCurlGuideRuns(t *testing.T) {
	if _, err := exec.LookPath("curl"); err != nil {
		t.Skip("this machine has no curl")
	}
	all := pageCommands(t, "../../docs/reference/http.md", "With curl alone", "Webhooks")
	if len(all) < 9 {
		t.Fatalf("%d commands on the page", len(all))
	}
	home := t.TempDir()
	p, err := start(home, buildMesskit(t), "exchange", "--listen", "127.0.0.1:0")
	if err != nil || p.url == "" {
		t.Fatalf("%v\n%s", err, &p.stderr)
	}
	runPageCommands(t, home, all, "MESSKIT_URL="+strings.TrimSuffix(p.url, "/api/v1/exchanges/home"))
	if err := p.stop(); err != nil {
		t.Error(err)
	}
}

// runPageCommands runs the commands of a page in one shell, and compares their output with the page.
func runPageCommands(t *testing.T, home string, all []page, env ...string) {
	t.Helper()
	const mark = "=== the next command ==="
	var script strings.Builder
	script.WriteString("set -e\n")
	for _, one := range all {
		script.WriteString(one.command + "echo\necho '" + mark + "'\n")
	}
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	c := exec.CommandContext(ctx, "bash", "-c", script.String())
	c.Dir = home
	c.Env = append(append(os.Environ(), "HOME="+home), env...)
	var errs bytes.Buffer
	c.Stderr = &errs
	out, err := c.Output()
	if err != nil {
		t.Errorf("%v: %s", err, &errs)
	}
	parts := strings.Split(string(out), mark)
	for i, one := range all {
		if i >= len(parts)-1 {
			t.Fatalf("not reached: %s\n%s", one.command, out)
		}
		if diff := cmp.Diff(lines(one.prints), lines(parts[i])); diff != "" {
			t.Errorf("%s: output (-page +got):\n%s", one.command, diff)
		}
	}
}

// With the section on TLS a client reaches an exchange by its pin, and another with a certificate
// of its owner. It detects a man in the middle.
func TestTLSGuideRuns(t *testing.T) {
	for _, tool := range []string{"curl", "openssl", "basenc"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skipf("this machine has no %s", tool)
		}
	}
	all := pageCommands(t, "../../docs/reference/http.md", "TLS")
	if len(all) != 5 {
		t.Fatalf("%d commands in the section", len(all))
	}
	home, program := t.TempDir(), buildMesskit(t)
	path := "PATH=" + filepath.Dir(program) + ":" + os.Getenv("PATH")
	begin := func(args ...string) (*process, string) {
		p, err := start(home, append([]string{"sh", "-c", `cd "$HOME" && exec "$@"`, "sh", program, "exchange", "--listen", "127.0.0.1:0", "--mqtt", "off"}, args...)...)
		if err != nil || p.url == "" {
			t.Fatalf("%v\n%s", err, &p.stderr)
		}
		t.Cleanup(func() {
			if err := p.stop(); err != nil {
				t.Error(err)
			}
		})
		return p, strings.TrimSuffix(p.url, "/api/v1/exchanges/home")
	}
	_, url := begin("--tls", "self")
	runPageCommands(t, home, all[:3], path, "MESSKIT_URL="+url)
	runPageCommands(t, home, all[3:4], path)
	_, signed := begin("--config", "tls.yaml")
	runPageCommands(t, home, all[4:], path, "SIGNED_URL="+signed)
}
