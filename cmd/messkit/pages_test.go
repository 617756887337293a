package main

import (
	"bytes"
	"context"
	"io/fs"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"
)

// pageFences are what a page has to be done: files, commands, and what they print.
//
//	```yaml        a file, if its first line is "# its name"
//	```sh          commands, which succeed
//	```sh run      a command that runs from here on, in place of the one before
//	```sh board    commands for a board with devices: only their words are checked
//	```text        lines that the commands before print, but for numbers
var pageFences = regexp.MustCompile("(?s)```(yaml|sh|sh run|sh board|text)\n(.*?)```")

// Who follows a page of the guide comes to where it says, from an empty home.
func TestThePagesOfTheGuide(t *testing.T) {
	for _, name := range []string{"first-hour", "camera", "relay", "vacuum", "safety", "household"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			text, err := os.ReadFile("../../docs/" + name + ".md")
			if err != nil {
				t.Fatal(err)
			}
			g := &follows{t: t, home: t.TempDir(), port: freeOf(t)}
			defer g.end()
			all := pageFences.FindAllStringSubmatch(string(text), -1)
			if len(all) < 4 {
				t.Fatalf("%d fences on the page", len(all))
			}
			for _, f := range all {
				g.follow(f[1], f[2])
			}
		})
	}
}

// freeOf is a port that nobody has.
func freeOf(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	_, port, _ := net.SplitHostPort(l.Addr().String())
	return port
}

// follows is somebody who follows a page. What the page calls 8420 is a port of
// their own.
type follows struct {
	t          *testing.T
	home, port string
	exports    string // of earlier commands
	printed    string // since the last ```text
	running    *exec.Cmd
	log        text
}

func (g *follows) follow(kind, body string) {
	g.t.Helper()
	body = strings.ReplaceAll(body, "8420", g.port)
	body = regexp.MustCompile(`(?m)^messkit run$`).ReplaceAllString(body, "messkit run --listen 127.0.0.1:"+g.port+" --mqtt off")
	switch kind {
	case "yaml":
		if name, ok := strings.CutPrefix(body, "# "); ok {
			name, _, _ = strings.Cut(name, "\n")
			if err := os.WriteFile(filepath.Join(g.home, name), []byte(body), 0o600); err != nil {
				g.t.Fatal(err)
			}
		}
	case "sh":
		g.run(body)
	case "sh run":
		g.start(body)
	case "sh board":
		g.read(body)
	case "text":
		g.compare(body)
	}
}

func (g *follows) bash(ctx context.Context, script string) *exec.Cmd {
	c := exec.CommandContext(ctx, "bash", "-c", script)
	c.Dir = g.home
	c.Env = append(os.Environ(), "HOME="+g.home, "MESSKIT_URL=http://127.0.0.1:"+g.port, "TZ=UTC")
	return c
}

func (g *follows) run(body string) {
	g.t.Helper()
	ctx, cancel := context.WithTimeout(g.t.Context(), patience)
	defer cancel()
	for line := range strings.Lines(body) {
		if strings.HasPrefix(line, "export ") {
			g.exports += line
		}
	}
	out, err := g.bash(ctx, "set -e\n"+g.exports+body).CombinedOutput()
	if err != nil {
		g.t.Fatalf("%s%v: %s\n%s", body, err, out, g.log.String())
	}
	g.printed += string(out)
}

func (g *follows) start(body string) {
	g.t.Helper()
	g.end()
	g.running = g.bash(context.Background(), "exec "+strings.TrimSpace(body))
	g.running.Stdout, g.running.Stderr = &g.log, &g.log
	g.running.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := g.running.Start(); err != nil {
		g.t.Fatal(err)
	}
	for end := time.Now().Add(patience); ; time.Sleep(20 * time.Millisecond) {
		r, err := http.Get("http://127.0.0.1:" + g.port + "/health")
		if err == nil { // with TLS it is refused, and is there
			r.Body.Close()
			return
		}
		if time.Now().After(end) {
			g.t.Fatalf("%s: does not answer\n%s", body, g.log.String())
		}
	}
}

func (g *follows) end() {
	if g.running == nil {
		return
	}
	_ = g.running.Process.Signal(os.Interrupt)
	if err := g.running.Wait(); err != nil {
		g.t.Errorf("%v: %v\n%s", g.running.Args, err, g.log.String())
	}
	g.running = nil
}

// read checks the words of commands that are not run.
func (g *follows) read(body string) {
	g.t.Helper()
	for line := range strings.Lines(body) {
		words := strings.Fields(line)
		if len(words) < 2 || words[0] != "messkit" {
			continue
		}
		root := (&app{out: &bytes.Buffer{}}).root()
		c, rest, err := root.Find(wordsOf(line))
		if err == nil {
			err = c.ParseFlags(rest)
		}
		if err == nil {
			err = c.ValidateArgs(c.Flags().Args())
		}
		if err != nil {
			g.t.Errorf("%s: %v", line, err)
		}
	}
}

func wordsOf(line string) []string {
	_, line, _ = strings.Cut(strings.TrimSpace(line), " ")
	return words(line)
}

var number = regexp.MustCompile(`[0-9]+`)

// compare looks for each line among what was printed, whatever its numbers are.
func (g *follows) compare(body string) {
	g.t.Helper()
	printed := number.ReplaceAllString(g.printed, "0")
	for line := range strings.Lines(body) {
		if want := number.ReplaceAllString(strings.TrimSpace(line), "0"); !strings.Contains(printed, want) {
			g.t.Errorf("%q is not in what was printed:\n%s", want, g.printed)
		}
	}
	g.printed = ""
}

// What the page about trouble has for headings is what the program says.
func TestTroubleIsNamedAsItIsSaid(t *testing.T) {
	text, err := os.ReadFile("../../docs/troubleshooting.md")
	if err != nil {
		t.Fatal(err)
	}
	var code strings.Builder
	err = filepath.WalkDir("../..", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") {
			return err
		}
		data, err := os.ReadFile(name)
		code.Write(data)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	said := regexp.MustCompile("(?m)^### `(.*)`$").FindAllStringSubmatch(string(text), -1)
	if len(said) < 30 {
		t.Errorf("%d symptoms", len(said))
	}
	for _, s := range said {
		if s[1] != "connection refused" && !strings.Contains(code.String(), s[1]) { // which the kernel says
			t.Errorf("nothing says %q", s[1])
		}
	}
}

// The service's unit is one that systemd reads, and that keeps to what it needs.
func TestTheUnitIsSound(t *testing.T) {
	if _, err := exec.LookPath("systemd-analyze"); err != nil {
		t.Skip("systemd-analyze is not here; apt-get install systemd")
	}
	out, err := exec.Command("systemd-analyze", "security", "--offline=true", "--threshold=30", "--no-pager", "../../systemd/messkit.service").CombinedOutput()
	if err != nil || !bytes.Contains(out, []byte("Overall exposure level for messkit.service: ")) {
		t.Errorf("%v: %s", err, out)
	}
	unit, err := os.ReadFile("../../systemd/messkit.service")
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"ExecStart=/usr/local/bin/messkit run --config /etc/messkit/messkit.yaml --data /var/lib/messkit/.mess\n", "User=messkit\n", "StateDirectory=messkit\n"} {
		if !bytes.Contains(unit, []byte(want)) {
			t.Errorf("%q is missing", want)
		}
	}
}
