package main

import (
	"context"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"gopkg.in/yaml.v3"

	"github.com/messkit/messkit/internal/test/freeport"
)

// pageRunner executes a page as its reader would. It replaces the port 8420 of the page with a free
// one.
type pageRunner struct {
	t, whole      *testing.T // the test of the page, and the test that owns the shared processes
	program       string
	home, port    string
	broker        string // "" until a page needs one
	exports       string // from earlier commands
	printed       string // since the last ```text
	pin, code     string // the last printed values
	running, also *exec.Cmd
	log           text
}

func newPageRunner(t *testing.T) *pageRunner {
	t.Helper()
	g := &pageRunner{t: t, whole: t, program: buildMesskit(t), home: t.TempDir(), port: portOf(freeport.Address(t))}
	if err := os.Symlink(g.program, filepath.Join(g.home, "messkit")); err != nil { // for commands that begin with ./messkit
		t.Fatal(err)
	}
	return g
}

func (g *pageRunner) runPage(name string, all []fence) {
	g.t.Helper()
	g.exports, g.printed = "", ""
	if f := runBefore[name]; f != nil {
		f(g)
		g.printed = ""
	}
	for i, f := range all {
		below := ""
		if i+1 < len(all) && all[i+1].kind == "text" {
			below = all[i+1].body
		}
		g.follow(f.kind, f.body, below)
	}
}

// substitute replaces the values of a page with those of the test.
func (g *pageRunner) substitute(body string) string {
	body = today.ReplaceAllString(body, time.Now().UTC().Format(time.DateOnly)+"-$1")
	if g.broker != "" {
		body = strings.ReplaceAll(body, "mqtt://192.168.1.5", g.broker)
	}
	if g.pin != "" {
		body = pinPattern.ReplaceAllString(body, g.pin)
	}
	if g.code != "" {
		body = strings.ReplaceAll(body, "K7QM4-T9XE2", g.code)
	}
	return strings.NewReplacer(":8420", ":"+g.port, "192.168.1.20", "127.0.0.1", "/etc/messkit/", g.home+"/").Replace(body)
}

func (g *pageRunner) follow(kind, body, below string) {
	g.t.Helper()
	body = g.substitute(body)
	words := strings.Fields(kind)
	is := func(word string) bool { return slices.Contains(words, word) }
	switch {
	case kind == "yaml":
		if name, ok := strings.CutPrefix(body, "# "); ok {
			name, _, _ = strings.Cut(name, "\n")
			g.writeFile(name, body)
		}
		return
	case kind == "text":
		g.compare(body)
		return
	case words[0] == "json" || words[0] == "console":
		return
	case words[0] != "sh":
		g.t.Errorf("```%s: unknown kind of block", kind)
		return
	}
	if is("unrun:") {
		_, reason, _ := strings.Cut(kind, "unrun: ")
		if notRun[reason] == "" {
			g.t.Errorf("```%s: it has no reason that is known", kind)
		}
		g.checkWords(body)
		return
	}
	if i := slices.IndexFunc(words[1:], func(w string) bool {
		return w != "run" && w != "elsewhere" && w != "sim" && w != "until" && w != "answers"
	}); i > 0 && !is("answers") || i == 0 {
		g.t.Errorf("```%s: unknown word %s", kind, words[1+i])
		return
	}
	if is("sim") {
		g.simulateDevices(body)
	}
	switch {
	case is("run"):
		g.start(body, is("elsewhere"))
	case is("until"):
		for line := range strings.Lines(body) {
			g.runUntil(line, below)
		}
	case is("answers"):
		g.runWithAnswers(body, words[slices.Index(words, "answers")+1:])
	case is("elsewhere"):
		before := g.exports
		g.run(body)
		g.exports = before
	default:
		g.run(body)
	}
}

func (g *pageRunner) writeFile(name, body string) {
	g.t.Helper()
	if err := os.WriteFile(filepath.Join(g.home, name), []byte(body), 0o600); err != nil {
		g.t.Fatal(err)
	}
}

// startBroker starts a broker without accounts, and makes mosquitto_pub use it.
func (g *pageRunner) startBroker() {
	g.t.Helper()
	if g.broker != "" {
		return
	}
	mosquitto, err := exec.LookPath("mosquitto")
	if err != nil {
		mosquitto = "/usr/sbin/mosquitto"
	}
	if _, err := os.Stat(mosquitto); err != nil {
		g.t.Skip("mosquitto is not here; apt-get install mosquitto mosquitto-clients")
	}
	address := freeport.Address(g.t)
	g.writeFile("mosquitto.conf", "allow_anonymous true\nlistener "+portOf(address)+" 127.0.0.1\n")
	c := exec.Command(mosquitto, "-c", filepath.Join(g.home, "mosquitto.conf"))
	c.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := c.Start(); err != nil {
		g.t.Fatal(err)
	}
	g.whole.Cleanup(func() {
		_ = c.Process.Kill()
		_ = c.Wait()
	})
	for end := time.Now().Add(patience); ; time.Sleep(20 * time.Millisecond) {
		if conn, err := net.Dial("tcp", address); err == nil {
			conn.Close()
			break
		}
		if time.Now().After(end) {
			g.t.Fatal("mosquitto does not answer")
		}
	}
	for _, name := range []string{"mosquitto_pub", "mosquitto_sub"} {
		if err := os.MkdirAll(filepath.Join(g.home, ".config"), 0o700); err != nil {
			g.t.Fatal(err)
		}
		g.writeFile(filepath.Join(".config", name), "-p "+portOf(address)+"\n")
	}
	g.broker = "mqtt://" + address
}

