package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/messkit/messkit/internal/test/natsserver"
)

// clusterGuide executes docs/how-to/cluster.md as its reader would, with a folder and an address of
// 127.0.0.0/8 for each machine. The words after the kind of a fence say where a command runs:
//
//	on n1        on that machine
//	each         on n1, n2 and n3, with the name and the address of the machine in place of those of n1
//	run          in the background
//	copies       lines with ssh and scp
//
// A comment <!-- test: ... --> says what a person does beside the commands.
type clusterGuide struct {
	*pageRunner
	machines map[string]*guideMachine
	network  string // in place of 192.168.1.
	nkey     string // in place of that of the page
	oneByOne string // the next fence restarts this program on each machine
	path     string
}

// guideMachine is a machine of the guide.
type guideMachine struct {
	name, dir, exports string

	running  map[string]*exec.Cmd // by program
	commands map[string]string    // the last ones
	log      text
}

var (
	clusterNodes = []string{"n1", "n2", "n3"}
	guideParts   = regexp.MustCompile("(?ms)^(?:```(\\w[^\n]*)\n(.*?)^```|<!-- test: ([^\n]*) -->)$")
	nkeyPattern  = regexp.MustCompile(`\bU[A-Z2-7]{55}\b`)
)

// The guide for a cluster works as it is written: three NATS servers, three exchanges, a move there and
// back, the loss of a machine, and an update.
func TestClusterGuideRuns(t *testing.T) {
	if testing.Short() {
		t.Skip("starts NATS servers and exchanges")
	}
	t.Parallel()
	server := natsserver.Program(t)
	for _, program := range []string{"openssl", "curl"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Skipf("SKIP: %s is not there (apt-get install %s)", program, program)
		}
	}
	page, err := os.ReadFile("../../docs/how-to/cluster.md")
	if err != nil {
		t.Fatal(err)
	}
	g := newClusterGuide(t, server)
	parts := guideParts.FindAllStringSubmatch(string(page), -1)
	if len(parts) < 30 {
		t.Fatalf("the page has %d parts", len(parts))
	}
	for _, part := range parts {
		if part[3] != "" {
			g.person(part[3])
		} else {
			g.part(strings.Fields(part[1]), part[2])
		}
		if t.Failed() {
			break
		}
	}
}

func newClusterGuide(t *testing.T, server string) *clusterGuide {
	t.Helper()
	program := buildMesskit(t)
	g := &clusterGuide{
		pageRunner: &pageRunner{t: t, whole: t, program: program}, machines: map[string]*guideMachine{},
		network: fmt.Sprintf("127.%d.%d.", 1+rand.IntN(254), rand.IntN(256)), path: filepath.Dir(program) + ":" + filepath.Dir(server) + ":" + os.Getenv("PATH"),
	}
	for _, name := range append([]string{"kitchen"}, clusterNodes...) {
		g.machines[name] = &guideMachine{name: name, dir: t.TempDir(), running: map[string]*exec.Cmd{}, commands: map[string]string{}}
	}
	t.Cleanup(func() {
		for _, m := range g.machines {
			g.kill(m)
			if t.Failed() {
				t.Logf("%s said:\n%s", m.name, m.log.String())
			}
		}
	})
	return g
}

// as returns a part of the page for a machine, with the values of this run.
func (g *clusterGuide) as(m *guideMachine, body string, each bool) string {
	if each && m.name != clusterNodes[0] {
		n := strings.TrimPrefix(m.name, "n")
		first, own := regexp.MustCompile(`\bn1\b`), "192.168.1.2"+n
		body = strings.NewReplacer("192.168.1.21", own, own, "192.168.1.21").Replace(first.ReplaceAllString(body, m.name))
	}
	if g.pin != "" {
		body = pinPattern.ReplaceAllString(body, g.pin)
	}
	body = nkeyPattern.ReplaceAllStringFunc(body, func(was string) string {
		if g.nkey == "" {
			return was
		}
		return g.nkey
	})
	if g.code != "" {
		body = strings.ReplaceAll(body, "K7QM4-T9XE2", g.code)
	}
	return strings.ReplaceAll(body, "192.168.1.", g.network)
}

// where returns the machines of a fence.
func (g *clusterGuide) where(words []string) (all []*guideMachine, each bool) {
	g.t.Helper()
	names := clusterNodes
	if i := slices.Index(words, "on"); i >= 0 {
		names = words[i+1:]
	} else if i := slices.Index(words, "from"); i >= 0 {
		names = words[i+1:]
	} else if each = slices.Contains(words, "each"); !each {
		g.t.Fatalf("%q does not say where", words)
	}
	for _, name := range names {
		m := g.machines[name]
		if m == nil {
			g.t.Fatalf("%q: there is no machine %s", words, name)
		}
		all = append(all, m)
	}
	return all, each
}

// part does what a fence says.
func (g *clusterGuide) part(words []string, body string) {
	g.t.Helper()
	if words[0] == "text" {
		g.compare(body)
		return
	}
	all, each := g.where(words)
	for _, m := range all {
		text := g.as(m, body, each)
		switch {
		case words[0] == "yaml":
			name, _, _ := strings.Cut(strings.TrimPrefix(text, "# "), "\n")
			if err := os.WriteFile(filepath.Join(m.dir, name), []byte(text), 0o600); err != nil {
				g.t.Fatal(err)
			}
		case words[0] != "sh":
			g.t.Fatalf("```%s: unknown kind of block", strings.Join(words, " "))
		case words[1] == "copies":
			g.copies(m, text)
		case words[1] == "run":
			g.startOn(m, strings.TrimSpace(text))
		default:
			if g.oneByOne != "" {
				g.endOn(m, g.oneByOne)
				g.startOn(m, m.commands[g.oneByOne])
			}
			g.runOn(m, text)
		}
	}
	g.oneByOne = ""
}

