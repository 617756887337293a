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

	"github.com/messkit/messkit/internal/freeport"
)

// pageFences are what a page has to be done: files, commands, and what they print.
//
//	```yaml        a file, if its first line is "# its name"
//	```sh          commands, which succeed; before them somebody has said messkit run
//	               and asked three things, if no ```sh run says otherwise
//	```sh run      a command that runs from here on, in place of the one before
//	```sh board    commands for a board with devices: only their words are checked
//	```text        lines that the commands before print, but for numbers
var pageFences = regexp.MustCompile("(?s)```(yaml|sh|sh run|sh board|text)\n(.*?)```")

// Who follows a page of the guide comes to where it says, from an empty home.
func TestThePagesOfTheGuide(t *testing.T) {
	for name, fences := range map[string]int{
		"first-hour": 10, "camera": 4, "relay": 4, "vacuum": 4, "safety": 8, "household": 9,
		"stop": 1, "threads": 1, "journal": 1, "people": 1, "console": 2, "command-line": 6,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			text, err := os.ReadFile("../../docs/" + name + ".md")
			if err != nil {
				t.Fatal(err)
			}
			g := &follows{t: t, home: t.TempDir(), port: portOf(freeport.Address(t))}
			defer g.end()
			all := pageFences.FindAllStringSubmatch(string(text), -1)
			if len(all) < fences {
				t.Fatalf("%d fences on the page; there were %d", len(all), fences)
			}
			if fences < 4 || name == "command-line" {
				g.asked()
			}
			for _, f := range all {
				g.follow(f[1], f[2])
			}
		})
	}
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
	body = today.ReplaceAllString(body, time.Now().UTC().Format(time.DateOnly)+"-$1")
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

// asked starts messkit and asks it three things, so that there is something to
// look at.
func (g *follows) asked() {
	g.t.Helper()
	g.follow("sh run", "messkit run\n")
	for range 3 {
		g.run("messkit ask \"what's in the fridge?\" --wait\n")
	}
	g.printed = ""
	for end := time.Now().Add(patience); strings.Count(g.printed, "  completed  ") < 3; { // the folders are a moment behind
		if time.Now().After(end) {
			g.t.Fatalf("three threads do not end:\n%s", g.printed)
		}
		g.printed = ""
		g.run("messkit thread list\n")
	}
	g.printed = ""
}

// today is a ref of a page as one of this day.
var today = regexp.MustCompile(`2026-11-21-(00\d)`)

func (g *follows) bash(ctx context.Context, script string) *exec.Cmd {
	c := exec.CommandContext(ctx, "bash", "-c", script)
	c.Dir = g.home
	c.Env = append(os.Environ(), "HOME="+g.home, "MESSKIT_URL=http://127.0.0.1:"+g.port, "TZ=UTC")
	return c
}

func (g *follows) run(body string) {
	g.t.Helper()
	ctx, cancel := context.WithTimeout(g.t.Context(), time.Duration(strings.Count(body, "\n"))*patience)
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

func portOf(address string) string {
	_, port, _ := net.SplitHostPort(address)
	return port
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

// inText are commands in the text of a page.
var inText = regexp.MustCompile("`(messkit [^`\n]*)`")

// commandsIn are the commands of a page, in its text, in fences and in lines that
// are set in.
func commandsIn(text string) (all []string) {
	fenced := false
	for line := range strings.Lines(text) {
		code, in := strings.CutPrefix(line, "    ")
		switch {
		case strings.HasPrefix(line, "```"):
			fenced = !fenced
		case fenced || in:
			code, _, _ = strings.Cut(strings.TrimPrefix(strings.TrimPrefix(strings.TrimSpace(code), "$ "), "./"), " #")
			if strings.HasPrefix(code, "messkit ") {
				all = append(all, code)
			}
		default:
			for _, m := range inText.FindAllStringSubmatch(line, -1) {
				all = append(all, m[1])
			}
		}
	}
	return all
}

// Every command that any page shows is one that there is, with flags that it has.
func TestCommandsOfAllPages(t *testing.T) {
	pages, err := fs.Glob(os.DirFS("../.."), "docs/*.md")
	if err != nil {
		t.Fatal(err)
	}
	more, err := fs.Glob(os.DirFS("../.."), "docs/drivers/*.md")
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, page := range append(append(pages, more...), "README.md", "SECURITY.md") {
		text, err := os.ReadFile(filepath.Join("../..", page))
		if err != nil {
			t.Fatal(err)
		}
		for _, line := range commandsIn(string(text)) {
			if strings.Contains(line, "...") || strings.HasPrefix(line, "messkit receipt ") || strings.HasPrefix(line, "messkit COMMAND ") {
				continue // a sketch, and what receipts begin with
			}
			line, _, _ = strings.Cut(line, " > ")
			line, _, _ = strings.Cut(line, " || ")
			n++
			root := (&app{out: &bytes.Buffer{}}).root()
			c, rest, err := root.Find(wordsOf(line))
			if err == nil {
				err = c.ParseFlags(rest)
			}
			if err != nil && !strings.Contains(err.Error(), "flag needs an argument") { // where a page speaks of the flag
				t.Errorf("%s: %q: %v", page, line, err)
			}
		}
	}
	if n < 150 {
		t.Errorf("%d commands were found; the test looks for the wrong thing", n)
	}
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