// startWithRequests starts messkit and sends three requests, so that the pages have threads to show.
func (g *pageRunner) startWithRequests() {
	g.t.Helper()
	g.start("messkit run\n", false)
	for range 3 {
		g.run("messkit ask \"what's in the fridge?\" --wait\n")
	}
	g.printed = ""
	for end := time.Now().Add(patience); strings.Count(g.printed, "  completed  ") < 3; { // the exchange writes the folders a moment later
		if time.Now().After(end) {
			g.t.Fatalf("three threads do not end:\n%s", g.printed)
		}
		g.printed = ""
		g.run("messkit thread list\n")
	}
	g.printed = ""
}

func (g *pageRunner) bash(ctx context.Context, script string) *exec.Cmd {
	c := exec.CommandContext(ctx, "bash", "-c", script)
	c.Dir = g.home
	c.Env = append(os.Environ(), "HOME="+g.home, "XDG_CONFIG_HOME="+filepath.Join(g.home, ".config"), "MESSKIT_URL=http://127.0.0.1:"+g.port, "TZ=UTC", "PATH="+filepath.Dir(g.program)+":"+os.Getenv("PATH"))
	c.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	return c
}

func (g *pageRunner) run(body string) {
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
	g.addOutput(string(out))
	if strings.Contains(body, "messkit init ") {
		g.removeDevices("messkit.yaml")
	}
}

// removeDevices removes all devices from a configuration, because the program may have discovered them: a
// test must not use the devices of the host's network.
func (g *pageRunner) removeDevices(name string) {
	g.t.Helper()
	data, err := os.ReadFile(filepath.Join(g.home, name))
	if err != nil {
		g.t.Fatal(err)
	}
	var all map[string]any
	if err := yaml.Unmarshal(data, &all); err != nil {
		g.t.Fatal(err)
	}
	if all["devices"] == nil {
		return
	}
	delete(all, "devices")
	if data, err = yaml.Marshal(all); err != nil {
		g.t.Fatal(err)
	}
	g.writeFile(name, string(data))
}

// start runs a command in the background, in place of the previous one. With elsewhere the
// command runs in addition, in another home folder.
func (g *pageRunner) start(body string, elsewhere bool) {
	g.t.Helper()
	command := strings.TrimSpace(body)
	command, _, _ = strings.Cut(command, " #")
	if strings.Contains(command, "\n") {
		g.t.Fatalf("%s: one command goes on", body)
	}
	if elsewhere {
		g.also = g.bash(context.Background(), "exec "+command)
		g.also.Env = append(g.also.Env, "HOME="+filepath.Join(g.home, "elsewhere"), "MESSKIT_URL=")
		g.also.Stdout, g.also.Stderr = &g.log, &g.log
		if err := g.also.Start(); err != nil {
			g.t.Fatal(err)
		}
		return
	}
	g.end()
	if strings.Contains(command, "messkit run") {
		if !strings.Contains(command, "--listen") {
			command += " --listen 127.0.0.1:" + g.port
		}
		command += " --confirm script" // the test has no terminal at which to confirm
	}
	g.running = g.bash(context.Background(), "exec "+command+" --mqtt off")
	g.running.Stdout, g.running.Stderr = &g.log, &g.log
	if err := g.running.Start(); err != nil {
		g.t.Fatal(err)
	}
	for end := time.Now().Add(patience); ; time.Sleep(20 * time.Millisecond) {
		r, err := http.Get("http://127.0.0.1:" + g.port + "/health")
		if err == nil { // an exchange with TLS answers 400, which is enough
			r.Body.Close()
			return
		}
		if time.Now().After(end) {
			g.t.Fatalf("%s: does not answer\n%s", body, g.log.String())
		}
	}
}

func (g *pageRunner) end() {
	for _, c := range []*exec.Cmd{g.also, g.running} {
		if c == nil {
			continue
		}
		_ = c.Process.Signal(os.Interrupt)
		if err := c.Wait(); err != nil {
			g.t.Errorf("%v: %v\n%s", c.Args, err, g.log.String())
		}
	}
	g.also, g.running = nil, nil
}