func (g *clusterGuide) bashOn(ctx context.Context, m *guideMachine, script string) *exec.Cmd {
	c := exec.CommandContext(ctx, "bash", "-c", script)
	c.Dir = m.dir
	c.Env = append(slices.DeleteFunc(os.Environ(), func(v string) bool { return strings.HasPrefix(v, "MESSKIT_") }), "HOME="+m.dir, "TZ=UTC", "PATH="+g.path)
	c.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	return c
}

func (g *clusterGuide) runOn(m *guideMachine, body string) {
	g.t.Helper()
	ctx, cancel := context.WithTimeout(g.t.Context(), time.Duration(strings.Count(body, "\n"))*patience)
	defer cancel()
	for line := range strings.Lines(body) {
		if strings.HasPrefix(line, "export ") {
			m.exports += line
		}
	}
	out, err := g.bashOn(ctx, m, "set -e\n"+m.exports+body).CombinedOutput()
	if err != nil {
		g.t.Fatalf("on %s: %s%v: %s", m.name, body, err, out)
	}
	g.addOutput(string(out))
	if key := nkeyPattern.FindString(string(out)); key != "" {
		g.nkey = key
	}
}

// startOn starts a command in the background.
func (g *clusterGuide) startOn(m *guideMachine, command string) {
	g.t.Helper()
	program, _, _ := strings.Cut(command, " ")
	if m.running[program] != nil || strings.Contains(command, "\n") {
		g.t.Fatalf("on %s: %s: one %s runs there", m.name, command, program)
	}
	c := g.bashOn(context.Background(), m, "exec "+command)
	c.Stdout, c.Stderr = &m.log, &m.log
	was := strings.Count(m.log.String(), exchangeLine)
	if err := c.Start(); err != nil {
		g.t.Fatal(err)
	}
	m.running[program], m.commands[program] = c, command
	if strings.HasPrefix(command, "messkit exchange") {
		eventually(g.t, m.name+" prints the address of its exchange", func() bool { return strings.Count(m.log.String(), exchangeLine) > was })
	}
}

// exchangeLine begins the line with the address of an exchange that has started.
const exchangeLine = "exchange home at "

// endOn ends a program as Ctrl-C does.
func (g *clusterGuide) endOn(m *guideMachine, program string) {
	g.t.Helper()
	c := m.running[program]
	if c == nil {
		g.t.Fatalf("no %s runs on %s", program, m.name)
	}
	if err := c.Process.Signal(os.Interrupt); err != nil {
		g.t.Fatal(err)
	}
	if err := c.Wait(); err != nil {
		g.t.Fatalf("%s on %s has ended with %v:\n%s", program, m.name, err, m.log.String())
	}
	delete(m.running, program)
}

// kill ends all programs of a machine, as a power cut does.
func (g *clusterGuide) kill(m *guideMachine) {
	for program, c := range m.running {
		_ = c.Process.Kill()
		_ = c.Wait() // it was killed
		delete(m.running, program)
	}
}

// copies copies files between machines, in place of ssh and scp.
func (g *clusterGuide) copies(from *guideMachine, body string) {
	g.t.Helper()
	for line := range strings.Lines(body) {
		words := strings.Fields(line)
		last := words[len(words)-1]
		switch {
		case len(words) == 6 && words[0] == "ssh" && g.machines[words[1]] != nil && slices.Equal(words[2:5], []string{"mkdir", "-m", "700"}):
			if err := os.Mkdir(filepath.Join(g.machines[words[1]].dir, last), 0o700); err != nil {
				g.t.Fatal(err)
			}
		case words[0] == "scp":
			host, dir, _ := strings.Cut(last, ":")
			to := g.machines[host]
			if to == nil {
				g.t.Fatalf("%s: there is no machine %s", line, host)
			}
			c := g.bashOn(g.t.Context(), from, "cp "+strings.Join(words[1:len(words)-1], " ")+" "+filepath.Join(to.dir, dir)+"/")
			if out, err := c.CombinedOutput(); err != nil {
				g.t.Fatalf("%s: %v: %s", line, err, out)
			}
		default:
			g.t.Fatalf("%q is neither ssh nor scp", line)
		}
	}
}

// person does what a comment of the page says.
func (g *clusterGuide) person(does string) {
	g.t.Helper()
	words := strings.Fields(does)
	switch {
	case words[0] == "end":
		all, _ := g.where(words)
		for _, m := range all {
			g.endOn(m, "messkit")
		}
	case words[0] == "kill":
		g.kill(g.machines[words[1]])
	case strings.HasPrefix(does, "lose the disk of n2"):
		m := g.machines["n2"]
		if err := os.RemoveAll(filepath.Join(m.dir, "nats")); err != nil {
			g.t.Fatal(err)
		}
		for _, program := range []string{"nats-server", "messkit"} {
			g.startOn(m, m.commands[program])
		}
	case does == "one by one: exchange":
		g.oneByOne = "messkit"
	case does == "one by one: nats-server":
		g.oneByOne = "nats-server"
	default:
		g.t.Fatalf("nobody knows how to %s", does)
	}
}
